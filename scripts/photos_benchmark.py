#!/usr/bin/env python3
"""Measures the path from photographs to classes: accuracy, rejection and times, for each backbone.

  scripts/photos_benchmark.py PHOTOS BACKBONE.onnx ... [--classes examples/photos/classes.csv] [--unseen 16] [--seed 1]
                              [--work out/photos-benchmark] [--out FILE.json] [--tool build/parsnets]

PHOTOS has a folder of photographs per class. Each backbone has its preprocessing file NAME.json beside it. Extracts
features, draws the split, trains with default options, and reads the test classes once. Prints a Markdown table, and
writes all figures as JSON. Features in --work that are complete are not extracted again; their time is then missing.
"""

import argparse
import json
import pathlib
import subprocess
import time


def run(tool, *arguments):
    """What a command says with --json, and its seconds."""
    start = time.monotonic()
    done = subprocess.run([str(a) for a in (tool, *arguments, "--quiet", "--json")], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout), time.monotonic() - start


def measure(options, backbone):
    data, model = options.work / backbone.stem, options.work / f"{backbone.stem}.safetensors"
    fresh = not (data / "labels.npy").exists()
    _, extraction = run(options.tool, "extract", "--images", options.photos, "--backbone", backbone,
                        "--attributes", options.classes, "--out", data)
    run(options.tool, "data", "split", data, "--unseen", options.unseen, "--seed", options.seed, "--force")
    _, training = run(options.tool, "train", "--data", data, "--out", model)
    accuracy, evaluation = run(options.tool, "eval", "--model", model, "--data", data)
    _, calibration = run(options.tool, "calibrate", "--model", model, "--data", data)
    rejection = run(options.tool, "eval", "--model", model, "--data", data,
                    "--unknown-classes", "halves")[0]["open_set"]
    return {
        "zsl": accuracy["zsl"]["top1_per_class"],
        **{name: accuracy["gzsl"][name] for name in ("u", "s", "h", "ausuc", "gamma")},
        "intervals": accuracy["intervals"],
        "auroc": rejection["known_score"]["auroc"],
        "rejected": {name: rejection[name]["rejected"] for name in ("unknown", "known_seen", "known_unseen")},
        "seconds": {"extract": extraction if fresh else None, "train": training, "eval": evaluation,
                    "calibrate": calibration},
        "extraction": json.loads((data / "extraction.json").read_text("utf-8")),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("backbones", type=pathlib.Path, nargs="+", metavar="BACKBONE.onnx")
    parser.add_argument("--classes", type=pathlib.Path, default="examples/photos/classes.csv")
    parser.add_argument("--unseen", default="16")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path, default="out/photos-benchmark")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--tool", default="build/parsnets")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    found = {backbone.stem: measure(options, backbone) for backbone in options.backbones}
    (options.out or options.work / "results.json").write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print("| backbone | ZSL | U | S | H | gamma | rejection AUROC | extract | train | calibrate |")
    print("|" + "---|" * 10)
    for name, f in found.items():
        extract = f["seconds"]["extract"]
        times = ["–" if extract is None else f"{extract:.0f} s"]
        times += [f"{f['seconds'][stage]:.1f} s" for stage in ("train", "calibrate")]
        accuracies = [f"{f[key]:.1f}" for key in ("zsl", "u", "s", "h")]
        print(f"| {name} | {' | '.join(accuracies)} | {f['gamma']:.3f} | {f['auroc']:.1f} | {' | '.join(times)} |")


if __name__ == "__main__":
    main()
