"""Importing the package, which is lazy."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import parsnets

PACKAGE = Path(__file__).resolve().parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE)}


def python(*arguments):
    return subprocess.run([sys.executable, *arguments], env=ENVIRONMENT, capture_output=True, text=True)


def test_the_command_line_tool_starts_without_numpy_and_scikit_learn(tool):
    run = python("-X", "importtime", "-m", "parsnets", "--version")
    assert run.returncode == 0 and run.stdout
    loaded = {line.rsplit("|", 1)[1].strip().split(".")[0] for line in run.stderr.splitlines() if "|" in line}
    assert "parsnets" in loaded and not loaded & {"numpy", "sklearn", "scipy", "pandas", "ctypes"}


def test_names_are_found_when_they_are_asked_for_and_only_then():
    run = python("-c", "import sys, parsnets; before = set(sys.modules)\n"
                       "parsnets.BadInputError; print('numpy' in sys.modules, 'parsnets.errors' in before)\n"
                       "parsnets.datasets.from_arrays; print('sklearn' in sys.modules, 'numpy' in sys.modules)")
    assert run.stdout.split() == ["False", "False", "False", "True"], run.stderr


def test_every_name_can_be_imported():
    names = sorted({*parsnets.__all__, *parsnets._MODULES, *parsnets._MODULE_OF})
    lines = [f"from parsnets import {name}; assert parsnets.{name} is {name}" for name in names]
    run = python("-c", "\n".join(["import parsnets", *lines, "from parsnets import *"]))
    assert run.returncode == 0, run.stderr


def test_type_checkers_see_the_names_that_there_are():
    """Those of the imports for them are those that are found, and __all__ is among them."""
    tree = ast.parse((PACKAGE / "parsnets" / "__init__.py").read_text())
    (checked,) = [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]
    seen = {}
    for node in checked.body:
        for alias in node.names:
            seen[alias.asname or alias.name] = node.module or alias.name
    assert seen == {**{name: name for name in parsnets._MODULES}, **parsnets._MODULE_OF}
    assert set(parsnets.__all__) <= set(seen) and set(seen) <= set(dir(parsnets))


def test_names_that_there_are_not_are_refused():
    with pytest.raises(AttributeError, match="'parsnets' has no attribute 'ParsNetClassifier'"):
        parsnets.ParsNetClassifier
    with pytest.raises(ImportError, match="nothing"):
        from parsnets import nothing  # noqa: F401 - the import fails
