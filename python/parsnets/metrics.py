"""Metrics of zero-shot recognition, as fractions from 0 to 1."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

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
    if {_kind(true), _kind(predicted)} == {"text", "numbers"}:
        raise ValueError(f"y_pred: expected labels of the same type as y_true, {_kind(true)}, found "
                         f"{_kind(predicted)}; convert one of them")
    classes, places = np.unique(true, return_inverse=True)
    if len(classes) == 0:
        raise ValueError("y_true: expected at least one label, found none")
    return float(np.mean(np.bincount(places, weights=true == predicted) / np.bincount(places)))


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
