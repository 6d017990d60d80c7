"""One estimator in several threads: predictions stay right while classes come and go, in copies and in itself."""

import copy
import itertools
import threading

import numpy as np
import pytest
from sklearn.base import clone

from parsnets import ParsNetsClassifier, RidgeZSL

ESTIMATORS = [RidgeZSL(), ParsNetsClassifier(networks=16, active=4, encoding=32, refine_steps=2)]


def between(demo):
    """The attributes of a class that takes samples from others."""
    return (demo.class_attributes["deer"] + demo.class_attributes["horse"]) / 2


def run_while(work, others):
    """Runs `work` in four threads, and the others once at least and until those four are done; raises what they
    raise."""
    problems, done, turns = [], threading.Event(), [0] * len(others)

    def guarded(function):
        try:
            function()
        except BaseException as error:  # threads swallow them
            problems.append(error)

    def again(number):
        while not turns[number] or not done.is_set():
            others[number]()
            turns[number] += 1

    workers = [threading.Thread(target=guarded, args=(work,)) for _ in range(4)]
    rest = [threading.Thread(target=guarded, args=(lambda i=i: again(i),)) for i in range(len(others))]
    for thread in rest + workers:
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    for thread in rest:
        thread.join()
    if problems:
        raise problems[0]
    return turns


@pytest.fixture(params=ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def model(request, demo):
    return clone(request.param).fit_dataset(demo)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_four_threads_predict_while_a_fifth_adds_classes_to_its_own_copy(demo, model, duplicate):
    x, names = np.ascontiguousarray(demo.X[::12]), model.classes_.tolist()
    labels, scores = model.predict(x), model.class_scores(x)
    own = duplicate(model)
    expected = copy.deepcopy(model).add_class("class 0", between(demo)).class_scores(x)

    def predict():
        for i in range(40):
            assert np.array_equal(model.predict(x), labels)
            assert np.array_equal(model.class_scores(x), scores)
            row = i % len(x)
            assert model.predict(x[row:row + 1])[0] == labels[row]

    def add():
        count = len(own.classes_) - len(names)
        own.add_class(f"class {count}", between(demo))
        np.testing.assert_allclose(own.class_scores(x)[:, :len(names) + 1], expected, atol=1e-6)

    turns = run_while(predict, [add])
    assert turns[0] > 0 and len(own.classes_) == len(names) + turns[0]
    assert model.classes_.tolist() == names and np.array_equal(model.class_scores(x), scores)


def test_four_threads_predict_while_classes_of_the_same_estimator_change(demo, model):
    x = np.ascontiguousarray(demo.X[::12])
    okapi = between(demo)
    without, with_one = copy.copy(model), copy.copy(model).add_class("okapi", okapi)
    met = [set(), set()]
    answers = [{name: getattr(m, name)(x) for name in ("predict", "class_scores", "predict_proba")}
               for m in (without, with_one)]
    assert not np.array_equal(answers[0]["predict"], answers[1]["predict"])  # else nothing is tested
    singles = [{m.predict(x[i:i + 1])[0] for m in (without, with_one)} for i in range(len(x))]

    def predict():
        for turn in itertools.count():
            if turn >= 40 and met[0] and met[1]:  # both models were seen at work
                break
            i = turn % len(x)
            for name in ("predict", "class_scores", "predict_proba"):
                found = getattr(model, name)(x)
                which = [np.array_equal(found, answer[name]) for answer in answers]
                assert any(which)  # all of one model, never of a mixture
                met[which.index(True)].add(name)
            assert model.predict(x[i:i + 1])[0] in singles[i]

    def change():
        model.add_class("okapi", okapi)
        model.remove_class("okapi")

    turns = run_while(predict, [change])
    assert turns[0] > 0
    assert np.array_equal(model.class_scores(x), answers[0]["class_scores"])


def test_threads_train_at_once(demo):
    expected = [RidgeZSL(alpha=alpha).fit_dataset(demo).class_scores(demo.X[:50]) for alpha in (0.1, 1, 10, 100)]
    turn, lock = iter(range(4)), threading.Lock()

    def train():
        with lock:
            mine = next(turn)
        for _ in range(5):
            model = RidgeZSL(alpha=(0.1, 1, 10, 100)[mine]).fit_dataset(demo)
            assert np.array_equal(model.class_scores(demo.X[:50]), expected[mine])

    run_while(train, [])
