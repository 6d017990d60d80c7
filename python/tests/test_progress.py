import os
import signal
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parsnets import BadInputError, CancelledError, ParsNetsClassifier, RidgeZSL

OPTIONS = {"networks": 16, "active": 4, "encoding": 32, "refine-steps": 20}


def test_progress_names_stages(demo):
    calls = []
    ParsNetsClassifier(options=OPTIONS).fit_dataset(demo, progress=lambda *call: calls.append(call))
    assert len({stage for stage, *_ in calls}) > 1
    assert all(done <= total or total == 0 for _, done, total, _ in calls)


def test_a_true_answer_cancels(demo):
    model = ParsNetsClassifier(options=OPTIONS)
    with pytest.raises(CancelledError):
        model.fit_dataset(demo, progress=lambda *call: True)
    assert not hasattr(model, "classes_")


def test_exceptions_of_the_callback_come_through(demo):
    def fail(*call):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ParsNetsClassifier(options=OPTIONS).fit_dataset(demo, progress=fail)


def test_ctrl_c_stops_training(demo):
    calls = []

    def interrupt(*call):
        calls.append(call)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    model = ParsNetsClassifier(options=OPTIONS)
    with pytest.raises(KeyboardInterrupt) as raised:
        model.fit_dataset(demo, progress=interrupt)
    assert len(calls) == 2  # the engine stopped at the next report
    shown = "".join(traceback.format_exception(raised.type, raised.value, raised.tb))
    assert shown.count("Traceback") == 1 and shown.endswith("\nKeyboardInterrupt\n")  # CancelledError is not shown
    assert not hasattr(model, "classes_")
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_a_call_made_by_the_callback_stops_both(demo):
    model, calls = RidgeZSL().fit_dataset(demo), []

    def evaluate(*call):
        calls.append(call)
        model.evaluate(demo, progress=lambda *call: signal.raise_signal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        ParsNetsClassifier(options=OPTIONS).fit_dataset(demo, progress=evaluate)
    assert len(calls) == 1 and signal.getsignal(signal.SIGINT) is before


def stop(*call):
    return True


def fail(*call):
    raise KeyError("mine")


def interrupt(*call):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("progress, raised", [(stop, CancelledError), (fail, KeyError), (interrupt, KeyboardInterrupt)])
@pytest.mark.parametrize("frame", [False, True])
def test_a_fit_that_ends_early_leaves_a_fitted_estimator_as_it_was(demo, progress, raised, frame):
    x = pd.DataFrame(demo.X[demo.trainval], columns=[f"f{i}" for i in range(192)]) if frame else demo.X[demo.trainval]
    narrow = pd.DataFrame(np.asarray(x)[:, :7], columns=[f"g{i}" for i in range(7)])
    y = demo.y[demo.trainval]
    model = RidgeZSL().fit(x, y, class_attributes=demo.class_attributes)
    state, answers = dict(model.__dict__), model.predict(x[:50])
    for again in (narrow, narrow.to_numpy(), x):
        with pytest.raises(raised):
            model.fit(again, y, class_attributes=demo.class_attributes, progress=progress)
        assert model.__dict__ == state
    with pytest.raises(raised):
        model.fit_dataset(demo, progress=progress)
    assert model.__dict__ == state and hasattr(model, "feature_names_in_") == frame
    assert np.array_equal(model.predict(x[:50]), answers)


def test_a_fit_that_is_refused_leaves_a_fitted_estimator_as_it_was(demo):
    x, y = demo.X[demo.trainval], demo.y[demo.trainval]
    model = RidgeZSL().fit(x, y, class_attributes=demo.class_attributes)
    state = dict(model.__dict__)
    with pytest.raises(BadInputError):
        model.fit(pd.DataFrame(x[:, :7]).add_prefix("f"), y, class_attributes={"cat": [1]})
    assert model.__dict__ == state and model.predict(x[:5]).shape == (5,)
    model.fit(pd.DataFrame(x[:, :7]).add_prefix("f"), y, class_attributes=demo.class_attributes)
    assert model.n_features_in_ == 7 and model.feature_names_in_[0] == "f0"
    assert not hasattr(model.fit_dataset(demo), "feature_names_in_") and model.n_features_in_ == 192


@pytest.mark.parametrize("work", ["ParsNetsClassifier(refine_steps=100000).fit_dataset(data)",
                                  "ParsNetsClassifier(refine_steps=100000, verbose=1).fit_dataset(data)",
                                  "RidgeZSL().fit_dataset(data, progress=lambda *_: not fitted.evaluate(data))",
                                  "fitted.evaluate(data)", "datasets.load_demo()",
                                  "fitted.predict(many)", "fitted.class_scores(many)"])
def test_a_daemon_thread_at_work_does_not_crash_the_process_at_its_end(work):
    code = f"""
import os, threading
import numpy as np
from parsnets import ParsNetsClassifier, RidgeZSL, datasets

data = datasets.load_demo()
fitted = RidgeZSL().fit_dataset(data)
many = np.resize(data.X, (60000, data.X.shape[1]))
begun = threading.Event()


def again():
    while True:
        begun.set()
        {work}
        os.write(1, b"done ")


threading.Thread(target=again, daemon=True).start()
begun.wait()
fitted.class_scores(many)  # the thread gets into its work meanwhile
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    for _ in range(4):
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert run.returncode == 0 and ("verbose" in work or run.stderr == "")
        assert "100000" not in work or run.stdout == ""  # the end did not wait for the last of so many steps


def test_a_child_process_does_not_wait_for_the_threads_of_its_parent():
    code = """
import os, sys, threading
from parsnets import ParsNetsClassifier, datasets

data, begun = datasets.load_demo(), threading.Event()
train = ParsNetsClassifier(refine_steps=100000).fit_dataset
training = threading.Thread(target=train, args=(data,), kwargs={"progress": lambda *call: begun.set()}, daemon=True)
training.start()
begun.wait()
if os.fork() == 0:
    from parsnets import _threads
    assert not _threads._running  # nothing that the end of this process would wait for
    sys.exit(0)
print(os.wait()[1], training.is_alive())
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout == "0 True\n"


def test_verbose_writes_stages_with_and_without_tqdm(demo, capsys, monkeypatch):
    ParsNetsClassifier(options=OPTIONS, verbose=True).fit_dataset(demo)
    assert capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ParsNetsClassifier(options=OPTIONS, verbose=True).fit_dataset(demo)
    assert "parsnets: " in capsys.readouterr().err
    ParsNetsClassifier(options=OPTIONS).fit_dataset(demo)
    assert capsys.readouterr().err == ""


def test_a_signal_from_outside_stops_long_training(demo):
    begun, last = threading.Event(), []

    def note(*call):
        last[:] = call
        begun.set()

    def send():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    with pytest.raises(KeyboardInterrupt):
        ParsNetsClassifier(options={**OPTIONS, "refine-steps": 100000}).fit_dataset(demo, progress=note)
    stage, done, total, unit = last
    assert (done, total) != (100000, 100000)  # it did not go on to its end


def test_other_threads_run_while_the_engine_trains(demo):
    begun, stop, raised = threading.Event(), threading.Event(), []

    def report(*call):
        begun.set()
        return stop.is_set()

    def train():
        try:
            ParsNetsClassifier(options={**OPTIONS, "refine-steps": 100000}).fit_dataset(demo, progress=report)
        except CancelledError as error:
            raised.append(error)

    thread = threading.Thread(target=train)
    thread.start()
    begun.wait()
    stop.set()
    thread.join()
    assert len(raised) == 1  # this thread ran before the last of so many steps
