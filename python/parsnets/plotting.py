"""Figures of evaluations and benchmarks, drawn by matplotlib, which is imported on first use.

Each function returns the figure. With `ax`, it draws there and returns the figure of `ax`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._model import PathLike
from .errors import BadInputError, UsageError
from .results import Evaluation

__all__ = ["plot_class_accuracies", "plot_confusion", "plot_sweep", "plot_trade_off"]

_SEEN, _UNSEEN, _MUTED = "#0072b2", "#d55e00", "#5a6066"  # those of the report


def plot_trade_off(evaluation: Evaluation, *, ax: Any = None, label: Optional[str] = None) -> Any:
    """Plot the seen-unseen curve, with the point of the model's gamma and its harmonic mean H.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `evaluate`, with test samples of seen classes.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None means a new figure.
    label : str, default=None
        Name of the curve for a legend. None means its area, AUSUC.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from parsnets import RidgeZSL, datasets
    >>> from parsnets.plotting import plot_trade_off
    >>> data = datasets.load_demo()
    >>> figure = plot_trade_off(RidgeZSL().fit_dataset(data).evaluate(data))  # doctest: +SKIP
    """
    _check(evaluation)
    if evaluation.curve is None or evaluation.h is None or evaluation.u is None or evaluation.s is None:
        raise UsageError("evaluation: expected a seen-unseen curve, found none; evaluate an estimator, not a device "
                         "model, on a data set with test samples of seen classes")
    figure, ax = _axes(ax)
    _, u, s = 100 * evaluation.curve.T
    name = f"AUSUC {100 * (evaluation.ausuc or 0):.1f}" if label is None else label
    line, = ax.plot(u, s, drawstyle="steps-post", label=name)
    # All points with the same harmonic mean: s = hu / (2u - h).
    h = 100 * evaluation.h
    if h > 0:
        equal = np.linspace(h / 2 * 1.0001, 100, 400)
        ax.plot(equal, h * equal / (2 * equal - h), color=_MUTED, linewidth=0.8, linestyle=":")
    point = (100 * evaluation.u, 100 * evaluation.s)
    ax.plot(*([x] for x in point), marker="o", color=line.get_color())
    ax.annotate(f"H {h:.1f}", point, textcoords="offset points", xytext=(6, 6))
    ax.set(xlabel="accuracy on unseen classes (%)", ylabel="accuracy on seen classes (%)", xlim=(0, 100), ylim=(0, 100),
           title="Seen-unseen curve")
    ax.legend(loc="lower left")
    return figure


def plot_confusion(evaluation: Evaluation, *, ax: Any = None, normalize: bool = True, most: int = 60) -> Any:
    """Plot the confusion matrix of all test samples among all classes.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `evaluate`, with test samples of seen classes.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None means a new figure.
    normalize : bool, default=True
        Whether to show percentages of each true class. If False, numbers of samples are shown.
    most : int, default=60
        Names of classes are shown up to this number of classes.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure. Unseen classes come last; their names are orange.
    """
    _check(evaluation)
    if evaluation.confusion is None or evaluation.class_names is None:
        raise UsageError("evaluation: expected a confusion matrix, found none; evaluate an estimator, not a device "
                         "model, on a data set with test samples of seen classes")
    unseen = _unseen(evaluation)
    counts = np.asarray(evaluation.confusion, np.float64)
    used = [i for i in range(len(counts)) if counts[i].sum() + counts[:, i].sum() > 0]
    order = sorted(used, key=lambda i: evaluation.class_names[i] in unseen)  # type: ignore[index]
    counts = counts[np.ix_(order, order)]
    names = [evaluation.class_names[i] for i in order]
    if normalize:
        counts = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = 4 + 0.16 * min(len(names), most)
    figure, ax = _axes(ax, (side + 1, side))
    image = ax.imshow(counts, cmap="Blues", vmin=0)
    figure.colorbar(image, ax=ax, label="% of the class" if normalize else "samples")
    if len(names) <= most:
        for axis, rotation in ((ax.xaxis, 90), (ax.yaxis, 0)):
            axis.set_ticks(range(len(names)))
            axis.set_ticklabels([str(name) for name in names], rotation=rotation)
            for text, name in zip(axis.get_ticklabels(), names):
                text.set_color(_UNSEEN if name in unseen else "black")
    ax.set(xlabel="predicted class", ylabel="true class", title="Confusion matrix")
    return figure


def plot_class_accuracies(evaluation: Evaluation, *, ax: Any = None, protocol: str = "auto", most: int = 60) -> Any:
    """Plot the accuracy of each class as a bar, in ascending order.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `evaluate`.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None means a new figure.
    protocol : {"auto", "zsl", "gzsl"}, default="auto"
        "gzsl" when all classes compete, "zsl" when only unseen classes compete. "auto" is "gzsl" if there are test
        samples of seen classes.
    most : int, default=60
        Names of classes are shown up to this number of classes.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure, with seen classes in blue and unseen ones in orange.
    """
    _check(evaluation)
    if protocol not in ("auto", "zsl", "gzsl"):
        raise UsageError(f"protocol: expected 'auto', 'zsl' or 'gzsl', found {protocol!r}")
    if protocol == "auto":
        protocol = "zsl" if evaluation.gzsl_per_class is None else "gzsl"
    found = evaluation.zsl_per_class if protocol == "zsl" else evaluation.gzsl_per_class
    if found is None:
        raise UsageError(f"evaluation: expected accuracies by class for {protocol!r}, found none; evaluate an "
                         "estimator, not a device model")
    rows = sorted(((name, 100 * share) for name, share in found.items()), key=lambda one: one[1])
    unseen = _unseen(evaluation)
    figure, ax = _axes(ax, (6.4, 1.5 + 0.2 * min(len(rows), most)))
    ax.barh(range(len(rows)), [value for _, value in rows],
            color=[_UNSEEN if name in unseen else _SEEN for name, _ in rows])
    if len(rows) <= most:
        ax.set_yticks(range(len(rows)))
        ax.set_yticklabels([str(name) for name, _ in rows])
    for kind, colour in (("seen", _SEEN), ("unseen", _UNSEEN)):
        values = [value for name, value in rows if (name in unseen) == (kind == "unseen")]
        if values:
            ax.axvline(float(np.mean(values)), color=colour, linestyle="--", label=f"mean of {kind} classes")
    competing = "only unseen classes compete" if protocol == "zsl" else "all classes compete"
    ax.set(xlabel="accuracy (%)", xlim=(0, 100), title=f"Accuracy by class when {competing}")
    ax.legend(loc="lower right")
    return figure


def plot_sweep(results: Union[PathLike, Mapping[Any, Any]], *, ax: Any = None,
               metrics: Sequence[str] = ("zsl", "h")) -> Any:
    """Plot accuracies over the values of an option.

    Parameters
    ----------
    results : path-like or dict
        File of `parsnets bench --sweep OPTION --out FILE`, its contents, or a dict of values to Evaluations.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. None means a new figure.
    metrics : sequence of {"zsl", "u", "s", "h", "ausuc"}, default=("zsl", "h")
        Curves to draw.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure. Bars show the standard deviation over seeds, if there are several.

    Examples
    --------
    >>> from parsnets import RidgeZSL, datasets
    >>> from parsnets.plotting import plot_sweep
    >>> data = datasets.load_demo()
    >>> results = {alpha: RidgeZSL(alpha=alpha).fit_dataset(data).evaluate(data) for alpha in (0.1, 1, 10)}
    >>> figure = plot_sweep(results)  # doctest: +SKIP
    """
    wrong = [metric for metric in metrics if metric not in _FIELDS]
    if wrong or not metrics:
        raise UsageError(f"metrics: expected one or more of {', '.join(_FIELDS)}, found {wrong or 'none'}")
    option, values, curves = _sweep(results, metrics)
    figure, ax = _axes(ax)
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    places = list(values) if numbers else list(range(len(values)))
    for metric in metrics:
        means, deviations = (np.array(column, np.float64) for column in zip(*curves[metric]))
        ax.errorbar(places, means, yerr=None if np.isnan(deviations).all() else np.nan_to_num(deviations), marker="o",
                    capsize=3, label=_TITLES[metric])
    if numbers and min(values) > 0 and max(values) / min(values) >= 20:
        ax.set_xscale("log")
    if not numbers:
        ax.set_xticks(places)
        ax.set_xticklabels([str(value) for value in values])
    ax.set(xlabel=option, ylabel="%")
    ax.legend()
    return figure


_FIELDS = {"zsl": "zsl_top1_per_class", "u": "u", "s": "s", "h": "h", "ausuc": "ausuc"}
_TITLES = {"zsl": "ZSL accuracy", "u": "U", "s": "S", "h": "H", "ausuc": "AUSUC"}


def _sweep(results: Any, metrics: Sequence[str]) -> Tuple[str, List[Any], Dict[str, List[Tuple[Any, Any]]]]:
    """Return the option, its values, and (mean, standard deviation) of each metric at each value; NaN for none."""
    curves: Dict[str, List[Tuple[Any, Any]]] = {metric: [] for metric in metrics}
    if isinstance(results, Mapping) and results and all(isinstance(one, Evaluation) for one in results.values()):
        for one in results.values():
            for metric in metrics:
                value = getattr(one, _FIELDS[metric])
                curves[metric].append((np.nan if value is None else 100 * value, np.nan))
        return "value", list(results), curves
    name = "results"
    if isinstance(results, (str, os.PathLike)):
        name = os.fspath(results)
        try:
            results = json.loads(Path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadInputError(f"{name}: expected a file of 'parsnets bench --sweep --out', found {error}") from None
    if not isinstance(results, Mapping) or "sweep" not in results:
        raise BadInputError(f"{name}: expected results of 'parsnets bench --sweep', or a dict of values to "
                            "Evaluations, found neither")
    try:
        option = "active" if results["sweep"] == "k" else str(results["sweep"]).split("=")[0]
        rows = [method for method in results["methods"] if method["runs"]]
        values = [method["runs"][0]["options"][option] for method in rows]
        for method in rows:
            for metric in metrics:
                one = method["summary"].get(metric) or {"mean": None, "sd": None}
                curves[metric].append(tuple(np.nan if one[key] is None else one[key]  # type: ignore[arg-type]
                                            for key in ("mean", "sd")))
    except (AttributeError, KeyError, TypeError) as error:
        raise BadInputError(f"{name}: expected results of 'parsnets bench --sweep', found {error!r}") from None
    if not rows:
        raise BadInputError(f"{name}: expected at least one finished run, found none")
    return option, values, curves


def _unseen(evaluation: Evaluation) -> Any:
    return set() if evaluation.zsl_per_class is None else set(evaluation.zsl_per_class)


def _check(evaluation: Any) -> None:
    if not isinstance(evaluation, Evaluation):
        raise UsageError("evaluation: expected an Evaluation, as 'evaluate' returns it, found "
                         f"{type(evaluation).__name__}")


def _axes(ax: Any, size: Optional[Tuple[float, float]] = None) -> Tuple[Any, Any]:
    """Return a figure and its axes, which are new unless `ax` is given."""
    if ax is not None:
        return ax.figure, ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("parsnets.plotting needs matplotlib; install it with 'pip install matplotlib'") from None
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.add_subplot()
