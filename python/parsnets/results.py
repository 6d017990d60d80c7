"""What estimators answer with: explanations of samples, and figures of a test."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Optional, SupportsIndex, Tuple, overload

import numpy as np
from numpy.typing import NDArray

from ._labels import Floats


@dataclass(frozen=True, eq=False)  # arrays have no one answer to ==
class Explanation:
    """Why one sample was given its class. By attribute (m each): contributions, shares of score - runner_up_score;
    label_attributes and runner_up_attributes, what both classes have, as given to the model; semantics, as predicted,
    in the space in which classes are compared (attributes scaled, centred, whitened), not in the units of those two."""

    label: Any
    runner_up: Any
    score: float
    runner_up_score: float
    calibration: float
    prototypes: float
    contributions: Floats
    semantics: Floats
    open_networks: NDArray[np.int32]
    attribute_names: Tuple[str, ...]
    label_attributes: Floats
    runner_up_attributes: Floats

    def top(self, count: int = 8) -> List[Tuple[str, float]]:
        """The attributes that spoke loudest for (or, if negative, against) the label: (name, contribution)."""
        return [(self.attribute_names[i], float(self.contributions[i])) for i in self.loudest(count)]

    def loudest(self, count: int) -> NDArray[np.intp]:
        """Numbers of the attributes of top()."""
        return np.argsort(-np.abs(self.contributions), kind="stable")[:count]

    def _repr_html_(self) -> str:
        from ._display import explanation_html
        return explanation_html(self)


class Explanations(List[Explanation]):
    """A list that notebooks show as charts."""

    @overload
    def __getitem__(self, place: SupportsIndex) -> Explanation: ...

    @overload
    def __getitem__(self, place: slice) -> Explanations: ...

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return Explanations(found) if isinstance(place, slice) else found

    def _repr_html_(self) -> str:
        from ._display import explanations_html
        return explanations_html(self)


@dataclass(frozen=True)
class Evaluation:
    """Percent, but for gamma. u, s, h, ausuc and gamma are None without test samples of seen classes.

    By class, of classes with test samples: zsl_per_class, label to accuracy among the unseen classes; gzsl_per_class,
    among all at gamma; confusion, C x C, counts test samples by true class (row) and prediction among all, both in the
    order of class_names, the data set's. The last three are None where u is; of device models, all four are.

    trained_samples: test samples that the model was trained on, 0 unless evaluate() was told to allow them; None when
    there are some but the model's file does not tell how many. Device models do not know: 0.
    """

    zsl_top1_per_class: float
    zsl_top1: float
    zsl_top5: float
    u: Optional[float]
    s: Optional[float]
    h: Optional[float]
    ausuc: Optional[float]
    gamma: Optional[float]
    trained_samples: Optional[int] = field(default=0, compare=False)
    zsl_per_class: Optional[Dict[Any, float]] = field(default=None, repr=False, compare=False)
    gzsl_per_class: Optional[Dict[Any, float]] = field(default=None, repr=False, compare=False)
    confusion: Optional[NDArray[np.uint32]] = field(default=None, repr=False, compare=False)
    class_names: Optional[Tuple[Any, ...]] = field(default=None, repr=False, compare=False)

    def to_dict(self) -> Dict[str, Optional[float]]:
        """The figures over all classes by their names, such as a row of a DataFrame; with trained_samples if there are
        any."""
        marks = {} if self.trained_samples == 0 else {"trained_samples": self.trained_samples}
        return {one.name: getattr(self, one.name) for one in fields(self) if one.compare} | marks

    def _repr_html_(self) -> str:
        from ._display import evaluation_html
        return evaluation_html(self)
