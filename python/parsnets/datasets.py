"""Data set folders through the engine's own loader (docs/data.md). Arrays are views of its memory, not copies."""

from __future__ import annotations

import ctypes
import os
import weakref
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._library import call, library, text, text_at, unsigned
from ._model import Floats, PathLike, address
from ._progress import ProgressCallback, Watch
from .errors import BadInput, Usage

_MISSING = {"attribute-mean": 0, "zero": 1, "refuse": 2}
_LISTS = ("trainval", "test_seen", "test_unseen", "train", "val")


class _Handle:
    """Frees the data set when nothing refers to it: views hold on to it, too."""

    def __init__(self, pointer: ctypes.c_void_p, *kept: Any) -> None:
        self.pointer = pointer
        self.kept = kept  # arrays that the data set borrows
        self._free = weakref.finalize(self, library().parsnets_dataset_free, pointer)
        self._free.atexit = False  # other threads may still read

    def view(self, kind: Any, start: Optional[int], *shape: int) -> NDArray[Any]:
        count = int(np.prod(shape))
        if not count or not start:
            return np.empty(shape, kind)
        buffer = (kind * count).from_address(start)
        buffer._owner = self
        array = np.frombuffer(buffer, dtype=kind).reshape(shape)
        array.flags.writeable = False
        return array


class Dataset:
    """Features, labels, class semantics and a split; read-only.

    X: n x d float32; labels: n class numbers; semantics: C x m; class_names: C; attribute_names: m, or None; trainval,
    test_seen, test_unseen: sample numbers; train, val: parts of trainval with disjoint classes.
    """

    trainval: NDArray[np.int32]
    test_seen: NDArray[np.int32]
    test_unseen: NDArray[np.int32]
    train: NDArray[np.int32]
    val: NDArray[np.int32]

    def __init__(self, handle: _Handle) -> None:
        self._handle = handle
        facts = _library.DatasetFacts(size=ctypes.sizeof(_library.DatasetFacts))
        call("dataset_get_facts", handle.pointer, ctypes.byref(facts))
        self.name: str = facts.name.decode("utf-8", "surrogateescape")
        self.X: Floats = handle.view(ctypes.c_float, facts.features, facts.samples, facts.dimensions)
        self.labels: NDArray[np.int32] = handle.view(ctypes.c_int32, facts.labels, facts.samples)
        self.semantics: Floats = handle.view(ctypes.c_float, facts.semantics, facts.classes, facts.attributes)
        self.class_names: List[str] = [text_at("dataset_class_name", handle.pointer, i) or ""
                                       for i in range(facts.classes)]
        names = [text_at("dataset_attribute_name", handle.pointer, i) for i in range(facts.attributes)]
        self.attribute_names: Optional[List[str]] = None if None in names else [str(name) for name in names]
        for number, which in enumerate(_LISTS):
            start, count = ctypes.c_void_p(), ctypes.c_size_t()
            call("dataset_split", handle.pointer, number, ctypes.byref(start), ctypes.byref(count))
            setattr(self, which, handle.view(ctypes.c_int32, start.value, count.value))

    @property
    def pointer(self) -> ctypes.c_void_p:
        """The engine's handle; belongs to this object."""
        return self._handle.pointer

    @property
    def y(self) -> NDArray[Any]:
        """n class names."""
        return np.array(self.class_names)[self.labels]

    @property
    def class_attributes(self) -> Dict[str, Floats]:
        """Class name to its m attribute values, for fit()."""
        return dict(zip(self.class_names, self.semantics))

    def __repr__(self) -> str:
        return (f"<Dataset {self.name}: {self.X.shape[0]} samples x {self.X.shape[1]}, "
                f"{self.semantics.shape[0]} classes x {self.semantics.shape[1]} attributes>")


def load_folder(folder: PathLike, *, features: Optional[str] = None, semantics: Optional[str] = None, seed: int = 1,
                original_attributes: bool = False, missing: str = "attribute-mean",
                progress: Optional[ProgressCallback] = None) -> Dataset:
    """Reads a plain or xlsa17-style folder.

    features: features file without its ending; semantics: NAME of NAME_splits.mat; seed: of the validation classes,
    where the folder names none; missing: "attribute-mean", "zero" or "refuse".
    """
    if missing not in _MISSING:
        raise Usage(f"missing: expected one of {', '.join(_MISSING)}, found {missing!r}")
    options = _library.LoadOptions(ctypes.sizeof(_library.LoadOptions),
                                   None if features is None else text(features, "features"),
                                   None if semantics is None else text(semantics, "semantics"),
                                   unsigned(seed, "seed", 64), int(original_attributes), _MISSING[missing])
    pointer = ctypes.c_void_p()
    with Watch(progress) as watch:
        call("dataset_load", text(os.fspath(folder), "folder"), ctypes.byref(options), watch.function, None,
             ctypes.byref(pointer))
    return Dataset(_Handle(pointer))


def load_xlsa17(folder: PathLike, *, features: str = "res101", semantics: str = "att", **options: Any) -> Dataset:
    """Reads <features>.mat and <semantics>_splits.mat; other options as of load_folder."""
    return load_folder(folder, features=features, semantics=semantics, **options)


def load_demo(*, seed: int = 1) -> Dataset:
    """The data set that comes with ParsNets: $PARSNETS_DEMO, the source tree's data/demo, or the installed one."""
    package = Path(__file__).resolve().parent
    places = [package / "demo", package.parents[1] / "data" / "demo", Path("/usr/local/share/parsnets/demo"),
              Path("/usr/share/parsnets/demo")]
    given = os.environ.get("PARSNETS_DEMO")
    for place in [Path(given)] if given else places:
        if (place / "features.npy").is_file():
            return load_folder(place, seed=seed)
    raise BadInput("demo data: expected a folder with features.npy, found none; set PARSNETS_DEMO to data/demo")


def from_arrays(X: Floats, labels: NDArray[np.int32], semantics: Floats, class_names: Sequence[str], *,
                attribute_names: Optional[Sequence[str]] = None, name: str = "arrays",
                test: Optional[NDArray[np.uint8]] = None, seed: int = 1) -> Dataset:
    """A data set from memory. X: n x d float32, not copied when C-contiguous, and not to be changed while the data set
    lives; labels: n class numbers; semantics: C x m; test: n, nonzero keeps a sample out of training."""
    x = np.ascontiguousarray(X, np.float32)
    y = np.ascontiguousarray(labels, np.int32)
    s = np.ascontiguousarray(semantics, np.float32)
    held_out = None if test is None else np.ascontiguousarray(test, np.uint8)
    if x.ndim != 2 or s.ndim != 2 or y.shape != x.shape[:1] or len(class_names) != len(s) \
            or (held_out is not None and held_out.shape != y.shape) \
            or (attribute_names is not None and len(attribute_names) != s.shape[1]):
        raise BadInput(f"arrays: expected X n x d, labels n, semantics C x m, C class names, m attribute names and n "
                       f"test flags, found {x.shape}, {y.shape}, {s.shape}, {len(class_names)} class names, "
                       f"{None if attribute_names is None else len(attribute_names)} attribute names")
    classes = (ctypes.c_char_p * len(s))(*[text(n, "class name") for n in class_names])
    attributes = None if attribute_names is None else (
        (ctypes.c_char_p * s.shape[1])(*[text(n, "attribute name") for n in attribute_names]))
    arrays = _library.Arrays(ctypes.sizeof(_library.Arrays), *x.shape, *s.shape, address(x), address(y), address(s),
                             classes, attributes, text(name, "name"), None if held_out is None else address(held_out),
                             unsigned(seed, "seed", 64), 1)
    pointer = ctypes.c_void_p()
    call("dataset_from_arrays", ctypes.byref(arrays), ctypes.byref(pointer))
    return Dataset(_Handle(pointer, x))
