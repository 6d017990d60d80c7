"""The version is written once, in CMakeLists.txt; everything else reads it or agrees with it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import parsnets

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(parsnets VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


def test_the_package_has_the_version_of_the_engine():
    assert parsnets.__version__ == parsnets.engine_version() == VERSION
    assert "__version__" in dir(parsnets)


def test_setup_takes_it_from_the_engine_s_sources():
    code = ("import setuptools, runpy\n"
            "setuptools.setup = lambda **given: print(given['version'])\n"
            "runpy.run_path('setup.py')")
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "python", env={**os.environ, "PYTHONPATH": ""},
                         capture_output=True, text=True)
    assert run.stdout.strip() == VERSION, run.stderr
    package = (ROOT / "python/parsnets/__init__.py").read_text() + (ROOT / "python/pyproject.toml").read_text()
    assert VERSION not in package


@pytest.mark.parametrize("file, pattern", [
    ("CITATION.cff", r"^version: (\S+)$"),
    ("docs/parsnets.1", r'"parsnets (\d+\.\d+\.\d+)"'),
    ("docs/report.md", r'"producer": "parsnets (\d+\.\d+\.\d+)"'),
    ("include/parsnets/parsnets.h", r'such as "(\d+\.\d+\.\d+)"'),
    ("python/parsnets/_library.py", r'such as "(\d+\.\d+\.\d+)"'),
])
def test_pages_and_comments_agree_with_it(file, pattern):
    assert re.findall(pattern, (ROOT / file).read_text(), re.M) == [VERSION]
