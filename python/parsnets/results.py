"""Results of estimators: explanations of predictions, adaptations and evaluations."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Optional, SupportsIndex, Tuple, overload

import numpy as np
from numpy.typing import NDArray

from ._labels import Floats


@dataclass(frozen=True)
class Adaptation:
    """What `adapt` did.

    Attributes
    ----------
    samples : int
        Number of samples.
    convincing : int
        Samples that were assigned to a class that may move.
    rounds : int
        Rounds of expectation and maximisation.
    likelihood_gain : float
        Gain of the mean log-likelihood of the samples.
    support : dict
        Labels of the classes that moved, and the number of samples each was given, by weight. Empty if no class got
        convincing support; the model is unchanged then.
    degrees : dict
        Labels of the classes that moved, and the angle between their places before and after.
    """

    samples: int
    convincing: int
    rounds: int
    likelihood_gain: float
    support: Dict[Any, float]
    degrees: Dict[Any, float]


@dataclass(frozen=True)
class Rejection:
    """What rejection of unknown samples reached on held-out classes. Shares and areas are from 0 to 1.

    Attributes
    ----------
    false_accept : float
        Share of unknown samples to accept that was asked for, from 0 to 1.
    accept_low, accept_high : float
        95 % confidence interval over classes of the share of unknown samples that is accepted.
    rejected_seen, rejected_unseen : float
        False-rejection rates: share of the samples of seen and of unseen classes that is rejected.
    auroc : float
        Area under the ROC curve of `known_score`, which tells known samples from unknown ones.
    confidence_auroc : float
        The same of the confidence in the best class.
    folds, classes, samples : int
        Fits without held-out classes, the classes that were held out in turn, and their samples.
    """

    false_accept: float
    accept_low: float
    accept_high: float
    rejected_seen: float
    rejected_unseen: float
    auroc: float
    confidence_auroc: float
    folds: int
    classes: int
    samples: int


@dataclass(frozen=True, eq=False)  # == of arrays is not a single value
class Explanation:
    """Explanation of the prediction for one sample.

    Attributes
    ----------
    label, runner_up : object
        The predicted class and the second best.
    score, runner_up_score : float
        Their scores.
    calibration : float
        Part of the difference of the scores that is due to gamma.
    examples : float
        Part of the difference of the scores that is due to the training samples of the two classes, beyond what their
        attributes give.
    contributions : ndarray of shape (n_attributes,)
        Contribution of each attribute to the difference of the scores.
    semantics : ndarray of shape (n_attributes,)
        Predicted attributes, not in the units of `label_attributes` but scaled as by `semantic_scaling`; for methods
        other than "parsnets" in the space in which classes are compared (scaled, centred, whitened).
    active_networks : ndarray
        Indices of the networks that are active for the sample.
    attribute_names : tuple of str
        Names of the attributes.
    label_attributes, runner_up_attributes : ndarray of shape (n_attributes,)
        Attributes of the two classes, as given to the model.
    """

    label: Any
    runner_up: Any
    score: float
    runner_up_score: float
    calibration: float
    examples: float
    contributions: Floats
    semantics: Floats
    active_networks: NDArray[np.int32]
    attribute_names: Tuple[str, ...]
    label_attributes: Floats
    runner_up_attributes: Floats

    def top(self, count: int = 8) -> List[Tuple[str, float]]:
        """Return the attributes with the largest contributions for or, if negative, against the label.

        Parameters
        ----------
        count : int, default=8
            Number of attributes.

        Returns
        -------
        attributes : list of (str, float)
            Names and contributions, in descending order of absolute value.
        """
        return [(self.attribute_names[i], float(self.contributions[i])) for i in self.loudest(count)]

    def loudest(self, count: int) -> NDArray[np.intp]:
        """Return the indices of the attributes of `top`.

        Parameters
        ----------
        count : int
            Number of attributes.

        Returns
        -------
        indices : ndarray of shape (count,)
            Indices, in descending order of the absolute contribution.
        """
        return np.argsort(-np.abs(self.contributions), kind="stable")[:count]

    def _repr_html_(self) -> str:
        from ._display import explanation_html
        return explanation_html(self)


class Explanations(List[Explanation]):
    """List of explanations that notebooks display as charts."""

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
class Interval:
    """A result and its 95 % interval over test classes and samples.

    Attributes
    ----------
    estimate : float
        The result on the test samples.
    low, high : float
        Percentiles 2.5 and 97.5 of a bootstrap that resamples classes, and the samples of each class.
    """

    estimate: float
    low: float
    high: float

    @classmethod
    def _of(cls, found: Any) -> Interval:
        """Return the engine's interval, whose unit is percent."""
        return cls(found.estimate / 100, found.low / 100, found.high / 100)


@dataclass(frozen=True)
class SetResult:
    """Prediction sets of one coverage on test samples. Values are None without such samples.

    Attributes
    ----------
    seen_coverage, unseen_coverage : float or None
        Share of the samples of seen and of unseen classes whose class is in their set.
    seen_size, unseen_size : float or None
        Mean number of classes in these sets.
    """

    seen_coverage: Optional[float]
    seen_size: Optional[float]
    unseen_coverage: Optional[float]
    unseen_size: Optional[float]


@dataclass(frozen=True)
class AcceptedShare:
    """Test samples of one kind that rejection accepts.

    Attributes
    ----------
    samples, classes : int
        Number of samples and of their classes. A sample counts in each turn.
    accepted : float
        Share of the samples that is accepted.
    of_classes : Interval
        Mean over the classes, and its 95 % confidence interval.
    """

    samples: int
    classes: int
    accepted: float
    of_classes: Interval


@dataclass(frozen=True)
class OpenSetQuality:
    """How well a score tells known samples from unknown ones, from 0 to 1.

    Attributes
    ----------
    auroc : float
        Area under the ROC curve.
    fpr95 : float
        Share of unknown samples that is accepted where 95 % of the known ones are.
    oscr : float
        Area under the curve of open-set classification rates.
    """

    auroc: float
    fpr95: float
    oscr: float


@dataclass(frozen=True)
class OpenSetEvaluation:
    """Results of the rejection of unknown samples. Shares are from 0 to 1.

    Attributes
    ----------
    known_seen, known_unseen : AcceptedShare
        Samples of seen classes, and of unseen classes of the model.
    unknown : AcceptedShare
        Samples of classes that were left out of the model.
    known_right : float
        Share of the known samples that are given their class, rejected ones included.
    known_score, confidence : OpenSetQuality
        Quality of `known_score` and, for comparison, of the confidence in the best class.
    no_class : dict
        Kind of input that is of no class, such as "uniform", to the share of such inputs that is rejected.
    turns : int
        Number of turns in which classes were left out.
    """

    known_seen: AcceptedShare
    known_unseen: AcceptedShare
    unknown: AcceptedShare
    known_right: float
    known_score: OpenSetQuality
    confidence: OpenSetQuality
    no_class: Dict[str, float]
    turns: int


@dataclass(frozen=True)
class PairedTest:
    """Comparison of two methods on the same samples: the first minus the second.

    Attributes
    ----------
    difference : float
        Difference of the results.
    low, high : float
        Its 95 % interval, from a bootstrap that draws the same classes and samples for both methods.
    p_value : float
        Two-sided p-value of a randomisation test that exchanges the methods in whole classes.
    exact : bool
        Whether all exchanges were enumerated. They are drawn if the methods differ in more than 14 classes.
    """

    difference: float
    low: float
    high: float
    p_value: float
    exact: bool


@dataclass(frozen=True)
class Evaluation:
    """Results of an evaluation. Accuracies, areas and shares are from 0 to 1.

    Attributes
    ----------
    zsl_top1_per_class : float
        Mean of the per-class accuracies when only unseen classes compete.
    zsl_top1, zsl_top5 : float
        Top-1 and top-5 accuracy over samples when only unseen classes compete.
    u, s, h : float or None
        Mean of the per-class accuracies of unseen and of seen classes when all classes compete, and their harmonic
        mean. None without test samples of seen classes.
    ausuc : float or None
        Area under the seen-unseen curve. None without test samples of seen classes.
    gamma : float or None
        Value that is subtracted from the scores of seen classes. None without test samples of seen classes.
    trained_samples : int or None
        Number of test samples that the model was trained on; 0 unless `evaluate` was told to allow them. None if there
        are some but the model file does not say how many. Device models do not know and give 0.
    intervals : dict
        95 % intervals over test classes and samples: "zsl_top1_per_class" and, with test samples of seen classes, "u",
        "s" and "h" to :class:`Interval`.
    zsl_per_class : dict or None
        Label to accuracy when only unseen classes compete, for classes with test samples. None for device models.
    gzsl_per_class : dict or None
        Label to accuracy when all classes compete at `gamma`, for classes with test samples. None for device models and
        without test samples of seen classes.
    confusion : ndarray of shape (n_classes, n_classes) or None
        Number of test samples by true class (row) and prediction among all classes (column), in the order of
        `class_names`. None if `gzsl_per_class` is.
    class_names : tuple or None
        Classes in the order of the data set. None if `gzsl_per_class` is.
    curve : ndarray of shape (n_points, 3) or None
        Seen-unseen curve: gamma, and `u` and `s` from this gamma to that of the next point. None if `gzsl_per_class`
        is.
    ece : dict
        Expected calibration error of the confidences when all classes compete: "seen" and "unseen" to that of the test
        samples of such classes.
    reliability : dict or None
        "seen" and "unseen" to an array of shape (15, 3), for confidences in equal parts of 0 to 1: number of samples,
        mean confidence, and share that is predicted right. None for device models.
    sets : dict
        Coverage to :class:`SetResult`. Empty for models that are not calibrated.
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
    intervals: Dict[str, Interval] = field(default_factory=dict, repr=False, compare=False)
    zsl_per_class: Optional[Dict[Any, float]] = field(default=None, repr=False, compare=False)
    gzsl_per_class: Optional[Dict[Any, float]] = field(default=None, repr=False, compare=False)
    confusion: Optional[NDArray[np.uint32]] = field(default=None, repr=False, compare=False)
    class_names: Optional[Tuple[Any, ...]] = field(default=None, repr=False, compare=False)
    curve: Optional[NDArray[np.float64]] = field(default=None, repr=False, compare=False)
    ece: Dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    reliability: Optional[Dict[str, NDArray[np.float64]]] = field(default=None, repr=False, compare=False)
    sets: Dict[float, SetResult] = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> Dict[str, Optional[float]]:
        """Return the results over all classes by name, for example as a row of a DataFrame.

        `trained_samples` is included only if it is not 0.

        Returns
        -------
        results : dict
            Names and values.
        """
        marks = {} if self.trained_samples == 0 else {"trained_samples": self.trained_samples}
        return {one.name: getattr(self, one.name) for one in fields(self) if one.compare} | marks

    def _repr_html_(self) -> str:
        from ._display import evaluation_html
        return evaluation_html(self)
