"""Statistics of samples, from which the engine trains the closed form of class space. Immutable."""

from __future__ import annotations

import ctypes
import tempfile
import weakref
from pathlib import Path
from typing import Any, List, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._labels import Floats
from ._library import call, library, text
from ._model import address

GROUPS, KEPT_ROWS = 4, 16  # of classes, and raw samples of each class, for calibration: the engine's defaults


def _names(names: Sequence[str], what: str) -> Any:
    return (ctypes.c_char_p * len(names))(*[text(name, what) for name in names])


class Statistics:
    """Owns `handle`. scaling: of the samples, as the engine names it; "standardize" is applied when training."""

    def __init__(self, handle: ctypes.c_void_p, scaling: str) -> None:
        self.handle, self.scaling = handle, scaling
        self._free = weakref.finalize(self, library().parsnets_statistics_free, handle)
        self._free.atexit = False

    @staticmethod
    def of(x: Floats, places: NDArray[np.int32], weights: Optional[NDArray[np.float64]], class_names: List[str],
           scaling: str, threads: int) -> Statistics:
        """Return the statistics of samples. x: (n_samples, n_features); places: class numbers, (n_samples,)."""
        options = _library.StatisticsOptions(ctypes.sizeof(_library.StatisticsOptions),
                                             text("none" if scaling == "standardize" else scaling, "feature_scaling"),
                                             GROUPS, KEPT_ROWS)
        handle = ctypes.c_void_p()
        call("statistics_create", _names(class_names, "class name"), len(class_names), x.shape[1],
             ctypes.byref(options), ctypes.byref(handle))
        made = Statistics(handle, scaling)
        call("statistics_add", handle, address(x), address(places), None if weights is None else address(weights),
             *x.shape, threads)
        return made

    def merged(self, *others: Statistics) -> Statistics:
        """Return the sum of all, added up in their order."""
        handle = ctypes.c_void_p()
        call("statistics_clone", self.handle, ctypes.byref(handle))
        made = Statistics(handle, self.scaling)
        for other in others:
            call("statistics_merge", handle, other.handle)
        return made

    def __deepcopy__(self, memo: Any) -> Statistics:
        return self  # never changed

    def to_bytes(self) -> bytes:
        """Return the contents of a statistics file."""
        with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
            file = Path(folder) / "statistics.safetensors"
            call("statistics_save", self.handle, text(str(file), "file"))
            return file.read_bytes()

    def __reduce__(self) -> Any:
        return _from_bytes, (self.to_bytes(), self.scaling)


def _from_bytes(data: bytes, scaling: str) -> Statistics:
    with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
        file = Path(folder) / "statistics.safetensors"
        file.write_bytes(data)
        handle = ctypes.c_void_p()
        call("statistics_load", text(str(file), "file"), ctypes.byref(handle))
    return Statistics(handle, scaling)


def class_arrays(class_names: List[str], semantics: Floats, attribute_names: Optional[Sequence[str]]) -> Any:
    """Return the engine's struct of classes without samples. It refers to `semantics`."""
    arrays = _library.Arrays(size=ctypes.sizeof(_library.Arrays), classes=semantics.shape[0],
                             attributes=semantics.shape[1], semantics=address(semantics),
                             class_names=_names(class_names, "class name"))
    if attribute_names is not None:
        arrays.attribute_names = _names(list(attribute_names), "attribute name")
    return arrays
