"""ParsNets as a scikit-learn estimator."""

from __future__ import annotations

import copy
import ctypes
import warnings
from typing import Any, Dict, Mapping, Optional, Sequence, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from ._base import ZeroShotClassifier
from ._labels import Floats, class_table, name_of, places_of
from ._model import PathLike
from ._progress import ProgressCallback
from ._statistics import Statistics, class_arrays
from ._training import seed_of, threads_of, validated
from .datasets import Dataset
from .errors import BadInputError, UsageError

__all__ = ["ParsNetsClassifier", "ZeroShotClassifier", "load_model"]

_METHODS = ("parsnets", "paper", "scln", "mmg", "ridge", "reverse-ridge", "eszsl", "sae", "sae-reverse", "dap")


Self = TypeVar("Self", bound="ParsNetsClassifier")


def _has_closed_form(estimator: ParsNetsClassifier) -> bool:
    return estimator.method == "parsnets"


class ParsNetsClassifier(ZeroShotClassifier):
    """Zero-shot classifier with gated linear networks.

    A linear network maps a sample into class space, and gated networks, of which each sample activates some, correct
    it. Attributes (semantics) place the classes there, and the class whose prototype is most similar is the prediction.
    Classes without training samples can be predicted as well.

    Parameters whose default is None have the default of the method, which may depend on the data, or what `search`
    finds; docs/options.md describes the options of each method. A parameter that the method does not have raises
    UsageError. A search keeps values that are not the defaults. `trained_options_` holds the final values.

    Parameters
    ----------
    method : str, default="parsnets"
        "parsnets" is class space with refinement and gated networks. "paper" is the published method, gated networks
        that predict attributes with maximal margin geometry (MMG); "scln" is its networks without MMG, and "mmg" its
        MMG without gates. The baselines of the engine ("ridge", "reverse-ridge", "eszsl", "sae", "sae-reverse", "dap")
        are available, too.
    networks : int, default=None
        Number of gated networks, K. With "parsnets", 0 means none.
    active : int, default=None
        Number of networks that are active per sample, k.
    gates : {"energy", "anchor"}, default=None
        "paper": rule by which a sample selects its networks, those with the strongest parts of its encoding or those
        with the nearest anchors.
    encoding : int, default=None
        Dimensions of the encoder, h.
    loss : {"svr", "ridge"}, default=None
        "paper": loss of the networks (the option `fit`), epsilon-insensitive, which is solved with a certificate, or
        squared.
    c : float, default=None
        "paper": bound of the dual variables of the SVR, for targets of unit variance.
    epsilon : float, default=None
        "paper": half-width of the tube of the SVR, for targets of unit variance.
    alpha : float, default=None
        "paper" and baselines: ridge regularisation (the option `lambda`), relative to the scale of the data.
    mmg : float, default=None
        "paper": weight of the maximal margin geometry. 0 turns it off.
    refine_steps : int, default=None
        "parsnets": number of steps of discriminative refinement.
    shrinkage : float, default=None
        "parsnets": ridge of the covariance within classes, in units of its mean eigenvalue.
    prototype_width : float, default=None
        "parsnets": width of the kernel of class attributes that predicts class prototypes. 0 means the cosine itself.
    false_accept : float, default=None
        Share of unknown samples to accept, between 0 and 1. `fit` then calibrates rejection and prediction sets by 20
        more fits, see `calibrate_open_set`. Statistics of samples do not suffice for it: `partial_fit` and weights
        raise UsageError. None does not calibrate.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn: a dict of labels to weights, where missing labels have weight 1, or
        "balanced" for weights that are inversely proportional to the number of samples of a class in `y`. They are
        multiplied with `sample_weight` and need the closed form as it does, ``networks=0`` and
        ``refine_steps=0``. A weight equals so many copies of the samples of its class; it is not a prior, and
        predictions do not prefer a class for its weight.
    feature_scaling : {"auto", "none", "l2", "sqrt-l2", "standardize"}, default=None
        Scaling of samples.
    semantic_scaling : {"none", "l2", "centre-l2", "standardize"}, default=None
        Scaling of class attributes.
    semantic_whitening : float, default=None
        Exponent of the partial whitening of class attributes, from 0 (none) to 1.
    similarity : {"cosine", "dot", "euclidean"}, default=None
        "paper": similarity of predictions and class attributes.
    search : {"none", "grid", "auto"}, default="none"
        What is searched on validation classes: "grid" every combination of the values in the method's table, "auto"
        stage by stage, for "parsnets" alone.
    options : dict, default=None
        Other training options by their command-line names, for example ``{"gate-weight": 0.1}``.
    random_state : int, RandomState instance or None, default=1
        Random seed. An integer gives the same model every time. The default is not None as elsewhere in scikit-learn,
        so that a model has the bytes of the one that the command line trains. None or a RandomState instance draws a
        seed.
    n_jobs : int, default=-1
        Number of threads. -1 means one per core, None means 1. Results do not depend on it.
    verbose : bool, default=False
        Whether to show progress, with tqdm if it is installed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of the columns of `predict_proba`.
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
    false_accept_ : float
        Share of unknown samples to accept. Defined only when the model is calibrated, as is `rejection_`.
    rejection_ : Rejection
        What rejection of unknown samples reached on held-out classes.
    record_ : dict
        Record of training.
    trained_options_ : dict
        Training options after resolving and searching, by their command-line names.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features. Defined only when `X` has feature names that are all strings.

    Examples
    --------
    >>> from parsnets import ParsNetsClassifier, datasets
    >>> data = datasets.load_demo()  # small pictures of ten classes, two of them unseen
    >>> model = ParsNetsClassifier(networks=32, active=8)
    >>> model = model.fit(data.X[data.trainval], data.y[data.trainval], class_attributes=data.class_attributes,
    ...                   attribute_names=data.attribute_names)
    >>> pictures = data.X[data.test_unseen[:3]]
    >>> model.predict(pictures, classes="unseen").tolist() == data.y[data.test_unseen[:3]].tolist()
    True
    >>> model.transform(pictures).shape
    (3, 39)
    >>> model.add_class("moose", data.class_attributes["deer"] * 0.9).classes_[-1]
    'moose'
    """

    _methods = {"": {}, **{method: {"method": method} for method in _METHODS}}

    def __init__(self, method: str = "parsnets", *, networks: Optional[int] = None, active: Optional[int] = None,
                 gates: Optional[str] = None, encoding: Optional[int] = None, loss: Optional[str] = None,
                 c: Optional[float] = None, epsilon: Optional[float] = None, alpha: Optional[float] = None,
                 mmg: Optional[float] = None, refine_steps: Optional[int] = None,
                 shrinkage: Optional[float] = None, prototype_width: Optional[float] = None,
                 false_accept: Optional[float] = None, class_weight: Any = None, feature_scaling: Optional[str] = None,
                 semantic_scaling: Optional[str] = None, semantic_whitening: Optional[float] = None,
                 similarity: Optional[str] = None, search: str = "none", options: Optional[Dict[str, Any]] = None,
                 random_state: Any = 1, n_jobs: Optional[int] = -1, verbose: Any = False) -> None:
        self.method = method
        self.networks = networks
        self.active = active
        self.gates = gates
        self.encoding = encoding
        self.loss = loss
        self.c = c
        self.epsilon = epsilon
        self.alpha = alpha
        self.mmg = mmg
        self.refine_steps = refine_steps
        self.shrinkage = shrinkage
        self.prototype_width = prototype_width
        self.false_accept = false_accept
        self.class_weight = class_weight
        self.similarity = similarity
        super().__init__(feature_scaling=feature_scaling, semantic_scaling=semantic_scaling,
                         semantic_whitening=semantic_whitening, search=search, options=options,
                         random_state=random_state, n_jobs=n_jobs, verbose=verbose)

    @property
    def _method(self) -> str:
        return self.method

    def fit(self: Self, X: ArrayLike, y: ArrayLike, sample_weight: Optional[ArrayLike] = None, *,
            class_attributes: Any = None, attribute_names: Optional[Sequence[str]] = None,
            class_names: Optional[ArrayLike] = None, validation: Any = "auto",
            progress: Optional[ProgressCallback] = None) -> Self:
        """Fit the model to labelled samples.

        If an exception is raised, the estimator is unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples. C-contiguous float32 arrays are not copied.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. They need the closed form, ``networks=0`` and ``refine_steps=0``: gated networks and
            refinement do not take weights. An integer weight equals that many copies of the sample, up to rounding.
        class_attributes : dict, Series, DataFrame, array-like of shape (n_classes, n_attributes) or None, default=None
            As in :meth:`ZeroShotClassifier.fit`.
        attribute_names : sequence of str, default=None
            Names of the attributes.
        class_names : array-like of shape (n_classes,), default=None
            Labels of the rows of `class_attributes`.
        validation : {"auto", "none"} or list of labels, default="auto"
            Seen classes on which gamma, the temperature and searches are chosen. With `sample_weight`, "auto" or
            "none".
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops training, which raises CancelledError.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if sample_weight is None and self.class_weight is None:
            return super().fit(X, y, class_attributes=class_attributes, attribute_names=attribute_names,
                               class_names=class_names, validation=validation, progress=progress)
        if self.method != "parsnets" or self.networks != 0 or self.refine_steps != 0:
            raise UsageError(f"{self._weighted_by(sample_weight)}: expected method='parsnets', networks=0 and "
                             "refine_steps=0, because gated networks and refinement do not take weights")
        if not isinstance(validation, str):
            raise UsageError(f"validation: expected 'auto' or 'none' with {self._weighted_by(sample_weight)}, found "
                             "labels")
        extra = self._validation_options(validation, class_attributes is not None)
        return self._fit_statistics(X, y, sample_weight, class_attributes, attribute_names, class_names, extra,
                                    progress)

    def _fit_statistics(self: Self, X: ArrayLike, y: ArrayLike, sample_weight: Optional[ArrayLike],
                        class_attributes: Any, attribute_names: Optional[Sequence[str]],
                        class_names: Optional[ArrayLike], extra: Mapping[str, Any],
                        progress: Optional[ProgressCallback]) -> Self:
        """Fit the closed form of class space to statistics of the samples, which are not kept."""
        fresh = {name: value for name, value in self.__dict__.items() if name in self.get_params(deep=False)}
        twin = copy.copy(self)
        twin.__dict__ = fresh
        twin._add(X, y, np.unique(np.asarray(y)), sample_weight, class_attributes, attribute_names, class_names, extra,
                  progress)
        self.__dict__ = {name: value for name, value in twin.__dict__.items() if name != "_statistics"}
        return self

    def fit_dataset(self: Self, data: Dataset, *, progress: Optional[ProgressCallback] = None) -> Self:
        """Fit the model to the training samples of a data set, as `parsnets train` does.

        The model is byte-identical to that of `parsnets train --seed S` with ``random_state=S``, if `data` was loaded
        with the same seed or names its validation classes. If an exception is raised, the estimator is unchanged.

        Parameters
        ----------
        data : Dataset
            Data set of `parsnets.datasets`. Its samples have no weights: `class_weight` must be None.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops training, which raises CancelledError.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if self.class_weight is not None:
            raise UsageError("class_weight: expected None with fit_dataset, which takes no weights; call fit(X, y)")
        return super().fit_dataset(data, progress=progress)

    def _weighted_by(self, sample_weight: Any) -> str:
        """Return the name of what gives weights, for messages."""
        return "class_weight" if sample_weight is None else "sample_weight"

    @available_if(_has_closed_form)  # type: ignore[misc]
    def partial_fit(self: Self, X: ArrayLike, y: ArrayLike, classes: Optional[ArrayLike] = None,
                    sample_weight: Optional[ArrayLike] = None, *, class_attributes: Any = None,
                    attribute_names: Optional[Sequence[str]] = None, class_names: Optional[ArrayLike] = None,
                    progress: Optional[ProgressCallback] = None) -> Self:
        """Add labelled samples and fit the closed form of class space to all samples so far.

        The estimator keeps statistics of the samples (see docs/method.md), not the samples. The model is that of
        ``networks=0`` and ``refine_steps=0`` for all of them, up to rounding; gamma and the temperature are chosen
        on groups of classes that are held out in turn. After `fit`, which keeps no statistics, samples of classes that
        were not trained on are taught (see `teach`); with samples of other classes, `partial_fit` starts anew with the
        classes of the model and warns. Only available for ``method="parsnets"``. If an exception is
        raised, the estimator is unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels. Needed in the first call of a plain classifier, which has no `class_attributes`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. None means 1 each.
        class_attributes : dict, Series, DataFrame, array-like of shape (n_classes, n_attributes) or None, default=None
            Attributes of each class, as in `fit`. Needed in the first call unless `classes` is given. Later calls may
            leave it out, or give a new table with more classes.
        attribute_names : sequence of str, default=None
            Names of the attributes.
        class_names : array-like of shape (n_classes,), default=None
            Labels of the rows of `class_attributes`.
        progress : callable, default=None
            Called with (stage, done, total, unit). A true result stops training, which raises CancelledError.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if isinstance(self.class_weight, str):
            raise UsageError(f"class_weight: expected a dict or None with partial_fit, found {self.class_weight!r}: a "
                             "batch does not tell how often classes occur; give the weights of scikit-learn's "
                             "compute_class_weight as a dict")
        if "_model" in self.__dict__ and "_statistics" not in self.__dict__:
            only_y = classes is None and sample_weight is None and class_attributes is None
            if only_y and self._teaches(y):
                taught = copy.copy(self)
                x = validated(taught, X, dtype=np.float32, order="C", reset=False)
                labels = np.asarray(y)
                if labels.shape != x.shape[:1]:
                    raise BadInputError(f"y: expected {len(x)} labels, one per row of X, found {labels.size}")
                for label in np.unique(labels):
                    taught.teach(label, x[labels == label])
                self._model = taught._model
                return self
            warnings.warn("partial_fit starts anew with the classes of the model: fit keeps no statistics of its "
                          "samples", stacklevel=2)
        return self._add(X, y, classes, sample_weight, class_attributes, attribute_names, class_names, {}, progress)

    def _teaches(self, y: ArrayLike) -> bool:
        """Return whether all labels are of classes that the model, of class space, was not trained on."""
        model, labels = self._model, np.unique(np.asarray(y))
        known = np.isin(labels, model.labels)
        return bool(len(labels) and known.all() and model.options.get("method") == "parsnets"
                    and not model.seen[places_of(model.labels, labels, "y")].any())

    def _add(self: Self, X: ArrayLike, y: ArrayLike, classes: Optional[ArrayLike], sample_weight: Optional[ArrayLike],
             class_attributes: Any, attribute_names: Optional[Sequence[str]], class_names: Optional[ArrayLike],
             extra: Mapping[str, Any], progress: Optional[ProgressCallback]) -> Self:
        before: Optional[Statistics] = self.__dict__.get("_statistics")
        described = copy.copy(self)
        x, labelled = validated(described, X, y, dtype=np.float32, order="C", reset="_model" not in self.__dict__)
        check_classification_targets(labelled)
        x = np.require(x, np.float32, ["C", "A"])
        if class_attributes is not None:
            labels, semantics, attribute_names = class_table(class_attributes, np.unique(labelled), class_names,
                                                             attribute_names)
        elif "_model" in self.__dict__:
            model = self._model
            extra = {"feature-scaling": model.options.get("feature-scaling", "sqrt-l2"), **extra}
            labels, semantics = model.labels, model.semantics
            attribute_names = model.attribute_names if model.names_attributes else None
        elif classes is not None:
            labels = np.unique(np.asarray(classes))
            semantics, attribute_names = np.eye(len(labels), dtype=np.float32), [name_of(label) for label in labels]
            extra = {**self._validation_options("auto", False), **extra}
        else:
            raise UsageError("partial_fit: expected class_attributes in the first call, or classes for a plain "
                             "classifier, found neither")
        names = [name_of(label) for label in labels]
        places = places_of(labels, labelled, "y").astype(np.int32)
        weights = self._weights(sample_weight, x, labelled, labels, places)
        scaling = before.scaling if before is not None else self._scaling_of(x, extra)
        statistics = Statistics.of(x, places, weights, names, scaling, threads_of(self.n_jobs))
        if before is not None:
            statistics = before.merged(statistics)
        return self._train_statistics(statistics, labels, semantics, attribute_names, extra, progress,
                                      feature_names=getattr(described, "feature_names_in_", None),
                                      _statistics=statistics)

    def _train_statistics(self: Self, statistics: Statistics, labels: NDArray[Any], semantics: Floats,
                          attribute_names: Optional[Sequence[str]], extra: Mapping[str, Any],
                          progress: Optional[ProgressCallback], **more: Any) -> Self:
        """Train the closed form of class space. labels, semantics: of all classes; more: as in _train()."""
        semantics = np.require(semantics, np.float32, ["C", "A"])  # outlives the struct that refers to it
        arrays = class_arrays([name_of(label) for label in labels], semantics, attribute_names)
        options: Dict[str, Any] = {"feature-scaling": statistics.scaling} if self.feature_scaling is None else {}
        if statistics.scaling == "standardize" and self.feature_scaling is None:
            options["calibrate"] = False
        return self._train(("train_statistics", statistics.handle, ctypes.byref(arrays)), labels,
                           {**extra, **options, "seed": seed_of(self.random_state)}, progress, **more)

    def _weights(self, sample_weight: Optional[ArrayLike], x: Floats, labelled: NDArray[Any], labels: NDArray[Any],
                 places: NDArray[np.int32]) -> Optional[NDArray[np.float64]]:
        """Return weights of samples and classes together, shape (n_samples,), or None for 1 each.

        labels: all classes; places: which of them each sample has.
        """
        if sample_weight is None and self.class_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, x, dtype=np.float64, only_non_negative=True)
        if isinstance(self.class_weight, Mapping):
            by_class = compute_class_weight(dict(self.class_weight), classes=labels, y=labelled)
            if not (np.isfinite(by_class).all() and (by_class >= 0).all()):
                raise UsageError("class_weight: expected finite weights that are not negative, found "
                                 f"{self.class_weight!r}")
            weights = weights * by_class[places]
        elif self.class_weight is not None:
            if not isinstance(self.class_weight, str):
                raise UsageError(f"class_weight: expected a dict, 'balanced' or None, found {self.class_weight!r}")
            weights = weights * compute_sample_weight(self.class_weight, labelled)
        return np.ascontiguousarray(weights, dtype=np.float64)

    def _scaling_of(self, x: Floats, extra: Mapping[str, Any]) -> str:
        """Return the scaling of samples for the first of them, (n_samples, n_features)."""
        if self.feature_scaling is not None:
            return self.feature_scaling
        return str(extra.get("feature-scaling", "l2" if (x < 0).any() else "sqrt-l2"))


def load_model(file: PathLike, *, labels: Optional[ArrayLike] = None, sha256: Optional[str] = None,
               **parameters: Any) -> ZeroShotClassifier:
    """Load an estimator from a model file.

    Parameters
    ----------
    file : str or path-like
        Model file.
    labels : array-like of shape (n_classes,), default=None
        Labels that replace the class names, in the order of the classes in the file. The text of each label must equal
        the class name.
    sha256 : str, default=None
        SHA-256 of the file in hexadecimal digits, which ``parsnets info`` prints. A file with another one is
        refused before anything in it is read.
    **parameters : dict
        Parameters of the estimator's constructor.

    Returns
    -------
    estimator : ZeroShotClassifier
        Fitted estimator of the class that matches the method of the file, such as ESZSL for "eszsl".

    Examples
    --------
    >>> import tempfile
    >>> from parsnets import RidgeZSL, datasets, load_model
    >>> data = datasets.load_demo()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     RidgeZSL(alpha=3).fit_dataset(data).save(folder + "/demo.safetensors")
    ...     load_model(folder + "/demo.safetensors", n_jobs=2)
    RidgeZSL(n_jobs=2)
    """
    return ZeroShotClassifier.load(file, labels=labels, sha256=sha256, **parameters)
