"""Cross-validation for zero-shot learning."""

from __future__ import annotations

from typing import Any, Iterator, Optional, Tuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, check_random_state

Indices = NDArray[np.intp]


class ClassDisjointKFold:
    """K folds of classes: no class of a test fold has samples in the training part.

    A fold has two classes or more, as among one there is nothing to choose; sizes differ by one class at most. shuffle:
    draw the folds with random_state, in place of the labels' order.

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
        """The number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Optional[Any] = None) -> Iterator[Tuple[Indices, Indices]]:
        """Pairs of training and test sample numbers. y: n labels."""
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
