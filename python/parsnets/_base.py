"""Base class of the estimators: training, prediction, the class bank, files."""

from __future__ import annotations

import copy
import ctypes
import inspect
import warnings
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ._fitted import FittedProperties
from ._labels import (Floats, class_table, name_of, places_of, read_table, refuse_repeated, validation_flags,
                      with_labels)
from ._library import Adaptation as _Adaptation
from ._library import call, real, text, unsigned
from ._model import Model, PathLike, address, competitors, readable
from ._open_set import OpenSet
from ._progress import ProgressCallback
from ._training import seed_of, threads_of, train, validated
from .datasets import Dataset, checked, from_arrays
from .errors import BadInput, Usage
from .results import Adaptation, Evaluation, Explanations

if TYPE_CHECKING:
    from .device import DeviceModel

Self = TypeVar("Self", bound="ZeroShotClassifier")
Result = TypeVar("Result")

# Defaults of a plain classifier: features have no common unit, and one-hot class vectors cannot tell validation classes
# apart.
_ONE_HOT_OPTIONS = {"feature-scaling": "standardize", "calibrate": False}
# Parameters of every estimator and the corresponding options.
COMMON = {"feature_scaling": "feature-scaling", "semantic_scaling": "semantic-scaling",
          "semantic_whitening": "semantic-whitening", "similarity": "similarity"}


class ZeroShotClassifier(OpenSet, FittedProperties, TransformerMixin, ClassifierMixin,  # type: ignore[misc]
                         BaseEstimator):  # type: ignore[misc]
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
    # The constructor's parameters to the engine's options, and the engine's methods to the parameters that choose them.
    _option_of: ClassVar[Mapping[str, str]] = {}
    _former_names: ClassVar[Mapping[str, str]] = {}
    _methods: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __init__(self, *, feature_scaling: Optional[str], semantic_scaling: Optional[str],
                 semantic_whitening: Optional[float], similarity: Optional[str], preset: str, select: bool,
                 options: Optional[Dict[str, Any]], random_state: Any, n_jobs: Optional[int], verbose: Any) -> None:
        """Store the common parameters. Each class repeats them, because scikit-learn reads the constructor's signature.
        """
        self.feature_scaling = feature_scaling
        self.semantic_scaling = semantic_scaling
        self.semantic_whitening = semantic_whitening
        self.similarity = similarity
        self.preset = preset
        self.select = select
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _method(self) -> str:
        """Name of the method in the engine."""
        return next(method for method, chosen in self._methods.items()
                    if all(bool(getattr(self, name)) == value for name, value in chosen.items()))

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
            - None uses one-hot vectors, which makes a plain classifier. Unless `preset` or a parameter says otherwise,
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
            Called with (stage, done, total, unit). A true result stops training, which raises Cancelled.

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
                raise Usage("class_names: expected class_attributes as well, found none; classes without samples need "
                            "attributes")
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
            Called with (stage, done, total, unit). A true result stops training, which raises Cancelled.

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
                raise Usage(f"validation: expected 'auto', 'none' or labels of seen classes, found {validation!r}")
            if validation == "none" and (self.select or self.preset == "auto"):
                raise Usage("validation: expected 'auto' or labels of seen classes, because select and preset 'auto' "
                            "choose on them, found 'none'")
        elif not has_attributes:
            raise Usage("validation: labels need class_attributes as well, found none; without attributes nothing is "
                        "known about a held-out class")
        if not has_attributes and (self.select or self.preset == "auto"):
            raise Usage("class_attributes: select and preset 'auto' need them, because they choose on held-out "
                        "classes, found none; search with GridSearchCV")
        if not has_attributes and self.preset == "none":
            return dict(_ONE_HOT_OPTIONS)
        return {"calibrate": False} if isinstance(validation, str) and validation == "none" else {}

    def _train(self: Self, source: Sequence[Any], labels: NDArray[Any], extra: Mapping[str, Any],
               progress: Optional[ProgressCallback], feature_names: Any = None, **more: Any) -> Self:
        """Train and keep the model. source: as in _training.train(); more: other attributes to set with the model."""
        if not isinstance(self.options or {}, Mapping):
            raise Usage(f"options: expected a dict of names to values, found {self.options!r}")
        given = {str(name).replace("_", "-"): value for name, value in (self.options or {}).items()}
        chosen = {option: getattr(self, name) for name, option in self._option_of.items()
                  if getattr(self, name) is not None}
        for former, name in self._former_names.items():
            if getattr(self, former) is not None:
                if getattr(self, name) is not None:
                    raise Usage(f"{former}: expected only {name}, its new name, found both")
                warnings.warn(f"{former} is now called {name}", FutureWarning, stacklevel=3)
                chosen[self._option_of[name]] = getattr(self, former)
        chosen["method"] = self._method
        if self.preset != "none":
            chosen["preset"] = self.preset
        if self.select:
            chosen["select"] = True
        always = {"seed": "random_state", "threads": "n_jobs", "preset": "preset", "select": "select",
                  "method": "method"}
        twice = [name for name in given if name in chosen or name in always]
        names = {**{option: name for name, option in self._option_of.items()}, **always}
        if twice:
            raise Usage(f"options: expected options that are not parameters, found {twice[0]!r}; give it only as "
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

    # ---- Prediction ----

    def predict(self, X: ArrayLike, classes: Any = None, reject: bool = False) -> NDArray[Any]:
        """Predict the class of each sample.

        A C-contiguous float32 array is read in place; one such sample costs a few microseconds in addition to the
        engine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.
        reject : bool, default=False
            Whether to mark samples of no class (see `is_unknown`): by -1 if the labels are numbers, otherwise by
            "unknown". A model with a class of this label raises Usage.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels.
        """
        if reject:
            return self._predict_or_reject(X, classes)
        fitted = self.__dict__
        if classes is None and "_model" in fitted and "feature_names_in_" not in fitted:
            label = fitted["_model"].label_of_one(X)
            if label is not None:
                return label  # type: ignore[no-any-return]
        wanted = competitors(classes)
        return self._apply(X, lambda model, x: model.labels[model.best(x, wanted, threads_of(self.n_jobs))])

    def predict_proba(self, X: ArrayLike, classes: Any = None) -> Floats:
        """Predict the confidence of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.

        Returns
        -------
        confidences : ndarray of shape (n_samples, n_classes)
            Softmax with `gamma_` and `temperature_` over the competing classes, in the order of `classes_`. Other
            classes get 0.
        """
        wanted = competitors(classes)
        return self._apply(X, lambda model, x: model.confidences(x, wanted, threads_of(self.n_jobs)))

    def predict_top(self, X: ArrayLike, k: int = 5, classes: Any = None) -> Tuple[NDArray[Any], Floats]:
        """Predict the k best classes of each sample, best first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        k : int, default=5
            Number of classes. If fewer compete, all of them are returned.
        classes : {"seen", "unseen"}, list of labels or None, default=None
            Classes that compete. None means all.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Predicted labels.
        confidences : ndarray of shape (n_samples, k)
            Their confidences among the competing classes.
        """
        wanted, most = competitors(classes), unsigned(k, "k", 31)
        if most == 0:
            raise Usage("k: expected at least 1, found 0")

        def best(model: Model, x: Floats) -> Tuple[NDArray[Any], Floats]:
            places, confidences = model.top(x, wanted, most, threads_of(self.n_jobs))
            return model.labels[places], confidences

        return self._apply(X, best)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the scores of the classes, with `gamma_` subtracted for seen classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            Scores. With two classes, the difference of the scores, which is positive for the second class.
        """
        scores = self._apply(X, lambda model, x: model.calibrated(x, threads_of(self.n_jobs)))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def class_scores(self, X: ArrayLike) -> Floats:
        """Return the scores of the classes without `gamma_`, for `metrics.ausuc`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            Scores.
        """
        return self._apply(X, lambda model, x: model.scores(x, threads_of(self.n_jobs)))

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

    def explain(self, X: ArrayLike) -> Explanations:
        """Explain the prediction of each sample by the attributes of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        explanations : list of Explanation
            One explanation per sample. Notebooks display the list as charts.
        """
        return self._apply(X, lambda model, x: Explanations(model.explain(row) for row in x))

    def evaluate(self, data: Dataset, *, allow_trained_samples: bool = False,
                 coverages: Sequence[float] = (0.8, 0.9, 0.95),
                 progress: Optional[ProgressCallback] = None) -> Evaluation:
        """Evaluate the model on the test samples of a data set, by the zero-shot protocol.

        Classes are matched by name.

        Parameters
        ----------
        data : Dataset
            Data set of `parsnets.datasets`.
        allow_trained_samples : bool, default=False
            Whether to accept test samples that the model was trained on. If False, they raise BadInput.
        coverages : sequence of float, default=(0.8, 0.9, 0.95)
            Coverages of the prediction sets that are evaluated if the model is calibrated (see `predict_set`).
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops the evaluation, which raises Cancelled.

        Returns
        -------
        evaluation : Evaluation
            Results in percent. `trained_samples` is the number of test samples that the model was trained on.
        """
        check_is_fitted(self)
        checked(data, "for arrays call predict(X)")
        shares = [real(share, "coverages") for share in coverages]
        return self._model.evaluate(data, threads_of(self.n_jobs), progress, allow_trained_samples, shares)

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

    def _apply(self, X: ArrayLike, work: Callable[[Model, Floats], Result]) -> Result:
        """Return work(model, x), with x as the engine reads it.

        scikit-learn's validation costs more than predicting one sample. It runs only if X is not already in the
        expected form, or if the engine rejects X.
        """
        model = self.__dict__.get("_model")
        if model is not None and readable(X, model.dimensions) and "feature_names_in_" not in self.__dict__:
            try:
                return work(model, X)  # type: ignore[arg-type]
            except BadInput:  # NaN or infinity
                pass
        check_is_fitted(self)
        x = validated(self, X, dtype=np.float32, order="C", reset=False)
        return work(self._model, np.require(x, np.float32, ["C", "A"]))

    # ---- Classes and calibration, without training ----

    def add_class(self: Self, label: Any, attributes: Optional[ArrayLike] = None,
                  examples: Optional[ArrayLike] = None) -> Self:
        """Add one unseen class without training, by its attributes, by examples or by both.

        Parameters
        ----------
        label : str or int
            Label of the class. It becomes the last of `classes_`.
        attributes : array-like of shape (n_attributes,) or Series, default=None
            Attributes of the class. A Series with named values may have any order, see `add_classes`. None: the class
            is known by its examples alone.
        examples : array-like of shape (n_samples, n_features), default=None
            Samples of the class. They need a model with targets "classes".

        Returns
        -------
        self : object
            The changed estimator.
        """
        if attributes is None and examples is None:
            raise Usage("add_class: expected attributes, examples or both, found neither")
        if examples is None:
            return self.add_classes({label: attributes})
        check_is_fitted(self)
        if attributes is not None:
            made = copy.copy(self).add_classes({label: attributes}).teach(label, examples)
            self._model = made._model
            return self

        def add(model: Model, x: Floats) -> Self:
            name, threads = text(name_of(label), "class name"), threads_of(self.n_jobs)
            self._model = model.changed(
                lambda handle: call("model_add_class_by_examples", handle, name, address(x), *x.shape, threads),
                with_labels(model.labels, [label]))
            return self

        return self._apply(examples, add)

    def add_classes(self: Self, class_attributes: Any) -> Self:
        """Add unseen classes without training: all of them, or none if there is an error.

        Parameters
        ----------
        class_attributes : dict, Series or DataFrame
            A dict or Series maps labels to vectors; a DataFrame has one row per class. If the model has attribute
            names, named values (the index of a Series, the columns of a DataFrame) are matched with `attribute_names_`.
            Values with the default pandas numbering from 0 are matched by position.

        Returns
        -------
        self : object
            The changed estimator.
        """
        check_is_fitted(self)
        model = self._model
        read = read_table(class_attributes, model.attribute_names if model.names_attributes else None)
        if read is None:
            raise Usage("class_attributes: expected a dict of labels to vectors, or a DataFrame with one row per "
                        f"class, found {type(class_attributes).__name__}")
        labels, table, _ = read
        refuse_repeated(labels)
        table = np.ascontiguousarray(table)

        names = (ctypes.c_char_p * len(table))(*[text(name_of(label), "class name") for label in labels])
        self._model = model.changed(
            lambda handle: call("model_add_classes", handle, names, address(table), len(table), table.shape[-1]),
            with_labels(model.labels, labels))
        return self

    def teach(self: Self, label: Any, X: ArrayLike) -> Self:
        """Add labelled examples of one class without training. Its place moves towards them.

        Parameters
        ----------
        label : str or int
            Label of a class of the model, which needs targets "classes".
        X : array-like of shape (n_samples, n_features)
            Samples of the class.

        Returns
        -------
        self : object
            The changed estimator.
        """

        def learn(model: Model, x: Floats) -> Self:
            name = text(model.name(int(places_of(model.labels, [label], "label")[0])), "class name")
            threads = threads_of(self.n_jobs)
            self._model = model.changed(lambda handle: call("model_teach", handle, name, address(x), *x.shape, threads),
                                        model.labels)
            return self

        return self._apply(X, learn)

    def adapt(self, X: ArrayLike, *, classes: Optional[ArrayLike] = None, rounds: int = 20) -> Adaptation:
        """Adapt the places of classes to unlabelled samples, without training.

        Accuracies on the samples of X are transductive afterwards, not inductive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples of any classes of the model, which needs targets "classes".
        classes : array-like of shape (n_movable,), default=None
            Labels of the classes that may move. None means all unseen classes.
        rounds : int, default=20
            Maximum number of rounds of expectation and maximisation.

        Returns
        -------
        adaptation : Adaptation
            The classes that moved, and by how much.
        """
        most = unsigned(rounds, "rounds", 32)
        if most == 0:
            raise Usage("rounds: expected at least 1, found 0")

        def learn(model: Model, x: Floats) -> Adaptation:
            found, threads = _Adaptation(size=ctypes.sizeof(_Adaptation)), threads_of(self.n_jobs)
            support, degrees = np.zeros(len(model.labels)), np.zeros(len(model.labels))
            places = None if classes is None else places_of(model.labels, np.atleast_1d(classes),
                                                            "classes").astype(np.int32)
            self._model = model.changed(
                lambda handle: call("model_adapt", handle, address(x), *x.shape,
                                    None if places is None else address(places), 0 if places is None else len(places),
                                    most, threads, ctypes.byref(found), address(support), address(degrees),
                                    len(model.labels)), model.labels, with_record=True)
            moved = np.flatnonzero(support)
            return Adaptation(found.samples, found.convincing, found.rounds, found.likelihood_gain,
                              {model.labels[c]: float(support[c]) for c in moved},
                              {model.labels[c]: float(degrees[c]) for c in moved})

        return self._apply(X, learn)

    def undo_adaptation(self: Self) -> Self:
        """Forget all unlabelled samples. Examples stay.

        Returns
        -------
        self : object
            The changed estimator.
        """
        check_is_fitted(self)
        model = self._model
        self._model = model.changed(lambda handle: call("model_undo_adaptation", handle), model.labels,
                                    with_record=True)
        return self

    def remove_class(self: Self, label: Any) -> Self:
        """Remove one class.

        Parameters
        ----------
        label : str or int
            Label of the class.

        Returns
        -------
        self : object
            The changed estimator.
        """
        check_is_fitted(self)
        model = self._model
        place = int(places_of(model.labels, [label], "label")[0])
        name = text(model.name(place), "class name")
        self._model = model.changed(lambda handle: call("model_remove_class", handle, name),
                                    np.delete(model.labels, place))
        return self

    def calibrate(self: Self, X: Optional[ArrayLike] = None, y: Optional[ArrayLike] = None, *,
                  gamma: Optional[float] = None, temperature: Optional[float] = None) -> Self:
        """Set `gamma_` and `temperature_`, from labelled samples or to given values.

        Do not use samples on which the estimator is tested: the results would be optimistic.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Held-out samples of seen and of unseen classes. `gamma_` is chosen for the best harmonic mean of both
            accuracies, `temperature_` for the best likelihood.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        gamma : float, default=None
            Value of `gamma_`, which is subtracted from the scores of seen classes. None keeps the current value.
        temperature : float, default=None
            Value of `temperature_`, the temperature of the confidences. None keeps the current value.

        Returns
        -------
        self : object
            The changed estimator.
        """
        check_is_fitted(self)
        if (X is None) != (y is None) or (X is None) == (gamma is None and temperature is None):
            raise Usage("calibrate: expected either X and y, or gamma, temperature or both")
        if X is not None:
            return self._apply(X, lambda model, x: self._calibrate_on(model, x, y))
        model = self._model
        g = model.gamma if gamma is None else real(gamma, "gamma")
        t = model.temperature if temperature is None else real(temperature, "temperature")
        self._model = model.changed(lambda handle: call("model_calibrate", handle, g, t), model.labels)
        return self

    def _calibrate_on(self: Self, model: Model, x: Floats, y: Any) -> Self:
        places = places_of(model.labels, y, "y").astype(np.int32)
        if places.shape != x.shape[:1]:
            raise BadInput(f"y: expected {len(x)} labels, one per row of X, found {len(places)}")
        threads = threads_of(self.n_jobs)
        self._model = model.changed(lambda handle: call("model_calibrate_on", handle, address(x), address(places),
                                                        *x.shape, threads), model.labels)
        return self

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
    def load(cls: Type[Self], file: PathLike, *, labels: Optional[ArrayLike] = None, **parameters: Any) -> Self:
        """Load an estimator from a model file.

        Called on ZeroShotClassifier, it returns the class that matches the method of the file.

        Parameters
        ----------
        file : str or path-like
            Model file.
        labels : array-like of shape (n_classes,), default=None
            Labels that replace the class names, in the order of the classes in the file. The text of each label must
            equal the class name.
        **parameters : dict
            Parameters of the constructor, except those determined by the method of the file.

        Returns
        -------
        estimator : ZeroShotClassifier
            Fitted estimator.
        """
        model = Model.load(file, labels)
        kind: Type[Self] = cls
        if not cls._methods:
            from .baselines import DAP, ESZSL, SAE, RidgeZSL
            from .classifier import ParsNetsClassifier
            kinds: List[Any] = [RidgeZSL, ESZSL, SAE, DAP, ParsNetsClassifier]
            kind = next((k for k in kinds if model.method in k._methods), ParsNetsClassifier)
        if model.method not in kind._methods:
            raise BadInput(f"{file}: expected a model of method {', '.join(filter(None, kind._methods))} for "
                           f"{kind.__name__}, found {model.method or 'none'}; use parsnets.load_model()")
        estimator = kind(**{**kind._methods[model.method], **parameters})
        estimator._model = model
        estimator.n_features_in_ = model.dimensions
        if model.feature_names is not None:
            estimator.feature_names_in_ = model.feature_names
        return estimator

    def export(self, data: Optional[Dataset] = None, *, precision: Optional[str] = None, rank: Optional[int] = None,
               max_bytes: int = 0, max_drop: float = 0.5, progress: Optional[ProgressCallback] = None) -> DeviceModel:
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
        max_drop : float, default=0.5
            Maximum loss of accuracy on validation classes, in percentage points.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops the export, which raises Cancelled.

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
