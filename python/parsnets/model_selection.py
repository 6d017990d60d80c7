"""Cross-validation for zero-shot learning."""

from __future__ import annotations

from typing import Any, Iterator, Optional, Tuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, check_random_state

Indices = NDArray[np.intp]


class ClassDisjointKFold:
    """K-fold cross-validation over classes: no class of a test fold has samples in the training part.

    Each fold has at least two classes, because with one class there is nothing to choose. The sizes of the folds differ
    by at most one class.

    Parameters
    ----------
    n_splits : int, default=3
        Number of folds. At least 2.
    shuffle : bool, default=False
        Whether to draw the folds with `random_state` instead of taking the classes in sorted order.
    random_state : int, RandomState instance or None, default=None
        Random seed, used if `shuffle` is True.

    Examples
    --------
    >>> y = ["cat", "cat", "dog", "eel", "eel", "owl"]
    >>> for train, test in ClassDisjointKFold(2).split(y, y):
    ...     print(train, test)
    [3 4 5] [0 1 2]
    [0 1 2] [3 4 5]
    """

    def __init__(self, n_splits: int = 3, *, shuffle: bool = False, random_state: Any = None) -> None:
        if n_splits < 2:
            raise ValueError(f"n_splits: expected at least 2, found {n_splits}")
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored.

        Returns
        -------
        n_splits : int
            Number of folds.
        """
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Optional[Any] = None) -> Iterator[Tuple[Indices, Indices]]:
        """Generate the indices of the training and test samples of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        groups : object, default=None
            Ignored.

        Yields
        ------
        train : ndarray
            Indices of the training samples.
        test : ndarray
            Indices of the test samples.
        """
        check_consistent_length(X, y)
        classes, places = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < 2 * self.n_splits:
            raise ValueError(f"y: expected at least {2 * self.n_splits} classes, two for each of n_splits = "
                             f"{self.n_splits} folds, found {len(classes)}; lower n_splits")
        order = np.arange(len(classes))
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(len(classes))
        for fold in np.array_split(order, self.n_splits):
            test = np.isin(places, fold)
            yield np.flatnonzero(~test), np.flatnonzero(test)

    def __repr__(self) -> str:
        return (f"ClassDisjointKFold(n_splits={self.n_splits}, shuffle={self.shuffle}, "
                f"random_state={self.random_state!r})")
