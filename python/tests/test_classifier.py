import copy
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from parsnets import BadInput, ClassDisjointKFold, ParsNetsClassifier, ParsNetsError, Usage
from parsnets.metrics import per_class_accuracy, zero_shot_scorer


@pytest.fixture
def ridge(demo):
    return ParsNetsClassifier(method="ridge").fit_dataset(demo)


def training(demo):
    return demo.X[demo.trainval], demo.y[demo.trainval]


def test_names_unseen_classes_as_well_as_the_engine_says(demo, ridge):
    rows = demo.test_unseen
    zsl = per_class_accuracy(demo.y[rows], ridge.predict(demo.X[rows], classes="unseen"))
    assert zsl > 0.9
    assert zsl * 100 == pytest.approx(ridge.evaluate(demo).zsl_top1_per_class, abs=1e-9)


def test_predictions_agree_with_scores_and_confidences(demo, ridge):
    x = demo.X[::7]
    best = ridge.predict(x)
    assert np.array_equal(best, ridge.classes_[ridge.decision_function(x).argmax(axis=1)])
    assert np.array_equal(best, ridge.classes_[ridge.predict_proba(x).argmax(axis=1)])
    assert np.array_equal(best, ridge.predict(x, classes=ridge.classes_))
    np.testing.assert_allclose(ridge.predict_proba(x).sum(axis=1), 1, atol=1e-5)
    shift = ridge.class_scores(x) - ridge.decision_function(x)
    np.testing.assert_allclose(shift, np.where(ridge.seen_, ridge.gamma_, 0) + np.zeros_like(shift), atol=1e-6)
    assert set(ridge.predict(x, classes=["cat", "deer"])) == {"cat", "deer"}
    assert set(ridge.predict(x, classes="seen")) <= set(ridge.classes_[ridge.seen_])


def test_class_attributes_as_dict_frame_and_array_give_the_same_model(demo):
    x, y = training(demo)
    models = []
    frame = pd.DataFrame(demo.semantics, index=demo.class_names, columns=demo.attribute_names)
    shuffled = frame.sample(frac=1, random_state=3)
    for table, extra in [
        (demo.class_attributes, {"attribute_names": demo.attribute_names}),
        (frame, {}),
        (shuffled, {}),
        (demo.semantics, {"attribute_names": demo.attribute_names, "class_names": demo.class_names}),
    ]:
        model = ParsNetsClassifier(method="eszsl").fit(x, pd.Series(y), class_attributes=table, **extra)
        models.append(model._model.to_bytes())
    assert len(set(models)) == 1


def test_integer_labels_number_the_rows_of_a_larger_table(demo):
    x, y = demo.X[demo.trainval], demo.labels[demo.trainval]
    model = ParsNetsClassifier(method="ridge").fit(x, y, class_attributes=demo.semantics)
    assert model.classes_.tolist() == list(range(10))
    rows = demo.test_unseen
    assert per_class_accuracy(demo.labels[rows], model.predict(demo.X[rows], classes="unseen")) > 0.9
    with pytest.raises(BadInput, match="class_names"):
        ParsNetsClassifier(method="ridge").fit(x, demo.y[demo.trainval], class_attributes=demo.semantics)


def test_without_attributes_it_is_a_plain_classifier(demo):
    x, y = training(demo)
    model = ParsNetsClassifier(method="ridge").fit(x, y)
    assert model.score(demo.X[demo.test_seen], demo.y[demo.test_seen]) > 0.6
    assert model.seen_.all() and len(model.classes_) == 8


def test_classes_come_and_go_without_training(demo, ridge):
    x = demo.X[demo.test_unseen]
    before, bytes_before = ridge.predict(x), ridge._model.to_bytes()
    deer = demo.class_attributes["deer"]
    ridge.remove_class("deer")
    assert "deer" not in ridge.classes_ and "deer" not in ridge.predict(x)
    ridge.add_class("deer", deer)
    assert ridge.classes_[-1] == "deer" and not ridge.seen_[-1]
    assert np.array_equal(ridge.predict(x), before)
    assert ridge._model.to_bytes() != bytes_before  # another order
    with pytest.raises(BadInput, match="deer"):
        ridge.add_class("deer", deer)
    with pytest.raises(BadInput):
        ridge.add_classes({"okapi": deer, "zebra": deer[:3]})
    assert "okapi" not in ridge.classes_  # all or none
    with pytest.raises(BadInput, match="okapi"):
        ridge.remove_class("okapi")


def test_added_integer_labels_stay_integers(demo):
    model = ParsNetsClassifier(method="ridge").fit(demo.X[demo.trainval], demo.labels[demo.trainval],
                                                  class_attributes=demo.semantics)
    model.add_class(77, demo.semantics[0] * 0.5)
    assert model.classes_.dtype.kind == "i" and model.classes_[-1] == 77


def test_calibration_moves_samples_between_seen_and_unseen(demo, ridge):
    rows = demo.test_unseen
    assert set(ridge.calibrate(gamma=100).predict(demo.X[rows])) <= {"deer", "truck"}
    assert not set(ridge.calibrate(gamma=-100).predict(demo.X[rows])) & {"deer", "truck"}
    ridge.calibrate(gamma=0, temperature=1e-4)
    assert ridge.gamma_ == 0 and ridge.predict_proba(demo.X[:5]).max() > 0.99
    with pytest.raises(Usage):
        ridge.calibrate(temperature=0)


def test_explanations_add_up(demo, ridge):
    x = demo.X[demo.test_unseen[:5]]
    labels, semantics = ridge.predict(x), ridge.transform(x)
    for i, why in enumerate(ridge.explain(x)):
        assert why.label == labels[i] and why.runner_up != why.label
        total = why.contributions.sum() + why.calibration + why.prototypes
        assert total == pytest.approx(why.score - why.runner_up_score, abs=1e-4)
        np.testing.assert_allclose(why.semantics, semantics[i], atol=1e-5)
        assert why.top(1)[0][0] in demo.attribute_names


def test_models_without_semantics_say_so(demo):
    model = ParsNetsClassifier(method="reverse-ridge").fit_dataset(demo)
    assert not hasattr(model, "transform") and not hasattr(clone(model), "transform")
    assert hasattr(ParsNetsClassifier(), "transform")
    with pytest.raises(Usage):
        model.explain(demo.X[:2])


def test_files_pickles_and_copies_keep_every_bit(demo, ridge, tmp_path):
    x = demo.X[:50]
    ridge.save(tmp_path / "a.safetensors")
    loaded = ParsNetsClassifier.load(tmp_path / "a.safetensors")
    loaded.save(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    numbers = ParsNetsClassifier(method="ridge").fit(demo.X[demo.trainval], demo.labels[demo.trainval],
                                                    class_attributes=demo.semantics)
    for twin in (loaded, pickle.loads(pickle.dumps(ridge)), copy.deepcopy(ridge)):
        assert np.array_equal(twin.class_scores(x), ridge.class_scores(x))
        assert np.array_equal(twin.predict(x), ridge.predict(x))
    assert pickle.loads(pickle.dumps(numbers)).predict(x).dtype.kind == "i"
    pickle.loads(pickle.dumps(ParsNetsClassifier(method="sae")))  # not fitted


def test_clone_keeps_parameters_and_forgets_the_model(ridge):
    twin = clone(ridge.set_params(options={"lambda": 3}))
    assert twin.get_params() == ridge.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(np.zeros((1, 192)))


def test_works_in_a_pipeline(demo, ridge):
    x, y = training(demo)
    pipeline = make_pipeline(FunctionTransformer(np.abs), ParsNetsClassifier(method="ridge"))
    pipeline.fit(x, y, parsnetsclassifier__class_attributes=demo.class_attributes)
    rows = demo.test_unseen
    assert zero_shot_scorer(pipeline, demo.X[rows], demo.y[rows]) > 0.8


def test_grid_search_on_disjoint_classes(demo):
    x, y = training(demo)
    search = GridSearchCV(ParsNetsClassifier(method="ridge", threads=1),
                          {"options": [{"lambda": 1e9, "similarity": "dot"}, {"lambda": 1}],
                           "method": ["ridge", "dap"]},
                          cv=ClassDisjointKFold(4, shuffle=True, random_state=0), scoring=zero_shot_scorer,
                          error_score="raise")
    search.fit(x, y, class_attributes=demo.class_attributes)
    assert search.best_score_ > 0.6  # two classes in a fold: 0.5 is chance
    train, test = next(search.cv.split(x, y))
    first = ParsNetsClassifier(**{**search.estimator.get_params(), **search.cv_results_["params"][0]})
    first.fit(x[train], y[train], class_attributes=demo.class_attributes)
    assert search.cv_results_["split0_test_score"][0] == zero_shot_scorer(first, x[test], y[test])
    assert search.score(demo.X[demo.test_unseen], demo.y[demo.test_unseen]) > 0.8


def test_grid_search_in_several_processes_gives_the_same(demo):
    x, y = training(demo)
    scores = []
    for jobs in (1, 2):
        search = GridSearchCV(ParsNetsClassifier(method="ridge", threads=1),
                              {"options": [{"lambda": v} for v in (1, 10)]},
                              cv=ClassDisjointKFold(2), scoring=zero_shot_scorer, n_jobs=jobs, error_score="raise")
        scores.append(search.fit(x, y, class_attributes=demo.class_attributes).cv_results_["mean_test_score"])
    assert np.array_equal(*scores)


def test_frames_bring_feature_names_and_take_attribute_names(demo):
    frame = pd.DataFrame(demo.X[demo.trainval], columns=[f"f{i}" for i in range(192)])
    table = pd.DataFrame(demo.semantics, index=demo.class_names, columns=demo.attribute_names)
    model = ParsNetsClassifier(method="ridge").fit(frame, demo.y[demo.trainval], class_attributes=table)
    assert model.feature_names_in_[3] == "f3"
    out = model.set_output(transform="pandas").transform(frame[:4])
    assert list(out.columns) == demo.attribute_names and out.shape == (4, 39)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


def test_options_reach_the_engine_and_bad_ones_are_refused(demo):
    x, y = training(demo)

    def fit(**parameters):
        return ParsNetsClassifier(**parameters).fit(x, y, class_attributes=demo.class_attributes)

    model = fit(method="scln", options={"networks": 16, "open": 4, "encoding": 32, "feature_scaling": "l2"})
    assert model._model.networks == 16 and model.explain(x[:1])[0].open_networks.shape == (4,)
    assert '"feature-scaling":"l2"' in model.trained_options_.replace(" ", "")
    for bad in ({"method": "magic"}, {"options": {"lambda": -1}}, {"options": {"no-such": 1}}, {"threads": -1},
                {"seed": -1}, {"seed": 1.5}, {"options": {"seed": 3}}):
        with pytest.raises(Usage):
            fit(**bad)
    with pytest.raises(Usage, match="validation"):
        ParsNetsClassifier().fit(x, y, validation="sometimes")


def test_bad_arrays_are_refused_with_advice(demo, ridge, tmp_path):
    x, y = training(demo)
    fit = ParsNetsClassifier(method="ridge").fit
    short = {name: demo.class_attributes[name] for name in ("cat", "dog")}
    with pytest.raises(BadInput, match="airplane"):
        fit(x, y, class_attributes=short)
    with pytest.raises(BadInput, match="finite|NaN|nan"):
        fit(x, y, class_attributes={n: v * np.nan for n, v in demo.class_attributes.items()})
    with pytest.raises(BadInput):
        fit(x, y, class_attributes={**demo.class_attributes, "cat": [1.0]})
    with pytest.raises(BadInput, match="NUL"):
        fit(x, y, class_attributes={**demo.class_attributes, "a\0b": demo.semantics[0]})
    with pytest.raises(BadInput, match="kind"):
        fit(x, demo.labels[demo.trainval], class_attributes=demo.class_attributes)
    with pytest.raises(ValueError, match="features"):
        ridge.predict(x[:, :-1])
    with pytest.raises(BadInput, match="missing.safetensors"):
        ParsNetsClassifier.load(tmp_path / "missing.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(BadInput, match="bad.safetensors"):
        ParsNetsClassifier.load(tmp_path / "bad.safetensors")
    with pytest.raises(ParsNetsError):
        ridge.save(tmp_path / "no" / "such" / "folder" / "m.safetensors")


def test_contiguous_float32_is_not_copied(demo, ridge):
    _, x = ridge._ready(demo.X)
    assert np.shares_memory(x, demo.X)
    _, x = ridge._ready(demo.X.astype(np.float64))
    assert x.dtype == np.float32


def test_results_do_not_depend_on_threads(demo):
    x, y = training(demo)
    options = {"networks": 16, "open": 4, "encoding": 32}
    files = {ParsNetsClassifier(threads=t, options=options).fit(x, y, class_attributes=demo.class_attributes)
             ._model.to_bytes() for t in (1, 2, 5)}
    assert len(files) == 1


def test_threads_predict_while_classes_change(demo, ridge):
    x = demo.X[:300]
    problems = []

    def predict():
        try:
            for _ in range(30):
                labels = ridge.predict(x)
                assert set(labels) <= set(demo.class_names) | {"okapi"}
                probabilities = ridge.predict_proba(x)
                assert probabilities.shape[1] in (10, 11)
        except BaseException as error:  # threads swallow them
            problems.append(error)

    threads = [threading.Thread(target=predict) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ridge.add_class("okapi", demo.semantics[4] * 0.9)
        ridge.remove_class("okapi")
    for thread in threads:
        thread.join()
    assert not problems
