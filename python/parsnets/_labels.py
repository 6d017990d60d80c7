"""Class labels, their names in the engine, and tables of class attributes."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import BadInputError, UsageError

Floats = NDArray[np.float32]


def name_of(label: Any) -> str:
    """Return the name of the class in the engine."""
    return label if isinstance(label, str) else str(label)


def listed(labels: Any, what: str) -> List[Any]:
    """Return the labels unchanged in a list. An array of [1, "owl"] would turn the number into text."""
    if hasattr(labels, "__array__"):
        labels = np.asarray(labels).ravel().tolist()
    elif isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        labels = [labels]
    names = [label.item() if isinstance(label, np.generic) else label for label in labels]
    try:
        hash(tuple(names))
    except TypeError as error:
        raise BadInputError(f"{what}: expected a flat list of labels, found other values ({error})") from None
    return names


def places_of(labels: NDArray[Any], wanted: Any, what: str) -> NDArray[np.intp]:
    """Return the class number of each wanted label. Raises BadInputError if one is unknown or there are none.
    """
    place = {label: i for i, label in enumerate(labels.tolist())}
    names = listed(wanted, what)
    _refuse_flags(names, labels, what)
    unknown = sorted({repr(name) for name in names if name not in place})
    if unknown or not names:
        raise BadInputError(f"{what}: expected one or more labels in classes_, found "
                            f"{', '.join(unknown[:5]) or 'none'}")
    return np.array([place[name] for name in names], np.intp)


def validation_flags(labels: NDArray[Any], seen: NDArray[Any], wanted: Any) -> NDArray[np.bool_]:
    """Return flags of the seen classes to validate on, (n_classes,). labels: all classes; seen: those of them in y."""
    names, known = set(listed(wanted, "validation")), set(seen.tolist())
    _refuse_flags(names, seen, "validation")
    foreign = sorted(map(repr, names - known))
    if foreign or not 0 < len(names) < len(known):
        raise BadInputError(f"validation: expected labels of some, not all, of the {len(known)} classes in y, found "
                            + (", ".join(foreign[:5]) if foreign else f"{len(names)} of them"))
    return np.array([label in names for label in labels.tolist()])


def _refuse_flags(names: Iterable[Any], labels: NDArray[Any], what: str) -> None:
    """Reject booleans: they equal 1 and 0, so that a mask would silently select the classes with these labels."""
    if any(isinstance(name, bool) for name in names) and not any(isinstance(label, bool) for label in labels.tolist()):
        raise BadInputError(f"{what}: expected labels, found True or False; for a mask, pass classes_[mask]")


def with_labels(labels: NDArray[Any], new: Any) -> NDArray[Any]:
    """Return `labels` followed by the new ones. They keep their type: no integer silently becomes text."""
    names = listed(new, "label")
    _refuse_flags(names, labels, "label")
    if labels.dtype.kind == "U" and all(isinstance(name, str) for name in names):
        return np.concatenate([labels, np.array(names, str)])
    known = labels.tolist()
    equal = set(known).intersection(names)  # 2 and 2.0 have different names, but are one label
    if equal:
        raise BadInputError(f"label: expected new labels, found {equal.pop()!r}, which equals the label of a class")
    return _array(known + names, labels.dtype)


def with_unknown(labels: NDArray[Any]) -> NDArray[Any]:
    """Return `labels` followed by that of unknown samples: -1 if all are numbers, otherwise "unknown"."""
    known = labels.tolist()
    unknown: Any = "unknown"
    if all(isinstance(label, (int, float)) for label in known):
        unknown = -1.0 if labels.dtype.kind == "f" else -1
    if unknown in known:
        raise UsageError(f"reject: expected no class {unknown!r}, which would mark unknown samples; use is_unknown()")
    return _array([*known, unknown], labels.dtype)


def file_labels(given: Any, names: Sequence[str]) -> NDArray[Any]:
    """Return a read-only copy of the labels for the classes of a file, whose names are `names`."""
    labels = np.array(given) if hasattr(given, "__array__") else _array(listed(given, "labels"), np.str_)
    if labels.shape != (len(names),):
        raise BadInputError(f"labels: expected {len(names)}, one per class of the file, found shape {labels.shape}")
    for label, name in zip(labels, names):
        if name_of(label) != name:
            raise BadInputError(f"labels: expected the classes of the file in their order, found {label!r} for "
                                f"{name!r}; the text of each label must be the name of its class")
    labels.flags.writeable = False
    return labels


def _array(labels: List[Any], dtype: Any) -> NDArray[Any]:
    """Return integers in `dtype` if they fit, and as integers in any case; text as text; others as objects."""
    kinds = {type(label) for label in labels}
    if kinds == {int}:
        integers = _integers(labels, dtype)
        if integers is not None:
            return integers
    elif kinds in ({bool}, {float}) or (kinds == {str} and np.dtype(dtype).kind != "O"):
        return np.array(labels)
    objects = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):  # at once, tuples would become rows
        objects[i] = label
    return objects


def _integers(values: List[int], dtype: Any) -> Optional[NDArray[Any]]:
    """Return the values in the first type that holds them all, `dtype` or one of 64 bits, or None if there is none."""
    for kind in ([dtype] if np.dtype(dtype).kind in "iu" else []) + [np.int64, np.uint64]:
        if np.iinfo(kind).min <= min(values) and max(values) <= np.iinfo(kind).max:
            return np.array(values, kind)
    return None


# ---- Tables of attributes ----


def _numbers(values: Any, what: str) -> Floats:
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{what}: expected numbers, found other values ({error})") from None


def read_table(attributes: Any, names: Optional[Sequence[str]] = None
               ) -> Optional[Tuple[List[Any], Floats, Optional[List[str]]]]:
    """Return (labels, attributes, attribute names or None) of a table, or None if `attributes` is not a table.

    A table is a mapping or a Series of labels to vectors, or a DataFrame with one row per class. Named values are put
    in the order of `names` or, without it, of the first vector; others are taken by position.
    """
    known = None if names is None else list(names)
    if hasattr(attributes, "index") and hasattr(attributes, "columns"):
        table = _aligned(_frame_numbers(attributes), _names(attributes.columns), known, "class_attributes")
        return (listed(attributes.index, "class_attributes"), table,
                known or [str(column) for column in attributes.columns])
    shared: Optional[Iterable[Any]] = None
    if isinstance(attributes, Mapping):
        shared = getattr(attributes, "attribute_names", None)  # of Dataset.class_attributes
        rows, given = listed(attributes.keys(), "class_attributes"), list(attributes.values())
    elif _is_series(attributes):
        rows, given = listed(attributes.index, "class_attributes"), list(attributes)
    else:
        return None
    of_all = None if shared is None else [str(name) for name in shared]
    named = [_names(vector.index) if _is_series(vector) else of_all for vector in given]
    known = known or next((own for own in named if own is not None), None)
    vectors = []
    for row, vector, own in zip(rows, given, named):
        what = f"attributes of {row!r}"
        vectors.append(_aligned(_numbers(vector, what), own, known, what))
        if vectors[-1].ndim != 1 or vectors[-1].shape != vectors[0].shape:
            raise BadInputError(f"{what}: expected a vector of the same length as for other classes, found shape "
                                f"{vectors[-1].shape}")
    return rows, np.array(vectors, np.float32), known


def _is_series(values: Any) -> bool:
    return hasattr(values, "index") and hasattr(values, "items") and not hasattr(values, "columns")


def _names(index: Any) -> Optional[List[str]]:
    """Return attribute names from an index or columns, or None if they are numbered by default, as pandas does."""
    names = list(index)
    return None if names == list(range(len(names))) else [str(name) for name in names]


def _aligned(values: Floats, own: Optional[List[str]], names: Optional[List[str]], what: str) -> Floats:
    """Return values, whose last axis is named `own`, in the order of `names`; unchanged if either is None."""
    if own is None or names is None or (own == names and len(set(own)) == len(own)):
        return values
    place = {name: i for i, name in enumerate(own)}
    problems = {"missing": [name for name in names if name not in place],
                "unknown": [name for name in place if name not in set(names)],
                "more than once": [name for name in place if own.count(name) > 1] if len(place) < len(own) else []}
    found = [f"{_some(odd)} {problem}" for problem, odd in problems.items() if odd]
    if found:
        raise BadInputError(f"{what}: expected each of the {len(names)} attributes of attribute_names once, found "
                            + "; ".join(found) + "; correct the names, or pass values without names in that order")
    return np.ascontiguousarray(values[..., [place[name] for name in names]])


def _some(names: Sequence[Any]) -> str:
    """Return the first few names, for a message."""
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def refuse_repeated(rows: Sequence[Any]) -> None:
    """Raise BadInputError if a class has two rows."""
    first: Dict[Any, int] = {}
    for number, row in enumerate(rows):
        if first.setdefault(row, number) != number:
            raise BadInputError(f"class_attributes: expected one row per class, found {row!r} in rows {first[row]} and "
                                f"{number}, counted from 0; remove one")


def _frame_numbers(frame: Any) -> Floats:
    """Return the values of a frame. Rejects a frame whose classes are a column, as from read_csv without index_col=0.
    """
    advice = "use the classes as the index, with set_index({!r}), or index_col=0 of read_csv"
    for place, column in enumerate(frame.columns):
        if place == 0 and column == "class":
            raise BadInputError("class_attributes: expected a column per attribute, found 'class' as the first; "
                                + advice.format(column))
        try:
            np.asarray(frame.iloc[:, place], np.float32)
        except (TypeError, ValueError) as error:
            raise BadInputError(f"class_attributes: expected numeric columns, found other values in {column!r} "
                                f"({error}); if these are the classes, {advice.format(column)}; otherwise remove the "
                                "column") from None
    return np.asarray(frame, np.float32)


def class_table(attributes: Any, seen: NDArray[Any], class_names: Optional[ArrayLike],
                attribute_names: Optional[Iterable[Any]]) -> Tuple[NDArray[Any], Floats, Optional[List[str]]]:
    """Return (sorted labels, attributes, attribute names or None) from the arguments of fit()."""
    rows: Optional[List[Any]]
    known = None if attribute_names is None else [name_of(name) for name in attribute_names]
    rows, table, names = read_table(attributes, known) or (None, _numbers(attributes, "class_attributes"), known)
    if table.ndim != 2:
        raise BadInputError(f"class_attributes: expected a matrix, classes x attributes, found shape {table.shape}")
    if class_names is not None:
        rows = listed(class_names, "class_names")
    elif rows is None:
        rows = _numbered_rows(len(table), seen)
    if len(rows) != len(table):
        raise BadInputError(f"class_names: expected {len(table)}, one per row of class_attributes, found {len(rows)}")
    refuse_repeated(rows)
    labels = _like(seen, rows)
    missing = [label for label in seen.tolist() if label not in set(rows)]
    if missing:
        raise BadInputError("class_attributes: expected a row for every label in y, found none for "
                            f"{', '.join(map(repr, missing[:5]))}; add {'it' if len(missing) == 1 else 'them'}")
    order = np.argsort(labels, kind="stable")
    return labels[order], np.ascontiguousarray(table[order]), names


def _numbered_rows(count: int, seen: NDArray[Any]) -> List[Any]:
    """Return the labels of the rows of an array."""
    if count == len(seen):
        return list(seen.tolist())
    if seen.dtype.kind in "iu" and seen[0] == 0 and seen[-1] < count:  # without a 0 they might be numbers from 1
        return list(range(count))
    numbers = f", np.arange({count}) if the labels are row numbers" if seen.dtype.kind in "iu" else ""
    raise BadInputError(f"class_attributes: expected one row per label in y ({len(seen)}), or class_names as well, "
                        f"found {count} rows; pass class_names{numbers}")


def _like(seen: NDArray[Any], rows: List[Any]) -> NDArray[Any]:
    """Return the labels of a table's rows in the type of the labels in y."""
    kind = seen.dtype.kind
    wanted = {"U": str, "O": str, "S": bytes, "b": bool}.get(kind, (int, float))
    for row in rows:
        fits = isinstance(row, wanted) and (kind == "b") == isinstance(row, bool)
        if not fits or (kind in "iu" and row != row // 1):
            raise BadInputError(f"class_attributes: expected labels of the same type as in y ({seen.dtype}), found "
                                f"{row!r}; use the same labels in both")
    if kind not in "iu" or not rows:
        return np.array(rows, object if kind == "O" else seen.dtype.type)
    labels = _integers([int(row) for row in rows], seen.dtype)
    if labels is None:
        raise BadInputError(f"class_attributes: expected integers that fit into one 64-bit type, found {min(rows)} and "
                            f"{max(rows)}")
    return labels
