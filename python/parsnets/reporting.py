"""The report: fitted estimators or run folders as one self-contained HTML page (docs/report.md)."""

from __future__ import annotations

import ctypes
import json
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from sklearn.utils.validation import check_is_fitted

from . import _library
from ._base import ZeroShotClassifier
from ._library import call, text, unsigned
from ._model import Model, PathLike
from ._progress import ProgressCallback, Watch
from ._training import seed_of, threads_of
from .datasets import Dataset, checked, load_folder
from .errors import BadInputError, UsageError


@dataclass
class _Run:
    name: str
    model: Model
    run_json: Optional[str] = None
    benches: List[str] = field(default_factory=list)
    folder: str = ""


def report(file: PathLike, models: Union[PathLike, Sequence[PathLike], Mapping[str, Any], Any],
           data: Optional[Dataset] = None, *, points: int = 3000, explanations: int = 12, compare_mmg: bool = True,
           random_state: Any = 1, n_jobs: Optional[int] = -1, photographs: Optional[PathLike] = None,
           own_rows: Optional[PathLike] = None, progress: Optional[ProgressCallback] = None) -> Path:
    """Write a self-contained HTML page with the results of one or more models.

    Parameters
    ----------
    file : str or path-like
        Page to write. Its folder is created if missing.
    models : ZeroShotClassifier, path-like, list of path-like or dict
        A fitted estimator, one or more run folders of `parsnets train --run`, or a dict of names to either.
    data : Dataset, default=None
        Data set that all models were trained on by `fit_dataset`. None means the one named by the first run folder.
    points : int, default=3000
        Maximum number of points of the t-SNE maps.
    explanations : int, default=12
        Number of samples to explain.
    compare_mmg : bool, default=True
        Whether to fit models that use maximal margin geometry once more without it.
    random_state : int, RandomState instance or None, default=1
        Random seed.
    n_jobs : int, default=-1
        Number of threads. -1 means one per core, None means 1.
    photographs : str or path-like, default=None
        Folder with thumbnails.jpg or thumbnails.png. None means the data folder of the first run, or the folder that
        `data` was loaded from.
    own_rows : str or path-like, default=None
        CSV or JSON file with rows of your own (docs/report.md), shown beside the published ones.
    progress : callable, default=None
        Called with (stage, done, total, unit). A true result stops the work, which raises CancelledError.

    Returns
    -------
    page : Path
        Path of the page.
    """
    runs = _runs(models)
    named: Optional[Dict[str, Any]] = json.loads(runs[0].run_json) if runs[0].run_json is not None else None
    if data is None:
        if named is None:
            raise UsageError("data: expected the data set that the models were trained on, found None; pass it, or a "
                             "run folder with run.json")
        data = _named_data(named, progress)
    checked(data, "load it with datasets.load_folder()")
    if photographs is None:
        photographs = data.folder if named is None else named["data"]
    options = _library.ReportOptions(ctypes.sizeof(_library.ReportOptions), unsigned(points, "points", 32),
                                     unsigned(explanations, "explanations", 32), int(bool(compare_mmg)),
                                     seed_of(random_state),
                                     None if photographs is None else text(os.fspath(photographs), "photographs"),
                                     None if own_rows is None else text(os.fspath(own_rows), "own_rows"))
    given = [_given(run) for run in runs]
    pointers = (ctypes.POINTER(_library.ReportRun) * len(given))(*[ctypes.pointer(one) for one in given])
    page = Path(file)
    page.parent.mkdir(parents=True, exist_ok=True)
    with Watch(progress) as watch:
        call("report", pointers, len(given), data.pointer, ctypes.byref(options), threads_of(n_jobs), watch.function,
             None, text(os.fspath(page), "file"))
    return page


def _given(run: _Run) -> Any:
    benches = (ctypes.c_char_p * len(run.benches))(*[text(name, "bench file") for name in run.benches])
    return _library.ReportRun(ctypes.sizeof(_library.ReportRun), text(run.name, "name"), run.model.handle,
                              None if run.run_json is None else text(run.run_json, "run.json"), benches, len(benches))


def _runs(models: Any) -> List[_Run]:
    if isinstance(models, Mapping):
        runs = [replace(_run(model), name=str(name)) for name, model in models.items()]
    elif isinstance(models, Sequence) and not isinstance(models, str):
        runs = [_run_folder(folder) for folder in models]
        count = Counter(run.name for run in runs)
        for run in runs:  # names tell runs apart, as on the command line
            if count[run.name] > 1:
                run.name = run.folder
    else:
        runs = [_run(models)]
    if not runs:
        raise UsageError("models: expected at least one, found none")
    return runs


def _run(model: Any) -> _Run:
    if isinstance(model, (str, os.PathLike)):
        return _run_folder(model)
    if not isinstance(model, ZeroShotClassifier):
        raise UsageError("models: expected a fitted estimator of ParsNets, a dict of them, or run folders, found "
                         f"{type(model).__name__}")
    check_is_fitted(model)
    split = model.record_.get("data", {}).get("split", {})
    if split.get("test_unseen", {}).get("samples") == 0:  # fit(X, y) knows of none
        raise BadInputError("models: expected an estimator trained by fit_dataset(data), whose split has test samples, "
                            "found one trained without them; train it with fit_dataset(data)")
    return _Run(type(model).__name__, model._model)


def _run_folder(folder: Any) -> _Run:
    """Read what `parsnets train --run` wrote. Other .json files in the folder are those of `parsnets bench --out`."""
    if not isinstance(folder, (str, os.PathLike)):
        raise UsageError(f"models: expected run folders in a list, found {type(folder).__name__}; put estimators in a "
                         "dict")
    place = os.fspath(folder)
    absolute = os.path.abspath(place)
    model = os.path.join(place, "model.safetensors")
    if not os.path.isfile(model):
        raise BadInputError(f"{place}: model.safetensors: expected a run folder with a model, found none; create one "
                            "with 'parsnets train --run DIR'")
    files = sorted(name for name in os.listdir(place) if name.endswith(".json"))
    run_json = Path(place, "run.json").read_text("utf-8") if "run.json" in files else None
    if run_json is not None:
        _check_run_json(run_json, os.path.join(place, "run.json"))
    return _Run(os.path.basename(absolute), Model.load(model), run_json,
                [os.path.join(place, name) for name in files if name != "run.json"], absolute)


def _check_run_json(run_json: str, file: str) -> None:
    try:
        found = json.loads(run_json)
    except ValueError as error:
        raise BadInputError(f"{file}: expected JSON, found {error}; train the run again") from None
    if not isinstance(found, dict) or not isinstance(found.get("data"), str):
        raise BadInputError(f"{file}: data: expected the data set's folder, found none; train the run again")


def _named_data(run_json: Mapping[str, Any], progress: Optional[ProgressCallback]) -> Dataset:
    load = run_json.get("load", {})
    return load_folder(run_json["data"], features=load.get("features") or None, semantics=load.get("semantics") or None,
                       seed=run_json.get("seed", 1), original_att=load.get("original-att", False),
                       missing=load.get("missing", "attribute-mean"), split=load.get("split") or None,
                       progress=progress)
