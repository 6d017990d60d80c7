"""A trained model: a handle of the engine with the labels of its classes. Never changed once made.

Changes of the class bank give a new Model, so that threads that predict with the old one are not disturbed, and copies
of an estimator share one.
"""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._labels import Floats, file_labels, name_of
from ._library import call, copy_at, last_error, library, text, text_at
from ._progress import ProgressCallback, Watch
from .errors import Usage

if TYPE_CHECKING:
    from .datasets import Dataset

PathLike = Union[str, "os.PathLike[str]"]
AMONG = {"all": 0, "seen": 1, "unseen": 2}


@dataclass(frozen=True, eq=False)  # arrays have no one answer to ==
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

    def _repr_html_(self) -> str:
        from ._display import explanation_html
        return explanation_html(self)


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

    def _repr_html_(self) -> str:
        from ._display import evaluation_html
        return evaluation_html(self)


_FLOAT32 = np.dtype(np.float32)


def address(array: NDArray[Any]) -> int:
    """Where a C-contiguous array starts."""
    return array.ctypes.data


def readable(x: Any, dimensions: int) -> bool:
    """Whether the engine can read x, n x d, as it is."""
    return (type(x) is np.ndarray and x.dtype == _FLOAT32 and x.ndim == 2 and x.shape[1] == dimensions
            and x.shape[0] > 0 and x.flags.c_contiguous and x.flags.aligned)


def evaluation(function: str, handle: ctypes.c_void_p, data: Dataset, threads: int,
               progress: Optional[ProgressCallback]) -> Evaluation:
    """The zero-shot protocol on the test samples. function: the engine's for this kind of handle."""
    out = _library.Evaluation(size=ctypes.sizeof(_library.Evaluation))
    with Watch(progress) as watch:
        call(function, handle, data.pointer, threads, watch.function, None, ctypes.byref(out))
    general = [out.u, out.s, out.h, out.ausuc, out.gamma] if out.has_gzsl else [None] * 5
    return Evaluation(out.zsl_top1_per_class, out.zsl_top1, out.zsl_top5, *general)


class Model:
    """Owns `handle`. labels: C, in the order of the class bank; None takes the names of the classes. before: the model
    that it was made from by a change of classes or calibration, which shares what is not changed."""

    def __init__(self, handle: ctypes.c_void_p, labels: Optional[NDArray[Any]] = None,
                 before: Optional[Model] = None) -> None:
        self.handle = handle
        self._free = weakref.finalize(self, library().parsnets_model_free, handle)
        self._free.atexit = False  # other threads may still predict
        self._predict_top = library().parsnets_predict_top
        facts = self._facts()
        self.dimensions, self.attributes, self.classes = facts.dimensions, facts.attributes, facts.classes
        self.seen_classes = facts.seen_classes
        self.networks, self.open_networks = facts.networks, facts.open_networks
        self.predicts_semantics = bool(facts.predicts_semantics)
        self.gamma, self.temperature = float(facts.gamma), float(facts.temperature)
        self.seen: NDArray[np.bool_] = copy_at(facts.seen, np.uint8, self.classes).view(bool)
        self.method: str = before.method if before else facts.method.decode()
        self.options: str = before.options if before else facts.options.decode()
        self.record: str = before.record if before else facts.record.decode()
        self.attribute_names: Tuple[str, ...] = before.attribute_names if before else tuple(
            text_at("model_attribute_name", handle, i) or f"attribute{i}" for i in range(self.attributes))
        if labels is None:
            labels = np.array([text_at("model_class_name", handle, i) or "" for i in range(self.classes)])
        labels.flags.writeable = False
        self.labels = labels

    def _facts(self) -> _library.ModelFacts:
        facts = _library.ModelFacts(size=ctypes.sizeof(_library.ModelFacts))
        call("model_get_facts", self.handle, ctypes.byref(facts))
        return facts

    @functools.cached_property
    def semantics(self) -> Floats:
        """C x m, as given. Read when it is asked for: changes of a large class bank would spend their time here."""
        return copy_at(self._facts().semantics, np.float32, self.classes, self.attributes)

    @property
    def names_attributes(self) -> bool:
        """Whether attribute_names are those of the data, not numbers."""
        return text_at("model_attribute_name", self.handle, 0) is not None

    @staticmethod
    def load(file: PathLike, labels: Any = None) -> Model:
        """labels: as of file_labels(); None: the names of the classes."""
        handle = ctypes.c_void_p()
        call("model_load", text(os.fspath(file), "file"), ctypes.byref(handle))
        model = Model(handle)
        if labels is not None:
            model.labels = file_labels(labels, model.labels.tolist())
        return model

    def save(self, file: PathLike) -> None:
        call("model_save", self.handle, text(os.fspath(file), "file"))

    def to_bytes(self) -> bytes:
        """The bytes that save() writes."""
        with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
            file = Path(folder) / "model.safetensors"
            self.save(file)
            return file.read_bytes()

    @staticmethod
    def from_bytes(data: bytes, labels: Any = None) -> Model:
        """Of to_bytes(); labels: as of load()."""
        with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
            file = Path(folder) / "model.safetensors"
            file.write_bytes(data)
            return Model.load(file, labels)

    def __deepcopy__(self, memo: Any) -> Model:
        return self  # never changed

    def changed(self, change: Callable[[ctypes.c_void_p], None], labels: NDArray[Any]) -> Model:
        """A copy after change(handle)."""
        handle = ctypes.c_void_p()
        call("model_clone", self.handle, ctypes.byref(handle))
        try:
            change(handle)
        except BaseException:
            library().parsnets_model_free(handle)
            raise
        return Model(handle, labels, before=self)

    def name(self, place: int) -> str:
        """Of class `place`, as the engine knows it."""
        return name_of(self.labels[place])

    def scores(self, x: Floats, threads: int) -> Floats:
        """n x C, gamma not applied. x: n x d, C-contiguous, as in all that follow."""
        out = np.empty((len(x), self.classes), np.float32)
        call("predict_scores", self.handle, address(x), *x.shape, threads, address(out), self.classes)
        return out

    def confidences(self, x: Floats, threads: int) -> Floats:
        """n x C, rows sum to 1."""
        out = np.empty((len(x), self.classes), np.float32)
        call("predict_confidences", self.handle, address(x), *x.shape, threads, address(out), self.classes)
        return out

    def best(self, x: Floats, among: str, threads: int) -> NDArray[np.int32]:
        """n class numbers. among: a key of AMONG."""
        if among != "all" and self.seen_classes == (0 if among == "seen" else self.classes):
            raise Usage(f"classes: expected at least one {among} class, found none"
                        + ("; add one with add_class()" if among == "unseen" else ""))
        out = np.empty(x.shape[0], np.int32)
        start = ctypes.byref(ctypes.c_int32.from_buffer(out.data))  # a quarter of the time of address(out)
        status = self._predict_top(self.handle, address(x), x.shape[0], x.shape[1], AMONG[among], 1, threads, start,
                                   None)
        if status != 0:
            raise last_error(status)
        return out

    def predicted_semantics(self, x: Floats, threads: int) -> Floats:
        """n x m."""
        out = np.empty((len(x), self.attributes), np.float32)
        call("predict_semantics", self.handle, address(x), *x.shape, threads, address(out), self.attributes)
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

    def evaluate(self, data: Dataset, threads: int, progress: Optional[ProgressCallback]) -> Evaluation:
        """The zero-shot protocol on the test samples; classes are matched by name."""
        return evaluation("evaluate", self.handle, data, threads, progress)
