"""The engine's messages in the words of Python."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from parsnets import DAP, BadInput, ESZSL, ParsNetsClassifier, ParsNetsError, RidgeZSL, Usage, _library, datasets
from parsnets._messages import in_python

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "data" / "demo"


@pytest.fixture(scope="module")
def mat(tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "mat"
    subprocess.run([tool, "data", "convert", DEMO, folder, "--format", "mat5", "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def test_of_folders(mat, tmp_path):
    with pytest.raises(BadInput, match="; choose one with features=NAME$"):
        datasets.load_xlsa17(mat, features="res7")
    with pytest.raises(BadInput, match="; choose one with semantics=NAME$"):
        datasets.load_xlsa17(mat, features="features", semantics="none")
    shutil.copytree(DEMO, tmp_path / "data")
    table = tmp_path / "data" / "attributes.csv"
    table.write_text(re.sub(r",\d+", ",", table.read_text(), count=1))
    with pytest.raises(BadInput, match='fill it in or use missing="attribute-mean"$'):
        datasets.load_folder(tmp_path / "data", missing="refuse")
    (tmp_path / "data" / "split.json").unlink()
    with pytest.raises(BadInput, match="make one with 'python -m parsnets data split "):
        datasets.load_folder(tmp_path / "data")


@pytest.mark.parametrize("estimator, message", [
    (ParsNetsClassifier(options={"memory-limit": "1kB"}), "^'memory-limit': expected at least .* for refinement"),
    (ParsNetsClassifier(options={"relu": True}, loss="svr"), "^'relu': expected loss ridge,"),
    (ParsNetsClassifier(open_networks=500), r"^open_networks: expected at most networks \(192\), found 500"),
    (ParsNetsClassifier(options={"open": 500}), r"^open_networks: expected at most networks \(192\), found 500"),
    (ParsNetsClassifier(preset="auto", select=True), "^preset auto: expected without select, 'grid' and 'resume',"),
    (RidgeZSL(alpha="high"), "^alpha: expected .* found 'high'"),
    (DAP(similarity="cosine"), "^similarity: expected dot for dap"),
])
def test_of_training_options_have_the_names_of_parameters_or_stand_in_quotes(demo, estimator, message):
    with pytest.raises(Usage, match=message):
        estimator.fit_dataset(demo)


@pytest.mark.parametrize("name, proposed", [
    ("lamda", "did you mean 'lambda'?"),
    ("netwroks", "did you mean 'networks'?"),
    ("memory_limits", "did you mean 'memory-limit'?"),
    ("qqq", ""),
])
def test_unknown_options_are_answered_with_similar_ones(demo, name, proposed):
    with pytest.raises(Usage) as raised:
        ESZSL(options={name: 1}).fit_dataset(demo)
    said = f"option '{name.replace('_', '-')}': expected an option of training, found no such name; docs/options.md " \
           "lists them"
    assert str(raised.value) == (f"{said}; {proposed}" if proposed else said)


def test_option_names_are_those_of_the_documentation():
    documented = set(re.findall(r"--([a-z][a-z-]*)", (ROOT / "docs" / "options.md").read_text()))
    names = _library.option_names()
    assert {"lambda", "networks", "memory-limit"} < set(names) <= documented


def test_of_classes(demo):
    model = RidgeZSL().fit_dataset(demo)
    with pytest.raises(BadInput, match=r"class 'deer'.* found none of that name; add it with add_class\(\)$"):
        model.remove_class("deer").evaluate(demo)
    unseen = datasets.from_arrays(demo.X, demo.labels, demo.semantics, demo.class_names)
    with pytest.raises(BadInput, match="; check the split with 'python -m parsnets data inspect'$"):
        model.evaluate(unseen)


def test_of_export(demo):
    model = ParsNetsClassifier(networks=16, open_networks=4).fit_dataset(demo)
    with pytest.raises(Usage, match=r"^rank: expected at most 16, the number of networks, not 99"):
        model.export(rank=99)
    with pytest.raises(ParsNetsError, match=r"^max_bytes 10.*\(train 'encoding'\) make it smaller"):
        model.export(demo, max_bytes=10)
    with pytest.raises(Usage, match="^max_bytes: expected data too"):
        model.export(max_bytes=100000)


def test_nothing_of_the_command_line_is_left_in_what_the_engine_says_to_users_of_the_library():
    """All literals of the sources that name a flag, a command or a function of C, but for those of the tool alone."""
    said = set()
    for file in (ROOT / "src").rglob("*.cpp"):
        if "cli" not in file.parts:
            said |= set(re.findall(r'"((?:[^"\\\n]|\\.)*)"', file.read_text("utf-8")))
    flags = {text for text in said if re.search(r"(?<!\S)--[a-z]", text)}
    assert len(flags) > 20
    translated = {in_python(flag, _library.option_names) for flag in flags}
    assert not {text for text in translated if re.search(r"(?<!\S)--[a-z]", text)}


def test_missing_attributes_are_named_by_class_and_attribute(demo):
    table = {**demo.class_attributes, "horse": np.array([np.nan, *demo.class_attributes["horse"][1:]])}
    with pytest.raises(BadInput, match=f"class 'horse', attribute '?{demo.attribute_names[0]}'?: expected a finite"):
        RidgeZSL().fit(demo.X[demo.trainval], demo.y[demo.trainval], class_attributes=table,
                       attribute_names=demo.attribute_names)
