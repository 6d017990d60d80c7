"""The scikit-learn estimator."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _library
from ._library import call, text, unsigned
from ._model import AMONG, Evaluation, Explanation, Floats, Model, Options, PathLike, address
from ._progress import ProgressCallback, Terminal, Watch
from .datasets import Dataset, from_arrays
from .errors import BadInput, Usage

try:
    from sklearn.utils.validation import validate_data as _validate
except ImportError:  # before scikit-learn 1.6

    def _validate(estimator: Any, *arguments: Any, **options: Any) -> Any:
        return estimator._validate_data(*arguments, **options)


# Of a plain classifier, where the user says nothing: features have no common unit, and one-hot class vectors cannot
# tell validation classes apart.
_ONE_HOT_OPTIONS = {"feature-scaling": "standardize", "calibrate": False}


class ParsNetsClassifier(TransformerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Names classes by their attributes, also those without training samples.

    method, preset, select, seed, threads: as on the command line (docs/options.md); threads=0 is one per core.
    options: any other training option by its name there, {"networks": 64, "feature-scaling": "l2"}; these win over
    presets and searches. verbose: progress with tqdm where it is installed, else on stderr.

    A fitted estimator has classes_ (C labels), seen_ (C, true: had training samples), class_attributes_ (C x m),
    attribute_names_ (m), gamma_, temperature_, n_features_in_ (d). Threads may share it: changes of the classes replace
    the model and leave running predictions alone.
    """

    def __init__(self, method: str = "parsnets", preset: str = "none", select: bool = False, seed: int = 1,
                 threads: int = 0, options: Optional[Dict[str, Any]] = None, verbose: bool = False) -> None:
        self.method = method
        self.preset = preset
        self.select = select
        self.seed = seed
        self.threads = threads
        self.options = options
        self.verbose = verbose

    # ---- Training ----

    def fit(self, X: ArrayLike, y: ArrayLike, *, class_attributes: Any = None,
            attribute_names: Optional[Sequence[str]] = None, class_names: Optional[ArrayLike] = None,
            validation: str = "auto", progress: Optional[ProgressCallback] = None) -> ParsNetsClassifier:
        """Trains on X (n x d; C-contiguous float32 is not copied) and y (n labels).

        class_attributes: label to vector of m values; or a DataFrame with a row per class, whose columns name the
        attributes; or C x m, whose rows belong to class_names, or else to the sorted labels, or, where there are more
        rows and labels are integers, to 0, 1, ...; or None: one-hot vectors, a plain classifier. Classes without
        samples are unseen. validation: "auto" calibrates on classes drawn from the seen ones, "none" does not.
        progress: called with (stage, done, total, unit); anything true stops, which raises Cancelled.
        """
        if validation not in ("auto", "none"):
            raise Usage(f"validation: expected auto or none, found {validation!r}")
        x: Floats
        labelled: NDArray[Any]
        x, labelled = _validate(self, X, y, dtype=np.float32, order="C")
        check_classification_targets(labelled)
        seen, places = np.unique(labelled, return_inverse=True)
        extra: Dict[str, Any] = {} if validation == "auto" else {"calibrate": False}
        if class_attributes is None:
            if class_names is not None:
                raise Usage("class_names: expected class_attributes beside them, found none; classes without samples "
                            "need attributes")
            labels, semantics = seen, np.eye(len(seen), dtype=np.float32)
            attribute_names = [_name(label) for label in seen] if attribute_names is None else attribute_names
            if self.preset == "none":
                extra = dict(_ONE_HOT_OPTIONS)
        else:
            labels, semantics, named = _class_table(class_attributes, seen, class_names)
            attribute_names = named if attribute_names is None else attribute_names
        found: NDArray[np.intp] = np.asarray(np.searchsorted(labels, seen))
        missing = [c for c, i in zip(seen, found) if i == len(labels) or labels[i] != c]
        if missing:
            raise BadInput(f"class_attributes: expected a row for every label in y, found none for "
                           f"{', '.join(map(repr, missing[:5]))}; add {'it' if len(missing) == 1 else 'them'}")
        data = from_arrays(x, found[places].astype(np.int32), semantics, [_name(label) for label in labels],
                           attribute_names=None if attribute_names is None else [str(a) for a in attribute_names],
                           seed=self.seed)
        return self._train(data, labels, extra, progress)

    def fit_dataset(self, data: Dataset, *, progress: Optional[ProgressCallback] = None) -> ParsNetsClassifier:
        """Trains on the training samples of `data`, as `parsnets train` does: the same seed gives the same bytes."""
        self._train(data, np.array(data.class_names), {}, progress)
        self.n_features_in_ = data.X.shape[1]
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit()
        return self

    def _train(self, data: Dataset, labels: NDArray[Any], extra: Mapping[str, Any],
               progress: Optional[ProgressCallback]) -> ParsNetsClassifier:
        given = {name.replace("_", "-"): value for name, value in (self.options or {}).items()}
        twice = sorted(set(given) & {"method", "preset", "select", "seed", "threads"})
        if twice:
            raise Usage(f"options: expected none that is a parameter of its own, found {twice[0]!r}; give it as that")
        values = {**extra, "method": self.method, "seed": self.seed, **given}
        if self.preset != "none":
            values["preset"] = self.preset
        if self.select:
            values["select"] = True
        options = Options(values)
        terminal = Terminal() if self.verbose and progress is None else None
        threads = unsigned(self.threads, "threads", 32)
        handle = ctypes.c_void_p()
        try:
            with Watch(terminal if progress is None else progress) as watch:
                call("train", data.pointer, options.handle, threads, watch.function, None, ctypes.byref(handle))
                model = Model(handle, labels)
        finally:
            if terminal is not None:
                terminal.close()
        self._model = model
        return self

    # ---- Prediction ----

    def predict(self, X: ArrayLike, classes: Any = None) -> NDArray[Any]:
        """n labels. X: n x d; classes that compete: None for all, "seen", "unseen", or their labels."""
        model, x = self._ready(X)
        among = "all" if classes is None else classes
        if isinstance(among, str):
            if among not in AMONG:
                raise Usage(f"classes: expected {', '.join(AMONG)} or labels, found {among!r}")
            best: NDArray[Any] = model.best(x, among, self.threads)
        else:
            places = _places(model.labels, among)
            best = places[np.argmax(self._calibrated(model, x)[:, places], axis=1)]
        labels: NDArray[Any] = model.labels[best]
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:
        """n x C confidences: softmax over all classes at gamma_ and temperature_."""
        model, x = self._ready(X)
        return model.confidences(x, self.threads)

    def decision_function(self, X: ArrayLike) -> Floats:
        """n x C scores, gamma_ subtracted for seen classes; with two classes n, above 0 for the second."""
        model, x = self._ready(X)
        scores = self._calibrated(model, x)
        return scores[:, 1] - scores[:, 0] if model.classes == 2 else scores

    def class_scores(self, X: ArrayLike) -> Floats:
        """n x C scores without gamma_, for metrics.ausuc."""
        model, x = self._ready(X)
        return model.scores(x, self.threads)

    def transform(self, X: ArrayLike) -> Floats:
        """n x m predicted semantics. Not there with methods that map semantics to features, such as reverse-ridge."""
        model, x = self._ready(X)
        return model.predicted_semantics(x, self.threads)

    def explain(self, X: ArrayLike) -> List[Explanation]:
        """Why each of the n samples was given its class."""
        model, x = self._ready(X)
        return [model.explain(row) for row in x]

    def evaluate(self, data: Dataset) -> Evaluation:
        """The zero-shot protocol on the test samples of `data`; classes are matched by name."""
        check_is_fitted(self)
        out = _library.Evaluation(size=ctypes.sizeof(_library.Evaluation))
        with Watch() as watch:
            call("evaluate", self._model.handle, data.pointer, unsigned(self.threads, "threads", 32), watch.function,
                 None, ctypes.byref(out))
        general = [out.u, out.s, out.h, out.ausuc, out.gamma] if out.has_gzsl else [None] * 5
        return Evaluation(out.zsl_top1_per_class, out.zsl_top1, out.zsl_top5, *general)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """m attribute names: the columns of transform()."""
        check_is_fitted(self)
        return np.array(self._model.attribute_names, dtype=object)

    # ---- Classes and calibration, without training ----

    def add_class(self, label: Any, attributes: ArrayLike) -> ParsNetsClassifier:
        """Adds one unseen class, the last of classes_. attributes: m values."""
        return self.add_classes({label: attributes})

    def add_classes(self, class_attributes: Mapping[Any, ArrayLike]) -> ParsNetsClassifier:
        """Adds unseen classes, all or none: label to m values."""
        check_is_fitted(self)
        model = self._model
        vectors = {label: _vector(values, label) for label, values in class_attributes.items()}

        def change(handle: ctypes.c_void_p) -> None:
            for label, vector in vectors.items():
                call("model_add_class", handle, text(_name(label), "class name"), address(vector), len(vector))

        labels = np.array(model.labels.tolist() + list(vectors), dtype=_joint_type(model.labels, list(vectors)))
        self._model = model.changed(change, labels)
        return self

    def remove_class(self, label: Any) -> ParsNetsClassifier:
        """Removes one class."""
        check_is_fitted(self)
        model = self._model
        place = int(_places(model.labels, [label])[0])
        name = text(model.names[place], "class name")
        self._model = model.changed(lambda handle: call("model_remove_class", handle, name),
                                    np.delete(model.labels, place))
        return self

    def calibrate(self, *, gamma: Optional[float] = None, temperature: Optional[float] = None) -> ParsNetsClassifier:
        """Sets what is subtracted from the scores of seen classes, and the temperature of confidences."""
        check_is_fitted(self)
        model = self._model
        g = model.gamma if gamma is None else gamma
        t = model.temperature if temperature is None else temperature
        self._model = model.changed(lambda handle: call("model_calibrate", handle, g, t), model.labels)
        return self

    # ---- Files and pickles ----

    def save(self, file: PathLike) -> None:
        """Writes a model file (safetensors), atomically. Labels are kept as text."""
        check_is_fitted(self)
        self._model.save(file)

    @classmethod
    def load(cls, file: PathLike, **parameters: Any) -> ParsNetsClassifier:
        """An estimator from a model file; its labels are the names of the classes. parameters: of the constructor."""
        model = Model.load(file)
        known: Dict[str, Any] = {"method": model.method} if model.method else {}
        estimator = cls(**{**known, **parameters})
        estimator._model = model
        estimator.n_features_in_ = model.dimensions
        return estimator

    def __getstate__(self) -> Dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            model: Model = state["_model"]
            state["_model"] = (model.to_bytes(), model.labels)
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        state = dict(state)
        if "_model" in state:
            state["_model"] = Model.from_bytes(*state["_model"])
        super().__setstate__(state)

    # ---- Facts ----

    @property
    def classes_(self) -> NDArray[Any]:
        """C labels, in the order of the columns of predict_proba()."""
        return self._fitted.labels

    @property
    def seen_(self) -> NDArray[np.bool_]:
        """C; true: had training samples."""
        return self._fitted.seen

    @property
    def class_attributes_(self) -> Floats:
        """C x m, as given."""
        return self._fitted.semantics

    @property
    def attribute_names_(self) -> Tuple[str, ...]:
        """m."""
        return self._fitted.attribute_names

    @property
    def gamma_(self) -> float:
        """Subtracted from the scores of seen classes."""
        return self._fitted.gamma

    @property
    def temperature_(self) -> float:
        """Of the softmax that makes confidences."""
        return self._fitted.temperature

    @property
    def record_(self) -> str:
        """The training record, JSON."""
        return self._fitted.record

    @property
    def trained_options_(self) -> str:
        """The options after selection, JSON."""
        return self._fitted.options

    @property
    def _fitted(self) -> Model:
        if "_model" not in self.__dict__:  # AttributeError, so that hasattr() of a fact says no
            raise AttributeError("this ParsNetsClassifier is not fitted yet; call fit() or load()")
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _ready(self, X: ArrayLike) -> Tuple[Model, Floats]:
        check_is_fitted(self)
        return self._model, _validate(self, X, dtype=np.float32, order="C", reset=False)

    def _calibrated(self, model: Model, x: Floats) -> Floats:
        scores = model.scores(x, self.threads)
        scores[:, model.seen] -= np.float32(model.gamma)
        return scores

    def _more_tags(self) -> Dict[str, Any]:
        return {"preserves_dtype": [np.float32]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _predicts_semantics(estimator: ParsNetsClassifier) -> bool:
    if "_model" in estimator.__dict__:
        return estimator._model.predicts_semantics
    return estimator.method not in ("reverse-ridge", "sae-reverse")


# Not as a decorator: scikit-learn wraps transform for set_output() when the class is made, which would hide it.
for _method in ("transform", "fit_transform"):
    setattr(ParsNetsClassifier, _method, available_if(_predicts_semantics)(getattr(ParsNetsClassifier, _method)))


def _name(label: Any) -> str:
    return label if isinstance(label, str) else str(label)


def _vector(values: ArrayLike, label: Any) -> Floats:
    vector = np.ascontiguousarray(values, np.float32)
    if vector.ndim != 1:
        raise BadInput(f"attributes of {label!r}: expected a vector, found shape {vector.shape}")
    return vector


def _joint_type(labels: NDArray[Any], new: List[Any]) -> Any:
    """Labels keep their kind when classes are added: no integer silently becomes text."""
    added = np.array(new).dtype
    if labels.dtype.kind == "O" or labels.dtype.kind == added.kind:
        return np.promote_types(labels.dtype, added) if labels.dtype.kind != "O" else object
    return object


def _places(labels: NDArray[Any], wanted: Any) -> NDArray[np.intp]:
    """Class numbers of the wanted labels, ascending, so that ties go to the earlier class."""
    place = {label: i for i, label in enumerate(labels.tolist())}
    names = np.asarray(wanted).ravel().tolist()
    unknown = [name for name in names if name not in place]
    if unknown or not names:
        raise BadInput(f"classes: expected labels of classes_, at least one, found "
                       f"{', '.join(map(repr, unknown[:5])) or 'none'}")
    return np.unique([place[name] for name in names])


def _class_table(attributes: Any, seen: NDArray[Any],
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
    return sorted_labels, np.ascontiguousarray(table[order]), columns
