import numpy as np
import pytest

from parsnets import ParsNetsClassifier
from parsnets.metrics import ausuc, harmonic_mean, per_class_accuracy, seen_unseen_curve, zero_shot_scorer


@pytest.mark.parametrize("method", ["ridge", "eszsl", "dap"])
def test_figures_are_the_engines(demo, method):
    model = ParsNetsClassifier(method=method).fit_dataset(demo)
    engine = model.evaluate(demo)
    u = per_class_accuracy(demo.y[demo.test_unseen], model.predict(demo.X[demo.test_unseen]))
    s = per_class_accuracy(demo.y[demo.test_seen], model.predict(demo.X[demo.test_seen]))
    assert [100 * u, 100 * s, 100 * harmonic_mean(u, s)] == pytest.approx([engine.u, engine.s, engine.h], abs=1e-9)
    rows = np.concatenate([demo.test_unseen, demo.test_seen])
    area = ausuc(demo.y[rows], model.class_scores(demo.X[rows]), model.classes_, model.seen_)
    assert 100 * area == pytest.approx(engine.ausuc, abs=1e-9)


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
    assert zero_shot_scorer(model, x, y) * 100 == pytest.approx(model.evaluate(demo).zsl_top1_per_class)
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
