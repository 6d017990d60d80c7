"""The classes of fitted estimators and their calibration, changed without training."""

from __future__ import annotations

import copy
import ctypes
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._labels import Floats, name_of, places_of, read_table, refuse_repeated, with_labels
from ._library import Adaptation as _Adaptation
from ._library import call, real, text, unsigned
from ._model import Model, address
from ._training import threads_of
from .errors import BadInputError, UsageError
from .results import Adaptation

Result = TypeVar("Result")
Self = TypeVar("Self", bound="ClassBank")


class ClassBank:
    """Mixin of estimators that keep their model as `_model` once they are fitted."""

    _model: Model
    n_jobs: Any

    if TYPE_CHECKING:

        def _apply(self, X: ArrayLike, work: Callable[[Model, Floats], Result]) -> Result: ...

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
            Samples of the class. They need a model of method "parsnets".

        Returns
        -------
        self : object
            The changed estimator.
        """
        if attributes is None and examples is None:
            raise UsageError("add_class: expected attributes, examples or both, found neither")
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
            raise UsageError("class_attributes: expected a dict of labels to vectors, or a DataFrame with one row per "
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
            Label of a class of the model, which needs method "parsnets".
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
        """Adapt the prototypes of classes to unlabelled samples, without training.

        Accuracies on the samples of X are transductive afterwards, not inductive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples of any classes of the model, which needs method "parsnets". 40,000 or more are taken in batches of
            20,000, one after the other.
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
            raise UsageError("rounds: expected at least 1, found 0")

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

    def suggest(self, X: ArrayLike, n_samples: int = 10) -> NDArray[np.intp]:
        """Choose which unlabelled samples a person should label, for `teach`.

        Parameters
        ----------
        X : array-like of shape (n_unlabelled, n_features)
            Samples of any classes of the model, which needs method "parsnets". Leave out samples that were taught.
        n_samples : int, default=10
            How many samples to choose, at most.

        Returns
        -------
        rows : ndarray of shape (n_chosen,), int
            Rows of X, the most useful first. Fewer where fewer look like unseen classes.
        """
        count = unsigned(n_samples, "n_samples", 32)

        def choose(model: Model, x: Floats) -> NDArray[np.intp]:
            rows, found = np.zeros(min(count, len(x)), dtype=np.uintp), ctypes.c_size_t()
            call("model_suggest", model.handle, address(x), *x.shape, count, threads_of(self.n_jobs), address(rows),
                 ctypes.byref(found))
            return rows[:found.value].astype(np.intp)

        return self._apply(X, choose)

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
            raise UsageError("calibrate: expected either X and y, or gamma, temperature or both")
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
            raise BadInputError(f"y: expected {len(x)} labels, one per row of X, found {len(places)}")
        threads = threads_of(self.n_jobs)
        self._model = model.changed(lambda handle: call("model_calibrate_on", handle, address(x), address(places),
                                                        *x.shape, threads), model.labels)
        return self
