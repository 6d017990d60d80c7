"""What predict() does beyond the engine's own work, in counts; bench/peers/predict_overhead.py measures times."""

import sys
import tracemalloc

import numpy as np
import pytest

from parsnets import ParsNetsClassifier


@pytest.fixture(scope="module")
def model(demo):
    return ParsNetsClassifier(n_jobs=1).fit_dataset(demo)


def calls_of(work):
    """How many functions, of Python and of C, work() calls."""
    counts = {"call": 0, "c_call": 0}

    def count(frame, event, argument):
        if event in counts:
            counts[event] += 1

    work()  # what is made once does not count
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    print(counts)
    return sum(counts.values())


def test_one_sample_takes_few_calls(model, demo):
    one = np.ascontiguousarray(demo.X[:1])
    assert calls_of(lambda: model.predict(one)) < 16


def test_many_samples_take_the_calls_of_two(model, demo):
    assert calls_of(lambda: model.predict(demo.X)) == calls_of(lambda: model.predict(demo.X[:2]))


def test_many_samples_are_read_in_place(model, demo):
    x = np.ascontiguousarray(np.resize(demo.X, (10000, demo.X.shape[1])))
    model.predict(x)
    tracemalloc.start()
    try:
        model.predict(x)
        assert tracemalloc.get_traced_memory()[1] < x.nbytes / 8  # labels, no copy of the samples
    finally:
        tracemalloc.stop()
