"""A network under construction, and its file: ONNX that OpenCV 4.6 reads. Needs numpy alone.

NAME.json beside NAME.onnx is its preprocessing file: how a photograph becomes the network's input, and which output has
the features. `parsnets extract` takes its defaults from there.
"""

import json
import struct
from pathlib import Path

import numpy as np

OPSET = 10  # newer operators are unknown to OpenCV 4.6
IR_VERSION = 5
FLOAT = 1   # element type of tensors


# Protobuf's wire format: the fields of a message, each with its number, in the order of onnx.proto.

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def content(field, value):
    """Of a text, of bytes or of another message."""
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    if isinstance(value, float):
        return content(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return content(1, name) + number(3, value) + number(20, 2)
    return content(1, name) + b"".join(number(8, int(one)) for one in value) + number(20, 7)


def tensor(name, values):
    return (b"".join(number(1, size) for size in values.shape) + number(2, FLOAT) + content(8, name)
            + content(9, values.astype("<f4").tobytes()))


def value_info(name, shape):
    """`shape`: sizes, or names of sizes that are not fixed."""
    sizes = b"".join(content(1, content(2, size) if isinstance(size, str) else number(1, size)) for size in shape)
    return content(1, name) + content(2, content(1, number(1, FLOAT) + content(2, sizes)))


class Graph:
    """Operators in the order in which they were added. Values are channels-first; the batch has any size."""

    def __init__(self, name, height, width):
        self.name = name
        self.height, self.width = height, width
        self.nodes, self.weights, self.outputs = [], [], []
        self.last = "image"

    def constant(self, name, values):
        self.weights.append(tensor(name, np.ascontiguousarray(values, np.float32)))
        return name

    def add(self, operator, inputs, name, **attributes):
        """Returns the name of the operator's output."""
        self.nodes.append(b"".join(content(1, one) for one in inputs) + content(2, name) + content(3, name)
                          + content(4, operator)
                          + b"".join(content(5, attribute(*one)) for one in sorted(attributes.items())))
        self.last = name
        return name

    def output(self, name, size):
        """Declares `name`, rows of `size` values, to be an output."""
        self.outputs.append(value_info(name, ["batch", size]))

    def model(self):
        """The bytes of the file."""
        graph = (b"".join(content(1, node) for node in self.nodes) + content(2, self.name)
                 + b"".join(content(5, one) for one in self.weights)
                 + content(11, value_info("image", ["batch", 3, self.height, self.width]))
                 + b"".join(content(12, one) for one in self.outputs))
        return (number(1, IR_VERSION) + content(2, "parsnets") + content(7, graph)
                + content(8, content(1, "") + number(2, OPSET)))


def write_network(graph, path, preset, fit, layer="features"):
    """Writes the network and its preprocessing file. The same graph gives the same bytes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    card = {"preset": preset, "fit": fit, "width": graph.width, "height": graph.height, "layer": layer}
    path.write_bytes(graph.model())
    path.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n")
