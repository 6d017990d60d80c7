"""Processes that are forked from one that has predicted, and what is left of arrays and models that are gone."""

import gc
import multiprocessing
import signal
import weakref

import numpy as np
import pytest

from parsnets import ParsNetsClassifier, RidgeZSL

MINUTES = 5 * 60  # ends what hangs


def in_fork(work, *arguments):
    """What the work returns in a forked process."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def run():
        theirs.send(work(*arguments))

    process = context.Process(target=run)
    process.start()
    try:
        assert ours.poll(MINUTES), "the fork neither answers nor ends"
        result = ours.recv()
        process.join(MINUTES)
        assert process.exitcode == 0
        return result
    finally:
        process.kill()


@pytest.fixture(scope="module")
def fitted(demo):
    return ParsNetsClassifier(networks=8, active=2, encoding=16, refine_steps=1).fit_dataset(demo)


def test_a_fork_predicts_and_learns_as_its_parent(demo, fitted):
    x = demo.X[::40]
    expected = fitted.class_scores(x)  # the parent has used its threads
    np.testing.assert_array_equal(in_fork(fitted.class_scores, x), expected)
    np.testing.assert_array_equal(in_fork(lambda: in_fork(fitted.class_scores, x)), expected)  # a fork of a fork
    scores = in_fork(lambda: RidgeZSL().fit_dataset(demo).class_scores(x))
    np.testing.assert_array_equal(scores, RidgeZSL().fit_dataset(demo).class_scores(x))
    np.testing.assert_array_equal(fitted.class_scores(x), expected)


def test_a_killed_fork_takes_nothing_of_its_parent_along(demo, fitted):
    x = demo.X[::40]
    expected = fitted.class_scores(x)
    process = multiprocessing.get_context("fork").Process(target=signal.pause)
    process.start()
    process.kill()
    process.join(MINUTES)
    assert process.exitcode == -signal.SIGKILL
    np.testing.assert_array_equal(fitted.class_scores(x), expected)


def test_results_outlive_their_model_and_models_their_input(demo):
    x = np.array(demo.X[::40])
    model = RidgeZSL().fit_dataset(demo)
    scores = model.class_scores(x)
    expected, gone = scores.copy(), weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None, "a prediction keeps its samples"
    again = model.class_scores(demo.X[::40])
    model_gone = weakref.ref(model)
    del model
    gc.collect()
    assert model_gone() is None, "predictions keep their model"
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(again, expected)
