#!/usr/bin/env python3
"""Ties README.md and docs/ to what was measured (docs/results.json) and to the option tables (docs/options.md).

  pages.py            puts the figures, outputs and tables into the pages
  pages.py --check    changes nothing; one line per finding, exit 1 if there is any; --root DIR checks another tree

What a page writes:

  <!--=cub-att.zsl-->66.6                  a figure; differences too: <!--=cub-att.zsl - awa1.zsl-->22.2
  <!--default: calibrate/folds-->`20`      a default: the heading in options.md, and the option
  <!--published: METHOD/CUB/ZSL-->80.3      a published figure: method, data set and column of data/reference.csv
  <!-- output: demo.eval 1-3 -->           the block of code below: lines of what a command printed
  <!-- make: defaults --> ... <!-- made -->   a table or more that this script makes
  <!-- example -->                         the block of code below shows a form; its figures are not measured
  <!-- not measured: WHY -->               on a page of constants, versions or history: decimals need no mark

--check also finds figures with decimals that have no mark, defaults without one, and links to files and headings that
do not exist. Decimals in `code` are not measured: constants and values of options.
"""

import argparse
import csv
import json
import re
import sys
from pathlib import Path

import benchmarks_page

ROOT = Path(__file__).resolve().parent.parent
RESULTS = "docs/results.json"
OPTIONS = "docs/options.md"
README_LINES = 150
FIGURE = re.compile(r"<!--=([^>]+?)-->([-+−]?\d[\d,]*(?:\.\d+)?)")
DEFAULT = re.compile(r"<!--default: ([^>]+?)/([\w-]+)-->`([^`]*)`")
PUBLISHED = re.compile(r"<!--published: ([^>]+?)/(\w+)/(\w+)-->(\d+\.\d+)")
OUTPUT = re.compile(r"(<!-- output: (\S+)(?: ([\d,-]+))? -->\n```\w*\n)(.*?)(^```)", re.M | re.S)
MADE = re.compile(r"(<!-- make: (\S+) -->\n)(.*?)(<!-- made -->)", re.S)
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```\n", re.M | re.S)
EXAMPLE = "<!-- example -->\n"
NOT_MEASURED = "<!-- not measured:"
DECIMAL = re.compile(r"(?<![\w.,/-])[-+−]?\d[\d,]*\.\d+(?![.\w]*\d)")
VERSION = re.compile(r"(?:OpenCV|PyTorch|Python|Debian|versions?|glibc|CLI11|libhdf5|ONNX Runtime|python3-onnx|C\+\+|"
                     r"Apache-|dask|distributed`?) ?\(?(?:before )?$", re.I)
SAID_DEFAULT = re.compile(r"(?:\bdefaults?(?: is| to|:| of)? |\(default:? )`?-?\d")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


class Wrong(Exception):
    """What a page asks for is not there."""


def percent(value):
    return f"{value:.1f}"


def table(head, rows):
    """Columns of figures are aligned to the right."""
    figures = [all(re.match(r"[-+−–\d]|$", row[i]) for row in rows) for i in range(len(head))]
    line = "|" + "|".join("---:" if right else "---" for right in figures) + "|"
    return "\n".join(["| " + " | ".join(head) + " |", line, *("| " + " | ".join(row) + " |" for row in rows)])


class Results:
    def __init__(self, content):
        self.parts = content["parts"]

    def figure(self, name):
        part, _, key = name.strip().partition(".")
        try:
            return self.parts[part]["figures"][key]
        except KeyError:
            raise Wrong(f"{RESULTS} has no figure {name.strip()}") from None

    def value(self, expression):
        """The sum and difference of figures; `/ 1e6` after one divides it."""
        total, sign = 0.0, 1
        for word in re.split(r" ([-+]) ", expression):
            if word in "+-":
                sign = -1 if word == "-" else 1
                continue
            name, _, divisor = word.partition(" / ")
            total += sign * self.figure(name) / float(divisor or 1)
        return total

    def output(self, name, lines):
        part, _, key = name.partition(".")
        try:
            printed = self.parts[part]["outputs"][key]
        except KeyError:
            raise Wrong(f"{RESULTS} has no output {name}") from None
        if not lines:
            return printed
        chosen = []
        for piece in lines.split(","):
            first, _, last = piece.partition("-")
            if int(last or first) > len(printed):
                raise Wrong(f"{name}: {RESULTS} has {len(printed)} lines, the page wants line {last or first}")
            if chosen:
                chosen.append("…")
            chosen += printed[int(first) - 1:int(last or first)]
        return chosen

    def has(self, *parts):
        return all(part in self.parts for part in parts)

    def row(self, prefix, *keys):
        return [percent(self.figure(f"{prefix}.{key}")) for key in keys]


def shown(value, text):
    """The value with as many decimals, and the sign and separators, as the text has."""
    decimals = len(text.partition(".")[2])
    comma = "," if abs(value) >= 1000 and ("," in text or abs(value) >= 10000) else ""
    sign = "+" if text[0] == "+" else ""
    return f"{value:{sign}{comma}.{decimals}f}".replace("-", "−")


ACCURACIES = ("zsl", "u", "s", "h", "ausuc")
SETS = (("cub-att", "CUB", "ResNet-50", "312 attributes"), ("cub-sent", "CUB", "ResNet-50", "sentences, 1024-d"),
        ("cub-att-sent", "CUB", "ResNet-50", "attributes and sentences"),
        ("awa1", "AWA1", "five hand-made descriptors", "85 attributes"))


def seconds(value):
    return f"{value:.1f} s" if value < 9.95 else f"{value:.0f} s"


def defaults(results):
    rows = [[data, features, semantics, *results.row(part, *ACCURACIES), seconds(results.figure(f"{part}.seconds"))]
            for part, data, features, semantics in SETS if results.has(part)]
    return table(["data", "features", "class descriptions", "ZSL", "U", "S", "H", "AUSUC", "training"], rows)


def searched(results):
    rows = [[data, semantics, *results.row(f"auto.{part}", *ACCURACIES),
             seconds(results.figure(f"auto.{part}.seconds"))]
            for part, data, _, semantics in SETS if f"{part}.zsl" in results.parts["auto"]["figures"]]
    return table(["data", "class descriptions", "ZSL", "U", "S", "H", "AUSUC", "search and training"], rows)


def methods_of(results, part, prefix):
    found = results.parts[part]["figures"]
    return list(dict.fromkeys(key[len(prefix) + 1:].rsplit(".", 1)[0] for key in found if key.startswith(prefix + ".")))


def compared(part, prefix, name="method"):
    def make(results):
        rows = [[method, *results.row(f"{part}.{prefix}.{method}", *ACCURACIES, "val-zsl"),
                 seconds(results.figure(f"{part}.{prefix}.{method}.seconds"))]
                for method in methods_of(results, part, prefix)]
        return table([name, "ZSL", "U", "S", "H", "AUSUC", "val ZSL", "time"], rows)
    return make


def ablation(results):
    sets = (("cub-att", "CUB attributes"), ("awa1", "AWA1"), ("demo", "demo"))
    head = ["", *(f"{name} {key}" for _, name in sets for key in ("ZSL", "H"))]
    rows = [[method, *(cell for data, _ in sets for cell in results.row(f"ablation.{data}.{method}", "zsl", "h"))]
            for method in methods_of(results, "ablation", "cub-att")]
    return table(head, rows)


def device(results):
    rows = [["none: the model file, float32", f"{results.figure('cub-att.bytes') / 1e6:.2f} MB",
             *results.row("cub-att", "zsl", "h"), "", ""]]
    for size in ("2MB", "1MB", "600kB"):
        key = f"device.{size}"
        precision, rank = results.output(f"{key}.precision", None)[0], results.figure(f"{key}.rank")
        networks = f"rank {rank:.0f}" if rank else "all networks"
        kept = [f"{results.figure(f'{key}.{one}'):.4g} % of {name}"
                for one, name in (("class-space", "class space"), ("encoding", "the encoding"))
                if results.figure(f"{key}.{one}") < 100]
        rows.append([f"`--max-bytes {size}`",
                     f"{results.figure(f'{key}.bytes') / 1e6:.2f} MB: " + ", ".join([precision, networks, *kept]),
                     *results.row(key, "zsl", "h"), f"{results.figure(f'{key}.work-bytes') / 1e3:.1f} kB",
                     f"{results.figure(f'{key}.multiply-adds') / 1e6:.2f} M"])
    return table(["limit", "file", "ZSL", "H", "working memory", "multiply-adds"], rows)


def adapted(results):
    rows = []
    for part, name in (("cub-att", "attributes"), ("cub-sent", "sentences")):
        rows.append([name, "before (inductive)", *results.row(part, "zsl", "u", "s", "h"), ""])
        for protocol in ("mixed", "unseen"):
            key = f"{part}.adapted-{protocol}"
            rows.append([name, f"transductive ({protocol})", *results.row(key, "zsl", "u", "s", "h"),
                         f"{results.figure(f'{key}.moved'):.0f} of 50"])
    return table(["class descriptions", "", "ZSL", "U", "S", "H", "classes moved"], rows)


def taught(results):
    def cell(part, kind, count):
        return f"{results.figure(f'{part}.{kind}.{count}.zsl'):.1f} ± {results.figure(f'{part}.{kind}.{count}.sd'):.1f}"
    rows = [["0", *results.row("cub-att", "zsl"), *results.row("cub-sent", "zsl"), "–", "–"]]
    rows += [[str(count), *(cell(part, kind, count) for kind in ("taught", "examples-alone")
                            for part in ("cub-att", "cub-sent"))] for count in (1, 2, 5, 10)]
    return table(["examples", "attributes", "sentences", "examples alone (attributes)", "examples alone (sentences)"],
                 rows)


def photo_set(results):
    rows = []
    for name in ("mobilenet", "resnet50"):
        times = [f"{results.figure(f'photos.{name}.{stage}-seconds'):.{decimals}f} s"
                 for stage, decimals in (("extract", 0), ("train", 1), ("calibrate", 1))]
        rows.append([f"`{name}`", f"{results.figure(f'photos.{name}.features'):.0f}",
                     *results.row(f"photos.{name}", "zsl", "u", "s", "h", "auroc"), *times])
    return table(["backbone", "features", "ZSL", "U", "S", "H", "rejection AUROC", "extraction", "training",
                  "calibration"], rows)


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def extraction(results):
    names = {"mobilenet": "MobileNet", "resnet50": "ResNet-50", "both": "average and maximum"}
    rows = []
    for data, _, *accuracies in map(cells, results.output("choices.extraction", None)[2:]):
        rows.append([names.get(word, word) for word in data.removeprefix("out/").split("-")] + accuracies)
    return table(["backbone", "part", "pooling", "ZSL", "H"], rows)


def attributes(results):
    rows = [[name, *cells(line)[1:]] for name in ("photos", "CUB")
            for line in results.output(f"choices.attributes.{name.lower()}", None)[2:]]
    return table(["data", "attributes", "ZSL", "H"], rows)


def resamplings(results):
    names = {"out/mobilenet-whole-average": "photos", "CUB,att": "CUB, attributes", "CUB,sent": "CUB, sentences",
             "AWA1-handmade": "AWA1"}
    rows = [[names[data], *figures] for data, *figures in map(cells, results.output("choices.gamma", None))]
    return table(["data", "seen / unseen", "H, mean of the folds", "H, scaled", "change", "H, best gamma"], rows)


def targets(results):
    rows = []
    for line in results.output("targets.printed", None):
        if ": not here: " in line:
            continue
        name, switches, model, rest = re.match(r"(.+), (all|minimal), (\S+): (.*)", line).groups()
        told = {"stack": "", "work": "", "nanoseconds": "", "instructions": "", "CRC equal": ""}
        told.update(re.findall(r"(\.text|work|stack|nanoseconds|instructions|CRC equal):? (\w+)", rest))
        took = f"{int(told['instructions']):,} instructions" if told["instructions"] else \
            f"{int(told['nanoseconds']) / 1e3:.1f} us" if told["nanoseconds"] else ""
        size = [f"{int(told[key]):,}" if told[key] else "" for key in (".text", "work", "stack")]
        rows.append([name, {"firmware.pnrt": "16 KB", "cub.pnrt": "CUB, 593 KB"}[model],
                     {"all": "none", "minimal": "all"}[switches], *size, took, told["CRC equal"] or "does not fit"])
    return table(["target", "model", "switches", "code", "working memory", "stack", "a prediction", "same CRC"], rows)


def unlabelled(results):
    """The tables that `make bench ARGS="--only field"` prints."""
    pages, head = [], ["unlabelled set", "ZSL", "worst", "H", "worst", "strong form"]
    for line in results.output("field.sets", None):
        if match := re.match(r"(\S+) (\w*), (.*): change of ZSL and H by adapting", line):
            data, semantics, classes = match.groups()
            what = {"att": ", attributes", "sent": ", sentences"}.get(semantics, "")
            pages.append((f"{data.removesuffix('-handmade')}{what}, {classes}:", [], []))
        elif match := re.match(r"  (.{52})" + r" *([-+][\d.]+)" * 4 + r" +([\d.]+)$", line):
            name, *changes, strong = match.groups()
            pages[-1][1].append([name.strip(), *changes, f"{100 * float(strong):.0f} %"])
        elif match := re.match(r"  (on a device.*)", line):
            pages[-1][2].append("\n\n" + match[1].replace("on", "On", 1) + ".")
    return "\n\n".join(f"{caption}\n\n{table(head, rows)}{''.join(device)}" for caption, rows, device in pages)


def sources(results):
    rows = []
    for name, part in results.parts.items():
        data = part["data"]
        said = f"{data['name']}: {data['features']}, {data['semantics']}" if data else ""
        commit = f"`{part['commit']}`" + (" and changes" if part["sources_changed"] else "")
        rows.append([f"`{name}`", commit, part["measured"], f"{part['cpu']}, {part['cores']} cores", said,
                     "–" if part["seconds"] is None else seconds(part["seconds"])])
    return table(["part", "commit", "measured", "processor", "data of the last training", "time"], rows)


def release(results):
    systems = {"bookworm": "Debian 12", "trixie": "Debian 13"}
    rows = []
    for line in results.output("release.contents", None):
        name, _, what = line.partition(": ")
        for system, said in systems.items():
            key = f"release.{name}.{system}"
            if f"{name}.{system}.bytes" not in results.parts["release"]["figures"]:
                continue
            times = [results.figure(f"{key}.{stage}-seconds") for stage in ("packages", "install", "prediction")]
            size, unpacked = (f"{results.figure(f'{key}.{one}') / 1e6:.2f} MB" for one in ("bytes", "unpacked"))
            left = results.figure(f"{key}.left")
            rows.append([name, what, size, f"{results.figure(f'{key}.files'):.0f}: {unpacked}", said,
                         *map(seconds, (*times, sum(times))), f"{left:.0f} files" if left else "nothing"])
    return table(["artifact", "contents", "size", "files, unpacked", "system", "Debian's packages", "installation",
                  "first prediction", "in all", "left after removal"], rows)


def printed(part, key):
    """A table that another script printed."""
    return lambda results: "\n".join(results.parts[part]["outputs"][key]).strip()


def bench(results):
    written = dict(results.parts["bench"]["outputs"])
    return benchmarks_page.block(written.pop("results"), *written.values())


# Name: what makes it, and the part that it needs. Without the part, a page says so.
MAKERS = {
    "defaults": (defaults, "cub-att"), "searched": (searched, "auto"),
    "baselines": (compared("baselines", "cub-att"), "baselines"),
    "baselines-awa1": (compared("baselines", "awa1"), "baselines"),
    "ablation": (ablation, "ablation"), "device": (device, "device"), "adapted": (adapted, "cub-sent"),
    "taught": (taught, "cub-sent"), "sources": (sources, "demo"), "bench": (bench, "bench"),
    "photos": (photo_set, "photos"), "extraction": (extraction, "choices"), "attributes": (attributes, "choices"),
    "resamplings": (resamplings, "choices"), "targets": (targets, "targets"),
    "unlabelled": (unlabelled, "field"), "suggestions": (printed("suggestions", "table"), "suggestions"),
    "auto-default": (printed("auto-default", "table"), "auto-default"),
    "gated": (printed("gated", "table"), "gated"),
    "release": (release, "release"),
    **{f"scaling.{key}": (printed("scaling", key), "scaling") for key in ("memory", "mpi", "predict", "dask")},
}
MISSING = "Not measured in this version: `make results ARGS=\"--only {}\"`."


def option_defaults(text):
    """(heading, option) to default, by the tables of options.md."""
    found, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif match := re.match(r"\| `--([\w-]+)` \| `?(.*?)`? \|", line):
            found[heading, match.group(1)] = match.group(2)
    return found


def published_figure(root, method, data, column):
    with open(root / "data" / "reference.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if (row["method"], row["data"]) == (method, data):
                return row[column]
    raise Wrong(f"data/reference.csv has no row {method}, {data}")


def filled(text, results, options, root, note):
    """The page with what it asks for; note(what, text in the page, text that should be there) for each difference."""
    def figure(match):
        value = shown(results.value(match.group(1)), match.group(2))
        note(f"figure {match.group(1)}", match.group(2), value)
        return f"<!--={match.group(1)}-->{value}"

    def default(match):
        heading, name, said = match.groups()
        if (heading, name) not in options:
            raise Wrong(f"{OPTIONS} has no option --{name} below {heading}")
        note(f"default of {heading} --{name}", said, options[heading, name])
        return f"<!--default: {heading}/{name}-->`{options[heading, name]}`"

    def published(match):
        method, data, column, said = match.groups()
        value = published_figure(root, method, data, column)
        note(f"published {column} of {method} on {data}", said, value)
        return f"<!--published: {method}/{data}/{column}-->{value}"

    def output(match):
        before, name, lines, inside, after = match.groups()
        wanted = "".join(f"{line}\n" for line in results.output(name, lines))
        note(f"output {name}", inside, wanted)
        return before + wanted + after

    def made(match):
        before, name, inside, after = match.groups()
        if name not in MAKERS:
            raise Wrong(f"scripts/pages.py makes no {name}")
        make, part = MAKERS[name]
        wanted = f"\n{make(results) if results.has(part) else MISSING.format(part)}\n\n"
        note(f"table {name}", inside, wanted)
        return before + wanted + after

    text = PUBLISHED.sub(published, OUTPUT.sub(output, MADE.sub(made, text)))
    return DEFAULT.sub(default, FIGURE.sub(figure, text))


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def prose(text):
    """The page without marks and what they tie, code, comments and targets of links. Lines keep their numbers."""
    for pattern in (MADE, OUTPUT, FIGURE, PUBLISHED, DEFAULT, FENCE, re.compile(r"<!--.*?-->", re.S),
                    re.compile(r"`+[^`]+`+"), re.compile(r"\]\([^)]*\)"), re.compile(r"https?://\S+")):
        text = pattern.sub(blank, text)
    return text


def untied(text):
    """(line, finding) of figures and defaults that have no mark."""
    if NOT_MEASURED in text:
        return
    plain = prose(text)
    for match in DECIMAL.finditer(plain):
        if not VERSION.search(plain[:match.start()].replace("\n", " ")[-40:]):
            yield plain.count("\n", 0, match.start()) + 1, f"the figure {match.group(0)} has no mark <!--=...-->"
    marked = OUTPUT.sub(blank, MADE.sub(blank, text))
    for match in FENCE.finditer(marked):
        if match.group(2) in ("", "text") and re.search(r"\d\.\d", match.group(3)) \
                and not marked[:match.start()].endswith(EXAMPLE):
            yield (marked.count("\n", 0, match.start()) + 1,
                   "a block with figures has neither <!-- output: ... --> nor <!-- example -->")
    for match in SAID_DEFAULT.finditer(DEFAULT.sub("", FENCE.sub(blank, text))):
        yield text.count("\n", 0, match.start()) + 1, f"{match.group(0)!r} has no mark <!--default: ...-->"


def anchors(text):
    """The anchors of the headings, as GitHub and the site make them."""
    found, seen = set(), {}
    for line in FENCE.sub("", text).splitlines():
        if match := re.match(r"#{1,6} (.*)", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1))
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
    return found


def broken_links(path, text):
    plain = FENCE.sub(blank, text)
    for match in LINK.finditer(plain):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        line = plain.count("\n", 0, match.start()) + 1
        if not place.exists():
            yield line, f"links to {target}, which does not exist"
        elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text("utf-8")):
            yield line, f"links to {target}, and the page has no such heading"


def pages(root):
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def main():
    parser = argparse.ArgumentParser(description="Puts the figures of docs/results.json into README.md and docs/.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a page differs")
    parser.add_argument("--root", metavar="DIR", type=Path, default=ROOT, help="another source tree")
    arguments = parser.parse_args()
    root, check, findings = arguments.root, arguments.check, []
    results = Results(json.loads((root / RESULTS).read_text("utf-8")))
    options = option_defaults((root / OPTIONS).read_text("utf-8"))
    for path in pages(root):
        name, text = path.relative_to(root), path.read_text("utf-8")
        if str(name) == OPTIONS:
            continue
        changes = []

        def note(what, said, wanted):
            if said != wanted:
                changes.append(f"{name}: {what}: the page has {said.strip()[:60]!r}, expected {wanted.strip()[:60]!r}")
        try:
            wanted = filled(text, results, options, root, note)
        except Wrong as wrong:
            findings.append(f"{name}: {wrong}")
            continue
        if check:
            findings += changes
            findings += [f"{name}:{line}: {what}" for line, what in (*untied(text), *broken_links(path, text))]
        elif wanted != text:
            path.write_text(wanted, "utf-8")
            print(f"{name}: {len(changes)} changes")
    lines = (root / "README.md").read_text("utf-8").count("\n")
    if lines > README_LINES:
        findings.append(f"README.md: {lines} lines, expected at most {README_LINES}: the rest belongs into docs/")
    print("".join(f"{finding}\n" for finding in findings), end="", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
