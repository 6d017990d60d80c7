"""Figures of evaluations and benchmarks."""

import json
import subprocess
import sys

import numpy as np
import pytest

from parsnets import RidgeZSL, plotting
from parsnets.errors import BadInputError, UsageError
from parsnets.metrics import seen_unseen_curve

try:
    from matplotlib.figure import Figure
except ImportError:
    Figure = None

needs_matplotlib = pytest.mark.skipif(Figure is None, reason="MATPLOTLIB NOT FOUND: FIGURES ARE NOT CHECKED")


@pytest.fixture(scope="module")
def fitted(demo):
    return RidgeZSL(alpha=3).fit_dataset(demo)


@pytest.fixture(scope="module")
def evaluation(demo, fitted):
    return fitted.evaluate(demo)


def drawn(figure):
    """Draw a figure, as saving it does, and return its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    assert isinstance(figure, Figure)
    FigureCanvasAgg(figure).draw()
    return figure.axes


def test_the_curve_of_an_evaluation_is_that_of_the_metrics(demo, fitted, evaluation):
    test = np.concatenate([demo.test_unseen, demo.test_seen])
    gamma, u, s = seen_unseen_curve(demo.y[test], fitted.class_scores(demo.X[test]), fitted.classes_, fitted.seen_)
    np.testing.assert_allclose(evaluation.curve[1:, 0], gamma[1:], atol=1e-6)
    np.testing.assert_allclose(evaluation.curve[:, 1:], np.stack([u, s], 1), atol=1e-9)


@needs_matplotlib
def test_the_trade_off_shows_the_curve_and_h(evaluation):
    ax, = drawn(plotting.plot_trade_off(evaluation))
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), 100 * evaluation.curve[:, 1:])
    points = [tuple(line.get_xydata()[0]) for line in ax.lines if len(line.get_xydata()) == 1]
    assert points == [(100 * evaluation.u, 100 * evaluation.s)]
    assert ax.texts[0].get_text() == f"H {100 * evaluation.h:.1f}"
    assert ax.get_legend().get_texts()[0].get_text() == f"AUSUC {100 * evaluation.ausuc:.1f}"


@needs_matplotlib
def test_the_confusion_matrix_has_unseen_classes_last(demo, evaluation):
    ax, bar = drawn(plotting.plot_confusion(evaluation, normalize=False))
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert set(names[-2:]) == {"deer", "truck"} and len(names) == 10
    order = [list(evaluation.class_names).index(name) for name in names]
    np.testing.assert_array_equal(ax.images[0].get_array(), evaluation.confusion[np.ix_(order, order)])
    shares = drawn(plotting.plot_confusion(evaluation, most=3))[0]
    np.testing.assert_allclose(shares.images[0].get_array().sum(axis=1), 100)
    assert len(shares.get_yticklabels()) != 10 or shares.get_yticklabels()[0].get_text() != names[0]


@needs_matplotlib
@pytest.mark.parametrize("protocol", ["auto", "zsl", "gzsl"])
def test_bars_are_the_accuracies_by_class(evaluation, protocol):
    ax, = drawn(plotting.plot_class_accuracies(evaluation, protocol=protocol))
    found = {text.get_text(): bar.get_width() for text, bar in zip(ax.get_yticklabels(), ax.patches)}
    expected = evaluation.zsl_per_class if protocol == "zsl" else evaluation.gzsl_per_class
    assert found == {name: 100 * share for name, share in expected.items()}
    assert list(found.values()) == sorted(found.values())


@needs_matplotlib
def test_a_sweep_of_evaluations_or_of_a_benchmark(demo, tmp_path, evaluation):
    ax, = drawn(plotting.plot_sweep({0.1: evaluation, 3: evaluation}, metrics=["h"]))
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0.1, 100 * evaluation.h], [3, 100 * evaluation.h]])
    assert ax.get_xscale() == "log"
    runs = [{"options": {"active": k}} for k in (2, 8)]
    bench = {"sweep": "active=2,8", "methods": [
        {"runs": [run], "summary": {"zsl": {"mean": 50.0 + i, "sd": 1.0}, "h": {"mean": 40.0, "sd": None}}}
        for i, run in enumerate(runs)] + [{"runs": [], "summary": {}}]}
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(bench))
    for results in (bench, file, str(file)):
        ax, = drawn(plotting.plot_sweep(results))
        assert ax.get_xlabel() == "active"
        np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[2, 50], [8, 51]])


@needs_matplotlib
def test_figures_are_drawn_where_the_caller_wants(evaluation):
    figure = Figure()
    ax = figure.add_subplot()
    for plot, result in ((plotting.plot_trade_off, evaluation), (plotting.plot_confusion, evaluation),
                         (plotting.plot_class_accuracies, evaluation), (plotting.plot_sweep, {1: evaluation})):
        assert plot(result, ax=ax) is figure
        assert ax.has_data()
        ax.clear()


def test_results_without_what_is_drawn_are_refused(demo, fitted, tmp_path):
    device = fitted.export().evaluate(demo)
    for plot in (plotting.plot_trade_off, plotting.plot_confusion, plotting.plot_class_accuracies):
        with pytest.raises(UsageError, match="evaluation: expected"):
            plot(device)
        with pytest.raises(UsageError, match="expected an Evaluation"):
            plot({"h": 3})
    for wrong in ({}, {"sweep": "active=2"}, {"ablation": True, "methods": []}, {1: 2}, tmp_path / "none.json"):
        with pytest.raises(BadInputError):
            plotting.plot_sweep(wrong)
    with pytest.raises(UsageError, match="metrics: "):
        plotting.plot_sweep({1: device}, metrics=["f1"])
    with pytest.raises(UsageError, match="protocol: "):
        plotting.plot_class_accuracies(device, protocol="few-shot")


def test_without_matplotlib_an_error_says_what_to_install():
    code = ("import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.figure'] = None\n"
            "from parsnets import Evaluation, plotting\n"
            "try:\n    plotting.plot_class_accuracies(Evaluation(1, 1, 1, None, None, None, None, None,"
            " zsl_per_class={'a': 1.0}))\n"
            "except ImportError as error:\n    print(error)")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "parsnets.plotting needs matplotlib; install it with 'pip install matplotlib'\n"
