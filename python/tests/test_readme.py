"""The examples in the README and in docstrings run and print what they say."""

import doctest
import importlib
import re
from pathlib import Path

import pytest


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", text, re.S).group(1), {})
    accuracy, why = capsys.readouterr().out.splitlines()
    assert float(accuracy) > 0.9 and why.startswith("[('")
    assert (tmp_path / "demo.safetensors").stat().st_size > 1000


@pytest.mark.parametrize("module", ["baselines", "classifier", "datasets", "metrics", "model_selection"])
def test_examples_of_docstrings_print_what_they_say(module):
    failed, tried = doctest.testmod(importlib.import_module(f"parsnets.{module}"))
    assert tried > 0 and failed == 0
