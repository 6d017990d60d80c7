"""A trained model: a handle of the engine with the labels of its classes. Never changed once made.

Changes of the class bank give a new Model, so that threads that predict with the old one are not disturbed.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, List, Mapping, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._library import call, library, text, text_at, unsigned

Floats = NDArray[np.float32]
PathLike = Union[str, "os.PathLike[str]"]
AMONG = {"all": 0, "seen": 1, "unseen": 2}


@dataclass(frozen=True)
class Explanation:
    """Why one sample was given its class. Contributions are by attribute (m), shares of score - runner_up_score."""

    label: Any
    runner_up: Any
    score: float
    runner_up_score: float
    calibration: float
    prototypes: float
    contributions: Floats
    semantics: Floats
    open_networks: NDArray[np.int32]
    attribute_names: Tuple[str, ...]

    def top(self, count: int = 8) -> List[Tuple[str, float]]:
        """The attributes that spoke loudest for (or, if negative, against) the label: (name, contribution)."""
        order = np.argsort(-np.abs(self.contributions), kind="stable")[:count]
        return [(self.attribute_names[i], float(self.contributions[i])) for i in order]


@dataclass(frozen=True)
class Evaluation:
    """Percent, but for ausuc (0 to 1). u, s, h, ausuc and gamma are None without test samples of seen classes."""

    zsl_top1_per_class: float
    zsl_top1: float
    zsl_top5: float
    u: Optional[float]
    s: Optional[float]
    h: Optional[float]
    ausuc: Optional[float]
    gamma: Optional[float]


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    """Where a C-contiguous array starts."""
    return ctypes.c_void_p(array.ctypes.data)


class Model:
    """Owns `handle`. labels: C, in the order of the class bank; None takes the names."""

    def __init__(self, handle: ctypes.c_void_p, labels: Optional[NDArray[Any]] = None) -> None:
        self.handle = handle
        self._free = weakref.finalize(self, library().parsnets_model_free, handle)
        self._free.atexit = False  # other threads may still predict
        facts = _library.ModelFacts(size=ctypes.sizeof(_library.ModelFacts))
        call("model_get_facts", handle, ctypes.byref(facts))
        self.dimensions, self.attributes, self.classes = facts.dimensions, facts.attributes, facts.classes
        self.networks, self.open_networks = facts.networks, facts.open_networks
        self.predicts_semantics = bool(facts.predicts_semantics)
        self.gamma, self.temperature = float(facts.gamma), float(facts.temperature)
        self.method: str = facts.method.decode()
        self.options: str = facts.options.decode()
        self.record: str = facts.record.decode()
        self.seen: NDArray[np.bool_] = np.ctypeslib.as_array(facts.seen, (self.classes,)).astype(bool)
        self.semantics: Floats = np.ctypeslib.as_array(facts.semantics, (self.classes, self.attributes)).copy()
        self.names = [text_at("model_class_name", handle, i) or "" for i in range(self.classes)]
        found = [text_at("model_attribute_name", handle, i) for i in range(self.attributes)]
        self.attribute_names = tuple(n if n is not None else f"attribute{i}" for i, n in enumerate(found))
        self.labels: NDArray[Any] = np.array(self.names) if labels is None else labels

    @staticmethod
    def load(file: PathLike, labels: Optional[NDArray[Any]] = None) -> Model:
        handle = ctypes.c_void_p()
        call("model_load", text(os.fspath(file), "file"), ctypes.byref(handle))
        return Model(handle, labels)

    def save(self, file: PathLike) -> None:
        call("model_save", self.handle, text(os.fspath(file), "file"))

    def to_bytes(self) -> bytes:
        """The bytes that save() writes."""
        with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
            file = Path(folder) / "model.safetensors"
            self.save(file)
            return file.read_bytes()

    @staticmethod
    def from_bytes(data: bytes, labels: Optional[NDArray[Any]] = None) -> Model:
        with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:  # the file stays mapped when its name is gone
            file = Path(folder) / "model.safetensors"
            file.write_bytes(data)
            return Model.load(file, labels)

    def changed(self, change: Callable[[ctypes.c_void_p], None], labels: NDArray[Any]) -> Model:
        """A copy after change(handle)."""
        handle = ctypes.c_void_p()
        call("model_clone", self.handle, ctypes.byref(handle))
        try:
            change(handle)
        except BaseException:
            library().parsnets_model_free(handle)
            raise
        return Model(handle, labels)

    def scores(self, x: Floats, threads: int) -> Floats:
        """n x C, gamma not applied. x: n x d, C-contiguous, as in all that follow."""
        out = np.empty((len(x), self.classes), np.float32)
        call("predict_scores", self.handle, address(x), *x.shape, unsigned(threads, "threads", 32), address(out),
             self.classes)
        return out

    def confidences(self, x: Floats, threads: int) -> Floats:
        """n x C, rows sum to 1."""
        out = np.empty((len(x), self.classes), np.float32)
        call("predict_confidences", self.handle, address(x), *x.shape, unsigned(threads, "threads", 32), address(out),
             self.classes)
        return out

    def best(self, x: Floats, among: str, threads: int) -> NDArray[np.int32]:
        """n class numbers."""
        out = np.empty(len(x), np.int32)
        call("predict_top", self.handle, address(x), *x.shape, AMONG[among], 1,
             unsigned(threads, "threads", 32), address(out), None)
        return out

    def predicted_semantics(self, x: Floats, threads: int) -> Floats:
        """n x m."""
        out = np.empty((len(x), self.attributes), np.float32)
        call("predict_semantics", self.handle, address(x), *x.shape, unsigned(threads, "threads", 32), address(out),
             self.attributes)
        return out

    def explain(self, row: Floats) -> Explanation:
        """row: d."""
        out = _library.Explanation(size=ctypes.sizeof(_library.Explanation))
        contributions = np.empty(self.attributes, np.float32)
        semantics = np.empty(self.attributes, np.float32)
        opened = np.empty(self.open_networks, np.int32)
        call("explain", self.handle, address(row), len(row), ctypes.byref(out), address(contributions),
             address(semantics), self.attributes, address(opened), self.open_networks)
        return Explanation(self.labels[out.winner], self.labels[out.runner_up], out.winner_score, out.runner_up_score,
                           out.calibration, out.prototypes, contributions, semantics, opened, self.attribute_names)


class Options:
    """Options of training by their names on the command line; underscores count as hyphens."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.handle = ctypes.c_void_p()
        call("options_create", ctypes.byref(self.handle))
        self._free = weakref.finalize(self, library().parsnets_options_free, self.handle)
        for name, value in values.items():
            written = str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)
            call("options_set", self.handle, text(name.replace("_", "-"), "option"), text(written, name))
