#!/usr/bin/env python3
"""How large the project is, and how large it may be: lines, files, options, public types, functions, README.

  size.py           prints the table
  size.py --check   exit 1, naming what has grown, if a number is above its limit; lines of tests have none

What is added pays with something that is removed, or raises the limit here in a commit of its own that says why.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {".c", ".h", ".cpp", ".hpp"}
OPTION = re.compile(r"^\| `--([\w-]+)`", re.M)
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) \w+[^;{]*\{", re.M)
FUNCTION = re.compile(r"^PARSNETS_API\b", re.M)
# What is counted, the most there may be, and whether --check holds it.
LIMITS = {
    "lines in src, include, cli and decode": (49900, True),
    "lines in tests": (40000, False),
    "files in src": (300, True),
    "option names of all commands": (96, True),
    "options in `train --help`": (25, True),
    "public C++ types": (80, True),
    "functions of the C interface": (71, True),
    "files in the reading path of `train`": (16, True),
    "lines of README.md": (150, True),
}


def files(folder, endings=None):
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and "node_modules" not in path.parts
            and "__pycache__" not in path.parts and (endings is None or path.suffix in endings)]


def lines(paths):
    return sum(path.read_bytes().count(b"\n") for path in paths)


def part(text, heading, level="##"):
    """What stands below a heading of a page, up to the next one that is not below it."""
    found = re.search(rf"^{level} {re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.M | re.S)
    return found.group(1) if found else ""


def shown_by_train(program):
    """The command's own options in `train --help`; the common ones come last."""
    text = subprocess.run([program, "train", "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return len(re.findall(r"^ +--", text.split("\nCommon options:")[0], re.M))


def counts(program):
    page = (ROOT / "docs/options.md").read_text("utf-8")
    steps = part((ROOT / "docs/architecture.md").read_text("utf-8"), "`train`", "###")
    return {
        "lines in src, include, cli and decode": lines(
            f for d in ("src", "include", "cli", "decode") for f in files(d, SOURCES)),
        "lines in tests": lines(files("tests")),
        "files in src": len(files("src")),
        "option names of all commands": len(set(OPTION.findall(page))),
        **({"options in `train --help`": shown_by_train(program)} if Path(program).is_file() else {}),
        "public C++ types": sum(len(TYPE.findall(f.read_text("utf-8"))) for f in files("include/parsnets", {".hpp"})),
        "functions of the C interface": len(
            FUNCTION.findall((ROOT / "include/parsnets/parsnets.h").read_text("utf-8"))),
        "files in the reading path of `train`": len(re.findall(r"^\d+\. `", steps, re.M)),
        "lines of README.md": lines([ROOT / "README.md"]),
    }


def main():
    parser = argparse.ArgumentParser(description="How large the project is, and how large it may be.")
    parser.add_argument("--check", action="store_true", help="exit 1 if a number is above its limit")
    parser.add_argument("--parsnets", metavar="FILE", default=str(ROOT / "build/parsnets"),
                        help="the tool whose help is counted; without it, that is left out")
    arguments = parser.parse_args()
    found = counts(arguments.parsnets)
    print(f"{'':38}{'now':>8}{'at most':>9}")
    for name, number in found.items():
        print(f"{name:38}{number:8}{LIMITS[name][0]:9}")
    grown = [f"{name}: {number} of {LIMITS[name][0]}" for name, number in found.items()
             if number > LIMITS[name][0] and LIMITS[name][1]]
    if arguments.check and grown:
        sys.exit("size.py: above the limit: " + "; ".join(grown))


if __name__ == "__main__":
    main()
