"""partial_fit and sample_weight: fits of statistics of samples."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.class_weight import compute_sample_weight

from parsnets import ParsNetsClassifier
from parsnets.errors import BadInputError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore:validation holds out one class")


def training(demo):
    return demo.X[demo.trainval], demo.y[demo.trainval]


def scores(model, demo):
    return model._model.scores(demo.X, 1)


def closed_form():
    return ParsNetsClassifier(networks=0, refine_steps=0)


def test_batches_give_the_model_of_all_samples(demo):
    x, y = training(demo)
    batches = ParsNetsClassifier()
    for rows in np.array_split(np.random.RandomState(0).permutation(len(x)), 5):
        batches.partial_fit(x[rows], y[rows], class_attributes=demo.class_attributes)
    whole = ParsNetsClassifier().partial_fit(x, y, class_attributes=demo.class_attributes)
    fitted = closed_form().fit(x, y, class_attributes=demo.class_attributes)
    for other in (whole, fitted):
        np.testing.assert_allclose(scores(batches, demo), scores(other, demo), atol=1e-5)
    assert batches.gamma_ == pytest.approx(whole.gamma_, abs=1e-4)
    assert np.mean(batches.predict(demo.X) == whole.predict(demo.X)) > 0.999
    assert batches.record_["data"]["statistics"] == [{"samples": len(x), "weight": len(x)}]


def test_later_batches_may_leave_out_attributes_and_bring_new_classes(demo):
    x, y = training(demo)
    known = {name: demo.class_attributes[name] for name in np.unique(y)[:5]}
    early = np.isin(y, list(known))
    model = ParsNetsClassifier().partial_fit(x[early][::2], y[early][::2], class_attributes=known)
    model.partial_fit(x[early][1::2], y[early][1::2])
    with pytest.raises(BadInputError, match="y: "):
        model.partial_fit(x[~early], y[~early])
    assert len(model.classes_) == 5
    model.partial_fit(x[~early], y[~early], class_attributes=demo.class_attributes)
    whole = ParsNetsClassifier().partial_fit(x, y, class_attributes=demo.class_attributes)
    np.testing.assert_allclose(scores(model, demo), scores(whole, demo), atol=1e-5)


@pytest.mark.parametrize("attributes", [True, False])
def test_an_integer_weight_equals_copies_of_the_sample(demo, attributes):
    x, y = training(demo)
    table = {"class_attributes": demo.class_attributes} if attributes else {}
    weights = np.arange(len(x)) % 3
    copies = np.repeat(np.arange(len(x)), weights)
    weighted = closed_form().fit(x, y, sample_weight=weights, **table)
    repeated = closed_form().fit(x[copies], y[copies], **table)
    np.testing.assert_allclose(scores(weighted, demo), scores(repeated, demo), atol=2e-5)
    ones = closed_form().fit(x, y, sample_weight=np.ones(len(x)), **table)
    np.testing.assert_allclose(scores(ones, demo), scores(closed_form().fit(x, y, **table), demo), atol=2e-5)


def test_copies_and_pickles_keep_the_statistics(demo):
    x, y = training(demo)
    first = ParsNetsClassifier().partial_fit(x[::2], y[::2], class_attributes=demo.class_attributes)
    expected = scores(copy.copy(first).partial_fit(x[1::2], y[1::2]), demo)
    before = scores(first, demo)
    for twin in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert np.array_equal(scores(twin.partial_fit(x[1::2], y[1::2]), demo), expected)
    assert np.array_equal(scores(first, demo), before)


def test_after_fit_it_starts_anew_with_the_same_classes(demo):
    x, y = training(demo)
    model = closed_form().fit(x[:300], y[:300], class_attributes=demo.class_attributes)
    with pytest.warns(UserWarning, match="starts anew"):
        model.partial_fit(x, y)
    whole = closed_form().partial_fit(x, y, class_attributes=demo.class_attributes)
    np.testing.assert_allclose(scores(model, demo), scores(whole, demo), atol=1e-5)


def test_what_needs_samples_is_refused(demo):
    x, y = training(demo)
    table = demo.class_attributes
    with pytest.raises(UsageError, match="found networks;"):
        ParsNetsClassifier(networks=8).partial_fit(x, y, class_attributes=table)
    with pytest.raises(UsageError, match="sample_weight: expected"):
        ParsNetsClassifier().fit(x, y, sample_weight=np.ones(len(x)), class_attributes=table)
    with pytest.raises(UsageError, match="found neither"):
        ParsNetsClassifier().partial_fit(x, y)
    with pytest.raises(ValueError, match="[Nn]egative"):
        closed_form().fit(x, y, sample_weight=-np.ones(len(x)), class_attributes=table)
    assert not hasattr(ParsNetsClassifier("scln"), "partial_fit")


def few_of_two_classes(demo):
    """Samples of the demo set where the first two classes are rare."""
    x, y = training(demo)
    rare = np.isin(y, np.unique(y)[:2])
    kept = ~rare | (np.arange(len(y)) % 8 == 0)
    return x[kept], y[kept]


@pytest.mark.parametrize("attributes", [True, False])
def test_class_weights_equal_the_weights_of_their_samples(demo, attributes):
    x, y = few_of_two_classes(demo)
    table = {"class_attributes": demo.class_attributes} if attributes else {}
    seen = np.unique(y)
    some = {seen[0]: 4.0, seen[1]: 0.5}
    own = 1 + np.arange(len(y)) % 3
    for chosen in ("balanced", some):
        model = ParsNetsClassifier(networks=0, refine_steps=0, class_weight=chosen)
        expected = compute_sample_weight(chosen, y)
        for weights, product in ((None, expected), (own, own * expected)):
            fitted = clone(model).fit(x, y, weights, **table)
            other = closed_form().fit(x, y, product, **table)
            np.testing.assert_allclose(scores(fitted, demo), scores(other, demo), atol=1e-6)
    assert not np.allclose(scores(fitted, demo), scores(closed_form().fit(x, y, own, **table), demo), atol=1e-4)


def test_class_weights_of_batches_are_a_dict(demo):
    x, y = few_of_two_classes(demo)
    chosen = {np.unique(y)[0]: 4.0}
    batches = ParsNetsClassifier(class_weight=chosen)
    for rows in (y != np.unique(y)[0], y == np.unique(y)[0]):  # the first batch lacks the weighted class
        batches.partial_fit(x[rows], y[rows], class_attributes=demo.class_attributes)
    whole = ParsNetsClassifier(networks=0, refine_steps=0, class_weight=chosen).fit(
        x, y, class_attributes=demo.class_attributes)
    np.testing.assert_allclose(scores(batches, demo), scores(whole, demo), atol=1e-5)
    with pytest.raises(UsageError, match="class_weight: expected a dict or None with partial_fit"):
        ParsNetsClassifier(class_weight="balanced").partial_fit(x, y, class_attributes=demo.class_attributes)


def test_class_weights_are_refused_where_sample_weights_are(demo):
    x, y = training(demo)
    for model in (ParsNetsClassifier(class_weight="balanced"), ParsNetsClassifier("ridge", class_weight="balanced"),
                  ParsNetsClassifier(networks=0, class_weight={y[0]: 2})):
        with pytest.raises(UsageError, match="class_weight: expected method='parsnets', networks=0"):
            model.fit(x, y, class_attributes=demo.class_attributes)
    closed = ParsNetsClassifier(networks=0, refine_steps=0)
    with pytest.raises(UsageError, match="class_weight: expected None with fit_dataset"):
        clone(closed).set_params(class_weight="balanced").fit_dataset(demo)
    for wrong in ("equal", {"unicorn": 2}, {y[0]: -1}):
        with pytest.raises(ValueError, match="class_weight"):
            clone(closed).set_params(class_weight=wrong).fit(x, y, class_attributes=demo.class_attributes)


def test_class_weights_are_a_parameter_of_searches(demo):
    x, y = few_of_two_classes(demo)
    search = GridSearchCV(closed_form(), {"class_weight": [None, "balanced", {np.unique(y)[0]: 3}]}, cv=2,
                          scoring="balanced_accuracy").fit(x, y)
    assert len(search.cv_results_["params"]) == 3 and np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.get_params()["estimator__class_weight"] is None
