"""scripts/get-backbone: its checks accept what is right and refuse what is wrong; `make test-peers` fetches networks"""

import contextlib
import importlib.machinery
import importlib.util
import io
import sys
import unittest
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "get-backbone"
sys.path.insert(0, str(SCRIPT.parent))
sys.dont_write_bytecode = True  # a program without an ending would leave a file beside it
try:
    import PIL  # noqa: F401 - the script needs it
    loader = importlib.machinery.SourceFileLoader("get_backbone", str(SCRIPT))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("get_backbone", loader))
    loader.exec_module(script)
except ImportError as missing:
    print(f"skipped: {missing}; `scripts/setup.sh test` installs it")
    sys.exit(77)


class SmallNetwork:
    class_names = [f"class_{number}" for number in range(1000)]
    features = np.arange(12, dtype=np.float32).reshape(3, 4)

    def reference(self, images):
        return {"features": self.features[:2]}, "another program", 2


class GetBackbone(unittest.TestCase):
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

    def test_photographs_of_known_classes_are_recognised(self):
        classes = ["cat"] * 10 + ["horse"] * 10
        for background in (0, 1):
            probabilities = np.zeros((20, 1000 + background), np.float32)
            probabilities[:, 500 + background] = 0.1
            with self.assertRaisesRegex(SystemExit, "the network or its input is wrong"):
                self.printed(script.check_answers, SmallNetwork(), {"probabilities": probabilities}, classes)
            probabilities[:3, 281 + background] = 1  # a tabby
            self.assertIn("3 of 20 photographs of the demo set are recognised as kin of their class: cat as class_281",
                          self.printed(script.check_answers, SmallNetwork(), {"probabilities": probabilities}, classes))

    def test_photographs_are_of_training_samples(self):
        photos, classes = script.demo_sample()
        self.assertEqual(photos.shape, (128, 224, 224, 3))
        self.assertFalse(set(classes) & {"deer", "truck"})

    def test_inputs_have_the_colours_of_their_preset(self):
        pixel = np.array([[[[255, 0, 127.5]]]], np.float32)
        np.testing.assert_allclose(script.MobileNet.inputs(pixel).ravel(), [1, -1, 0], atol=1e-6)
        np.testing.assert_allclose(script.ResNet50.inputs(pixel).ravel(), [127.5 - 103.939, -116.779, 255 - 123.68],
                                   rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
