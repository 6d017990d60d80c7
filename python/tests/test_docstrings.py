"""The docstrings of the public API: every parameter is described, with the default that it has."""

import ast
import importlib.util
import inspect
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "python_reference.py"
_spec = importlib.util.spec_from_file_location("python_reference", _SCRIPT)
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)


def _documented():
    """Every public class, function, method and property by its full name."""
    for module in reference.public_modules():
        for name, value in reference.public_objects(module).items():
            yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                for key, member in reference.public_members(value).items():
                    yield f"{module.__name__}.{name}.{key}", member


DOCUMENTED = dict(_documented())
CALLED = {name: value for name, value in DOCUMENTED.items() if not isinstance(value, property)
          and reference.parameters(reference.function_of(value))}


def _described(name):
    """The entries of Parameters by name; dataclasses list what they are made from as Attributes."""
    parts = reference.sections(reference.function_of(CALLED[name]).__doc__)
    made = hasattr(CALLED[name], "__dataclass_fields__") and "Parameters" not in parts
    listed = reference.entries(parts.get("Attributes" if made else "Parameters", ""))
    return {one: entry for entry in listed for one in entry.names}, made


def test_the_public_names_are_found():
    assert {"parsnets.classifier.ParsNetsClassifier", "parsnets.metrics.ausuc",
            "parsnets.classifier.ZeroShotClassifier.fit", "parsnets.device.DeviceModel.load"} <= DOCUMENTED.keys()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_docstring_starts_with_one_sentence(name):
    summary = reference.sections(reference.function_of(DOCUMENTED[name]).__doc__)[""].split("\n\n")[0]
    assert summary.endswith((".", ".)")) and "\n" not in summary


@pytest.mark.parametrize("name", CALLED)
def test_the_parameters_of_a_docstring_are_those_of_the_signature(name):
    listed, _ = _described(name)
    assert list(listed) == list(reference.parameters(reference.function_of(CALLED[name])))


@pytest.mark.parametrize("name", CALLED)
def test_every_entry_has_a_type_and_a_text_that_is_a_sentence(name):
    listed, _ = _described(name)
    assert not [one for one, entry in listed.items() if not entry.kind or not entry.text.endswith((".", ".)"))]


@pytest.mark.parametrize("name", CALLED)
def test_the_defaults_of_a_docstring_are_those_of_the_signature(name):
    listed, made = _described(name)
    if made:
        return  # attributes: results are never made by hand
    real = {one: parameter.default
            for one, parameter in reference.parameters(reference.function_of(CALLED[name])).items()
            if parameter.default is not parameter.empty}
    assert {one: ast.literal_eval(entry.default) for one, entry in listed.items() if entry.default} == real
