"""A trained model: a handle of the engine and the labels of its classes. Immutable.

Changes to the class bank return a new Model. Threads that predict with the old one are not affected, and copies of an
estimator share one.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import string
import tempfile
import uuid
import weakref
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._labels import Floats, file_labels, listed, name_of, places_of, with_unknown
from ._library import call, copy_at, last_error, library, text, text_at
from ._progress import ProgressCallback, Watch
from ._threads import run
from .errors import BadInputError, UsageError
from .results import Evaluation, Explanation, Interval, SetResult

if TYPE_CHECKING:
    from .datasets import Dataset

PathLike = Union[str, "os.PathLike[str]"]
AMONG = {"all": 0, "seen": 1, "unseen": 2}
BINS = 15  # of confidences: PARSNETS_RELIABILITY_BINS
SET_PLACES = 1 << 23  # class numbers of prediction sets that are held at a time


_FLOAT32 = np.dtype(np.float32)
_char_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def address(array: NDArray[Any]) -> int:
    """Return the address of a C-contiguous array."""
    return array.ctypes.data


def readable(x: Any, dimensions: int) -> bool:
    """Return whether the engine can read x, shape (n_samples, n_features), in place."""
    return (type(x) is np.ndarray and x.dtype == _FLOAT32 and x.ndim == 2 and x.shape[1] == dimensions
            and x.shape[0] > 0 and x.flags.c_contiguous and x.flags.aligned)


def competitors(classes: Any) -> Any:
    """Return the competing classes: a key of AMONG, or a list of labels."""
    if classes is None:
        return "all"
    if not isinstance(classes, str):
        return listed(classes, "classes")
    if classes not in AMONG:
        raise UsageError(f"classes: expected {', '.join(AMONG)} or labels, found {classes!r}")
    return classes


def ranked(function: str, handle: ctypes.c_void_p, x: Floats, candidates: NDArray[Any], k: int,
           threads: int) -> Tuple[NDArray[np.int32], Floats, Floats]:
    """Return the k best of the candidates (class numbers) for each sample, best first.

    Class numbers, scores with gamma applied, and confidences, each of shape (n_samples, k). function: name in the
    engine.
    """
    among = np.ascontiguousarray(candidates, np.int32)
    places = np.empty((len(x), k), np.int32)
    scores, shares = np.empty((len(x), k), np.float32), np.empty((len(x), k), np.float32)
    if len(x):
        call(function, handle, address(x), *x.shape, address(among), len(among), k, threads, address(places),
             address(scores), address(shares))
    return places, scores, shares


def by_class(places: NDArray[np.int32], values: Floats, classes: int) -> Floats:
    """Return an array of shape (n_samples, n_classes) with `values` (n_samples, k) at their places and 0 elsewhere."""
    out = np.zeros((len(places), classes), np.float32)
    np.put_along_axis(out, places.astype(np.intp), values, axis=1)
    return out


def evaluation(function: str, handle: ctypes.c_void_p, data: Dataset, threads: int,
               progress: Optional[ProgressCallback], *options: Any) -> Evaluation:
    """Evaluate on the test samples by the zero-shot protocol. function: name in the engine; options: its own, if any.
    """
    out = _library.Evaluation(size=ctypes.sizeof(_library.Evaluation))
    with Watch(progress) as watch:
        call(function, handle, data.pointer, *options, threads, watch.function, None, ctypes.byref(out))
    u, s, h, ausuc = (x / 100 for x in (out.u, out.s, out.h, out.ausuc)) if out.has_gzsl else (None,) * 4
    intervals = {"zsl_top1_per_class": out.zsl_interval}
    if out.has_gzsl:
        intervals.update(u=out.u_interval, s=out.s_interval, h=out.h_interval)
    return Evaluation(out.zsl_top1_per_class / 100, out.zsl_top1 / 100, out.zsl_top5 / 100, u, s, h, ausuc,
                      out.gamma if out.has_gzsl else None, None if out.trained_samples < 0 else out.trained_samples,
                      {name: Interval._of(one) for name, one in intervals.items()},
                      ece=_sides(data, out.seen_ece / 100, out.unseen_ece / 100))


def _sides(data: Dataset, seen: Any, unseen: Any) -> Dict[str, Any]:
    """Return the values of test samples of seen and of unseen classes, if there are such samples."""
    rows = {"seen": data.test_seen, "unseen": data.test_unseen}
    return {side: value for side, value in zip(rows, (seen, unseen)) if len(rows[side])}


def _json_object(said: str) -> Dict[str, Any]:
    """Return the parsed object; empty if a file, which need not be ours, contains something else."""
    found = json.loads(said or "{}")
    return found if isinstance(found, dict) else {}


@contextmanager
def with_sum(file: PathLike, sha256: Optional[str]) -> Iterator[PathLike]:
    """The path to read: `file`, or with its SHA-256 a copy of the bytes that were summed, which nobody replaces."""
    if sha256 is None:
        yield file
        return
    if not isinstance(sha256, str) or len(sha256) != 64 or not set(sha256) <= set(string.hexdigits):
        raise UsageError(f"sha256: expected 64 hexadecimal digits, found {sha256!r}")
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        raise BadInputError(f"{file}: expected a readable file, found {error.strerror}; check the path") from error
    found = hashlib.sha256(data).hexdigest()
    if found != sha256.lower():
        raise BadInputError(f"{file}: SHA-256: expected {sha256.lower()}, found {found}; get the file again, or check "
                            "the sum")
    with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
        copy = Path(folder) / Path(file).name
        copy.write_bytes(data)
        yield copy


class Model:
    """Owns `handle`.

    labels: shape (n_classes,), in the order of the class bank; None means the names of the classes. before: the model
    from which this one was made by a change of classes or calibration; what is unchanged is shared.
    """

    def __init__(self, handle: ctypes.c_void_p, labels: Optional[NDArray[Any]] = None,
                 before: Optional[Model] = None) -> None:
        self.handle = handle
        self._free = weakref.finalize(self, library().parsnets_model_free, handle)
        self._free.atexit = False  # other threads may still predict
        self._predict_top = library().parsnets_predict_top
        info = self._info()
        self.dimensions, self.attributes, self.classes = info.dimensions, info.attributes, info.classes
        self.seen_classes = info.seen_classes
        self._one_row = (1, self.dimensions)
        self.networks, self.active = info.networks, info.open
        self.predicts_semantics = bool(info.predicts_semantics)
        self.gamma, self.temperature = float(info.gamma), float(info.temperature)
        self.seen: NDArray[np.bool_] = copy_at(info.seen, np.uint8, self.classes).view(bool)
        self.method: str = before.method if before else info.method.decode()
        self._json: Tuple[str, str] = before._json if before else (info.options.decode(), info.record.decode())
        self.attribute_names: Tuple[str, ...] = before.attribute_names if before else tuple(
            text_at("model_attribute_name", handle, i) or f"attribute{i}" for i in range(self.attributes))
        if labels is None:
            labels = np.array([text_at("model_class_name", handle, i) or "" for i in range(self.classes)])
        labels.flags.writeable = False
        self.labels = labels

    def _info(self) -> _library.ModelInfo:
        info = _library.ModelInfo(size=ctypes.sizeof(_library.ModelInfo))
        call("model_get_info", self.handle, ctypes.byref(info))
        return info

    @functools.cached_property
    def semantics(self) -> Floats:
        """Class attributes as given, (n_classes, n_attributes). Read on demand: copying a large class bank is slow."""
        return copy_at(self._info().semantics, np.float32, self.classes, self.attributes)

    @functools.cached_property
    def token(self) -> str:
        """A name of this model that no other has."""
        return uuid.uuid4().hex

    @functools.cached_property
    def options(self) -> Dict[str, Any]:
        """Training options after resolving and searching, by their command-line names."""
        return _json_object(self._json[0])

    @functools.cached_property
    def record(self) -> Dict[str, Any]:
        """Record of training."""
        return _json_object(self._json[1])

    @functools.cached_property
    def feature_names(self) -> Optional[NDArray[Any]]:
        """Names of the features as scikit-learn keeps them, or None."""
        if text_at("model_feature_name", self.handle, 0) is None:
            return None
        return np.array([text_at("model_feature_name", self.handle, i) for i in range(self.dimensions)], dtype=object)

    @property
    def names_attributes(self) -> bool:
        """Whether attribute_names come from the data and are not just numbers."""
        return text_at("model_attribute_name", self.handle, 0) is not None

    @staticmethod
    def load(file: PathLike, labels: Any = None, sha256: Optional[str] = None) -> Model:
        """Load a model file. labels: as in file_labels(); None means the names of the classes. sha256: as in
        with_sum()."""
        handle = ctypes.c_void_p()
        with with_sum(file, sha256) as path:
            call("model_load", text(os.fspath(path), "file"), ctypes.byref(handle))
        model = Model(handle)
        if labels is not None:
            model.labels = file_labels(labels, model.labels.tolist())
        return model

    def save(self, file: PathLike) -> None:
        call("model_save", self.handle, text(os.fspath(file), "file"))

    def to_bytes(self) -> bytes:
        """Return the contents of the file that save() writes."""
        with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
            file = Path(folder) / "model.safetensors"
            self.save(file)
            return file.read_bytes()

    @staticmethod
    def from_bytes(data: bytes, labels: Any = None) -> Model:
        """Return the model of to_bytes(). labels: as in load()."""
        with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
            file = Path(folder) / "model.safetensors"
            file.write_bytes(data)
            return Model.load(file, labels)

    def __deepcopy__(self, memo: Any) -> Model:
        return self  # never changed

    def changed(self, change: Callable[[ctypes.c_void_p], None], labels: NDArray[Any], *,
                with_record: bool = False) -> Model:
        """Return a copy after change(handle). with_record: the change is told in the record."""
        handle = ctypes.c_void_p()
        call("model_clone", self.handle, ctypes.byref(handle))
        try:
            change(handle)
        except BaseException:
            library().parsnets_model_free(handle)
            raise
        made = Model(handle, labels, before=self)
        if with_record:
            made._json = (self._json[0], made._info().record.decode())
        return made

    def name(self, place: int) -> str:
        """Return the name of class `place` in the engine."""
        return name_of(self.labels[place])

    def scores(self, x: Floats, threads: int) -> Floats:
        """Return scores without gamma, (n_samples, n_classes). x: (n_samples, n_features), C-contiguous.
        """
        out = np.empty((len(x), self.classes), np.float32)
        call("predict_scores", self.handle, address(x), *x.shape, threads, address(out), self.classes)
        return out

    def calibrated(self, x: Floats, threads: int) -> Floats:
        """Return scores with gamma applied, (n_samples, n_classes)."""
        places, scores, _ = ranked("rank", self.handle, x, np.arange(self.classes), self.classes, threads)
        return by_class(places, scores, self.classes)

    def confidences(self, x: Floats, classes: Any, threads: int) -> Floats:
        """Return confidences, (n_samples, n_classes).

        Rows sum to 1, and classes that do not compete get 0. classes: as in competing().
        """
        if classes == "all":
            out = np.empty((len(x), self.classes), np.float32)
            call("predict_confidences", self.handle, address(x), *x.shape, threads, address(out), self.classes)
            return out
        candidates = self.competing(classes)
        places, _, shares = ranked("rank", self.handle, x, candidates, len(candidates), threads)
        return by_class(places, shares, self.classes)

    def competing(self, classes: Any) -> NDArray[np.intp]:
        """Return ascending class numbers, so that ties go to the earlier class. classes: a key of AMONG, or labels."""
        if not isinstance(classes, str):
            return np.unique(places_of(self.labels, classes, "classes"))
        self._check_some(classes)
        return np.flatnonzero(self.seen == (classes == "seen")) if classes != "all" else np.arange(self.classes)

    def _check_some(self, among: str) -> None:
        if among != "all" and self.seen_classes == (0 if among == "seen" else self.classes):
            raise UsageError(f"classes: expected at least one {among} class, found none"
                             + ("; add one with add_class()" if among == "unseen" else ""))

    def label_of_one(self, x: Any) -> Optional[NDArray[Any]]:
        """Return the label of the only row of x, shape (1, n_features), if a fast path exists; otherwise None.

        A large model evicts Python from the processor's caches, and every step between samples then costs several times
        its usual time.
        """
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
        """Return class numbers, (n_samples,). classes: as in competing()."""
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
        """Return the best class numbers and their confidences, (n_samples, k) each, best first.

        k is `most` or, if smaller, the number of competing classes. classes: as in competing().
        """
        candidates = self.competing(classes)
        places, _, shares = ranked("rank", self.handle, x, candidates, min(most, len(candidates)), threads)
        return places.astype(np.intp), shares

    @property
    def open_set(self) -> _library.OpenSet:
        """What the model is calibrated for."""
        found = _library.OpenSet(size=ctypes.sizeof(_library.OpenSet))
        call("model_get_open_set", self.handle, ctypes.byref(found))
        return found

    @functools.cached_property
    def labels_and_unknown(self) -> NDArray[Any]:
        """Class labels and the label of unknown samples, (n_classes + 1,)."""
        return with_unknown(self.labels)

    def known(self, x: Floats, classes: Any, threads: int) -> Tuple[NDArray[np.int32], Floats, NDArray[np.bool_]]:
        """Return class numbers, known scores and whether samples are unknown, (n_samples,) each.

        classes: as in competing().
        """
        among = None if isinstance(classes, str) and classes == "all" else self.competing(classes).astype(np.int32)
        places, scores = np.empty(len(x), np.int32), np.empty(len(x), np.float32)
        unknown = np.empty(len(x), np.bool_)
        call("predict_known", self.handle, address(x), *x.shape, None if among is None else address(among),
             0 if among is None else len(among), threads, address(places), None, address(scores), address(unknown))
        return places, scores, unknown

    def sets(self, x: Floats, coverage: float, threads: int) -> List[NDArray[Any]]:
        """Return the labels of each sample's prediction set, best first."""
        found: List[NDArray[Any]] = []
        rows = max(1, SET_PLACES // self.classes)
        for first in range(0, len(x), rows):
            part = x[first:first + rows]
            members, counts = np.empty((len(part), self.classes), np.int32), np.empty(len(part), np.uintp)
            call("predict_sets", self.handle, address(part), *part.shape, coverage, threads, address(members),
                 address(counts), self.classes)
            found.extend(self.labels[row[:count]] for row, count in zip(members, counts.tolist()))
        return found

    def predicted_semantics(self, x: Floats, threads: int) -> Floats:
        """Return predicted attributes, (n_samples, n_attributes)."""
        out = np.empty((len(x), self.attributes), np.float32)
        call("predict_semantics", self.handle, address(x), *x.shape, threads, address(out), self.attributes)
        return out

    def explain(self, row: Floats) -> Explanation:
        """Explain one sample. row: shape (n_features,)."""
        out = _library.Explanation(size=ctypes.sizeof(_library.Explanation))
        contributions = np.empty(self.attributes, np.float32)
        semantics = np.empty(self.attributes, np.float32)
        active = np.empty(self.active, np.int32)
        call("explain", self.handle, address(row), len(row), ctypes.byref(out), address(contributions),
             address(semantics), self.attributes, address(active), self.active)
        return Explanation(self.labels[out.winner], self.labels[out.runner_up], out.winner_score, out.runner_up_score,
                           out.calibration, out.examples, contributions, semantics, active, self.attribute_names,
                           self.semantics[out.winner], self.semantics[out.runner_up])

    def evaluate(self, data: Dataset, threads: int, progress: Optional[ProgressCallback],
                 allow_trained_samples: bool, coverages: Sequence[float]) -> Evaluation:
        """Evaluate on the test samples by the zero-shot protocol. Classes are matched by name."""
        shares = np.array(coverages if self.open_set.has_sets else [], np.float64)
        sets, reliability = np.empty((len(shares), 4)), np.empty((2, BINS, 3))
        count = len(data.class_names)
        zsl, gzsl, confusion = np.empty(count), np.empty(count), np.empty((count, count), np.uint32)
        curve, points = np.empty((len(data.test_seen) + len(data.test_unseen) + 1, 3)), ctypes.c_size_t()
        options = _library.EvaluateOptions(ctypes.sizeof(_library.EvaluateOptions), bool(allow_trained_samples), 0,
                                           address(curve), len(curve), ctypes.pointer(points),
                                           address(shares) if len(shares) else None, len(shares), address(sets),
                                           address(reliability), address(zsl), address(gzsl), address(confusion), count)
        result = evaluation("evaluate", self.handle, data, threads, progress, ctypes.byref(options))
        reliability[..., 1:] /= 100  # the engine's unit is percent
        sets[:, ::2] /= 100
        curve[:, 1:] /= 100
        zsl /= 100
        gzsl /= 100
        result = replace(result, reliability=_sides(data, *reliability), sets={
            float(share): SetResult(*(value if count else None for value, count in zip(
                row, np.repeat([len(data.test_seen), len(data.test_unseen)], 2))))
            for share, row in zip(shares, sets.tolist())})
        ours = {name_of(label): label for label in self.labels.tolist()}
        labels = tuple(ours.get(name, name) for name in data.class_names)
        of_unseen, of_all = ({label: value for label, value in zip(labels, values.tolist()) if value == value}  # no NaN
                             for values in (zsl, gzsl))
        if result.u is None:
            return replace(result, zsl_per_class=of_unseen)
        return replace(result, zsl_per_class=of_unseen, gzsl_per_class=of_all, confusion=confusion, class_names=labels,
                       curve=curve[:points.value].copy())
