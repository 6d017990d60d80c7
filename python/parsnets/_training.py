"""From the parameters of an estimator to a trained model: options, seeds, threads and the call of the engine."""

from __future__ import annotations

import ctypes
import operator
import os
import weakref
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ._library import call, library, text, unsigned
from ._model import Model
from ._progress import ProgressCallback, Terminal, Watch
from .errors import UsageError

try:
    from sklearn.utils.validation import validate_data

    validated: Callable[..., Any] = validate_data
except ImportError:  # before scikit-learn 1.6

    def validated(estimator: Any, *arguments: Any, **options: Any) -> Any:
        return estimator._validate_data(*arguments, **options)


class Options:
    """Training options by their command-line names; underscores are read as hyphens."""

    def __init__(self, values: Mapping[str, Any], parameter_of: Callable[[str], str]) -> None:
        self.handle = ctypes.c_void_p()
        call("options_create", ctypes.byref(self.handle))
        self._free = weakref.finalize(self, library().parsnets_options_free, self.handle)
        self._free.atexit = False  # other threads may still train
        for name, value in values.items():
            if isinstance(value, (list, tuple, np.ndarray)):
                written = ",".join(str(item) for item in value)
            else:
                written = str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)
            call("options_set", self.handle, text(name.replace("_", "-"), "option"), text(written, name),
                 parameter_of=parameter_of)


def seed_of(random_state: Any) -> int:
    """Return the engine's seed: the integer itself, or one drawn from None or a RandomState."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    return unsigned(random_state, "random_state", 64)


def threads_of(n_jobs: Any) -> int:
    """Return the engine's number of threads. None: 1; -1: 0, one per core; -2: all cores but one."""
    if n_jobs is None or n_jobs == 1:
        return 1
    try:
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if number == 0 or number >= 1 << 32:
        raise UsageError(f"n_jobs: expected None, a number of threads, or -1 for all cores, found {n_jobs!r}")
    return max(0, number) if number >= -1 else max(1, (os.cpu_count() or 1) + 1 + number)


def train(source: Sequence[Any], values: Mapping[str, Any], parameters: Mapping[str, str], labels: NDArray[Any], *,
          feature_names: Any, threads: int, verbose: Any, progress: Optional[ProgressCallback]) -> Model:
    """Train a model.

    source: name of the engine's function and its first arguments, ("train", data set) or ("train_statistics",
    statistics, classes); values: options by the engine's names; parameters: the estimator's parameters for them, for
    messages; labels: shape (n_classes,); feature_names: shape (n_features,), or None.
    """
    def parameter_of(option: str) -> str:
        return parameters.get(option, f"options[{option!r}]")

    named = None if feature_names is None else (
        (ctypes.c_char_p * len(feature_names))(*[text(name, "feature name") for name in feature_names]))
    terminal = Terminal() if verbose and progress is None else None
    handle = ctypes.c_void_p()
    try:
        options = Options(values, parameter_of)
        with Watch(terminal if progress is None else progress) as watch:
            call(*source, options.handle, threads, watch.function, None, ctypes.byref(handle),
                 parameter_of=parameter_of)
            model = Model(handle, labels)
        if named is not None:
            call("model_set_feature_names", handle, named, len(named))
        return model
    finally:
        if terminal is not None:
            terminal.close()
