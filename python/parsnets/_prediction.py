"""Predictions of fitted estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Tuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._labels import Floats
from ._library import real, unsigned
from ._model import Model, competitors, readable
from ._progress import ProgressCallback
from ._training import threads_of, validated
from .datasets import Dataset, checked
from .errors import BadInputError, UsageError
from .results import Evaluation, Explanations

Result = TypeVar("Result")


class Prediction:
    """Mixin of estimators that keep their model as `_model` once they are fitted."""

    _model: Model
    n_jobs: Any

    if TYPE_CHECKING:

        def _predict_or_reject(self, X: ArrayLike, classes: Any) -> NDArray[Any]: ...

    def predict(self, X: ArrayLike, classes: Any = None, reject: bool = False) -> NDArray[Any]:
        """Predict the class of each sample.

        A C-contiguous float32 array is read in place; one such sample costs a few microseconds in addition to the
        engine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.
        reject : bool, default=False
            Whether to mark samples of no class (see `is_unknown`): by -1 if the labels are numbers, otherwise by
            "unknown". A model with a class of this label raises UsageError.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels.
        """
        if reject:
            return self._predict_or_reject(X, classes)
        fitted = self.__dict__
        if classes is None and "_model" in fitted and "feature_names_in_" not in fitted:
            label = fitted["_model"].label_of_one(X)
            if label is not None:
                return label  # type: ignore[no-any-return]
        wanted = competitors(classes)
        return self._apply(X, lambda model, x: model.labels[model.best(x, wanted, threads_of(self.n_jobs))])

    def predict_proba(self, X: ArrayLike, classes: Any = None) -> Floats:
        """Predict the confidence of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.

        Returns
        -------
        confidences : ndarray of shape (n_samples, n_classes)
            Softmax with `gamma_` and `temperature_` over the competing classes, in the order of `classes_`. Other
            classes get 0.
        """
        wanted = competitors(classes)
        return self._apply(X, lambda model, x: model.confidences(x, wanted, threads_of(self.n_jobs)))

    def predict_top(self, X: ArrayLike, k: int = 5, classes: Any = None) -> Tuple[NDArray[Any], Floats]:
        """Predict the k best classes of each sample, best first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        k : int, default=5
            Number of classes. If fewer compete, all of them are returned.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Predicted labels.
        confidences : ndarray of shape (n_samples, k)
            Their confidences among the competing classes.
        """
        wanted, most = competitors(classes), unsigned(k, "k", 31)
        if most == 0:
            raise UsageError("k: expected at least 1, found 0")

        def best(model: Model, x: Floats) -> Tuple[NDArray[Any], Floats]:
            places, confidences = model.top(x, wanted, most, threads_of(self.n_jobs))
            return model.labels[places], confidences

        return self._apply(X, best)

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
        scores = self._apply(X, lambda model, x: model.calibrated(x, threads_of(self.n_jobs)))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

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
        return self._apply(X, lambda model, x: model.scores(x, threads_of(self.n_jobs)))

    def explain(self, X: ArrayLike) -> Explanations:
        """Explain the prediction of each sample by the attributes of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        explanations : list of Explanation
            One explanation per sample. Notebooks display the list as charts.
        """
        return self._apply(X, lambda model, x: Explanations(model.explain(row) for row in x))

    def evaluate(self, data: Dataset, *, allow_trained_samples: bool = False,
                 coverages: Sequence[float] = (0.8, 0.9, 0.95),
                 progress: Optional[ProgressCallback] = None) -> Evaluation:
        """Evaluate the model on the test samples of a data set, by the zero-shot protocol.

        Classes are matched by name.

        Parameters
        ----------
        data : Dataset
            Data set of `parsnets.datasets`.
        allow_trained_samples : bool, default=False
            Whether to accept test samples that the model was trained on. If False, they raise BadInputError.
        coverages : sequence of float, default=(0.8, 0.9, 0.95)
            Coverages of the prediction sets that are evaluated if the model is calibrated (see `predict_set`).
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops the evaluation, which raises CancelledError.

        Returns
        -------
        evaluation : Evaluation
            Results. `trained_samples` is the number of test samples that the model was trained on.
        """
        check_is_fitted(self)
        checked(data, "for arrays call predict(X)")
        shares = [real(share, "coverages") for share in coverages]
        return self._model.evaluate(data, threads_of(self.n_jobs), progress, allow_trained_samples, shares)

    def _apply(self, X: ArrayLike, work: Callable[[Model, Floats], Result]) -> Result:
        """Return work(model, x), with x as the engine reads it.

        scikit-learn's validation costs more than predicting one sample. It runs only if X is not already in the
        expected form, or if the engine rejects X.
        """
        model = self.__dict__.get("_model")
        if model is not None and readable(X, model.dimensions) and "feature_names_in_" not in self.__dict__:
            try:
                return work(model, X)  # type: ignore[arg-type]
            except BadInputError:  # NaN or infinity
                pass
        check_is_fitted(self)
        x = validated(self, X, dtype=np.float32, order="C", reset=False)
        return work(self._model, np.require(x, np.float32, ["C", "A"]))
