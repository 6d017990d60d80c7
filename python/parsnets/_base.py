"""Base class of the estimators: training, attributes, files. Its mixins predict and change classes."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Dict, List, Mapping, Optional, Sequence, Type, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ._class_bank import ClassBank
from ._fitted import FittedProperties
from ._labels import Floats, class_table, name_of, validation_flags
from ._model import Model, PathLike
from ._open_set import OpenSet
from ._prediction import Prediction
from ._progress import ProgressCallback
from ._training import seed_of, threads_of, train, validated
from .datasets import Dataset, checked, from_arrays
from .errors import BadInputError, UsageError

if TYPE_CHECKING:
    from .device import DeviceModel

Self = TypeVar("Self", bound="ZeroShotClassifier")

# Defaults of a plain classifier: features have no common unit, and one-hot class vectors cannot tell validation classes
# apart.
_ONE_HOT_OPTIONS = {"feature-scaling": "standardize", "calibrate": False}
# Parameters that are no options of the engine by themselves, and options that have other names in Python.
_OWN = {"method", "reverse", "class_weight", "search", "options", "random_state", "n_jobs", "verbose"}
_OPTIONS = {"alpha": "lambda", "semantic_alpha": "semantic-lambda", "loss": "fit"}


class ZeroShotClassifier(Prediction, ClassBank, OpenSet, FittedProperties,
                         TransformerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of ParsNetsClassifier and the baselines.

    `ZeroShotClassifier.load` reads the model file of any of them.

    Threads may share a fitted estimator: changing its classes replaces the model and does not affect running
    predictions. Threads that change it concurrently need a lock. Copies made by the copy module share the model until
    one of them changes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    seen_ : ndarray of shape (n_classes,), bool
        True for classes with training samples.
    class_attributes_ : ndarray of shape (n_classes, n_attributes)
        Class attributes as given.
    attribute_names_ : tuple of str
        Names of the attributes.
    gamma_ : float
        Value that is subtracted from the scores of seen classes.
    temperature_ : float
        Temperature of the softmax of `predict_proba`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features. Defined only when `X` has feature names that are all strings.
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    # The engine's methods to the parameters that choose them.
    _methods: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __init__(self, *, feature_scaling: Optional[str], semantic_scaling: Optional[str],
                 semantic_whitening: Optional[float], search: str, options: Optional[Dict[str, Any]], random_state: Any,
                 n_jobs: Optional[int], verbose: Any) -> None:
        """Store the common parameters. Each class repeats them, because scikit-learn reads the constructor's signature.
        """
        self.feature_scaling = feature_scaling
        self.semantic_scaling = semantic_scaling
        self.semantic_whitening = semantic_whitening
        self.search = search
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _method(self) -> str:
        """Name of the method in the engine."""
        return next(method for method, chosen in self._methods.items()
                    if all(bool(getattr(self, name)) == value for name, value in chosen.items()))

    @classmethod
    def _options(cls) -> Dict[str, str]:
        """Return the constructor's parameters and the engine's options that they set."""
        return {name: _OPTIONS.get(name, name.replace("_", "-")) for name in cls._get_param_names() if name not in _OWN}

    # ---- Training ----

    def fit(self: Self, X: ArrayLike, y: ArrayLike, *, class_attributes: Any = None,
            attribute_names: Optional[Sequence[str]] = None, class_names: Optional[ArrayLike] = None,
            validation: Any = "auto", progress: Optional[ProgressCallback] = None) -> Self:
        """Fit the model to labelled samples.

        If an exception is raised, the estimator is unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples. C-contiguous float32 arrays are not copied.
        y : array-like of shape (n_samples,)
            Labels.
        class_attributes : dict, Series, DataFrame, array-like of shape (n_classes, n_attributes) or None, default=None
            Attributes of each class; classes without samples are unseen.

            - A dict or Series maps labels to vectors. `Dataset.class_attributes` is such a dict and also names the
              attributes.
            - A DataFrame has one row per class, and its columns name the attributes.
            - The rows of an array belong to `class_names` or, without it, to the sorted labels. If there are more rows
              than labels and `y` has integers from 0, they belong to 0, 1, ...
            - None uses one-hot vectors, which makes a plain classifier. Unless a parameter says otherwise,
              `feature_scaling` is then "standardize" and there is no calibration.

            Named attributes (columns, the index of a Series) are put in the order of `attribute_names` or, without it,
            of the first class.
        attribute_names : sequence of str, default=None
            Names of the attributes.
        class_names : array-like of shape (n_classes,), default=None
            Labels of the rows of `class_attributes`.
        validation : {"auto", "none"} or list of labels, default="auto"
            Seen classes on which gamma, the temperature and searches are chosen. "auto" draws them with `random_state`;
            "none" uses none.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops training, which raises CancelledError.

        Returns
        -------
        self : object
            Fitted estimator.

        Warns
        -----
        UserWarning
            If results are meaningless, for example because classes have equal attributes. ``record_["warnings"]`` keeps
            the messages.
        """
        x: Floats
        labelled: NDArray[Any]
        described = copy.copy(self)  # receives n_features_in_ and the like; self does so only with the model
        x, labelled = validated(described, X, y, dtype=np.float32, order="C")
        check_classification_targets(labelled)
        seen, places = np.unique(labelled, return_inverse=True)
        extra = self._validation_options(validation, class_attributes is not None)
        if class_attributes is None:
            if class_names is not None:
                raise UsageError("class_names: expected class_attributes as well, found none; classes without samples "
                                 "need attributes")
            labels, semantics = seen, np.eye(len(seen), dtype=np.float32)
            attribute_names = [name_of(label) for label in seen] if attribute_names is None else attribute_names
        else:
            labels, semantics, attribute_names = class_table(class_attributes, seen, class_names, attribute_names)
        numbers: NDArray[np.intp] = np.asarray(np.searchsorted(labels, seen.astype(labels.dtype)))
        flags = None if isinstance(validation, str) else validation_flags(labels, seen, validation)
        seed = seed_of(self.random_state)
        data = from_arrays(np.require(x, np.float32, ["C", "A"]), numbers[places], semantics,
                           [name_of(label) for label in labels],
                           attribute_names=attribute_names, validation=flags, seed=seed)
        return self._train(("train", data.pointer), labels, {**extra, "seed": seed}, progress,
                           feature_names=getattr(described, "feature_names_in_", None))

    def fit_dataset(self: Self, data: Dataset, *, progress: Optional[ProgressCallback] = None) -> Self:
        """Fit the model to the training samples of a data set, as `parsnets train` does.

        The model is byte-identical to that of `parsnets train --seed S` with ``random_state=S``, if `data` was loaded
        with the same seed or names its validation classes. If an exception is raised, the estimator is unchanged.

        Parameters
        ----------
        data : Dataset
            Data set of `parsnets.datasets`.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops training, which raises CancelledError.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        checked(data, "for arrays call fit(X, y)")
        return self._train(("train", data.pointer), np.array(data.class_names),
                           {"seed": seed_of(self.random_state)}, progress)

    def _validation_options(self, validation: Any, has_attributes: bool) -> Dict[str, Any]:
        if isinstance(validation, str):
            if validation not in ("auto", "none"):
                raise UsageError(f"validation: expected 'auto', 'none' or labels of seen classes, found {validation!r}")
            if validation == "none" and self.search != "none":
                raise UsageError("validation: expected 'auto' or labels of seen classes, because search chooses on "
                                 "them, found 'none'")
        elif not has_attributes:
            raise UsageError("validation: labels need class_attributes as well, found none; without attributes nothing "
                             "is known about a held-out class")
        if not has_attributes and self.search != "none":
            raise UsageError("class_attributes: search needs them, because it chooses on held-out classes, found none; "
                             "search with GridSearchCV")
        if not has_attributes:
            return dict(_ONE_HOT_OPTIONS)
        return {"calibrate": False} if isinstance(validation, str) and validation == "none" else {}

    def _train(self: Self, source: Sequence[Any], labels: NDArray[Any], extra: Mapping[str, Any],
               progress: Optional[ProgressCallback], feature_names: Any = None, **more: Any) -> Self:
        """Train and keep the model. source: as in _training.train(); more: other attributes to set with the model."""
        if not isinstance(self.options or {}, Mapping):
            raise UsageError(f"options: expected a dict of names to values, found {self.options!r}")
        given = {str(name).replace("_", "-"): value for name, value in (self.options or {}).items()}
        own = self._options()
        chosen = {option: getattr(self, name) for name, option in own.items() if getattr(self, name) is not None}
        chosen["method"] = self._method
        if self.search != "none":
            chosen["search"] = self.search
        always = {"seed": "random_state", "threads": "n_jobs", "search": "search", "method": "method"}
        twice = [name for name in given if name in chosen or name in always]
        names = {**{option: name for name, option in own.items()}, **always}
        if twice:
            raise UsageError(f"options: expected options that are not parameters, found {twice[0]!r}; give it only as "
                             f"{names[twice[0]]}")
        model = train(source, {**extra, **chosen, **given}, names, labels, feature_names=feature_names,
                      threads=threads_of(self.n_jobs), verbose=self.verbose, progress=progress)
        kept = {name: value for name, value in self.__dict__.items()
                if name not in ("feature_names_in_", "_statistics")}
        named = {} if feature_names is None else {"feature_names_in_": feature_names}
        self.__dict__ = {**kept, **named, "_model": model, "n_features_in_": model.dimensions,
                         **more}  # all or nothing
        for message in model.record.get("warnings", []):
            warnings.warn(message, stacklevel=_level_of_caller())
        return self

    # ---- Attributes ----
    # transform() is not in a mixin because scikit-learn wraps it only in the class that derives from TransformerMixin.

    def transform(self, X: ArrayLike) -> Floats:
        """Predict the attributes of each sample.

        They are in the space in which classes are compared (scaled, centred, whitened), not in the units of
        `class_attributes_`. Methods that map semantics to features, such as reverse ridge, do not have this method.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        semantics : ndarray of shape (n_samples, n_attributes)
            Predicted attributes.
        """
        return self._apply(X, lambda model, x: model.predicted_semantics(x, threads_of(self.n_jobs)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the output columns of `transform`.

        Parameters
        ----------
        input_features : object, default=None
            Ignored.

        Returns
        -------
        names : ndarray of shape (n_attributes,)
            Names of the attributes.
        """
        check_is_fitted(self)
        return np.array(self._model.attribute_names, dtype=object)

    # ---- Files, copies and pickles ----

    def save(self, file: PathLike) -> None:
        """Write a model file (safetensors) atomically.

        The file keeps the names of attributes and features. Labels are stored as text, see `load`.

        Parameters
        ----------
        file : str or path-like
            File to write.
        """
        check_is_fitted(self)
        self._model.save(file)

    @classmethod
    def load(cls: Type[Self], file: PathLike, *, labels: Optional[ArrayLike] = None, sha256: Optional[str] = None,
             **parameters: Any) -> Self:
        """Load an estimator from a model file.

        Called on ZeroShotClassifier, it returns the class that matches the method of the file.

        Parameters
        ----------
        file : str or path-like
            Model file.
        labels : array-like of shape (n_classes,), default=None
            Labels that replace the class names, in the order of the classes in the file. The text of each label must
            equal the class name.
        sha256 : str, default=None
            SHA-256 of the file in hexadecimal digits, which ``parsnets info`` prints. A file with another one is
            refused before anything in it is read.
        **parameters : dict
            Parameters of the constructor, except those determined by the method of the file.

        Returns
        -------
        estimator : ZeroShotClassifier
            Fitted estimator.
        """
        model = Model.load(file, labels, sha256)
        kind: Type[Self] = cls
        if not cls._methods:
            from .baselines import DAP, ESZSL, SAE, RidgeZSL
            from .classifier import ParsNetsClassifier
            kinds: List[Any] = [RidgeZSL, ESZSL, SAE, DAP, ParsNetsClassifier]
            kind = next((k for k in kinds if model.method in k._methods), ParsNetsClassifier)
        if model.method not in kind._methods:
            raise BadInputError(f"{file}: expected a model of method {', '.join(filter(None, kind._methods))} for "
                                f"{kind.__name__}, found {model.method or 'none'}; use parsnets.load_model()")
        estimator = kind(**{**kind._methods[model.method], **parameters})
        estimator._model = model
        estimator.n_features_in_ = model.dimensions
        if model.feature_names is not None:
            estimator.feature_names_in_ = model.feature_names
        return estimator

    def export(self, data: Optional[Dataset] = None, *, precision: Optional[str] = None, rank: Optional[int] = None,
               max_bytes: int = 0, max_drop: float = 0.005, progress: Optional[ProgressCallback] = None) -> DeviceModel:
        """Export the model as the small file that runs on devices (docs/device.md). Labels are kept.

        Parameters
        ----------
        data : Dataset, default=None
            Data set that the model was trained on. If given, the loss of accuracy is measured on validation classes,
            and a loss above `max_drop` raises an error.
        precision : {"int8", "float16", "float32"}, default=None
            Precision of the weights. None means "int8", or the choice made for `max_bytes`.
        rank : int, default=None
            Number of networks to store; 0 stores all. None means all, or the choice made for `max_bytes`.
        max_bytes : int, default=0
            Maximum size of the file; `precision` and `rank` are chosen accordingly if they are None. 0 means no limit.
        max_drop : float, default=0.005
            Maximum loss of accuracy on validation classes.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops the export, which raises CancelledError.

        Returns
        -------
        device : DeviceModel
            Exported model.
        """
        from . import device
        check_is_fitted(self)
        if data is not None:
            checked(data, "export without it, or create one with datasets.from_arrays()")
        return device.export(self._model, data, precision=precision, rank=rank, max_bytes=max_bytes, max_drop=max_drop,
                             threads=threads_of(self.n_jobs), progress=progress)

    def __copy__(self: Self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self: Self, memo: Dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return twin

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

    def _more_tags(self) -> Dict[str, Any]:
        return {"preserves_dtype": [np.float32]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _level_of_caller() -> int:
    """Return the stacklevel of the first caller outside this package, for a warning of the function that calls this."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(__package__ + "."):
        frame, level = frame.f_back, level + 1
    return max(1, level)


def _predicts_semantics(estimator: ZeroShotClassifier) -> bool:
    if "_model" in estimator.__dict__:
        return estimator._model.predicts_semantics
    return estimator._method not in ("reverse-ridge", "sae-reverse")


# Not as a decorator: scikit-learn wraps transform for set_output() when the class is made, which would hide it.
for _wrapped in ("transform", "fit_transform"):
    setattr(ZeroShotClassifier, _wrapped, available_if(_predicts_semantics)(getattr(ZeroShotClassifier, _wrapped)))
