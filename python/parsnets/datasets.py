"""Data sets, read by the engine's own loader (docs/data.md). Arrays are views of its memory, not copies."""

from __future__ import annotations

import ctypes
import os
import weakref
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _library
from ._labels import Floats, name_of
from ._library import call, library, text, text_at, unsigned
from ._model import PathLike, address
from ._progress import ProgressCallback, Watch
from .errors import BadInputError, UsageError

__all__ = ["ClassAttributes", "Dataset", "from_arrays", "load_demo", "load_folder", "load_xlsa17"]

_MISSING = {"attribute-mean": 0, "zero": 1, "refuse": 2}
_LISTS = ("trainval", "test_seen", "test_unseen", "train", "val")


class _Handle:
    """Owns the engine's data set and frees it when nothing refers to it. Views keep it alive."""

    def __init__(self, pointer: ctypes.c_void_p, *kept: Any) -> None:
        self.pointer = pointer
        self.kept = kept  # arrays that the data set borrows
        self._free = weakref.finalize(self, library().parsnets_dataset_free, pointer)
        self._free.atexit = False  # other threads may still read

    def view(self, kind: Any, start: Optional[int], *shape: int) -> NDArray[Any]:
        """Return a read-only array of the engine's memory at an address."""
        if not start or 0 in shape:
            return np.empty(shape, kind)
        return np.asarray(_Memory(self, {"version": 3, "typestr": np.dtype(kind).str, "shape": shape,
                                         "data": (start, True)}))


class _Memory:
    """Memory that NumPy turns into an array. The array keeps this object alive, and this object the data set."""

    def __init__(self, owner: _Handle, interface: Dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


class ClassAttributes(Dict[str, Floats]):
    """Dict of class names to attribute vectors that also has the names of the attributes.

    Parameters
    ----------
    values : dict or iterable of (str, array-like), default=()
        Attribute vectors by class name.
    attribute_names : sequence of str, default=None
        Names of the attributes.
    """

    def __init__(self, values: Any = (), attribute_names: Optional[Sequence[str]] = None) -> None:
        super().__init__(values)
        self.attribute_names = attribute_names


class Dataset:
    """Features, labels, class semantics and a split. Read-only.

    Create one with `load_folder`, `load_xlsa17`, `load_demo` or `from_arrays`. The pickle of a loaded data set stores
    its folder, which is read again; other pickles contain the arrays.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float32
        Features.
    y : ndarray of shape (n_samples,)
        Class names of the samples.
    labels : ndarray of shape (n_samples,), int32
        Class numbers of the samples.
    semantics : ndarray of shape (n_classes, n_attributes), float32
        Class attributes.
    class_names : list of str
        Names of the classes.
    attribute_names : list of str or None
        Names of the attributes.
    trainval, test_seen, test_unseen : ndarray, int32
        Indices of the samples of each list of the split.
    train, val : ndarray, int32
        Parts of `trainval` with disjoint classes.
    folder : Path or None
        Folder that the data set was loaded from.
    name : str
        Name of the data set.
    """

    trainval: NDArray[np.int32]
    test_seen: NDArray[np.int32]
    test_unseen: NDArray[np.int32]
    train: NDArray[np.int32]
    val: NDArray[np.int32]

    def __init__(self, handle: _Handle, again: Callable[..., Dataset], folder: Optional[Path] = None) -> None:
        self._handle = handle
        self._again = again  # creates it again; data sets from arrays pass their arrays
        self.folder = folder
        info = _library.DatasetInfo(size=ctypes.sizeof(_library.DatasetInfo))
        call("dataset_get_info", handle.pointer, ctypes.byref(info))
        self.name: str = info.name.decode("utf-8", "surrogateescape")
        self.X: Floats = handle.view(np.float32, info.features, info.samples, info.dimensions)
        self.labels: NDArray[np.int32] = handle.view(np.int32, info.labels, info.samples)
        self.semantics: Floats = handle.view(np.float32, info.semantics, info.classes, info.attributes)
        self.class_names: List[str] = [text_at("dataset_class_name", handle.pointer, i) or ""
                                       for i in range(info.classes)]
        names = [text_at("dataset_attribute_name", handle.pointer, i) for i in range(info.attributes)]
        self.attribute_names: Optional[List[str]] = None if None in names else [str(name) for name in names]
        for number, which in enumerate(_LISTS):
            start, count = ctypes.c_void_p(), ctypes.c_size_t()
            call("dataset_split", handle.pointer, number, ctypes.byref(start), ctypes.byref(count))
            setattr(self, which, handle.view(np.int32, start.value, count.value))

    @property
    def pointer(self) -> ctypes.c_void_p:
        """Handle of the engine, owned by this object."""
        return self._handle.pointer

    @property
    def y(self) -> NDArray[Any]:
        """Class names of the samples, shape (n_samples,)."""
        return np.array(self.class_names)[self.labels]

    @property
    def class_attributes(self) -> ClassAttributes:
        """Dict of class names to attribute vectors, for `fit`. It also has the names of the attributes."""
        return ClassAttributes(zip(self.class_names, self.semantics), self.attribute_names)

    @property
    def validation_classes(self) -> List[str]:
        """Names of the seen classes that training validates on, for `fit`. Empty if there are too few classes."""
        return [self.class_names[c] for c in np.unique(self.labels[self.val])]

    def __copy__(self) -> Dataset:
        return self  # read-only

    def __deepcopy__(self, memo: Any) -> Dataset:
        return self

    def __reduce__(self) -> Any:
        arrays = () if self.folder else (self.X, self.labels, self.semantics, self.class_names)
        return self._again, arrays

    def _repr_html_(self) -> str:
        from ._display import dataset_html
        return dataset_html(self)

    def __repr__(self) -> str:
        return (f"<Dataset {self.name}: {self.X.shape[0]} samples x {self.X.shape[1]}, "
                f"{self.semantics.shape[0]} classes x {self.semantics.shape[1]} attributes>")


def checked(data: Any, instead: str) -> Dataset:
    """Return `data` if it is a data set; otherwise raise UsageError, with advice what to do instead."""
    if not isinstance(data, Dataset):
        raise UsageError(f"data: expected a Dataset of parsnets.datasets, found {type(data).__name__}; {instead}")
    return data


def _from_anywhere(names: Optional[str], folder: Path) -> Optional[str]:
    """Names of files, separated by commas, with absolute paths for files that are not in the folder."""
    if names is None:
        return None
    return ",".join(os.path.abspath(name) if os.path.isfile(name) and not (folder / name).is_file() else name
                    for name in names.split(","))


def load_folder(folder: PathLike, *, features: Optional[str] = None, semantics: Optional[str] = None, seed: int = 1,
                original_att: bool = False, missing: str = "attribute-mean", split: Optional[PathLike] = None,
                progress: Optional[ProgressCallback] = None) -> Dataset:
    """Load a plain or xlsa17-style folder.

    A `features.npy` of float32 in C order is memory-mapped. While the data set is in use, replace the file by another
    instead of writing into it, as np.save does.

    Parameters
    ----------
    folder : str or path-like
        Data set folder.
    features : str, default=None
        Features file: a name without extension, or a path. None means the only one found.
    semantics : str, default=None
        NAME of NAME_splits.mat, NAME.csv or NAME.npy in the folder, or the path of a .csv, .npy or word-vector (.txt,
        .vec) file. Several, separated by commas, put the tables side by side: training weighs them (option
        `semantic-weights`). None means att, or attributes.csv.
    seed : int, default=1
        Random seed for drawing validation classes, used if the folder names none.
    original_att : bool, default=False
        Whether to read `original_att` instead of `att`.
    missing : {"attribute-mean", "zero", "refuse"}, default="attribute-mean"
        How to fill in missing attribute values (NaN, empty cells). "refuse" raises an error. `fit` does not accept
        missing values.
    split : str or path-like, default=None
        What replaces the folder's own split: a split.json, a *_splits.mat for its lists, a folder with
        trainvalclasses.txt and testclasses.txt, or "standard" to look for such a folder.
    progress : callable, default=None
        Called with (stage, done, total, unit). A true result stops loading, which raises CancelledError.

    Returns
    -------
    data : Dataset
        The data set.
    """
    if missing not in _MISSING:
        raise UsageError(f"missing: expected one of {', '.join(_MISSING)}, found {missing!r}")
    options = _library.LoadOptions(ctypes.sizeof(_library.LoadOptions),
                                   None if features is None else text(features, "features"),
                                   None if semantics is None else text(semantics, "semantics"),
                                   unsigned(seed, "seed", 64), int(original_att), _MISSING[missing],
                                   None if split is None else text(os.fspath(split), "split"))
    pointer = ctypes.c_void_p()
    with Watch(progress) as watch:
        call("dataset_load", text(os.fspath(folder), "folder"), ctypes.byref(options), watch.function, None,
             ctypes.byref(pointer))
        place = Path(os.path.abspath(folder))
        if split is not None and split != "standard":
            split = os.path.abspath(os.fspath(split))
        return Dataset(_Handle(pointer), partial(load_folder, place, features=_from_anywhere(features, place),
                                                 semantics=_from_anywhere(semantics, place), seed=seed,
                                                 original_att=original_att, missing=missing, split=split), place)


def load_xlsa17(folder: PathLike, *, features: str = "res101", semantics: str = "att", **options: Any) -> Dataset:
    """Load an xlsa17-style folder.

    Parameters
    ----------
    folder : str or path-like
        Data set folder.
    features : str, default="res101"
        Features file without extension.
    semantics : str, default="att"
        NAME of NAME_splits.mat.
    **options : dict
        Other parameters of :func:`load_folder`.

    Returns
    -------
    data : Dataset
        The data set.
    """
    return load_folder(folder, features=features, semantics=semantics, **options)


def load_demo(*, seed: int = 1) -> Dataset:
    """Load the demo data set that comes with ParsNets.

    It is read from $PARSNETS_DEMO if set, otherwise from the package, the source tree's data/demo or the system.

    Parameters
    ----------
    seed : int, default=1
        Random seed, as in :func:`load_folder`.

    Returns
    -------
    data : Dataset
        The data set.
    """
    package = Path(__file__).resolve().parent
    places = [package / "demo", package.parents[1] / "data" / "demo", Path("/usr/local/share/parsnets/demo"),
              Path("/usr/share/parsnets/demo")]
    given = os.environ.get("PARSNETS_DEMO")
    for place in [Path(given)] if given else places:
        if (place / "features.npy").is_file():
            return load_folder(place, seed=seed)
    raise BadInputError("demo data: expected a folder with features.npy, found none; set PARSNETS_DEMO to data/demo")


def from_arrays(X: ArrayLike, labels: ArrayLike, semantics: ArrayLike, class_names: Iterable[Any], *,
                attribute_names: Optional[Iterable[Any]] = None, name: str = "arrays",
                test: Optional[ArrayLike] = None, validation: Optional[ArrayLike] = None, seed: int = 1) -> Dataset:
    """Create a data set from arrays.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features. A C-contiguous float32 array is not copied and must not be changed while the data set is in use.
    labels : array-like of shape (n_samples,)
        Class numbers from 0, or names in `class_names` as text.
    semantics : array-like of shape (n_classes, n_attributes)
        Class attributes.
    class_names : iterable of length n_classes
        Names of the classes, which are stored as text.
    attribute_names : iterable of length n_attributes, default=None
        Names of the attributes.
    name : str, default="arrays"
        Name of the data set.
    test : array-like of shape (n_samples,), default=None
        True for samples that are not used for training. Classes without training samples are unseen.
    validation : array-like of shape (n_classes,), default=None
        True for the seen classes to validate on, not all of them. None draws them with `seed`.
    seed : int, default=1
        Random seed for drawing validation classes.

    Returns
    -------
    data : Dataset
        The data set.

    Examples
    --------
    >>> import numpy as np
    >>> names = ["cat", "dog", "eel"]
    >>> data = from_arrays(np.eye(4), ["cat", "dog", "eel", "cat"], np.eye(3), names, test=[0, 0, 1, 1])
    >>> data
    <Dataset arrays: 4 samples x 4, 3 classes x 3 attributes>
    >>> data.trainval, data.test_seen, data.test_unseen
    (array([0, 1], dtype=int32), array([3], dtype=int32), array([2], dtype=int32))
    """
    x = np.require(X, np.float32, ["C", "A"])
    class_names = [name_of(n) for n in class_names]
    y = _class_numbers(np.asarray(labels), class_names)
    s = np.require(semantics, np.float32, ["C", "A"])
    held_out = None if test is None else np.ascontiguousarray(test, bool)
    validate = None if validation is None else np.ascontiguousarray(validation, bool)
    attribute_names = None if attribute_names is None else [name_of(n) for n in attribute_names]
    if x.ndim != 2 or s.ndim != 2 or y.shape != x.shape[:1] or len(class_names) != len(s) \
            or (held_out is not None and held_out.shape != y.shape) \
            or (validate is not None and validate.shape != s.shape[:1]) \
            or (attribute_names is not None and len(attribute_names) != s.shape[1]):
        found: Dict[str, Any] = {"X": x, "labels": y, "semantics": s, "class_names": class_names,
                                 "attribute_names": attribute_names, "test": held_out, "validation": validate}
        raise BadInputError("arrays: expected X n x d, labels n, semantics C x m, C class names, m attribute names, n "
                            "test flags and C validation flags, found "
                            + ", ".join(f"{name} {np.shape(value)}" for name, value in found.items()
                                        if value is not None))
    classes = (ctypes.c_char_p * len(s))(*[text(n, "class name") for n in class_names])
    attributes = None if attribute_names is None else (
        (ctypes.c_char_p * s.shape[1])(*[text(n, "attribute name") for n in attribute_names]))
    arrays = _library.Arrays(ctypes.sizeof(_library.Arrays), *x.shape, *s.shape, address(x), address(y), address(s),
                             classes, attributes, text(name, "name"), None if held_out is None else address(held_out),
                             unsigned(seed, "seed", 64), 1, None if validate is None else address(validate))
    pointer = ctypes.c_void_p()
    call("dataset_from_arrays", ctypes.byref(arrays), ctypes.byref(pointer))
    return Dataset(_Handle(pointer, x), partial(from_arrays, attribute_names=attribute_names, name=name, test=held_out,
                                                validation=validate, seed=seed))


def _class_numbers(labels: NDArray[Any], class_names: List[str]) -> NDArray[np.int32]:
    """Return the class numbers of labels that are numbers or names."""
    if labels.dtype.kind == "U" or (labels.dtype.kind == "O" and all(isinstance(name, str) for name in labels.flat)):
        names, places = np.unique(labels.astype(str), return_inverse=True)
        number_of = {name: number for number, name in enumerate(class_names)}
        unknown = [name for name in names.tolist() if name not in number_of]
        if unknown:
            raise BadInputError("labels: expected names in class_names, or class numbers, found "
                                f"{', '.join(map(repr, unknown[:5]))}; add {'it' if len(unknown) == 1 else 'them'} "
                                "there")
        numbers: NDArray[Any] = np.array([number_of[name] for name in names.tolist()], np.int32)
        return np.ascontiguousarray(numbers[places].reshape(labels.shape))
    if labels.dtype.kind not in "iu" or (labels.size and not 0 <= labels.min() <= labels.max() < 2**31):
        raise BadInputError("labels: expected class numbers, integers from 0 to C - 1, or names, found other values "
                            f"({labels.dtype}); number the classes")
    return np.ascontiguousarray(labels, np.int32)
