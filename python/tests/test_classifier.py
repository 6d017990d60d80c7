import copy
import hashlib
import json
import pickle
import shlex
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from same_bytes import assert_same_bytes

from parsnets import (DAP, ESZSL, SAE, BadInputError, ParsNetsClassifier, ParsNetsError, RidgeZSL, UsageError,
                      datasets, load_model)
from parsnets._model import Model
from parsnets.metrics import harmonic_mean, per_class_accuracy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ridge(demo):
    return ParsNetsClassifier(method="ridge").fit_dataset(demo)


def training(demo):
    return demo.X[demo.trainval], demo.y[demo.trainval]


def test_names_unseen_classes_as_well_as_the_engine_says(demo, ridge):
    rows = demo.test_unseen
    zsl = per_class_accuracy(demo.y[rows], ridge.predict(demo.X[rows], classes="unseen"))
    assert zsl > 0.9
    assert zsl == pytest.approx(ridge.evaluate(demo).zsl_top1_per_class, abs=1e-9)


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


def test_confidences_among_some_classes_are_a_softmax_over_them(demo, ridge):
    x = demo.X[::7]
    every = ridge.predict_proba(x)
    assert np.array_equal(ridge.predict_proba(x, classes="all"), every)
    for classes, places in (("unseen", ~ridge.seen_), ("seen", ridge.seen_),
                            (["truck", "cat", "cat"], np.isin(ridge.classes_, ["cat", "truck"]))):
        some = ridge.predict_proba(x, classes=classes)
        assert some.dtype == np.float32 and some.shape == every.shape and not some[:, ~places].any()
        np.testing.assert_allclose(some[:, places], every[:, places] / every[:, places].sum(axis=1, keepdims=True),
                                   atol=2e-4)
        np.testing.assert_allclose(some.sum(axis=1), 1, atol=1e-5)
        assert np.array_equal(ridge.classes_[some.argmax(axis=1)], ridge.predict(x, classes=classes))
    cold = ridge.calibrate(temperature=1e-6).predict_proba(x, classes=["cat", "truck"])  # the others' shares are 0
    np.testing.assert_allclose(cold.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("classes", [None, "seen", "unseen", ["truck", "cat", "deer"]])
def test_the_best_classes_come_with_their_confidences(demo, ridge, classes):
    x = demo.X[::7]
    shares = ridge.predict_proba(x, classes=classes)
    compete = int((shares > 0).any(axis=0).sum())
    for k in (1, 2, 5, np.int64(50)):
        labels, confidences = ridge.predict_top(x, k, classes=classes)
        assert labels.shape == confidences.shape == (len(x), min(k, compete)) and labels.dtype == ridge.classes_.dtype
        assert np.array_equal(labels[:, 0], ridge.predict(x, classes=classes))
        assert (np.diff(confidences, axis=1) <= 0).all() and all(len(set(row)) == len(row) for row in labels)
        place = {label: i for i, label in enumerate(ridge.classes_)}
        columns = np.vectorize(place.get)(labels)
        np.testing.assert_allclose(confidences, np.take_along_axis(shares, columns, axis=1), atol=1e-6)
        np.testing.assert_allclose(confidences, -np.sort(-shares, axis=1)[:, :labels.shape[1]], atol=1e-6)
    assert np.array_equal(ridge.predict_top(x.tolist(), classes=classes)[0], ridge.predict_top(x, 5, classes)[0])


def test_the_best_classes_are_asked_for_by_a_number_of_at_least_1(demo, ridge):
    for k in (0, -1, 1.5, "2"):
        with pytest.raises(UsageError, match="^k: expected"):
            ridge.predict_top(demo.X[:2], k)
    for call in (ridge.predict_top, ridge.predict_proba):
        with pytest.raises(UsageError, match="^classes: expected all, seen, unseen or labels, found 'cats'"):
            call(demo.X[:2], classes="cats")
        with pytest.raises(BadInputError, match="'okapi'"):
            call(demo.X[:2], classes=["okapi"])
    with pytest.raises(UsageError, match="at least one unseen class"):
        RidgeZSL().fit(*training(demo)).predict_top(demo.X[:2], classes="unseen")


def test_explanations_have_what_both_classes_were_given(demo):
    model = RidgeZSL().fit_dataset(demo)
    rows = demo.X[demo.test_unseen[:3]]
    shown = model.explain(rows)
    assert isinstance(shown, list) and len(shown) == 3
    for one, label in zip(shown, model.predict(rows)):
        assert one.label == label != one.runner_up
        assert np.array_equal(one.label_attributes, demo.class_attributes[one.label])
        assert np.array_equal(one.runner_up_attributes, demo.class_attributes[one.runner_up])
    assert np.allclose([one.semantics for one in shown], model.transform(rows), atol=1e-6)


def test_an_evaluation_says_how_each_class_fared(demo, ridge):
    figures = ridge.evaluate(demo)
    assert figures.class_names == tuple(demo.class_names) and figures.confusion.dtype == np.uint32
    rows = np.concatenate([demo.test_seen, demo.test_unseen])
    guess, confusion = ridge.predict(demo.X[rows]), np.zeros((10, 10), int)
    np.add.at(confusion, (demo.labels[rows], [demo.class_names.index(label) for label in guess]), 1)
    assert np.array_equal(figures.confusion, confusion)
    share = np.diag(confusion) / confusion.sum(axis=1)
    assert figures.gzsl_per_class == pytest.approx(dict(zip(demo.class_names, share)))
    unseen = [figures.gzsl_per_class[label] for label in ("deer", "truck")]
    assert np.mean(unseen) == pytest.approx(figures.u)
    assert set(figures.zsl_per_class) == {"deer", "truck"}
    assert np.mean(list(figures.zsl_per_class.values())) == pytest.approx(figures.zsl_top1_per_class)
    assert figures == copy.deepcopy(ridge).evaluate(demo) and hash(figures) == hash(ridge.evaluate(demo))
    assert len(repr(figures)) < 250 and "confusion" not in repr(figures)
    assert list(figures.to_dict()) == ["zsl_top1_per_class", "zsl_top1", "zsl_top5", "u", "s", "h", "ausuc", "gamma"]
    assert pd.DataFrame([figures.to_dict()])["h"][0] == figures.h
    assert pickle.loads(pickle.dumps(figures)).zsl_per_class == figures.zsl_per_class


def test_test_samples_that_were_trained_on_are_refused_unless_allowed(demo, ridge):
    flags = np.isin(np.arange(len(demo.X)), demo.trainval, invert=True)
    flags[demo.trainval[:3]] = True
    other = datasets.from_arrays(demo.X, demo.labels, demo.semantics, demo.class_names, test=flags)
    with pytest.raises(BadInputError, match="found 3 of .* or use allow_trained_samples"):
        ridge.evaluate(other)
    figures = ridge.evaluate(other, allow_trained_samples=True)
    assert figures.trained_samples == 3 and figures.to_dict()["trained_samples"] == 3
    assert "trained on 3 of them" in figures._repr_html_()
    assert ridge.evaluate(demo).trained_samples == 0


def test_an_evaluation_names_classes_by_the_estimators_labels(demo):
    x, y = demo.X[demo.trainval], demo.labels[demo.trainval]
    model = RidgeZSL().fit(x, y, class_attributes=demo.semantics)
    flags = np.isin(np.arange(len(demo.X)), demo.trainval, invert=True)
    named = datasets.from_arrays(demo.X, demo.labels, demo.semantics, range(10), test=flags)
    figures = model.evaluate(named)
    assert figures.class_names == tuple(range(10)) and set(figures.zsl_per_class) == {4, 9}
    without = np.isin(np.arange(len(demo.X)), demo.test_seen, invert=True)
    few = datasets.from_arrays(demo.X[without], demo.labels[without], demo.semantics, range(10), test=flags[without])
    figures = model.evaluate(few)
    assert set(figures.zsl_per_class) == {4, 9}
    assert (figures.h, figures.gzsl_per_class, figures.confusion, figures.class_names) == (None,) * 4


def test_the_training_record_and_the_options_are_dicts(demo, ridge):
    assert ridge.record_["data"]["name"] == "demo" and ridge.record_["seed"] == 1
    assert isinstance(ridge.trained_options_, dict) and ridge.trained_options_["method"] == "ridge"
    record = ridge.record_
    assert ridge.add_class("okapi", demo.semantics[0] * 0.5).record_ == record
    assert pickle.loads(pickle.dumps(ridge)).trained_options_ == ridge.trained_options_


def test_the_command_line_repeats_a_training(tool, tmp_path):
    data = datasets.load_folder(ROOT / "data" / "demo", seed=5)
    model = ParsNetsClassifier("ridge", search="grid", options={"grid": "lambda=1,3"}, random_state=5).fit_dataset(data)
    assert model.record_["asked"] == {"folder": True, "options": {
        "method": "ridge", "search": "grid", "grid": "lambda=1,3"}}
    model.save(tmp_path / "m.safetensors")
    info = subprocess.run([tool, "info", tmp_path / "m.safetensors", "--json"], capture_output=True, check=True)
    words = shlex.split(json.loads(info.stdout)["made_by"])
    assert words[-2:] == ["--out", "m.safetensors"]
    subprocess.run([tool, *words[1:-1], tmp_path / "n.safetensors", "--quiet"], cwd=ROOT / "data", check=True)
    assert (tmp_path / "n.safetensors").read_bytes() == (tmp_path / "m.safetensors").read_bytes()


def test_a_model_of_arrays_says_so(demo):
    model = RidgeZSL(alpha=2).fit(demo.X[demo.trainval], demo.y[demo.trainval], class_attributes=demo.class_attributes)
    assert model.record_["asked"] == {"folder": False, "options": {"method": "ridge", "lambda": "2.0"}}


def test_a_file_whose_record_is_malformed_is_refused(ridge, tmp_path):
    file = tmp_path / "m.safetensors"
    ridge.save(file)
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header["__metadata__"]["record"] = "[1]"
    changed = json.dumps(header).encode()
    changed += b" " * (-len(changed) % 64)
    file.write_bytes(len(changed).to_bytes(8, "little") + changed + data[8 + size:])
    with pytest.raises(BadInputError, match="m.safetensors, record: expected an object, found array"):
        RidgeZSL.load(file)


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
    assert_same_bytes(*models)


def test_integer_labels_number_the_rows_of_a_larger_table(demo):
    x, y = demo.X[demo.trainval], demo.labels[demo.trainval]
    model = ParsNetsClassifier(method="ridge").fit(x, y, class_attributes=demo.semantics)
    assert model.classes_.tolist() == list(range(10))
    rows = demo.test_unseen
    assert per_class_accuracy(demo.labels[rows], model.predict(demo.X[rows], classes="unseen")) > 0.9
    with pytest.raises(BadInputError, match="class_names"):
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
    with pytest.raises(BadInputError, match="deer"):
        ridge.add_class("deer", deer)
    with pytest.raises(BadInputError):
        ridge.add_classes({"okapi": deer, "zebra": deer[:3]})
    assert "okapi" not in ridge.classes_  # all or none
    with pytest.raises(BadInputError, match="okapi"):
        ridge.remove_class("okapi")


def test_many_classes_are_added_at_once(demo, ridge):
    before = len(ridge.classes_)
    deer = demo.class_attributes["deer"]
    ridge.add_classes({f"new {i}": deer * (1 + i % 5) for i in range(50_000)})  # one by one they would take minutes
    assert len(ridge.classes_) == before + 50_000 and ridge.classes_[-1] == "new 49999"
    ridge.add_classes({})
    assert len(ridge.classes_) == before + 50_000


def test_there_has_to_be_a_class_of_the_kind_that_competes(demo):
    plain = RidgeZSL().fit(*training(demo))
    for x in (demo.X[:1], demo.X[:3].tolist()):
        with pytest.raises(UsageError,
                           match=r"^classes: expected at least one unseen class, found none; add one with add_"):
            plain.predict(x, classes="unseen")
    other = RidgeZSL().fit_dataset(demo)
    for label in np.array(other.classes_)[other.seen_]:
        other.remove_class(label)
    with pytest.raises(UsageError, match="^classes: expected at least one seen class, found none$"):
        other.predict(demo.X[:3], classes="seen")
    assert set(other.predict(demo.X, classes="unseen")) == {"deer", "truck"}


@pytest.mark.parametrize("searches", [RidgeZSL(search="grid"), ParsNetsClassifier(search="auto")])
def test_a_plain_classifier_is_not_searched_on_classes_held_out(demo, searches):
    with pytest.raises(UsageError, match="class_attributes: .*GridSearchCV"):
        searches.fit(*training(demo))


def test_a_plain_classifier_standardises_and_does_not_calibrate(demo):
    trained = ParsNetsClassifier().fit(*training(demo)).trained_options_
    assert trained["feature-scaling"] == "standardize" and trained["calibrate"] is False
    assert RidgeZSL(feature_scaling="l2").fit(*training(demo)).trained_options_["feature-scaling"] == "l2"


def test_arguments_of_a_wrong_type_are_refused_by_name(demo, ridge):
    for work, message in ((lambda: ridge.calibrate(gamma="x"), "^gamma: expected a number, found 'x'"),
                          (lambda: ridge.calibrate(temperature=[1, 2]), "^temperature: expected a number"),
                          (lambda: ridge.fit_dataset(demo.X), r"^data: expected a Dataset.*ndarray; .*fit\(X, y\)"),
                          (lambda: ridge.evaluate("folder"), "^data: expected a Dataset.* found str"),
                          (lambda: ridge.export(demo.X), "^data: expected a Dataset"),
                          (lambda: RidgeZSL(options=[1]).fit_dataset(demo), r"^options: expected a dict.* found \[1\]"),
                          (lambda: RidgeZSL(options={1: 2}).fit_dataset(demo), "'1'"),
                          (lambda: ridge.save(b"file"), "^file: expected text")):
        with pytest.raises(UsageError, match=message):
            work()


def test_calibration_moves_samples_between_seen_and_unseen(demo, ridge):
    rows = demo.test_unseen
    assert set(ridge.calibrate(gamma=100).predict(demo.X[rows])) <= {"deer", "truck"}
    assert not set(ridge.calibrate(gamma=-100).predict(demo.X[rows])) & {"deer", "truck"}
    ridge.calibrate(gamma=0, temperature=1e-4)
    assert ridge.gamma_ == 0 and ridge.predict_proba(demo.X[:5]).max() > 0.99
    with pytest.raises(UsageError):
        ridge.calibrate(temperature=0)


def test_explanations_add_up(demo, ridge):
    x = demo.X[demo.test_unseen[:5]]
    labels, semantics = ridge.predict(x), ridge.transform(x)
    for i, why in enumerate(ridge.explain(x)):
        assert why.label == labels[i] and why.runner_up != why.label
        total = why.contributions.sum() + why.calibration + why.examples
        assert total == pytest.approx(why.score - why.runner_up_score, abs=1e-4)
        np.testing.assert_allclose(why.semantics, semantics[i], atol=1e-5)
        assert why.top(1)[0][0] in demo.attribute_names


def test_explanations_are_compared_by_identity(demo, ridge):
    one, same = ridge.explain(demo.X[:1])[0], ridge.explain(demo.X[:1])[0]
    assert one == one and one != same and len({one, same, one}) == 2


def test_models_without_semantics_say_so(demo):
    model = ParsNetsClassifier(method="reverse-ridge").fit_dataset(demo)
    assert not hasattr(model, "transform") and not hasattr(clone(model), "transform")
    assert hasattr(ParsNetsClassifier(), "transform")
    with pytest.raises(UsageError):
        model.explain(demo.X[:2])


def test_files_pickles_and_copies_keep_every_bit(demo, ridge, tmp_path):
    x = demo.X[:50]
    ridge.save(tmp_path / "a.safetensors")
    loaded = ParsNetsClassifier.load(tmp_path / "a.safetensors")
    loaded.save(tmp_path / "b.safetensors")
    assert_same_bytes(tmp_path / "a.safetensors", tmp_path / "b.safetensors")
    numbers = ParsNetsClassifier(method="ridge").fit(demo.X[demo.trainval], demo.labels[demo.trainval],
                                                     class_attributes=demo.semantics)
    for twin in (loaded, pickle.loads(pickle.dumps(ridge)), copy.deepcopy(ridge)):
        assert np.array_equal(twin.class_scores(x), ridge.class_scores(x))
        assert np.array_equal(twin.predict(x), ridge.predict(x))
    assert pickle.loads(pickle.dumps(numbers)).predict(x).dtype.kind == "i"
    pickle.loads(pickle.dumps(ParsNetsClassifier(method="sae")))  # not fitted


def test_a_file_with_another_sum_is_not_read(demo, ridge, tmp_path):
    file, other = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    ridge.save(file)
    content = file.read_bytes()
    right = hashlib.sha256(content).hexdigest()
    for loaded in (load_model(file, sha256=right), ParsNetsClassifier.load(file, sha256=right.upper())):
        assert np.array_equal(loaded.class_scores(demo.X[:50]), ridge.class_scores(demo.X[:50]))
    other.write_bytes(content + b" ")
    with pytest.raises(BadInputError, match=f"b.safetensors: SHA-256: expected {right}, found [0-9a-f]{{64}}; get the"):
        load_model(other, sha256=right)
    other.write_bytes(b"no model")  # whose sum is right
    with pytest.raises(BadInputError, match="b.safetensors: ") as raised:
        load_model(other, sha256=hashlib.sha256(b"no model").hexdigest())
    assert "SHA-256" not in str(raised.value)
    with pytest.raises(BadInputError, match="none.safetensors: expected a readable file, found No such file"):
        load_model(tmp_path / "none.safetensors", sha256=right)
    for bad in ("12", right[:-1] + "g", 7):
        with pytest.raises(UsageError, match="sha256: expected 64 hexadecimal digits, found"):
            load_model(file, sha256=bad)


def test_bad_arrays_are_refused_with_advice(demo, ridge, tmp_path):
    x, y = training(demo)
    fit = ParsNetsClassifier(method="ridge").fit
    short = {name: demo.class_attributes[name] for name in ("cat", "dog")}
    with pytest.raises(BadInputError, match="airplane"):
        fit(x, y, class_attributes=short)
    with pytest.raises(BadInputError, match="finite|NaN|nan"):
        fit(x, y, class_attributes={n: v * np.nan for n, v in demo.class_attributes.items()})
    with pytest.raises(BadInputError):
        fit(x, y, class_attributes={**demo.class_attributes, "cat": [1.0]})
    with pytest.raises(BadInputError, match="NUL"):
        fit(x, y, class_attributes={**demo.class_attributes, "a\0b": demo.semantics[0]})
    with pytest.raises(BadInputError, match="same type"):
        fit(x, demo.labels[demo.trainval], class_attributes=demo.class_attributes)
    with pytest.raises(ValueError, match="features"):
        ridge.predict(x[:, :-1])
    with pytest.raises(BadInputError, match="missing.safetensors"):
        ParsNetsClassifier.load(tmp_path / "missing.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(BadInputError, match="bad.safetensors"):
        ParsNetsClassifier.load(tmp_path / "bad.safetensors")
    with pytest.raises(ParsNetsError):
        ridge.save(tmp_path / "no" / "such" / "folder" / "m.safetensors")


COMMON = {"networks": 16, "active": 4, "encoding": 32, "feature_scaling": "l2", "semantic_scaling": "centre-l2",
          "semantic_whitening": 0.3, "false_accept": 0.1}
OF_CLASS_SPACE = {"refine_steps": 2, "shrinkage": 3.0, "prototype_width": 1.1}
OF_THE_PAPER = {"gates": "anchor", "loss": "ridge", "c": 0.5, "epsilon": 0.05, "alpha": 5.0, "mmg": 0.2,
                "similarity": "cosine"}


@pytest.mark.parametrize("method, own", [("parsnets", OF_CLASS_SPACE), ("paper", OF_THE_PAPER)])
def test_every_parameter_is_the_option_of_its_name_in_the_engine(demo, method, own):
    assert {*COMMON, *OF_CLASS_SPACE, *OF_THE_PAPER} == set(ParsNetsClassifier._options())
    given = {**COMMON, **own}
    model = ParsNetsClassifier(method, **given).fit_dataset(demo)
    trained = model.trained_options_
    told = {**given, "false_accept": "10%"}  # shares are told as percentages
    for parameter, value in told.items():
        assert trained[ParsNetsClassifier._options()[parameter]] == value, parameter
    assert model._model.networks == 16 and model.explain(demo.X[:1])[0].active_networks.shape == (4,)
    options = {ParsNetsClassifier._options()[parameter]: value for parameter, value in given.items()}
    same = ParsNetsClassifier(method, options=options).fit_dataset(demo)
    assert_same_bytes(same._model.to_bytes(), model._model.to_bytes())


def test_parameters_of_other_methods_are_refused(demo):
    for parameter, value in OF_THE_PAPER.items():
        if parameter != "similarity":  # has its default value, which changes nothing
            with pytest.raises(UsageError, match=f"^method='parsnets' does not have {parameter}$"):
                ParsNetsClassifier(**{parameter: value}).fit_dataset(demo)
    for parameter, value in OF_CLASS_SPACE.items():
        with pytest.raises(UsageError, match=f"^method='paper' does not have {parameter}$"):
            ParsNetsClassifier("paper", **{parameter: value}).fit_dataset(demo)


def test_parameters_have_the_names_of_options_except_where_python_has_others():
    kinds = (ParsNetsClassifier, RidgeZSL, ESZSL, SAE, DAP)
    others = {name: option for kind in kinds for name, option in kind._options().items()
              if name != option.replace("-", "_")}
    assert others == {"alpha": "lambda", "semantic_alpha": "semantic-lambda", "loss": "fit"}


def test_a_parameter_stays_in_a_search(demo):
    model = RidgeZSL(alpha=7, search="grid").fit_dataset(demo)
    steps = model.record_["selection"]
    assert len(steps) > 1 and not any("lambda" in step["choice"] for step in steps)
    assert model.trained_options_["lambda"] == 7


@pytest.mark.parametrize("bad, message", [
    ({"method": "magic"}, "method: expected one of"),
    ({"alpha": -1}, "^alpha: expected a number"),
    ({"networks": 8, "active": 9}, r"^active: expected at most networks \(8\), found 9"),
    ({"loss": "hinge"}, "^loss: expected"),
    ({"options": {"gate-weight": -1}}, "gate-weight"),
    ({"options": {"no-such": 1}}, "no-such"),
    ({"alpha": 1, "options": {"lambda": 1}}, "give it only as alpha"),
    ({"active": 4, "options": {"active": 4}}, "give it only as active"),
    ({"options": {"seed": 3}}, "random_state"),
    ({"options": {"method": "ridge"}}, "method"),
    ({"random_state": -1}, "random_state"),
    ({"random_state": 1.5}, "random_state"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"n_jobs": "all"}, "n_jobs"),
])
def test_impossible_parameters_are_refused_by_their_python_names(demo, bad, message):
    with pytest.raises(UsageError, match=message):
        ParsNetsClassifier(**bad).fit_dataset(demo)


def test_random_state_decides_the_model(demo):
    def trained(random_state):
        return ParsNetsClassifier(networks=16, active=4, encoding=32,
                                  random_state=random_state).fit_dataset(demo)._model.to_bytes()

    five = trained(5)
    assert_same_bytes(five, trained(5))
    assert (five == trained(6)) is False
    assert_same_bytes(trained(np.random.RandomState(3)), trained(np.random.RandomState(3)))
    state = np.random.RandomState(3)
    assert trained(state) != trained(state)
    np.random.seed(8)
    first = trained(None)
    assert trained(None) != first
    np.random.seed(8)
    assert trained(None) == first


@pytest.mark.parametrize("make", [lambda: RidgeZSL(), lambda: RidgeZSL(search="grid"), lambda: ParsNetsClassifier()])
def test_fit_on_the_validation_classes_of_a_data_set_gives_its_model(demo, make):
    x, y = training(demo)
    ours = make().fit(x, y, class_attributes=demo.class_attributes, attribute_names=demo.attribute_names,
                      validation=demo.validation_classes)
    theirs = make().fit_dataset(demo)
    assert np.array_equal(ours.class_scores(demo.X), theirs.class_scores(demo.X))
    assert (ours.gamma_, ours.temperature_) == (theirs.gamma_, theirs.temperature_)
    assert ours.trained_options_ == theirs.trained_options_
    assert ours.evaluate(demo) == theirs.evaluate(demo)
    records = [model.record_ for model in (ours, theirs)]
    assert records[0]["validation"] == records[1]["validation"]
    drawn = make().fit(x, y, class_attributes=demo.class_attributes)
    assert drawn.record_["validation"] != records[0]["validation"]


def test_validation_wants_some_of_the_seen_classes(demo):
    x, y = training(demo)
    fit = RidgeZSL().fit
    for bad, message in ((["deer"], "'deer'"), (["okapi"], "'okapi'"), (demo.class_names, "'deer'"),
                         ([], "0 of them"), (np.unique(y), "8 of them")):
        with pytest.raises(BadInputError, match="validation: .*" + message):
            fit(x, y, class_attributes=demo.class_attributes, validation=bad)
    with pytest.raises(UsageError, match="validation"):
        fit(x, y, class_attributes=demo.class_attributes, validation="sometimes")
    with pytest.raises(UsageError, match="class_attributes"):
        fit(x, y, validation=["cat"])
    for searches in (RidgeZSL(search="grid"), ParsNetsClassifier(search="auto")):
        with pytest.raises(UsageError, match="search"):
            searches.fit(x, y, class_attributes=demo.class_attributes, validation="none")
    without = fit(x, y, class_attributes=demo.class_attributes, validation="none")
    assert without.gamma_ == 0 and without.record_["validation"]["gamma_from"] == "none"


def test_integer_labels_name_validation_classes(demo):
    x, y = demo.X[demo.trainval], demo.labels[demo.trainval]
    numbers = [demo.class_names.index(name) for name in demo.validation_classes]
    model = RidgeZSL().fit(x, y, class_attributes=demo.semantics, validation=numbers)
    assert model.gamma_ == RidgeZSL().fit_dataset(demo).gamma_


def test_held_out_samples_calibrate(demo, ridge):
    rows = np.concatenate([demo.test_unseen[::2], demo.test_seen[::2]])
    rest = np.concatenate([demo.test_unseen[1::2], demo.test_seen[1::2]])
    unseen = np.isin(demo.y, ["deer", "truck"])

    def harmonic(model, of):
        found = model.predict(demo.X[of])
        u, s = (per_class_accuracy(demo.y[of][side], found[side]) for side in (unseen[of], ~unseen[of]))
        return harmonic_mean(u, s)

    off = copy.deepcopy(ridge).calibrate(gamma=5)
    assert harmonic(off, rest) < 0.1
    on = copy.deepcopy(off).calibrate(demo.X[rows], demo.y[rows])
    best = max(harmonic(copy.deepcopy(ridge).calibrate(gamma=g), rows) for g in np.linspace(-0.5, 1, 151))
    assert harmonic(on, rows) >= best - 1e-9
    assert harmonic(on, rest) > 0.6 and on.temperature_ != off.temperature_
    assert off.gamma_ == 5  # a copy of its own
    assert ridge.calibrate(demo.X[rows].tolist(), demo.y[rows].tolist()).gamma_ == on.gamma_


def test_calibration_wants_samples_of_both_kinds_or_values(demo, ridge):
    x, y = demo.X[demo.test_seen], demo.y[demo.test_seen]
    for arguments, values in (((), {}), ((x,), {}), ((x, y), {"gamma": 1})):
        with pytest.raises(UsageError, match="calibrate"):
            ridge.calibrate(*arguments, **values)
    with pytest.raises(BadInputError):
        ridge.calibrate(x, y)
    with pytest.raises(BadInputError, match="okapi"):
        ridge.calibrate(x, np.where(y == "cat", "okapi", y))
    with pytest.raises(BadInputError, match="one per row"):
        ridge.calibrate(x, y[:-1])


def test_contiguous_float32_is_not_copied(demo, ridge):
    def start(model, x):
        assert x.dtype == np.float32 and x.flags.c_contiguous
        return x

    assert np.shares_memory(ridge._apply(demo.X, start), demo.X)
    assert not np.shares_memory(ridge._apply(demo.X[:, ::-1], start), demo.X)
    ridge._apply(demo.X.astype(np.float64), start)


def test_the_fast_path_answers_as_the_checked_one_does(demo, ridge):
    names = {"predict": {}, "predict_proba": {}, "decision_function": {}, "class_scores": {}, "transform": {}}
    for rows in (demo.X[:1], demo.X[:300]):
        for name in names:
            fast = getattr(ridge, name)(rows)
            slow = getattr(ridge, name)(np.asfortranarray(rows.astype(np.float64)))
            assert np.array_equal(fast, slow) and fast.dtype == slow.dtype, name
        assert np.array_equal(ridge.predict(rows, classes="unseen"), ridge.predict(rows.tolist(), classes="unseen"))


@pytest.mark.parametrize("value, message", [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_the_fast_path_refuses_what_scikit_learn_refuses_in_its_words(demo, ridge, value, message):
    x = demo.X[:2].copy()
    x[1, 7] = value
    for call in (ridge.predict, ridge.predict_proba, ridge.class_scores, ridge.explain):
        with pytest.raises(ValueError, match=message):
            call(x)
    for wrong in (x[:, :5].copy(), x[0], x[:0], x[None]):
        with pytest.raises(ValueError, match="features|1D|minimum|dim 3"):
            ridge.predict(wrong)


def test_results_do_not_depend_on_threads(demo):
    x, y = training(demo)
    files = []
    for jobs in (None, -1, -2, 5):
        model = ParsNetsClassifier(n_jobs=jobs, networks=16, active=4, encoding=32)
        files.append(model.fit(x, y, class_attributes=demo.class_attributes)._model.to_bytes())
    assert_same_bytes(*files)


def test_info_cannot_be_changed_by_accident(ridge):
    for fact in (ridge.classes_, ridge.seen_, ridge.class_attributes_):
        with pytest.raises(ValueError):
            fact[0] = fact[1]


def test_copies_share_the_model_until_one_of_them_changes(demo, ridge, monkeypatch):
    monkeypatch.setattr(Model, "to_bytes", None)  # nothing is written
    for twin in (copy.copy(ridge), copy.deepcopy(ridge)):
        assert twin._model is ridge._model and twin.get_params() == ridge.get_params()
        twin.add_class("okapi", demo.semantics[4] * 0.9)
        assert "okapi" in twin.classes_ and "okapi" not in ridge.classes_
    options = {"gate-weight": 0.1}
    assert copy.deepcopy(ParsNetsClassifier(options=options)).options is not options


def test_notebooks_show_fitted_estimators_and_their_results(demo, ridge):
    from sklearn import config_context
    from sklearn.utils import estimator_html_repr
    new = RidgeZSL(alpha=3)
    assert "RidgeZSL(alpha=3)" in new._repr_html_()
    assert len(new._repr_html_()) == len(estimator_html_repr(new))  # they differ in a running number
    shown = ridge._repr_html_()
    assert "deer" in shown and ridge._repr_mimebundle_()["text/html"] == shown
    assert "airplane" in demo._repr_html_() and "<" in ridge.evaluate(demo)._repr_html_()
    assert ridge.explain(demo.X[:1])[0].label in ridge.explain(demo.X[:1])[0]._repr_html_()
    with config_context(display="text"):
        assert ridge._repr_html_() is None and set(ridge._repr_mimebundle_()) == {"text/plain"}


def test_export_gives_a_device_model_with_the_estimators_labels(demo):
    model = RidgeZSL().fit(demo.X[demo.trainval], demo.labels[demo.trainval], class_attributes=demo.semantics)
    device = model.export(precision="float32")
    assert device.classes_.tolist() == list(range(10))
    assert np.mean(device.predict(demo.X) == model.predict(demo.X)) > 0.999
    assert RidgeZSL().fit_dataset(demo).export(demo).validation is not None


def test_info_are_copies_that_may_be_changed(ridge):
    twin = copy.copy(ridge)
    ridge.record_.clear()
    ridge.trained_options_["method"] = "none"
    assert twin.record_["seed"] == ridge.record_["seed"] == 1 and twin.trained_options_["method"] == "ridge"


@pytest.mark.parametrize("kind", ["writeable", "read-only", "Fortran", "sliced", "unaligned", "float64", "list"])
def test_one_sample_is_named_as_among_many_however_it_is_given(demo, ridge, kind):
    expected = ridge.predict(demo.X[::100])
    for row, label in zip(demo.X[::100], expected):
        one = np.array(row[None])
        if kind == "read-only":
            one.flags.writeable = False
        elif kind == "Fortran":
            one = np.asfortranarray(np.vstack([one, one]))[:1]
        elif kind == "sliced":
            one = np.repeat(one, 2, axis=1)[:, ::2]
        elif kind == "unaligned":
            one = np.frombuffer(b"x" + one.tobytes(), np.uint8)[1:].view(np.float32).reshape(1, -1)
        elif kind == "float64":
            one = one.astype(float)
        elif kind == "list":
            one = one.tolist()
        found = ridge.predict(one)
        assert found.shape == (1,) and found[0] == label and found.dtype == expected.dtype and found.flags.writeable
    bad = np.array(demo.X[:1])
    bad[0, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ridge.predict(bad)


def test_fit_warns_of_classes_that_cannot_be_told_apart(demo):
    attributes = dict(demo.class_attributes)
    attributes["truck"] = attributes["automobile"]
    with pytest.warns(UserWarning, match="'automobile' and 'truck': they cannot be told apart") as caught:
        model = ParsNetsClassifier(method="ridge").fit(*training(demo), class_attributes=attributes, validation="none")
    assert caught[0].filename == __file__
    assert model.record_["warnings"] == [str(one.message) for one in caught]


def test_fit_does_not_warn_of_sound_data(demo):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ParsNetsClassifier(method="ridge").fit_dataset(demo)
