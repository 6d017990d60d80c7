"""The docstrings of the public API: every parameter is described, with the default that it has."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "python_reference.py"
_spec = importlib.util.spec_from_file_location("python_reference", _SCRIPT)
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

# Nobody calls their constructors: functions return them, or classes derive from them.
NOT_CONSTRUCTED = {"AcceptedShare", "Adaptation", "Dataset", "DeviceModel", "Evaluation", "Explanation", "Interval",
                   "OpenSetEvaluation", "OpenSetQuality", "PairedTest", "Rejection", "Reproduction", "SetResult",
                   "ZeroShotClassifier"}


def _documented():
    """Every public class, function, method and property by its name, such as `DeviceModel.load`."""
    for module in reference.public_modules():
        for name, value in reference.public_objects(module).items():
            yield name, value
            if inspect.isclass(value):
                for key, member in reference.public_members(value).items():
                    yield f"{name}.{key}", member


MEMBERS = dict(_documented())
DOCUMENTED = {name: reference.function_of(member) for name, member in MEMBERS.items()}
CALLED = {name: reference.parameters(value) for name, value in DOCUMENTED.items()
          if name not in NOT_CONSTRUCTED and reference.parameters(value)}
FUNCTIONS = [name for name, member in MEMBERS.items()
             if not isinstance(member, property) and not inspect.isclass(member)]


def _described(name):
    """The entries of Parameters by parameter; for `See :class:`Other`.` those of the other class or function."""
    listed = {}
    for entry in reference.entries(reference.sections(DOCUMENTED[name].__doc__).get("Parameters", "")):
        other = re.match(r"See :\w+:`([\w.]+)`", entry.text)
        listed.update({one: _described(other.group(1))[one] if other else entry for one in entry.names})
    return listed


def test_the_public_names_are_found():
    assert {"ParsNetsClassifier", "ausuc", "ZeroShotClassifier.fit", "DeviceModel.load", "Dataset.y",
            "dask.ParsNetsClassifier.fit"} <= set(DOCUMENTED)
    assert {"ParsNetsClassifier", "ausuc", "ZeroShotClassifier.transform", "DeviceModel.load"} <= set(CALLED)
    assert "DeviceModel.load" in FUNCTIONS and "Dataset.y" not in FUNCTIONS


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_docstring_starts_with_a_line_that_ends_in_a_full_stop(name):
    summary = reference.sections(DOCUMENTED[name].__doc__)[""].split("\n\n")[0]
    assert re.fullmatch(r".*\.\)?", summary)


@pytest.mark.parametrize("name", CALLED)
def test_the_parameters_of_a_docstring_are_those_of_the_signature(name):
    assert list(_described(name)) == list(CALLED[name])


@pytest.mark.parametrize("name", CALLED)
def test_a_parameter_has_a_type_and_a_text(name):
    bare = [one for one, entry in _described(name).items() if not entry.kind or not re.search(r"\.\)?$", entry.text)]
    assert bare == []


@pytest.mark.parametrize("name", CALLED)
def test_the_defaults_of_a_docstring_are_those_of_the_signature(name):
    stated = {one: ast.literal_eval(entry.default) for one, entry in _described(name).items() if entry.default}
    assert stated == {one: parameter.default for one, parameter in CALLED[name].items()
                      if parameter.default is not parameter.empty}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_returns_is_described(name):
    nothing = inspect.signature(DOCUMENTED[name]).return_annotation in ("None", None)
    assert nothing == reference.sections(DOCUMENTED[name].__doc__).keys().isdisjoint({"Returns", "Yields"})
