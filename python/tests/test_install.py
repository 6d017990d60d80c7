"""The package installed as a user does it, on the engine that is already built, and used from elsewhere."""

import importlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
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


def test_the_installed_programs_load_nothing_from_the_current_folder(installed):
    (library,) = Path(installed).parents[1].glob("lib/python3*/site-packages/parsnets/libparsnets.so")
    result = subprocess.run([str(ROOT / "tests" / "run_path_test.sh"), str(library.parent)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout


def signals(process, which):
    """Numbers of the signals that a process catches (SigCgt) or ignores (SigIgn)."""
    (mask,) = [int(line.split()[1], 16) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
               if line.startswith(which)]
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_the_tool_takes_the_place_of_python_with_its_signals(installed, tmp_path):
    endless = ["--method", "paper", "--c", "10000", "--epsilon", "0", "--tolerance", "1e-9", "--max-passes", "10000000"]
    command = [installed, "-m", "parsnets", "train", "--data", str(ROOT / "data" / "demo"), *endless,
               "--out", str(tmp_path / "demo.safetensors")]
    process = subprocess.Popen(command, env=CLEAN, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        assert any(line.startswith("pass ") for line in process.stderr)  # it trains
        assert Path(f"/proc/{process.pid}/exe").resolve().name == "parsnets"
        assert signal.SIGINT in signals(process, "SigCgt") and signal.SIGPIPE not in signals(process, "SigIgn")
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130
    finally:
        process.kill()


def test_the_script_starts_the_tool_without_numpy_and_scikit_learn(installed):
    script = str(Path(installed).with_name("parsnets"))
    result = subprocess.run([installed, "-X", "importtime", script, "--version"], env=CLEAN, cwd="/",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 0 and result.stdout
    assert "parsnets.__main__" in result.stderr and "numpy" not in result.stderr and "sklearn" not in result.stderr


def test_the_package_s_own_script_is_no_tool(installed):
    script = str(Path(installed).with_name("parsnets"))
    result = subprocess.run([script, "--version"], env={**CLEAN, "PARSNETS_CLI": script}, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 1
    assert f"PARSNETS_CLI: expected the command line tool, a program and not a script, found {script};" in result.stdout


def test_a_given_build_without_an_engine_is_refused(python, tmp_path):
    result = pip_install(python, ROOT / "python", PARSNETS_BUILD=str(tmp_path))
    assert result.returncode != 0
    assert f"expected a folder with src/libparsnets.so, parsnets, parsnets-decode, found {tmp_path}" in result.stdout


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


# ---- The wheel ----

without = [tool for tool in ("patchelf", "cc", "nm", "dpkg") if not shutil.which(tool)]
makes_wheels = pytest.mark.skipif(bool(without), reason=f"NOT TESTED: no {', '.join(without)} to make wheels with")


@pytest.fixture
def vendoring(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "python" / "packaging"))
    return importlib.import_module("vendor_libraries")


def compiled(folder, name, code, *flags):
    """A shared library lib<name>.so of C code, found by those that are linked with it."""
    (folder / f"{name}.c").write_text(code)
    out = folder / f"lib{name}.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{out.name},-rpath,{folder}", folder / f"{name}.c", "-o",
                    out, *flags], check=True)
    return out


@makes_wheels
@pytest.mark.parametrize("script", ["", "V_1 { global: remote; };"], ids=["without", "with a version"])
def test_a_stub_takes_the_place_of_the_needless_libraries_that_there_are(vendoring, monkeypatch, tmp_path, script):
    (tmp_path / "map").write_text(script)
    flags = [f"-Wl,--version-script={tmp_path / 'map'}"] if script else []
    needless = compiled(tmp_path, "needless", "int remote(void) { return 7; } int bare(void) { return 7; }", *flags)
    user = compiled(tmp_path, "user", "int remote(void), bare(void); int used(void) { return 1 + remote() + bare(); }",
                    needless)
    program = compiled(tmp_path, "program", "int used(void); int start(void) { return used(); }", user)
    monkeypatch.setattr(vendoring, "NEEDLESS", (needless.name, "libnowhere.so.1"))
    carried = vendoring.vendor([program], tmp_path / "carried")
    assert [file.name for file in carried] == ["libuser.so"]
    subprocess.run([str(ROOT / "tests" / "run_path_test.sh"), str(tmp_path / "carried")], check=True)
    needless.unlink()
    user.unlink()
    (tmp_path / "package").mkdir()
    moved = shutil.copy(program, tmp_path / "package")  # beside the folder of the libraries, as in a wheel
    started = [sys.executable, "-c", f"import ctypes, os; print(ctypes.CDLL({str(moved)!r}, os.RTLD_NOW).start())"]
    assert subprocess.run(started, stdout=subprocess.PIPE, text=True).stdout == "1\n"


@makes_wheels
def test_without_needless_libraries_there_is_no_stub(vendoring, tmp_path):
    user = compiled(tmp_path, "user", "int used(void) { return 1; }")
    program = compiled(tmp_path, "program", "int used(void); int start(void) { return used(); }", user)
    vendoring.vendor([program], tmp_path / "carried")
    assert [file.name.split("-")[0] for file in (tmp_path / "carried").iterdir()] == ["libuser"]


@makes_wheels
def test_wheels_carry_the_licences_of_their_libraries_and_of_what_is_compiled_in(vendoring, tmp_path):
    (library,) = [place for name, place in vendoring.places(BUILD / "parsnets-decode").items()
                  if name.startswith("libhdf5")]
    vendoring.copy_licences([library], tmp_path)
    written = {file.stem: file.read_text("utf-8") for file in tmp_path.iterdir()}
    assert set(written) == {vendoring.owner(library), *vendoring.COMPILED_IN}
    assert "Boost" in written["libasio-dev"] and "Bostock" in written["node-d3"]


@makes_wheels
def test_a_library_without_a_licence_is_named(vendoring, monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="libours.so: expected a library of a Debian package.*no package owns"):
        vendoring.copy_licences([compiled(tmp_path, "ours", "int ours(void) { return 1; }")], tmp_path / "licenses")
    monkeypatch.setattr(vendoring, "COMPILED_IN", ("no-such-package",))
    with pytest.raises(SystemExit, match="expected the licence of no-such-package.*install"):
        vendoring.copy_licences([], tmp_path / "licenses")
