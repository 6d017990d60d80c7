"""scikit-learn's own checks of estimators, each a test of its own, and its pipelines and searches."""

import inspect
import unittest

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from parsnets import DAP, ESZSL, SAE, ClassDisjointKFold, ParsNetsClassifier, RidgeZSL, load_model
from parsnets.metrics import zero_shot_scorer

CLOSED_FORM = ParsNetsClassifier(networks=0, refine_steps=0)
ESTIMATORS = [ParsNetsClassifier(), CLOSED_FORM, ParsNetsClassifier("scln"),
              ParsNetsClassifier("mmg", loss="ridge"), RidgeZSL(), RidgeZSL(reverse=True), ESZSL(), SAE(),
              SAE(reverse=True), DAP()]
RESULTS = []  # (estimator, check, why scikit-learn skipped it or None)


def refuses_weights(estimator):
    return isinstance(estimator, ParsNetsClassifier) and estimator.networks != 0


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    name = getattr(check, "func", check).__name__
    try:
        if ("sample_weight" in name or "class_weight" in name) and refuses_weights(estimator):
            with pytest.raises(Exception, match="(sample|class)_weight"):  # some checks wrap the error
                check(estimator)
        elif "sample_weight" in name and "equivalence" in name:
            with pytest.raises(AssertionError, match="rtol=1e-07"):  # float32; test_statistics.py has the tolerance
                check(estimator)
        elif name == "check_class_weight_classifiers" and estimator.networks == 0:
            with pytest.raises(AssertionError):  # weights are copies of samples, not a prior: no class is preferred
                check(estimator)
        else:
            check(estimator)
    except unittest.SkipTest as reason:
        RESULTS.append((repr(estimator), name, str(reason)))
        pytest.fail(f"scikit-learn skips {name}: {reason}")
    RESULTS.append((repr(estimator), name, None))


def test_no_check_is_skipped_or_expected_to_fail(capsys, request):
    for estimator in ESTIMATORS:
        if hasattr(estimator, "_get_tags"):  # before scikit-learn 1.6, which has no such tag
            assert not estimator._get_tags()["_xfail_checks"]
    all_checks = sum(1 for estimator in ESTIMATORS for _ in check_estimator(estimator, generate_only=True))
    asked = [item for item in request.session.items if getattr(item, "originalname", "") == "test_scikit_learn_check"]
    skipped = [result for result in RESULTS if result[2] is not None]
    with capsys.disabled():
        print(f"\nscikit-learn's checks: {len(RESULTS)} of {all_checks} run for {len(ESTIMATORS)} estimators, "
              f"{len(skipped)} skipped by scikit-learn itself"
              + "".join(f"\n  {estimator} {name}: {reason}" for estimator, name, reason in skipped))
    assert len(RESULTS) == len(asked) and not skipped
    assert not any(item.get_closest_marker(mark) for item in asked for mark in ("xfail", "skip", "skipif"))


def training(demo):
    return demo.X[demo.trainval], demo.y[demo.trainval]


def test_clone_keeps_parameters_and_forgets_the_model(demo):
    fitted = ESZSL(alpha=3, semantic_alpha=0.5, options={"calibrate": False}, n_jobs=2).fit_dataset(demo)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params() and twin.alpha == 3
    assert twin.set_params(alpha=4, semantic_whitening=0.2).get_params()["alpha"] == 4
    with pytest.raises(ValueError, match="lambda"):
        twin.set_params(**{"lambda": 3})
    with pytest.raises(NotFittedError):
        twin.predict(np.zeros((1, 192), np.float32))


@pytest.mark.parametrize("kind", [ParsNetsClassifier, RidgeZSL, ESZSL, SAE, DAP])
def test_constructors_only_store(kind):
    marks = {name: object() for name in kind().get_params()}
    stored = kind(**marks)
    assert stored.__dict__ == marks and stored.get_params(deep=False) == marks
    assert set(kind._options()) <= set(marks)


def test_works_in_a_pipeline(demo):
    x, y = training(demo)
    pipeline = make_pipeline(FunctionTransformer(np.abs), RidgeZSL())
    pipeline.fit(x, y, ridgezsl__class_attributes=demo.class_attributes)
    rows = demo.test_unseen
    assert zero_shot_scorer(pipeline, demo.X[rows], demo.y[rows]) > 0.8
    assert pipeline.transform(demo.X[:3]).shape == (3, 39)


def test_grid_search_over_alpha_on_disjoint_classes(demo):
    x, y = training(demo)
    search = GridSearchCV(RidgeZSL(), {"alpha": [1e9, 1], "feature_scaling": ["none", "sqrt-l2"]},
                          cv=ClassDisjointKFold(4, shuffle=True, random_state=0), scoring=zero_shot_scorer,
                          error_score="raise")
    search.fit(x, y, class_attributes=demo.class_attributes, validation="none")
    assert search.best_score_ > 0.6 and search.best_params_["alpha"] == 1  # two classes in a fold: 0.5 is chance
    train, test = next(search.cv.split(x, y))
    first = clone(search.estimator).set_params(**search.cv_results_["params"][0])
    first.fit(x[train], y[train], class_attributes=demo.class_attributes, validation="none")
    assert search.cv_results_["split0_test_score"][0] == zero_shot_scorer(first, x[test], y[test])
    assert search.score(demo.X[demo.test_unseen], demo.y[demo.test_unseen]) > 0.8


def test_grid_search_over_methods_and_networks(demo):
    x, y = training(demo)
    search = GridSearchCV(ParsNetsClassifier(encoding=32, active=4),
                          {"method": ["parsnets", "scln"], "networks": [4, 16]}, cv=ClassDisjointKFold(2),
                          scoring=zero_shot_scorer, error_score="raise")
    search.fit(x, y, class_attributes=demo.class_attributes, validation="none")
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_._model.networks == search.best_params_["networks"]


def test_grid_search_in_several_processes_gives_the_same(demo):
    x, y = training(demo)
    scores = []
    for jobs in (1, 2):
        search = GridSearchCV(RidgeZSL(), {"alpha": [0.01, 100]}, cv=ClassDisjointKFold(2), scoring=zero_shot_scorer,
                              n_jobs=jobs, error_score="raise")
        scores.append(search.fit(x, y, class_attributes=demo.class_attributes).cv_results_["mean_test_score"])
    assert np.array_equal(*scores) and len(set(scores[0])) == 2


def test_cross_val_score_holds_classes_out(demo):
    x, y = training(demo)
    handed_on = "params" if "params" in inspect.signature(cross_val_score).parameters else "fit_params"  # before 1.4
    scores = cross_val_score(ESZSL(), x, y, cv=ClassDisjointKFold(4), scoring=zero_shot_scorer, error_score="raise",
                             **{handed_on: {"class_attributes": demo.class_attributes}})
    assert scores.shape == (4,) and scores.mean() > 0.6
    plain = cross_val_score(RidgeZSL(), x, y, cv=3, error_score="raise")  # without attributes, all classes in each fold
    assert plain.shape == (3,) and plain.min() > 0.5


def test_frames_bring_feature_names_and_take_attribute_names(demo):
    frame = pd.DataFrame(demo.X[demo.trainval], columns=[f"f{i}" for i in range(192)])
    table = pd.DataFrame(demo.semantics, index=demo.class_names, columns=demo.attribute_names)
    model = RidgeZSL().fit(frame, pd.Series(demo.y[demo.trainval]), class_attributes=table)
    assert model.feature_names_in_[3] == "f3"
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.warns(UserWarning, match="feature names"):  # the fast path must not hide it
        model.predict(demo.X[:1])
    out = model.set_output(transform="pandas").transform(frame[:4])
    assert list(out.columns) == demo.attribute_names and out.shape == (4, 39)
    assert np.array_equal(out, model.set_output(transform="default").transform(frame[:4]))


def test_names_of_features_and_attributes_survive_files(demo, tmp_path):
    frame = pd.DataFrame(demo.X[demo.trainval], columns=[f"f{i} \N{MICRO SIGN}m" for i in range(192)])
    model = RidgeZSL().fit(frame, demo.y[demo.trainval], class_attributes=demo.class_attributes)
    model.add_class("okapi", demo.semantics[0] * 0.5).calibrate(gamma=0.1).save(tmp_path / "named.safetensors")
    loaded = load_model(tmp_path / "named.safetensors")
    assert loaded.feature_names_in_.tolist() == list(frame.columns) and loaded.feature_names_in_.dtype == object
    assert list(loaded.attribute_names_) == demo.attribute_names
    assert np.array_equal(loaded.predict(frame[:5]), model.predict(frame[:5]))
    turned = frame[frame.columns[::-1]]
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        loaded.predict(turned[:5])
    with pytest.raises(ValueError, match="unseen at fit time"):
        loaded.predict(frame[:5].rename(columns={frame.columns[0]: "new"}))


def test_files_without_feature_names_load_without(demo, tmp_path):
    frame = pd.DataFrame(demo.X[demo.trainval], columns=[f"f{i}" for i in range(192)])
    bare = RidgeZSL().fit(demo.X[demo.trainval], demo.y[demo.trainval], class_attributes=demo.class_attributes)
    bare.save(tmp_path / "bare.safetensors")
    assert b'"features":"[' not in (tmp_path / "bare.safetensors").read_bytes()  # as files were before they had names
    assert not hasattr(load_model(tmp_path / "bare.safetensors"), "feature_names_in_")
    numbered = RidgeZSL().fit(frame.T.reset_index(drop=True).T, demo.y[demo.trainval],
                              class_attributes=demo.class_attributes)
    assert numbered._model.to_bytes() == bare._model.to_bytes()
