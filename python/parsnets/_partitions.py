"""What runs on the workers of a cluster: sums over one partition, sums of sums, predictions of one partition.

Nothing here imports dask. Each call uses one thread of the engine, since a worker runs a task per thread.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterable, Iterator, Mapping, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ._labels import Floats, name_of
from ._statistics import GROUPS, KEPT_ROWS, Statistics
from .errors import BadInputError


@dataclass(frozen=True)
class Plan:
    """What is the same for all partitions of a fit."""

    dimensions: int
    scaling: Optional[str]  # None: "sqrt-l2", as long as no value is negative
    known: Optional[FrozenSet[Any]]  # labels that may occur; None: any
    class_weight: Mapping[Any, float]  # 1 for labels that it lacks


class Sums:
    """Statistics of some partitions, and the labels that occur in them, ascending."""

    def __init__(self, dimensions: int, statistics: Optional[Statistics] = None, labels: Optional[NDArray[Any]] = None,
                 negative: bool = False) -> None:
        self.dimensions = dimensions
        self.statistics = statistics  # None: no samples, or a negative value
        self.labels = labels
        self.negative = negative  # a value is negative, and the plan's scaling is None

    def __sizeof__(self) -> int:
        """Return the bytes of the engine as well, which dask cannot see, with all rows kept that may be kept."""
        classes, d = 0 if self.labels is None else len(self.labels), self.dimensions
        sums = 0 if self.statistics is None else 8 * GROUPS * d * d + classes * (8 * d + 8 + KEPT_ROWS * (4 * d + 40))
        return object.__sizeof__(self) + sums


@contextmanager
def _partition(number: int) -> Iterator[None]:
    """Say in which partition an error is."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise BadInputError(f"partition {number}: {error}") from None


def sums_of(blocks: Sequence[Any], number: int, plan: Plan, before: Optional[Sums] = None) -> Sums:
    """Return the sums over partition `number`, and those before.

    blocks: samples, (n_samples, n_features); labels, (n_samples,); and, if there are any, weights, (n_samples,).
    """
    with _partition(number):
        made = _sums_of(blocks, plan)
    return made if before is None else total([before, made])


def _sums_of(blocks: Sequence[Any], plan: Plan) -> Sums:
    rows = _rows(blocks[0], plan.dimensions)
    labelled, given = _column(blocks[1], len(rows), "y"), _weights(blocks, len(rows))
    if len(rows) == 0:
        return Sums(plan.dimensions)
    if labelled.dtype.kind == "f" and not np.isfinite(labelled).all():
        raise BadInputError("y: expected labels, found NaN or infinity")
    check_classification_targets(labelled)
    seen, places = np.unique(labelled, return_inverse=True)
    if plan.known is not None:
        missing = [label for label in seen.tolist() if label not in plan.known]
        if missing:
            raise BadInputError("class_attributes: expected a row for every label in y, found none for "
                                f"{', '.join(map(repr, missing[:5]))}; add {'it' if len(missing) == 1 else 'them'}")
    if plan.scaling is None and (rows < 0).any():
        return Sums(plan.dimensions, labels=seen, negative=True)
    if plan.class_weight:
        by_class = np.array([plan.class_weight.get(label, 1.0) for label in seen.tolist()])
        given = by_class[places] if given is None else given * by_class[places]
    made = Statistics.of(rows, places.astype(np.int32), None if given is None else np.ascontiguousarray(given),
                         [name_of(label) for label in seen], plan.scaling or "sqrt-l2", threads=1)
    return Sums(plan.dimensions, made, seen)


def total(parts: Sequence[Sums]) -> Sums:
    """Return the sums of all parts, which are left as they are."""
    dimensions = parts[0].dimensions
    labels = _union(part.labels for part in parts if part.labels is not None)
    if any(part.negative for part in parts):
        return Sums(dimensions, labels=labels, negative=True)
    made = [part.statistics for part in parts if part.statistics is not None]
    return Sums(dimensions, made[0].merged(*made[1:]) if len(made) > 1 else made[0] if made else None, labels)


def counts_of(blocks: Sequence[Any], number: int, _: Any, before: Optional[Dict[Any, int]]) -> Dict[Any, int]:
    """Return how often labels occur in partition `number` and before. blocks: labels, (n_samples,)."""
    with _partition(number):
        labels, counts = np.unique(np.asarray(blocks[0]), return_counts=True)
    return total_counts([before or {}, dict(zip(labels.tolist(), counts.tolist()))])


def total_counts(parts: Sequence[Dict[Any, int]]) -> Dict[Any, int]:
    """Return how often labels occur in all parts."""
    added: Dict[Any, int] = {}
    for part in parts:
        for label, count in part.items():
            added[label] = added.get(label, 0) + count
    return added


def correct_of(blocks: Sequence[Any], number: int, estimator: Any,
               before: Optional[Tuple[float, float]]) -> Tuple[float, float]:
    """Return the weight of the samples of partition `number` and before that are predicted right, and that of all."""
    with _partition(number):
        rows = len(blocks[0])
        labelled, given = _column(blocks[1], rows, "y"), _weights(blocks, rows)
        right = estimator.predict(blocks[0]) == labelled if rows else np.zeros(0, bool)
    weights = np.ones(rows) if given is None else given
    return total_correct([before or (0.0, 0.0), (float(weights[right].sum()), float(weights.sum()))])


def total_correct(parts: Sequence[Tuple[float, float]]) -> Tuple[float, float]:
    """Return the sums over all parts."""
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


def predicted(x: Any, estimator: Any, method: str, empty: NDArray[Any], arguments: Sequence[Any]) -> Any:
    """Return estimator.method(x, *arguments) for one partition; `empty`, the result of no rows, if it has none."""
    return getattr(estimator, method)(x, *arguments) if len(x) else empty


def _rows(x: Any, dimensions: int) -> Floats:
    if getattr(x, "ndim", 0) != 2 or x.shape[1] != dimensions:
        raise BadInputError(f"X: expected {dimensions} columns as in the other partitions, found shape {np.shape(x)}")
    return np.require(np.asarray(x, np.float32), np.float32, ["C", "A"])


def _weights(blocks: Sequence[Any], rows: int) -> Optional[NDArray[np.float64]]:
    return _column(blocks[2], rows, "sample_weight").astype(np.float64) if len(blocks) > 2 else None


def _column(values: Any, rows: int, what: str) -> NDArray[Any]:
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (rows,):
        raise BadInputError(f"{what}: expected {rows} values, one per row of X, found shape {column.shape}")
    return column


def _union(parts: Iterable[NDArray[Any]]) -> Optional[NDArray[Any]]:
    """Return the different labels, ascending. Concatenating [1] and ["owl"] would turn the number into text."""
    labels = list(parts)
    if len({part.dtype.kind for part in labels}) > 1:
        raise BadInputError("y: expected labels of one type in all partitions, found "
                            + " and ".join(sorted({str(part.dtype) for part in labels})))
    return np.unique(np.concatenate(labels)) if labels else None
