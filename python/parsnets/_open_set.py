"""Samples of no class, and prediction sets."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._labels import Floats, listed, name_of, places_of
from ._library import NoClassInputs, OpenSetEvaluationOptions, OpenSetOptions, call, real, text, unsigned
from ._library import OpenSetEvaluation as _OpenSetEvaluation
from ._model import Model, competitors
from ._progress import ProgressCallback, Watch
from ._training import seed_of, threads_of, validated
from .datasets import Dataset, checked, from_arrays
from .errors import UsageError
from .results import AcceptedShare, Interval, OpenSetEvaluation, OpenSetQuality, Rejection

Result = TypeVar("Result")
Self = TypeVar("Self", bound="OpenSet")


def _share(found: Any) -> AcceptedShare:
    return AcceptedShare(found.samples, found.classes, found.accepted / 100, Interval._of(found.of_classes))


def _quality(found: Any) -> OpenSetQuality:
    return OpenSetQuality(found.auroc / 100, found.fpr95 / 100, found.oscr / 100)


class OpenSet:
    """Mixin of estimators that keep their model as `_model` once they are fitted."""

    _model: Model
    n_jobs: Any
    random_state: Any

    if TYPE_CHECKING:

        @property
        def _fitted(self) -> Model: ...

        def _apply(self, X: ArrayLike, work: Callable[[Model, Floats], Result]) -> Result: ...

    @property
    def false_accept_(self) -> float:
        """Share of unknown samples to accept that the model is calibrated for."""
        found = self._fitted.open_set
        if not found.has_rejection:  # AttributeError, so that hasattr() is False
            raise AttributeError("the model is not calibrated for unknown samples; call calibrate_open_set(), or fit() "
                                 "with false_accept")
        return float(found.false_accept)

    @property
    def rejection_(self) -> Rejection:
        """What rejection of unknown samples reached on held-out classes."""
        share, found = self.false_accept_, self._fitted.open_set
        return Rejection(share, found.accept_low / 100, found.accept_high / 100, found.rejected_seen / 100,
                         found.rejected_unseen / 100, found.auroc / 100, found.confidence_auroc / 100, found.folds,
                         found.classes, found.samples)

    def calibrate_open_set(self: Self, X: ArrayLike, y: ArrayLike, *, false_accept: float = 0.05, folds: int = 16,
                           progress: Optional[ProgressCallback] = None) -> Self:
        """Calibrate rejection of unknown samples, and prediction sets, on the training samples.

        The model is fitted again without a part of the seen classes, once per fold. Samples of these classes show what
        unknown ones look like. Predictions do not change. If an exception is raised, the estimator is unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples of `fit`, in the same order. At least four classes are needed.
        y : array-like of shape (n_samples,)
            Their labels.
        false_accept : float, default=0.05
            Share of unknown samples to accept, between 0 and 1.
        folds : int, default=16
            Number of fits, each without a part of the seen classes; at most one per two classes is used.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops calibration, which raises CancelledError.

        Returns
        -------
        self : object
            The changed estimator.
        """
        check_is_fitted(self)
        model = self._model
        x, labelled = validated(self, X, y, dtype=np.float32, order="C", reset=False)
        data = from_arrays(np.require(x, np.float32, ["C", "A"]), places_of(model.labels, labelled, "y"),
                           model.semantics, [name_of(label) for label in model.labels])
        return self.calibrate_open_set_dataset(data, false_accept=false_accept, folds=folds, progress=progress)

    def calibrate_open_set_dataset(self: Self, data: Dataset, *, false_accept: float = 0.05, folds: int = 16,
                                   progress: Optional[ProgressCallback] = None) -> Self:
        """Calibrate as `calibrate_open_set`, on the data set of `fit_dataset`.

        Parameters
        ----------
        data : Dataset
            Data set that the model was trained on.
        false_accept : float, default=0.05
            Share of unknown samples to accept, between 0 and 1.
        folds : int, default=16
            Number of fits, each without a part of the seen classes; at most one per two classes is used.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops calibration, which raises CancelledError.

        Returns
        -------
        self : object
            The changed estimator.
        """
        check_is_fitted(self)
        checked(data, "for arrays call calibrate_open_set(X, y)")
        model, threads = self._model, threads_of(self.n_jobs)
        options = OpenSetOptions(ctypes.sizeof(OpenSetOptions), real(false_accept, "false_accept"),
                                 unsigned(folds, "folds", 31), 0, seed_of(self.random_state), 0)
        with Watch(progress) as watch:
            self._model = model.changed(
                lambda handle: call("model_calibrate_open_set", handle, data.pointer, ctypes.byref(options), threads,
                                    watch.function, None), model.labels, with_record=True)
        return self

    def is_unknown(self, X: ArrayLike, classes: Any = None) -> NDArray[np.bool_]:
        """Tell samples of no class from those of the classes.

        The model must be calibrated, see `calibrate_open_set`; otherwise UsageError is raised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all, for which rejection is calibrated.

        Returns
        -------
        unknown : ndarray of shape (n_samples,), bool
            True for samples whose `known_score` is below the threshold for `false_accept_`.
        """
        wanted = competitors(classes)
        return self._apply(X, lambda model, x: model.known(x, wanted, threads_of(self.n_jobs))[2])

    def known_score(self, X: ArrayLike, classes: Any = None) -> Floats:
        """Return how much speaks for each sample being of a class.

        The model must be calibrated, see `calibrate_open_set`; otherwise UsageError is raised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all, for which rejection is calibrated.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Log-odds of a sample of a class against one of no class. Samples that are unlike all known ones have the
            lowest float32. The thresholds of `is_unknown` differ between samples whose best class is seen and others.
        """
        wanted = competitors(classes)
        return self._apply(X, lambda model, x: model.known(x, wanted, threads_of(self.n_jobs))[1])

    def predict_set(self, X: ArrayLike, coverage: float = 0.9) -> List[NDArray[Any]]:
        """Predict the classes that each sample may be of.

        The model must be calibrated, see `calibrate_open_set`; otherwise UsageError is raised.
        docs/open-set.md says when the coverage holds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        coverage : float, default=0.9
            Probability that the class of a sample is in its set, between 0 and 1.

        Returns
        -------
        sets : list of ndarray
            Labels of each sample's set, best first. The label of `predict` is always in it.
        """
        share = real(coverage, "coverage")
        return self._apply(X, lambda model, x: model.sets(x, share, threads_of(self.n_jobs)))

    def evaluate_open_set(self, data: Dataset, *, unknown_classes: Optional[Sequence[Any]] = None, seed: int = 1,
                          progress: Optional[ProgressCallback] = None) -> OpenSetEvaluation:
        """Evaluate the rejection of unknown samples on the test samples of a data set.

        Some unseen classes are left out, so that their samples are unknown; inputs that are of no class are made, such
        as noise. The model must be calibrated, see `calibrate_open_set`; otherwise UsageError is raised. It stays as it
        is.

        Parameters
        ----------
        data : Dataset
            Data set of `parsnets.datasets`.
        unknown_classes : sequence of labels, default=None
            Unseen classes that are left out. None leaves out one half of them after the other.
        seed : int, default=1
            Random seed of the halves and of the inputs that are of no class.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops the evaluation, which raises CancelledError.

        Returns
        -------
        evaluation : OpenSetEvaluation
            Results.
        """
        check_is_fitted(self)
        checked(data, "for arrays call is_unknown(X)")
        names = [text(name_of(label), "unknown_classes")
                 for label in ([] if unknown_classes is None else listed(unknown_classes, "unknown_classes"))]
        if unknown_classes is not None and not names:
            raise UsageError("unknown_classes: expected at least one label, or None, found none")
        kinds, count = (NoClassInputs * 16)(), ctypes.c_size_t()
        options = OpenSetEvaluationOptions(
            ctypes.sizeof(OpenSetEvaluationOptions), (ctypes.c_char_p * len(names))(*names) if names else None,
            len(names), 1000, unsigned(seed, "seed", 64), kinds, len(kinds), ctypes.pointer(count))
        out = _OpenSetEvaluation(size=ctypes.sizeof(_OpenSetEvaluation))
        with Watch(progress) as watch:
            call("evaluate_open_set", self._model.handle, data.pointer, ctypes.byref(options),
                 threads_of(self.n_jobs), watch.function, None, ctypes.byref(out))
        return OpenSetEvaluation(_share(out.known_seen), _share(out.known_unseen), _share(out.unknown),
                                 out.known_right / 100, _quality(out.known_score), _quality(out.confidence),
                                 {kind.name.decode(): kind.rejected / 100 for kind in kinds[:count.value]}, out.turns)

    def _predict_or_reject(self, X: ArrayLike, classes: Any) -> NDArray[Any]:
        """Return predict(X, classes, reject=True)."""
        wanted = competitors(classes)

        def predict(model: Model, x: Floats) -> NDArray[Any]:
            places, _, unknown = model.known(x, wanted, threads_of(self.n_jobs))
            labels: NDArray[Any] = model.labels_and_unknown[np.where(unknown, len(model.labels), places)]
            return labels

        return self._apply(X, predict)
