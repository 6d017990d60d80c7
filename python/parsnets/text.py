"""Classes described in words: vectors of a text encoder as class attributes."""

import csv
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Union

import numpy as np
from numpy.typing import NDArray

from .errors import BadInputError

__all__ = ["describe", "save"]

Vectors = Dict[str, NDArray[np.float32]]


def describe(classes: Union[Iterable[str], Mapping[str, str]], encoder: Callable[[List[str]], Any]) -> Vectors:
    """Describe classes by the vectors that a text encoder gives for their names or descriptions.

    Parameters
    ----------
    classes : iterable of str, or mapping of str to str
        Class names, or descriptions by class name. A description is encoded together with the name. Underscores are
        read as blanks.
    encoder : callable
        Turns a list of texts into an array of shape (n_texts, n_values), for example the method `encode` of a
        sentence-transformers model.

    Returns
    -------
    vectors : dict of str to ndarray of shape (n_values,)
        For `class_attributes` of `fit`, in the order of `classes`.

    Raises
    ------
    BadInputError
        If a name occurs twice, or the encoder does not give one finite vector for each text.
    """
    if isinstance(classes, Mapping):
        names = [str(name) for name in classes]
        texts = [f"{name.replace('_', ' ')}: {classes[name]}" for name in classes]
    else:
        names = [str(name) for name in classes]
        texts = [name.replace("_", " ") for name in names]
    if not names or len(set(names)) < len(names):
        raise BadInputError(f"classes: expected different class names, found {names[:8]}")
    vectors = np.asarray(encoder(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(names) or vectors.shape[1] == 0:
        raise BadInputError(f"encoder: expected an array of shape ({len(names)}, n_values), found {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise BadInputError("encoder: expected finite values, found others")
    return dict(zip(names, vectors))


def save(vectors: Mapping[str, Any], file: Union[str, Path]) -> None:
    """Write the table of classes that `parsnets train --classes` reads.

    Parameters
    ----------
    vectors : mapping of str to array-like of shape (n_values,)
        What `describe` returns.
    file : str or path-like
        CSV file to write.
    """
    rows = [[name, *np.asarray(vector, np.float32)] for name, vector in vectors.items()]
    with open(file, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["class", *(f"v{i + 1}" for i in range(len(rows[0]) - 1))])
        writer.writerows(rows)
