import copy
import filecmp
import gc
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mat_folder import save_xlsa17
from same_bytes import assert_same_bytes

from parsnets import ESZSL, BadInputError, ParsNetsClassifier, UsageError, _library, datasets

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "data" / "demo"


def test_arrays_are_those_of_the_files(demo):
    assert np.array_equal(demo.X, np.load(DEMO / "features.npy"))
    assert np.array_equal(demo.labels, np.load(DEMO / "labels.npy"))
    assert set(demo.y[demo.test_unseen]) == {"deer", "truck"}
    assert not set(demo.y[demo.train]) & set(demo.y[demo.val])
    with pytest.raises(ValueError):
        demo.X[0, 0] = 1


def test_a_split_file_takes_the_place_of_the_folders_own(tmp_path):
    file = tmp_path / "my.json"
    file.write_text('{"unseen_classes": ["cat", 5]}')
    data = datasets.load_folder(DEMO, split=file)
    assert set(data.labels[data.test_unseen]) == {data.class_names.index("cat"), 5}
    assert np.array_equal(pickle.loads(pickle.dumps(data)).trainval, data.trainval)
    with pytest.raises(BadInputError, match="unseen_classes: expected a class of the data set, found 'unicorn'"):
        file.write_text('{"unseen_classes": ["unicorn"]}')
        datasets.load_folder(DEMO, split=file)


def test_files_may_be_chosen_by_path_and_lists_of_classes_are_a_split(demo, tmp_path, monkeypatch):
    shutil.copytree(DEMO, tmp_path / "data")
    np.save(tmp_path / "clip.npy", demo.X[:, :7])
    with open(tmp_path / "words.txt", "w") as file:
        for c, name in enumerate(demo.class_names):
            print(name, c, 0.5, file=file)
    lists = tmp_path / "data" / "standard_split"
    lists.mkdir()
    (lists / "trainvalclasses.txt").write_text("\n".join(demo.class_names[:8]))
    (lists / "testclasses.txt").write_text("\n".join(demo.class_names[8:]))
    monkeypatch.chdir(tmp_path)
    data = datasets.load_folder("data", features="clip.npy", semantics="att,words.txt", split="standard")
    assert np.array_equal(data.X, demo.X[:, :7])
    assert np.array_equal(data.semantics[:, -2], np.arange(10))
    assert set(data.y[data.test_unseen]) == set(demo.class_names[8:])
    assert len(data.test_seen) == 0
    pickled = pickle.dumps(data)
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)
    assert np.array_equal(again.X, data.X) and np.array_equal(again.semantics, data.semantics)
    assert np.array_equal(again.test_unseen, data.test_unseen)
    assert np.array_equal(datasets.load_folder(tmp_path / "data", split=lists).trainval, data.trainval)


def test_other_semantics_than_the_models_are_refused(demo):
    few = datasets.from_arrays(demo.X, demo.labels, demo.semantics[:, 1:], demo.class_names,
                               test=np.isin(np.arange(len(demo.X)), demo.trainval, invert=True))
    with pytest.raises(BadInputError,
                       match="semantics: expected those of the model, 'attributes.csv'.* found 'arrays'"):
        ESZSL().fit_dataset(demo).evaluate(few)
    with pytest.raises(BadInputError, match="nonsense"):
        datasets.load_folder(DEMO, semantics="nonsense")


def test_features_of_another_backbone_than_the_models_are_refused(tmp_path):
    source = {"backbone": "net.onnx", "layer": "features", "preset": "tf", "fit": "whole", "width": 32, "height": 32,
              "dimensions": 192}
    for digit in "ab":
        shutil.copytree(DEMO, tmp_path / digit)
        (tmp_path / digit / "extraction.json").write_text(json.dumps({**source, "sha256": 64 * digit}))
    own, other = (datasets.load_folder(tmp_path / digit) for digit in "ab")
    model = ESZSL().fit_dataset(own)
    assert model.evaluate(own).zsl_top1_per_class > 0.5
    with pytest.raises(BadInputError,
                       match="expected features of the backbone of training.*aaaaaaaaaaaa.*bbbbbbbbbbbb"):
        model.evaluate(other)


def test_several_tables_of_semantics_describe_classes_together(demo, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(DEMO, folder)
    extra = np.random.default_rng(0).normal(size=(len(demo.class_names), 3)).astype(np.float32)
    np.save(folder / "noise.npy", extra)
    data = datasets.load_folder(folder, semantics="att,noise")
    assert np.array_equal(data.semantics, np.hstack([demo.semantics, extra]))
    assert data.attribute_names[-3:] == ["noise 1", "noise 2", "noise 3"]
    assert np.array_equal(pickle.loads(pickle.dumps(data)).semantics, data.semantics)
    weighed = ParsNetsClassifier(options={"semantic-weights": [0.9, 0.1]}).fit_dataset(data)
    assert weighed.evaluate(data).zsl_top1_per_class > 0.5
    scores = weighed.decision_function(data.X[:5])
    weighed.add_class("again", data.semantics[2])
    assert np.allclose(weighed.decision_function(data.X[:5])[:, :-1], scores)
    with pytest.raises(BadInputError, match="attributes: expected"):
        weighed.add_class("short", demo.semantics[2])
    with pytest.raises(UsageError, match="one per table of semantics"):
        ParsNetsClassifier(options={"semantic-weights": (1, 2, 3)}).fit_dataset(data)


def test_views_outlive_the_data_set():
    x = datasets.load_folder(DEMO).X
    gc.collect()
    assert np.array_equal(x, np.load(DEMO / "features.npy"))


def test_bad_folders_and_options_are_refused(tmp_path):
    with pytest.raises(BadInputError, match=str(tmp_path)):
        datasets.load_folder(tmp_path / "none")
    with pytest.raises(UsageError, match="missing"):
        datasets.load_folder(DEMO, missing="guess")
    with pytest.raises(UsageError, match="seed"):
        datasets.load_folder(DEMO, seed=-1)
    with pytest.raises(UsageError, match="folder: expected text, found b'"):
        datasets.load_folder(bytes(DEMO))
    with pytest.raises(UsageError, match="features: expected text, found 7"):
        datasets.load_folder(DEMO, features=7)


def arrays(**changes):
    given = {"X": np.eye(8), "labels": [0, 1, 2, 3, 0, 1, 2, 4], "semantics": np.eye(5), "class_names": list("abcde")}
    return datasets.from_arrays(**{**given, **changes})


def test_flags_hold_samples_and_classes_out():
    data = arrays(test=[0, 0, 0, 0, 1, 0, 0, 1], validation=[0, 1, 0, 1, 0])
    assert data.trainval.tolist() == [0, 1, 2, 3, 5, 6]
    assert (data.test_seen.tolist(), data.test_unseen.tolist()) == ([4], [7])
    assert (data.train.tolist(), data.val.tolist()) == ([0, 2, 6], [1, 3, 5])
    assert data.validation_classes == ["b", "d"]
    assert len(arrays().validation_classes) == 1  # drawn
    x = np.eye(8, dtype=np.float32)
    assert np.shares_memory(arrays(X=x).X, x)


def test_names_of_classes_and_attributes_may_be_anything_that_has_text():
    data = arrays(class_names=range(5), attribute_names={"a": 0, 1: 0, 2.5: 0, (1, 2): 0, None: 0}.keys())
    assert data.class_names == ["0", "1", "2", "3", "4"]
    assert data.attribute_names == ["a", "1", "2.5", "(1, 2)", "None"]


def test_labels_may_be_the_names_of_classes():
    numbers = arrays(test=[0, 0, 0, 0, 1, 0, 0, 1])
    for names in (list("abcdabce"), np.array(list("abcdabce")), pd.Series(list("abcdabce")),
                  pd.Series(list("abcdabce"), dtype="category")):
        data = arrays(labels=names, test=[0, 0, 0, 0, 1, 0, 0, 1])
        assert data.labels.tolist() == [0, 1, 2, 3, 0, 1, 2, 4] and data.trainval.tolist() == numbers.trainval.tolist()
        assert data.y.tolist() == list("abcdabce")
    assert arrays(class_names=[7, 8, 9, 5, 6], labels=list("78957896")).y.tolist() == list("78957896")
    with pytest.raises(BadInputError,
                       match="labels: expected names in class_names, or class numbers, found 'A', 'z'; add"):
        arrays(labels=list("abcdaAez"))
    with pytest.raises(BadInputError, match=r"labels \(2,\)"):
        arrays(labels=["a", "b"])


def test_class_attributes_bring_the_names_of_the_attributes(demo):
    table = demo.class_attributes
    assert isinstance(table, dict) and list(table) == demo.class_names
    assert table.attribute_names == demo.attribute_names and len(table.attribute_names) == 39
    again = pickle.loads(pickle.dumps(table))
    assert again.attribute_names == table.attribute_names and np.array_equal(again["cat"], table["cat"])
    assert arrays().class_attributes.attribute_names is None


def test_a_data_set_is_copied_by_reference():
    data = arrays()
    assert copy.copy(data) is data and copy.deepcopy([data])[0] is data


def same(one, other):
    for name in ("X", "labels", "semantics", "trainval", "test_seen", "test_unseen", "train", "val"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    return (one.name, one.class_names, one.attribute_names, one.folder) == (
        other.name, other.class_names, other.attribute_names, other.folder)


def test_a_data_set_from_memory_is_pickled_with_its_arrays():
    for data in (arrays(), arrays(test=[0, 0, 0, 0, 1, 0, 0, 1], validation=[0, 1, 0, 1, 0], name="mine"),
                 arrays(labels=list("abcdabce"), attribute_names=list("vwxyz"), seed=5)):
        again = pickle.loads(pickle.dumps(data))
        assert same(again, data) and again.folder is None
        assert same(pickle.loads(pickle.dumps(again)), data)


def test_a_loaded_data_set_is_pickled_as_its_folder_with_the_options_of_loading(tmp_path, monkeypatch):
    shutil.copytree(DEMO, tmp_path / "data")
    split = json.loads((DEMO / "split.json").read_text())
    del split["val_classes"]  # drawn by the seed
    (tmp_path / "data" / "split.json").write_text(json.dumps(split))
    monkeypatch.chdir(tmp_path)
    data = datasets.load_folder("data", seed=7)
    assert data.folder == tmp_path / "data"
    pickled = pickle.dumps(data)
    assert len(pickled) < 1000
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)
    assert same(again, data)
    assert again.validation_classes != datasets.load_folder(tmp_path / "data", seed=1).validation_classes


def test_processes_of_joblib_train_on_a_data_set(demo):
    from joblib import Parallel, delayed

    memory = datasets.from_arrays(demo.X, demo.y, demo.semantics, demo.class_names,
                                  test=~np.isin(np.arange(len(demo.y)), demo.trainval))
    for data in (demo, memory):
        there = Parallel(n_jobs=2)(delayed(ESZSL(alpha=a, n_jobs=1).fit_dataset)(data) for a in (1, 10))
        assert [model.evaluate(data) for model in there] == [ESZSL(alpha=a).fit_dataset(data).evaluate(data)
                                                             for a in (1, 10)]


@pytest.mark.parametrize("changes, message", [
    ({"labels": [0, 1]}, r"labels \(2,\)"),
    ({"labels": [0.5] * 8}, "class numbers"),
    ({"labels": [2**32] * 8}, "class numbers"),
    ({"labels": [7] * 8}, "labels"),
    ({"test": [1] * 7}, r"test \(7,\)"),
    ({"test": [1] * 8}, "test"),
    ({"validation": [1] * 4}, r"validation \(4,\)"),
    ({"validation": [1] * 5}, "validation"),
    ({"validation": [0] * 5}, "validation"),
    ({"class_names": list("abcda")}, "'a' twice"),
    ({"attribute_names": ["one"]}, "attribute_names"),
    ({"X": np.full((8, 8), np.nan)}, "features, sample 0"),
])
def test_arrays_that_do_not_fit_together_are_refused(changes, message):
    with pytest.raises(BadInputError, match=message):
        arrays(**changes)


def test_xlsa17_folders_give_the_same_arrays(demo, tmp_path):
    data = datasets.load_xlsa17(save_xlsa17(demo, tmp_path / "mat"), features="features")
    assert np.array_equal(data.X, demo.X) and np.array_equal(data.semantics, demo.semantics)
    for which in ("trainval", "test_seen", "test_unseen"):
        assert np.array_equal(getattr(data, which), getattr(demo, which))


@pytest.mark.parametrize("flags, parameters", [
    ("", {}),
    ("--method ridge", {"method": "ridge"}),
    ("--networks 16 --active 4 --encoding 32", {"networks": 16, "active": 4, "encoding": 32}),
    ("--method sae --search grid", {"method": "sae", "search": "grid"}),
    ("--method scln --fit ridge", {"method": "scln", "loss": "ridge"}),
    ("--search auto --time-budget 0", {"search": "auto", "options": {"time_budget": 0}}),
])
def test_models_have_the_bytes_of_the_command_line(tool, tmp_path, flags, parameters):
    subprocess.run([tool, "train", "--data", DEMO, "--out", tmp_path / "cli", "--seed", "7", *flags.split(), "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    data = datasets.load_folder(DEMO, seed=7)
    ParsNetsClassifier(random_state=7, **parameters).fit_dataset(data).save(tmp_path / "python")
    assert_same_bytes(tmp_path / "cli", tmp_path / "python")


def test_where_a_folder_names_no_validation_classes_they_are_drawn_by_the_seed_of_loading(tool, tmp_path):
    shutil.copytree(DEMO, tmp_path / "data")
    split = json.loads((DEMO / "split.json").read_text())
    del split["val_classes"]
    (tmp_path / "data" / "split.json").write_text(json.dumps(split))
    subprocess.run([tool, "train", "--data", tmp_path / "data", "--out", tmp_path / "cli", "--method", "eszsl",
                    "--search", "grid", "--seed", "7", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    drawn = {}
    for seed in (7, 1):
        data = datasets.load_folder(tmp_path / "data", seed=seed)
        ESZSL(search="grid", random_state=7).fit_dataset(data).save(tmp_path / f"seed {seed}")
        drawn[seed] = data.validation_classes
    assert drawn[7] != drawn[1]  # else nothing is tested
    assert_same_bytes(tmp_path / "cli", tmp_path / "seed 7")
    assert not filecmp.cmp(tmp_path / "cli", tmp_path / "seed 1", shallow=False)


def test_the_module_runs_the_tool(tool):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PARSNETS_CLI": str(tool)}
    arguments = ["data", "inspect", str(DEMO), "--json"]
    run = subprocess.run([sys.executable, "-m", "parsnets", *arguments], env=environment, capture_output=True)
    direct = subprocess.run([tool, *arguments], capture_output=True)
    assert (run.returncode, run.stdout) == (0, direct.stdout) and b"2400" in run.stdout
    assert subprocess.run([sys.executable, "-m", "parsnets", "--no-such"], env=environment,
                          capture_output=True).returncode == 2
    environment["PARSNETS_CLI"] = "/no/such/tool"
    run = subprocess.run([sys.executable, "-m", "parsnets"], env=environment, capture_output=True, text=True)
    assert run.returncode == 1 and "/no/such/tool" in run.stderr


def test_the_system_is_asked_for_the_library_only_where_there_is_none_at_hand(monkeypatch, tmp_path):
    def ask(name):
        raise AssertionError("starts processes")

    monkeypatch.setattr(_library.ctypes.util, "find_library", ask)
    monkeypatch.delenv("PARSNETS_LIBRARY")
    monkeypatch.setattr(_library, "__file__", str(tmp_path / "a" / "parsnets" / "_library.py"))
    beside = tmp_path / "a" / "parsnets" / "libparsnets.so.0"
    beside.parent.mkdir(parents=True)
    beside.touch()
    candidates = _library._candidates()
    assert next(candidates) == str(beside)
    with pytest.raises(AssertionError, match="starts processes"):
        next(candidates)


@pytest.mark.parametrize("file, reason", [("/no/such/lib.so", "cannot open"),
                                          ("libm.so.6", "not a ParsNets library of this version")])
def test_a_missing_or_foreign_library_is_explained(file, reason):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PARSNETS_LIBRARY": file}
    run = subprocess.run([sys.executable, "-c", "import parsnets; parsnets.engine_version()"], env=environment,
                         capture_output=True, text=True)
    assert run.returncode == 1 and "PARSNETS_LIBRARY" in run.stderr and f"{file}: " in run.stderr
    assert reason in run.stderr


def test_unaligned_features_are_copied():
    raw = np.zeros(4 * 40 + 1, np.uint8)
    x = raw[1:].view(np.float32).reshape(10, 4)
    x[:] = np.arange(40).reshape(10, 4)
    assert not x.flags.aligned
    data = datasets.from_arrays(x, np.arange(10) % 2, np.eye(2), ["a", "b"])
    assert data.X.flags.aligned and np.array_equal(data.X, x)
