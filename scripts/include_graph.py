#!/usr/bin/env python3
"""The layers of the source tree and what they include, from the #include lines themselves.

  include_graph.py                  prints the picture
  include_graph.py --write          puts it into docs/architecture.md, between the markers
  include_graph.py --check          exit 1 if the page is stale, or for an upward include, an include cycle or a reading
                                    path of the page that names a file no file before it leads to
  include_graph.py --follow FILE    lists the project files that FILE leads to, layer by layer; counts its reading path

The order of the layers is kOrder in tests/base/layering_test.cpp. Public headers and the device runtime come before it,
the command line after it. A file may include its own layer and the layers before it.
"""

import argparse
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/architecture.md"
BEGIN, END = "<!-- include_graph.py: begin -->", "<!-- include_graph.py: end -->"
FOLLOWED = ("cli/train.cpp", "cli/predict.cpp")
TABLE = "cli/command.hpp"  # declares every command, so that one would lead to all
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# Formatted definitions start in the first column: `type name(`, `Class::member(`.
DEFINITION = re.compile(r"^(?![#/}{])\S.*?\b(\w+(?:::~?\w+)*)\(", re.M)

PATHS = re.compile(r"^## Reading paths\n(.*?)(?=^## |\Z)", re.M | re.S)
STEP = re.compile(r"^\d+\. `([^`]+)`", re.M)


def room_order(root):
    text = (root / "tests/base/layering_test.cpp").read_text()
    listed = re.search(r"kOrder\{([^}]*)\}", text)
    if not listed:
        sys.exit("include_graph.py: expected kOrder{...} in tests/base/layering_test.cpp, found none")
    return ["include", "runtime", *re.findall(r'"(\w+)"', listed.group(1)), "cli"]


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else parts[0]


def read_tree(root):
    """The text of every C and C++ file that goes into the library, the runtime and the tool, by its path."""
    files = {}
    for folder in ("include", "runtime", "src", "cli"):
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix in (".c", ".h", ".cpp", ".hpp") and not path.startswith("runtime/tests/"):
                files[path] = file.read_text()
    return files


def includes_of(files):
    """The project files each file includes; what CMake generates and what the system has is left out."""
    graph = {}
    for path, text in files.items():
        here = path.rsplit("/", 1)[0]
        graph[path] = []
        for name in INCLUDE.findall(text):
            places = (f"{here}/{name}", f"src/{name}", f"include/{name}", f"runtime/{name}")
            graph[path] += [place for place in places if place in files][:1]
    return graph


def upward(graph, order):
    rank = {room: number for number, room in enumerate(order)}
    lost = sorted({room_of(path) for path in graph} - rank.keys())
    if lost:
        return [f"src/{room} has no place in kOrder of tests/base/layering_test.cpp" for room in lost]
    return [f"{path} includes {used}: {room_of(used)} comes after {room_of(path)}"
            for path in graph for used in graph[path] if rank[room_of(used)] > rank[room_of(path)]]


def cycles(graph):
    """Each include cycle once, as the files along it."""
    found, finished, trail = [], set(), []

    def visit(path):
        if path in trail:
            found.append(" -> ".join([*trail[trail.index(path):], path]))
        elif path not in finished:
            trail.append(path)
            for used in graph[path]:
                visit(used)
            trail.pop()
            finished.add(path)

    for path in graph:
        visit(path)
    return found


def sources_of(files, graph):
    """The .cpp files that define what a header declares, by header: a public one, or one of their own layer."""
    sources = {}
    for path, text in files.items():
        if not path.endswith((".cpp", ".c")):
            continue
        shared = re.sub(r"^namespace \{.*?^\}  // namespace$", "", text, flags=re.M | re.S)
        names = {name.split("::")[0] for name in DEFINITION.findall(shared)}
        public = {header for header in graph[path] if room_of(header) == "include"}
        of_room = {header for header in follow(path, graph, {}) if room_of(header) == room_of(path)}
        for header in (public | of_room) - {path, TABLE}:
            declared = re.sub(r"//.*|/\*.*?\*/", "", files[header])
            if any(re.search(rf"\b{name}\(|\b(?:class|struct) {name}\b", declared) for name in names):
                sources.setdefault(header, []).append(path)
    return sources


def ahead(graph, sources, order):
    """Uses of a public header whose functions all live in a later layer: no include shows them."""
    rank = {room: number for number, room in enumerate(order)}
    homes = {header: min((rank[room_of(path)] for path in sources.get(header, [])), default=0) for header in graph}
    return [(path, used, order[homes[used]]) for path in graph for used in graph[path]
            if room_of(path) != "include" and homes[used] > rank[room_of(path)]]


def follow(start, graph, sources):
    reached, waiting = set(), [start]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += graph[path] + sources.get(path, [])
    return reached


def reading_paths(page):
    """The files of each reading path of the page, by the file it starts with."""
    section = PATHS.search(page)
    lists = [STEP.findall(part) for part in re.split(r"^### ", section.group(1), flags=re.M)] if section else []
    return {steps[0]: steps for steps in lists if steps}


def led_to(path, graph, sources):
    """What a file includes, directly or through headers, and the files that implement those headers."""
    headers = follow(path, graph, {})
    return headers.union(*(sources.get(header, []) for header in headers))


def lost_steps(paths, graph, sources):
    """The files of reading paths that do not exist, that are named twice or that no file before them leads to."""
    problems = []
    for start, steps in paths.items():
        for place, path in enumerate(steps):
            before = steps[:place]
            if path not in graph:
                problems.append(f"{PAGE}: the reading path of {start} names {path}, which does not exist")
            elif path in before:
                problems.append(f"{PAGE}: the reading path of {start} names {path} twice")
            elif before and not any(path in led_to(one, graph, sources) for one in before if one in graph):
                problems.append(f"{PAGE}: the reading path of {start} names {path}, but no file before it leads there")
    return problems


def matrix(graph, order):
    uses = {room: {room_of(used) for path in graph if room_of(path) == room for used in graph[path]} for room in order}
    width = max(map(len, order))
    columns = order[:-1]  # nothing includes the last
    lines = [" " * width + "  " + " ".join(columns)]
    for room in order:
        marks = ("#" if used == room else "x" if used in uses[room] else "." for used in columns)
        lines.append(f"{room:<{width}}  "
                     + " ".join(mark.center(len(column)) for mark, column in zip(marks, columns)).rstrip())
    return "\n".join(lines)


def by_room(reached, order):
    counts = {room: sum(room_of(path) == room for path in reached) for room in order}
    return ", ".join(f"{room} {count}" for room, count in counts.items() if count)


def path_count(start, paths):
    return f"{len(paths[start])} in its reading path" if start in paths else "no reading path"


def picture(files, graph, order, sources, paths):
    lines = ["A row includes the columns marked `x`; `#` is the layer itself.", "",
             "```text", matrix(graph, order), "```", "",
             f"Include cycles between files: {len(cycles(graph)) or 'none'}.", ""]
    lines += [f"`{path}` uses `{used}`, whose functions are in {room}, a later layer.\n"
              for path, used, room in ahead(graph, sources, order)]
    for start in FOLLOWED:
        reached = follow(start, graph, sources)
        lines += [textwrap.fill(f"From `{start}`, {len(reached)} of {len(files)} files can be reached "
                                f"({path_count(start, paths)}): {by_room(reached, order)}.", 120), ""]
    return "\n".join(lines)


def split_page(text):
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"include_graph.py: {PAGE}: expected the lines {BEGIN} and {END}")
    return before + BEGIN + "\n", END + after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help=f"put the picture into {PAGE}")
    action.add_argument("--check", action="store_true", help="exit 1 if something is wrong")
    action.add_argument("--follow", metavar="FILE", help="a file such as cli/train.cpp")
    parser.add_argument("--root", type=Path, default=ROOT, help="the source tree")
    args = parser.parse_args()
    order, files = room_order(args.root), read_tree(args.root)
    graph = includes_of(files)
    sources = sources_of(files, graph)
    page = args.root / PAGE
    paths = reading_paths(page.read_text())

    if args.follow:
        if args.follow not in files:
            sys.exit(f"include_graph.py: --follow: expected a file such as cli/train.cpp, found {args.follow}")
        reached = follow(args.follow, graph, sources)
        for room in reversed(order):
            print("".join(f"{path}\n" for path in sorted(reached) if room_of(path) == room), end="")
        print(f"{len(reached)} of {len(files)} files ({by_room(reached, order)}); {path_count(args.follow, paths)}")
        return 0

    problems = upward(graph, order) + [f"include cycle: {cycle}" for cycle in cycles(graph)]
    problems += lost_steps(paths, graph, sources)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    drawn = picture(files, graph, order, sources, paths)
    if args.check or args.write:
        text = page.read_text()
        before, after = split_page(text)
        fresh = before + drawn + after
        if args.write:
            page.write_text(fresh)
        elif text != fresh:
            problems.append(f"{PAGE} is stale: run scripts/include_graph.py --write")
        print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
        return 1 if problems else 0
    print(drawn, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
