"""Samples of no class, and prediction sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._labels import Floats
from ._model import Model, competitors
from ._training import threads_of
from .results import Rejection

Result = TypeVar("Result")


class OpenSet:
    """Mixin of estimators that keep their model as `_model` once they are fitted."""

    _model: Model
    n_jobs: Any

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
        return Rejection(share, found.accept_low, found.accept_high, found.rejected_seen, found.rejected_unseen,
                         found.auroc, found.confidence_auroc, found.folds, found.classes, found.samples)

    def is_unknown(self, X: ArrayLike, classes: Any = None) -> NDArray[np.bool_]:
        """Tell samples of no class from those of the classes.

        The model must be calibrated, see `calibrate_open_set`; otherwise Usage is raised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.

        Returns
        -------
        unknown : ndarray of shape (n_samples,), bool
            True for samples whose `known_score` is below the threshold for `false_accept_`.
        """
        wanted = competitors(classes)
        return self._apply(X, lambda model, x: model.known(x, wanted, threads_of(self.n_jobs))[2])

    def known_score(self, X: ArrayLike, classes: Any = None) -> Floats:
        """Return how much speaks for each sample being of a class.

        The model must be calibrated, see `calibrate_open_set`; otherwise Usage is raised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Log-odds of a sample of a class against one of no class. Samples that are unlike all known ones have the
            lowest float32. The thresholds of `is_unknown` differ between samples whose best class is seen and others.
        """
        wanted = competitors(classes)
        return self._apply(X, lambda model, x: model.known(x, wanted, threads_of(self.n_jobs))[1])

    def _predict_or_reject(self, X: ArrayLike, classes: Any) -> NDArray[Any]:
        """Return predict(X, classes, reject=True)."""
        wanted = competitors(classes)

        def predict(model: Model, x: Floats) -> NDArray[Any]:
            places, _, unknown = model.known(x, wanted, threads_of(self.n_jobs))
            labels: NDArray[Any] = model.labels_and_unknown[np.where(unknown, len(model.labels), places)]
            return labels

        return self._apply(X, predict)
