"""Tests run against the source tree: its shared library unless PARSNETS_LIBRARY is set, its tool, its demo data."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("PARSNETS_LIBRARY", str(ROOT / "build" / "src" / "libparsnets.so"))

from parsnets import datasets  # noqa: E402


@pytest.fixture(scope="session")
def demo():
    return datasets.load_folder(ROOT / "data" / "demo")


@pytest.fixture(scope="session")
def tool():
    file = Path(os.environ.get("PARSNETS_CLI", ROOT / "build" / "parsnets"))
    if not file.is_file():
        pytest.skip("the command line tool is not built")
    return file
