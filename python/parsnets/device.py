"""Models for devices: the small file that runtime/parsnets_rt.c runs (docs/device.md), and its execution from Python.
"""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _library
from ._labels import Floats, file_labels, name_of, places_of, with_unknown
from ._library import call, copy_at, library, real, text, text_at, unsigned
from ._model import Model, PathLike, address, by_class, evaluation, ranked, with_sum
from ._progress import ProgressCallback, Watch
from ._training import threads_of
from .datasets import Dataset, checked
from .errors import BadInputError, UsageError
from .results import Evaluation

__all__ = ["DeviceModel"]

_PRECISIONS = {"float32": 1, "float16": 2, "int8": 3}


class DeviceModel:
    """A model in the form that runs on devices, executed by the C runtime. Immutable.

    Create one with the `export` method of an estimator or with `load`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    seen_ : ndarray of shape (n_classes,), bool
        True for classes with training samples.
    gamma_ : float
        Value that is subtracted from the scores of seen classes.
    n_features_in_ : int
        Number of features.
    bytes : int
        Size of the file.
    work_bytes : int
        Working memory of a prediction, in bytes.
    multiply_adds : int
        Multiply-adds of a prediction.
    precision : {"int8", "float16", "float32"}
        Precision of the weights.
    rank : int
        Number of stored networks, of which the others are mixtures. 0 means that all are stored.
    instruction_set : str
        Instruction set that the runtime uses on this machine.
    source : dict or None
        Network that the features come from, as `parsnets extract` describes it: its file name "backbone", the "sha256"
        of that file, "layer", "preset", "fit", "width", "height" and "dimensions". None if it is not known.
    validation : dict or None
        Accuracy on validation classes, ``{"before": {"zsl", "h"}, "after": ...}``, if `export` measured it.
    n_jobs : int
        Number of threads. -1 means one per core, None means 1.

    Examples
    --------
    >>> from parsnets import ParsNetsClassifier, datasets
    >>> data = datasets.load_demo()
    >>> model = ParsNetsClassifier().fit_dataset(data)
    >>> device = model.export(precision="int8", max_drop=0.01)
    >>> device.bytes < 120_000, device.agreement(model, data.X) > 0.95
    (True, True)
    """

    def __init__(self, handle: ctypes.c_void_p, labels: Optional[ArrayLike] = None,
                 validation: Optional[Dict[str, Dict[str, float]]] = None, n_jobs: Optional[int] = -1) -> None:
        self._handle = handle
        self._free = weakref.finalize(self, library().parsnets_device_free, handle)
        self._free.atexit = False  # other threads may still predict
        self.validation = validation
        self.n_jobs = n_jobs
        info = _library.DeviceInfo(size=ctypes.sizeof(_library.DeviceInfo))
        call("device_get_info", handle, ctypes.byref(info))
        self.n_features_in_: int = info.dimensions
        self.bytes: int = info.bytes
        self.work_bytes: int = info.work_bytes
        self.multiply_adds: int = info.multiply_adds
        self.gamma_ = float(info.gamma)
        self.instruction_set: str = info.instruction_set.decode()
        self.seen_: NDArray[np.bool_] = copy_at(info.seen, np.bool_, info.classes)
        self.precision = next(name for name, number in _PRECISIONS.items() if number == info.precision)
        self.rank: int = info.rank
        self.source: Optional[Dict[str, Any]] = json.loads(info.source) if info.source else None
        names = [text_at("device_class_name", handle, i) or "" for i in range(info.classes)]
        self.classes_: NDArray[Any] = file_labels(np.array(names) if labels is None else labels, names)

    # ---- Files and pickles ----

    @classmethod
    def load(cls, file: PathLike, labels: Optional[ArrayLike] = None, *, sha256: Optional[str] = None,
             n_jobs: Optional[int] = -1) -> DeviceModel:
        """Load and check a device file.

        Parameters
        ----------
        file : str or path-like
            Device file.
        labels : array-like of shape (n_classes,), default=None
            Labels that replace the class names, in the order of the classes in the file. The text of each label must
            equal the class name.
        sha256 : str, default=None
            SHA-256 of the file in hexadecimal digits, which ``parsnets info`` prints. A file with another one is
            refused before anything in it is read.
        n_jobs : int, default=-1
            Number of threads. -1 means one per core, None means 1.

        Returns
        -------
        device : DeviceModel
            The model.
        """
        handle = ctypes.c_void_p()
        with with_sum(file, sha256) as path:
            call("device_load", text(os.fspath(path), "file"), ctypes.byref(handle))
        return cls(handle, labels, n_jobs=n_jobs)

    def save(self, file: PathLike) -> None:
        """Write the device file, usually *.pnrt, atomically.

        Parameters
        ----------
        file : str or path-like
            File to write.
        """
        call("device_save", self._handle, text(os.fspath(file), "file"))

    def save_header(self, file: PathLike, name: str = "parsnets_model") -> None:
        """Write a C header with the contents of the device file as a const array, atomically.

        Parameters
        ----------
        file : str or path-like
            File to write.
        name : str, default="parsnets_model"
            Name of the array.
        """
        call("device_save_header", self._handle, text(os.fspath(file), "file"), text(name, "name"),
             parameter_of=lambda _: "name")

    def to_bytes(self) -> bytes:
        """Return the contents of the file that `save` writes.

        Returns
        -------
        file : bytes
            Device file.
        """
        info = _library.DeviceInfo(size=ctypes.sizeof(_library.DeviceInfo))
        call("device_get_info", self._handle, ctypes.byref(info))
        return ctypes.string_at(info.file, info.bytes)

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

    def predict(self, X: ArrayLike, classes: Any = None, *, reject: bool = False) -> NDArray[Any]:
        """Predict the class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.
        reject : bool, default=False
            Give samples of no class the label -1 if labels are integers, otherwise "unknown". All classes compete.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels.
        """
        if reject and classes is not None:
            raise UsageError("classes: expected None with reject=True: unknown samples are told from those of all "
                             "classes")
        places = self._ranked(X, self._competing(classes), 1)[0][:, 0]
        if not reject:
            labels: NDArray[Any] = self.classes_[places]
            return labels
        rejected: NDArray[Any] = with_unknown(self.classes_)[np.where(self.is_unknown(X), len(self.classes_), places)]
        return rejected

    def is_unknown(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Tell which samples are of no class, as the runtime does on a device.

        UsageError is raised unless the model was calibrated before export.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        unknown : ndarray of shape (n_samples,), bool
            True for samples of no class.
        """
        return self._known(X)[1]

    def known_score(self, X: ArrayLike) -> Floats:
        """Return the score by which unknown samples are told from others.

        UsageError is raised unless the model was calibrated before export.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Log-odds of a sample of a class against one of no class; the lowest float32 for samples unlike all known
            ones.
        """
        return self._known(X)[0]

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the scores of the classes, with `gamma_` subtracted for seen classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            Scores. With two classes, the difference of the scores, which is positive for the second class.
        """
        count = len(self.classes_)
        places, values, _ = self._ranked(X, np.arange(count), count)
        scores = by_class(places, values, count)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def class_scores(self, X: ArrayLike) -> Floats:
        """Return the scores of the classes without `gamma_`, for `metrics.ausuc`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            Scores.
        """
        x = self._samples(X)
        out = np.empty((len(x), len(self.classes_)), np.float32)
        if len(x):
            call("device_scores", self._handle, address(x), *x.shape, threads_of(self.n_jobs), address(out),
                 len(self.classes_))
        return out

    def evaluate(self, data: Dataset, *, progress: Optional[ProgressCallback] = None) -> Evaluation:
        """Evaluate the model on the test samples of a data set, by the zero-shot protocol.

        Classes are matched by name. Features of another network than `source` raise BadInputError.

        Parameters
        ----------
        data : Dataset
            Data set of `parsnets.datasets`.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops the evaluation, which raises CancelledError.

        Returns
        -------
        evaluation : Evaluation
            Results, without those by class.
        """
        checked(data, "for arrays call predict(X)")
        return evaluation("device_evaluate", self._handle, data, threads_of(self.n_jobs), progress)

    def agreement(self, estimator: Any, X: ArrayLike) -> float:
        """Return the share of samples for which this model and an estimator predict the same class among all classes.

        Labels are compared as text, because files store them as text.

        Parameters
        ----------
        estimator : ZeroShotClassifier
            Fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        share : float
            Between 0 and 1.
        """
        ours = self.predict(X)
        if not len(ours):
            raise BadInputError("X: expected at least one sample, found none")
        return float(np.mean([name_of(a) == name_of(b) for a, b in zip(ours, estimator.predict(X))]))

    def _samples(self, X: Any) -> Floats:
        """Return X as the runtime reads it, shape (n_samples, n_features)."""
        wanted = f"X: expected a matrix of real numbers, samples x {self.n_features_in_}"
        try:
            if np.iscomplexobj(X):  # float32 would be its real part
                raise TypeError
            x = np.ascontiguousarray(X, np.float32)
        except (TypeError, ValueError):
            raise BadInputError(f"{wanted}, found {getattr(X, 'dtype', 'other values')} in a {type(X).__name__}; "
                                "convert it to a float32 array, a sparse matrix with toarray()") from None
        if x.ndim != 2:
            raise BadInputError(f"{wanted}, found shape {x.shape}; reshape it")
        return x

    def _known(self, X: ArrayLike) -> Tuple[Floats, NDArray[np.bool_]]:
        x = self._samples(X)
        scores, unknown = np.empty(len(x), np.float32), np.empty(len(x), np.bool_)
        call("device_known", self._handle, address(x), *x.shape, threads_of(self.n_jobs), address(scores),
             address(unknown))
        return scores, unknown

    def _ranked(self, X: ArrayLike, candidates: NDArray[np.intp],
                k: int) -> Tuple[NDArray[np.int32], Floats, Floats]:
        return ranked("device_rank", self._handle, self._samples(X), candidates, k, threads_of(self.n_jobs))

    def _competing(self, classes: Any) -> NDArray[np.intp]:
        """Return ascending class numbers, so that ties go to the earlier class."""
        kinds = {"all": np.ones_like(self.seen_), "seen": self.seen_, "unseen": ~self.seen_}
        among = "all" if classes is None else classes
        if isinstance(among, str):
            if among not in kinds:
                raise UsageError(f"classes: expected {', '.join(kinds)} or labels, found {among!r}")
            if not kinds[among].any():
                raise UsageError(f"classes: expected at least one {among} class, found none; export a model that has "
                                 "one")
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
           max_bytes: int = 0, max_drop: float = 0.005, threads: int = 0,
           progress: Optional[ProgressCallback] = None) -> DeviceModel:
    """Export a model that predicts semantics as a device model. Labels are kept.

    Parameters
    ----------
    model : Model
        Model to export.
    data : Dataset or None
        Data set that the model was trained on. If given, the loss of accuracy is measured on validation classes, and a
        loss above `max_drop` raises an error.
    precision : {"int8", "float16", "float32"}, default=None
        Precision of the weights. None means "int8", or the choice made for `max_bytes`.
    rank : int, default=None
        Number of networks to store; 0 stores all. None means all, or the choice made for `max_bytes`.
    max_bytes : int, default=0
        Maximum size of the file; `precision` and `rank` are chosen by accuracy on validation classes if they are None.
        0 means no limit.
    max_drop : float, default=0.005
        Maximum loss of accuracy on validation classes.
    threads : int, default=0
        Number of threads. 0 means one per core.
    progress : callable, default=None
        Called with (stage, done, total, unit). A true result stops the export, which raises CancelledError.

    Returns
    -------
    device : DeviceModel
        Exported model.
    """
    if precision is not None and precision not in _PRECISIONS:
        raise UsageError(f"precision: expected one of {', '.join(_PRECISIONS)}, found {precision!r}")
    if not 0 <= real(max_drop, "max_drop") <= 1:
        raise UsageError(f"max_drop: expected 0 to 1, found {max_drop!r}")
    options = _library.ExportOptions(ctypes.sizeof(_library.ExportOptions), _PRECISIONS.get(precision or "", 0),
                                     -1 if rank is None else unsigned(rank, "rank", 31),
                                     unsigned(max_bytes, "max_bytes", 64), 100 * real(max_drop, "max_drop"))
    result = _library.ExportResult(size=ctypes.sizeof(_library.ExportResult))
    handle = ctypes.c_void_p()
    with Watch(progress) as watch:
        try:
            call("export", model.handle, None if data is None else data.pointer, ctypes.byref(options),
                 unsigned(threads, "threads", 32), watch.function, None, ctypes.byref(handle), ctypes.byref(result))
        except BadInputError as error:
            split = model.record.get("data", {}).get("split", {})
            if data is None or split.get("test_unseen", {}).get("samples") != 0 or not len(data.test_unseen):
                raise
            raise BadInputError(f"data: expected the data set that the estimator was trained on, found {data.name!r} "
                                "and an estimator trained by fit(X, y), which has no test samples; train it with "
                                f"fit_dataset(data), or export without data ({error})") from None
        validation = {"before": {"zsl": result.zsl_before / 100, "h": result.h_before / 100},
                      "after": {"zsl": result.zsl_after / 100, "h": result.h_after / 100}
                      } if result.has_validation else None
        return DeviceModel(handle, model.labels, validation, n_jobs=threads or -1)
