"""Parameters of estimators follow the option table of the engine, which is the only list of options."""

import ctypes
import inspect
import json
import re

import pytest

from parsnets import DAP, ESZSL, SAE, ParsNetsClassifier, RidgeZSL
from parsnets._base import _OWN
from parsnets._library import call, library

ESTIMATORS = [ParsNetsClassifier, RidgeZSL, ESZSL, SAE, DAP]


@pytest.fixture(scope="module")
def table():
    """Rows of the table by name."""
    options, described = ctypes.c_void_p(), ctypes.c_char_p()
    call("options_create", ctypes.byref(options))
    try:
        call("options_describe", options, ctypes.byref(described))
        return {row["name"]: row for row in json.loads(described.value)}
    finally:
        library().parsnets_options_free(options)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_a_row_of_the_table(table, estimator):
    assert set(estimator._options().values()) <= set(table)
    for name in inspect.signature(estimator).parameters:
        assert (name in estimator._options()) != (name in _OWN), name


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_leave_defaults_to_the_table(estimator):
    defaults = {name: parameter.default for name, parameter in inspect.signature(estimator).parameters.items()}
    assert [name for name in estimator._options() if defaults[name] is not None] == []


def test_documented_choices_are_those_of_the_table(table):
    documented = dict(re.findall(r"^    (\w+) : \{(.*?)\}, default", ParsNetsClassifier.__doc__, re.M))
    options = {**ParsNetsClassifier._options(), "search": "search"}
    checked = {name: sorted(re.findall(r'"([^"]*)"', choices)) for name, choices in documented.items()}
    assert checked == {name: sorted(table[option]["choices"]) for name, option in options.items()
                       if table[option]["choices"] and not table[option]["expected"].startswith("true")}


def test_estimators_know_every_method(table):
    assert set(ParsNetsClassifier._methods) - {""} == set(table["method"]["choices"])
    assert {method for e in ESTIMATORS[1:] for method in e._methods} <= set(table["method"]["choices"])
