"""Convert a network from the TensorFlow.js "layers" format to ONNX, with numpy alone.

Zero padding and batch normalisation become part of the convolution beside them, which changes no value but by rounding.
Only the layer kinds that ResNet-50 uses are understood.
"""

import numpy as np

from onnx_graph import Graph
from tfjs_format import read_layers, readers, same_padding, sources


class Conversion:
    """The layers one after the other. `values` maps a layer to the ONNX value that holds its output."""

    def __init__(self, model_path, name):
        self.layers, self.weights = read_layers(model_path)
        self.readers = readers(self.layers)
        height, width = self.layers[0]["config"]["batch_input_shape"][1:3]
        self.graph = Graph(name, height, width)
        self.values, self.padding = {}, {}
        for layer in self.layers:
            self.convert(layer)

    def convert(self, layer):
        kind, config, name = layer["class_name"], layer["config"], layer["name"]
        inputs = [self.values[s] for s in sources(layer)]
        if kind == "InputLayer":
            self.values[name] = "image"
        elif kind == "ZeroPadding2D":
            self.pad(layer, inputs[0])
        elif kind == "Conv2D":
            self.convolve(layer, inputs[0])
        elif kind == "BatchNormalization":
            self.values[name] = inputs[0]  # convolve() has done it
        elif kind == "Activation" and config["activation"] == "relu":
            self.values[name] = self.graph.add("Relu", inputs, name)
        elif kind == "MaxPooling2D" and config["padding"] == "valid":
            self.values[name] = self.graph.add("MaxPool", inputs, name, kernel_shape=config["pool_size"],
                                               strides=config["strides"], pads=self.pads_of(layer))
        elif kind == "Add":
            self.values[name] = self.graph.add("Add", inputs, name)
        elif kind == "GlobalAveragePooling2D":
            self.graph.add("GlobalAveragePool", inputs, name)
            self.values[name] = self.graph.add("Flatten", [name], "features", axis=1)
        elif kind == "Dense" and config["activation"] == "softmax":
            self.classify(name, inputs[0])
        else:
            raise ValueError(f"unsupported layer: {kind} {name}")

    def pad(self, layer, value):
        """Leaves the padding to the layer that follows. ONNX pads a maximum with -infinity instead of zero, which is
        the same behind a rectifier."""
        (follower,) = self.readers[layer["name"]]
        (source,) = (s for s in self.layers if s["name"] == sources(layer)[0])
        behind_rectifier = source["class_name"] == "Activation" and source["config"]["activation"] == "relu"
        if follower["class_name"] != "Conv2D" and not (follower["class_name"] == "MaxPooling2D" and behind_rectifier):
            raise ValueError(f"unsupported padding: {layer['name']}")
        (top, bottom), (left, right) = layer["config"]["padding"]
        self.padding[layer["name"]] = [top, left, bottom, right]
        self.values[layer["name"]] = value

    def pads_of(self, layer):
        return self.padding.get(sources(layer)[0], [0, 0, 0, 0])

    def convolve(self, layer, value):
        config, name = layer["config"], layer["name"]
        kernel = self.weights[f"{name}/kernel"].astype(np.float64)
        bias = self.weights[f"{name}/bias"].astype(np.float64) if config["use_bias"] else np.zeros(len(kernel))
        followers = self.readers[name]
        if len(followers) != 1 or followers[0]["class_name"] != "BatchNormalization":
            raise ValueError(f"unsupported convolution without batch normalisation: {name}")
        normalisation = followers[0]["config"]
        mean, variance, gamma, beta = (self.weights[f"{normalisation['name']}/{part}"].astype(np.float64)
                                       for part in ("moving_mean", "moving_variance", "gamma", "beta"))
        scale = gamma / np.sqrt(variance + normalisation["epsilon"])
        weights = self.graph.constant(f"{name}_weights", kernel * scale[:, None, None, None])
        biases = self.graph.constant(f"{name}_biases", (bias - mean) * scale + beta)
        own, before = same_padding(config), self.pads_of(layer)
        self.values[name] = self.graph.add("Conv", [value, weights, biases], name, kernel_shape=config["kernel_size"],
                                           strides=config["strides"], pads=[own + p for p in before])

    def classify(self, name, value):
        kernel = self.weights[f"{name}/kernel"]
        self.graph.output("features", kernel.shape[0])
        weights = self.graph.constant(f"{name}_weights", kernel.T)
        biases = self.graph.constant(f"{name}_biases", self.weights[f"{name}/bias"])
        self.graph.add("Gemm", [value, weights, biases], name, transB=1)
        self.values[name] = self.graph.add("Softmax", [name], "probabilities", axis=1)
        self.graph.output("probabilities", kernel.shape[1])


def convert(model_path, name):
    """A Graph with the outputs "features" (what is pooled) and "probabilities" (of the classes)."""
    return Conversion(model_path, name).graph
