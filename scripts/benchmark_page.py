#!/usr/bin/env python3
"""Puts the tables of a study into docs/benchmark.md, between its marks.

  benchmark_page.py OUT   OUT: what `parsnets reproduce --out OUT` wrote; reads results.md and reproduce.json
"""

import json
import re
import shlex
import sys
import textwrap

from fill_page import fill_page

BEGIN, END = "<!-- reproduce: begin -->", "<!-- reproduce: end -->"
COLUMNS = 120
STARTS_A_BLOCK = re.compile(r"^([-+*>#]|\d+[.)])(?=\s|$)", re.M)  # what Markdown would not read as running text


def wrapped(text):
    lines = textwrap.fill(text, COLUMNS - 1, break_long_words=False, break_on_hyphens=False)
    return STARTS_A_BLOCK.sub(lambda start: start[1][:-1] + "\\" + start[1][-1], lines)


def command_of(study, results):
    """The call that makes the same tables. Where data and own rows lie is the reader's affair."""
    words = ["parsnets", "reproduce", "--root", "DATA", "--out", "out/reproduction", "--methods", study["methods"],
             "--seeds", str(study["seeds"]), "--seed", str(study["seed"])]
    for part in ("ablation", "sparsity"):
        if f"\n## {part.capitalize()}\n" not in results:
            words.append("--no-" + part)
    if "(own row, not measured here)" in results:
        words += ["--rows", "ROWS.csv"]
    return shlex.join(words)


def names(texts):
    return ", ".join(dict.fromkeys(texts))


def block(out):
    """Lines between the marks: how the tables were made, what they leave out, then the tables, one level deeper."""
    study = json.loads((out / "reproduce.json").read_text("utf-8"))
    results = (out / "results.md").read_text("utf-8")
    if not study.get("data"):
        raise ValueError(f"{out}: expected a finished study, found one that was interrupted; call reproduce again")
    lines = [f"Made by ParsNets {study['version']} with", "", "```sh", command_of(study, results), "```", "",
             wrapped(f"Data sets: {names(study['data'])}.")]
    absent = names(file["data"] for file in study["missing"])
    if absent:
        lines += ["", wrapped(f"Public data sets without figures, because files of theirs were not there: {absent}.")]
    if study["failed"]:
        lines += ["", wrapped(f"{study['failed']} rows failed; the tables say why.")]
    for line in results[results.index("\n## "):].rstrip().split("\n"):  # without title and version
        lines.append("#" + line if line.startswith("## ") else line if line.startswith("|") else wrapped(line))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(fill_page("benchmark.md", BEGIN, END, block, __doc__))
