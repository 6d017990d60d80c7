#!/usr/bin/env python3
"""The text files of the tree, and what no other tool checks in them: one line per finding, exit 1 if there is any.

  check_text.py files KIND   lists them: c, python, shell, javascript or markdown; none that is generated
  check_text.py whitespace   blanks at the end of a line, tabs, CR, a last line without its end (.editorconfig)
  check_text.py markdown     prose of more than 120 columns; files of the tree that a page names and that are not there
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABS = {"Makefile"}
GENERATED = {"examples/device/firmware_model.h", "examples/device/firmware_samples.h",  # by make_headers.sh
             "docs/options.md"}  # by `parsnets docs options`
KINDS = {"c": (".c", ".h", ".cpp", ".hpp"), "python": (".py",), "shell": (".sh",), "javascript": (".js",),
         "markdown": (".md",)}
INTERPRETERS = {"python": rb"python3", "shell": rb"(ba|da)?sh"}  # of programs without an ending
NOT_OURS = re.compile(r"^(build.*|out|node_modules|__pycache__|\..*_cache|\.venv|\.git|.*\.egg-info)$")  # .gitignore
BYTES = "fuzz/corpus/"  # what readers are given, blanks and all
COLUMNS = 120
NAMED = re.compile(r"`((?:src|include|cli|runtime|python|web|tests|scripts|docs|cmake|examples)/[\w./-]*)`")


def all_files():
    """The tracked files; where there is no git, all that .gitignore would not leave out."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL).stdout.decode().split("\0")
        return [name for name in listed if name and (ROOT / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = sorted(name for name in folders if not NOT_OURS.match(name))
            found += [(Path(folder) / name).relative_to(ROOT).as_posix() for name in sorted(names) if name != ".git"]
        return found


def runs_with(interpreter, name):
    with open(ROOT / name, "rb") as file:
        return re.match(rb"#!.*\b" + interpreter + rb"\s", file.readline()) is not None


def files(kind):
    return [name for name in all_files() if name not in GENERATED
            and (name.endswith(KINDS[kind]) or kind in INTERPRETERS and "." not in Path(name).name
                 and runs_with(INTERPRETERS[kind], name))]


def whitespace():
    for name in all_files():
        content = (ROOT / name).read_bytes()
        if b"\0" in content or name.startswith(BYTES):  # no text
            continue
        text = content.decode()
        if text and not text.endswith("\n"):
            yield f"{name}: the last line does not end"
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                yield f"{name}:{number}: blanks (or a CR) at the end of the line"
            if "\t" in line and name not in TABS:
                yield f"{name}:{number}: a tab"


def without_links(line):
    """The line without what cannot be broken: targets of links, bare addresses and marks."""
    return re.sub(r"https?://\S+|<!--.*?-->", "", re.sub(r"\]\([^)]*\)", "]", line))


def markdown():
    for name in files("markdown"):
        fenced = False
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            code = fenced or line.startswith("    ")
            if not code and not line.lstrip().startswith("|") and len(without_links(line)) > COLUMNS:
                yield f"{name}:{number}: {len(line)} columns, expected at most {COLUMNS}"
            for path in NAMED.findall(line):
                if "NAME" not in path and not (ROOT / path).exists():  # NAME: of a file that is yet to be written
                    yield f"{name}:{number}: names {path}, which does not exist"


def main():
    checks = {"whitespace": whitespace, "markdown": markdown}
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "files" and arguments[1] in KINDS:
        print("".join(f"{name}\n" for name in files(arguments[1])), end="")
        return 0
    if len(arguments) != 1 or arguments[0] not in checks:
        print(__doc__, file=sys.stderr)
        return 2
    findings = list(checks[arguments[0]]())
    print("".join(f"{finding}\n" for finding in findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
