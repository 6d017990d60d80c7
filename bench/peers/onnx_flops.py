"""Arithmetic of convolutions and products in a network for one photograph, up to a layer; a multiply-add counts 2.

    onnx_flops.py --network FILE.onnx --layer NAME --side 224 --out RESULT.json
"""
import argparse
import json
import math

import onnx
from onnx import shape_inference


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", required=True)
    parser.add_argument("--layer", required=True)
    parser.add_argument("--side", type=int, required=True)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    model = onnx.load(given.network)
    for size, value in zip(model.graph.input[0].type.tensor_type.shape.dim, (1, 3, given.side, given.side)):
        size.dim_value = value
    graph = shape_inference.infer_shapes(model).graph
    shapes = {value.name: [size.dim_value for size in value.type.tensor_type.shape.dim]
              for value in [*graph.value_info, *graph.output, *graph.input]}
    shapes.update((one.name, list(one.dims)) for one in graph.initializer)
    makers = {name: node for node in graph.node for name in node.output}
    needed, waiting, flops = set(), [given.layer], 0
    while waiting:
        node = makers.get(waiting.pop())
        if node is None or node.output[0] in needed:
            continue
        needed.add(node.output[0])
        waiting += node.input
        if node.op_type == "Conv":
            flops += 2 * math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
        elif node.op_type in ("Gemm", "MatMul"):
            flops += 2 * math.prod(shapes[node.input[1]])
    with open(given.out, "w") as out:
        json.dump({"flops": flops}, out)


if __name__ == "__main__":
    main()
