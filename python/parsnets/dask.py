"""ParsNets on dask arrays and data frames, larger than the memory of one machine.

`parsnets.dask.ParsNetsClassifier` has the name and the methods of `parsnets.ParsNetsClassifier`, as in dask-ml. dask is
imported on first use.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _partitions as on_worker
from . import classifier
from ._base import _predicts_semantics
from ._graph import array_module, is_collection, matrix_of, partitioned, reduced, single
from ._labels import class_table, listed, name_of, read_table
from ._model import competitors
from ._progress import ProgressCallback
from ._statistics import Statistics
from .errors import BadInputError, ParsNetsError, UsageError

__all__ = ["ParsNetsClassifier"]

Self = TypeVar("Self", bound="ParsNetsClassifier")


class ParsNetsClassifier(classifier.ParsNetsClassifier):
    """Zero-shot classifier for dask arrays and data frames.

    `fit` trains the closed form of class space, ``networks=0`` and ``refine_steps=0``, from statistics of the
    samples (see docs/method.md). Workers compute the statistics of each partition and add them up; only the sum
    reaches the client, which trains the model. The model is that of `parsnets.ParsNetsClassifier.partial_fit` for the
    same samples, up to rounding, for any partitions and any number of workers. Parameters that need samples, such as
    `networks`, raise an error before the samples are read.

    `predict`, `predict_proba`, `decision_function`, `class_scores` and `transform` return lazy dask arrays for dask
    arrays and data frames. For arrays in memory, all methods do what they do in `parsnets.ParsNetsClassifier`. Methods
    that are not listed here take arrays in memory only.

    Workers use one thread of the engine per task. `n_jobs` is the number of threads of the client.

    Parameters
    ----------
    method, networks, active, gates, encoding, loss, c, epsilon, alpha, mmg, refine_steps, shrinkage
        See :class:`ParsNetsClassifier`.
    prototype_width, false_accept, class_weight, feature_scaling, semantic_scaling, semantic_whitening, similarity
        See :class:`ParsNetsClassifier`.
    search, options, random_state, n_jobs, verbose
        See :class:`ParsNetsClassifier`.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from parsnets import datasets
    >>> from parsnets.dask import ParsNetsClassifier
    >>> data = datasets.load_demo()
    >>> X = da.from_array(data.X[data.trainval], chunks=(200, -1))  # doctest: +SKIP
    >>> y = da.from_array(data.y[data.trainval], chunks=200)  # doctest: +SKIP
    >>> model = ParsNetsClassifier().fit(X, y, class_attributes=data.class_attributes)  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    array(['airplane', ...], dtype='<U10')
    """

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None, *, class_attributes: Any = None,
            attribute_names: Optional[Sequence[str]] = None, class_names: Optional[ArrayLike] = None,
            validation: Any = "auto", progress: Optional[ProgressCallback] = None) -> Self:
        """Fit the closed form of class space to labelled samples.

        If `feature_scaling` is None, the scaling is "l2" if a value is negative and "sqrt-l2" otherwise. Samples with
        negative values are then read twice; ``feature_scaling="l2"`` avoids it. ``class_weight="balanced"`` reads `y`
        twice. If an exception is raised, the estimator is unchanged.

        Parameters
        ----------
        X : dask array or dask DataFrame of shape (n_samples, n_features), or array-like
            Training samples, in partitions of rows. Partitions of columns are joined first.
        y : dask array or dask Series of shape (n_samples,), or array-like
            Labels. Partitions that differ from those of `X` are changed to them. If the numbers of rows of partitions
            are not known, as in data frames, partition i of `y` must belong to partition i of `X`.
        sample_weight : dask array or dask Series of shape (n_samples,), or array-like, default=None
            Weights of the samples, partitioned as `y`. None means 1 each.
        class_attributes : dict, Series, DataFrame, array-like of shape (n_classes, n_attributes) or None, default=None
            As in :meth:`ZeroShotClassifier.fit`.
        attribute_names : sequence of str, default=None
            Names of the attributes.
        class_names : array-like of shape (n_classes,), default=None
            Labels of the rows of `class_attributes`.
        validation : {"auto", "none"}, default="auto"
            "auto" chooses gamma and the temperature on groups of classes that are held out in turn; "none" does not
            choose them.
        progress : callable, default=None
            Called by the training on the client with (stage, done, total, unit). A true result stops it, which raises
            CancelledError.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        array_module()
        if not isinstance(validation, str):
            raise UsageError("validation: expected 'auto' or 'none' for statistics of samples, found labels")
        extra = self._validation_options(validation, class_attributes is not None)
        if not is_collection(X):
            if is_collection(y) or is_collection(sample_weight):
                raise UsageError("X: expected a dask array or DataFrame, as y or sample_weight is, found "
                                 f"{type(X).__name__}")
            return self._fit_statistics(X, y, sample_weight, class_attributes, attribute_names, class_names, extra,
                                        progress)
        if class_attributes is None and class_names is not None:
            raise UsageError("class_names: expected class_attributes as well, found none; classes without samples need "
                             "attributes")
        described = copy.copy(self)
        columns = partitioned(described, X, y, sample_weight, reset=True)
        known = _known_labels(class_attributes, class_names, attribute_names)
        self._rehearse(extra)
        plan = on_worker.Plan(columns[0].shape[1], self.feature_scaling or extra.get("feature-scaling"), known,
                              self._class_weights(columns[1]))
        found = reduced("sum", columns, on_worker.sums_of, on_worker.total, plan)
        if found.negative:
            found = reduced("sum", columns, on_worker.sums_of, on_worker.total, replace(plan, scaling="l2"))
        if found.statistics is None:
            raise BadInputError("X: expected samples, found none: all partitions are empty")
        seen = found.labels
        if class_attributes is None:
            labels, semantics = seen, np.eye(len(seen), dtype=np.float32)
            attribute_names = [name_of(label) for label in seen] if attribute_names is None else attribute_names
        else:
            labels, semantics, attribute_names = class_table(class_attributes, seen, class_names, attribute_names)
        unknown = set(plan.class_weight) - set(labels.tolist())
        if unknown:
            raise UsageError(f"class_weight: expected labels of classes, found {unknown.pop()!r}")
        return self._train_statistics(found.statistics, labels, semantics, attribute_names, extra, progress,
                                      feature_names=getattr(described, "feature_names_in_", None))

    def _rehearse(self, extra: Mapping[str, Any]) -> None:
        """Raise UsageError for parameters with which training would fail, before samples are read."""
        names = np.array(["a", "b"])
        scaling = self.feature_scaling or str(extra.get("feature-scaling", "l2"))
        made = Statistics.of(np.eye(4, 2, dtype=np.float32), np.array([0, 1, 0, 1], np.int32), None, names.tolist(),
                             scaling, threads=1)
        quiet = copy.copy(self)
        quiet.verbose, quiet.random_state = False, 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                quiet._train_statistics(made, names, np.eye(2, dtype=np.float32), None, extra, None)
            except UsageError:
                raise
            except ParsNetsError:
                pass  # about these samples

    def _class_weights(self, y: Any) -> Dict[Any, float]:
        """Return the weights of classes that differ from 1. y: dask array of labels."""
        if self.class_weight is None:
            return {}
        if isinstance(self.class_weight, Mapping):
            given = dict(self.class_weight)
            if not all(isinstance(value, (int, float, np.number)) and 0 <= value < np.inf for value in given.values()):
                raise UsageError("class_weight: expected finite weights that are not negative, found "
                                 f"{self.class_weight!r}")
            return given
        if self.class_weight != "balanced":
            raise UsageError(f"class_weight: expected a dict, 'balanced' or None, found {self.class_weight!r}")
        counts: Dict[Any, int] = reduced("count", [y], on_worker.counts_of, on_worker.total_counts)
        share = sum(counts.values()) / max(1, len(counts))
        return {label: share / count for label, count in counts.items()}

    def partial_fit(self: Self, X: ArrayLike, y: ArrayLike, classes: Optional[ArrayLike] = None,
                    sample_weight: Optional[ArrayLike] = None, *, class_attributes: Any = None,
                    attribute_names: Optional[Sequence[str]] = None, class_names: Optional[ArrayLike] = None,
                    progress: Optional[ProgressCallback] = None) -> Self:
        """Add labelled samples in memory, see `parsnets.ParsNetsClassifier.partial_fit`.

        Parameters
        ----------
        X, y, classes, sample_weight, class_attributes, attribute_names, class_names, progress
            See :meth:`ParsNetsClassifier.partial_fit`.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if is_collection(X) or is_collection(y):
            raise UsageError("partial_fit: expected arrays in memory, found a dask collection; call fit with all "
                             "samples")
        return super().partial_fit(X, y, classes, sample_weight, class_attributes=class_attributes,  # type: ignore
                                   attribute_names=attribute_names, class_names=class_names, progress=progress)

    # ---- Prediction ----

    def predict(self, X: Any, classes: Any = None, reject: bool = False) -> Any:
        """Predict the class of each sample.

        Parameters
        ----------
        X : dask array or dask DataFrame of shape (n_samples, n_features), or array-like
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.
        reject : bool, default=False
            Whether to mark samples of no class, as in :meth:`ZeroShotClassifier.predict`.

        Returns
        -------
        labels : dask array or ndarray of shape (n_samples,)
            Predicted labels. A dask array is lazy and has the partitions of `X`.
        """
        if not is_collection(X):
            return super().predict(X, classes, reject)
        check_is_fitted(self)
        if not reject:
            return self._lazy(X, "predict", (), self._model.labels.dtype, classes)
        self._model.known(np.empty((0, self._model.dimensions), np.float32), "all", 1)  # raises now, see _lazy()
        return self._lazy(X, "predict", (), self._model.labels_and_unknown.dtype, classes, True)

    def predict_proba(self, X: Any, classes: Any = None) -> Any:
        """Predict the confidence of each class.

        Parameters
        ----------
        X : dask array or dask DataFrame of shape (n_samples, n_features), or array-like
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.

        Returns
        -------
        confidences : dask array or ndarray of shape (n_samples, n_classes)
            Softmax with `gamma_` and `temperature_` over the competing classes, in the order of `classes_`. Other
            classes get 0. A dask array is lazy and has the partitions of `X`.
        """
        if not is_collection(X):
            return super().predict_proba(X, classes)
        check_is_fitted(self)
        return self._lazy(X, "predict_proba", (self._model.classes,), np.float32, classes)

    def decision_function(self, X: Any) -> Any:
        """Return the scores of the classes, with `gamma_` subtracted for seen classes.

        Parameters
        ----------
        X : dask array or dask DataFrame of shape (n_samples, n_features), or array-like
            Samples.

        Returns
        -------
        scores : dask array or ndarray of shape (n_samples, n_classes) or (n_samples,)
            Scores. With two classes, the difference of the scores, which is positive for the second class. A dask
            array is lazy and has the partitions of `X`.
        """
        if not is_collection(X):
            return super().decision_function(X)
        check_is_fitted(self)
        width = () if self._model.classes == 2 else (self._model.classes,)
        return self._lazy(X, "decision_function", width, np.float32)

    def class_scores(self, X: Any) -> Any:
        """Return the scores of the classes without `gamma_`, for `metrics.ausuc`.

        Parameters
        ----------
        X : dask array or dask DataFrame of shape (n_samples, n_features), or array-like
            Samples.

        Returns
        -------
        scores : dask array or ndarray of shape (n_samples, n_classes)
            Scores. A dask array is lazy and has the partitions of `X`.
        """
        if not is_collection(X):
            return super().class_scores(X)
        check_is_fitted(self)
        return self._lazy(X, "class_scores", (self._model.classes,), np.float32)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions. Workers count; only their counts reach the client.

        Parameters
        ----------
        X : dask array or dask DataFrame of shape (n_samples, n_features), or array-like
            Samples.
        y : dask array or dask Series of shape (n_samples,), or array-like
            Labels, partitioned as in `fit`.
        sample_weight : dask array or dask Series of shape (n_samples,), or array-like, default=None
            Weights of the samples. None means 1 each.

        Returns
        -------
        accuracy : float
            Share of the samples that are predicted right.
        """
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        right, of = reduced("score", partitioned(self, X, y, sample_weight, reset=False), on_worker.correct_of,
                            on_worker.total_correct, self._for_workers())
        if not of > 0:
            raise BadInputError("X: expected samples of positive weight, found none")
        return float(right / of)

    def _lazy(self, X: Any, method: str, width: Tuple[int, ...], dtype: Any, *arguments: Any) -> Any:
        """Return self.method(X, *arguments) as a dask array of blocks of shape (n_samples, *width).

        The first argument, if any, are the competing classes.
        """
        da = array_module()
        for classes in arguments[:1]:
            self._model.competing(competitors(classes))  # raises now rather than on a worker
        matrix = matrix_of(self, X, reset=False)
        # One key for the model: it is pickled once for a computation, however many blocks and predictions need it.
        model = single(f"parsnets-model-{self._model.token}", self._for_workers())
        empty = np.empty((0, *width), dtype)
        shape: Dict[str, Any] = {"chunks": (matrix.chunks[0], width)} if width else {"drop_axis": 1}
        return da.map_blocks(on_worker.predicted, matrix, estimator=model, method=method, empty=empty,
                             arguments=list(arguments), dtype=empty.dtype, meta=empty, **shape)

    def _for_workers(self: Self) -> Self:
        """Return a copy that predicts blocks: the model and no statistics, names of features or own threads."""
        twin = copy.copy(self)
        for name in ("_statistics", "feature_names_in_", "_sklearn_output_config"):
            twin.__dict__.pop(name, None)
        twin.n_jobs = 1
        return twin

    def _apply(self, X: ArrayLike, work: Callable[..., Any]) -> Any:
        if is_collection(X):
            raise UsageError("X: expected an array in memory, found a dask collection; call compute() on a few rows of "
                             "it")
        return super()._apply(X, work)


def transform(self: ParsNetsClassifier, X: Any) -> Any:
    """Predict the attributes of each sample, in the space in which classes are compared.

    Parameters
    ----------
    X : dask array or dask DataFrame of shape (n_samples, n_features), or array-like
        Samples.

    Returns
    -------
    semantics : dask array or ndarray of shape (n_samples, n_attributes)
        Predicted attributes. A dask array is lazy and has the partitions of `X`.
    """
    if not is_collection(X):
        return super(ParsNetsClassifier, self).transform(X)
    check_is_fitted(self)
    return self._lazy(X, "transform", (self._model.attributes,), np.float32)


def fit_transform(self: ParsNetsClassifier, X: Any, y: Any, **parameters: Any) -> Any:
    """Fit to samples and predict their attributes.

    Parameters
    ----------
    X : dask array or dask DataFrame of shape (n_samples, n_features), or array-like
        Samples.
    y : dask array or dask Series of shape (n_samples,), or array-like
        Labels.
    **parameters : dict
        Other parameters of `fit`.

    Returns
    -------
    semantics : dask array or ndarray of shape (n_samples, n_attributes)
        Result of `transform`.
    """
    return self.fit(X, y, **parameters).transform(X)


# Not in the class: scikit-learn would wrap them for set_output(), which would compute dask arrays.
for _wrapped in (transform, fit_transform):
    setattr(ParsNetsClassifier, _wrapped.__name__, available_if(_predicts_semantics)(_wrapped))
del transform, fit_transform


def _known_labels(class_attributes: Any, class_names: Optional[ArrayLike],
                  attribute_names: Optional[Sequence[str]]) -> Any:
    """Return the labels that class_attributes describes, or None if only the labels of all samples tell."""
    if class_attributes is None:
        return None
    names = None if attribute_names is None else [name_of(name) for name in attribute_names]
    table = read_table(class_attributes, names)
    if class_names is not None:
        return frozenset(listed(class_names, "class_names"))
    return None if table is None else frozenset(table[0])
