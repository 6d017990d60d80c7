"""parsnets.dask on real clusters of 1 and of 4 worker processes: the model, what moves, laziness, lost workers, errors.

Without dask nothing here can run. ctest then reports the test as skipped, with the packages that it needs.
"""

import copy
import json
import os
import pickle
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

try:
    import dask
    import dask.array as da
    import dask.dataframe as dd
    import distributed
    from dask.sizeof import sizeof
except ImportError as error:
    pytest.skip(f"NO TEST OF parsnets.dask HAS RUN: {error}; install python3-dask and python3-distributed",
                allow_module_level=True)

import joblib
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from parsnets import ParsNetsClassifier, RidgeZSL
from parsnets import dask as parsnets_dask
from parsnets._model import Model
from parsnets._partitions import Plan, sums_of, total
from parsnets._statistics import Statistics
from parsnets.errors import BadInputError, UsageError

ROOT = Path(__file__).resolve().parents[2]
WAIT = 300  # seconds until a test gives up, on a machine with much else to do
pytestmark = pytest.mark.filterwarnings("ignore:validation holds out one class", "ignore:no calibration")


def dask_model(**parameters):
    return parsnets_dask.ParsNetsClassifier(**parameters)


def in_this_thread():
    """Without the cluster, for what does not depend on it."""
    return dask.config.set(scheduler="synchronous")


@pytest.fixture(scope="module", params=[1, 4], ids=["1 worker", "4 workers"])
def client(request, tmp_path_factory):
    # Uncompressed, so that bytes can be counted: dask decides from samples at random places what to compress.
    settings = {"distributed.comm.timeouts.connect": f"{WAIT}s", "distributed.comm.timeouts.tcp": f"{WAIT}s",
                "distributed.comm.compression": None}
    with dask.config.set(settings), distributed.LocalCluster(
            n_workers=request.param, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None,
            silence_logs=50, memory_limit=0, local_directory=str(tmp_path_factory.mktemp("workers"))) as cluster:
        with distributed.Client(cluster) as connected:
            connected.wait_for_workers(request.param, WAIT)
            yield connected


@pytest.fixture(scope="module")
def training(demo):
    rows = np.random.RandomState(0).permutation(demo.trainval)
    return demo.X[rows], demo.y[rows]


def in_partitions(x, y, rows=200):
    return da.from_array(x, chunks=(rows, -1)), da.from_array(y, chunks=rows)


@pytest.fixture
def made_on_workers(tmp_path):
    """A function that returns an array as a dask array whose blocks come into being on the workers.

    before(number) runs in front of each block.
    """
    def make(values, rows, before=lambda number: None):
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(file, values)

        def block(block_info=None):
            (first, last), *_ = block_info[None]["array-location"]
            before(block_info[None]["chunk-location"][0])
            return np.load(file)[first:last]

        chunks = da.core.normalize_chunks((rows, *values.shape[1:]), values.shape)
        return da.map_blocks(block, chunks=chunks, dtype=values.dtype, meta=values[:0])

    return make


@pytest.fixture(scope="module")
def fitted(demo, training):
    with in_this_thread():
        return dask_model(feature_scaling="l2").fit(*in_partitions(*training), class_attributes=demo.class_attributes)


@pytest.fixture(scope="module")
def one_process(demo, training):
    return ParsNetsClassifier().partial_fit(*training, class_attributes=demo.class_attributes)


def tensors(model):
    data = model._model.to_bytes()
    size = int.from_bytes(data[:8], "little")
    kinds = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "U8": np.uint8}
    found = json.loads(data[8:8 + size])
    found.pop("__metadata__")
    return {name: np.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], kinds[entry["dtype"]]).astype(float)
            for name, entry in found.items()}


def assert_same_model(model, other):
    ours, theirs = tensors(model), tensors(other)
    assert ours.keys() == theirs.keys() and len(ours["networks"]) > 1000
    for name, values in theirs.items():
        difference = np.linalg.norm(ours[name] - values)
        if name == "semantic_centre":  # 0 up to rounding
            assert difference < 1e-5
        else:
            assert difference <= 1e-5 * np.linalg.norm(values), name
    assert model.gamma_ == pytest.approx(other.gamma_, abs=1e-5)  # a difference of cosines
    assert model.temperature_ == pytest.approx(other.temperature_, rel=1e-5)
    assert model.seen_.tolist() == other.seen_.tolist()


def assert_equal(results, expected):
    """The same labels, or the same numbers up to rounding, which depends on the number of rows of a block."""
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(results, expected, rtol=1e-5, atol=1e-6)
    else:
        assert np.array_equal(results, expected)


# ---- The model ----


@pytest.mark.parametrize("x_chunks, y_chunks", [
    ((200, -1), (200,)), ((700, -1), (100,)), (((5, 1000, 531), 50), (1536,)), ((9, -1), (9,)), ((-1, -1), (-1,))])
def test_the_model_is_that_of_one_process(client, demo, training, one_process, x_chunks, y_chunks):
    x, y = da.from_array(training[0], chunks=x_chunks), da.from_array(training[1], chunks=y_chunks)
    model = dask_model(feature_scaling="l2").fit(x, y, class_attributes=demo.class_attributes)
    assert_same_model(model, one_process)
    assert model.gamma_ > 0 and model.record_["data"]["statistics"] == [{"samples": 1536, "weight": 1536}]
    with in_this_thread():
        alone = dask_model(feature_scaling="l2").fit(x, y, class_attributes=demo.class_attributes)
    assert model._model.to_bytes() == alone._model.to_bytes()  # the tree does not depend on the workers


def test_predictions_are_those_of_the_plain_estimator(client, demo, fitted, one_process):
    model = fitted
    x = da.from_array(demo.X, chunks=(300, 100))
    calls = [("predict", ()), ("predict", ("unseen",)), ("predict_proba", ()), ("predict_proba", (["deer", "truck"],)),
             ("decision_function", ()), ("class_scores", ()), ("transform", ())]
    lazy = [getattr(model, method)(x, *arguments) for method, arguments in calls]
    for (method, arguments), one, computed in zip(calls, lazy, dask.compute(*lazy)):
        in_memory = getattr(model, method)(demo.X, *arguments)
        assert isinstance(in_memory, np.ndarray)
        assert_equal(computed, in_memory)
        assert one.shape == computed.shape and one.dtype == computed.dtype == one._meta.dtype
        assert one.ndim == one._meta.ndim and one.chunks[0] == x.chunks[0]
    assert model.score(x, da.from_array(demo.y, chunks=77)) == pytest.approx(one_process.score(demo.X, demo.y))


def test_grid_search_runs_on_the_workers(client, demo, training):
    x, y = training
    search = GridSearchCV(RidgeZSL(n_jobs=1), {"alpha": [1, 1e9]}, cv=2, error_score="raise")
    with joblib.parallel_backend("dask"):
        search.fit(x, y, class_attributes=demo.class_attributes, validation="none")
    here = clone(search).fit(x, y, class_attributes=demo.class_attributes, validation="none")
    assert search.best_params_ == here.best_params_ == {"alpha": 1}
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    done = client.run_on_scheduler(lambda dask_scheduler: [str(name) for name in dask_scheduler.task_prefixes])
    assert any("fit_and_score" in name for name in done)


# ---- What moves ----


def sent(client):
    """What left the workers: (address of the worker that took it, or None for the client; keys; bytes)."""
    logs = client.run(lambda dask_worker: [(entry["who"], sorted(map(str, entry["keys"])), entry["compressed"])
                                           for entry in dask_worker.transfer_outgoing_log])
    return [entry for log in logs.values() for entry in log]


def payload(classes, rows_kept, d, groups=4):
    """Bytes of a statistics file without its header, as docs/scaling.md gives them."""
    return 4 * groups * d * (d + 1) + 8 * classes * d + 8 * classes + rows_kept * (4 * d + 12)


def test_only_sums_move_and_only_one_reaches_the_client(client, demo, training, made_on_workers):
    x, y = training
    to_client = []
    for copies in (1, 4):
        before = sent(client)
        many = made_on_workers(np.tile(x, (copies, 1)), 96 * copies)
        labels = made_on_workers(np.tile(y, copies), 96 * copies)
        dask_model(feature_scaling="l2").fit(many, labels, class_attributes=demo.class_attributes)
        new = sent(client)
        for entry in before:
            new.remove(entry)
        # Besides sums only their plan moves and, made for the function `block`, places of blocks: no block of X or y.
        may_move = r"\('parsnets-sum-\w+', |parsnets-sum-\w+-shared$|\('block-info-"
        assert not [key for _, keys, _ in new for key in keys if not re.match(may_move, key)]
        (last,) = [entry for entry in new if entry[0] is None]
        assert len(last[1]) == 1 and re.match(r"\('parsnets-sum-\w+', 2, 0\)", last[1][0])  # 16 partitions
        to_client.append(last[2])
        partial = payload(8, 8 * 16, 192)
        assert all(size <= len(keys) * (partial + 4000) for _, keys, size in new)
        assert last[2] > partial
    assert abs(to_client[1] - to_client[0]) < 1000, to_client  # although there are 4 times the samples


def test_the_bytes_of_partial_sums_are_those_of_the_formula(training):
    x, y = training
    plan = Plan(192, "l2", None, {})
    for rows in (np.arange(40), np.arange(1000)):
        part = sums_of([x[rows], y[rows]], 0, plan)
        kept = sum(min(16, count) for count in np.unique(y[rows], return_counts=True)[1])
        file = part.statistics.to_bytes()
        header = 8 + int.from_bytes(file[:8], "little")
        assert len(file) - header == payload(len(part.labels), kept, 192)
        assert 0 < len(pickle.dumps(part)) - len(file) < 1000 and header < 2000
        in_engine = 8 * 4 * 192**2 + 8 * len(part.labels) * (192 + 1) + kept * 4 * 192
        assert in_engine <= sizeof(part) < 1.1 * in_engine + 16 * len(part.labels) * 4 * 232


def test_pickled_statistics_are_the_same(training):
    x, y = training
    part = sums_of([x, y], 0, Plan(192, "l2", None, {})).statistics
    twin = pickle.loads(pickle.dumps(part))
    assert twin.to_bytes() == part.to_bytes() and twin.scaling == part.scaling == "l2"


def test_the_model_is_pickled_once_and_arrives_once(client, demo, training, fitted, monkeypatch):
    model = copy.copy(fitted)
    with pytest.warns(UserWarning, match="starts anew"):
        model.partial_fit(*training)  # has statistics now, which need not travel
    pickled = []
    to_bytes = Model.to_bytes
    monkeypatch.setattr(Model, "to_bytes", lambda self: pickled.append(self) or to_bytes(self))

    def count_arrivals():
        from parsnets._model import Model
        Model.arrived, from_bytes = 0, Model.from_bytes

        def counted(*arguments):
            Model.arrived += 1
            return from_bytes(*arguments)

        Model.from_bytes, Model.uncounted = staticmethod(counted), staticmethod(from_bytes)

    def arrivals():
        from parsnets._model import Model
        Model.from_bytes = Model.uncounted
        return Model.arrived

    client.run(count_arrivals)
    x = da.from_array(demo.X, chunks=(50, -1))
    dask.compute(model.predict(x), model.predict_proba(x), model.transform(x))
    arrived = client.run(arrivals)
    assert x.numblocks[0] > 40 and len(pickled) == 1
    assert max(arrived.values()) == 1
    monkeypatch.undo()
    assert len(pickle.dumps(model._for_workers())) < len(model._model.to_bytes()) + 4000


# ---- Laziness ----


def test_nothing_is_computed_before_compute(training, fitted, made_on_workers, tmp_path):
    model = copy.copy(fitted)
    ran = tmp_path / "ran"

    def note(number):
        with open(ran, "a") as file:
            file.write(f"{number}\n")

    x = made_on_workers(training[0], 500, note)
    lazy = [model.predict(x), model.predict_proba(x), model.decision_function(x), model.class_scores(x),
            model.transform(x)]
    assert not ran.exists() and all(isinstance(one, da.Array) for one in lazy)
    expected = [model.predict(training[0]), model.predict_proba(training[0])]
    model.remove_class("deer")  # later changes are not for predictions that were asked for before
    computed = dask.compute(*lazy[:2])
    assert sorted(ran.read_text().split()) == ["0", "1", "2", "3"]
    for one, other in zip(computed, expected):
        assert_equal(one, other)
    with pytest.raises(UsageError, match="expected an array in memory, found a dask collection"):
        model.explain(x)
    with pytest.raises(UsageError, match="partial_fit: expected arrays in memory"):
        model.partial_fit(x, training[1])
    assert len(ran.read_text().split()) == 4


# ---- Lost workers ----


def test_a_worker_that_is_killed_changes_nothing(client, demo, training, made_on_workers, tmp_path):
    x, y = training
    labels = da.from_array(y, chunks=96)
    ran = tmp_path / "ran"

    def note(number):
        with open(ran, "a") as file:
            file.write(f"{number}\n")
        if number == 12 and ran.read_text().split().count("12") == 1:  # the first time: report and wait for the end
            distributed.Variable("victim").set(os.getpid())
            distributed.Event("never set").wait(WAIT)
            raise RuntimeError("not killed")

    lazy = made_on_workers(x, 96, note)
    before = client.run(os.getpid)
    with ThreadPoolExecutor(1) as other:
        fitted = other.submit(dask_model(feature_scaling="l2").fit, lazy, labels,
                              class_attributes=demo.class_attributes)
        victim = distributed.Variable("victim", client).get(timeout=WAIT)
        assert victim in before.values() and victim != os.getpid()
        os.kill(victim, signal.SIGKILL)
        model = fitted.result(WAIT)
    distributed.Variable("victim", client).delete()
    counts = np.bincount([int(number) for number in ran.read_text().split()])
    assert len(counts) == 16 and counts.min() == 1 and counts[12] == 2
    if len(before) == 1:  # it held the sums of all partitions before, which are made again
        assert counts.sum() > 20
    with in_this_thread():
        alone = dask_model(feature_scaling="l2").fit(*in_partitions(x, y, 96), class_attributes=demo.class_attributes)
    assert model._model.to_bytes() == alone._model.to_bytes()
    client.wait_for_workers(len(before), WAIT)  # a new one takes its place
    assert victim not in client.run(os.getpid).values()


# ---- Errors ----


def wrong(kind, x, y):
    """Partitions of which the sixth is wrong."""
    x, y = x.copy(), y.astype("<U10")
    if kind == "NaN":
        x[1003, 5] = np.nan
    elif kind == "class":
        y[1003] = "unicorn"
    lazy, labels = in_partitions(x, y)
    if kind == "columns":
        lazy = lazy.map_blocks(lambda block, block_info: block[:, :-1] if block_info[0]["chunk-location"][0] == 5
                               else block, dtype=x.dtype, meta=np.empty((0, 0), x.dtype))
    elif kind == "rows":
        labels = labels.map_blocks(lambda block, block_info: block[:-1] if block_info[0]["chunk-location"][0] == 5
                                   else block, dtype=y.dtype, meta=np.empty(0, y.dtype))
    return lazy, labels


ERRORS = {"NaN": "expected finite numbers, found nan in row 3, column 5",
          "class": "class_attributes: expected a row for every label in y, found none for 'unicorn'",
          "columns": r"X: expected 192 columns as in the other partitions, found shape \(200, 191\)",
          "rows": r"y: expected 200 values, one per row of X, found shape \(199,\)"}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_in_one_partition_names_it(client, demo, training, fitted, kind):
    model = clone(fitted)
    model._model = before = fitted._model
    with pytest.raises(BadInputError, match="^partition 5: .*" + ERRORS[kind]):
        model.fit(*wrong(kind, *training), class_attributes=demo.class_attributes)
    assert model._model is before
    if kind == "NaN":
        with pytest.raises(ValueError, match="NaN"):
            model.predict(wrong(kind, *training)[0]).compute()


def test_errors_that_are_known_before_samples_are_read(demo, training, made_on_workers, tmp_path):
    ran = tmp_path / "ran"
    x, y = made_on_workers(training[0], 200, lambda number: ran.touch()), da.from_array(training[1], chunks=200)
    unknown = da.from_array(training[1], chunks=300)
    unknown = unknown[unknown != "none"]  # of unknown size
    table = {"class_attributes": demo.class_attributes}
    with pytest.raises(UsageError, match="expected no options that need samples, found networks"):
        dask_model(networks=8).fit(x, y, **table)
    with pytest.raises(UsageError, match="found method"):
        dask_model(method="ridge").fit(x, y, **table)
    with pytest.raises(UsageError, match="feature_scaling: expected none, l2 or sqrt-l2"):
        dask_model(feature_scaling="l3").fit(x, y, **table)
    with pytest.raises(UsageError, match="validation: expected 'auto' or 'none'"):
        dask_model().fit(x, y, validation=["frog"], **table)
    with pytest.raises(UsageError, match="class_names: expected class_attributes as well"):
        dask_model().fit(x, y, class_names=["frog"])
    with pytest.raises(UsageError, match="class_weight: expected a dict, 'balanced' or None"):
        dask_model(class_weight="equal").fit(x, y, **table)
    with pytest.raises(UsageError, match="class_weight: expected finite weights"):
        dask_model(class_weight={"frog": -1}).fit(x, y, **table)
    with pytest.raises(BadInputError, match="y: expected 1536 values, one per row of X, found 1535"):
        dask_model().fit(x, y[:-1], **table)
    with pytest.raises(BadInputError, match=r"y: expected 8 partitions .* found 6; call compute_chunk_sizes\(\)"):
        dask_model().fit(x, unknown, **table)
    with pytest.raises(BadInputError, match="y: expected one dimension, found shape"):
        dask_model().fit(x, x, **table)
    with pytest.raises(BadInputError, match="X: expected 2 dimensions and a known number of columns"):
        dask_model().fit(y, y, **table)
    with pytest.raises(BadInputError, match="X: expected a dask array or DataFrame, found Delayed"):
        dask_model().fit(dask.delayed(training[0]), y, **table)
    with pytest.raises(UsageError,
                       match="X: expected a dask array or DataFrame, as y or sample_weight is, found ndarray"):
        dask_model().fit(training[0], y, **table)
    with pytest.raises(NotFittedError):
        dask_model().predict(x)
    assert not ran.exists()
    with in_this_thread():
        model = dask_model().fit(x, y, **table)
    ran.unlink()
    with pytest.raises(ValueError, match="X has 191 features, but ParsNetsClassifier is expecting 192"):
        model.predict(x[:, 1:])
    with pytest.raises(BadInputError, match="classes: expected one or more labels in classes_, found 'unicorn'"):
        model.predict(x, ["unicorn"])
    assert not ran.exists()


def test_errors_of_labels_and_weights(demo, training):
    x, y = in_partitions(*training)
    table = {"class_attributes": demo.class_attributes}
    with in_this_thread():
        with pytest.raises(BadInputError,
                           match="partition 0: .*weights: expected numbers that are finite and not negative"):
            dask_model().fit(x, y, -da.ones(1536, chunks=200), **table)
        with pytest.raises(UsageError, match="class_weight: expected labels of classes, found 'unicorn'"):
            dask_model(class_weight={"unicorn": 2}).fit(x, y, **table)
        numbers = da.from_array(np.unique(training[1], return_inverse=True)[1].astype(float), chunks=200)
        with pytest.raises(BadInputError, match="partition 3: y: expected labels, found NaN or infinity"):
            dask_model().fit(x, da.where(da.arange(1536, chunks=200) == 600, np.nan, numbers))
        with pytest.raises(BadInputError, match="partition 0: Unknown label type"):
            dask_model().fit(x, numbers + 0.5)
        mixed = numbers.map_blocks(lambda block, block_info: block.astype(str)
                                   if block_info[0]["chunk-location"][0] else block, dtype=object)
        with pytest.raises(BadInputError,
                           match="y: expected labels of one type in all partitions, found <U32 and float64"):
            dask_model().fit(x, mixed)
        with pytest.raises(BadInputError, match="expected samples, found none"):
            dask_model().fit(x[:0], y[:0], **table)


# ---- Other data ----


def test_data_frames_of_unknown_lengths_and_empty_partitions(demo, training, one_process):
    x, y = training
    frame = pd.DataFrame(x, columns=[f"f{i}" for i in range(192)]).assign(label=y)
    lazy = dd.from_pandas(frame, npartitions=5)
    lazy = dd.concat([lazy.partitions[:2], lazy.partitions[2:3][lazy.partitions[2:3].label == "none"],
                      lazy.partitions[2:]])
    features, labels = lazy.drop(columns="label"), lazy["label"]
    with in_this_thread():
        model = dask_model().fit(features, labels, class_attributes=demo.class_attributes)
        assert_same_model(model, one_process)
        assert model.feature_names_in_.tolist() == list(features.columns)
        found = model.predict(features)
        assert np.array_equal(found.compute(), one_process.predict(x)) and np.isnan(found.shape[0])
        assert_equal(model.predict_proba(features).compute(), model.predict_proba(frame.drop(columns="label")))
        assert model.score(features, labels) == pytest.approx(one_process.score(x, y))
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(features.rename(columns={"f3": "g3"}))
        with pytest.raises(BadInputError, match="y: expected a dask array or Series, since the numbers of rows"):
            dask_model().fit(features, y, class_attributes=demo.class_attributes)


def test_one_negative_value_decides_the_scaling_for_all(demo, training):
    x, y = np.abs(training[0]), training[1]
    for values, scaling in ((x, "sqrt-l2"), (np.where(np.arange(len(x))[:, None] == 1500, -x, x), "l2")):
        with in_this_thread():
            model = dask_model().fit(*in_partitions(values, y), class_attributes=demo.class_attributes)
        assert model.trained_options_["feature-scaling"] == scaling
        assert_same_model(model, ParsNetsClassifier().partial_fit(values, y, class_attributes=demo.class_attributes))


def test_weights_of_samples_and_classes(demo, training):
    x, y = training
    weights = (np.arange(len(y)) % 3).astype(float)
    lazy = (*in_partitions(x, y), da.from_array(weights, chunks=333))
    for chosen in (None, "balanced", {y[0]: 4.0}):
        plain = ParsNetsClassifier(class_weight=chosen, networks=0, refine_steps=0)
        with in_this_thread():
            model = dask_model(class_weight=chosen).fit(*lazy, class_attributes=demo.class_attributes)
        assert_same_model(model, plain.fit(x, y, weights, class_attributes=demo.class_attributes))
    heavy = da.from_array(np.where(y == y[0], 100.0, 0.0), chunks=200)
    with in_this_thread():
        assert model.score(*lazy[:2], heavy) == pytest.approx(np.mean(model.predict(x[y == y[0]]) == y[0]))


def test_a_plain_classifier_needs_no_attributes(demo, training):
    x, y = training[0], np.unique(training[1], return_inverse=True)[1]
    plain = ParsNetsClassifier(networks=0, refine_steps=0).fit(x, y, np.ones(len(y)))
    with in_this_thread():
        model = dask_model().fit(*in_partitions(x, y))
        two = dask_model().fit(*in_partitions(x[y < 2], y[y < 2]))
        lazy = two.decision_function(da.from_array(x, chunks=(500, -1)))
        assert lazy.ndim == 1 and lazy.dtype == np.float32
        assert_equal(lazy.compute(), two.decision_function(x))
    assert_same_model(model, plain)
    assert model.classes_.dtype == y.dtype and model.trained_options_["feature-scaling"] == "standardize"


def test_arrays_in_memory_are_fitted_in_this_process(demo, training, one_process):
    model = dask_model().fit(*training, class_attributes=demo.class_attributes)
    assert model._model.to_bytes() == one_process._model.to_bytes()
    assert model.score(demo.X, demo.y) == one_process.score(demo.X, demo.y)
    frame = copy.copy(model).set_output(transform="pandas").transform(demo.X)
    assert frame.columns.tolist() == list(demo.attribute_names)
    lazy = clone(model).set_output(transform="pandas").fit_transform(*in_partitions(*training))
    assert isinstance(lazy, da.Array) and lazy.shape == (1536, 8)
    twin = pickle.loads(pickle.dumps(model))
    assert type(twin) is type(model) and np.array_equal(twin.predict(demo.X), model.predict(demo.X))
    assert clone(dask_model(alpha=3)).get_params() == dask_model(alpha=3).get_params()


def test_a_sum_of_nothing_and_something(training):
    x, y = training
    plan = Plan(192, "l2", None, {})
    parts = [sums_of([x[rows], y[rows]], 0, plan) for rows in (slice(0), slice(0, 9), slice(9, 40))]
    whole = total(parts)
    assert whole.labels.tolist() == np.unique(y[:40]).tolist() and isinstance(whole.statistics, Statistics)
    assert total(parts[:1]).statistics is None


# ---- Without dask, and the documentation ----


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


def test_dask_is_imported_only_when_it_is_needed():
    run = python("import sys, parsnets, parsnets.dask\nparsnets.ParsNetsClassifier()\nprint('dask' in sys.modules)\n"
                 "sys.modules['dask'] = None\n"
                 "parsnets.dask.ParsNetsClassifier().fit([[1.0], [2.0]], [0, 1])")
    assert run.stdout.split() == ["False"]
    assert "ImportError: parsnets.dask needs dask" in run.stderr
    assert "python3-dask and python3-distributed" in run.stderr


def test_the_blocks_of_the_documentation_run(demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "python-user.md").read_text("utf-8").split("## Larger than one machine")[1]
    fit, search = re.findall(r"^```py\n(.*?)^```", text.split("\n## ")[0], flags=re.M | re.S)
    names = {}
    with in_this_thread():
        exec(compile(fit, "docs/python-user.md", "exec"), names)
    assert isinstance(names["model"], parsnets_dask.ParsNetsClassifier) and len(names["model"].classes_) == 10
    assert [file.name for file in tmp_path.iterdir()] == ["demo.safetensors"]
    assert "with joblib.parallel_backend" in search  # test_grid_search_runs_on_the_workers does the same
