"""The shared library: where it is found, its functions and structs (parsnets.h), and its errors as exceptions."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import json
import operator
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Type

import numpy as np
from numpy.typing import NDArray

from ._threads import run
from .errors import BadInputError, CancelledError, ParsNetsError, UsageError

ABI_VERSION = 3
_STEM = "libparsnets.so"


class Progress(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("stage", c_char_p), ("done", c_uint64), ("total", c_uint64), ("unit", c_char_p)]


ProgressFunction = ctypes.CFUNCTYPE(c_int, POINTER(Progress), c_void_p)


class LoadOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("features", c_char_p), ("semantics", c_char_p), ("seed", c_uint64),
                ("original_att", c_int32), ("missing", c_int32), ("split", c_char_p)]


class Arrays(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("samples", c_size_t), ("dimensions", c_size_t), ("classes", c_size_t),
                ("attributes", c_size_t), ("features", c_void_p), ("labels", c_void_p), ("semantics", c_void_p),
                ("class_names", POINTER(c_char_p)), ("attribute_names", POINTER(c_char_p)), ("name", c_char_p),
                ("test", c_void_p), ("seed", c_uint64), ("borrow_features", c_int32), ("validation", c_void_p)]


class DatasetInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("samples", c_size_t), ("dimensions", c_size_t), ("classes", c_size_t),
                ("attributes", c_size_t), ("seen_classes", c_size_t), ("trainval", c_size_t), ("test_seen", c_size_t),
                ("test_unseen", c_size_t), ("train", c_size_t), ("val", c_size_t), ("name", c_char_p),
                ("features_name", c_char_p), ("semantics_name", c_char_p), ("features", c_void_p),
                ("labels", c_void_p), ("semantics", c_void_p)]


class ModelInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("dimensions", c_size_t), ("attributes", c_size_t), ("outputs", c_size_t),
                ("classes", c_size_t), ("seen_classes", c_size_t), ("networks", c_size_t),
                ("open", c_size_t), ("predicts_semantics", c_int32), ("gamma", c_double),
                ("temperature", c_double), ("method", c_char_p), ("options", c_char_p), ("record", c_char_p),
                ("seen", c_void_p), ("semantics", c_void_p)]


class Adaptation(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("samples", c_size_t), ("convincing", c_size_t), ("classes", c_size_t),
                ("rounds", c_int32), ("reserved", c_int32), ("likelihood_gain", c_double)]


class OpenSet(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("has_rejection", c_int32), ("has_sets", c_int32), ("false_accept", c_double),
                ("folds", c_size_t), ("classes", c_size_t), ("samples", c_size_t), ("accept_low", c_double),
                ("accept_high", c_double), ("rejected_seen", c_double), ("rejected_unseen", c_double),
                ("auroc", c_double), ("confidence_auroc", c_double)]


class OpenSetOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("false_accept", c_double), ("folds", c_int32), ("reserved", c_int32),
                ("seed", c_uint64), ("memory_limit", c_uint64)]


class Explanation(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("winner", c_int32), ("runner_up", c_int32), ("winner_score", c_double),
                ("runner_up_score", c_double), ("calibration", c_double), ("examples", c_double)]


class Interval(ctypes.Structure):
    _fields_ = [("estimate", c_double), ("low", c_double), ("high", c_double)]


class Evaluation(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("zsl_top1_per_class", c_double), ("zsl_top1", c_double), ("zsl_top5", c_double),
                ("u", c_double), ("s", c_double), ("h", c_double), ("ausuc", c_double), ("gamma", c_double),
                ("has_gzsl", c_int32), ("trained_samples", c_int64), ("zsl_interval", Interval),
                ("u_interval", Interval), ("s_interval", Interval), ("h_interval", Interval), ("seen_ece", c_double),
                ("unseen_ece", c_double)]


class Outcomes(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("unseen_labels", c_void_p), ("seen_labels", c_void_p), ("zsl", c_void_p),
                ("unseen", c_void_p), ("seen", c_void_p), ("unseen_samples", c_size_t), ("seen_samples", c_size_t),
                ("runs", c_uint32), ("reserved", c_uint32)]


class UncertaintyOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("replicates", c_int32), ("draws", c_int32), ("seed", c_uint64)]


class Intervals(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("zsl", Interval), ("u", Interval), ("s", Interval), ("h", Interval)]


class Difference(ctypes.Structure):
    _fields_ = [("difference", Interval), ("p", c_double), ("exact", c_int32), ("reserved", c_int32)]


class Comparison(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("zsl", Difference), ("u", Difference), ("s", Difference), ("h", Difference)]


class StatisticsOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("feature_scaling", c_char_p), ("groups", c_size_t), ("kept_rows", c_size_t)]


class EvaluateOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("allow_trained_samples", c_int32), ("reserved", c_int32), ("curve", c_void_p),
                ("curve_capacity", c_size_t), ("curve_points", POINTER(c_size_t)), ("coverages", c_void_p),
                ("coverage_count", c_size_t), ("sets", c_void_p), ("reliability", c_void_p), ("zsl", c_void_p),
                ("gzsl", c_void_p), ("confusion", c_void_p), ("classes", c_size_t)]


class NoClassInputs(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("inputs", c_size_t), ("rejected", c_double), ("auroc", c_double)]


class OpenSetEvaluationOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("unknown_classes", POINTER(c_char_p)), ("unknown_count", c_size_t),
                ("inputs", c_size_t), ("seed", c_uint64), ("no_class", POINTER(NoClassInputs)),
                ("no_class_capacity", c_size_t), ("no_class_count", POINTER(c_size_t))]


class AcceptedShare(ctypes.Structure):
    _fields_ = [("samples", c_size_t), ("classes", c_size_t), ("accepted", c_double), ("of_classes", Interval)]


class OpenSetQuality(ctypes.Structure):
    _fields_ = [("auroc", c_double), ("fpr95", c_double), ("oscr", c_double)]


class OpenSetEvaluation(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("turns", c_size_t), ("known_seen", AcceptedShare),
                ("known_unseen", AcceptedShare), ("unknown", AcceptedShare), ("known_right", c_double),
                ("known_score", OpenSetQuality), ("confidence", OpenSetQuality)]


class ExportOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("precision", c_int32), ("rank", c_int32), ("max_bytes", c_uint64),
                ("max_drop", c_double)]


class ExportResult(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("precision", c_int32), ("rank", c_int32), ("has_validation", c_int32),
                ("zsl_before", c_double), ("h_before", c_double), ("zsl_after", c_double), ("h_after", c_double)]


class DeviceInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("dimensions", c_size_t), ("attributes", c_size_t), ("outputs", c_size_t),
                ("classes", c_size_t), ("seen_classes", c_size_t), ("bytes", c_size_t), ("work_bytes", c_size_t),
                ("multiply_adds", c_uint64), ("gamma", c_double), ("instruction_set", c_char_p),
                ("seen", c_void_p), ("file", c_void_p), ("precision", c_int32), ("rank", c_int32),
                ("source", c_char_p)]


class ReportRun(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("model", c_void_p), ("run_json", c_char_p),
                ("benches", POINTER(c_char_p)), ("bench_count", c_size_t)]


class ReportOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("points", c_size_t), ("explanations", c_size_t), ("compare_mmg", c_int32),
                ("seed", c_uint64), ("photographs", c_char_p), ("own_rows", c_char_p)]


class ReproduceOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("methods", c_char_p), ("seeds", c_uint32), ("seed", c_uint64),
                ("ablation", c_int32), ("sparsity", c_int32), ("report", c_int32), ("points", c_size_t),
                ("own_rows", c_char_p)]


_HANDLE = POINTER(c_void_p)
_TEXT = POINTER(c_char_p)
_BATCH: List[Any] = [c_void_p, c_void_p, c_size_t, c_size_t]  # model, x, samples, dimensions
_WATCHED: List[Any] = [c_uint32, ProgressFunction, c_void_p]  # threads, progress, user

# Functions that return a status, with their arguments.
_STATUS: Dict[str, List[Any]] = {
    "dataset_load": [c_char_p, POINTER(LoadOptions), ProgressFunction, c_void_p, _HANDLE],
    "dataset_from_arrays": [POINTER(Arrays), _HANDLE],
    "dataset_get_info": [c_void_p, POINTER(DatasetInfo)],
    "dataset_class_name": [c_void_p, c_size_t, _TEXT],
    "dataset_attribute_name": [c_void_p, c_size_t, _TEXT],
    "dataset_split": [c_void_p, c_int32, POINTER(c_void_p), POINTER(c_size_t)],
    "options_create": [_HANDLE],
    "options_set": [c_void_p, c_char_p, c_char_p],
    "options_describe": [c_void_p, _TEXT],
    "train": [c_void_p, c_void_p, *_WATCHED, _HANDLE],
    "statistics_create": [_TEXT, c_size_t, c_size_t, POINTER(StatisticsOptions), _HANDLE],
    "statistics_add": [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_uint32],
    "statistics_merge": [c_void_p, c_void_p],
    "statistics_load": [c_char_p, _HANDLE],
    "statistics_save": [c_void_p, c_char_p],
    "statistics_clone": [c_void_p, _HANDLE],
    "train_statistics": [c_void_p, POINTER(Arrays), c_void_p, *_WATCHED, _HANDLE],
    "model_load": [c_char_p, _HANDLE],
    "model_save": [c_void_p, c_char_p],
    "model_clone": [c_void_p, _HANDLE],
    "model_get_info": [c_void_p, POINTER(ModelInfo)],
    "model_class_name": [c_void_p, c_size_t, _TEXT],
    "model_attribute_name": [c_void_p, c_size_t, _TEXT],
    "model_feature_name": [c_void_p, c_size_t, _TEXT],
    "model_set_feature_names": [c_void_p, _TEXT, c_size_t],
    "model_add_classes": [c_void_p, POINTER(c_char_p), c_void_p, c_size_t, c_size_t],
    "model_remove_class": [c_void_p, c_char_p],
    "model_teach": [c_void_p, c_char_p, c_void_p, c_size_t, c_size_t, c_uint32],
    "model_add_class_by_examples": [c_void_p, c_char_p, c_void_p, c_size_t, c_size_t, c_uint32],
    "model_adapt": [c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t, c_uint32, c_uint32, POINTER(Adaptation),
                    c_void_p, c_void_p, c_size_t],
    "model_suggest": [*_BATCH, c_size_t, c_uint32, c_void_p, POINTER(c_size_t)],
    "model_undo_adaptation": [c_void_p],
    "model_calibrate": [c_void_p, c_double, c_double],
    "model_calibrate_on": [c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_uint32],
    "predict_scores": [*_BATCH, c_uint32, c_void_p, c_size_t],
    "predict_confidences": [*_BATCH, c_uint32, c_void_p, c_size_t],
    "rank": [*_BATCH, c_void_p, c_size_t, c_size_t, c_uint32, c_void_p, c_void_p, c_void_p],
    "device_rank": [*_BATCH, c_void_p, c_size_t, c_size_t, c_uint32, c_void_p, c_void_p, c_void_p],
    "device_known": [*_BATCH, c_uint32, c_void_p, c_void_p],
    "predict_top": [*_BATCH, c_int32, c_size_t, c_uint32, c_void_p, c_void_p],
    "model_calibrate_open_set": [c_void_p, c_void_p, POINTER(OpenSetOptions), *_WATCHED],
    "model_get_open_set": [c_void_p, POINTER(OpenSet)],
    "predict_known": [*_BATCH, c_void_p, c_size_t, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p],
    "predict_sets": [*_BATCH, c_double, c_uint32, c_void_p, c_void_p, c_size_t],
    "predict_semantics": [*_BATCH, c_uint32, c_void_p, c_size_t],
    "explain": [c_void_p, c_void_p, c_size_t, POINTER(Explanation), c_void_p, c_void_p, c_size_t, c_void_p, c_size_t],
    "evaluate": [c_void_p, c_void_p, POINTER(EvaluateOptions), *_WATCHED, POINTER(Evaluation)],
    "evaluate_open_set": [c_void_p, c_void_p, POINTER(OpenSetEvaluationOptions), *_WATCHED,
                          POINTER(OpenSetEvaluation)],
    "bootstrap_intervals": [POINTER(Outcomes), POINTER(UncertaintyOptions), c_uint32, POINTER(Intervals)],
    "compare_paired": [POINTER(Outcomes), POINTER(Outcomes), POINTER(UncertaintyOptions), c_uint32,
                       POINTER(Comparison)],
    "export": [c_void_p, c_void_p, POINTER(ExportOptions), *_WATCHED, _HANDLE, POINTER(ExportResult)],
    "device_load": [c_char_p, _HANDLE],
    "device_save": [c_void_p, c_char_p],
    "device_save_header": [c_void_p, c_char_p, c_char_p],
    "device_get_info": [c_void_p, POINTER(DeviceInfo)],
    "device_class_name": [c_void_p, c_size_t, _TEXT],
    "device_scores": [*_BATCH, c_uint32, c_void_p, c_size_t],
    "device_evaluate": [c_void_p, c_void_p, *_WATCHED, POINTER(Evaluation)],
    "report": [POINTER(POINTER(ReportRun)), c_size_t, c_void_p, POINTER(ReportOptions), *_WATCHED, c_char_p],
    "reproduce": [c_char_p, c_char_p, POINTER(ReproduceOptions), *_WATCHED],
    "table_text": [c_char_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t)],
}
_OTHER: Dict[str, Tuple[List[Any], Any]] = {
    "last_error_parts": ([], c_char_p),
    "version": ([], c_char_p),
    "abi_version": ([], c_uint32),
    "dataset_free": ([c_void_p], None),
    "options_free": ([c_void_p], None),
    "model_free": ([c_void_p], None),
    "device_free": ([c_void_p], None),
    "statistics_free": ([c_void_p], None),
}


def _candidates() -> Iterator[str]:
    """Yield $PARSNETS_LIBRARY alone if it is set, otherwise files in this folder, in the source tree's build, on the
    system.
    """
    given = os.environ.get("PARSNETS_LIBRARY")
    if given:
        yield given
        return
    yield from sorted(str(path) for path in Path(__file__).parent.glob(_STEM + "*"))
    built = Path(__file__).resolve().parents[2] / "build" / "src" / _STEM
    if built.is_file():
        yield str(built)
    found = ctypes.util.find_library("parsnets")  # starts processes
    if found:
        yield found
    yield _STEM


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Return the loaded library, with the types of its functions set. Calls release the GIL."""
    problems = []
    for name in _candidates():
        try:
            lib = ctypes.CDLL(name)
        except OSError as error:
            problems.append(f"{name}: {error}")
            continue
        try:
            for function, arguments in _STATUS.items():
                entry = getattr(lib, "parsnets_" + function)
                entry.argtypes, entry.restype = arguments, c_int32
            for function, (arguments, result) in _OTHER.items():
                entry = getattr(lib, "parsnets_" + function)
                entry.argtypes, entry.restype = arguments, result
        except AttributeError as error:
            problems.append(f"{name}: not a ParsNets library of this version ({error})")
            continue
        if lib.parsnets_abi_version() != ABI_VERSION:
            problems.append(f"{name}: expected ABI version {ABI_VERSION}, found {lib.parsnets_abi_version()}")
            continue
        return lib
    raise ParsNetsError("cannot load the ParsNets library; install it or set PARSNETS_LIBRARY to its file. Tried:\n  "
                        + "\n  ".join(problems))


_ERRORS: Dict[int, Type[ParsNetsError]] = {2: UsageError, 3: BadInputError, 130: CancelledError}


def keyword(option: str) -> str:
    """Return the parameter for an option of the engine, such as max_bytes for max-bytes."""
    return option.replace("-", "_")


def call(function: str, *arguments: Any, parameter_of: Callable[[str], str] = keyword) -> None:
    """Call parsnets_<function>. Raises the exception that matches its status.

    parameter_of: returns the name that messages give to an option of the engine.
    """
    status = run(getattr(library(), "parsnets_" + function), *arguments)
    if status != 0:
        raise last_error(status, parameter_of)


def last_error(status: int, parameter_of: Callable[[str], str] = keyword) -> ParsNetsError:
    """Return the exception for a status other than 0, with the engine's message."""
    parts = json.loads(library().parsnets_last_error_parts())
    message = "".join(part if isinstance(part, str) else _mention(part, parameter_of) for part in parts)
    return _ERRORS.get(status, ParsNetsError)(message)


def _mention(part: Mapping[str, str], parameter_of: Callable[[str], str]) -> str:
    """Return max_bytes for an option, missing='zero' for an option with a value."""
    name, value = parameter_of(part["option"]), part.get("value")
    if value is None:
        return name
    if part["option"] == "max-drop":  # points in the engine
        value = f"{float(value) / 100:g}"
    written = {"true": "True", "false": "False"}.get(value, value)
    return f"{name}={written if written != value or _is_number(value) else repr(value)}"


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def version() -> str:
    """Return the version of the engine, such as "1.0.0"."""
    return str(library().parsnets_version().decode())


def unsigned(value: Any, what: str, bits: int) -> int:
    """Return an integer that fits into `bits` bits. ctypes would silently wrap others."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << bits:
        raise UsageError(f"{what}: expected an integer from 0 to {(1 << bits) - 1}, found {value!r}")
    return number


def real(value: Any, what: str) -> float:
    """Return a number. Text is rejected."""
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise UsageError(f"{what}: expected a number, found {value!r}")


def text(value: str, what: str) -> bytes:
    """Return UTF-8 for the engine. A NUL, which would end the text early, is rejected."""
    if not isinstance(value, str):
        raise UsageError(f"{what}: expected text, found {value!r}")
    data = value.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise BadInputError(f"{what}: expected text without a NUL, found {value!r}; remove it")
    return data


def text_at(function: str, handle: c_void_p, index: int) -> Optional[str]:
    """Return the result of parsnets_<function>(handle, index, &text), or None for NULL."""
    found = c_char_p()
    call(function, handle, index, ctypes.byref(found))
    return None if found.value is None else found.value.decode("utf-8", "surrogateescape")


def copy_at(start: Optional[int], kind: Any, *shape: int) -> NDArray[Any]:
    """Return a read-only copy of the engine's memory at an address."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.frombuffer(ctypes.string_at(start, size) if start else b"", kind).reshape(shape)
