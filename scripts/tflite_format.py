"""Read a network stored in the TensorFlow Lite format, a flatbuffer: float32 tensors and operators of one graph.

A flatbuffer table begins with the distance back to its vtable, which lists where each of its fields is. Fields are
numbered as in TensorFlow's schema.fbs. Only what MobileNet v1 uses is understood.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

KINDS = {1: "AVERAGE_POOL_2D", 3: "CONV_2D", 4: "DEPTHWISE_CONV_2D", 22: "RESHAPE", 25: "SOFTMAX", 43: "SQUEEZE"}
# Kind -> the options that are read: name, field number, format, default.
OPTIONS = {
    "CONV_2D": [("padding", 0, "b", 0), ("stride_w", 1, "i", 0), ("stride_h", 2, "i", 0), ("activation", 3, "b", 0),
                ("dilation_w", 4, "i", 1), ("dilation_h", 5, "i", 1)],
    "DEPTHWISE_CONV_2D": [("padding", 0, "b", 0), ("stride_w", 1, "i", 0), ("stride_h", 2, "i", 0),
                          ("multiplier", 3, "i", 0), ("activation", 4, "b", 0), ("dilation_w", 5, "i", 1),
                          ("dilation_h", 6, "i", 1)],
    "AVERAGE_POOL_2D": [("padding", 0, "b", 0), ("stride_w", 1, "i", 0), ("stride_h", 2, "i", 0),
                        ("filter_w", 3, "i", 0), ("filter_h", 4, "i", 0), ("activation", 5, "b", 0)],
    "SOFTMAX": [("beta", 0, "f", 0.0)],
    "RESHAPE": [],
    "SQUEEZE": [],
}
SAME, RELU6 = 0, 3  # values of padding and activation; 0 is no activation


class Table:
    """A table of a flatbuffer. Reading outside of the file raises struct.error or ValueError."""

    def __init__(self, data, position):
        self.data, self.position = data, position

    def place(self, field):
        vtable = self.position - struct.unpack_from("<i", self.data, self.position)[0]
        size = struct.unpack_from("<H", self.data, vtable)[0]
        entry = 4 + 2 * field
        offset = struct.unpack_from("<H", self.data, vtable + entry)[0] if entry < size else 0
        return self.position + offset if offset else None

    def scalar(self, field, kind, default=0):
        place = self.place(field)
        return default if place is None else struct.unpack_from("<" + kind, self.data, place)[0]

    def target(self, place):
        return place + struct.unpack_from("<I", self.data, place)[0]

    def table(self, field):
        place = self.place(field)
        return None if place is None else Table(self.data, self.target(place))

    def vector(self, field, kind):
        """Values of a vector of scalars, as an array."""
        place = self.place(field)
        if place is None:
            return np.zeros(0, kind)
        start = self.target(place)
        count = struct.unpack_from("<I", self.data, start)[0]
        return np.frombuffer(self.data, kind, count, start + 4)

    def tables(self, field):
        place = self.place(field)
        if place is None:
            return []
        start = self.target(place)
        count = struct.unpack_from("<I", self.data, start)[0]
        return [Table(self.data, self.target(start + 4 + 4 * i)) for i in range(count)]


@dataclass
class Operator:
    kind: str
    inputs: list
    outputs: list
    options: dict


class TfliteNetwork:
    """`operators` in order; `constants` maps a tensor number to its values; `shapes` are those of one image."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        if data[4:8] != b"TFL3":
            raise ValueError(f"{path}: not a TensorFlow Lite file")
        model = Table(data, struct.unpack_from("<I", data)[0])
        kinds = [max(code.scalar(0, "b"), code.scalar(3, "i")) for code in model.tables(1)]
        (graph,) = model.tables(2)
        buffers = model.tables(4)
        self.shapes, self.constants = [], {}
        for number, tensor in enumerate(graph.tables(0)):
            self.shapes.append(tensor.vector(0, "<i4").tolist())
            values = buffers[tensor.scalar(2, "I")].vector(0, "u1")
            if len(values) and tensor.scalar(1, "b") == 0:  # float32; others are shapes
                self.constants[number] = values.view("<f4").reshape(self.shapes[-1])
        (self.input,) = graph.vector(1, "<i4").tolist()
        self.operators = [self.operator(kinds, table) for table in graph.tables(3)]

    @staticmethod
    def operator(kinds, table):
        number = kinds[table.scalar(0, "I")]
        if number not in KINDS:
            raise ValueError(f"unsupported operator: {number} of TensorFlow Lite")
        kind, fields = KINDS[number], table.table(4)
        options = {name: fields.scalar(field, form, default) for name, field, form, default in OPTIONS[kind]}
        if options.get("dilation_w", 1) != 1 or options.get("dilation_h", 1) != 1 or options.get("beta", 1.0) != 1.0:
            raise ValueError(f"unsupported options of {kind}: {options}")
        if options.get("multiplier", 1) != 1 or options.get("activation", 0) not in (0, RELU6):
            raise ValueError(f"unsupported options of {kind}: {options}")
        return Operator(kind, table.vector(1, "<i4").tolist(), table.vector(2, "<i4").tolist(), options)


def same_pads(size, kernel, stride):
    """What TensorFlow's SAME padding adds before and after: the odd pixel comes after."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def run_slowly(network, image):
    """Evaluates the network on one H x W x 3 image, window by window, in double precision: a reference for others.

    Returns the values of every operator's output by tensor number.
    """
    values = {network.input: image.astype(np.float64)}
    for operator in network.operators:
        x, options = values[operator.inputs[0]], operator.options
        if operator.kind in ("RESHAPE", "SQUEEZE"):
            y = x.reshape(-1)
        elif operator.kind == "SOFTMAX":
            y = np.exp(x - x.max())
            y /= y.sum()
        else:
            y = slide(network, operator, x)
        if options.get("activation") == RELU6:
            y = np.clip(y, 0, 6)
        values[operator.outputs[0]] = y
    return values


def slide(network, operator, x):
    options = operator.options
    if operator.kind == "AVERAGE_POOL_2D":
        height, width = options["filter_h"], options["filter_w"]
        if options["padding"] == SAME:
            raise ValueError("unsupported padding of AVERAGE_POOL_2D")
    else:
        kernel, bias = (network.constants[i].astype(np.float64) for i in operator.inputs[1:3])
        height, width = kernel.shape[1:3]
        if options["padding"] == SAME:
            x = np.pad(x, [same_pads(x.shape[0], height, options["stride_h"]),
                           same_pads(x.shape[1], width, options["stride_w"]), (0, 0)])
    rows = []
    for top in range(0, x.shape[0] - height + 1, options["stride_h"]):
        row = []
        for left in range(0, x.shape[1] - width + 1, options["stride_w"]):
            window = x[top:top + height, left:left + width]
            if operator.kind == "AVERAGE_POOL_2D":
                row.append(window.mean(axis=(0, 1)))
            elif operator.kind == "DEPTHWISE_CONV_2D":
                row.append((window * kernel[0]).sum(axis=(0, 1)) + bias)
            else:
                row.append(np.tensordot(kernel, window, 3) + bias)
        rows.append(row)
    return np.array(rows)
