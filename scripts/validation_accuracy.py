#!/usr/bin/env python3
"""Accuracy on validation classes, for comparing features, and numbers of attributes.

  scripts/validation_accuracy.py DATA[,SEMANTICS] ... [--attributes 10,20,40,80,all] [--draws 6] [--tool build/parsnets]
                                 [--options networks=0,refine-steps=0]

Trains on each data set folder with one seed per draw, which draws the validation folds and which attributes are kept.
Prints a Markdown table: ZSL and H on the folds, mean and standard error over the draws. Test samples are not read.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np


def run(tool, *arguments):
    done = subprocess.run([str(a) for a in (tool, *arguments, "--quiet", "--json")], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def whole_table(tool, data, semantics, work):
    """Class names and attributes of the data set."""
    if (pathlib.Path(data) / "attributes.csv").exists():
        path = pathlib.Path(data) / "attributes.csv"
    else:
        run(tool, "data", "convert", data, work / "plain", *(["--semantics", semantics] if semantics else []))
        path = work / "plain/attributes.csv"
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return [row[0] for row in rows[1:]], rows[0][1:], [row[1:] for row in rows[1:]]


def figure(values):
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0
    return f"{statistics.mean(values):.1f} ± {error:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--attributes", default="all")
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--tool", default="build/parsnets")
    parser.add_argument("--options", default="")
    options = parser.parse_args()
    extra = [f"--{option}" for option in options.options.split(",") if option]
    print("| data | attributes | ZSL | H |\n|---|---|---|---|", flush=True)
    for given in options.data:
        data, _, semantics = given.partition(",")
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            classes, names, values = whole_table(options.tool, data, semantics, work)
            for count in options.attributes.split(","):
                figures = []
                for seed in range(1, options.draws + 1):
                    kept = len(names) if count == "all" else int(count)
                    columns = sorted(np.random.default_rng(seed).permutation(len(names))[:kept])
                    with open(work / "some.csv", "w", newline="", encoding="utf-8") as file:
                        csv.writer(file).writerows([["class", *(names[c] for c in columns)],
                                                    *([k, *(v[c] for c in columns)] for k, v in zip(classes, values))])
                    trained = run(options.tool, "train", "--data", data, "--semantics", work / "some.csv",
                                  "--seed", seed, "--out", work / "model.safetensors", *extra)
                    figures.append(trained["record"]["validation"])
                print(f"| {given} | {kept} | {figure([f['zsl'] for f in figures])} "
                      f"| {figure([f['h'] for f in figures])} |", flush=True)


if __name__ == "__main__":
    main()
