"""From photograph files to class names. Usage: photos_test.py PARSNETS tiny|resnet50|mobilenet

Features of photographs are those of a reference; a model that is trained on photographs of eight classes tells
photographs of two others apart, by their attributes alone; and photographs have the classes that their extracted
features have. Exit code 77: what this needs is not there.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True  # a program without an ending would leave a file beside it
UNSEEN = ["deer", "truck"]
# Photographs per class, and the share of correct answers between the unseen classes that is expected; half is chance.
EXPECTED = {"tiny": (240, 0.7), "mobilenet": (40, 0.8), "resnet50": (40, 0.85)}
COLOURS = {"tf": lambda rgb: rgb / 127.5 - 1, "caffe": lambda rgb: rgb[..., ::-1] - (103.939, 116.779, 123.68)}


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print("$", *command, f"\n{done.stdout}", flush=True)
    if done.returncode != 0 and "need the module" in done.stdout:
        skip("this build reads no photographs; `scripts/setup.sh photos` installs what it needs")
    assert done.returncode == 0, f"exit code {done.returncode}"
    return done.stdout


def network(name, work):
    """The network's file, made or fetched."""
    if name == "tiny":
        run(sys.executable, SCRIPTS / "tiny_backbone.py", "--out", work / "tiny.onnx")
    else:
        if not os.environ.get("PARSNETS_PEERS"):
            skip("set PARSNETS_PEERS=1 to fetch networks")
        fetched = subprocess.run([SCRIPTS / "get-backbone", name, "--out", work, "--work", work / "package"],
                                 stderr=subprocess.PIPE, text=True)
        if fetched.returncode == 77:
            skip(fetched.stderr.strip())
        assert fetched.returncode == 0, fetched.stderr
    return work / f"{name}.onnx"


def check_the_check(name, backbone, work):
    """scripts/check_backbone.py accepts the network, and would refuse it with any other input than its own."""
    import check_backbone as script
    run(sys.executable, SCRIPTS / "check_backbone.py", backbone, "--work", work / "package")
    network = script.NETWORKS[name](work / "package" / script.NETWORKS[name].package.name)
    means = script.mean_answers(network, lambda inputs: onnx_numpy.run(backbone, inputs)["probabilities"],
                                script.sample_photos())
    for way in [*means, *network.like_preset]:
        try:
            if way in script.COLOURS:
                script.check_scale(network, way)
            script.check_way(means, way)
        except SystemExit:
            assert way != network.preset
        else:
            assert way == network.preset, f"{way} is taken for right"


def show_whole(backbone):
    """Has all of a photograph scaled to the network's input: those here are small."""
    file = backbone.with_suffix(".json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"fit": "whole"}))


def check_features(parsnets, backbone, work):
    """Three photographs of the size of the network's input, so that nothing is scaled."""
    card = json.loads(backbone.with_suffix(".json").read_text())
    photos = demo_photos.photographs()[0][[0, 700, 2300]]
    large = [Image.fromarray(photo).resize((card["width"], card["height"]), Image.BICUBIC) for photo in photos]
    (work / "large").mkdir()
    for number, photo in enumerate(large):
        photo.save(work / "large" / f"{number}.png")
    pixels = np.stack([np.asarray(photo) for photo in large]).astype(np.float32)
    expected = onnx_numpy.run(backbone, COLOURS[card["preset"]](pixels).transpose(0, 3, 1, 2))["features"]
    run(parsnets, "extract", "--images", work / "large", "--backbone", backbone, "--out", work / "features")
    found = np.load(work / "features" / "features.npy")
    assert found.shape == expected.shape, f"{found.shape}, expected {expected.shape}"
    difference = np.abs(found - expected).max() / expected.max()
    print(f"largest difference to the reference: {difference:.1e} of the largest feature")
    assert difference < 1e-4


def put_photos(folder, per_class):
    run(sys.executable, SCRIPTS / "demo_photos.py", "--out", folder)
    for place in folder.iterdir():
        for extra in sorted(place.glob("*.png"))[per_class:]:
            extra.unlink()


def best_classes(file, column):
    with open(file, newline="") as table:
        return {row[column]: row["class"] for row in csv.DictReader(table) if row["rank"] == "1"}


def main():
    parsnets, name = sys.argv[1:]
    per_class, share = EXPECTED[name]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        backbone = network(name, work)
        if name != "tiny":
            check_the_check(name, backbone, work)
        show_whole(backbone)
        check_features(parsnets, backbone, work)
        put_photos(work / "photos", per_class)
        run(parsnets, "extract", "--images", work / "photos", "--backbone", backbone, "--attributes",
            work / "photos" / "attributes.csv", "--out", work / "data")
        run(parsnets, "data", "split", work / "data", "--unseen", ",".join(UNSEEN))
        run(parsnets, "train", "--data", work / "data", "--out", work / "model.safetensors")
        predict = [parsnets, "predict", "--model", work / "model.safetensors", "--among", "unseen", "--top", 1]

        found = {}
        for unseen in UNSEEN:
            run(*predict, "--input", work / "photos" / unseen, "--backbone", backbone, "--out", work / "photos.csv")
            answers = best_classes(work / "photos.csv", "image")
            assert len(answers) == per_class, f"{len(answers)} photographs of {unseen}"
            found.update({f"{unseen}/{Path(image).name}": answer for image, answer in answers.items()})
        right = sum(image.startswith(answer) for image, answer in found.items())
        print(f"{right} of {len(found)} photographs of {' and '.join(UNSEEN)} are told apart")
        assert right >= share * len(found)

        run(*predict, "--input", work / "data" / "features.npy", "--out", work / "features.csv")
        by_sample = best_classes(work / "features.csv", "sample")
        images = (work / "data" / "image_files.csv").read_text().splitlines()[1:]
        extracted = {image: by_sample[str(sample)] for sample, image in enumerate(images)}
        assert found == {image: extracted[image] for image in found}, "extracted features have other classes"


try:
    import numpy as np
    from PIL import Image

    import demo_photos
    import onnx_numpy
except ImportError as missing:
    skip(f"{missing}; `scripts/setup.sh test` installs it")
main()
