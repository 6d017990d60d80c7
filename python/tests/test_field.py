"""Learning after training: adapt, teach, classes by examples."""

import copy

import numpy as np
import pytest

from parsnets import BadInputError, ParsNetsClassifier, RidgeZSL, UsageError


@pytest.fixture(scope="module")
def fitted(demo):
    return ParsNetsClassifier(random_state=1).fit_dataset(demo)


@pytest.fixture
def model(fitted):
    return copy.copy(fitted)


def unseen_samples(demo, model, label, count):
    return demo.X[np.flatnonzero(demo.y == label)[:count]]


def test_adapt_moves_unseen_classes_and_is_undone(demo, model, fitted):
    before = model.decision_function(demo.X)
    told = model.adapt(demo.X)
    assert told.samples == len(demo.X)
    assert 0 < told.convincing <= told.samples
    assert told.support and set(told.support) == set(told.degrees)
    unseen = set(model.classes_[~model.seen_])
    assert set(told.support) <= unseen
    assert all(value >= 3 for value in told.support.values())
    assert len(model.record_["adaptations"]) == 1
    assert not np.array_equal(model.decision_function(demo.X), before)
    assert np.array_equal(fitted.decision_function(demo.X), before)  # copies do not learn
    model.undo_adaptation()
    assert "adaptations" not in model.record_
    assert np.array_equal(model.decision_function(demo.X), before)


def test_only_named_classes_move(demo, model):
    label = model.classes_[~model.seen_][0]
    assert set(model.adapt(demo.X, classes=[label], rounds=2).support) <= {label}
    with pytest.raises(BadInputError):
        model.adapt(demo.X, classes=["nobody"])
    with pytest.raises(UsageError):
        model.adapt(demo.X, rounds=0)


def test_suggested_samples_are_rows_to_label(demo, model):
    before = model.decision_function(demo.X)
    rows = model.suggest(demo.X, 6)
    assert 0 < len(rows) <= 6 and len(set(rows)) == len(rows)
    assert np.array_equal(rows[:2], model.suggest(demo.X, 2))
    assert np.array_equal(model.decision_function(demo.X), before)
    for row in rows:
        model.teach(demo.y[row], demo.X[[row]])
    with pytest.raises(UsageError):
        model.suggest(demo.X, 0)
    with pytest.raises(ValueError):
        model.suggest(demo.X[:, :2], 6)


def test_examples_raise_the_score_of_their_class(demo, model):
    place = int(np.flatnonzero(~model.seen_)[0])
    label = model.classes_[place]
    x = unseen_samples(demo, model, label, 5)
    before = model.decision_function(x)[:, place].mean()
    model.teach(label, x)
    assert model.decision_function(x)[:, place].mean() > before
    with pytest.raises(BadInputError):
        model.teach("nobody", x)


def test_a_class_is_added_by_examples_or_by_both(demo, model):
    label = model.classes_[~model.seen_][0]
    x = unseen_samples(demo, model, label, 8)
    described = demo.class_attributes[label]
    model.add_class("by examples", examples=x)
    model.add_class("by both", described, examples=x)
    assert list(model.classes_[-2:]) == ["by examples", "by both"]
    assert not model.seen_[-2:].any()
    assert "by examples" in model.predict(x) or "by both" in model.predict(x)
    with pytest.raises(UsageError):
        model.add_class("nothing")
    with pytest.raises(ValueError):
        model.add_class("both", described, examples=x[:, :2])
    assert list(model.classes_[-2:]) == ["by examples", "by both"]  # all or nothing


def test_partial_fit_teaches_classes_that_were_not_trained_on(demo, model):
    labels = model.classes_[~model.seen_][:2]
    x = np.vstack([unseen_samples(demo, model, label, 4) for label in labels])
    y = np.repeat(labels, 4)
    taught = ParsNetsClassifier(random_state=1).fit_dataset(demo)
    for label in labels:
        taught.teach(label, x[y == label])
    model.partial_fit(x, y)
    assert np.array_equal(model.decision_function(x), taught.decision_function(x))


def test_models_of_semantics_refuse(demo):
    ridge = RidgeZSL().fit_dataset(demo)
    with pytest.raises(UsageError):
        ridge.adapt(demo.X)
    with pytest.raises(UsageError):
        ridge.teach(ridge.classes_[0], demo.X[:2])
