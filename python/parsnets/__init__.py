"""ParsNets: zero-shot learning with gated linear networks, for scikit-learn.

Names are imported on first use, so that `python -m parsnets` starts without importing NumPy or scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from . import (  # noqa: F401 - names for type checkers
        baselines, classifier, dask, datasets, device, errors, metrics, model_selection, plotting, reporting,
        reproduction, results, text)
    from ._library import version as engine_version
    from .baselines import DAP, ESZSL, SAE, RidgeZSL
    from .classifier import ParsNetsClassifier, ZeroShotClassifier, load_model
    from .device import DeviceModel
    from .errors import BadInputError, CancelledError, ParsNetsError, UsageError
    from .model_selection import ClassDisjointKFold
    from .reporting import report
    from .reproduction import Reproduction, ResultTable, reproduce
    from .results import (
        AcceptedShare, Adaptation, Evaluation, Explanation, Explanations, Interval, OpenSetEvaluation, OpenSetQuality,
        PairedTest, Rejection, SetResult)

__version__: str  # the engine's, when it is asked for
__all__ = [
    "AcceptedShare", "Adaptation", "BadInputError", "CancelledError", "ClassDisjointKFold", "DAP", "DeviceModel",
    "ESZSL", "Evaluation", "Explanation", "Explanations", "Interval", "OpenSetEvaluation", "OpenSetQuality",
    "PairedTest", "ParsNetsClassifier", "ParsNetsError", "Rejection", "Reproduction", "ResultTable", "RidgeZSL", "SAE",
    "SetResult", "UsageError", "ZeroShotClassifier", "datasets", "engine_version", "load_model", "metrics",
    "model_selection", "plotting", "report", "reproduce", "text",
]

_MODULES = ("baselines", "classifier", "dask", "datasets", "device", "errors", "metrics", "model_selection", "plotting",
            "reporting", "reproduction", "results", "text")
_MODULE_OF = {
    "BadInputError": "errors", "CancelledError": "errors", "ParsNetsError": "errors", "UsageError": "errors",
    "ClassDisjointKFold": "model_selection", "DeviceModel": "device", "report": "reporting",
    "Reproduction": "reproduction", "ResultTable": "reproduction", "reproduce": "reproduction",
    "DAP": "baselines", "ESZSL": "baselines", "RidgeZSL": "baselines", "SAE": "baselines",
    "Adaptation": "results", "Evaluation": "results", "Explanation": "results", "Explanations": "results",
    "Interval": "results", "PairedTest": "results", "Rejection": "results", "SetResult": "results",
    "AcceptedShare": "results", "OpenSetEvaluation": "results", "OpenSetQuality": "results",
    "engine_version": "_library",
    "ParsNetsClassifier": "classifier", "ZeroShotClassifier": "classifier", "load_model": "classifier",
}

if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module("." + name, __name__)  # also sets the attribute
        if name == "__version__":
            globals()[name] = import_module("._library", __name__).version()
            return globals()[name]
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module("." + _MODULE_OF[name], __name__)
        found = getattr(module, "version" if name == "engine_version" else name)
        globals()[name] = found
        return found


def __dir__() -> List[str]:
    return sorted({*globals(), *_MODULES, *_MODULE_OF, "__version__"})
