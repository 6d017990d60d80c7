"""Calls of the engine from threads other than the main one, at the end of the process.

exit() unloads libraries while daemon threads are still running, and a call in one of them would crash. The interpreter
therefore waits for such calls before it ends, and starts no new ones.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import Any, Callable, Dict

_LONGEST_WAIT = 10  # seconds, for a callback that never returns
_main = threading.main_thread().ident
_running: Dict[int, int] = {}  # thread id to depth of its calls into the engine
_ending = threading.Event()


def in_main_thread() -> bool:
    return threading.get_ident() == _main


def must_stop() -> bool:
    """Return whether long work of this thread should be cancelled."""
    return _ending.is_set() and not in_main_thread()


def run(function: Callable[..., int], *arguments: Any) -> int:
    """Return function(*arguments); the end of the process waits for it."""
    if in_main_thread():
        return function(*arguments)
    thread = threading.get_ident()
    outer = _running.get(thread, 0)
    _running[thread] = outer + 1  # before the check: whoever ends the process either sees it or is seen
    if not outer and _ending.is_set():
        _running.pop(thread, None)
        _stay_if_ending()
    try:
        return function(*arguments)
    finally:
        if outer:
            _running[thread] = outer
        else:
            _running.pop(thread, None)
            _stay_if_ending()


def _stay_if_ending() -> None:
    """Block a daemon thread forever, as would happen when it next waits for the interpreter."""
    if _ending.is_set():
        threading.Event().wait()


@atexit.register  # runs after all non-daemon threads have ended
def _stop_daemons() -> None:
    _ending.set()
    deadline = time.monotonic() + _LONGEST_WAIT
    while _running and time.monotonic() < deadline:
        time.sleep(0.002)


def _after_fork() -> None:
    """Only the thread that forked exists in the child, as its main thread."""
    global _main
    _main = threading.get_ident()
    _running.clear()


os.register_at_fork(after_in_child=_after_fork)
