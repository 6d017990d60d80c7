"""Models for devices: the small file that runtime/parsnets_rt.c runs (docs/device.md), and that file run from here."""

from __future__ import annotations

import ctypes
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _library
from ._labels import Floats, file_labels, name_of, places_of
from ._library import call, copy_at, library, real, text, text_at, unsigned
from ._model import Model, PathLike, address, by_class, evaluation, ranked
from ._progress import ProgressCallback, Watch
from ._training import threads_of
from .datasets import Dataset, checked
from .errors import BadInput, Usage
from .results import Evaluation

_PRECISIONS = {"float32": 1, "float16": 2, "int8": 3}


class DeviceModel:
    """A model as a device runs it, by the C runtime; never changed once made.

    classes_: C labels; seen_: C, true: had training samples; gamma_; n_features_in_: d; bytes: of the file; work_bytes:
    working memory of a prediction; multiply_adds: of a prediction; precision: "int8", "float16" or "float32"; rank:
    networks that are stored, of which the others are mixtures, 0: all; instruction_set: that the runtime uses here;
    validation: {"before": {"zsl", "h"}, "after": ...} in percent when export() measured it, else None. n_jobs: threads,
    -1: one per core, None: 1.

    >>> from parsnets import ParsNetsClassifier, datasets
    >>> data = datasets.load_demo()
    >>> model = ParsNetsClassifier().fit_dataset(data)
    >>> device = model.export(precision="int8", rank=8)
    >>> device.bytes < 70_000, device.agreement(model, data.X) > 0.95
    (True, True)
    """

    def __init__(self, handle: ctypes.c_void_p, labels: Optional[ArrayLike] = None,
                 validation: Optional[Dict[str, Dict[str, float]]] = None, n_jobs: Optional[int] = -1) -> None:
        self._handle = handle
        self._free = weakref.finalize(self, library().parsnets_device_free, handle)
        self._free.atexit = False  # other threads may still predict
        self.validation = validation
        self.n_jobs = n_jobs
        facts = _library.DeviceFacts(size=ctypes.sizeof(_library.DeviceFacts))
        call("device_get_facts", handle, ctypes.byref(facts))
        self.n_features_in_: int = facts.dimensions
        self.bytes: int = facts.bytes
        self.work_bytes: int = facts.work_bytes
        self.multiply_adds: int = facts.multiply_adds
        self.gamma_ = float(facts.gamma)
        self.instruction_set: str = facts.instruction_set.decode()
        self.seen_: NDArray[np.bool_] = copy_at(facts.seen, np.bool_, facts.classes)
        self.precision = next(name for name, number in _PRECISIONS.items() if number == facts.precision)
        self.rank: int = facts.rank
        names = [text_at("device_class_name", handle, i) or "" for i in range(facts.classes)]
        self.classes_: NDArray[Any] = file_labels(np.array(names) if labels is None else labels, names)

    # ---- Files and pickles ----

    @classmethod
    def load(cls, file: PathLike, labels: Optional[ArrayLike] = None, *, n_jobs: Optional[int] = -1) -> DeviceModel:
        """Reads and checks a device file. labels: C, in the order of its classes; str() of each has to be the class's
        name. None: their names."""
        handle = ctypes.c_void_p()
        call("device_load", text(os.fspath(file), "file"), ctypes.byref(handle))
        return cls(handle, labels, n_jobs=n_jobs)

    def save(self, file: PathLike) -> None:
        """Writes the device file, usually *.pnrt, atomically."""
        call("device_save", self._handle, text(os.fspath(file), "file"))

    def save_header(self, file: PathLike, name: str = "parsnets_model") -> None:
        """Writes a C header with the file as the const array `name`, atomically."""
        call("device_save_header", self._handle, text(os.fspath(file), "file"), text(name, "name"))

    def to_bytes(self) -> bytes:
        """The bytes that save() writes."""
        facts = _library.DeviceFacts(size=ctypes.sizeof(_library.DeviceFacts))
        call("device_get_facts", self._handle, ctypes.byref(facts))
        return ctypes.string_at(facts.file, facts.bytes)

    def __getstate__(self) -> Dict[str, Any]:
        return {"file": self.to_bytes(), "labels": self.classes_, "validation": self.validation, "n_jobs": self.n_jobs}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        handle = ctypes.c_void_p()
        with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
            file = Path(folder) / "model.pnrt"
            file.write_bytes(state["file"])
            call("device_load", text(os.fspath(file), "file"), ctypes.byref(handle))
        self.__init__(handle, state["labels"], state["validation"], state["n_jobs"])  # type: ignore[misc]

    # ---- Prediction ----

    def predict(self, X: ArrayLike, classes: Any = None) -> NDArray[Any]:
        """n labels. X: n x d; classes that compete: None for all, "seen", "unseen", or their labels."""
        places, _, _ = self._ranked(X, self._competing(classes), 1)
        labels: NDArray[Any] = self.classes_[places[:, 0]]
        return labels

    def decision_function(self, X: ArrayLike) -> Floats:
        """n x C scores, gamma_ subtracted for seen classes; with two classes n, above 0 for the second."""
        count = len(self.classes_)
        places, values, _ = self._ranked(X, np.arange(count), count)
        scores = by_class(places, values, count)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def class_scores(self, X: ArrayLike) -> Floats:
        """n x C scores without gamma_, for metrics.ausuc."""
        x = self._samples(X)
        out = np.empty((len(x), len(self.classes_)), np.float32)
        if len(x):
            call("device_scores", self._handle, address(x), *x.shape, threads_of(self.n_jobs), address(out),
                 len(self.classes_))
        return out

    def evaluate(self, data: Dataset, *, progress: Optional[ProgressCallback] = None) -> Evaluation:
        """The zero-shot protocol on the test samples of `data`; classes are matched by name."""
        checked(data, "for arrays call predict(X)")
        return evaluation("device_evaluate", self._handle, data, threads_of(self.n_jobs), progress)

    def agreement(self, estimator: Any, X: ArrayLike) -> float:
        """Share of the samples for which this and the estimator name the same class, all classes competing. Labels
        count as equal where their text is: files keep no more."""
        ours = self.predict(X)
        if not len(ours):
            raise BadInput("X: expected at least one sample, found none")
        return float(np.mean([name_of(a) == name_of(b) for a, b in zip(ours, estimator.predict(X))]))

    def _samples(self, X: Any) -> Floats:
        """n x d, as the runtime reads it."""
        wanted = f"X: expected a matrix of real numbers, samples x {self.n_features_in_}"
        try:
            if np.iscomplexobj(X):  # float32 would be its real part
                raise TypeError
            x = np.ascontiguousarray(X, np.float32)
        except (TypeError, ValueError):
            raise BadInput(f"{wanted}, found {getattr(X, 'dtype', 'others')} in a {type(X).__name__}; convert it to an "
                           "array of float32, a sparse matrix by toarray()") from None
        if x.ndim != 2:
            raise BadInput(f"{wanted}, found shape {x.shape}; reshape it")
        return x

    def _ranked(self, X: ArrayLike, candidates: NDArray[np.intp],
                k: int) -> Tuple[NDArray[np.int32], Floats, Floats]:
        return ranked("device_rank", self._handle, self._samples(X), candidates, k, threads_of(self.n_jobs))

    def _competing(self, classes: Any) -> NDArray[np.intp]:
        """Class numbers, ascending, so that ties go to the earlier class."""
        kinds = {"all": np.ones_like(self.seen_), "seen": self.seen_, "unseen": ~self.seen_}
        among = "all" if classes is None else classes
        if isinstance(among, str):
            if among not in kinds:
                raise Usage(f"classes: expected {', '.join(kinds)} or labels, found {among!r}")
            if not kinds[among].any():
                raise Usage(f"classes: expected at least one {among} class, found none; export the model with one")
            return np.flatnonzero(kinds[among])
        return np.unique(places_of(self.classes_, among, "classes"))

    def __repr__(self) -> str:
        stored = "all networks" if not self.rank else f"rank {self.rank}"
        return (f"<DeviceModel {self.precision}, {stored}: {self.bytes} bytes, {self.work_bytes} bytes of working "
                f"memory, {self.n_features_in_} features, {len(self.classes_)} classes>")

    def _repr_html_(self) -> str:
        from ._display import device_html
        return device_html(self)


def export(model: Model, data: Optional[Dataset], *, precision: Optional[str] = None, rank: Optional[int] = None,
           max_bytes: int = 0, max_drop: float = 0.5, threads: int = 0,
           progress: Optional[ProgressCallback] = None) -> DeviceModel:
    """A model that predicts semantics as a device model; its labels are kept.

    data: the set it was trained on; measures the cost on validation classes and refuses one above max_drop points.
    precision: "int8" (default), "float16", "float32"; rank: networks to store, 0: all; max_bytes: chooses both, where
    they are not given, by accuracy on validation classes.
    """
    if precision is not None and precision not in _PRECISIONS:
        raise Usage(f"precision: expected one of {', '.join(_PRECISIONS)}, found {precision!r}")
    options = _library.ExportOptions(ctypes.sizeof(_library.ExportOptions), _PRECISIONS.get(precision or "", 0),
                                     -1 if rank is None else unsigned(rank, "rank", 31),
                                     unsigned(max_bytes, "max_bytes", 64), real(max_drop, "max_drop"))
    figures = _library.ExportFigures(size=ctypes.sizeof(_library.ExportFigures))
    handle = ctypes.c_void_p()
    with Watch(progress) as watch:
        try:
            call("export", model.handle, None if data is None else data.pointer, ctypes.byref(options),
                 unsigned(threads, "threads", 32), watch.function, None, ctypes.byref(handle), ctypes.byref(figures))
        except BadInput as error:
            split = model.record.get("data", {}).get("split", {})
            if data is None or split.get("test_unseen", {}).get("samples") != 0 or not len(data.test_unseen):
                raise
            raise BadInput(f"data: expected the set that the estimator was trained on, found {data.name!r} and an "
                           "estimator trained by fit(X, y), which knows of no test samples; train it with "
                           f"fit_dataset(data), or export without data ({error})") from None
        validation = {"before": {"zsl": figures.zsl_before, "h": figures.h_before},
                      "after": {"zsl": figures.zsl_after, "h": figures.h_after}} if figures.has_validation else None
        return DeviceModel(handle, model.labels, validation, n_jobs=threads or -1)
