"""ParsNets as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Dict, Optional

from numpy.typing import ArrayLike

from ._base import COMMON, ZeroShotClassifier
from ._model import PathLike

__all__ = ["ParsNetsClassifier", "ZeroShotClassifier", "load_model"]

_METHODS = ("parsnets", "scln", "mmg", "ridge", "reverse-ridge", "eszsl", "sae", "sae-reverse", "dap")


class ParsNetsClassifier(ZeroShotClassifier):
    """Zero-shot classifier with gated linear networks.

    A sample x is encoded and activates some of the networks. Their sum f(x) predicts attributes (semantics), and the
    class whose attributes are most similar to f(x) is the prediction. Classes without training samples can be predicted
    as well.

    Parameters whose default is None are automatic: training fills in a value that suits the method and the data, or
    `preset` or `select` searches for one. A value that is given is used unchanged. `trained_options_` holds the final
    values; docs/options.md describes the defaults of each method.

    Parameters
    ----------
    method : str, default="parsnets"
        "parsnets" fits gated linear networks with maximal margin geometry (MMG), "scln" gated networks without MMG, and
        "mmg" networks without gates. The baselines of the engine ("ridge", "reverse-ridge", "eszsl", "sae",
        "sae-reverse", "dap") are available, too.
    networks : int, default=None
        Number of networks, K.
    open : int, default=None
        Number of networks that are active per sample, k.
    gates : {"anchor", "energy", "always"}, default=None
        Rule by which a sample selects its networks: those with the nearest anchors, those with the strongest parts of
        its encoding, or all of them.
    encoding : int, default=None
        Dimensions of the encoder, h.
    loss : {"ridge", "svr"}, default=None
        Loss of the networks (the option `fit`): squared, or epsilon-insensitive, which is solved with a certificate.
    c : float, default=None
        Bound of the dual variables of the SVR, for targets of unit variance.
    epsilon : float, default=None
        Half-width of the tube of the SVR, for targets of unit variance. None means 0.1.
    alpha : float, default=None
        Ridge regularisation (the option `lambda`), relative to the scale of the data.
    mmg : float, default=None
        Weight of the maximal margin geometry. 0 turns it off.
    refine_steps : int, default=None
        Number of steps of discriminative refinement after the fit.
    prototype_width : float, default=None
        Width of the kernel that moves class vectors towards the training samples. 0 means no correction.
    feature_scaling : {"none", "l2", "sqrt-l2", "standardize"}, default=None
        Scaling of samples.
    semantic_scaling : {"none", "l2", "centre-l2", "standardize", "binary"}, default=None
        Scaling of class attributes.
    semantic_whitening : float, default=None
        Exponent of the partial whitening of class attributes, from 0 (none) to 1.
    similarity : {"cosine", "dot", "euclidean"}, default=None
        Similarity of f(x) and a class.
    preset : {"none", "paper", "auto"}, default="none"
        "paper" uses the settings of the paper. "auto" searches every automatic option on validation classes.
    select : bool, default=False
        Whether to search the method's grid on validation classes.
    options : dict, default=None
        Other training options by their command-line names, for example ``{"gate-weight": 0.1}``.
    random_state : int, RandomState instance or None, default=1
        Random seed. An integer gives the same model every time; 1 is the default of the command line. None or a
        RandomState instance draws a seed.
    n_jobs : int, default=-1
        Number of threads. -1 means one per core, None means 1. Results do not depend on it.
    verbose : bool, default=False
        Whether to show progress, with tqdm if it is installed.
    open_networks : int, default=None
        Former name of `open`.

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
    >>> model = ParsNetsClassifier(networks=32, open=8)
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

    _option_of = {**COMMON, "networks": "networks", "open": "open", "gates": "gates", "encoding": "encoding",
                  "loss": "fit", "c": "c", "epsilon": "epsilon", "alpha": "lambda", "mmg": "mmg",
                  "refine_steps": "refine-steps", "prototype_width": "prototype-width"}
    _former_names = {"open_networks": "open"}
    _methods = {"": {}, **{method: {"method": method} for method in _METHODS}}

    def __init__(self, method: str = "parsnets", *, networks: Optional[int] = None, open: Optional[int] = None,
                 gates: Optional[str] = None, encoding: Optional[int] = None, loss: Optional[str] = None,
                 c: Optional[float] = None, epsilon: Optional[float] = None, alpha: Optional[float] = None,
                 mmg: Optional[float] = None, refine_steps: Optional[int] = None,
                 prototype_width: Optional[float] = None, feature_scaling: Optional[str] = None,
                 semantic_scaling: Optional[str] = None, semantic_whitening: Optional[float] = None,
                 similarity: Optional[str] = None, preset: str = "none", select: bool = False,
                 options: Optional[Dict[str, Any]] = None, random_state: Any = 1, n_jobs: Optional[int] = -1,
                 verbose: Any = False, open_networks: Optional[int] = None) -> None:
        self.method = method
        self.networks = networks
        self.open = open
        self.open_networks = open_networks
        self.gates = gates
        self.encoding = encoding
        self.loss = loss
        self.c = c
        self.epsilon = epsilon
        self.alpha = alpha
        self.mmg = mmg
        self.refine_steps = refine_steps
        self.prototype_width = prototype_width
        super().__init__(feature_scaling=feature_scaling, semantic_scaling=semantic_scaling,
                         semantic_whitening=semantic_whitening, similarity=similarity, preset=preset, select=select,
                         options=options, random_state=random_state, n_jobs=n_jobs, verbose=verbose)

    @property
    def _method(self) -> str:
        return self.method


def load_model(file: PathLike, *, labels: Optional[ArrayLike] = None, **parameters: Any) -> ZeroShotClassifier:
    """Load an estimator from a model file.

    Parameters
    ----------
    file : str or path-like
        Model file.
    labels : array-like of shape (n_classes,), default=None
        Labels that replace the class names, in the order of the classes in the file. The text of each label must equal
        the class name.
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
    return ZeroShotClassifier.load(file, labels=labels, **parameters)
