import numpy as np
import pytest

from parsnets import ParsNetsClassifier
from parsnets.metrics import (
    ausuc, bootstrap_interval, harmonic_mean, paired_test, per_class_accuracy, seen_unseen_curve, zero_shot_scorer)


@pytest.mark.parametrize("method", ["ridge", "eszsl", "dap"])
def test_figures_are_the_engines(demo, method):
    model = ParsNetsClassifier(method=method).fit_dataset(demo)
    engine = model.evaluate(demo)
    u = per_class_accuracy(demo.y[demo.test_unseen], model.predict(demo.X[demo.test_unseen]))
    s = per_class_accuracy(demo.y[demo.test_seen], model.predict(demo.X[demo.test_seen]))
    assert [u, s, harmonic_mean(u, s)] == pytest.approx([engine.u, engine.s, engine.h], abs=1e-9)
    rows = np.concatenate([demo.test_unseen, demo.test_seen])
    area = ausuc(demo.y[rows], model.class_scores(demo.X[rows]), model.classes_, model.seen_)
    assert area == pytest.approx(engine.ausuc, abs=1e-9)


def test_curve_equals_direct_evaluation():
    rng = np.random.default_rng(0)
    y, scores, seen = rng.integers(0, 6, 80), rng.normal(size=(80, 6)), np.arange(6) < 4
    gammas, us, ss = seen_unseen_curve(y, scores, np.arange(6), seen)
    assert np.isneginf(gammas[0])
    for gamma, u, s in list(zip(gammas, us, ss))[1:]:
        shifted = scores - (gamma + 1e-9) * seen
        predicted = shifted.argmax(axis=1)
        assert u == pytest.approx(per_class_accuracy(y[y >= 4], predicted[y >= 4]))
        assert s == pytest.approx(per_class_accuracy(y[y < 4], predicted[y < 4]))


def test_samples_that_move_together_share_a_trapezoid():
    assert ausuc([0, 1], [[1, 0], [1, 0]], [0, 1], [True, False]) == 0.5


def test_classes_weigh_the_same():
    assert per_class_accuracy(["a"] * 9 + ["b"], ["a"] * 10) == 0.5
    assert harmonic_mean(0, 0) == 0
    with pytest.raises(ValueError):
        per_class_accuracy([], [])
    with pytest.raises(ValueError, match="seen and of unseen"):
        ausuc([0, 0], np.eye(2), [0, 1], [True, False])


def test_the_scorer_lets_only_the_classes_of_the_samples_compete(demo):
    model = ParsNetsClassifier("ridge").fit_dataset(demo)
    x, y = demo.X[demo.test_unseen], demo.y[demo.test_unseen]
    assert zero_shot_scorer(model, x, y) == per_class_accuracy(y, model.predict(x, classes=["deer", "truck"]))
    assert zero_shot_scorer(model, x, y) == pytest.approx(model.evaluate(demo).zsl_top1_per_class)
    with pytest.raises(ValueError, match="at least 2 classes, found 1"):
        zero_shot_scorer(model, x[:5], ["deer"] * 5)


def test_what_is_no_number_or_no_class_is_not_hidden():
    assert np.isnan(harmonic_mean(np.nan, 0.5)) and np.isnan(harmonic_mean(0.5, np.nan))
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="scores: expected finite"):
            ausuc([0, 1], [[1, bad], [0, 1]], [0, 1], [True, False])
    with pytest.raises(ValueError, match="classes: .*duplicate"):
        ausuc([0, 1], np.eye(3)[:2], [0, 1, 1], [True, False, False])


@pytest.mark.parametrize("true, predicted, expected", [
    ([1, 2], [[1], [2]], 1), ([[1], [2]], [1, 1], 0.5), (["a", "b"], np.array(["a", "b"], object), 1),
    (np.array([1, 2], np.uint8), [1.0, 2.0], 1)])
def test_columns_and_kinds_of_one_sort_are_compared(true, predicted, expected):
    assert per_class_accuracy(true, predicted) == expected


@pytest.mark.parametrize("true, predicted", [(["1", "2"], [1, 2]), ([1, 2], np.array(["1", "2"], object))])
def test_text_is_not_compared_with_numbers(true, predicted):
    with pytest.raises(ValueError, match="y_pred: expected labels of the same type as y_true.*convert"):
        per_class_accuracy(true, predicted)


def test_intervals_are_the_engines(demo):
    model = ParsNetsClassifier(method="ridge").fit_dataset(demo)
    intervals = model.evaluate(demo).intervals
    rows = np.concatenate([demo.test_unseen, demo.test_seen])
    seen = [label for label in model.classes_ if label not in set(demo.y[demo.test_unseen])]
    h = bootstrap_interval(demo.y[rows], model.predict(demo.X[rows]), seen_classes=seen)
    zsl = bootstrap_interval(demo.y[demo.test_unseen], model.predict(demo.X[demo.test_unseen], classes="unseen"))
    for mine, engine in [(h, intervals["h"]), (zsl, intervals["zsl_top1_per_class"])]:
        assert [mine.estimate, mine.low, mine.high] == pytest.approx(
            [engine.estimate, engine.low, engine.high], abs=1e-9)
    assert set(intervals) == {"zsl_top1_per_class", "u", "s", "h"}
    assert intervals["u"].low < model.evaluate(demo).u < intervals["u"].high


def _slow_replicates(y, predictions, count):
    """Accuracies of each prediction, on the same drawn classes and samples."""
    rng = np.random.default_rng(5)
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    values = np.empty((count, len(predictions)))
    for b in range(count):
        drawn = [rng.choice(members[k], len(members[k])) for k in rng.integers(0, len(members), len(members))]
        values[b] = [np.mean([np.mean((p == y)[..., rows]) for rows in drawn]) for p in predictions]
    return values


def _noisy(y, rng, share):
    return np.where(rng.random(y.shape) < share, y, (y + 1) % 9)


def test_intervals_agree_with_numpy():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 9, 200)
    share = rng.random(9)[y]
    a, b = np.array([_noisy(y, rng, share) for _ in range(2)]), _noisy(y, rng, 0.5)
    slow = _slow_replicates(y, [a, b], 4000)
    interval, test = bootstrap_interval(y, a, replicates=20000), paired_test(y, a, b, replicates=20000)
    assert interval.estimate == pytest.approx((per_class_accuracy(y, a[0]) + per_class_accuracy(y, a[1])) / 2)
    assert [interval.low, interval.high] == pytest.approx(np.percentile(slow[:, 0], [2.5, 97.5]), abs=0.015)
    assert [test.low, test.high] == pytest.approx(np.percentile(slow[:, 0] - slow[:, 1], [2.5, 97.5]), abs=0.02)


def test_p_is_the_share_of_exchanges():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 9, 150)
    a, b = _noisy(y, rng, 0.7), _noisy(y, rng, 0.5)
    difference = np.array([np.mean((a == y)[y == c]) - np.mean((b == y)[y == c]) for c in range(9)])
    signs = 1 - 2 * (np.arange(2 ** 9)[:, None] >> np.arange(9) & 1)
    expected = np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-9)
    test = paired_test(y, a, b)
    assert (test.p_value, test.exact) == (pytest.approx(expected), True)
    assert test.difference == pytest.approx(difference.mean())
    same = paired_test(y, a, a)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_uncertainty_takes_text_labels_and_some_classes():
    y = np.array(["a", "a", "b", "b", "c", "c"])
    predicted = np.array(["a", "b", "b", "b", "a", "a"])
    assert bootstrap_interval(y, predicted, ["a", "b"]).estimate == 0.75
    assert bootstrap_interval(y, predicted, ["b"]) == bootstrap_interval(["b", "b"], ["b", "b"])
    u, s = 0.75, 0.0
    assert bootstrap_interval(y, predicted, seen_classes=["c"]).estimate == harmonic_mean(u, s)


def test_uncertainty_refuses_what_cannot_be_counted():
    y = [0, 0, 1, 1]
    for arguments, keywords, message in [
            ((y, y[:3]), {}, "inconsistent"), ((y, ["a"] * 4), {}, "y_pred"), ((y, y, [7]), {}, "found none"),
            ((y, y), {"seen_classes": [0, 1]}, "only one kind"), ((y, y), {"replicates": 3}, "40 replicates"),
            ((y, y), {"replicates": -1}, "replicates"), ((y, y), {"seed": 0.5}, "seed")]:
        with pytest.raises(ValueError, match=message):
            bootstrap_interval(*arguments, **keywords)
    with pytest.raises(ValueError, match="y_pred_b"):
        paired_test(y, y, ["a"] * 4)
    with pytest.raises(ValueError, match="1 draw"):
        paired_test(y, y, y, draws=0)
