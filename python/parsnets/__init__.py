"""ParsNets: zero-shot learning with gated linear networks, for scikit-learn."""

from . import datasets, metrics, model_selection
from ._library import version as engine_version
from ._model import Evaluation, Explanation
from .baselines import DAP, ESZSL, SAE, RidgeZSL
from .classifier import ParsNetsClassifier, ZeroShotClassifier, load_model
from .device import DeviceModel
from .errors import BadInput, Cancelled, ParsNetsError, Usage
from .model_selection import ClassDisjointKFold
from .reporting import report

__version__ = "0.1.0"
__all__ = [
    "BadInput", "Cancelled", "ClassDisjointKFold", "DAP", "DeviceModel", "ESZSL", "Evaluation", "Explanation",
    "ParsNetsClassifier", "ParsNetsError", "RidgeZSL", "SAE", "Usage", "ZeroShotClassifier", "datasets",
    "engine_version", "load_model", "metrics", "model_selection", "report",
]
