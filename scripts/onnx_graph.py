"""A network under construction, and its file: ONNX that OpenCV 4.6 reads.

NAME.json beside NAME.onnx is its card: how a photograph becomes the network's input, and which output has the
features. `parsnets extract` takes its defaults from there.
"""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 10  # newer operators are unknown to OpenCV 4.6
IR_VERSION = 5


class Graph:
    """Operators in the order in which they were added. Values are channels-first; the batch has any size."""

    def __init__(self, name, height, width):
        self.name = name
        self.height, self.width = height, width
        self.nodes, self.weights, self.outputs = [], [], []
        self.last = "image"

    def constant(self, name, values):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values, np.float32), name))
        return name

    def add(self, operator, inputs, name, **attributes):
        """Returns the name of the operator's output."""
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        self.last = name
        return name

    def output(self, name, size):
        """Declares `name`, rows of `size` values, to be an output."""
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]))

    def model(self):
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, self.height, self.width])
        graph = helper.make_graph(self.nodes, self.name, [image], self.outputs, self.weights)
        model = helper.make_model(graph, producer_name="parsnets", opset_imports=[helper.make_opsetid("", OPSET)],
                                  ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model


def write_network(graph, path, preset, fit, layer="features"):
    """Writes the network and its card. The same graph gives the same bytes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    card = {"preset": preset, "fit": fit, "width": graph.width, "height": graph.height, "layer": layer}
    path.write_bytes(graph.model().SerializeToString(deterministic=True))
    path.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n")
