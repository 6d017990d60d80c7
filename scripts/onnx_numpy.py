"""Evaluate an ONNX file with numpy: a reference for what other programs make of it.

Only the operators that scripts/onnx_graph.py is asked for are understood.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper


def windows(x, attributes, fill):
    """N x C x height x width x kernel height x kernel width."""
    top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
    x = np.pad(x, [(0, 0), (0, 0), (top, bottom), (left, right)], constant_values=fill)
    down, across = attributes.get("strides", [1, 1])
    return np.lib.stride_tricks.sliding_window_view(x, attributes["kernel_shape"], axis=(2, 3))[:, :, ::down, ::across]


def convolve(x, weights, biases, attributes):
    views = windows(x, attributes, 0)
    count, channels, height, width = views.shape[:4]
    if attributes.get("group", 1) == 1:
        columns = views.transpose(0, 2, 3, 1, 4, 5).reshape(count * height * width, -1)
        y = columns @ weights.reshape(len(weights), -1).T
        y = y.reshape(count, height, width, -1).transpose(0, 3, 1, 2)
    elif attributes["group"] == channels == len(weights):
        y = np.einsum("nchwij,cij->nchw", views, weights[:, 0], optimize=True)
    else:
        raise ValueError("unsupported groups of a convolution")
    return y + biases[:, None, None]


def softmax(x):
    y = np.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


def evaluate(operator, inputs, attributes):
    x = inputs[0]
    if operator == "Conv":
        return convolve(*inputs, attributes)
    if operator == "Relu":
        return np.maximum(x, 0)
    if operator == "Clip":
        return np.clip(x, attributes["min"], attributes["max"])
    if operator == "MaxPool":
        return windows(x, attributes, -np.inf).max(axis=(4, 5))
    if operator == "AveragePool" and "pads" not in attributes:
        return windows(x, attributes, 0).mean(axis=(4, 5))
    if operator == "GlobalAveragePool":
        return x.mean(axis=(2, 3), keepdims=True)
    if operator == "Add":
        return x + inputs[1]
    if operator == "Flatten" and attributes["axis"] == 1:
        return x.reshape(len(x), -1)
    if operator == "Gemm" and attributes == {"transB": 1}:
        return x @ inputs[1].T + inputs[2]
    if operator == "Softmax" and attributes["axis"] == 1:
        return softmax(x)
    raise ValueError(f"unsupported operator: {operator} {attributes}")


def run(path, images):
    """Outputs by name for N x 3 x H x W images."""
    graph = onnx.load(str(path)).graph
    values = {weight.name: numpy_helper.to_array(weight) for weight in graph.initializer}
    values[graph.input[0].name] = np.asarray(images, np.float32)
    uses = [name for node in graph.node for name in node.input]
    wanted = [output.name for output in graph.output]
    for node in graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = evaluate(node.op_type, [values[name] for name in node.input], attributes)
        for name in node.input:  # frees what nobody reads any more
            uses.remove(name)
            if name not in uses and name not in wanted:
                del values[name]
    return {name: values[name] for name in wanted}
