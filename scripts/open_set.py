#!/usr/bin/env python3
"""Measures the rejection of unknown classes and prediction sets on the training classes of CUB; prints Markdown tables.

  open_set.py [--tool build/parsnets] [--data ../shared/data/CUB] [--draws 6] [--work out/open-set]

Of the 150 training classes of the Proposed Split, each draw makes 50 unknown: they have no training samples and are not
in the bank. 25 are described by their attributes alone, and 75 are trained on 80 % of their samples. Test classes and
test samples of CUB are not read.
"""

import argparse
import csv
import json
import pathlib
import subprocess

import numpy as np

UNKNOWN, DESCRIBED = 50, 25


def run(tool, *arguments):
    """What a command says with --json."""
    done = subprocess.run(list(map(str, [tool, *arguments, "--quiet", "--json"])), check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def training_classes(tool, cub, work):
    """A folder with the trainval samples of CUB and their classes alone."""
    folder, whole = work / "trainval", work / "whole"
    if (folder / "attributes.csv").exists():
        return folder
    run(tool, "data", "convert", cub, whole)
    split = json.loads((whole / "split.json").read_text("utf-8"))
    with open(whole / "attributes.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    names = [row[0] for row in rows[1:]]
    kept = [c for c, name in enumerate(names) if name not in set(split["unseen_classes"])]
    samples = np.array(sorted(split["trainval_samples"]))
    places = np.full(len(names), -1)
    places[kept] = np.arange(len(kept))
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "features.npy", np.load(whole / "features.npy")[samples])
    np.save(folder / "labels.npy", places[np.load(whole / "labels.npy")[samples]])
    with open(folder / "attributes.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([rows[0], *(rows[1 + c] for c in kept)])
    return folder


def draw(folder, file, seed):
    """Writes a split; returns the names of the unknown classes."""
    with open(folder / "attributes.csv", newline="", encoding="utf-8") as table:
        names = [row[0] for row in csv.reader(table)][1:]
    labels = np.load(folder / "labels.npy")
    random = np.random.default_rng(seed)
    order = random.permutation(len(names))
    test = []
    for c in order[UNKNOWN + DESCRIBED:]:
        own = random.permutation(np.flatnonzero(labels == c))
        test += own[:len(own) // 5].tolist()
    unseen = [names[c] for c in sorted(order[:UNKNOWN + DESCRIBED])]
    file.write_text(json.dumps({"unseen_classes": unseen, "test_seen_samples": sorted(test)}), "utf-8")
    return [names[c] for c in sorted(order[:UNKNOWN])]


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/parsnets")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data/CUB"))
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("out/open-set"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    folder = training_classes(options.tool, options.data, options.work)
    rejection, inputs = [], []
    for seed in range(1, options.draws + 1):
        split, model = options.work / f"split{seed}.json", options.work / f"model{seed}.safetensors"
        unknown = draw(folder, split, seed)
        data = ("--data", folder, "--split", split)
        run(options.tool, "train", *data, "--out", model)
        run(options.tool, "classes", "remove", "--model", model, "--classes", ",".join(unknown))
        run(options.tool, "calibrate", "--model", model, *data, "--false-accept", "5%", "--force")
        result = run(options.tool, "eval", "--model", model, *data, "--unknown-classes", "halves")["open_set"]
        score, softmax = result["known_score"], result["confidence"]
        rejection.append((seed, result["unknown"]["accepted"], result["known_seen"]["rejected"],
                          result["known_unseen"]["rejected"], score["auroc"], softmax["auroc"],
                          score["auroc"] - softmax["auroc"], score["fpr95"], softmax["fpr95"], score["oscr"],
                          softmax["oscr"]))
        inputs.append({kind["name"]: kind["rejected"] for kind in result["no_class"]})
    rejection.append(("mean", *np.mean([row[1:] for row in rejection], axis=0)))
    table(("draw", "unknown accepted", "seen rejected", "described rejected", "AUROC", "softmax AUROC", "gain", "FPR95",
           "softmax FPR95", "OSCR", "softmax OSCR"),
          [(row[0], *(f"{value:.2f}" for value in row[1:])) for row in rejection])
    table(("inputs of no class", "rejected, lowest of the draws", "mean"),
          [(name, f"{min(one[name] for one in inputs):.2f}", f"{np.mean([one[name] for one in inputs]):.2f}")
           for name in inputs[0]])


if __name__ == "__main__":
    main()
