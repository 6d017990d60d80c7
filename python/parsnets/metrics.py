"""Metrics of zero-shot recognition, as fractions from 0 to 1."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from . import _library
from .results import Interval, PairedTest

Doubles = NDArray[np.float64]


def per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean of the per-class accuracies over the classes in `y_true`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Examples
    --------
    >>> per_class_accuracy(["cat", "cat", "cat", "owl"], ["cat", "cat", "owl", "cat"])  # 2 of 3, and 0 of 1
    0.3333333333333333
    """
    true, predicted = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(true, predicted)
    _check_kind(true, predicted, "y_pred")
    classes, places = np.unique(true, return_inverse=True)
    if len(classes) == 0:
        raise ValueError("y_true: expected at least one label, found none")
    return float(np.mean(np.bincount(places, weights=true == predicted) / np.bincount(places)))


def _check_kind(true: NDArray[Any], predicted: NDArray[Any], name: str) -> None:
    if {_kind(true), _kind(predicted)} == {"text", "numbers"}:
        raise ValueError(f"{name}: expected labels of the same type as y_true, {_kind(true)}, found "
                         f"{_kind(predicted)}; convert one of them")


def _kind(labels: NDArray[Any]) -> str:
    if labels.dtype.kind == "O":
        kinds = {isinstance(label, str) for label in labels}
        return "objects" if len(kinds) != 1 else "text" if kinds.pop() else "numbers"
    return "text" if labels.dtype.kind in "US" else "numbers"


def harmonic_mean(u: float, s: float) -> float:
    """Harmonic mean of two accuracies, 2us / (u + s).

    Parameters
    ----------
    u : float
        Accuracy on unseen classes.
    s : float
        Accuracy on seen classes.

    Returns
    -------
    h : float
        0 if both are 0, NaN if one is NaN.

    Examples
    --------
    >>> harmonic_mean(0.25, 0.75)
    0.375
    """
    return 2 * u * s / (u + s) if u + s != 0 else 0.0


def seen_unseen_curve(y_true: ArrayLike, scores: ArrayLike, classes: ArrayLike,
                      seen: ArrayLike) -> Tuple[Doubles, Doubles, Doubles]:
    """Curve of seen and unseen accuracies as gamma, which is subtracted from the scores of seen classes, increases.

    This is calibrated stacking: the prediction is the argmax of score - gamma [class is seen].

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, with samples of seen and of unseen classes.
    scores : array-like of shape (n_samples, n_classes)
        Finite scores without gamma, such as those of `class_scores`.
    classes : array-like of shape (n_classes,)
        Labels of the columns of `scores`.
    seen : array-like of shape (n_classes,)
        True for seen classes.

    Returns
    -------
    gamma : ndarray
        Increasing values of gamma at which a prediction changes. The first is -inf.
    u : ndarray
        Per-class accuracy on samples of unseen classes, for each gamma.
    s : ndarray
        Per-class accuracy on samples of seen classes, for each gamma.
    """
    labels, score = np.asarray(y_true), np.asarray(scores, np.float64)
    names, is_seen = np.asarray(classes), np.asarray(seen, bool)
    if score.shape != (len(labels), len(names)) or is_seen.shape != names.shape:
        raise ValueError(f"scores: expected n x C = {len(labels)} x {len(names)} and C flags in seen, "
                         f"found {score.shape} and {is_seen.shape}")
    if not np.isfinite(score).all():
        raise ValueError("scores: expected finite numbers, found NaN or infinity")
    if len(np.unique(names)) != len(names):
        raise ValueError("classes: expected unique classes, found a duplicate")
    order = np.argsort(names, kind="stable")
    found = np.searchsorted(names, labels, sorter=order)
    truth = order[np.minimum(found, len(names) - 1)]
    if not np.array_equal(names[truth], labels):
        raise ValueError("y_true: expected labels in classes, found other labels")
    of_seen = is_seen[truth]
    if of_seen.all() or not of_seen.any():
        raise ValueError("y_true: expected samples of seen and of unseen classes, found only one kind")
    best_seen = np.flatnonzero(is_seen)[np.argmax(score[:, is_seen], axis=1)]
    best_unseen = np.flatnonzero(~is_seen)[np.argmax(score[:, ~is_seen], axis=1)]
    rows = np.arange(len(labels))
    flip = score[rows, best_seen] - score[rows, best_unseen]
    # A sample that can be correct at all adds 1 / (size of its class * number of seen or unseen classes).
    weight = 1.0 / np.bincount(truth, minlength=len(names))[truth]
    weight /= np.where(of_seen, len(np.unique(truth[of_seen])), len(np.unique(truth[~of_seen])))
    can = np.where(of_seen, best_seen, best_unseen) == truth
    gammas, places = np.unique(flip[can], return_inverse=True)
    up = np.bincount(places, weights=(weight * ~of_seen)[can], minlength=len(gammas))
    down = np.bincount(places, weights=(weight * of_seen)[can], minlength=len(gammas))
    u = np.concatenate([[0.0], np.cumsum(up)])
    s = down.sum() - np.concatenate([[0.0], np.cumsum(down)])
    return np.concatenate([[-np.inf], gammas]), u, s


def ausuc(y_true: ArrayLike, scores: ArrayLike, classes: ArrayLike, seen: ArrayLike) -> float:
    """Area under the seen-unseen curve.

    Parameters
    ----------
    y_true, scores, classes, seen
        See :func:`seen_unseen_curve`.

    Returns
    -------
    area : float
        Between 0 and 1.

    Examples
    --------
    >>> scores = [[0.9, 0.2], [0.8, 0.3], [0.7, 0.6]]  # of three samples, for a seen and an unseen class
    >>> ausuc(["cat", "cat", "owl"], scores, ["cat", "owl"], [True, False])  # at gamma 0.2 all are right
    1.0
    """
    _, u, s = seen_unseen_curve(y_true, scores, classes, seen)
    return float(np.sum(np.diff(u) * (s[1:] + s[:-1]) / 2))


def bootstrap_interval(y_true: ArrayLike, y_pred: ArrayLike, classes: Optional[ArrayLike] = None, *,
                       seen_classes: Optional[ArrayLike] = None, replicates: int = 2000, seed: int = 1) -> Interval:
    """95 % interval of the per-class accuracy or, with `seen_classes`, of the harmonic mean H.

    A two-level bootstrap draws classes with replacement, and then samples of each class that was drawn: results of
    zero-shot learning vary more over classes than over samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,) or (n_seeds, n_samples)
        Predicted labels. Those of several seeds are averaged sample by sample.
    classes : array-like, default=None
        Classes to evaluate. Samples of others are left out. None means all classes in `y_true`.
    seen_classes : array-like, default=None
        The seen ones among the classes. If given, the result is the harmonic mean of the per-class accuracies of unseen
        and of seen classes. None means the mean over all classes.
    replicates : int, default=2000
        Number of replicates of the bootstrap, at least 40.
    seed : int, default=1
        Seed of the draws.

    Returns
    -------
    interval : Interval
        Accuracy and interval, between 0 and 1.

    Examples
    --------
    >>> interval = bootstrap_interval([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 0, 0])
    >>> interval.estimate, interval.low, interval.high
    (0.625, 0.25, 1.0)
    """
    outcomes = _Outcomes(y_true, (y_pred,), ("y_pred",), classes, seen_classes)
    out = _library.Intervals(size=ctypes.sizeof(_library.Intervals))
    _library.call("bootstrap_intervals", outcomes.of[0], _options(replicates, 1, seed), 1, ctypes.byref(out))
    found = getattr(out, outcomes.figure)
    return Interval._of(found)


def paired_test(y_true: ArrayLike, y_pred_a: ArrayLike, y_pred_b: ArrayLike, classes: Optional[ArrayLike] = None, *,
                seen_classes: Optional[ArrayLike] = None, replicates: int = 2000, draws: int = 10000,
                seed: int = 1) -> PairedTest:
    """Compare two methods on the same samples, by the per-class accuracy or, with `seen_classes`, by H.

    The interval of the difference is that of a bootstrap as in :func:`bootstrap_interval`, with the same classes and
    samples drawn for both methods. The p-value is that of a randomisation test that exchanges the methods in whole
    classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred_a : array-like of shape (n_samples,) or (n_seeds, n_samples)
        Labels predicted by the first method. Those of several seeds are averaged sample by sample.
    y_pred_b : array-like of shape (n_samples,) or (n_seeds, n_samples)
        Labels predicted by the second method.
    classes : array-like, default=None
        Classes to evaluate. Samples of others are left out. None means all classes in `y_true`.
    seen_classes : array-like, default=None
        The seen ones among the classes. If given, the methods are compared by H.
    replicates : int, default=2000
        Number of replicates of the bootstrap, at least 40.
    draws : int, default=10000
        Number of random exchanges if the methods differ in more than 14 classes. With fewer, all are enumerated.
    seed : int, default=1
        Seed of the draws.

    Returns
    -------
    test : PairedTest
        Difference of the accuracies, first minus second, between -1 and 1, with its interval and p-value.

    Examples
    --------
    >>> y = [0, 0, 1, 1, 2, 2, 3, 3]
    >>> test = paired_test(y, y, [0, 1, 1, 0, 2, 3, 3, 2])  # all right against half of each class
    >>> test.difference, test.p_value, test.exact  # better in each of four classes: 2 of 16 exchanges are as large
    (0.5, 0.125, True)
    """
    outcomes = _Outcomes(y_true, (y_pred_a, y_pred_b), ("y_pred_a", "y_pred_b"), classes, seen_classes)
    out = _library.Comparison(size=ctypes.sizeof(_library.Comparison))
    _library.call("compare_paired", *outcomes.of, _options(replicates, draws, seed), 1, ctypes.byref(out))
    found = getattr(out, outcomes.figure)
    difference = Interval._of(found.difference)
    return PairedTest(difference.estimate, difference.low, difference.high, found.p, bool(found.exact))


def _options(replicates: int, draws: int, seed: int) -> Any:
    return _library.UncertaintyOptions(ctypes.sizeof(_library.UncertaintyOptions),
                                       _library.unsigned(replicates, "replicates", 31),
                                       _library.unsigned(draws, "draws", 31), _library.unsigned(seed, "seed", 64))


class _Outcomes:
    """Outcomes of methods on the same samples for the engine. of: one struct per method; figure: their field to read.
    """

    def __init__(self, y_true: ArrayLike, predictions: Tuple[ArrayLike, ...], names: Tuple[str, ...],
                 classes: Optional[ArrayLike], seen_classes: Optional[ArrayLike]) -> None:
        true = column_or_1d(y_true)
        kept = np.ones(len(true), bool) if classes is None else _among(true, classes)
        if not kept.any():
            raise ValueError("y_true: expected samples of the classes, found none")
        labels = np.unique(true[kept], return_inverse=True)[1].astype(np.int32)
        self.figure = "zsl" if seen_classes is None else "h"
        seen = np.zeros(len(labels), bool) if seen_classes is None else _among(true[kept], seen_classes)
        if seen_classes is not None and (seen.all() or not seen.any()):
            raise ValueError("y_true: expected samples of seen and of unseen classes, found only one kind")
        self._arrays = [labels[~seen], labels[seen]]  # the structs point into these
        self.of = [self._struct(*_right_counts(true, predicted, name), kept, seen)
                   for predicted, name in zip(predictions, names)]

    def _struct(self, right: NDArray[np.uint16], runs: int, kept: NDArray[np.bool_], seen: NDArray[np.bool_]) -> Any:
        unseen_labels, seen_labels = self._arrays[:2]
        of_unseen, of_seen = right[kept][~seen], right[kept][seen]
        self._arrays += [of_unseen, of_seen]
        return _library.Outcomes(ctypes.sizeof(_library.Outcomes), unseen_labels.ctypes.data, seen_labels.ctypes.data,
                                 of_unseen.ctypes.data, of_unseen.ctypes.data, of_seen.ctypes.data,
                                 len(unseen_labels), len(seen_labels), runs)


def _among(labels: NDArray[Any], classes: ArrayLike) -> NDArray[np.bool_]:
    wanted = set(column_or_1d(classes).tolist())
    return np.fromiter((label in wanted for label in labels.tolist()), bool, len(labels))


def _right_counts(true: NDArray[Any], y_pred: ArrayLike, name: str) -> Tuple[NDArray[np.uint16], int]:
    """Return in how many seeds each sample was predicted right, and the number of seeds."""
    predicted = np.asarray(y_pred)
    if predicted.ndim != 2 or predicted.shape[1] != len(true):
        predicted = column_or_1d(y_pred)[np.newaxis]
    check_consistent_length(true, predicted[0])
    _check_kind(true, predicted.ravel(), name)
    if len(predicted) > 65535:
        raise ValueError(f"{name}: expected at most 65535 seeds, found {len(predicted)}")
    return (predicted == true).sum(axis=0, dtype=np.uint16), len(predicted)


def zero_shot_scorer(estimator: Any, X: ArrayLike, y: ArrayLike) -> float:
    """Scorer for `scoring=`: the per-class accuracy when only the classes in `y` compete.

    Use it with :class:`ClassDisjointKFold`.

    Parameters
    ----------
    estimator : ZeroShotClassifier
        Fitted estimator.
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels of at least two classes.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from parsnets import ClassDisjointKFold, ESZSL, datasets
    >>> data = datasets.load_demo()
    >>> search = GridSearchCV(ESZSL(), {"alpha": [0.1, 10]}, cv=ClassDisjointKFold(4), scoring=zero_shot_scorer)
    >>> search = search.fit(data.X[data.trainval], data.y[data.trainval], class_attributes=data.class_attributes)
    >>> search.best_score_ > 0.6  # two classes in a fold: 0.5 is chance
    True
    """
    classes = np.unique(column_or_1d(y))
    if len(classes) < 2:
        raise ValueError(f"y: expected samples of at least 2 classes, found {len(classes)}; with one class every "
                         "prediction is correct")
    return per_class_accuracy(y, estimator.predict(X, classes=classes))
