#!/usr/bin/python3
"""The photographs of the demo set as files: DIR/<class>/<sample number>.png, beside attributes.csv and split.json.

    scripts/demo_photos.py --out DIR

The files sort in the order of the samples, so sample numbers in split.json are the same for features that are
extracted from them. Needs Debian's python3-numpy and python3-pil.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np

import one_line_errors

DEMO = Path(__file__).resolve().parent.parent / "data" / "demo"
SIDE = 32  # pixels of a photograph


def class_names():
    return [line.split(",")[0] for line in (DEMO / "attributes.csv").read_text().splitlines()[1:]]


def photographs():
    """All photographs, N x 32 x 32 x 3 bytes, and the class number of each."""
    from PIL import Image
    sheet = np.asarray(Image.open(DEMO / "thumbnails.jpg").convert("RGB"))
    rows, columns = sheet.shape[0] // SIDE, sheet.shape[1] // SIDE
    photos = sheet.reshape(rows, SIDE, columns, SIDE, 3).transpose(0, 2, 1, 3, 4).reshape(-1, SIDE, SIDE, 3)
    return photos, np.load(DEMO / "labels.npy")


def training_samples(labels):
    """Sample numbers of seen classes that are not kept for the test."""
    split = json.loads((DEMO / "split.json").read_text())
    names = class_names()
    training = ~np.isin(labels, [names.index(name) for name in split["unseen_classes"]])
    training[split["test_seen_samples"]] = False
    return np.flatnonzero(training)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder, created if missing")
    out = parser.parse_args().out

    from PIL import Image
    photos, labels = photographs()
    names = class_names()
    for name in names:
        (out / name).mkdir(parents=True, exist_ok=True)
    for sample, (photo, label) in enumerate(zip(photos, labels)):
        Image.fromarray(photo).save(out / names[label] / f"{sample:04d}.png")
    for file in ("attributes.csv", "split.json"):
        shutil.copyfile(DEMO / file, out / file)
    print(f"{len(photos)} photographs of {len(names)} classes in {out}")


if __name__ == "__main__":
    one_line_errors.run(main)
