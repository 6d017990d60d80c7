import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from same_bytes import assert_same_bytes

from parsnets import (DAP, ESZSL, SAE, BadInputError, ParsNetsClassifier, RidgeZSL, UsageError, ZeroShotClassifier,
                      load_model)

DEMO = Path(__file__).resolve().parents[2] / "data" / "demo"
BASELINES = [
    (RidgeZSL(alpha=3), "--method ridge --lambda 3"),
    (RidgeZSL(alpha=3, reverse=True), "--method reverse-ridge --lambda 3"),
    (ESZSL(alpha=10, semantic_alpha=0.1), "--method eszsl --lambda 10 --semantic-lambda 0.1"),
    (SAE(alpha=0.5), "--method sae --lambda 0.5"),
    (SAE(alpha=0.5, reverse=True), "--method sae-reverse --lambda 0.5"),
    (DAP(alpha=10), "--method dap --lambda 10"),
    (RidgeZSL(search="grid"), "--method ridge --search grid"),
]


@pytest.mark.parametrize("estimator, flags", BASELINES, ids=lambda value: str(value))
def test_files_have_the_bytes_of_the_command_line(demo, tool, tmp_path, estimator, flags):
    subprocess.run([tool, "train", "--data", DEMO, "--out", tmp_path / "cli", *flags.split(), "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    clone(estimator).fit_dataset(demo).save(tmp_path / "python")
    assert_same_bytes(tmp_path / "cli", tmp_path / "python")


@pytest.mark.parametrize("estimator, flags", BASELINES[:6], ids=lambda value: str(value))
def test_a_file_is_loaded_as_the_estimator_that_wrote_it(demo, tmp_path, estimator, flags):
    fitted = clone(estimator).fit_dataset(demo)
    fitted.save(tmp_path / "m.safetensors")
    for loaded in (load_model(tmp_path / "m.safetensors"), ZeroShotClassifier.load(tmp_path / "m.safetensors"),
                   type(estimator).load(tmp_path / "m.safetensors")):
        assert type(loaded) is type(estimator)
        assert getattr(loaded, "reverse", None) == getattr(estimator, "reverse", None)
        assert np.array_equal(loaded.class_scores(demo.X[:20]), fitted.class_scores(demo.X[:20]))
        assert hasattr(loaded, "transform") == hasattr(estimator, "transform")
    named = ParsNetsClassifier.load(tmp_path / "m.safetensors", n_jobs=2)
    assert named.method == flags.split()[1] and named.n_jobs == 2
    other = ESZSL if type(estimator) is not ESZSL else DAP
    with pytest.raises(BadInputError, match="load_model"):
        other.load(tmp_path / "m.safetensors")


@pytest.mark.parametrize("method", ["parsnets", "paper", "scln", "mmg"])
def test_files_of_networks_are_loaded_as_parsnets_classifiers(demo, tmp_path, method):
    model = ParsNetsClassifier(method, networks=8, active=None if method == "mmg" else 4, encoding=32,
                               loss=None if method == "parsnets" else "ridge")
    model.fit_dataset(demo).save(tmp_path / "m.safetensors")
    loaded = load_model(tmp_path / "m.safetensors")
    assert type(loaded) is ParsNetsClassifier and loaded.method == method


@pytest.mark.parametrize("estimator, method", [
    (RidgeZSL(), "ridge"), (RidgeZSL(reverse=True), "reverse-ridge"), (ESZSL(), "eszsl"), (SAE(), "sae"),
    (SAE(reverse=True), "sae-reverse"), (DAP(), "dap")])
def test_baselines_are_the_engines_methods(demo, estimator, method):
    model, named = estimator.fit_dataset(demo), ParsNetsClassifier(method).fit_dataset(demo)
    assert_same_bytes(model._model.to_bytes(), named._model.to_bytes())
    assert model.evaluate(demo).zsl_top1_per_class > 0.8
    assert hasattr(model, "transform") == ("reverse" not in method)


def test_alpha_regularises(demo):
    norms = [np.abs(RidgeZSL(alpha=alpha).fit_dataset(demo).transform(demo.X)).mean() for alpha in (1e-3, 1, 1e3, 1e6)]
    assert all(np.isfinite(norms)) and len(set(norms)) == 4
    spread = [RidgeZSL(alpha=alpha).fit_dataset(demo).transform(demo.X).std(axis=0).mean() for alpha in (1, 1e3, 1e6)]
    assert spread[0] > spread[1] > spread[2]


def test_impossible_parameters_are_refused_by_their_python_names(demo):
    with pytest.raises(UsageError, match="^semantic_alpha: expected a number"):
        ESZSL(semantic_alpha=-1).fit_dataset(demo)
    with pytest.raises(UsageError, match="semantic_whitening: expected 0 for method dap"):
        DAP(semantic_whitening=0.5).fit_dataset(demo)
    with pytest.raises(UsageError, match="search=.auto. requires method=.parsnets."):
        DAP(search="auto").fit_dataset(demo)


def test_a_search_is_recorded(demo):
    model = SAE(search="grid", feature_scaling="l2").fit_dataset(demo)
    assert model.trained_options_["feature-scaling"] == "l2"
    assert "lambda=" in model.record_["chosen"]
