"""scripts/tfjs_to_onnx.py on a small network: the same outputs as its layers have, computed one by one."""

import json
import unittest

import numpy as np

from script_case import FolderCase, skip_without
try:
    import onnx_numpy
    import tfjs_to_onnx
    from onnx_graph import write_network
except ImportError as missing:
    skip_without(missing)


def layer(kind, name, sources, **config):
    return {"class_name": kind, "name": name, "config": {"name": name, **config},
            "inbound_nodes": [[[source, 0, 0, {}] for source in sources]] if sources else []}


def convolution(name, source, size, stride, padding):
    return layer("Conv2D", name, [source], padding=padding, strides=[stride, stride], kernel_size=[size, size],
                 activation="linear", dilation_rate=[1, 1], use_bias=True)


def relu(name, source):
    return layer("Activation", name, [source], activation="relu")


LAYERS = [
    layer("InputLayer", "input", [], batch_input_shape=[None, 15, 13, 3]),
    layer("ZeroPadding2D", "pad1", ["input"], padding=[[3, 3], [2, 2]]),
    convolution("conv1", "pad1", 5, 2, "valid"),
    layer("BatchNormalization", "bn1", ["conv1"], epsilon=0.001),
    relu("relu1", "bn1"),
    layer("ZeroPadding2D", "pad2", ["relu1"], padding=[[1, 1], [1, 1]]),
    layer("MaxPooling2D", "pool", ["pad2"], padding="valid", pool_size=[3, 3], strides=[2, 2]),
    convolution("conv2", "pool", 3, 1, "same"),
    layer("BatchNormalization", "bn2", ["conv2"], epsilon=0.001),
    layer("Add", "add", ["bn2", "pool"]),
    relu("relu2", "add"),
    layer("GlobalAveragePooling2D", "mean", ["relu2"]),
    layer("Dense", "classes", ["mean"], activation="softmax"),
]
SHAPES = {"conv1/kernel": (5, 5, 3, 8), "conv1/bias": (8,), "conv2/kernel": (3, 3, 8, 8), "conv2/bias": (8,),
          "classes/kernel": (8, 6), "classes/bias": (6,),
          **{f"bn{n}/{part}": (8,) for n in (1, 2) for part in ("moving_mean", "moving_variance", "gamma", "beta")}}


def windows(x, size):
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2))


def expected_outputs(x, w):
    """x: N x H x W x C. Layer by layer, channels last, as Keras defines them."""
    def convolved(x, name, stride):
        kernel = w[f"{name}/kernel"]
        views = windows(x, kernel.shape[0])[:, ::stride, ::stride]
        return np.einsum("nhwcij,ijco->nhwo", views, kernel) + w[f"{name}/bias"]

    def normalised(x, name):
        scaled = (x - w[f"{name}/moving_mean"]) / np.sqrt(w[f"{name}/moving_variance"] + 0.001)
        return scaled * w[f"{name}/gamma"] + w[f"{name}/beta"]

    def padded(x, down, across):
        return np.pad(x, [(0, 0), (down, down), (across, across), (0, 0)])

    x = np.maximum(normalised(convolved(padded(x, 3, 2), "conv1", 2), "bn1"), 0)
    pooled = windows(padded(x, 1, 1), 3)[:, ::2, ::2].max(axis=(4, 5))
    x = np.maximum(normalised(convolved(padded(pooled, 1, 1), "conv2", 1), "bn2") + pooled, 0)
    features = x.mean(axis=(1, 2))
    scores = np.exp(features @ w["classes/kernel"] + w["classes/bias"])
    return features, scores / scores.sum(axis=1, keepdims=True)


class TfjsToOnnx(FolderCase):
    def write(self, layers):
        """model.json and two shards of weights; returns the weights."""
        generator = np.random.default_rng(1)
        weights = {name: generator.normal(0, 0.5, shape).astype("<f4") for name, shape in SHAPES.items()}
        weights.update({name: np.abs(value) + np.float32(0.1) for name, value in weights.items() if "variance" in name})
        stream = b"".join(value.tobytes() for value in weights.values())
        (self.root / "a.bin").write_bytes(stream[:1001])  # shards end anywhere
        (self.root / "b.bin").write_bytes(stream[1001:])
        manifest = [{"paths": ["a.bin", "b.bin"], "weights": [{"name": name, "shape": list(shape), "dtype": "float32"}
                                                              for name, shape in SHAPES.items()]}]
        topology = {"model_config": {"config": {"layers": layers}}}
        (self.root / "model.json").write_text(json.dumps({"modelTopology": topology, "weightsManifest": manifest}))
        return weights

    def test_outputs_are_those_of_the_layers(self):
        weights = self.write(LAYERS)
        network = tfjs_to_onnx.convert(self.root / "model.json", "small")
        write_network(network, self.root / "s.onnx", "caffe", "whole")
        images = np.random.default_rng(2).normal(size=(3, 15, 13, 3))
        features, probabilities = expected_outputs(images, weights)
        found = onnx_numpy.run(self.root / "s.onnx", images.transpose(0, 3, 1, 2))
        np.testing.assert_allclose(found["features"], features, rtol=0, atol=1e-5 * features.max())
        np.testing.assert_allclose(found["probabilities"], probabilities, rtol=0, atol=1e-5)
        self.assertEqual(json.loads((self.root / "s.json").read_text()),
                         {"preset": "caffe", "fit": "whole", "width": 13, "height": 15, "layer": "features"})

    def test_what_it_does_not_know_is_refused(self):
        for old, new in [(LAYERS[4], layer("Activation", "relu1", ["bn1"], activation="tanh")),
                         (LAYERS[7], convolution("conv2", "pool", 3, 2, "same")),
                         (LAYERS[2], {**LAYERS[2], "config": {**LAYERS[2]["config"], "dilation_rate": [2, 2]}})]:
            self.write([new if each is old else each for each in LAYERS])
            with self.assertRaisesRegex(ValueError, "unsupported"):
                tfjs_to_onnx.convert(self.root / "model.json", "small")


if __name__ == "__main__":
    unittest.main()
