#!/usr/bin/env python3
"""Runs what tries to break ParsNets, and writes docs/reliability.md from what it counted.

  reliability.py run PART...   faults, mutations, fuzz, budgets, coverage; each writes out/reliability/PART.json
  reliability.py page          docs/reliability.json from out/reliability, and docs/reliability.md from that
  reliability.py check         exit 1 unless docs/reliability.md is what docs/reliability.json says

A part that was not run again keeps its earlier figures. out/reliability/soak.json is taken where it is there.
"""

import argparse
import collections
import concurrent.futures
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out/reliability"
FIGURES = ROOT / "docs/reliability.json"
PAGE = ROOT / "docs/reliability.md"
TARGETS = {"kills": 500, "faults": 1000, "mutations": 1_000_000, "fuzz": 20_000_000, "coverage": 90}


def lines_of(command, **options):
    """What a command prints, line by line, also on our own output; an exit code but 0 is told at the end."""
    print("$", " ".join(map(str, command)), flush=True)
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=ROOT, **options) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            yield line.rstrip("\n")
    if process.returncode != 0:
        yield f"exit code {process.returncode}"


def failed(lines):
    return [line for line in lines if line.startswith("exit code ")]


def faults(options):
    """Kills, failures and short reads and writes at the file calls of every writing command, and failed allocations."""
    row = re.compile(r"^(.+?)\s+(kill|fail|short|memory)\s+(\d+) of (\d+) calls\s+(\d+) wrong"
                     r"(?:, (\d+) ended by a library)?")
    lines = list(lines_of([sys.executable, "tests/faults/faults_test.py", options.build / "parsnets",
                           options.build / "libfault_points.so", options.points, *options.commands]))
    rows = [{"command": m[1], "kind": m[2], "points": int(m[3]), "calls": int(m[4]), "wrong": int(m[5]),
             "ended": int(m[6] or 0)}
            for m in map(row.match, lines) if m]
    if options.commands:
        earlier = json.loads((OUT / "faults.json").read_text("utf-8"))
        names = {row["command"] for row in rows}
        kept = [row for row in earlier["rows"] if row["command"] not in names]
        still = [f"{row['command']}: {row['kind']}" for row in kept if row["wrong"] > 0]
        return {**earlier, "rows": kept + rows, "failed": still + failed(lines)}
    return {"rows": rows, "full_disk": next((line for line in lines if line.startswith("full disk")), ""),
            "failed": failed(lines)}


def mutations(options):
    """Mutated device files and models: refused, or all values that come of them are finite."""
    found, problems = {}, []
    lines = list(lines_of([options.build / "fuzz_device_model", options.mutations]))
    problems += failed(lines)
    for line in lines:
        if line.startswith("mutated files:"):
            verdicts = [(int(count), verdict) for count, verdict in re.findall(r"(\d+) '([^']*)'", line)]
            found["device"] = {"runs": sum(count for count, _ in verdicts),
                               "accepted": sum(count for count, verdict in verdicts if verdict == "ok")}
    for target in ("model", "statistics"):
        lines = list(lines_of([options.build / "replay_corpora", "fuzz/corpus", target, options.mutations]))
        problems += failed(lines)
        for match in filter(None, (re.match(r"^(\w+): (\d+) runs, (\d+) accepted", line) for line in lines)):
            found[match[1]] = {"runs": int(match[2]), "accepted": int(match[3])}
    return {"rows": found, "failed": problems}


def fuzz(options):
    """The targets, all by default: by libFuzzer where build-fuzz is there, and by mutations that nothing guides."""
    rows, problems = [], []
    targets = options.targets or sorted(folder.name for folder in (ROOT / "fuzz/corpus").iterdir())
    program = ROOT / "build-fuzz/fuzz_readers"
    if options.seconds > 0 and program.is_file():
        lines = list(lines_of(["scripts/fuzz.sh", program, options.seconds, *targets]))
        problems += [line for line in lines if "found, see" in line]
        rows += [{"target": m[1], "by": "libFuzzer", "runs": int(m[2])}
                 for m in (re.match(r"^(\w+): (\d+) runs", line) for line in lines) if m]
    for target in targets if options.runs > 0 else []:
        lines = list(lines_of([options.build / "replay_corpora", "fuzz/corpus", target, options.runs, options.share]))
        problems += [f"{target}: {line}" for line in failed(lines)]
        match = re.search(r"^\w+: (\d+) runs", "\n".join(lines), re.M)
        rows.append({"target": target, "by": "mutations", "runs": int(match[1]) if match else 0})
    ran = {(row["target"], row["by"]) for row in rows}
    earlier = json.loads(FIGURES.read_text("utf-8")).get("fuzz", {}) if options.targets and FIGURES.is_file() else {}
    rows += [row for row in earlier.get("rows", []) if (row["target"], row["by"]) not in ran]
    problems += [find for find in earlier.get("failed", []) if find.split(":")[0] not in targets
                 or ("found, see" in find and options.seconds == 0)]
    return {"rows": sorted(rows, key=lambda row: (row["by"] != "libFuzzer", row["target"])), "failed": problems}


def budgets(options):
    """Memory and time of files that are as costly as their formats allow."""
    row = re.compile(r"^(\w+)\s+(\d+)\s+(\d+) MB\s*(\d+) MB\s+([\d.]+)  (.*)$")
    lines = list(lines_of([sys.executable, "tests/budgets/budgets_test.py", options.build / "parsnets", options.scale]))
    rows = [{"case": m[1], "bytes": int(m[2]), "megabytes": int(m[3]), "limit": int(m[4]), "seconds": float(m[5]),
             "says": m[6]} for m in map(row.match, lines) if m]
    return {"rows": rows, "failed": [line for line in lines if "cost too much" in line and not line.startswith("0 ")]}


def gcov_files(notes):
    """Our files in the object with these notes, by name, and what gcov says of each; an object that never ran has run
    nothing."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", str(notes)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False, cwd=notes.parent)
    named = [(Path(said["current_working_directory"], file["file"]).resolve(), file)
             for said in map(json.loads, done.stdout.splitlines()) for file in said["files"]]
    return [(str(name.relative_to(ROOT)), file) for name, file in named if name.is_relative_to(ROOT)]


def covered(files, wanted):
    """Lines and functions of the files whose names begin with `wanted`: how many there are, how many ran in any of the
    objects that hold them, which functions did not, and how many lines of each file did not."""
    lines, functions = collections.Counter(), collections.Counter()
    for name, file in files:
        if name.startswith(wanted):
            for line in file["lines"]:
                lines[name, line["line_number"]] += line["count"]
            for function in file["functions"]:
                functions[name, function["name"]] += function["execution_count"]
    missed = collections.Counter(name for (name, _), count in lines.items() if count == 0)
    return {"lines": len(lines), "lines_run": len(lines) - missed.total(), "functions": len(functions),
            "functions_run": sum(count > 0 for count in functions.values()),
            "not_run": sorted({name for (_, name), count in functions.items() if count == 0})[:20]}, missed


def coverage(_):
    """After the tests of build-coverage (`make coverage`): lines of src and functions of runtime."""
    notes = sorted((ROOT / "build-coverage").rglob("*.gcno"))
    if not notes:
        sys.exit("reliability.py: expected build-coverage, found none; run `make coverage`")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        files = [file for found in pool.map(gcov_files, notes) for file in found]
    (src, missed), (runtime, _) = covered(files, "src/"), covered(files, "runtime/parsnets_rt")
    for name, count in missed.most_common(20):
        print(f"{count:>6} lines not run: {name}")
    part, share = {"src": src, "runtime": runtime}, 100 * src["lines_run"] / src["lines"]
    print("\n".join(coverage_part(part)))
    problems = [] if share >= TARGETS["coverage"] else [f"{share:.1f} % of the lines of src run"]
    problems += [f"{function} does not run" for function in runtime["not_run"]]
    return {**part, "failed": problems}


PARTS = {"faults": faults, "mutations": mutations, "fuzz": fuzz, "budgets": budgets, "coverage": coverage}


def number(value):
    return f"{value:,}"


def fault_part(part):
    points = {kind: sum(row["points"] for row in part["rows"] if row["kind"] == kind)
              for kind in ("kill", "fail", "short", "memory")}
    wrong = sum(row["wrong"] for row in part["rows"])
    verdict = "No outcome was wrong" if wrong == 0 else f"{wrong} outcomes were wrong"
    yield (f"Every writing command was killed {number(points['kill'])} times, each time before another file call; "
           f"{number(points['fail'])} calls failed, and from {number(points['short'])} on, reads and writes did a part "
           f"of their work; {number(points['memory'])} allocations failed. {verdict}: each file has to be the old one "
           "or a complete new one, with the right exit code and message, and no litter after the next start.")
    if ended := sum(row.get("ended", 0) for row in part["rows"]):
        yield (f"{ended} of the allocations were of libraries that then end the process (libstdc++ where it lists "
               "folders, nlohmann-json where it frees values); files stay whole.")
    if part["full_disk"]:
        yield f"A small disk fills up ({part['full_disk'].removeprefix('full disk: ')})."
    yield "| Command | Calls | Killed | Failed | Short | No memory | Wrong |\n|---" + 6 * "|---:" + "|\n" + "\n".join(
        f"| {name} | {rows[0]['calls']} | " + " | ".join(
            str({row["kind"]: row["points"] for row in rows}.get(kind, "-")) for kind in points)
        + f" | {sum(row['wrong'] for row in rows)} |"
        for name in dict.fromkeys(row["command"] for row in part["rows"])
        for rows in [[row for row in part["rows"] if row["command"] == name]])


def mutation_part(part):
    yield ("Mutations of valid files, the same in every run, with checksums that fit. A file that is accepted must "
           "give finite values or say that it cannot; a model must be the same after it was written again. Device "
           "files are read by the C runtime and by the library, under sanitizers, and both must agree.")
    yield "| Files | Mutations | Accepted |\n|---|---:|---:|\n" + "\n".join(
        f"| {name} | {number(row['runs'])} | {number(row['accepted'])} |" for name, row in part["rows"].items())


def fuzz_part(part):
    yield ("Bytes that nobody meant, for every reader, with limits on time (2 s and 0.1 ms a byte of processor time). "
           "libFuzzer has limits on memory, too; it starts from the corpora of `fuzz/corpus`, as do mutations without "
           "its guidance. `mat` starts `parsnets-decode` for each file, as every command does: libhdf5 may break that, "
           "and nothing else. `mat5` and `answers`, what a decoder says that took a file over, are read by our own "
           "code in the process of the fuzzer.")
    yield "| Reader | By | Runs |\n|---|---|---:|\n" + "\n".join(
        f"| {row['target']} | {row['by']} | {number(row['runs'])} |" for row in part["rows"])


def budget_part(part):
    yield "The largest of two sizes of each costly file; SECURITY.md states the limits."
    largest = {row["case"]: row for row in part["rows"]}
    yield "| File | Bytes | Memory, MB | Limit, MB | Seconds |\n|---|---:|---:|---:|---:|\n" + "\n".join(
        f"| {name} | {number(row['bytes'])} | {row['megabytes']} | {row['limit']} | {row['seconds']} |"
        for name, row in largest.items())


def coverage_part(part):
    for name, row in ((name, part[name]) for name in ("src", "runtime") if part.get(name, {}).get("lines")):
        yield (f"`{name}`: {100 * row['lines_run'] / row['lines']:.1f} % of {number(row['lines'])} lines, "
               f"{number(row['functions_run'])} of {number(row['functions'])} functions.")
        if name == "runtime" and row["not_run"]:
            yield "Not run: " + ", ".join(f"`{function}`" for function in row["not_run"]) + "."


def soak_part(part):
    rows = [(f"{name}, {inner}" if inner else name, value) for name, of_name in part.items()
            for inner, value in (of_name.items() if isinstance(of_name, dict) else [("", of_name)])]
    shown = [(name, f"{value:,.4g}" if isinstance(value, float) else value if isinstance(value, str) else number(value))
             for name, value in rows if isinstance(value, (int, float, str))]
    yield "| | |\n|---|---:|\n" + "\n".join(f"| {name} | {value} |" for name, value in shown)


def summary(figures):
    done = {}
    if rows := figures.get("faults", {}).get("rows"):
        done["kills"] = sum(row["points"] for row in rows if row["kind"] == "kill")
        done["faults"] = sum(row["points"] for row in rows)
    if rows := figures.get("mutations", {}).get("rows"):
        done["mutations"] = sum(row["runs"] for row in rows.values())
    if rows := figures.get("fuzz", {}).get("rows"):
        done["fuzz"] = sum(row["runs"] for row in rows)
    for name, target in TARGETS.items():
        if name == "coverage":
            src = figures.get("coverage", {}).get("src", {})
            share = 100 * src["lines_run"] / src["lines"] if src.get("lines") else None
            yield f"| lines of `src` that tests run | {'not run' if share is None else f'{share:.1f} %'} | {target} % |"
            continue
        names = {"kills": "kills", "faults": "faults, kills among them", "mutations": "mutated models and device files",
                 "fuzz": "runs of fuzz targets"}
        value = done.get(name)
        yield f"| {names[name]} | {'not run' if value is None else number(value)} | {number(target)} |"


SECTIONS = {"faults": ("Kills and faults", fault_part), "mutations": ("Mutated models and device files", mutation_part),
            "fuzz": ("Fuzzing", fuzz_part), "budgets": ("What files cost", budget_part),
            "coverage": ("Coverage", coverage_part), "soak": ("The server under load", soak_part)}


def wrapped(text):
    """Prose within 120 columns; tables stay as they are."""
    if text.startswith("|"):
        return text
    out = [""]
    for word in text.split(" "):
        if len(out[-1]) + len(word) >= 120:
            out.append("")
        out[-1] += (" " if out[-1] else "") + word
    return "\n".join(out)


def page(figures):
    problems = [f"{part}: {text}" for part, found in figures.items() if isinstance(found, dict)
                for text in found.get("failed", [])]
    blocks = ["<!-- not measured: scripts/reliability.py writes this page from docs/reliability.json -->\n"
              "# Reliability",
              "What tries to break ParsNets, and how often it was run. `make reliability` runs it again and writes "
              "this page. A number below its target has not been reached yet.",
              "| | Run | Target |\n|---|---:|---:|\n" + "\n".join(summary(figures)),
              f"Open finds: {'; '.join(problems)}." if problems else "There is no open find."]
    for part, (title, words) in SECTIONS.items():
        if part in figures:
            blocks += [f"## {title}", *words(figures[part])]
    return "\n\n".join(wrapped(block) for block in blocks) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Tries to break ParsNets, and counts.")
    parser.add_argument("action", choices=["run", "page", "check"])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="folder of the release build")
    parser.add_argument("--points", type=int, default=0, help="faults of each command and kind; 0: all")
    parser.add_argument("--commands", nargs="+", default=[], metavar="NAME",
                        help="run faults again in these commands of tests/faults/faults_test.py alone")
    parser.add_argument("--mutations", type=int, default=1_000_000, help="of each kind of file")
    parser.add_argument("--runs", type=int, default=2_000_000, help="unguided runs of each fuzz target, at most")
    parser.add_argument("--share", type=int, default=60, help="seconds of these runs per target, at most")
    parser.add_argument("--seconds", type=int, default=0, help="of libFuzzer, in all")
    parser.add_argument("--targets", nargs="*", metavar="TARGET", help="fuzz targets to run; others keep their figures")
    parser.add_argument("--scale", type=float, default=1, help="of the sizes of costly files")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"expected {', '.join(PARTS)}, found {', '.join(sorted(unknown))}")
    options.build = options.build.resolve()
    figures = json.loads(FIGURES.read_text("utf-8")) if FIGURES.is_file() else {}
    if options.action == "run":
        OUT.mkdir(parents=True, exist_ok=True)
        wrong = []
        for part in options.parts or PARTS:
            found = PARTS[part](options)
            (OUT / f"{part}.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
            wrong += [f"{part}: {text}" for text in found["failed"]]
        sys.exit("\n".join(wrong) or 0)
    if options.action == "page":
        for part in (*PARTS, "soak"):
            if (OUT / f"{part}.json").is_file():
                figures[part] = json.loads((OUT / f"{part}.json").read_text("utf-8"))
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
        PAGE.write_text(page(figures), "utf-8")
    elif PAGE.read_text("utf-8") != page(figures):
        sys.exit("docs/reliability.md does not follow docs/reliability.json: run scripts/reliability.py page")


if __name__ == "__main__":
    main()
