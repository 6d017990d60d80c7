"""ParsNets as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Dict, Optional

from numpy.typing import ArrayLike

from ._base import COMMON, ZeroShotClassifier
from ._model import PathLike

__all__ = ["ParsNetsClassifier", "ZeroShotClassifier", "load_model"]

_METHODS = ("parsnets", "scln", "mmg", "ridge", "reverse-ridge", "eszsl", "sae", "sae-reverse", "dap")


class ParsNetsClassifier(ZeroShotClassifier):
    """Names classes by their attributes, also those without training samples, by gated linear networks.

    A sample x is encoded, opens some of the networks, and their sum f(x) predicts attributes (semantics); the class
    whose attributes are most similar to f(x) is the answer. Everything below that is None takes the value that suits
    the method and the data, and is free for preset and select; a value given stays (docs/options.md).

    method: "parsnets", gated linear networks fitted with maximal margin geometry; "scln", without that; "mmg", without
        gates. The engine's baselines, "ridge" and so on, work here, too.
    networks, open_networks: K, and how many k of them are open for a sample.
    gates: how a sample chooses, "anchor" (the nearest anchors), "energy" (the strongest parts of its encoding) or
        "always" (all are open).
    encoding: h, dimensions of the encoder.
    loss: of the networks, "ridge" (squared) or "svr" (epsilon-insensitive, solved with a certificate).
    c, epsilon: of the SVR, bound of the dual variables and half-width of the tube, for targets of unit variance.
    alpha: weight of the ridge, in units of the data's own scale.
    mmg: weight of the maximal margin geometry; 0: none.
    refine_steps: steps of discriminative refinement after the fit.
    prototype_width: of the kernel that moves class vectors to where training samples lie; 0: they stay.
    feature_scaling: of samples, "none", "l2", "sqrt-l2" or "standardize".
    semantic_scaling: of class attributes, "none", "l2", "centre-l2", "standardize" or "binary".
    semantic_whitening: exponent of the partial whitening of the class space, 0 (none) to 1.
    similarity: of f(x) and a class, "cosine", "dot" or "euclidean".
    preset: "none"; "paper", the paper's settings; "auto", every choice by search on validation classes.
    select: searches the method's grid on validation classes.
    options: any other option of training by its name on the command line, {"gate-weight": 0.1}.
    random_state: an integer gives the same model every time (1: as the command line's default); None or a RandomState
        draw one. n_jobs: threads, -1: one per core, None: 1; results do not depend on it. verbose: shows progress, with
        tqdm where it is installed.

    >>> from parsnets import ParsNetsClassifier, datasets
    >>> data = datasets.load_demo()  # small pictures of ten classes, two of them unseen
    >>> model = ParsNetsClassifier(networks=32, open_networks=8)
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

    _option_of = {**COMMON, "networks": "networks", "open_networks": "open", "gates": "gates", "encoding": "encoding",
                  "loss": "fit", "c": "c", "epsilon": "epsilon", "alpha": "lambda", "mmg": "mmg",
                  "refine_steps": "refine-steps", "prototype_width": "prototype-width"}
    _methods = {"": {}, **{method: {"method": method} for method in _METHODS}}

    def __init__(self, method: str = "parsnets", *, networks: Optional[int] = None,
                 open_networks: Optional[int] = None, gates: Optional[str] = None, encoding: Optional[int] = None,
                 loss: Optional[str] = None, c: Optional[float] = None, epsilon: Optional[float] = None,
                 alpha: Optional[float] = None, mmg: Optional[float] = None, refine_steps: Optional[int] = None,
                 prototype_width: Optional[float] = None, feature_scaling: Optional[str] = None,
                 semantic_scaling: Optional[str] = None, semantic_whitening: Optional[float] = None,
                 similarity: Optional[str] = None, preset: str = "none", select: bool = False,
                 options: Optional[Dict[str, Any]] = None, random_state: Any = 1, n_jobs: Optional[int] = -1,
                 verbose: Any = False) -> None:
        self.method = method
        self.networks = networks
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
    """The estimator that fits the method of a model file, ESZSL for eszsl; parameters: of its constructor.

    labels: C, in the order of the file's classes, in place of their names; str() of each has to be the name.

    >>> import tempfile
    >>> from parsnets import RidgeZSL, datasets, load_model
    >>> data = datasets.load_demo()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     RidgeZSL(alpha=3).fit_dataset(data).save(folder + "/demo.safetensors")
    ...     load_model(folder + "/demo.safetensors", n_jobs=2)
    RidgeZSL(n_jobs=2)
    """
    return ZeroShotClassifier.load(file, labels=labels, **parameters)
