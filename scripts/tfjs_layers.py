"""Run a network stored in the TensorFlow.js "layers" format with PyTorch.

The format is a Keras layer graph (model.json) plus raw little-endian weight
shards. Only the layer kinds that ResNet-50 uses are understood; any other
kind, and any option that would silently change the result, is refused.
"""

import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F


def read_weights(model_path, manifest):
    """Map weight name -> float32 array. A group's shards are one byte stream."""
    weights = {}
    for group in manifest:
        stream = b"".join((model_path.parent / p).read_bytes() for p in group["paths"])
        offset = 0
        for spec in group["weights"]:
            if spec["dtype"] != "float32" or "quantization" in spec:
                raise ValueError(f"unsupported weight encoding: {spec}")
            count = int(np.prod(spec["shape"]))
            values = np.frombuffer(stream, "<f4", count, offset)
            weights[spec["name"]] = values.reshape(spec["shape"])
            offset += 4 * count
        if offset != len(stream):
            raise ValueError("weight shards and manifest disagree about the size")
    return weights


class LayersModel:
    """The layer graph, evaluated in the order in which model.json lists it."""

    def __init__(self, model_path):
        model_path = Path(model_path)
        model = json.loads(model_path.read_text())
        self.layers = model["modelTopology"]["model_config"]["config"]["layers"]
        self.weights = {}
        for name, value in read_weights(model_path, model["weightsManifest"]).items():
            # Keras keeps images channels-last; PyTorch convolves channels-first.
            order = (3, 2, 0, 1) if value.ndim == 4 else range(value.ndim)
            self.weights[name] = torch.from_numpy(value.transpose(*order).copy())
        # How many later layers read each output: lets run() free memory early.
        self.readers = {}
        for layer in self.layers:
            for source in self.sources(layer):
                self.readers[source] = self.readers.get(source, 0) + 1

    @staticmethod
    def sources(layer):
        nodes = layer["inbound_nodes"]
        return [edge[0] for edge in nodes[0]] if nodes else []

    def run(self, images, keep):
        """Evaluate on N x 3 x H x W images; return the outputs named in keep."""
        alive, kept, pending = {}, {}, dict(self.readers)
        for layer in self.layers:
            inputs = [alive[s] for s in self.sources(layer)] or [images]
            output = self.apply(layer, inputs)
            alive[layer["name"]] = output
            if layer["name"] in keep:
                kept[layer["name"]] = output
            for source in self.sources(layer):
                pending[source] -= 1
                if pending[source] == 0:
                    del alive[source]
        return kept

    def apply(self, layer, inputs):
        kind, config, x = layer["class_name"], layer["config"], inputs[0]
        if kind == "InputLayer":
            return x
        if kind == "ZeroPadding2D":
            (top, bottom), (left, right) = config["padding"]
            return F.pad(x, (left, right, top, bottom))
        if kind == "Conv2D":
            return self.convolve(config, x)
        if kind == "BatchNormalization":
            mean, variance, gamma, beta = (self.weights[f"{config['name']}/{part}"]
                                           for part in ("moving_mean", "moving_variance", "gamma", "beta"))
            return F.batch_norm(x, mean, variance, gamma, beta, eps=config["epsilon"])
        if kind == "Activation" and config["activation"] == "relu":
            return F.relu(x)
        if kind == "MaxPooling2D" and config["padding"] == "valid":
            return F.max_pool2d(x, config["pool_size"], config["strides"])
        if kind == "Add":
            return inputs[0] + inputs[1]
        if kind == "GlobalAveragePooling2D":
            return x.mean(dim=(2, 3))
        if kind == "Dense" and config["activation"] == "softmax":
            name = config["name"]
            logits = x @ self.weights[f"{name}/kernel"] + self.weights[f"{name}/bias"]
            return logits.softmax(dim=1)
        raise ValueError(f"unsupported layer: {kind} {config['name']}")

    def convolve(self, config, x):
        if config["activation"] != "linear" or config["dilation_rate"] != [1, 1]:
            raise ValueError(f"unsupported convolution: {config['name']}")
        padding = 0
        if config["padding"] == "same":
            # With stride 1 and an odd kernel "same" is symmetric, as in PyTorch.
            if config["strides"] != [1, 1] or config["kernel_size"][0] % 2 == 0:
                raise ValueError(f"unsupported padding: {config['name']}")
            padding = config["kernel_size"][0] // 2
        bias = self.weights[f"{config['name']}/bias"] if config["use_bias"] else None
        return F.conv2d(x, self.weights[f"{config['name']}/kernel"], bias,
                        stride=tuple(config["strides"]), padding=padding)
