"""Read a network stored in the TensorFlow.js "layers" format: a Keras layer graph (model.json) and raw weights."""

import json
from pathlib import Path

import numpy as np


def read_weights(folder, manifest):
    """Map weight name -> float32 array. A group's shards are one byte stream."""
    weights = {}
    for group in manifest:
        stream = b"".join((folder / p).read_bytes() for p in group["paths"])
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


def channels_first(weight):
    """Keras keeps images and kernels channels-last; most others convolve channels-first."""
    return weight.transpose(3, 2, 0, 1) if weight.ndim == 4 else weight


def read_layers(model_path):
    """The layers in the order in which they can be evaluated, and the weights by name, channels first."""
    model_path = Path(model_path)
    model = json.loads(model_path.read_text())
    layers = model["modelTopology"]["model_config"]["config"]["layers"]
    weights = read_weights(model_path.parent, model["weightsManifest"])
    return layers, {name: channels_first(value) for name, value in weights.items()}


def sources(layer):
    """Names of the layers whose outputs a layer reads."""
    nodes = layer["inbound_nodes"]
    return [edge[0] for edge in nodes[0]] if nodes else []


def readers(layers):
    """Map layer name -> the layers that read its output."""
    found = {layer["name"]: [] for layer in layers}
    for layer in layers:
        for source in sources(layer):
            found[source].append(layer)
    return found


def same_padding(config):
    """Padding on each side of a convolution; with stride 1 and an odd kernel "same" is symmetric."""
    if config["activation"] != "linear" or config["dilation_rate"] != [1, 1]:
        raise ValueError(f"unsupported convolution: {config['name']}")
    if config["padding"] == "valid":
        return 0
    if config["strides"] != [1, 1] or config["kernel_size"][0] % 2 == 0:
        raise ValueError(f"unsupported padding: {config['name']}")
    return config["kernel_size"][0] // 2
