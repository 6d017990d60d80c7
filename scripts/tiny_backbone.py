#!/usr/bin/python3
"""Make a tiny network that turns photographs into 512 features, without training.

    scripts/tiny_backbone.py --out tiny.onnx                 filters from the demo set's training photographs
    scripts/tiny_backbone.py --out tiny.onnx --photos DIR    filters from the photographs in DIR and its folders

Its filters are patches of photographs, drawn at random and whitened, each of them and its negative (A. Coates, H. Lee,
A. Ng, "An Analysis of Single-Layer Networks in Unsupervised Feature Learning", AISTATS 2011). Their rectified
responses are averaged over the four quadrants of the photograph. The network tells animals from vehicles, not breeds of
dogs: it is for tests and first steps. `parsnets backbone get` provides real ones.

tiny.json beside it is its card (scripts/onnx_graph.py). The same photographs and seed give the same bytes. Needs
Debian's python3-numpy and python3-pil.
"""

import argparse
from pathlib import Path

import numpy as np

import one_line_errors
from onnx_graph import Graph, write_network

# Chosen on the demo set's validation classes, like the rest of these.
PATCH = 6
FILTERS = 64        # and as many negatives
THRESHOLD = 0.25
SMOOTHING = 0.01    # added to the variances before whitening
SIDE = 32
PATCHES = 20000
SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}


def photos_of_folder(folder):
    """Every photograph below a folder, scaled to the network's input: N x SIDE x SIDE x 3 bytes."""
    from PIL import Image, ImageOps
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in SUFFIXES)
    if not files:
        raise SystemExit(f"{folder}: expected photographs ({', '.join(sorted(SUFFIXES))}), found none")
    size = (SIDE, SIDE)
    return np.stack([np.asarray(ImageOps.exif_transpose(Image.open(f)).convert("RGB").resize(size, Image.BILINEAR))
                     for f in files])


def photos_of_demo():
    import demo_photos
    photos, labels = demo_photos.photographs()
    return photos[demo_photos.training_samples(labels)]


def whitened_filters(photos, generator):
    """FILTERS x 3 x PATCH x PATCH weights and their offsets: responses to a patch less the mean patch, whitened."""
    images = photos.transpose(0, 3, 1, 2) / 127.5 - 1
    where = generator.integers(0, [len(images), SIDE - PATCH + 1, SIDE - PATCH + 1], (PATCHES, 3))
    patches = np.stack([images[i, :, y:y + PATCH, x:x + PATCH].ravel() for i, y, x in where])
    mean = patches.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(patches.T))
    whitening = (axes / np.sqrt(variances + SMOOTHING)) @ axes.T
    chosen = (patches[generator.permutation(PATCHES)[:FILTERS]] - mean) @ whitening
    filters = chosen / np.linalg.norm(chosen, axis=1, keepdims=True) @ whitening
    return filters.reshape(FILTERS, 3, PATCH, PATCH), -filters @ mean


def tiny_network(filters, offsets):
    graph = Graph("tiny", SIDE, SIDE)
    weights = graph.constant("filters", np.concatenate([filters, -filters]))
    biases = graph.constant("offsets", np.concatenate([offsets, -offsets]) - THRESHOLD)
    graph.add("Conv", ["image", weights, biases], "responses", kernel_shape=[PATCH, PATCH])
    graph.add("Relu", ["responses"], "rectified")
    positions = SIDE - PATCH + 1
    window = -(-positions // 2)
    stride = positions - window
    graph.add("AveragePool", ["rectified"], "quadrants", kernel_shape=[window, window], strides=[stride, stride])
    graph.add("Flatten", ["quadrants"], "features", axis=1)
    graph.output("features", 2 * FILTERS * 4)
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the network, .onnx")
    parser.add_argument("--photos", type=Path, help="folder of photographs (default: the demo set's)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    options = parser.parse_args()
    if options.out.suffix != ".onnx":
        parser.error(f"--out: expected a name that ends in .onnx, found {options.out}")
    photos = photos_of_folder(options.photos) if options.photos else photos_of_demo()
    graph = tiny_network(*whitened_filters(photos, np.random.default_rng(options.seed)))
    write_network(graph, options.out, preset="tf", fit="whole")
    print(f"{options.out}: {2 * FILTERS * 4} features, {options.out.stat().st_size} bytes, "
          f"filters from {len(photos)} photographs")


if __name__ == "__main__":
    one_line_errors.run(main)
