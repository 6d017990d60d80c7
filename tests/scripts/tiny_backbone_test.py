"""scripts/tiny_backbone.py and demo_photos.py: bytes that the seed decides, and features that tell classes apart."""

import json
import unittest

import numpy as np

from script_case import SCRIPTS, FolderCase, run, skip_without
try:
    import demo_photos
    import make_demo_set
    import onnx_numpy
    import PIL  # noqa: F401 - the scripts need it
except ImportError as missing:
    skip_without(missing)


class TinyBackbone(FolderCase):
    def run_script(self, name, *arguments):
        done = run(SCRIPTS / name, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def make(self, name, *arguments):
        self.run_script("tiny_backbone.py", "--out", self.root / name, *arguments)
        return (self.root / name).read_bytes()

    def test_the_seed_decides_the_bytes(self):
        network = self.make("a.onnx")
        self.assertLess(len(network), 100_000)
        self.assertEqual(network, self.make("b.onnx", "--seed", 1))
        self.assertNotEqual(network, self.make("c.onnx", "--seed", 2))
        self.assertEqual(json.loads((self.root / "a.json").read_text()),
                         {"preset": "tf", "fit": "whole", "width": 32, "height": 32, "layer": "features"})

    def test_classes_that_no_model_has_seen_are_told_apart(self):
        """Cat and airplane, by a linear map to attributes that was fitted without them."""
        self.make("tiny.onnx")
        photos, labels = demo_photos.photographs()
        rows = demo_photos.training_samples(labels)
        images = photos[rows].transpose(0, 3, 1, 2) / 127.5 - 1
        parts = [onnx_numpy.run(self.root / "tiny.onnx", part)["features"] for part in np.split(images, 24)]
        features = np.sqrt(np.concatenate(parts).astype(np.float64))
        self.assertEqual(features.shape, (1536, 512))
        names, attributes = make_demo_set.read_attributes(demo_photos.DEMO / "attributes.csv")
        held = [names.index(name) for name in make_demo_set.VALIDATION]
        held_out = np.isin(labels[rows], held)
        weights = make_demo_set.fit_ridge(features[~held_out], attributes[labels[rows]][~held_out])
        predicted = make_demo_set.classify(features[held_out], weights, attributes, held)
        self.assertGreater(make_demo_set.class_accuracy(predicted, labels[rows][held_out]), 0.75)

    def test_the_photographs_of_a_folder_make_another_network(self):
        printed = self.run_script("demo_photos.py", "--out", self.root / "photos")
        self.assertIn("2400 photographs of 10 classes", printed)
        files = sorted((self.root / "photos").glob("*/*.png"))
        names = demo_photos.class_names()
        self.assertEqual([f.parent.name for f in files], [names[c] for c in demo_photos.photographs()[1]])
        self.assertEqual([int(f.stem) for f in files], list(range(2400)))  # what split.json's numbers mean
        self.assertNotEqual(self.make("own.onnx", "--photos", self.root / "photos" / "ship"), self.make("demo.onnx"))


if __name__ == "__main__":
    unittest.main()
