#!/usr/bin/env python3
"""Measures the figures that README.md and docs/ quote, and writes them to docs/results.json with where they come from.

  results.py                    every part whose data are here; parts of an earlier run stay if they are not run
  results.py --only demo,cub    some parts; --list names them
  results.py --check            measures the demo again and compares: exit 1 if a figure differs

A part has the commit, the machine, the data, the commands, figures by name and what commands printed. Data sets are in
$PARSNETS_DATA or ../shared/data. scripts/pages.py puts the figures into the pages (`make results` runs both).
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "results.json"
TOOL = Path(os.environ.get("PARSNETS", ROOT / "build" / "parsnets"))
DATA = Path(os.environ.get("PARSNETS_DATA", ROOT.parent / "shared" / "data"))
BASELINES = "ridge,reverse-ridge,eszsl,sae,sae-reverse,dap"
BACKBONES = ("mobilenet", "resnet50")
PYTHON = {"PYTHONPATH": str(ROOT / "python"), "PARSNETS_LIBRARY": str(ROOT / "build/src/libparsnets.so")}
TOLERANCE = 0.6  # points: another processor may round a few test samples to another class


class Part:
    """One part of the results while it is measured. `data`: name in commands, such as CUB, to folder."""

    def __init__(self, name, data, work):
        self.name, self.data, self.work = name, data, Path(work)
        self.figures, self.outputs, self.commands, self.looks, self.set = {}, {}, [], 0, {}

    def run(self, *arguments, program="parsnets", keep=None):
        """Runs a command and returns what it printed. `keep`: the name under which the output is stored."""
        shown = " ".join(["parsnets" if program == "parsnets" else program, *map(str, arguments)])
        self.commands.append(shown)
        print(f"  {shown}", flush=True)
        words = [self.place(str(argument)) for argument in arguments]
        words = [str(TOOL), *words, "--quiet"] if program == "parsnets" else [self.place(program), *words]
        done = subprocess.run(words, cwd=ROOT, env={**os.environ, **PYTHON}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"results.py: {shown}: exit code {done.returncode}\n{done.stderr}")
        if arguments and arguments[0] in ("eval", "bench"):
            self.looks += 1
        if keep:
            self.outputs[keep] = self.plain(done.stdout).splitlines()
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def place(self, word):
        """The word with the folders of this run: out/ is a temporary one, CUB that of the data set."""
        for name, folder in self.data.items():
            word = re.sub(rf"^{re.escape(name)}(?=[,:]|$)", str(folder), word)  # CUB; CUB,att; CUB,att:40+15
        return re.sub(r"^out/", f"{self.work}/", word)

    def plain(self, text):
        for name, folder in self.data.items():
            text = text.replace(str(folder), name)
        return text.replace(f"{self.work}/", "out/").replace(f"{ROOT}/", "")

    def evaluation(self, prefix, found):
        """The figures of `eval --json`."""
        gzsl, low = found["gzsl"], found.get("intervals", {})
        self.add(prefix, zsl=found["zsl"]["top1_per_class"], u=gzsl["u"], s=gzsl["s"], h=gzsl["h"],
                 ausuc=gzsl["ausuc"], gamma=gzsl["gamma"])
        for key in ("zsl", "h"):
            if key in low:
                self.add(prefix, **{f"{key}-low": low[key]["low"], f"{key}-high": low[key]["high"]})

    def add(self, prefix, **figures):
        for key, value in figures.items():
            self.figures[".".join(filter(None, (prefix, key.replace("_", "-"))))] = round(float(value), 4)

    def remember(self, record):
        self.set = {key: record[key] for key in ("name", "features", "semantics", "samples", "dimensions")}
        self.set["split"] = {key: value["crc32"] if isinstance(value, dict) else value
                             for key, value in record["split"].items()}

    def train(self, prefix, name, *options, model="model"):
        found = self.json("train", "--data", name, "--out", f"out/{model}.safetensors", *options)
        self.remember(found["record"]["data"])
        self.add(prefix, seconds=found["seconds"], bytes=found["model_bytes"],
                 val_zsl=found["record"]["validation"]["zsl"], val_h=found["record"]["validation"]["h"])
        return found


def calibrated(part, prefix, model, name, *options):
    """Rejection and prediction sets for 5 %, measured on held-out classes and on test samples."""
    force = ["--force"] if "--force" in said(str(TOOL), "calibrate", "--help") else []  # also where AUROC is low
    found = part.json("calibrate", "--model", model, "--data", name, "--false-accept", "5%",
                      "--out", "out/open.safetensors", *force)["rejection"]
    part.add(f"{prefix}reject", accepted=found["accepted"], accepted_low=found["accept_interval"][0],
             accepted_high=found["accept_interval"][1], seen=found["rejected_seen"], unseen=found["rejected_unseen"],
             auroc=found["auroc"], softmax_auroc=found["confidence_auroc"])
    unknown = part.json("eval", "--model", "out/open.safetensors", "--data", name, "--unknown-classes", "halves")
    unknown = unknown["open_set"]
    part.add(f"{prefix}unknown", accepted=unknown["unknown"]["accepted"], seen=unknown["known_seen"]["rejected"],
             unseen=unknown["known_unseen"]["rejected"])
    for score, word in (("known_score", "known"), ("confidence", "softmax")):
        part.add(f"{prefix}unknown.{word}", **{key: unknown[score][key] for key in ("auroc", "fpr95", "oscr")})
    tested = part.json("eval", "--model", "out/open.safetensors", "--data", name)
    for side in ("seen", "unseen"):
        part.add(f"{prefix}sets", **{f"{side}_ece": tested["reliability"][side]["ece"]})
        for row in tested["sets"]:
            found = {f"{side}_{key}": row[side][key] for key in ("coverage", "size")}
            part.add(f"{prefix}sets.{row['stated']:g}", **found)


def exported(part, prefix, name, model, *options):
    """A device file: its size, its costs, and accuracies on validation and on test classes."""
    told = part.json("export", "--model", model, "--data", name, *options, "--out", "out/device.pnrt")
    part.outputs[f"{prefix}.precision"] = [told["precision"]]
    for key in ("class_space", "encoding"):
        part.add(prefix, **{key: 100 * told[key]})
    part.add(prefix, bytes=told["bytes"], work_bytes=told["work_bytes"], multiply_adds=told["multiply_adds"],
             rank=told["rank"], val_zsl_drop=told["validation"]["before"]["zsl"] - told["validation"]["after"]["zsl"])
    part.evaluation(prefix, part.json("eval", "--model", "out/device.pnrt", "--data", name))


def demo(part):
    name, model = "data/demo", "out/demo/model.safetensors"
    part.run("data", "inspect", name, keep="inspect")
    told = part.json("train", "--data", name, "--run", "out/demo")
    part.remember(told["record"]["data"])
    part.add("", seconds=told["seconds"], bytes=told["model_bytes"])
    found = part.json("eval", "--model", model, "--data", name, "--per-class")
    part.evaluation("", found)
    part.run("eval", "--model", model, "--data", name, "--per-class", keep="eval")
    part.add("", worst_seen=min(row["top1"] for row in found["per_class"]["gzsl_seen"]))
    part.run("explain", "--model", model, "--input", f"{name}/features.npy", "--row", "2200", keep="explain")
    part.run("calibrate", "--model", model, "--data", name, "--false-accept", "5%", "--out", "out/open.safetensors",
             keep="calibrate")
    calibrated(part, "", model, name)
    exported(part, "device", name, model, "--max-drop", "1")
    part.run("eval", "--model", "out/device.pnrt", "--data", name, keep="device.eval")
    part.run("bench", "--data", name, "--methods", "ridge,eszsl,parsnets", "--seeds", "3", keep="bench")


def add_rows(part, prefix, table):
    """The rows of `bench --json` by method."""
    for row in table["methods"]:
        key = f"{prefix}.{row['method']}"
        for name, value in row["summary"].items():
            part.add(key, **{name: value["mean"]})
            if value.get("sd") is not None:
                part.add(key, **{f"{name}_sd": value["sd"]})
        runs = row["runs"]
        part.add(key, val_zsl=sum(run["record"]["validation"]["zsl"] for run in runs) / len(runs),
                 seconds=sum(run["seconds"] for run in runs) / len(runs))


def cub(part, semantics):
    name = ["CUB", "--features", "res50", "--semantics", semantics]
    model = "out/model.safetensors"
    part.train("", *name)
    part.evaluation("", part.json("eval", "--model", model, "--data", "CUB"))
    return model


def learned(part, model):
    """Learning in the field: transductive and few-shot protocols on test samples."""
    for protocol in ("mixed", "unseen"):
        found = part.json("eval", "--model", model, "--data", "CUB", "--transductive", protocol)["transductive"]
        part.evaluation(f"adapted-{protocol}", found)
        part.add(f"adapted-{protocol}", moved=found["classes_moved"])
    few = part.json("eval", "--model", model, "--data", "CUB", "--few-shot", "1,2,5,10")["few_shot"]
    for row in few["rows"]:
        for key in ("taught", "examples_alone"):
            part.add(f"{key.replace('_', '-')}.{row['examples']}", zsl=row[key]["mean"], sd=row[key]["sd"])


def cub_att(part):
    model = cub(part, "att")
    learned(part, model)
    calibrated(part, "", model, "CUB")


def device(part):
    part.train("", "CUB", "--features", "res50", "--semantics", "att")
    for size in ("2MB", "1MB", "600kB"):
        exported(part, size, "CUB", "out/model.safetensors", "--max-bytes", size)


def cub_sent(part):
    learned(part, cub(part, "sent"))


def awa1(part):
    part.train("", "AWA1-handmade")
    part.evaluation("", part.json("eval", "--model", "out/model.safetensors", "--data", "AWA1-handmade"))


def auto(part):
    """What `--search auto` reaches. Its time limit is off, so that the result does not depend on the machine."""
    for key, name in (("cub-att", ["CUB", "--features", "res50", "--semantics", "att"]),
                      ("cub-sent", ["CUB", "--features", "res50", "--semantics", "sent"]),
                      ("awa1", ["AWA1-handmade"])):
        part.train(key, *name, "--search", "auto", "--time-budget", "0")
        part.evaluation(key, part.json("eval", "--model", "out/model.safetensors", "--data", name[0]))


def baselines(part):
    """Default options; the published method at a gap of 0.01, to save time."""
    add_rows(part, "cub-att", part.json("bench", "--data", "CUB", "--features", "res50", "--semantics", "att",
                                        "--methods", f"{BASELINES},paper:tolerance=0.01"))
    add_rows(part, "awa1", part.json("bench", "--data", "AWA1-handmade", "--methods", BASELINES))


def ablation(part):
    for key, name in (("cub-att", ["CUB", "--features", "res50", "--semantics", "att"]),
                      ("awa1", ["AWA1-handmade"]), ("demo", ["data/demo"])):
        add_rows(part, key, part.json("bench", "--data", *name, "--methods", "ablation"))


def runtime_size(part):
    for compiler in ("gcc", "clang", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc"):
        if subprocess.run(["which", compiler], stdout=subprocess.DEVNULL).returncode == 0:
            text = part.run(compiler, "runtime/parsnets_rt.c", program="runtime/tests/small.sh")
            part.outputs[compiler] = text.splitlines()
            part.add(compiler, bytes=re.search(r"(\d[\d,]*) bytes", text).group(1).replace(",", ""))


def python(part):
    """The block of README.md, run as it stands there."""
    code = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S).group(1)
    part.commands.append("python: the block of README.md")
    print("  python: the block of README.md", flush=True)
    done = subprocess.run(["/usr/bin/python3", "-"], input=code, cwd=part.work, env={**os.environ, **PYTHON},
                          stdout=subprocess.PIPE, check=True, text=True)
    part.outputs["readme"] = done.stdout.splitlines()


def page(name):
    """The commands of a page as they stand there, with what each of its blocks of `sh` prints."""
    def measure(part):
        (part.work / "bin").mkdir()
        (part.work / "out").mkdir()
        (part.work / "bin" / "parsnets").symlink_to(TOOL)
        for folder in ("data", "examples", "runtime", "scripts"):
            (part.work / folder).symlink_to(ROOT / folder)
        text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
        place = {**os.environ, "PATH": f"{part.work}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": f"{part.work}/cache"}
        for number, block in enumerate(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S), 1):
            commands = "".join(f"{line}\n" for line in block.splitlines() if not line.startswith(("make ", "alias ")))
            part.commands += commands.splitlines()
            print("".join(f"  {line}\n" for line in commands.splitlines()), end="", flush=True)
            done = subprocess.run(["sh", "-eu"], input=commands, cwd=part.work, env=place, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            if done.returncode:
                sys.exit(f"results.py: docs/{name}.md: exit code {done.returncode}\n{done.stderr}")
            part.outputs[str(number)] = [line.expandtabs() for line in done.stdout.splitlines()
                                         if not line.startswith(("-- ", "["))]  # what CMake says
    return measure


def backbone(part, name):
    """The file of a backbone, which is fetched if it is not in the user's cache folder."""
    return Path(part.json("backbone", "get", name)["file"])


def photos(part):
    """The photo set from photographs to rejection, with both backbones."""
    part.data.update({f"{name}.onnx": backbone(part, name) for name in BACKBONES})
    part.run("photos", *(f"{name}.onnx" for name in BACKBONES), "--work", "out/photos", "--out", "out/photos.json",
             program="scripts/photos_benchmark.py", keep="table")
    photos_figures(part, json.loads((part.work / "photos.json").read_text("utf-8")))


def photos_figures(part, found):
    """What photos_benchmark.py has written."""
    for name, one in found.items():
        part.looks += 2
        part.evaluation(name, {"zsl": {"top1_per_class": one["zsl"]}, "gzsl": one, "intervals": one["intervals"]})
        part.add(name, auroc=one["auroc"], features=one["extraction"]["dimensions"],
                 **{f"rejected_{key}": value for key, value in one["rejected"].items()},
                 **{f"{key}_seconds": value for key, value in one["seconds"].items()})


def first_hour(part):
    """The transcript, without the lines that say how far the command is."""
    printed = part.run("photos", program="scripts/first_hour.sh").splitlines()
    part.outputs["printed"] = [line for line in printed if not line.startswith("extract features:")]


# Data set, seen and unseen classes, draws.
RESAMPLINGS = (
    ("photos", 8, 2, 24), ("CUB,att", 8, 2, 20), ("CUB,sent", 8, 2, 20), ("AWA1-handmade", 8, 2, 24),
    ("photos", 12, 3, 16), ("CUB,att", 12, 3, 12), ("CUB,sent", 12, 3, 12), ("AWA1-handmade", 12, 3, 16),
    ("photos", 12, 12, 8), ("CUB,att", 12, 12, 8),
    ("photos", 24, 6, 10), ("CUB,att", 24, 6, 8), ("CUB,sent", 24, 6, 8), ("AWA1-handmade", 24, 6, 8),
    ("AWA1-handmade", 30, 10, 5), ("photos", 40, 3, 30), ("CUB,att", 40, 3, 12), ("photos", 48, 16, 6),
    ("CUB,att", 50, 13, 5), ("CUB,sent", 50, 13, 5), ("CUB,att", 100, 50, 3))


def choices(part):
    """Choices on validation classes: the part of a photograph and pooling, numbers of attributes, gamma."""
    folders = []
    for name in BACKBONES:
        file = backbone(part, name)
        for fit in ("centre", "whole"):
            network = part.work / f"{name}-{fit}.onnx"
            network.symlink_to(file)
            preprocessing = json.loads(file.with_suffix(".json").read_text("utf-8"))
            network.with_suffix(".json").write_text(json.dumps({**preprocessing, "fit": fit}), "utf-8")
            for pool in ("average", "both"):
                folders.append(f"out/{name}-{fit}-{pool}")
                part.run("extract", "photos", "--backbone", f"out/{network.name}", "--pool", pool, "--attributes",
                         "examples/photos/classes.csv", "--out", folders[-1])
                part.run("data", "split", folders[-1], "--unseen", "16", "--seed", "1")
    measure = "scripts/validation_accuracy.py"
    part.run(*folders, "--draws", "8", program=measure, keep="extraction")
    usual = "out/mobilenet-whole-average"
    part.run(usual, "--attributes", "5,10,20,40,80,all", "--draws", "8", program=measure, keep="attributes.photos")
    part.run("CUB,att", "--attributes", "10,20,40,80,160,all", "--draws", "3", "--options", "networks=0",
             program=measure, keep="attributes.cub")
    part.outputs["gamma"] = []
    for data, seen, unseen, draws in RESAMPLINGS:
        row = part.run(usual if data == "photos" else data, seen, unseen, "--draws", draws,
                       program="scripts/gamma_resamplings.py")
        part.outputs["gamma"] += part.plain(row).splitlines()


def auto_default(part):
    """Search auto against the default options, on classes of training that both were held out of."""
    part.run("CUB,att:40+15", "CUB,att:80+20", "CUB,sent:40+15", "AWA1-handmade:30+10", "--first", "101",
             program="scripts/compare_options.py", keep="table")


def gated(part):
    """Gated networks where the default has none, on classes of training."""
    part.run("CUB,att:20+10", "CUB,att:48+12", "CUB,sent:20+10", "CUB,sent:48+12", "AWA1-handmade:30+10", "--options",
             "networks=100,active=10", "--draws", "8", "--first", "201", "--samples", "60",
             program="scripts/compare_options.py", keep="table")


def suggestions(part):
    """Samples that `suggest` chooses against drawn ones."""
    table = [part.plain(part.run(data, "--repeats", "4", program="scripts/suggest_against_random.py")).splitlines()
             for data in ("CUB,att", "CUB,sent", "AWA1-handmade")]
    part.outputs["table"] = table[0] + table[1][2:] + table[2][2:]


def field(part):
    """Adapting to unlabelled sets of ten kinds, and to the test samples of AWA1."""
    part.run("--only", "field", "--out", "out/field.json", program="build/parsnets_bench", keep="sets")
    part.train("", "AWA1-handmade")
    found = part.json("eval", "--model", "out/model.safetensors", "--data", "AWA1-handmade", "--transductive", "mixed")
    part.evaluation("awa1-mixed", found["transductive"])
    part.evaluation("awa1-before", found["transductive"]["before"])


def release(part):
    """What `make install-test` has written of the release of this version."""
    version = re.search(r"parsnets VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text("utf-8")).group(1)
    file = ROOT / "out/install-test.json"
    rows = json.loads(file.read_text("utf-8")) if file.is_file() else []
    rows.sort(key=lambda row: (row["artifact"], row["system"]))
    if not rows or any(row["version"] != version or "failure" in row for row in rows):
        sys.exit(f"results.py: {file}: expected what all artifacts of {version} did; run `make release install-test`")
    part.commands.append("make release install-test")
    part.outputs["contents"] = [f"{name}: {what}" for name, what in
                                dict.fromkeys((row["artifact"], row["what"]) for row in rows)]
    for row in rows:
        figures = {key: row[key] for key in ("bytes", "files", "unpacked", "packages_seconds", "install_seconds",
                                             "prediction_seconds")}
        part.add(f"{row['artifact']}.{row['system']}", **figures, left=len(row["left"]))


def bench(part):
    """What `make bench` has written: out/bench/results.json, and other files with parts that were measured apart."""
    for file in sorted((ROOT / "out/bench").glob("*.json")):
        part.outputs[file.stem] = json.loads(file.read_text("utf-8"))
    if "results" not in part.outputs:
        sys.exit("results.py: out/bench/results.json: file not found; run `make bench`")


def table_of(name, *commands):
    def measure(part):
        for key, command in commands:
            part.run(*command.split()[1:], program=command.split()[0], keep=key)
    measure.__doc__ = f"The tables that {name} prints."
    return measure


# What is measured, the data sets it needs, and whether it runs unless it is named.
PARTS = {
    "demo": (demo, [], True),
    "python": (python, [], True),
    "runtime-size": (runtime_size, [], True),
    "device-engineer": (page("device-engineer"), [], True),
    "cub-att": (cub_att, ["CUB"], True),
    "device": (device, ["CUB"], True),
    "cub-sent": (cub_sent, ["CUB"], True),
    "cub-att-sent": (lambda part: cub(part, "att,sent"), ["CUB"], True),
    "awa1": (awa1, ["AWA1-handmade"], True),
    "auto": (auto, ["CUB", "AWA1-handmade"], True),
    "auto-default": (auto_default, ["CUB", "AWA1-handmade"], False),
    "gated": (gated, ["CUB", "AWA1-handmade"], False),
    "baselines": (baselines, ["CUB", "AWA1-handmade"], True),
    "ablation": (ablation, ["CUB", "AWA1-handmade"], True),
    "photos-guide": (page("photos"), [], False),  # `make photos`
    "photos": (photos, ["photos"], False),
    "first-hour": (first_hour, ["photos"], False),
    "choices": (choices, ["photos", "CUB", "AWA1-handmade"], False),
    "field": (field, ["CUB", "AWA1-handmade"], False),  # `make bench`
    "suggestions": (suggestions, ["CUB", "AWA1-handmade"], False),
    "targets": (table_of("scripts/targets.sh", ("printed", "scripts/targets.sh")), ["CUB"], False),
    "release": (release, [], False),  # `make install-test`
    "bench": (bench, [], False),
    "scaling": (table_of("scripts/scaling.py", ("memory", "scripts/scaling.py memory"),
                         ("mpi", "scripts/scaling.py mpi"), ("predict", "scripts/scaling.py predict"),
                         ("dask", "scripts/scaling_dask.py")), [], False),
}


def said(*words):
    try:
        done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip()
    except OSError:  # no such program
        return ""


def measure(name):
    """The part, and what the file keeps of it."""
    make, sets, _ = PARTS[name]
    with tempfile.TemporaryDirectory(prefix="parsnets-results-") as work:
        part = Part(name, {data: DATA / data for data in sets}, work)
        print(f"{name}:", flush=True)
        started = time.time()
        make(part)
        doctor = json.loads(said(str(TOOL), "doctor", "--json") or "{}")
        return part, {
            "commit": said("git", "rev-parse", "--short=12", "HEAD") or "unknown",
            "sources_changed": bool(said("git", "status", "--porcelain", "--", "src", "include", "cli", "runtime")),
            "measured": time.strftime("%Y-%m-%d", time.gmtime()), "seconds": round(time.time() - started, 1),
            "cpu": doctor.get("cpu", "unknown"), "cores": os.cpu_count(), "data": part.set,
            "commands": part.commands, "figures": part.figures, "outputs": part.outputs}


def load(file=FILE):
    return json.loads(file.read_text("utf-8")) if file.is_file() else {"format": 1, "parts": {}}


def check():
    """Whether the demo still has the figures of the file. Times and machines differ."""
    recorded = load()["parts"]["demo"]["figures"]
    now = measure("demo")[0].figures
    wrong = [f"{key}: {now.get(key)}, recorded {value}" for key, value in recorded.items()
             if not key.endswith("seconds")
             and not abs(now.get(key, float("inf")) - value) <= max(TOLERANCE, 0.01 * abs(value))]
    for line in wrong:
        print(f"demo.{line}; run `make results ARGS=\"--only demo\"`", file=sys.stderr)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description="Measures the figures that README.md and docs/ quote.")
    parser.add_argument("--only", help="parts, comma-separated")
    parser.add_argument("--list", action="store_true", help="print the parts")
    parser.add_argument("--check", action="store_true", help="measure the demo again and compare")
    options = parser.parse_args()
    if options.list:
        for name, (_, sets, usual) in PARTS.items():
            print(f"{name:16}{'' if usual else 'only if named; '}{', '.join(sets)}")
        return 0
    if options.check:
        return check()
    names = options.only.split(",") if options.only else [name for name, part in PARTS.items() if part[2]]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"results.py: --only: expected parts of {', '.join(PARTS)}, found {', '.join(unknown)}", file=sys.stderr)
        return 2
    looks = 0
    for name in names:
        missing = [data for data in PARTS[name][1] if not (DATA / data).is_dir()]
        if missing:
            print(f"{name}: left out, {DATA} has no {', '.join(missing)}")
            continue
        part, kept = measure(name)
        looks += part.looks
        results = load()
        results["parts"][name] = kept
        results["parts"] = {key: results["parts"][key] for key in PARTS if key in results["parts"]}  # in this order
        new = FILE.with_suffix(".new")
        new.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
        new.replace(FILE)
    print(f"docs/results.json; test classes were read by {looks} evaluations, to report: no choice depends on them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
