"""Notebook display of estimators, evaluations, explanations, data sets and device models.

Each function returns self-contained HTML: style scoped to its own class, charts as inline SVG, no script. The colours
are those of the report, light and dark.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from .results import Evaluation, Explanation, Explanations

if TYPE_CHECKING:
    from .datasets import Dataset
    from .device import DeviceModel

_LIGHT = ("--ink:#1b1d1f;--muted:#5a6066;--paper:#fff;--rule:#d9dcdf;--well:#eceef0;--seen:#0072b2;--unseen:#d55e00;"
          "--test:#3a9bd3")
_DARK = ("--ink:#e7e8e6;--muted:#a9b0b6;--paper:#15181b;--rule:#3a4046;--well:#262b30;--seen:#4aa8e0;--unseen:#f07f33;"
         "--test:#86cdf3")
# The class is repeated so that it overrides the style of the notebook, whose theme takes precedence over the system's.
_STYLE = "<style>" + f".parsnets{{{_LIGHT}}}" \
    f"@media(prefers-color-scheme:dark){{.parsnets{{{_DARK}}}}}" \
    f"[data-jp-theme-light=true] .parsnets,.vscode-light .parsnets{{{_LIGHT}}}" \
    f"[data-jp-theme-light=false] .parsnets,.vscode-dark .parsnets{{{_DARK}}}" + "".join(
        ".parsnets.parsnets" + rule for rule in """
{display:inline-block;box-sizing:border-box;max-width:100%;padding:12px 16px;border:1px solid var(--rule);\
border-radius:6px;background:var(--paper);color:var(--ink);font:13px/1.45 system-ui,-apple-system,"Segoe UI",\
"Helvetica Neue",Arial,"Liberation Sans",sans-serif;font-variant-numeric:tabular-nums}
 .title{margin:0 0 8px;font-size:14px}
 .muted{color:var(--muted)}
 .parts{display:flex;flex-wrap:wrap;gap:12px 28px;align-items:flex-start}
 .charts{flex:1 1 260px;max-width:660px}
 table{margin:0;border:0;border-collapse:collapse;color:var(--ink);font-size:13px;table-layout:auto}
 caption,.parsnets.parsnets figcaption{padding:0 0 4px;color:var(--muted);font-size:12px;text-align:left;\
caption-side:top}
 tr:nth-child(n){background:none;border:0}
 th,.parsnets.parsnets td{padding:2px 14px 2px 0;border:0;border-bottom:1px solid var(--rule);text-align:left;\
vertical-align:top;font-weight:400;white-space:normal;max-width:260px;overflow-wrap:anywhere}
 th{white-space:nowrap;max-width:none}
 thead th,.parsnets.parsnets .info th{color:var(--muted)}
 .number{text-align:right}
 figure{margin:0}
 svg{display:block;max-width:100%;height:auto}
 text{fill:var(--ink);font-size:11px;font-family:inherit}
 .quiet{fill:var(--muted)}
 .well{fill:var(--well)}
 .seen{fill:var(--seen)}
 .unseen{fill:var(--unseen)}
 .test{fill:var(--test)}
 .axis{stroke:var(--rule);fill:none}
 .curve{stroke:var(--seen);fill:none;stroke-width:1.5}
 .area{fill:var(--seen);opacity:.75}
 .dot{fill:var(--seen);opacity:.45}
 .keys{white-space:nowrap;margin-right:10px}
 .key{display:inline-block;width:9px;height:9px;margin:0 4px 0 0;border-radius:2px}
""".strip("\n").split("\n")) + "</style>"

_Rows = Iterable[Tuple[str, Any]]


def _card(title: str, note: str, *parts: str) -> str:
    """Return the whole display. Title and note are escaped here; parts are HTML."""
    return (f'<div class="parsnets">{_STYLE}<p class="title"><strong>{escape(title)}</strong> '
            f'<span class="muted">{escape(note)}</span></p><div class="parts">{"".join(parts)}</div></div>')


def _info(rows: _Rows) -> str:
    """Return a table of names and values. Rows whose value is None are omitted."""
    lines = [f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
             for name, value in rows if value is not None]
    return f'<table class="info"><tbody>{"".join(lines)}</tbody></table>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table. Cells are HTML; all columns except the first hold numbers or charts."""
    side = ['', *[' class="number"'] * (len(head) - 1)]
    top = "".join(f'<th scope="col"{s}>{escape(h)}</th>' for h, s in zip(head, side))
    body = "".join(f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td{s}>{c}</td>" for c, s in zip(row[1:], side[1:]))
                   + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _svg(width: float, height: float, label: str, *shapes: str) -> str:
    return (f'<svg width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" role="img" '
            f'aria-label="{escape(label)}">{"".join(shapes)}</svg>')


def _figure(caption: str, svg: str, width: float = 420) -> str:
    return f'<figure><figcaption style="max-width:{width:g}px">{caption}</figcaption>{svg}</figure>'


def _rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> str:
    inner = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}">{inner}</rect>'


def _text(x: float, y: float, content: str, anchor: str = "start", kind: str = "", turn: int = 0) -> str:
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{turned}>{escape(content)}</text>')


def _key(kind: str, name: str) -> str:
    return f'<span class="keys"><span class="key" style="background:var(--{kind})"></span>{escape(name)}</span>'


def _bar(share: float, kind: str, label: str) -> str:
    """Return one bar of a table, with share from 0 to 1."""
    full = 120
    return _svg(full, 14, label, _rect(0, 2, full, 10, "well"), _rect(0, 2, full * min(max(share, 0.0), 1.0), 10, kind))


def _named(name: str, what: str) -> str:
    return f'{escape(name)} <span class="muted">\u2002{escape(what)}</span>'


def _some(names: Iterable[Any], most: int = 8) -> str:
    """Return the first `most` names."""
    shown = [str(name) for name in names]
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more} more" if more > 0 else "")


def _cut(name: str, most: int = 22) -> str:
    return name if len(name) <= most else name[:most - 1] + "…"


def _decimals(*values: float) -> int:
    """Return the number of decimals that shows the largest value with three significant digits."""
    largest = max(abs(value) for value in values)
    return min(max(2 - math.floor(math.log10(largest)), 0), 12) if largest > 0 else 0


def _plural(count: int, word: str) -> str:
    ending = "es" if word.endswith("s") else "s"
    return f"{count:,} {word}{'' if count == 1 else ending}"


# ---- Evaluation ----


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u202f%"


def evaluation_html(evaluation: Evaluation) -> str:
    """Results of an evaluation, with bars."""
    e = evaluation
    rows: List[Tuple[str, Optional[float], str, str]] = [
        ("ZSL", e.zsl_top1_per_class, "unseen", "among unseen classes, mean over classes"),
        ("ZSL top-1", e.zsl_top1, "unseen", "among unseen classes, mean over samples"),
        ("ZSL top-5", e.zsl_top5, "unseen", "true class among the best five"),
        ("U", e.u, "unseen", "among all classes, samples of unseen classes"),
        ("S", e.s, "seen", "among all classes, samples of seen classes"),
        ("H", e.h, "test", "harmonic mean of U and S"),
        ("AUSUC", e.ausuc, "test", "area under the seen-unseen curve"),
    ]
    keys = {"ZSL": "zsl_top1_per_class", "U": "u", "S": "s", "H": "h"}
    intervals = {name: e.intervals[key] for name, key in keys.items() if key in e.intervals}
    between = {name: f"; 95 % interval {100 * one.low:.1f} to {100 * one.high:.1f}" for name, one in intervals.items()}
    rows = [(name, value, kind, what + between.get(name, "")) for name, value, kind, what in rows]
    cells = [(_named(name, what), _percent(value), _bar(value, kind, f"{100 * value:.1f} %"))
             for name, value, kind, what in rows if value is not None]
    note = "on test samples" + ("; none of seen classes" if e.gamma is None else f", gamma {e.gamma:.4g}")
    if e.trained_samples != 0:
        note += f"; the model was trained on {e.trained_samples or 'some'} of them"
    return _card("Evaluation", note, _table(("measure", "value", "0 to 100 %"), cells), _by_class(e))


def _by_class(e: Evaluation) -> str:
    """Accuracies by class, worst first, with the most frequent confusion; with many classes, only the worst and best.
    """
    accuracies = e.zsl_per_class if e.gzsl_per_class is None else e.gzsl_per_class
    if not accuracies:
        return ""
    ranked, ends = sorted(accuracies.items(), key=lambda pair: pair[1]), 5
    few = len(ranked) <= 2 * ends + 2
    rows = [(_named(_cut(str(label), 28), _mostly(e, label)), _percent(value),
             _bar(value, "unseen" if label in (e.zsl_per_class or ()) else "seen", f"{100 * value:.1f} %"))
            for label, value in (ranked if few else ranked[:ends] + ranked[-ends:])]
    compete = "unseen classes" if e.gzsl_per_class is None else "all classes"
    which = "" if few else f", the {ends} worst and the {ends} best of {len(ranked):,}"
    return _table(("class", "accuracy", "0 to 100 %"), rows, f"by class, among {compete}{which}")


def _mostly(e: Evaluation, label: Any) -> str:
    """The class with which most wrongly predicted samples of a class are confused."""
    if e.confusion is None or e.class_names is None:
        return ""
    place = e.class_names.index(label)
    wrong = e.confusion[place].copy()
    wrong[place] = 0
    found = int(wrong.argmax())
    return f"{int(wrong[found]):,} predicted as {_cut(str(e.class_names[found]))}" if wrong[found] else ""


# ---- Explanation ----


def explanation_html(explanation: Explanation) -> str:
    """Contributions in favour of the winner (right) and of the runner-up (left), with the attributes of both classes.
    """
    e, most = explanation, 10
    loudest = e.loudest(most)
    rest = float(np.sum(e.contributions)) - float(np.sum(e.contributions[loudest]))
    others = len(e.contributions) - len(loudest)
    rows: List[_Term] = [(e.attribute_names[i], float(e.contributions[i]), "",
                          (f"{e.label_attributes[i]:.4g}", f"{e.runner_up_attributes[i]:.4g}")) for i in loudest]
    rows += [(_plural(others, "other attribute"), rest, "quiet", ())] if others else []
    rows += [("training samples", e.examples, "quiet", ()), ("calibration (gamma)", e.calibration, "quiet", ())]
    winner, second = str(e.label), str(e.runner_up)
    if e.label == e.runner_up:
        return _card(winner, "the only class", _active_networks(e))
    chart = _diverging(rows, (_cut(winner, 14), _cut(second, 14)), f"contributions for {winner} against {second}")
    caption = ("contributions to the difference of the scores, and the attributes of both classes: "
               f"{_key('unseen', 'for ' + _cut(second))}{_key('seen', 'for ' + _cut(winner))}")
    digits = _decimals(e.score, e.runner_up_score)
    note = f"instead of {second}: score {e.score:.{digits}f} against {e.runner_up_score:.{digits}f}"
    return _card(winner, note, _figure(caption, chart, 580), _active_networks(e))


def explanations_html(explanations: Explanations) -> str:
    """The first few explanations, one below the other."""
    most = 5
    shown = [explanation_html(one) for one in list(explanations)[:most]]
    if not shown:
        shown = [_card("Explanations", "none")]
    if len(explanations) > most:
        shown.append(_card(f"and {len(explanations) - most:,} more", ""))
    return "<div>" + "".join(f'<div style="margin:0 0 8px">{card}</div>' for card in shown) + "</div>"


def _active_networks(e: Explanation) -> str:
    if len(e.active_networks) < 2:
        return ""
    return _info([(f"{len(e.active_networks)} active networks", _some(e.active_networks.tolist(), 24))])


_Term = Tuple[str, float, str, Sequence[str]]


def _diverging(rows: Sequence[_Term], columns: Sequence[str], label: str) -> str:
    """Bars from a middle line, with columns of text to the right. rows: (name, value, kind of the name, cells)."""
    shown = [_cut(name, 32) for name, _, _, _ in rows]
    left, half, line = 14 + 6.2 * max(map(len, shown)), 120.0, 18.0
    scale = max(abs(value) for _, value, _, _ in rows) or 1.0
    digits = _decimals(scale)
    middle, height = left + 44 + half, line * (len(rows) + 1) + 4
    ends, end = [], middle + half + 44  # of the columns, to the right
    for column in columns:
        end += 12 + max(7.0 * len(column), 48.0)
        ends.append(end)
    shapes = [f'<path class="axis" d="M{middle} {line}V{height}"/>']
    shapes += [_text(x, 12, column, "end", "quiet") for x, column in zip(ends, columns)]
    for i, (name, value, kind, cells) in enumerate(rows):
        y, size = line * (i + 1) + 4, half * abs(value) / scale
        start, anchor = (middle, "start") if value >= 0 else (middle - size, "end")
        shapes += [_text(left - 6, y + 10, shown[i], "end", kind),
                   _rect(start, y, size, line - 5, "seen" if value >= 0 else "unseen", f"{name}: {value:+.4g}"),
                   _text(middle + (size + 4) * (1 if value >= 0 else -1), y + 10, f"{value:+.{digits}f}", anchor,
                         "quiet")]
        shapes += [_text(x, y + 10, cell, "end") for x, cell in zip(ends, cells)]
    return _svg(end, height, label, *shapes)


# ---- Data sets ----


def dataset_html(data: Dataset) -> str:
    """Sizes, the split, and the samples of each class."""
    classes, attributes = data.semantics.shape
    of_trainval = np.bincount(data.labels[data.trainval], minlength=classes)
    seen = of_trainval > 0
    validation = len(np.unique(data.labels[data.val]))
    names = np.array(data.class_names, dtype=object)
    info = _info([
        ("samples", f"{data.X.shape[0]:,}"),
        ("features", f"{data.X.shape[1]:,}"),
        ("classes", f"{classes:,}: {int(seen.sum()):,} seen, {int((~seen).sum()):,} unseen"),
        ("attributes", f"{attributes:,}" if data.attribute_names else f"{attributes:,}, without names"),
        ("unseen", _some(names[~seen]) if not seen.all() else None),
        ("validation", f"{_plural(validation, 'seen class')}, {_plural(len(data.val), 'sample')}"
         if validation else "too few classes"),
    ])
    parts = [("seen", "training", of_trainval),
             ("test", "test, seen classes", np.bincount(data.labels[data.test_seen], minlength=classes)),
             ("unseen", "test, unseen classes", np.bincount(data.labels[data.test_unseen], minlength=classes))]
    order = np.argsort(~seen, kind="stable")
    caption = "samples per class: " + "".join(
        _key(kind, f"{name} {int(counts.sum()):,}") for kind, name, counts in parts if counts.any())
    bars = _stacked([str(names[i]) for i in order], [(kind, name, counts[order]) for kind, name, counts in parts])
    return _card(f"Dataset {data.name}", "", info, _figure(caption, bars))


def _stacked(names: Sequence[str], parts: Sequence[Tuple[str, str, Any]]) -> str:
    """One stacked column per class, with names below if there is room."""
    labelled = len(names) <= 24
    step = min(26.0, 420.0 / max(len(names), 1))
    left, height, below = 36.0, 110.0, 62.0 if labelled else 6.0
    highest = max(int(sum(counts for _, _, counts in parts).max(initial=1)), 1)
    width = left + step * len(names) + 4
    shapes = [_text(left - 4, 10, f"{highest:,}", "end", "quiet"), _text(left - 4, height, "0", "end", "quiet"),
              f'<path class="axis" d="M{left} {height + .5}H{width}"/>']
    for i, name in enumerate(names):
        x, y = left + step * i, height
        for kind, part, counts in parts:
            size = (height - 4) * int(counts[i]) / highest
            y -= size
            if size:
                shapes.append(_rect(x + step * .1, y, step * .8, size, kind, f"{name}: {int(counts[i]):,} {part}"))
        if labelled:
            shapes.append(_text(x + step / 2 + 4, height + 12, _cut(name, 12), "end", turn=-40))
    return _svg(width, height + below, "samples per class", *shapes)


# ---- Estimators ----


def estimator_html(estimator: Any) -> str:
    """A fitted estimator: its data and training, with charts from the training record."""
    record, options = estimator.record_, estimator.trained_options_
    charts = [_neighbours(estimator), _gates(record), _selection(record), _refinement(record)]
    return _card(type(estimator).__name__, "fitted", _info(_estimator_info(estimator, record, options)),
                 f'<div class="parts charts">{"".join(charts)}</div>')


def _estimator_info(estimator: Any, record: Dict[str, Any], options: Dict[str, Any]) -> _Rows:
    model, seen = estimator._model, estimator.seen_
    data, validation, svr = record.get("data"), record.get("validation", {}), record.get("svr")
    yield "method", options.get("method", "unknown")
    if model.networks > 1:
        yield "networks", f"{model.active:,} of {model.networks:,} active"
    yield "classes", f"{len(seen):,}: {int(seen.sum()):,} seen, {int((~seen).sum()):,} unseen"
    if not seen.all():
        yield "unseen", _some(estimator.classes_[~seen])
    yield "attributes", f"{len(estimator.attribute_names_):,}"
    yield "features", f"{model.dimensions:,}"
    if data:
        yield "trained on", f"{data['name']}, {_plural(data['split']['trainval']['samples'], 'sample')}"
    if "zsl" in validation:
        yield "on validation classes", f"ZSL {validation['zsl']:.1f} %, H {validation['h']:.1f} %"
    yield "gamma, temperature", f"{estimator.gamma_:.4g}, {estimator.temperature_:.4g}"
    if svr:
        done = "converged" if svr.get("converged") else "stopped early"
        yield "SVR", f"{done}, relative duality gap {svr['relative_gap']:.2g}"
    yield "chosen", record.get("chosen")
    yield "seed", record.get("seed")


def _neighbours(estimator: Any) -> str:
    """Unseen classes with the nearest seen class by attributes, where confusion is likely."""
    seen = estimator.seen_
    if seen.all() or not seen.any():
        return ""
    vectors = np.asarray(estimator.class_attributes_, np.float64)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    cosine = vectors[~seen] @ vectors[seen].T
    nearest, value = cosine.argmax(axis=1), cosine.max(axis=1)
    names, others = estimator.classes_[~seen], estimator.classes_[seen]
    order = np.argsort(-value, kind="stable")[:8]
    rows = [(_named(_cut(str(names[i])), "near " + _cut(str(others[nearest[i]]))), f"{value[i]:.2f}",
             _bar(float(value[i]), "unseen", f"{value[i]:.2f}")) for i in order]
    return _table(("unseen class", "cosine", "0 to 1"), rows, "nearest seen classes by attributes" + (
        f" ({len(rows)} of {len(names)} unseen classes)" if len(rows) < len(names) else ""))


def _selection(record: Dict[str, Any]) -> str:
    """Candidates of the search on validation classes, ZSL against H."""
    tried = record.get("selection") or []
    points = [(float(one["zsl"]), float(one["h"]), str(one["choice"])) for one in tried]
    if len(points) < 2:
        return ""
    chosen = record.get("chosen")
    shapes = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if name == chosen else 2.5}" '
              f'class="{"unseen" if name == chosen else "dot"}"><title>{escape(name)}</title></circle>'
              for (x, y), (_, _, name) in sorted(zip(_scaled([p[:2] for p in points]), points),
                                                 key=lambda pair: pair[1][2] == chosen)]
    caption = f"{_plural(len(points), 'candidate')} on validation classes: {_key('unseen', 'chosen')}"
    return _figure(caption, _axes("search candidates", [p[0] for p in points], [p[1] for p in points], "ZSL %",
                                  "H %", *shapes), _WIDTH)


def _refinement(record: Dict[str, Any]) -> str:
    steps = [float(step["objective"]) for step in record.get("refinement") or record.get("joint") or []
             if "objective" in step]
    if len(steps) < 3:
        return ""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in _scaled(list(enumerate(steps))))
    curve = f'<path class="curve" d="M{path}"/>'
    return _figure("objective by training step",
                   _axes("objective by step", range(len(steps)), steps, "step", "", curve), _WIDTH)


_WIDTH, _HEIGHT, _LEFT = 250.0, 130.0, 44.0


def _scaled(points: Sequence[Tuple[float, float]]) -> List[Tuple[float, float]]:
    """Map data points to points of _axes."""
    xy = np.asarray(points, np.float64)
    low, span = xy.min(axis=0), np.ptp(xy, axis=0)
    unit = (xy - low) / np.where(span > 0, span, 1)
    return [(_LEFT + 8 + a * (_WIDTH - _LEFT - 16), _HEIGHT - 8 - b * (_HEIGHT - 16)) for a, b in unit.tolist()]


def _axes(label: str, xs: Sequence[float], ys: Sequence[float], x_name: str, y_name: str, *shapes: str) -> str:
    """A frame with the minimum and maximum at its ends."""
    return _svg(_WIDTH, _HEIGHT + 20, label,
                f'<path class="axis" d="M{_LEFT} 0V{_HEIGHT}H{_WIDTH}"/>', *shapes,
                _text(_LEFT - 4, 12, f"{max(ys):.3g}", "end", "quiet"),
                _text(_LEFT - 4, _HEIGHT / 2, y_name, "end", "quiet"),
                _text(_LEFT - 4, _HEIGHT - 4, f"{min(ys):.3g}", "end", "quiet"),
                _text(_LEFT + 4, _HEIGHT + 14, f"{min(xs):.3g}", "start", "quiet"),
                _text((_LEFT + _WIDTH) / 2, _HEIGHT + 14, x_name, "middle", "quiet"),
                _text(_WIDTH, _HEIGHT + 14, f"{max(xs):.3g}", "end", "quiet"))


def _gates(record: Dict[str, Any]) -> str:
    """Number of training samples for which each network is active, in descending order."""
    counts = sorted((int(n) for n in record.get("gates", {}).get("samples_per_network", [])), reverse=True)
    if len(counts) < 2:
        return ""
    width, height, left = 250.0, 60.0, 44.0
    step, unit = (width - left) / len(counts), (height - 4) / max(counts[0], 1)
    steps = "".join(f"V{height - unit * n:.1f}h{step:.3f}" for n in counts)
    area = f'<path class="area" d="M{left} {height}{steps}V{height}Z"/>'
    marks = [_text(left - 4, 10, f"{counts[0]:,}", "end", "quiet"), _text(left - 4, height, "0", "end", "quiet")]
    return _figure(f"training samples per network, {len(counts):,} networks, minimum {counts[-1]:,}",
                   _svg(width, height + 4, "samples per network", area, *marks), width)


# ---- Device models ----


def device_html(device: DeviceModel) -> str:
    """Size, cost of a prediction, and accuracy before and after export if it was measured."""
    seen = device.seen_
    stored = "all networks" if not device.rank else _plural(device.rank, "network") + " stored"
    info = _info([
        ("file", f"{device.bytes:,} bytes"),
        ("working memory", f"{device.work_bytes:,} bytes"),
        ("multiply-adds", f"{device.multiply_adds:,} per prediction"),
        ("weights", f"{device.precision}, {stored}"),
        ("classes", f"{len(seen):,}: {int(seen.sum()):,} seen, {int((~seen).sum()):,} unseen"),
        ("features", f"{device.n_features_in_:,}" + (f" by {device.source['backbone']}" if device.source else "")),
        ("gamma", f"{device.gamma_:.4g}"),
        ("instruction set", device.instruction_set),
    ])
    if device.validation is None:
        return _card("DeviceModel", "accuracy on validation classes was not measured", info)
    before, after = device.validation["before"], device.validation["after"]
    rows = [(_named(name, when), _percent(accuracy[key]),
             _bar(accuracy[key], kind, f"{100 * accuracy[key]:.1f} %"))
            for name, key in (("ZSL", "zsl"), ("H", "h"))
            for when, accuracy, kind in (("before", before, "test"), ("after", after, "seen"))]
    return _card("DeviceModel", "", info, _table(("measure", "value", "0 to 100 %"), rows,
                                                 "on validation classes, before and after export"))
