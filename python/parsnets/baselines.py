"""Linear baselines of zero-shot learning, with the interface of ParsNetsClassifier.

In the formulas, x is a sample after scaling, a_y the attributes of its class, and f(x) what is compared with the
attributes of all classes. Regularisation is relative to the scale of the data and 1 by default;
``search="grid"`` searches the method's grid on validation classes.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ._base import ZeroShotClassifier


class RidgeZSL(ZeroShotClassifier):
    """Ridge regression to attributes: f(x) = W'x + b minimises sum ||a_y - f(x)||^2 + alpha ||W||^2.

    Parameters
    ----------
    alpha : float, default=None
        Regularisation, relative to the scale of the data. None means 1, or the result of a search.
    reverse : bool, default=False
        Whether to map attributes to samples instead. Each class then has one prototype, and `transform` and `explain`
        are not available.
    feature_scaling, semantic_scaling, semantic_whitening : default=None
        See :class:`ParsNetsClassifier`.
    search, options, random_state, n_jobs, verbose
        See :class:`ParsNetsClassifier`; the defaults are the same.

    See Also
    --------
    ParsNetsClassifier : Common parameters, and the attributes of a fitted estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from parsnets import RidgeZSL
    >>> attributes = {"tiger": [1, 0, 0], "horse": [0, 1, 0], "eagle": [0, 0, 1], "zebra": [1, 1, 0]}
    >>> y = np.repeat(["tiger", "horse", "eagle"], 20)  # no sample of a zebra
    >>> X = np.array([attributes[label] for label in y]) + np.random.RandomState(0).normal(0, 0.1, (60, 3))
    >>> model = RidgeZSL(alpha=0.1, feature_scaling="none").fit(X, y, class_attributes=attributes, validation="none")
    >>> model.predict([[0.9, 1.1, 0.0], [0.1, 0.9, 0.0]]).tolist()
    ['zebra', 'horse']
    """

    _methods = {"ridge": {"reverse": False}, "reverse-ridge": {"reverse": True}}

    def __init__(self, alpha: Optional[float] = None, reverse: bool = False, *, feature_scaling: Optional[str] = None,
                 semantic_scaling: Optional[str] = None, semantic_whitening: Optional[float] = None,
                 search: str = "none", options: Optional[Dict[str, Any]] = None, random_state: Any = 1,
                 n_jobs: Optional[int] = -1, verbose: Any = False) -> None:
        self.alpha = alpha
        self.reverse = reverse
        super().__init__(feature_scaling=feature_scaling, semantic_scaling=semantic_scaling,
                         semantic_whitening=semantic_whitening, search=search, options=options,
                         random_state=random_state, n_jobs=n_jobs, verbose=verbose)


class ESZSL(ZeroShotClassifier):
    """ESZSL (Romera-Paredes and Torr, 2015): score = x'Va, V = (X'X + alpha I)^-1 X'Y S (S'S + semantic_alpha I)^-1.

    Y (n x C) is 1 for the class of a sample and -1 for the others. S (C x m) are the attributes of the seen classes.

    Parameters
    ----------
    alpha : float, default=None
        Regularisation of the features, relative to the scale of the data. None means 1, or the result of a search.
    semantic_alpha : float, default=None
        Regularisation of the semantics, relative to their scale. None means 1, or the result of a search.
    feature_scaling, semantic_scaling, semantic_whitening : default=None
        See :class:`ParsNetsClassifier`.
    search, options, random_state, n_jobs, verbose
        See :class:`ParsNetsClassifier`; the defaults are the same.

    See Also
    --------
    ParsNetsClassifier : Common parameters, and the attributes of a fitted estimator.

    Examples
    --------
    >>> from parsnets import ESZSL, datasets
    >>> data = datasets.load_demo()
    >>> model = ESZSL(alpha=10, semantic_alpha=0.1).fit_dataset(data)
    >>> model.evaluate(data).zsl_top1_per_class > 0.9
    True
    """

    _methods = {"eszsl": {}}

    def __init__(self, alpha: Optional[float] = None, semantic_alpha: Optional[float] = None, *,
                 feature_scaling: Optional[str] = None, semantic_scaling: Optional[str] = None,
                 semantic_whitening: Optional[float] = None, search: str = "none",
                 options: Optional[Dict[str, Any]] = None, random_state: Any = 1, n_jobs: Optional[int] = -1,
                 verbose: Any = False) -> None:
        self.alpha = alpha
        self.semantic_alpha = semantic_alpha
        super().__init__(feature_scaling=feature_scaling, semantic_scaling=semantic_scaling,
                         semantic_whitening=semantic_whitening, search=search, options=options,
                         random_state=random_state, n_jobs=n_jobs, verbose=verbose)


class SAE(ZeroShotClassifier):
    """Semantic autoencoder (Kodirov et al., 2017): W minimises ||X - SW||^2 + alpha ||XW' - S||^2.

    S (n x m) are the attributes of the samples' classes. The predicted attributes of a sample are xW'.

    Parameters
    ----------
    alpha : float, default=None
        Weight of the encoder's error, relative to the scale of the data. None means 1, or the result of a search.
    reverse : bool, default=False
        Whether to compare samples with the class prototypes aW instead. `transform` and `explain` are then not
        available.
    feature_scaling, semantic_scaling, semantic_whitening : default=None
        See :class:`ParsNetsClassifier`.
    search, options, random_state, n_jobs, verbose
        See :class:`ParsNetsClassifier`; the defaults are the same.

    See Also
    --------
    ParsNetsClassifier : Common parameters, and the attributes of a fitted estimator.

    Examples
    --------
    >>> from parsnets import SAE, datasets
    >>> data = datasets.load_demo()
    >>> SAE(reverse=True).fit_dataset(data).predict(data.X[data.test_unseen], classes="unseen").shape
    (480,)
    """

    _methods = {"sae": {"reverse": False}, "sae-reverse": {"reverse": True}}

    def __init__(self, alpha: Optional[float] = None, reverse: bool = False, *, feature_scaling: Optional[str] = None,
                 semantic_scaling: Optional[str] = None, semantic_whitening: Optional[float] = None,
                 search: str = "none", options: Optional[Dict[str, Any]] = None, random_state: Any = 1,
                 n_jobs: Optional[int] = -1, verbose: Any = False) -> None:
        self.alpha = alpha
        self.reverse = reverse
        super().__init__(feature_scaling=feature_scaling, semantic_scaling=semantic_scaling,
                         semantic_whitening=semantic_whitening, search=search, options=options,
                         random_state=random_state, n_jobs=n_jobs, verbose=verbose)


class DAP(ZeroShotClassifier):
    """Direct attribute prediction (Lampert et al., 2014): one logistic regression per attribute.

    A class has an attribute if its value is above the mean over the seen classes. The prediction is the class with the
    largest product of p(attribute | x) / p(attribute) over its attributes. `semantic_scaling` has no effect.

    Parameters
    ----------
    alpha : float, default=None
        Regularisation, relative to the scale of the data. None means 1, or the result of a search.
    feature_scaling, semantic_scaling, semantic_whitening : default=None
        See :class:`ParsNetsClassifier`.
    search, options, random_state, n_jobs, verbose
        See :class:`ParsNetsClassifier`; the defaults are the same.

    See Also
    --------
    ParsNetsClassifier : Common parameters, and the attributes of a fitted estimator.

    Examples
    --------
    >>> from parsnets import DAP, datasets
    >>> data = datasets.load_demo()
    >>> sorted(set(DAP(alpha=10).fit_dataset(data).predict(data.X[data.test_unseen], classes="unseen")))
    ['deer', 'truck']
    """

    _methods = {"dap": {}}

    def __init__(self, alpha: Optional[float] = None, *, feature_scaling: Optional[str] = None,
                 semantic_scaling: Optional[str] = None, semantic_whitening: Optional[float] = None,
                 search: str = "none", options: Optional[Dict[str, Any]] = None, random_state: Any = 1,
                 n_jobs: Optional[int] = -1, verbose: Any = False) -> None:
        self.alpha = alpha
        super().__init__(feature_scaling=feature_scaling, semantic_scaling=semantic_scaling,
                         semantic_whitening=semantic_whitening, search=search, options=options,
                         random_state=random_state, n_jobs=n_jobs, verbose=verbose)
