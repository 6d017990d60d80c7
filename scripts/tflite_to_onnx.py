"""Convert MobileNet v1 from the TensorFlow Lite format to ONNX, with numpy alone.

Its batch normalisation is already part of the convolutions there.
"""

from onnx_graph import Graph
from tflite_format import RELU6, SAME, TfliteNetwork, same_pads


def convert(path, name):
    """A Graph with the outputs "features" (what is pooled) and "probabilities" (of the classes)."""
    network = TfliteNetwork(path)
    _, height, width, _ = network.shapes[network.input]
    graph = Graph(name, height, width)
    values = {network.input: "image"}
    pooled = None
    for number, operator in enumerate(network.operators):
        source, target = values[operator.inputs[0]], operator.outputs[0]
        if operator.kind == "AVERAGE_POOL_2D":
            window = [operator.options["filter_h"], operator.options["filter_w"]]
            if window != network.shapes[operator.inputs[0]][1:3] or pooled is not None:
                raise ValueError("expected one pooling, over the whole image")
            graph.add("GlobalAveragePool", [source], "pooled")
            values[target] = graph.add("Flatten", ["pooled"], "features", axis=1)
            pooled = network.shapes[target][-1]
            graph.output("features", pooled)
        elif operator.kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            values[target] = convolve(graph, network, operator, source, f"conv{number}", pooled is not None)
        elif operator.kind in ("RESHAPE", "SQUEEZE"):  # to rows of class scores, which they are
            values[target] = source
        elif operator.kind == "SOFTMAX":
            values[target] = graph.add("Softmax", [source], "probabilities", axis=1)
            graph.output("probabilities", network.shapes[target][-1])
    return graph


def convolve(graph, network, operator, source, name, behind_pooling):
    kernel, bias = (network.constants[i] for i in operator.inputs[1:3])
    options = operator.options
    biases = graph.constant(f"{name}_biases", bias)
    if behind_pooling:  # a convolution of one pixel: a matrix product
        if kernel.shape[1:3] != (1, 1) or options["activation"] != 0:
            raise ValueError("unsupported convolution behind the pooling")
        weights = graph.constant(f"{name}_weights", kernel[:, 0, 0])
        return graph.add("Gemm", [source, weights, biases], name, transB=1)
    depthwise = operator.kind == "DEPTHWISE_CONV_2D"
    order = (3, 0, 1, 2) if depthwise else (0, 3, 1, 2)
    weights = graph.constant(f"{name}_weights", kernel.transpose(order))
    size = kernel.shape[1:3]
    strides = [options["stride_h"], options["stride_w"]]
    pads = [0, 0, 0, 0]
    if options["padding"] == SAME:
        shape = network.shapes[operator.inputs[0]][1:3]
        (top, bottom), (left, right) = (same_pads(*each) for each in zip(shape, size, strides))
        pads = [top, left, bottom, right]
    value = graph.add("Conv", [source, weights, biases], name, kernel_shape=list(size), strides=strides, pads=pads,
                      group=kernel.shape[3] if depthwise else 1)
    if options["activation"] == RELU6:
        value = graph.add("Clip", [name], f"{name}_relu6", min=0.0, max=6.0)
    return value
