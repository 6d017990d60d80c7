"""A trained model: a handle of the engine with the labels of its classes. Never changed once made.

Changes of the class bank give a new Model, so that threads that predict with the old one are not disturbed, and copies
of an estimator share one.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._labels import Floats, file_labels, name_of, places_of
from ._library import call, copy_at, last_error, library, text, text_at
from ._progress import ProgressCallback, Watch
from ._threads import run
from .errors import Usage
from .results import Evaluation, Explanation

if TYPE_CHECKING:
    from .datasets import Dataset

PathLike = Union[str, "os.PathLike[str]"]
AMONG = {"all": 0, "seen": 1, "unseen": 2}


_FLOAT32 = np.dtype(np.float32)
_char_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def address(array: NDArray[Any]) -> int:
    """Where a C-contiguous array starts."""
    return array.ctypes.data


def readable(x: Any, dimensions: int) -> bool:
    """Whether the engine can read x, n x d, as it is."""
    return (type(x) is np.ndarray and x.dtype == _FLOAT32 and x.ndim == 2 and x.shape[1] == dimensions
            and x.shape[0] > 0 and x.flags.c_contiguous and x.flags.aligned)


def ranked(function: str, handle: ctypes.c_void_p, x: Floats, candidates: NDArray[Any], k: int,
           threads: int) -> Tuple[NDArray[np.int32], Floats, Floats]:
    """n x k each: the best of the candidates (class numbers), best first, their scores with gamma applied and their
    confidences. function: the engine's."""
    among = np.ascontiguousarray(candidates, np.int32)
    places = np.empty((len(x), k), np.int32)
    scores, shares = np.empty((len(x), k), np.float32), np.empty((len(x), k), np.float32)
    if len(x):
        call(function, handle, address(x), *x.shape, address(among), len(among), k, threads, address(places),
             address(scores), address(shares))
    return places, scores, shares


def by_class(places: NDArray[np.int32], values: Floats, classes: int) -> Floats:
    """n x C, values (n x k) at their places, 0 elsewhere."""
    out = np.zeros((len(places), classes), np.float32)
    np.put_along_axis(out, places.astype(np.intp), values, axis=1)
    return out


def evaluation(function: str, handle: ctypes.c_void_p, data: Dataset, threads: int,
               progress: Optional[ProgressCallback], *by_class: Any) -> Evaluation:
    """The zero-shot protocol on the test samples. function: the engine's, by_class: its further arguments."""
    out = _library.Evaluation(size=ctypes.sizeof(_library.Evaluation))
    with Watch(progress) as watch:
        call(function, handle, data.pointer, threads, watch.function, None, ctypes.byref(out), *by_class)
    u, s, h, ausuc, gamma = (out.u, out.s, out.h, out.ausuc, out.gamma) if out.has_gzsl else (None,) * 5
    return Evaluation(out.zsl_top1_per_class, out.zsl_top1, out.zsl_top5, u, s, h, ausuc, gamma,
                      None if out.trained_samples < 0 else out.trained_samples)


def _json_object(said: str) -> Dict[str, Any]:
    """Empty where a file, which need not be ours, says something else."""
    found = json.loads(said or "{}")
    return found if isinstance(found, dict) else {}


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
        self._one_row = (1, self.dimensions)
        self.networks, self.open_networks = facts.networks, facts.open_networks
        self.predicts_semantics = bool(facts.predicts_semantics)
        self.gamma, self.temperature = float(facts.gamma), float(facts.temperature)
        self.seen: NDArray[np.bool_] = copy_at(facts.seen, np.uint8, self.classes).view(bool)
        self.method: str = before.method if before else facts.method.decode()
        self._json: Tuple[str, str] = before._json if before else (facts.options.decode(), facts.record.decode())
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

    @functools.cached_property
    def options(self) -> Dict[str, Any]:
        """After selection, by their names on the command line."""
        return _json_object(self._json[0])

    @functools.cached_property
    def record(self) -> Dict[str, Any]:
        """Of training."""
        return _json_object(self._json[1])

    @functools.cached_property
    def feature_names(self) -> Optional[NDArray[Any]]:
        """d, as scikit-learn keeps them; None: they have none."""
        if text_at("model_feature_name", self.handle, 0) is None:
            return None
        return np.array([text_at("model_feature_name", self.handle, i) for i in range(self.dimensions)], dtype=object)

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

    def calibrated(self, x: Floats, threads: int) -> Floats:
        """n x C, gamma applied."""
        places, scores, _ = ranked("rank", self.handle, x, np.arange(self.classes), self.classes, threads)
        return by_class(places, scores, self.classes)

    def confidences(self, x: Floats, classes: Any, threads: int) -> Floats:
        """n x C, rows sum to 1; classes that do not compete have 0. classes: as of competing()."""
        if classes == "all":
            out = np.empty((len(x), self.classes), np.float32)
            call("predict_confidences", self.handle, address(x), *x.shape, threads, address(out), self.classes)
            return out
        candidates = self.competing(classes)
        places, _, shares = ranked("rank", self.handle, x, candidates, len(candidates), threads)
        return by_class(places, shares, self.classes)

    def competing(self, classes: Any) -> NDArray[np.intp]:
        """Class numbers, ascending, so that ties go to the earlier class. classes: a key of AMONG, or labels."""
        if not isinstance(classes, str):
            return np.unique(places_of(self.labels, classes, "classes"))
        self._check_some(classes)
        return np.flatnonzero(self.seen == (classes == "seen")) if classes != "all" else np.arange(self.classes)

    def _check_some(self, among: str) -> None:
        if among != "all" and self.seen_classes == (0 if among == "seen" else self.classes):
            raise Usage(f"classes: expected at least one {among} class, found none"
                        + ("; add one with add_class()" if among == "unseen" else ""))

    def label_of_one(self, x: Any) -> Optional[NDArray[Any]]:
        """The label of the only row of x, 1 x d, where that can be had at once; else None. A large model drives Python
        out of the processor's caches, and every step between samples then costs several times its usual time."""
        if type(x) is not np.ndarray or x.shape != self._one_row or x.dtype is not _FLOAT32:
            return None
        flags = x.flags
        if not (flags.c_contiguous and flags.aligned):
            return None
        # address(x) takes twice the time, but from_buffer wants to write.
        start: Any = ctypes.byref(_char_of(x)) if flags.writeable else address(x)
        best = ctypes.c_int32()
        if run(self._predict_top, self.handle, start, 1, self.dimensions, 0, 1, 1, ctypes.byref(best), None) != 0:
            return None
        place = best.value
        return self.labels[place:place + 1].copy()

    def best(self, x: Floats, classes: Any, threads: int) -> NDArray[np.int32]:
        """n class numbers. classes: as of competing()."""
        if not isinstance(classes, str):
            places, _, _ = ranked("rank", self.handle, x, self.competing(classes), 1, threads)
            return places[:, 0]
        self._check_some(classes)
        out = np.empty(x.shape[0], np.int32)
        start = ctypes.byref(ctypes.c_int32.from_buffer(out.data))  # a quarter of the time of address(out)
        status = run(self._predict_top, self.handle, address(x), x.shape[0], x.shape[1], AMONG[classes], 1, threads,
                     start, None)
        if status != 0:
            raise last_error(status)
        return out

    def top(self, x: Floats, classes: Any, most: int, threads: int) -> Tuple[NDArray[np.intp], Floats]:
        """n x k class numbers, best first, and their confidences among the classes that compete, k of them or `most`.
        classes: as of competing()."""
        candidates = self.competing(classes)
        places, _, shares = ranked("rank", self.handle, x, candidates, min(most, len(candidates)), threads)
        return places.astype(np.intp), shares

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
                           out.calibration, out.prototypes, contributions, semantics, opened, self.attribute_names,
                           self.semantics[out.winner], self.semantics[out.runner_up])

    def evaluate(self, data: Dataset, threads: int, progress: Optional[ProgressCallback],
                 allow_trained_samples: bool) -> Evaluation:
        """The zero-shot protocol on the test samples; classes are matched by name."""
        count = len(data.class_names)
        zsl, gzsl, confusion = np.empty(count), np.empty(count), np.empty((count, count), np.uint32)
        options = _library.EvaluateOptions(ctypes.sizeof(_library.EvaluateOptions), bool(allow_trained_samples))
        figures = evaluation("evaluate_with_options", self.handle, data, threads, progress, address(zsl),
                             address(gzsl), address(confusion), count, ctypes.byref(options))
        ours = {name_of(label): label for label in self.labels.tolist()}
        labels = tuple(ours.get(name, name) for name in data.class_names)
        of_unseen, of_all = ({label: value for label, value in zip(labels, values.tolist()) if value == value}  # no NaN
                             for values in (zsl, gzsl))
        if figures.u is None:
            return replace(figures, zsl_per_class=of_unseen)
        return replace(figures, zsl_per_class=of_unseen, gzsl_per_class=of_all, confusion=confusion, class_names=labels)
