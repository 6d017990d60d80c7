"""The engine's messages name options by the parameters of Python."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from mat_folder import save_xlsa17

from parsnets import DAP, BadInputError, ESZSL, ParsNetsClassifier, ParsNetsError, RidgeZSL, UsageError, datasets

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "data" / "demo"


@pytest.fixture(scope="module")
def mat(demo, tmp_path_factory):
    return save_xlsa17(demo, tmp_path_factory.mktemp("data") / "mat")


def test_of_folders(mat, tmp_path):
    with pytest.raises(BadInputError, match="; set features to one of them$"):
        datasets.load_xlsa17(mat, features="res7")
    with pytest.raises(BadInputError, match="; set semantics to one of them$"):
        datasets.load_xlsa17(mat, features="features", semantics="none")
    shutil.copytree(DEMO, tmp_path / "data")
    table = tmp_path / "data" / "attributes.csv"
    table.write_text(re.sub(r",\d+", ",", table.read_text(), count=1))
    with pytest.raises(BadInputError, match="fill it in or use missing='attribute-mean'$"):
        datasets.load_folder(tmp_path / "data", missing="refuse")
    (tmp_path / "data" / "split.json").unlink()
    assert len(datasets.load_folder(tmp_path / "data", missing="attribute-mean").test_unseen) == 0  # all samples train


@pytest.mark.parametrize("estimator, message", [
    (ParsNetsClassifier(options={"memory-limit": "1kB"}),
     r"^options\['memory-limit'\]: expected at least .* for refinement"),
    (ParsNetsClassifier("scln", options={"relu": True}), r"^options\['relu'\] requires loss='ridge': "),
    (ParsNetsClassifier(networks=100, active=500), r"^active: expected at most networks \(100\), found 500"),
    (ParsNetsClassifier(networks=100, options={"active": 500}), r"^active: expected at most networks \(100\), found"),
    (RidgeZSL(search="auto"), "^search='auto' requires method='parsnets'$"),
    (ParsNetsClassifier(c=1), "^method='parsnets' does not have c$"),
    (RidgeZSL(options={"relu": True}), r"^method='ridge' does not have options\['relu'\]$"),
    (RidgeZSL(alpha="high"), "^alpha: expected .* found 'high'"),
    (DAP(semantic_whitening=0.5), "^semantic_whitening: expected 0 for method dap"),
    (RidgeZSL(options={"tolerance": 7}), r"^options\['tolerance'\]: expected a number from .* found '7'"),
])
def test_of_training_options_name_the_parameter_or_the_entry_of_options(demo, estimator, message):
    with pytest.raises(UsageError, match=message):
        estimator.fit_dataset(demo)


@pytest.mark.parametrize("name, proposed", [
    ("lamda", "did you mean 'lambda'?"),
    ("netwroks", "did you mean 'networks'?"),
    ("memory_limits", "did you mean 'memory-limit'?"),
    ("qqq", ""),
])
def test_unknown_options_are_answered_with_similar_ones(demo, name, proposed):
    with pytest.raises(UsageError) as raised:
        ESZSL(options={name: 1}).fit_dataset(demo)
    said = f"unknown training option '{name.replace('_', '-')}'"
    assert str(raised.value) == f"{said}; {proposed or 'docs/options.md lists them'}"


def test_of_classes(demo):
    model = RidgeZSL().fit_dataset(demo)
    with pytest.raises(BadInputError, match=r"class 'deer'.* found none of that name; add the class to the model$"):
        model.remove_class("deer").evaluate(demo)
    unseen = datasets.from_arrays(demo.X, demo.labels, demo.semantics, demo.class_names)
    with pytest.raises(BadInputError, match="draw a split that holds classes out, as docs/data.md describes, and "
                                            "train again$"):
        model.evaluate(unseen)


def test_of_export(demo):
    model = ParsNetsClassifier(networks=16, active=4).fit_dataset(demo)
    with pytest.raises(UsageError, match=r"^rank: expected at most 16, the number of networks, found 99"):
        model.export(rank=99)
    with pytest.raises(ParsNetsError, match="^max_bytes=10: .* Train with a smaller encoding$"):
        model.export(demo, max_bytes=10)
    with pytest.raises(UsageError, match="^max_bytes requires data: "):
        model.export(max_bytes=100000)
    with pytest.raises(UsageError, match="^name: expected a C identifier as its name, found '7 up'"):
        model.export().save_header("unused.h", name="7 up")


def test_missing_attributes_are_named_by_class_and_attribute(demo):
    table = {**demo.class_attributes, "horse": np.array([np.nan, *demo.class_attributes["horse"][1:]])}
    with pytest.raises(BadInputError,
                       match=f"class 'horse', attribute '?{demo.attribute_names[0]}'?: expected a finite"):
        RidgeZSL().fit(demo.X[demo.trainval], demo.y[demo.trainval], class_attributes=table,
                       attribute_names=demo.attribute_names)
