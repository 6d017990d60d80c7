"""The package installed as a user does it, on the engine that is already built, and used from elsewhere."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PARSNETS_BUILD", ROOT / "build")).resolve()
OURS = ("PARSNETS_LIBRARY", "PARSNETS_CLI", "PARSNETS_DEMO", "PARSNETS_BUILD", "PYTHONPATH")
CLEAN = {name: value for name, value in os.environ.items() if name not in OURS}

missing = [name for name in ("venv", "ensurepip", "pip", "setuptools", "wheel") if not importlib.util.find_spec(name)]
pytestmark = [
    pytest.mark.skipif(bool(missing), reason=f"NOT TESTED: this Python lacks {', '.join(missing)}"),
    pytest.mark.skipif(not (BUILD / "src" / "libparsnets.so").is_file(), reason="NOT TESTED: the engine is not built"),
]


def pip_install(python, folder, **variables):
    return subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-index", "--no-deps",
                           str(folder)], env={**CLEAN, **variables}, cwd="/", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of a fresh environment with nothing of ours."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(folder)], check=True)
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def installed(python):
    result = pip_install(python, ROOT / "python", PARSNETS_BUILD=str(BUILD))
    assert result.returncode == 0, result.stdout
    return python


def test_the_installed_package_works_from_elsewhere(installed, tmp_path):
    check = shutil.copytree(ROOT / "python" / "packaging", tmp_path / "packaging") / "check_installation.py"
    result = subprocess.run([installed, str(check)], env=CLEAN, cwd=tmp_path, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout
    assert str(Path(installed).parents[1]) in result.stdout


def test_installing_writes_nothing_into_the_source_tree(installed):
    left = [str(file) for pattern in ("build", "*.egg-info", "parsnets/parsnets", "parsnets/*.so*", "parsnets/demo")
            for file in (ROOT / "python").glob(pattern)]
    assert left == []


def signals(process, which):
    """Numbers of the signals that a process catches (SigCgt) or ignores (SigIgn)."""
    (mask,) = [int(line.split()[1], 16) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
               if line.startswith(which)]
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_the_tool_takes_the_place_of_python_with_its_signals(installed, tmp_path):
    command = [installed, "-m", "parsnets", "train", "--data", str(ROOT / "data" / "demo"), "--quiet",
               "--out", str(tmp_path / "demo.safetensors"), "--refine-steps", "100000"]
    process = subprocess.Popen(command, env=CLEAN, cwd=tmp_path)
    program = Path(f"/proc/{process.pid}/exe")
    try:
        start = time.monotonic()
        while program.resolve().name != "parsnets" or signal.SIGINT not in signals(process, "SigCgt"):
            assert process.poll() is None and time.monotonic() - start < 60
            time.sleep(0.05)
        assert signal.SIGPIPE not in signals(process, "SigIgn")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()


def test_a_given_build_without_an_engine_is_refused(python, tmp_path):
    result = pip_install(python, ROOT / "python", PARSNETS_BUILD=str(tmp_path))
    assert result.returncode != 0
    assert f"expected a folder with src/libparsnets.so and parsnets, found {tmp_path}" in result.stdout


def test_without_an_engine_and_without_tools_to_build_it_their_packages_are_named(python, tmp_path):
    shutil.copytree(ROOT / "python", tmp_path / "python", ignore=shutil.ignore_patterns("tests", "__pycache__"))
    alone = pip_install(python, tmp_path / "python")
    assert alone.returncode != 0 and "expected the engine's sources" in alone.stdout
    for file in ("CMakeLists.txt", "scripts/setup.sh"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    bare = pip_install(python, tmp_path / "python", PATH="/nowhere", CXX="c++", CC="cc")
    assert bare.returncode != 0 and "cmake, ninja, pkg-config, c++, cc not found" in bare.stdout
    assert "apt-get install g++ cmake" in bare.stdout
