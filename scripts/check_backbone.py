"""Check a network that scripts/get-backbone made, before its SHA-256 is written down there.

    scripts/check_backbone.py DIR/mobilenet.onnx --work WORK    of get-backbone mobilenet --out DIR --work WORK

Its numbers are compared with another implementation, and its answers on photographs that Debian's packages bring are
right, and worse when they are given in wrong ways. `make test-peers` runs this.

Needs what get-backbone needs, python3-onnx, python3-pil, python3-skimage and python-matplotlib-data; the check of
ResNet-50's numbers also needs python3-torch.
"""

import argparse
import importlib.util
import json
import re
from pathlib import Path

import numpy as np

import one_line_errors
import onnx_numpy
import tflite_format
from npm_packages import MOBILENET, RESNET50

SIDE = 224
TOLERANCE = 1e-4  # of the largest value
MARGIN = 0.2      # of mean log-probabilities, by which the right way must be better than wrong ones
SKIMAGE = Path("/usr/lib/python3/dist-packages/skimage/data")
PHOTOS = {        # labels of ImageNet that are right
    SKIMAGE / "chelsea.png": ("tabby", "tiger_cat", "Egyptian_cat"),
    SKIMAGE / "coffee.png": ("espresso",),
    SKIMAGE / "motorcycle_left.png": ("moped", "motor_scooter"),
    SKIMAGE / "rocket.jpg": ("missile", "projectile"),
    Path("/usr/share/matplotlib/mpl-data/sample_data/grace_hopper.jpg"): ("military_uniform",),
}
COLOURS = {       # red, green, blue of 0 to 255 as a network's input
    "torchvision": lambda rgb: (rgb / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225),
    "caffe": lambda rgb: rgb[..., ::-1] - (103.939, 116.779, 123.68),
    "tf": lambda rgb: rgb / 127.5 - 1,
    "0 to 1": lambda rgb: rgb / 255,
    "0 to 255": lambda rgb: rgb,
}


class ResNet50:
    package, preset = RESNET50, "caffe"
    like_preset = ()

    def __init__(self, folder):
        self.model = folder / "ResNet50" / "model.json"
        names = json.loads((folder / "assets" / "labels.json").read_text())
        self.class_names = [names[str(number)] for number in range(1000)]

    def reference(self, images):
        """What another implementation computes, its name, and how many of the images it was given; else why not."""
        if not importlib.util.find_spec("torch"):
            return None, "python3-torch is not installed", 0
        import torch
        from tfjs_layers import LayersModel
        count = 4
        with torch.no_grad():
            outputs = LayersModel(self.model).run(torch.from_numpy(images[:count].copy()), ("avg_pool", "fc1000"))
        return {"features": outputs["avg_pool"].numpy(), "probabilities": outputs["fc1000"].numpy()}, "PyTorch", count


class MobileNet:
    package, preset = MOBILENET, "tf"
    # It stands half and twice the contrast: its answers do not tell these scales apart. Its package does.
    like_preset = ("torchvision", "0 to 1")

    def __init__(self, folder):
        self.folder = folder
        self.model = folder / "example" / "models" / "mobilenet_v1_1.0_224.tflite"
        names = self.model.with_suffix(".txt").read_text().split("\n")
        self.class_names = [name.strip().replace(" ", "_") for name in names[1:1001]]  # the first is the background

    def scale(self):
        """Mean and scale of values from 0 to 255 in the program that comes with the network."""
        program = (self.folder / "example" / "App.js").read_text().partition("tflite.runModelOnImage(")[2]
        return [float(re.search(rf"{name}: ([0-9.]+)", program)[1]) for name in ("imageMean", "imageStd")]

    def reference(self, images):
        network = tflite_format.TfliteNetwork(self.model)
        values = tflite_format.run_slowly(network, images[0].transpose(1, 2, 0))
        (pooled,) = [o.outputs[0] for o in network.operators if o.kind == "AVERAGE_POOL_2D"]
        outputs = {"features": values[pooled], "probabilities": values[network.operators[-1].outputs[0]]}
        return {name: value.reshape(1, -1) for name, value in outputs.items()}, "a slow evaluation of its source", 1


NETWORKS = {"resnet50": ResNet50, "mobilenet": MobileNet}


def sample_photos():
    """Centres of the photographs, N x 224 x 224 x 3."""
    from PIL import Image
    photos = []
    for file in PHOTOS:
        if not file.exists():
            raise SystemExit(f"{file}: no such file; `scripts/setup.sh backbone` installs it")
        photo = Image.open(file).convert("RGB")
        scale = 256 / min(photo.size)
        photo = photo.resize([round(side * scale) for side in photo.size], Image.BICUBIC)
        left, top = [(side - SIDE) // 2 for side in photo.size]
        photos.append(np.asarray(photo.crop((left, top, left + SIDE, top + SIDE))))
    return np.stack(photos).astype(np.float32)


def inputs_of(photos, preset):
    return COLOURS[preset](photos).transpose(0, 3, 1, 2).astype(np.float32)


def ways(preset):
    """Names of ways to give a photograph to the network, and what makes its input; the first is that of the preset."""
    named = {preset: lambda photos: inputs_of(photos, preset)}
    for other in COLOURS:
        named[other] = lambda photos, other=other: inputs_of(photos, other)
        named[f"{other}, blue and red swapped"] = lambda photos, other=other: inputs_of(photos[..., ::-1], other)
    for own in (preset, f"{preset}, blue and red swapped"):
        named[f"{own}, channels last"] = lambda photos, own=own: (
            lambda x: x.transpose(0, 2, 3, 1).reshape(x.shape))(named[own](photos))
    return named


def check_numbers(network, outputs, images):
    expected, whose, count = network.reference(images)
    if expected is None:
        print(f"numbers: not checked: {whose}")
        return
    for name, values in expected.items():
        found = outputs[name][:count]
        if found.shape != values.shape:
            raise SystemExit(f"{name}: expected the shape {values.shape}, found {found.shape}")
        error = np.abs(found - values).max() / np.abs(values).max()
        print(f"numbers: {name} of {count} photograph{'s'[:count > 1]}: {values.shape[1]} values each, "
              f"largest difference to {whose} {error:.1e} of the largest value")
        if not error <= TOLERANCE:
            raise SystemExit(f"{name}: expected a difference of at most {TOLERANCE}, found {error}")


def log_probabilities(network, probabilities):
    """Of the right labels of each photograph, together."""
    offset = probabilities.shape[1] - len(network.class_names)  # 1 if there is a background
    return np.log([max(1e-6, sum(row[offset + network.class_names.index(label)] for label in labels))
                   for row, labels in zip(probabilities, PHOTOS.values())])


def check_labels(network, probabilities):
    """The right labels are among the five best of each photograph."""
    offset = probabilities.shape[1] - len(network.class_names)
    for row, (file, labels) in zip(probabilities, PHOTOS.items()):
        best = [network.class_names[k - offset] for k in np.argsort(-row)[:5] if k >= offset]
        print(f"answers: {file.name}: {', '.join(best)}")
        if not set(best) & set(labels):
            raise SystemExit(f"{file.name}: expected {' or '.join(labels)} among the first five answers: "
                             "the network or its input is wrong")


def mean_answers(network, run, photos):
    """Mean log-probability of the right labels for every way to give photographs to the network."""
    return {way: np.mean(log_probabilities(network, run(inputs(photos))))
            for way, inputs in ways(network.preset).items() if way not in network.like_preset}


def check_scale(network, preset):
    """Where answers do not tell presets apart: the preset is what the network's own package gives it."""
    if not network.like_preset:
        return
    mean, scale = network.scale()
    grey = np.repeat(np.arange(256.0)[:, None], 3, axis=1)
    difference = np.abs(COLOURS[preset](grey) - (grey - mean) / scale).max()
    print(f"scale: the package takes {mean:g} from colours and divides by {scale:g}; '{preset}' differs by at most "
          f"{difference:.2g}")
    if not difference < 0.05:
        raise SystemExit(f"expected the input of its package, found '{preset}': the network's input is wrong")


def check_way(means, preset):
    """The preset is the best way, by a margin."""
    wrong = {way: mean for way, mean in means.items() if way != preset}
    best = max(wrong, key=wrong.get)
    print(f"answers: mean log-probability of the right labels {means[preset]:.2f}; "
          + "; ".join(f"{way} {mean:.2f}" for way, mean in wrong.items()))
    if not means[preset] >= wrong[best] + MARGIN:
        raise SystemExit(f"expected the best answers with the input '{preset}', found better or as good ones with "
                         f"'{best}': the network or its input is wrong")


def check(file, work):
    kind = NETWORKS[file.stem]
    network = kind(work / kind.package.name)
    photos = sample_photos()
    images = inputs_of(photos, network.preset)
    outputs = onnx_numpy.run(file, images)
    check_numbers(network, outputs, images)
    check_scale(network, network.preset)
    check_labels(network, outputs["probabilities"])
    check_way(mean_answers(network, lambda inputs: onnx_numpy.run(file, inputs)["probabilities"], photos),
              network.preset)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", type=Path, help="mobilenet.onnx or resnet50.onnx")
    parser.add_argument("--work", type=Path, required=True, help="folder of the package's files")
    options = parser.parse_args()
    check(options.network, options.work)


if __name__ == "__main__":
    one_line_errors.run(main)
