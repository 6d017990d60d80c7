"""scripts/tflite_format.py and tflite_to_onnx.py on a small file: what is read, and outputs window by window."""

import struct
import unittest

import numpy as np

from script_case import FolderCase, skip_without
try:
    import onnx_numpy
    import tflite_format
    import tflite_to_onnx
    from onnx_graph import write_network
except ImportError as missing:
    skip_without(missing)


class Table(dict):
    """Field number -> bytes of a scalar, an array, a list of tables, or a Table."""


def flatbuffer(root, identifier):
    """The bytes of a table and of all below it. Children come after their parents: offsets are unsigned."""
    data = bytearray(8)
    data[4:8] = identifier

    def put_vector(values):
        start = len(data)
        data.extend(struct.pack("<I", len(values)) + values.tobytes())
        data.extend(bytes(-len(data) % 4))
        return start

    def put_tables(tables):
        start = len(data)
        data.extend(struct.pack("<I", len(tables)) + bytes(4 * len(tables)))
        for number, table in enumerate(tables):
            place = start + 4 + 4 * number
            struct.pack_into("<I", data, place, put_table(table) - place)
        return start

    def put_table(table):
        vtable = len(data)
        slots = max(table, default=-1) + 1
        entries = [4 + 4 * field if field in table else 0 for field in range(slots)]
        data.extend(struct.pack(f"<HH{slots}H", 4 + 2 * slots, 4 + 4 * slots, *entries))
        data.extend(bytes(-len(data) % 4))
        start = len(data)
        data.extend(struct.pack("<i", start - vtable) + bytes(4 * slots))
        for field, value in table.items():
            place = start + 4 + 4 * field
            if isinstance(value, bytes):
                data[place:place + len(value)] = value
                continue
            put = put_table if isinstance(value, Table) else put_vector if isinstance(value, np.ndarray) else put_tables
            struct.pack_into("<I", data, place, put(value) - place)
        return start

    struct.pack_into("<I", data, 0, put_table(root))
    return bytes(data)


def number(value, kind="<i"):
    return struct.pack(kind, value)


def numbers(*values):
    return np.array(values, "<i4")


SAME, VALID, RELU6 = number(0, "b"), number(1, "b"), number(3, "b")
CODES = [3, 4, 1, 43, 25]  # convolution, depthwise, average pooling, squeeze, softmax


def small_file(codes=CODES):
    """Convolution, depthwise convolution, pooling, one-pixel convolution, squeeze, softmax; 9 x 8 x 3 images."""
    generator = np.random.default_rng(1)
    weights = [generator.normal(0, 0.7, shape).astype("<f4")
               for shape in [(4, 3, 3, 3), (4,), (1, 3, 3, 4), (4,), (5, 1, 1, 4), (5,)]]
    shapes = [(1, 9, 8, 3), *(w.shape for w in weights), (1, 5, 4, 4), (1, 3, 2, 4), (1, 1, 1, 4), (1, 1, 1, 5),
              (1, 5), (1, 5)]
    buffers = [Table(), *(Table({0: np.frombuffer(w.tobytes(), "u1")}) for w in weights)]
    tensors = [Table({0: numbers(*shape), 1: number(0, "b"), 2: number(i if i <= 6 else 0, "<I")})
               for i, shape in enumerate(shapes)]

    def operator(code, inputs, output, options):
        return Table({0: number(code, "<I"), 1: numbers(*inputs), 2: numbers(output), 4: Table(options)})

    two = number(2)
    operators = [operator(0, [0, 1, 2], 7, {0: SAME, 1: two, 2: two, 3: RELU6}),
                 operator(1, [7, 3, 4], 8, {0: SAME, 1: two, 2: two, 3: number(1), 4: RELU6}),
                 operator(2, [8], 9, {0: VALID, 1: two, 2: two, 3: number(2), 4: number(3)}),
                 operator(0, [9, 5, 6], 10, {0: SAME, 1: number(1), 2: number(1)}),
                 operator(3, [10], 11, {}),
                 operator(4, [11], 12, {0: number(1.0, "<f")})]
    graph = Table({0: tensors, 1: numbers(0), 2: numbers(12), 3: operators})
    model = Table({0: number(3), 1: [Table({0: number(code, "b")}) for code in codes], 2: [graph], 4: buffers})
    return flatbuffer(model, b"TFL3"), weights


class TfliteToOnnx(FolderCase):
    def setUp(self):
        super().setUp()
        self.file = self.root / "small.tflite"

    def test_tensors_and_operators_are_read(self):
        content, weights = small_file()
        self.file.write_bytes(content)
        network = tflite_format.TfliteNetwork(self.file)
        self.assertEqual([o.kind for o in network.operators],
                         ["CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "CONV_2D", "SQUEEZE", "SOFTMAX"])
        for tensor, values in enumerate(weights, 1):
            np.testing.assert_array_equal(network.constants[tensor], values)
        self.assertEqual(network.operators[1].options, {"padding": 0, "stride_w": 2, "stride_h": 2, "multiplier": 1,
                                                        "activation": 3, "dilation_w": 1, "dilation_h": 1})

    def test_outputs_are_those_of_the_file(self):
        self.file.write_bytes(small_file()[0])
        write_network(tflite_to_onnx.convert(self.file, "small"), self.file.with_suffix(".onnx"), "tf", "whole")
        images = np.random.default_rng(2).uniform(-1, 1, (3, 9, 8, 3))
        found = onnx_numpy.run(self.file.with_suffix(".onnx"), images.transpose(0, 3, 1, 2))
        network = tflite_format.TfliteNetwork(self.file)
        for row, image in enumerate(images):
            values = tflite_format.run_slowly(network, image)
            np.testing.assert_allclose(found["features"][row], values[9].ravel(), rtol=0, atol=1e-5)
            np.testing.assert_allclose(found["probabilities"][row], values[12], rtol=0, atol=1e-5)
        self.assertGreater(found["features"].std(), 0.01)

    def test_padding_is_that_of_tensorflow(self):
        """With an even size and stride 2, one pixel is added, after the others."""
        for size, pads in [((224, 3, 2), (0, 1)), ((9, 3, 2), (1, 1)), ((7, 3, 1), (1, 1)), ((7, 1, 1), (0, 0))]:
            self.assertEqual(tflite_format.same_pads(*size), pads)

    def test_other_files_are_refused(self):
        content = small_file()[0]
        for wrong in (b"", content[:200], b"1234" + b"GIF8" + content[8:], small_file([3, 4, 1, 43, 14])[0]):
            self.file.write_bytes(wrong)
            with self.assertRaises((ValueError, struct.error)):
                tflite_format.TfliteNetwork(self.file)


if __name__ == "__main__":
    unittest.main()
