"""Samples of no class, and prediction sets."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from parsnets import BadInputError, CancelledError, ParsNetsClassifier, RidgeZSL, UsageError, load_model


def training(demo):
    return demo.X[demo.trainval], demo.y[demo.trainval]


@pytest.fixture(scope="module")
def plain(demo):
    return ParsNetsClassifier(refine_steps=0).fit(*training(demo), class_attributes=demo.class_attributes)


@pytest.fixture(scope="module")
def fitted(demo, plain):
    return copy.copy(plain).calibrate_open_set(*training(demo), false_accept=0.2)


@pytest.fixture
def model(fitted):
    return copy.copy(fitted)


def noise(demo, count=50):
    return np.random.RandomState(0).uniform(0, demo.X.max(), (count, demo.X.shape[1])).astype(np.float32)


def test_the_share_and_its_record_are_told(demo, plain, model):
    assert not hasattr(plain, "false_accept_") and not hasattr(plain, "rejection_")
    assert model.false_accept_ == 0.2
    told = model.rejection_
    assert told.false_accept == 0.2
    assert told.classes == model.seen_.sum() and told.samples == len(demo.trainval) and told.folds >= 2
    assert 0 <= told.accept_low <= told.accept_high <= 1
    assert 0 <= told.rejected_seen <= 1 and 0 <= told.rejected_unseen <= 1
    assert told.auroc > 0.5
    assert model.record_["rejection"]["auroc"] == pytest.approx(100 * told.auroc)
    assert "rejection" not in plain.record_


def test_fit_calibrates_on_request(demo, model):
    at_once = ParsNetsClassifier(refine_steps=0, false_accept=0.2)
    at_once.fit(*training(demo), class_attributes=demo.class_attributes)
    assert at_once.rejection_ == model.rejection_
    assert np.array_equal(at_once.known_score(demo.X), model.known_score(demo.X))
    again = ParsNetsClassifier(refine_steps=0, false_accept=0.2).fit_dataset(demo)
    by_hand = ParsNetsClassifier(refine_steps=0).fit_dataset(demo).calibrate_open_set_dataset(demo, false_accept=0.2)
    assert np.array_equal(again.known_score(demo.X), by_hand.known_score(demo.X))
    assert again.rejection_ == by_hand.rejection_


def test_unknown_samples_get_a_label_of_their_own(demo, plain, model):
    x = demo.X[demo.test_seen]
    unknown = model.is_unknown(x)
    assert unknown.dtype == bool and unknown.shape == (len(x),) and unknown.any() and not unknown.all()
    assert np.array_equal(model.predict(x), plain.predict(x))
    labels = model.predict(x, reject=True)
    assert (labels[unknown] == "unknown").all()
    assert np.array_equal(labels[~unknown], plain.predict(x)[~unknown])
    assert model.predict(x[:1], reject=True) == labels[:1]  # not by the fast path of one sample


def test_noise_is_unknown_and_known_samples_have_higher_scores(demo, model):
    assert model.is_unknown(noise(demo)).mean() > 0.8  # false_accept is 0.2
    x = demo.X[demo.test_seen]
    scores, unknown = model.known_score(x), model.is_unknown(x)
    assert scores.dtype == np.float32 and scores.shape == (len(x),)
    assert np.median(scores[~unknown]) > np.median(scores[unknown])
    assert np.median(scores) > np.median(model.known_score(noise(demo)))


def test_a_higher_share_accepts_more(demo, plain, model):
    strict = copy.copy(plain).calibrate_open_set(*training(demo), false_accept=0.02)
    assert strict.false_accept_ == 0.02 and model.false_accept_ == 0.2
    x = demo.X[np.r_[demo.test_seen, demo.test_unseen]]
    assert np.array_equal(strict.known_score(x), model.known_score(x))
    assert (strict.is_unknown(x) >= model.is_unknown(x)).all()
    assert strict.is_unknown(x).sum() > model.is_unknown(x).sum()


def test_competing_classes_may_be_chosen(demo, model):
    x = demo.X[demo.test_unseen]
    labels, unknown = model.predict(x, "unseen", reject=True), model.is_unknown(x, "unseen")
    unseen = model.classes_[~model.seen_]
    assert set(labels) <= {*unseen, "unknown"}
    assert np.array_equal(labels == "unknown", unknown)
    assert np.array_equal(labels, model.predict(x, unseen.tolist(), reject=True))
    assert np.array_equal(model.known_score(x, list(model.classes_)), model.known_score(x))
    with pytest.raises(UsageError, match="classes"):
        model.is_unknown(x, "some")


@pytest.mark.parametrize("kind, unknown", [(np.int64, -1), (np.uint8, -1), (np.float64, -1), (object, "unknown")])
def test_the_label_of_unknown_samples_suits_the_labels(demo, kind, unknown):
    x, y = training(demo)
    seen, numbers = np.unique(y, return_inverse=True)
    labels = seen.astype(object)[numbers] if kind is object else (numbers * 2).astype(kind)
    names = seen.astype(object) if kind is object else (np.arange(len(seen)) * 2).astype(kind)
    attributes = np.array([demo.class_attributes[name] for name in seen])
    model = RidgeZSL().fit(x, labels, class_attributes=attributes, class_names=names)
    model.calibrate_open_set(x, labels, false_accept=0.2)
    found, rejected = model.predict(demo.X, reject=True), model.is_unknown(demo.X)
    assert rejected.any() and not rejected.all()
    assert [label == unknown for label in found] == rejected.tolist()
    assert np.array_equal(found[~rejected], model.predict(demo.X)[~rejected])
    assert found.dtype.kind == {np.uint8: "i"}.get(kind, np.dtype(kind).kind)


@pytest.mark.parametrize("numbered, label", [(True, -1), (False, "unknown")])
def test_a_class_with_the_label_of_unknown_samples_is_refused(demo, numbered, label):
    x, y = training(demo)
    seen, numbers = np.unique(y, return_inverse=True)
    attributes = np.array([demo.class_attributes[name] for name in seen])
    names = np.arange(len(seen)) - 1 if numbered else np.where(seen == seen[0], label, seen)
    model = RidgeZSL().fit(x, names[numbers], class_attributes=attributes, class_names=names)
    model.calibrate_open_set(x, names[numbers])
    assert model.is_unknown(x).shape == y.shape
    with pytest.raises(UsageError, match=f"{label!r}.*is_unknown"):
        model.predict(x, reject=True)


def test_calibration_is_asked_for(demo, plain):
    for call in (plain.is_unknown, plain.known_score, plain.predict_set, lambda x: plain.predict(x, reject=True)):
        with pytest.raises(UsageError, match="calibrate.*false_accept"):
            call(demo.X)
    for call in (ParsNetsClassifier().is_unknown, ParsNetsClassifier().known_score, ParsNetsClassifier().predict_set,
                 lambda x: ParsNetsClassifier().predict(x, reject=True),
                 lambda x: ParsNetsClassifier().calibrate_open_set(x, demo.y)):
        with pytest.raises(NotFittedError):
            call(demo.X)


def test_wrong_arguments_change_nothing(demo, model):
    before = model.rejection_
    x, y = training(demo)
    for wrong in (0, 1, -0.1, "5%"):
        with pytest.raises(UsageError, match="false_accept"):
            model.calibrate_open_set(x, y, false_accept=wrong)
    for wrong in (1, 2.5):
        with pytest.raises(UsageError, match="folds"):
            model.calibrate_open_set(x, y, folds=wrong)
    with pytest.raises(BadInputError):  # not the samples of training
        model.calibrate_open_set(x[:-1], y[:-1])
    with pytest.raises(BadInputError, match="y: .*'nobody'"):
        model.calibrate_open_set(x, np.where(y == y[0], "nobody", y))
    with pytest.raises(UsageError, match="calibrate_open_set"):
        model.calibrate_open_set_dataset(x)
    with pytest.raises(CancelledError):
        model.calibrate_open_set(x, y, false_accept=0.3, progress=lambda *_: True)
    assert model.rejection_ == before
    for wrong in (0, 1, "90%"):
        with pytest.raises(UsageError, match="coverage"):
            model.predict_set(x, wrong)
    with pytest.raises(UsageError, match="similarity"):
        RidgeZSL(reverse=True).fit(x, y, class_attributes=demo.class_attributes).calibrate_open_set(x, y)


def test_statistics_do_not_suffice(demo):
    x, y = training(demo)
    with pytest.raises(UsageError, match="false_accept"):
        ParsNetsClassifier(false_accept=0.1).partial_fit(x, y, class_attributes=demo.class_attributes)


def test_progress_counts_folds(demo, plain):
    told = []
    copy.copy(plain).calibrate_open_set(*training(demo), folds=4, progress=lambda *step: told.append(step))
    assert ("calibrate", 4, 4, "folds") in told


def test_files_copies_and_pickles_keep_it(demo, model, tmp_path):
    model.save(tmp_path / "m.safetensors")
    for other in (load_model(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.rejection_ == model.rejection_
        assert np.array_equal(other.predict(demo.X, reject=True), model.predict(demo.X, reject=True))


def test_sets_have_the_stated_coverage_and_grow_with_it(demo, model):
    x, y = demo.X[demo.test_seen], demo.y[demo.test_seen]
    best = model.predict(x)
    sizes = {}
    for coverage in (0.5, 0.8, 0.95):
        sets = model.predict_set(x, coverage)
        assert len(sets) == len(x)
        assert all(found[0] == label and len(set(found)) == len(found) for found, label in zip(sets, best))
        covered = np.mean([label in found for label, found in zip(y, sets)])
        assert covered > coverage - 3 * np.sqrt(coverage * (1 - coverage) / len(x))
        sizes[coverage] = np.array([len(found) for found in sets])
    assert (sizes[0.5] <= sizes[0.8]).all() and (sizes[0.8] <= sizes[0.95]).all()
    assert sizes[0.5].mean() < sizes[0.95].mean() < len(model.classes_)
    assert all(map(np.array_equal, model.predict_set(x), model.predict_set(x, 0.9)))


def test_sets_of_many_classes_come_in_batches(demo, model, monkeypatch):
    expected = model.predict_set(demo.X)
    monkeypatch.setattr("parsnets._model.SET_PLACES", 300 * len(model.classes_))
    assert all(map(np.array_equal, model.predict_set(demo.X), expected))


def test_classes_may_change_afterwards(demo, model):
    x = demo.X[demo.test_seen]
    before = model.is_unknown(x)
    label = model.classes_[~model.seen_][0]
    model.remove_class(label)
    assert model.false_accept_ == 0.2 and label not in model.predict(x, reject=True)
    model.add_class(label, demo.class_attributes[label])
    assert np.array_equal(model.is_unknown(x), before)


def test_dask_arrays_are_predicted_lazily(demo, model):
    da = pytest.importorskip("dask.array")
    from parsnets.dask import ParsNetsClassifier as Lazy
    lazy = Lazy()
    lazy.__dict__.update(model.__dict__)
    found = lazy.predict(da.from_array(demo.X, chunks=(500, -1)), reject=True)
    assert found.dtype == model.predict(demo.X, reject=True).dtype
    assert np.array_equal(found.compute(scheduler="synchronous"), model.predict(demo.X, reject=True))
    untold = Lazy().fit(*training(demo), class_attributes=demo.class_attributes)
    with pytest.raises(UsageError, match="calibrate"):
        untold.predict(da.from_array(demo.X, chunks=(500, -1)), reject=True)


def test_evaluate_tells_reliability_and_sets(demo, plain, model):
    result = model.evaluate(demo, coverages=(0.5, 0.9))
    assert list(result.sets) == [0.5, 0.9]
    rows = {"seen": demo.test_seen, "unseen": demo.test_unseen}
    for coverage, found in result.sets.items():
        for side, samples in rows.items():
            sets = model.predict_set(demo.X[samples], coverage)
            covered = np.mean([label in one for label, one in zip(demo.y[samples], sets)])
            assert getattr(found, side + "_coverage") == pytest.approx(covered)
            assert getattr(found, side + "_size") == pytest.approx(np.mean([len(one) for one in sets]))
    assert set(result.ece) == set(result.reliability) == {"seen", "unseen"}
    for side, samples in rows.items():
        bins = result.reliability[side]
        right = np.mean(model.predict(demo.X[samples]) == demo.y[samples])
        assert bins.shape == (15, 3) and bins[:, 0].sum() == len(samples)
        assert np.average(bins[:, 2], weights=bins[:, 0]) == pytest.approx(right)
        assert np.average(bins[:, 1], weights=bins[:, 0]) == pytest.approx(
            model.predict_proba(demo.X[samples]).max(axis=1).mean(), rel=1e-4)
        assert np.average(abs(bins[:, 1] - bins[:, 2]), weights=bins[:, 0]) == pytest.approx(result.ece[side])
    untold = plain.evaluate(demo)
    assert untold.sets == {} and untold.ece.keys() == {"seen", "unseen"}
    assert untold == model.evaluate(demo)  # the same predictions
    with pytest.raises(UsageError, match="coverage"):
        model.evaluate(demo, coverages=[1.5])


def test_rejection_is_evaluated_on_classes_that_are_left_out(demo, plain, model):
    before = model.classes_.tolist()
    result = model.evaluate_open_set(demo)
    unseen = model.classes_[~model.seen_]
    assert result.turns == 2 and result.unknown.classes == len(unseen)
    assert result.unknown.samples == len(demo.test_unseen) and result.known_seen.samples == 2 * len(demo.test_seen)
    assert 0 < result.known_score.auroc < 1 and 0 < result.confidence.auroc < 1
    assert {"uniform", "gaussian", "zero"} <= set(result.no_class)
    assert model.classes_.tolist() == before
    one = model.evaluate_open_set(demo, unknown_classes=[unseen[0]])
    by_hand = copy.copy(model).remove_class(unseen[0])
    samples = demo.X[demo.test_unseen][demo.y[demo.test_unseen] == unseen[0]]
    assert one.turns == 1 and one.unknown.samples == len(samples)
    assert one.unknown.accepted == pytest.approx((~by_hand.is_unknown(samples)).mean())
    assert one.known_seen.accepted == pytest.approx((~by_hand.is_unknown(demo.X[demo.test_seen])).mean())
    with pytest.raises(UsageError, match="calibrate"):
        plain.evaluate_open_set(demo)
    with pytest.raises(UsageError, match="unknown_classes"):
        model.evaluate_open_set(demo, unknown_classes=[])
    with pytest.raises(BadInputError, match="nobody"):
        model.evaluate_open_set(demo, unknown_classes=["nobody"])
    with pytest.raises(UsageError, match="is_unknown"):
        model.evaluate_open_set(demo.X)
