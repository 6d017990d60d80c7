import copy
import hashlib
import json
import pickle
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from same_bytes import assert_same_bytes

from parsnets import BadInputError, CancelledError, ParsNetsClassifier, ParsNetsError, RidgeZSL, UsageError, datasets
from parsnets.device import DeviceModel

DEMO = Path(__file__).resolve().parents[2] / "data" / "demo"


@pytest.fixture(scope="module")
def fitted(demo):
    return ParsNetsClassifier(networks=100).fit_dataset(demo)


@pytest.fixture(scope="module")
def device(demo, fitted):
    return fitted.export(demo, max_drop=0.01)


@pytest.mark.parametrize("flags, options", [
    ("", {}),
    ("--precision float16 --rank 8", {"precision": "float16", "rank": 8}),
    ("--precision float32", {"precision": "float32"}),
])
def test_files_have_the_bytes_of_the_command_line(fitted, tool, tmp_path, flags, options):
    fitted.save(tmp_path / "model")
    subprocess.run([tool, "export", "--model", tmp_path / "model", "--out", tmp_path / "cli", "--c-header",
                    tmp_path / "zoo.h", *flags.split(), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    exported = fitted.export(**options)
    exported.save(tmp_path / "python")
    exported.save_header(tmp_path / "python.h", name="zoo")
    assert_same_bytes(tmp_path / "cli", tmp_path / "python", exported.to_bytes())
    assert_same_bytes(tmp_path / "zoo.h", tmp_path / "python.h")
    assert (exported.precision, exported.rank) == (options.get("precision", "int8"), options.get("rank", 0))
    assert exported.bytes == (tmp_path / "python").stat().st_size


def test_the_cost_on_validation_classes_is_that_of_the_command_line(demo, fitted, device, tool, tmp_path):
    fitted.save(tmp_path / "model")
    run = subprocess.run([tool, "export", "--model", tmp_path / "model", "--out", tmp_path / "cli", "--data",
                          DEMO, "--max-drop", "1", "--json"], check=True, capture_output=True)
    said = json.loads(run.stdout)
    for moment, figures in said["validation"].items():  # the command line says percent
        assert device.validation[moment] == pytest.approx({name: value / 100 for name, value in figures.items()})
    for fact in ("bytes", "work_bytes", "multiply_adds"):
        assert getattr(device, fact) == said[fact]
    assert fitted.export().validation is None


def test_the_device_knows_the_network_of_its_features(device, tool, tmp_path):
    assert device.source is None
    source = {"backbone": "net.onnx", "sha256": "a" * 64, "layer": "features", "pool": "average", "preset": "caffe",
              "fit": "centre", "width": 96, "height": 64, "dimensions": 192}
    sets = {}
    for name, digit in (("own", "a"), ("other", "b")):
        shutil.copytree(DEMO, tmp_path / name)
        (tmp_path / name / "extraction.json").write_text(json.dumps({**source, "sha256": digit * 64}))
        sets[name] = datasets.load_folder(tmp_path / name)
    exported = ParsNetsClassifier(networks=100).fit_dataset(sets["own"]).export()
    assert exported.source == source
    assert pickle.loads(pickle.dumps(exported)).source == source
    assert "by net.onnx" in exported._repr_html_() and "by net.onnx" not in device._repr_html_()
    exported.evaluate(sets["own"])
    with pytest.raises(BadInputError, match="features of the backbone of training, net.onnx"):
        exported.evaluate(sets["other"])
    exported.save(tmp_path / "m.pnrt")
    run = subprocess.run([tool, "info", tmp_path / "m.pnrt", "--json"], check=True, capture_output=True)
    assert json.loads(run.stdout)["source"] == source


def test_the_device_names_the_classes_of_the_float_model(demo, fitted, device):
    assert 0.99 < device.agreement(fitted, demo.X) < 1  # int8 differs somewhere, or the float model was asked twice
    assert device.agreement(device, demo.X) == 1
    full = fitted.export(precision="float32")
    np.testing.assert_allclose(full.class_scores(demo.X), fitted.class_scores(demo.X), atol=1e-5)
    assert np.abs(device.class_scores(demo.X) - fitted.class_scores(demo.X)).mean() < 0.005
    ours, theirs = device.evaluate(demo), fitted.evaluate(demo)
    assert ours.h == pytest.approx(theirs.h, abs=0.01) and ours.gamma == pytest.approx(theirs.gamma)
    with pytest.raises(BadInputError, match="found none"):
        device.agreement(fitted, demo.X[:0])
    assert (ours.zsl_per_class, ours.gzsl_per_class, ours.confusion, ours.class_names) == (None,) * 4
    with pytest.raises(UsageError, match="data: expected a Dataset.* found ndarray"):
        device.evaluate(demo.X)


def test_export_of_an_estimator_that_knows_no_test_samples_says_how_to_train_it(demo):
    x, y = demo.X[demo.trainval], demo.y[demo.trainval]
    model = RidgeZSL().fit(x, y, class_attributes=demo.class_attributes)
    with pytest.raises(BadInputError,
                       match=r"^data: .*'demo'.*fit\(X, y\).*fit_dataset\(data\), or export without data"):
        model.export(demo)
    assert model.export().validation is None
    other = datasets.from_arrays(demo.X[::-1], demo.labels[::-1], demo.semantics, demo.class_names)
    with pytest.raises(BadInputError, match="^arrays: trainval samples: expected what the model was trained with"):
        RidgeZSL().fit_dataset(demo).export(other)
    same = datasets.from_arrays(x, demo.labels[demo.trainval], demo.semantics, demo.class_names)
    assert RidgeZSL().fit_dataset(same).export(same).validation is not None


def test_info_are_those_of_the_model(demo, fitted, device):
    assert device.classes_.tolist() == fitted.classes_.tolist() and np.array_equal(device.seen_, fitted.seen_)
    assert device.gamma_ == pytest.approx(fitted.gamma_) and device.n_features_in_ == 192
    assert device.instruction_set in ("AVX-512 VNNI", "AVX2", "SDOT", "NEON", "none")
    assert repr(device) == (f"<DeviceModel int8, all networks: {device.bytes} bytes, {device.work_bytes} bytes of "
                            "working memory, 192 features, 10 classes>")


def test_classes_that_compete_can_be_chosen(demo, device):
    x = demo.X[::5]
    scores = device.decision_function(x)
    assert np.array_equal(device.predict(x), device.classes_[scores.argmax(axis=1)])
    shift = device.class_scores(x) - scores
    np.testing.assert_allclose(shift, np.where(device.seen_, device.gamma_, 0) + np.zeros_like(shift), atol=1e-6)
    for classes, allowed in [("seen", device.classes_[device.seen_]), ("unseen", ["deer", "truck"]),
                             (["truck", "cat"], ["cat", "truck"])]:
        places = np.flatnonzero(np.isin(device.classes_, allowed))
        best = device.classes_[places][scores[:, places].argmax(axis=1)]
        assert np.array_equal(device.predict(x, classes=classes), best)
    with pytest.raises(BadInputError, match="'zebra'"):
        device.predict(x, classes=["zebra"])
    with pytest.raises(UsageError, match="'some'"):
        device.predict(x, classes="some")
    closed = RidgeZSL().fit(demo.X[demo.trainval], demo.y[demo.trainval]).export()
    with pytest.raises(UsageError, match="at least one unseen class, found none"):
        closed.predict(x, classes="unseen")


def test_labels_keep_their_kind(demo, tmp_path):
    rows = demo.trainval
    model = RidgeZSL().fit(demo.X[rows], demo.labels[rows], class_attributes=demo.semantics)
    device = model.export()
    assert device.classes_.dtype.kind == "i" and set(device.predict(demo.X[:50]).tolist()) <= set(range(10))
    assert device.agreement(model, demo.X) > 0.99
    device.save(tmp_path / "d.pnrt")
    assert DeviceModel.load(tmp_path / "d.pnrt").classes_.tolist() == [str(i) for i in range(10)]
    again = DeviceModel.load(tmp_path / "d.pnrt", labels=np.arange(10), n_jobs=-1)
    assert np.array_equal(again.predict(demo.X), device.predict(demo.X))
    with pytest.raises(BadInputError, match="expected 10"):
        DeviceModel.load(tmp_path / "d.pnrt", labels=[1, 2])
    with pytest.raises(BadInputError, match="in their order, found .*9.* for '0'"):
        DeviceModel.load(tmp_path / "d.pnrt", labels=np.arange(10)[::-1])


def test_labels_that_differ_in_kind_alone_agree(demo, tmp_path):
    rows = demo.trainval
    model = RidgeZSL().fit(demo.X[rows], demo.labels[rows], class_attributes=demo.semantics)
    model.export().save(tmp_path / "d.pnrt")
    read = DeviceModel.load(tmp_path / "d.pnrt")
    assert read.classes_.dtype.kind == "U" and read.agreement(model, demo.X) == model.export().agreement(model, demo.X)
    other = RidgeZSL().fit(demo.X[rows], demo.labels[rows][::-1], class_attributes=demo.semantics)
    assert read.agreement(other, demo.X) < 0.5


def test_labels_cannot_be_changed_from_outside(demo, device, tmp_path):
    device.save(tmp_path / "d.pnrt")
    given = np.array(device.classes_)
    read = DeviceModel.load(tmp_path / "d.pnrt", labels=given)
    given[:] = "none"
    assert read.classes_.tolist() == device.classes_.tolist()
    for one in (read, device, pickle.loads(pickle.dumps(device))):
        with pytest.raises(ValueError, match="read-only"):
            one.classes_[0] = "none"


def test_export_keeps_the_number_of_threads(fitted):
    model = copy.copy(fitted)
    for n_jobs, kept in ((-1, -1), (2, 2), (None, 1)):
        assert model.set_params(n_jobs=n_jobs).export().n_jobs == kept


def test_two_classes_give_one_decision_value(demo):
    rows = demo.trainval[np.isin(demo.y[demo.trainval], ["cat", "ship"])]
    device = RidgeZSL().fit(demo.X[rows], demo.y[rows]).export()
    values = device.decision_function(demo.X[rows])
    assert values.shape == rows.shape and np.array_equal(device.predict(demo.X[rows]) == "ship", values > 0)


def test_pickles_are_the_file(device, demo):
    again = pickle.loads(pickle.dumps(device))
    assert_same_bytes(again.to_bytes(), device.to_bytes())
    assert again.validation == device.validation
    assert np.array_equal(again.class_scores(demo.X), device.class_scores(demo.X))


def test_a_file_with_another_sum_is_not_read(device, demo, tmp_path):
    device.save(tmp_path / "a.pnrt")
    right = hashlib.sha256(device.to_bytes()).hexdigest()
    loaded = DeviceModel.load(tmp_path / "a.pnrt", sha256=right)
    assert np.array_equal(loaded.class_scores(demo.X), device.class_scores(demo.X))
    with pytest.raises(BadInputError, match="a.pnrt: SHA-256: expected 0{64}, found " + right):
        DeviceModel.load(tmp_path / "a.pnrt", sha256="0" * 64)


def test_a_budget_chooses_what_fits(demo, fitted):
    small = fitted.export(demo, max_bytes=120_000, max_drop=0.1)
    assert small.bytes <= 120_000 and small.rank > 0
    with pytest.raises(ParsNetsError) as raised:
        fitted.export(demo, max_bytes=2000)
    assert not isinstance(raised.value, ValueError)  # the work failed, the arguments were right
    with pytest.raises(ParsNetsError, match="more than max_drop=0 allows"):
        fitted.export(demo, max_drop=0)
    with pytest.raises(UsageError):
        fitted.export(max_bytes=120_000)


def test_impossible_exports_are_refused(demo, fitted):
    with pytest.raises(UsageError, match="precision: expected one of float32, float16, int8, found 'int4'"):
        fitted.export(precision="int4")
    with pytest.raises(UsageError, match="rank"):
        fitted.export(rank=-1)
    with pytest.raises(UsageError, match="max_drop"):
        fitted.export(demo, max_drop=-1)
    with pytest.raises(UsageError, match="max_drop: expected a number, found 'x'"):
        fitted.export(demo, max_drop="x")
    with pytest.raises(UsageError, match="expected a Dataset"):
        fitted.export(demo.X)
    with pytest.raises(UsageError):  # maps attributes to features
        RidgeZSL(reverse=True).fit_dataset(demo).export()


def test_bad_files_and_samples_are_refused(device, demo, tmp_path):
    (tmp_path / "bad.pnrt").write_bytes(device.to_bytes()[:-1])
    with pytest.raises(BadInputError, match="bad.pnrt"):
        DeviceModel.load(tmp_path / "bad.pnrt")
    with pytest.raises(BadInputError, match="none.pnrt"):
        DeviceModel.load(tmp_path / "none.pnrt")
    with pytest.raises(BadInputError, match="192"):
        device.predict(demo.X[:, :5])
    with pytest.raises(BadInputError, match="expected a matrix"):
        device.predict(demo.X[0])
    with pytest.raises(BadInputError):
        device.predict(np.full((1, 192), np.nan))
    with pytest.raises(BadInputError, match=r"real numbers, samples x 192, found complex64 in a ndarray"):
        device.predict(demo.X[:2] * np.complex64(1j))
    with pytest.raises(BadInputError, match=r"found float32 in a csr_matrix; .* toarray\(\)"):
        device.predict(sparse.csr_matrix(demo.X[:2]))
    with pytest.raises(BadInputError, match="found other values in a list"):
        device.predict([["cat"] * 192])
    with pytest.raises(UsageError, match="^name: expected a C identifier"):
        device.save_header(tmp_path / "m.h", name="1 bad")
    assert device.predict(demo.X[:0]).shape == (0,)


def test_export_reports_progress_and_can_be_cancelled(demo, fitted):
    calls = []
    fitted.export(demo, max_drop=0.01, progress=lambda *call: calls.append(call))
    assert calls
    with pytest.raises(CancelledError):
        fitted.export(demo, progress=lambda *call: True)


def test_threads_share_a_device_model(demo, device):
    expected, found = device.class_scores(demo.X), []
    threads = [threading.Thread(target=lambda: found.append(device.class_scores(demo.X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(scores, expected) for scores in found)


def test_it_shows_itself_in_notebooks(fitted, device):
    html = device._repr_html_()
    assert f"{device.bytes:,} bytes" in html and f"{100 * device.validation['after']['zsl']:.1f}\u202f%" in html
    assert "was not measured" in fitted.export()._repr_html_()


def test_unknown_samples_are_those_of_the_engine(demo, device):
    calibrated = ParsNetsClassifier(false_accept=0.2).fit_dataset(demo)
    exported = calibrated.export(precision="float32")
    x = np.concatenate([demo.X[demo.test_seen], demo.X[demo.test_unseen], np.zeros((1, demo.X.shape[1]))])
    unknown = exported.is_unknown(x)
    assert unknown.dtype == bool and unknown[-1] and 0.1 < unknown.mean() < 0.9
    assert (unknown == calibrated.is_unknown(x)).mean() > 0.998  # a score may lie at its threshold
    known = exported.known_score(x)[:-1]
    inside = known > -1e30
    assert np.allclose(known[inside], calibrated.known_score(x)[:-1][inside], atol=1e-3)
    assert np.array_equal(exported.predict(x, reject=True) == "unknown", unknown)
    assert np.array_equal(exported.predict(x, reject=True)[~unknown], exported.predict(x)[~unknown])
    assert exported.is_unknown(np.empty((0, x.shape[1]))).shape == (0,)
    with pytest.raises(UsageError, match="no rejection"):
        device.is_unknown(x)
    with pytest.raises(UsageError, match="reject"):
        exported.predict(x, "seen", reject=True)
