"""ParsNets: zero-shot learning with gated linear networks, for scikit-learn."""

from . import datasets, metrics, model_selection
from ._library import version as engine_version
from ._model import Evaluation, Explanation
from .classifier import ParsNetsClassifier
from .errors import BadInput, Cancelled, ParsNetsError, Usage
from .model_selection import ClassDisjointKFold

__version__ = "0.1.0"
__all__ = [
    "BadInput", "Cancelled", "ClassDisjointKFold", "Evaluation", "Explanation", "ParsNetsClassifier", "ParsNetsError",
    "Usage", "datasets", "engine_version", "metrics", "model_selection",
]
