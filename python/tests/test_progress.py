import os
import signal
import sys
import threading
import time

import pytest

from parsnets import Cancelled, ParsNetsClassifier

OPTIONS = {"networks": 16, "open": 4, "encoding": 32, "refine-steps": 20}


def test_progress_names_stages(demo):
    calls = []
    ParsNetsClassifier(options=OPTIONS).fit_dataset(demo, progress=lambda *call: calls.append(call))
    assert len({stage for stage, *_ in calls}) > 1
    assert all(done <= total or total == 0 for _, done, total, _ in calls)


def test_a_true_answer_cancels(demo):
    model = ParsNetsClassifier(options=OPTIONS)
    with pytest.raises(Cancelled):
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
    with pytest.raises(KeyboardInterrupt):
        model.fit_dataset(demo, progress=interrupt)
    assert len(calls) == 2  # the engine stopped at the next report
    assert not hasattr(model, "classes_")
    assert signal.getsignal(signal.SIGINT) is before


def test_verbose_writes_stages_with_and_without_tqdm(demo, capsys, monkeypatch):
    ParsNetsClassifier(options=OPTIONS, verbose=True).fit_dataset(demo)
    assert capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ParsNetsClassifier(options=OPTIONS, verbose=True).fit_dataset(demo)
    assert "parsnets: " in capsys.readouterr().err
    ParsNetsClassifier(options=OPTIONS).fit_dataset(demo)
    assert capsys.readouterr().err == ""


def test_a_signal_from_outside_stops_long_training_soon(demo):
    model = ParsNetsClassifier(options={**OPTIONS, "refine-steps": 100000})
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit_dataset(demo)
    assert time.monotonic() - sent[0] < 5


def test_other_threads_run_while_the_engine_trains(demo):
    stop, raised = threading.Event(), []

    def train():
        try:
            ParsNetsClassifier(options={**OPTIONS, "refine-steps": 100000}).fit_dataset(
                demo, progress=lambda *call: stop.is_set())
        except Cancelled as error:
            raised.append(error)

    thread = threading.Thread(target=train)
    thread.start()
    time.sleep(0.3)
    assert thread.is_alive()
    stop.set()
    thread.join(10)
    assert not thread.is_alive() and len(raised) == 1
