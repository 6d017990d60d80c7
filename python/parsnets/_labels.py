"""Labels of classes: the names the engine knows them by, and the tables that say what attributes they have."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import BadInput

Floats = NDArray[np.float32]


def name_of(label: Any) -> str:
    """What the engine calls the class."""
    return label if isinstance(label, str) else str(label)


def vector_of(values: ArrayLike, label: Any) -> Floats:
    """The attributes of one class, m."""
    vector = np.ascontiguousarray(values, np.float32)
    if vector.ndim != 1:
        raise BadInput(f"attributes of {label!r}: expected a vector, found shape {vector.shape}")
    return vector


def with_labels(labels: NDArray[Any], new: List[Any]) -> NDArray[Any]:
    """`labels` and the new ones. They keep their kind: no integer silently becomes text."""
    if all(np.ndim(label) == 0 and np.asarray(label).dtype.kind == labels.dtype.kind for label in new):
        return np.concatenate([labels, np.array(new)])
    joined = np.empty(len(labels) + len(new), dtype=object)
    joined[:] = labels.tolist() + new
    return joined


def listed(labels: Any) -> List[Any]:
    """Labels as they are: an array of [1, "owl"] would make text of the number."""
    kept = isinstance(labels, (list, tuple, set, frozenset))
    return list(labels if kept else np.asarray(labels).ravel().tolist())


def places_of(labels: NDArray[Any], wanted: Any, what: str) -> NDArray[np.intp]:
    """The class number of each of the wanted labels; BadInput says `what` holds an unknown one, or none."""
    place = {label: i for i, label in enumerate(labels.tolist())}
    names = listed(wanted)
    unknown = sorted({repr(name) for name in names if name not in place})
    if unknown or not names:
        raise BadInput(f"{what}: expected labels of classes_, at least one, found {', '.join(unknown[:5]) or 'none'}")
    return np.array([place[name] for name in names], np.intp)


def validation_flags(labels: NDArray[Any], seen: NDArray[Any], wanted: Any) -> NDArray[np.bool_]:
    """C flags of the seen classes to validate on. labels: C; seen: those of them in y."""
    names, known = set(listed(wanted)), set(seen.tolist())
    foreign = sorted(map(repr, names - known))
    if foreign or not 0 < len(names) < len(known):
        raise BadInput(f"validation: expected labels of some, not all, of the {len(known)} classes in y, found "
                       + (", ".join(foreign[:5]) if foreign else f"{len(names)} of them"))
    return np.array([label in names for label in labels.tolist()])


def class_table(attributes: Any, seen: NDArray[Any],
                class_names: Optional[ArrayLike]) -> Tuple[NDArray[Any], Floats, Optional[List[str]]]:
    """(C sorted labels, C x m, attribute names or None) from what fit() takes."""
    columns: Optional[List[str]] = None
    if isinstance(attributes, Mapping):
        rows = list(attributes)
        if len({np.shape(attributes[row]) for row in rows}) > 1:
            raise BadInput("class_attributes: expected vectors of one length, found several lengths")
        table = np.array([attributes[row] for row in rows], np.float32)
    elif hasattr(attributes, "index") and hasattr(attributes, "columns"):
        rows = attributes.index.tolist()
        columns = [str(column) for column in attributes.columns]
        table = np.asarray(attributes.to_numpy(), np.float32)
    else:
        table = np.asarray(attributes, np.float32)
        rows = []
        if table.ndim == 2 and class_names is None:
            if len(table) == len(seen):
                rows = seen.tolist()
            elif seen.dtype.kind in "iu" and seen[0] >= 0 and seen[-1] < len(table):
                rows = list(range(len(table)))
            else:
                raise BadInput(f"class_attributes: expected one row per label in y, {len(seen)}, or class_names beside "
                               f"them, found {len(table)} rows; give class_names")
    if table.ndim != 2:
        raise BadInput(f"class_attributes: expected a matrix, classes x attributes, found shape {table.shape}")
    labels = np.asarray(rows if class_names is None else class_names)
    if labels.shape != (len(table),):
        raise BadInput(f"class_names: expected {len(table)}, one per row of class_attributes, found {labels.shape}")
    if (labels.dtype.kind in "US") != (seen.dtype.kind in "US") and "O" not in labels.dtype.kind + seen.dtype.kind:
        raise BadInput(f"class_attributes: expected classes of the kind of the labels in y ({seen.dtype}), found "
                       f"{labels.dtype}")
    if seen.dtype.kind == "O":
        labels = labels.astype(object)
    sorted_labels, order = np.unique(labels, return_index=True)
    if len(sorted_labels) != len(labels):
        raise BadInput("class_attributes: expected every class once, found one twice")
    known = set(sorted_labels.tolist())
    missing = [label for label in seen.tolist() if label not in known]
    if missing:
        raise BadInput(f"class_attributes: expected a row for every label in y, found none for "
                       f"{', '.join(map(repr, missing[:5]))}; add {'it' if len(missing) == 1 else 'them'}")
    return sorted_labels, np.ascontiguousarray(table[order]), columns
