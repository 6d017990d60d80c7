"""Puts the engine (libparsnets.so, the command line tool, parsnets-decode) and the demo data set into the package.

The engine is in the build folder $PARSNETS_BUILD (an absolute path), else in ../build, where it is built with CMake if
it is not there yet; the source distribution has its sources in engine/. What else is made on the way goes to a
temporary folder. The wheel belongs to one platform, but to every Python.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # setuptools >= 70.1
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
ROOT = HERE / "engine" if (HERE / "engine").is_dir() else HERE.parent  # in the source distribution, or the source tree
ENGINE = ("src/libparsnets.so", "parsnets", "parsnets-decode")  # in a build folder


def version() -> str:
    """The version of the engine's sources, which is that of the package."""
    try:
        project = (ROOT / "CMakeLists.txt").read_text()
    except OSError:
        sys.exit(f"parsnets: expected the engine's sources in {ROOT}, found none; install from the folder python/ of "
                 "the source tree (with pip >= 21.3)")
    return re.search(r"^project\(parsnets VERSION ([0-9.]+)", project, re.M).group(1)


def build_engine(folder: Path) -> None:
    """Configures and builds library and tool in folder, as `make build` does."""
    packages = re.search(r'^build="([^"]*)"', (ROOT / "scripts/setup.sh").read_text(), re.M).group(1).split()
    advice = "on Debian or Ubuntu install what the build needs, as root:\n  apt-get install " + " ".join(packages)
    tools = ("cmake", "ninja", "pkg-config", os.environ.get("CXX", "c++"), os.environ.get("CC", "cc"))
    missing = [tool for tool in tools if not shutil.which(tool.split()[0])]
    if missing:
        sys.exit(f"parsnets: the engine is not built and cannot be: {', '.join(missing)} not found; {advice}")
    print(f"building the engine in {folder}; this takes some minutes", flush=True)
    configure = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DPARSNETS_BUILD_TESTS=OFF", "-DPARSNETS_BUILD_BENCH=OFF"]
    if subprocess.run(configure).returncode:
        sys.exit(f"parsnets: CMake cannot configure the engine (its messages are above); {advice}")
    if subprocess.run(["cmake", "--build", folder, "--target", "parsnets_shared", "parsnets_cli",
                       "parsnets_decode"]).returncode:
        sys.exit("parsnets: the engine does not build (the compiler's messages are above)")


def find_engine() -> Path:
    """The build folder that holds library and tool."""
    given = os.environ.get("PARSNETS_BUILD")
    folder = Path(given) if given else ROOT / "build"
    if all((folder / file).is_file() for file in ENGINE):
        return folder
    if given:
        sys.exit(f"parsnets: PARSNETS_BUILD: expected a folder with {', '.join(ENGINE)}, found {given}; "
                 "build the targets parsnets_shared and parsnets_cli there")
    build_engine(folder)
    return folder


class BuildWithEngine(build_py):
    def run(self):
        super().run()
        engine = find_engine()
        if getattr(self, "editable_mode", False):  # uses the source tree as it is
            return
        package = Path(self.build_lib, "parsnets")
        for file in ENGINE:
            shutil.copy2(engine / file, package)
        shutil.copytree(ROOT / "data" / "demo", package / "demo", dirs_exist_ok=True)
        shutil.copy2(ROOT / "scripts" / "demo.sh", package / "demo")
        shutil.copy2(ROOT / "LICENSE", package)


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


with tempfile.TemporaryDirectory() as scratch:
    setup(version=version(), distclass=BinaryDistribution,
          cmdclass={"build_py": BuildWithEngine, "bdist_wheel": PlatformWheel},
          options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}})
