"""Run a network stored in the TensorFlow.js "layers" format with PyTorch.

The format is a Keras layer graph (model.json) plus raw little-endian weight
shards. Only the layer kinds that ResNet-50 uses are understood; any other
kind, and any option that would silently change the result, is refused.
"""

import torch
import torch.nn.functional as F

from tfjs_format import read_layers, readers, same_padding, sources


class LayersModel:
    """The layer graph, evaluated in the order in which model.json lists it."""

    def __init__(self, model_path):
        self.layers, weights = read_layers(model_path)
        self.weights = {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
        # How many later layers read each output: lets run() free memory early.
        self.readers = {name: len(found) for name, found in readers(self.layers).items()}

    def run(self, images, keep):
        """Evaluate on N x 3 x H x W images; return the outputs named in keep."""
        alive, kept, pending = {}, {}, dict(self.readers)
        for layer in self.layers:
            inputs = [alive[s] for s in sources(layer)] or [images]
            output = self.apply(layer, inputs)
            alive[layer["name"]] = output
            if layer["name"] in keep:
                kept[layer["name"]] = output
            for source in sources(layer):
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
        bias = self.weights[f"{config['name']}/bias"] if config["use_bias"] else None
        return F.conv2d(x, self.weights[f"{config['name']}/kernel"], bias,
                        stride=tuple(config["strides"]), padding=same_padding(config))
