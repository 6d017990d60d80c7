"""scripts/check_backbone.py: its checks accept what is right and refuse what is wrong; `make test-peers` fetches
networks"""

import contextlib
import io
import unittest

import numpy as np

from script_case import skip_without
try:
    import PIL  # noqa: F401 - the script needs it
    import check_backbone as script
except ImportError as missing:
    skip_without(missing)

LABELS = [label for labels in script.PHOTOS.values() for label in labels]
FIRST = [LABELS.index(labels[0]) for labels in script.PHOTOS.values()]


class SmallNetwork:
    like_preset = ()
    class_names = LABELS + [f"class_{number}" for number in range(len(LABELS), 1000)]
    features = np.arange(12, dtype=np.float32).reshape(3, 4)

    def reference(self, images):
        return {"features": self.features[:2]}, "another program", 2


class CheckBackbone(unittest.TestCase):
    def printed(self, check, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            check(*arguments)
        return text.getvalue()

    def test_numbers_of_another_program_are_expected(self):
        network = SmallNetwork()
        self.assertIn("features of 2 photographs: 4 values each, largest difference to another program 0.0e+00",
                      self.printed(script.check_numbers, network, {"features": network.features}, None))
        for wrong in (network.features + 0.01, network.features[:, :3], np.full((3, 4), np.nan)):
            with self.assertRaisesRegex(SystemExit, "expected"):
                self.printed(script.check_numbers, network, {"features": wrong}, None)

    def test_labels_of_photographs_are_expected_among_the_best(self):
        network = SmallNetwork()
        for background in (0, 1):
            probabilities = np.zeros((5, 1000 + background), np.float32)
            for photo in range(5):
                probabilities[photo, 500:504] = 0.2  # wrong, but the fifth is right
                probabilities[photo, background + FIRST[photo]] = 0.1
            self.assertIn("chelsea.png: class_", self.printed(script.check_labels, network, probabilities))
            np.testing.assert_allclose(np.exp(script.log_probabilities(network, probabilities)), 0.1, rtol=1e-6)
            probabilities[1, 504] = 0.2
            with self.assertRaisesRegex(SystemExit, "coffee.png: expected espresso among the first five"):
                self.printed(script.check_labels, network, probabilities)

    def test_every_wrong_input_is_refused(self):
        """By a network that knows the contrast, the colours and the edges of photographs that it is given as is."""
        draw = np.random.default_rng(1)
        photos = draw.uniform(0, 255, (5, 1, 1, 3)) + draw.normal(0, 9, (5, 8, 8, 1)).cumsum(axis=1)
        for preset in ("caffe", "tf"):
            network = SmallNetwork()
            network.preset = preset
            known = script.inputs_of(photos, preset)

            def run(inputs):
                distances = ((inputs[:, None] - known[None]) ** 2).mean(axis=(2, 3, 4)) / known.var()
                probabilities = np.full((len(inputs), 1000), 1e-9)
                probabilities[:, FIRST] = np.exp(-distances / 2)
                return probabilities

            means = script.mean_answers(network, run, photos)
            self.assertIn(f"{preset}, channels last", means)
            self.printed(script.check_way, means, preset)
            for wrong in means:
                if wrong != preset:
                    with self.assertRaisesRegex(SystemExit, "the network or its input is wrong"):
                        self.printed(script.check_way, means, wrong)

    def test_the_scale_is_that_of_the_package(self):
        network = SmallNetwork()
        network.like_preset = ("torchvision", "0 to 1")
        network.scale = lambda: (128, 128)
        self.printed(script.check_scale, network, "tf")
        for wrong in ("torchvision", "0 to 1", "0 to 255", "caffe"):
            with self.assertRaisesRegex(SystemExit, "the network's input is wrong"):
                self.printed(script.check_scale, network, wrong)

    def test_a_way_must_be_better_by_a_margin(self):
        with self.assertRaisesRegex(SystemExit, "better or as good ones with 'tf, blue and red swapped'"):
            self.printed(script.check_way, {"tf": -0.5, "tf, blue and red swapped": -0.6}, "tf")

    def test_inputs_have_the_colours_of_their_preset(self):
        pixel = np.array([[[[255, 0, 127.5]]]], np.float32)
        np.testing.assert_allclose(script.inputs_of(pixel, "tf").ravel(), [1, -1, 0], atol=1e-6)
        np.testing.assert_allclose(script.inputs_of(pixel, "caffe").ravel(),
                                   [127.5 - 103.939, -116.779, 255 - 123.68], rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
