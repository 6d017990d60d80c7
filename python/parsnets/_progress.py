"""Progress of long calls (a Python function, tqdm or lines on stderr) and Ctrl-C.

The library does not handle signals. A handler records SIGINT, and the next progress call cancels. A KeyboardInterrupt
raised inside the callback would be lost, because ctypes drops exceptions there.

Work of daemon threads is cancelled when the interpreter ends (_threads): a callback without an interpreter would abort
the process.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Callable, Optional, Type

from ._library import ProgressFunction
from ._threads import in_main_thread, must_stop
from .errors import CancelledError

# (stage, done, total or 0, unit) -> anything true to stop
ProgressCallback = Callable[[str, int, int, str], Any]


class Watch:
    """with Watch(callback) as watch: call(..., watch.function, None, ...)"""

    def __init__(self, callback: Optional[ProgressCallback] = None) -> None:
        self._callback = callback
        self._raised: Optional[BaseException] = None
        self._interrupted = False
        self._previous: Any = None
        self.function = ProgressFunction(self._report)

    def _report(self, progress: Any, user: Any) -> int:
        if self._interrupted or must_stop():
            return 1
        if self._callback is None:
            return 0
        try:
            p = progress.contents
            return 1 if self._callback(p.stage.decode(), p.done, p.total, p.unit.decode()) else 0
        except BaseException as error:  # raised again when the call returns
            self._raised = error
            return 1

    def _on_interrupt(self, number: int, frame: Optional[FrameType]) -> None:
        self._interrupted = True

    def __enter__(self) -> Watch:
        if in_main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._previous = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        del self.function  # breaks the reference cycle with this object
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        if self._interrupted:
            try:
                self._previous(signal.SIGINT, None)  # Python's own raises KeyboardInterrupt; another Watch's notes it
            except BaseException as raised:
                raise raised from (None if isinstance(error, CancelledError) else error)
        if self._raised is not None and (kind is None or issubclass(kind, CancelledError)):
            raise self._raised from None


class Terminal:
    """Progress bar per stage with tqdm, or one line per stage on stderr."""

    def __init__(self) -> None:
        self._stage: Optional[str] = None
        self._bar: Any = None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._tqdm = tqdm

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        if stage != self._stage:
            self.close()
            self._stage = stage
            if self._tqdm is None:
                print(f"parsnets: {stage}", file=sys.stderr)
            else:
                self._bar = self._tqdm(desc=stage, total=total or None, unit=f" {unit}" if unit else "it")
        if self._bar is not None:
            self._bar.total = total or None
            self._bar.update(max(0, done - self._bar.n))

    def close(self) -> None:
        """Close the progress bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
