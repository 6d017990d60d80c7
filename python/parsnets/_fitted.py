"""Properties of fitted estimators, and their display in notebooks."""

from __future__ import annotations

import copy
from typing import Any, Dict, Optional, Tuple

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import estimator_html_repr

from ._labels import Floats
from ._model import Model


class FittedProperties:
    """Mixin of estimators that keep their model as `_model` once they are fitted."""

    _model: Model

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, shape (n_classes,), in the order of the columns of `predict_proba`."""
        return self._fitted.labels

    @property
    def seen_(self) -> NDArray[np.bool_]:
        """True for classes with training samples, shape (n_classes,)."""
        return self._fitted.seen

    @property
    def class_attributes_(self) -> Floats:
        """Class attributes as given, shape (n_classes, n_attributes)."""
        return self._fitted.semantics

    @property
    def attribute_names_(self) -> Tuple[str, ...]:
        """Names of the attributes."""
        return self._fitted.attribute_names

    @property
    def gamma_(self) -> float:
        """Value that is subtracted from the scores of seen classes."""
        return self._fitted.gamma

    @property
    def temperature_(self) -> float:
        """Temperature of the softmax of the confidences."""
        return self._fitted.temperature

    @property
    def record_(self) -> Dict[str, Any]:
        """Record of training."""
        return copy.deepcopy(self._fitted.record)

    @property
    def trained_options_(self) -> Dict[str, Any]:
        """Training options after resolving and searching, by their command-line names."""
        return copy.deepcopy(self._fitted.options)

    @property
    def _fitted(self) -> Model:
        if "_model" not in self.__dict__:  # AttributeError, so that hasattr() is False
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call fit() or load()")
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _repr_html_(self) -> Optional[str]:
        """Return HTML for notebooks, or None if scikit-learn's `display` is "text"."""
        if get_config()["display"] != "diagram":
            return None
        if "_model" not in self.__dict__:
            return str(estimator_html_repr(self))
        from ._display import estimator_html
        return estimator_html(self)

    def _repr_mimebundle_(self, **_: Any) -> Dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": repr(self), **({"text/html": html} if html else {})}
