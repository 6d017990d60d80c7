"""Uses an installed package as its user would, and fails where it does not work.

Usage: python check_installation.py [--self-contained]

With --self-contained, libraries that a plain system lacks must come from the package, too.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

for variable in ("PARSNETS_LIBRARY", "PARSNETS_CLI", "PARSNETS_DEMO", "PYTHONPATH"):
    assert variable not in os.environ, f"{variable} is set, which would hide what is missing"

import numpy as np  # noqa: E402 - the environment is checked first
import sklearn.model_selection  # noqa: E402, F401 - loads libraries of its own before ours are listed


def mapped_libraries():
    """Files of this process whose names begin with lib; Python's own extension modules do not."""
    with open("/proc/self/maps") as maps:
        files = {Path(line.split(maxsplit=5)[5].strip()) for line in maps if "/" in line}
    return {file for file in files if file.name.startswith("lib") and ".so" in file.name}


before = mapped_libraries()
import parsnets  # noqa: E402
from parsnets import ParsNetsClassifier, datasets, metrics  # noqa: E402
from vendor_libraries import COMPILED_IN, ON_EVERY_SYSTEM, places  # noqa: E402 - beside this file

package = Path(parsnets.__file__).resolve().parent
COMMANDS = ([sys.executable, "-m", "parsnets"], [str(Path(sys.prefix, "bin", "parsnets"))])


def check_versions():
    versions = {importlib.metadata.version("parsnets"), parsnets.__version__, parsnets.engine_version()}
    assert len(versions) == 1, f"expected one version, found {versions}"
    for command in COMMANDS:
        said = subprocess.run([*command, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert said.split() == ["parsnets", *versions], said
        assert subprocess.run([*command, "no-such-command"], stderr=subprocess.DEVNULL).returncode == 2


def check_training():
    data = datasets.load_demo()
    model = ParsNetsClassifier().fit(data.X[data.trainval], data.y[data.trainval],
                                     class_attributes=data.class_attributes)
    found = model.predict(data.X[data.test_unseen], classes="unseen")
    accuracy = metrics.per_class_accuracy(data.y[data.test_unseen], found)
    assert accuracy > 0.9, f"expected unseen classes of the demo set to be found, found an accuracy of {accuracy}"


def check_formats():
    """Archives and MAT files are read: their libraries work."""
    data = datasets.load_demo()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(package / "demo", Path(scratch, "npz")))
        (folder / "features.npy").unlink()
        np.savez_compressed(folder / "features.npz", features=data.X)
        again = datasets.load_folder(folder)
        assert again.class_names == data.class_names and np.array_equal(again.X, data.X)
    mat73 = datasets.load_folder(Path(__file__).with_name("mat73"))
    assert mat73.class_names == list("abcdef") and np.array_equal(mat73.X, np.arange(24.0).reshape(12, 2))


def check_libraries(self_contained):
    ours = {file for file in mapped_libraries() - before if package.parent in file.parents}
    assert package / "libparsnets.so" in ours, f"expected the package's own engine, found {ours}"
    if not self_contained:
        return
    others = mapped_libraries() - before - ours
    for program in (package / "libparsnets.so", package / "parsnets", package / "parsnets-decode"):
        others |= {place for place in places(program).values() if package.parent not in place.parents}
    others = {file for file in others if not ON_EVERY_SYSTEM.fullmatch(file.name)}
    assert not others, f"expected all libraries from the package, found {others}"
    licences = {file.stem for file in importlib.metadata.files("parsnets") if file.parent.name == "licenses"}
    assert licences > set(COMPILED_IN), f"expected licences of {COMPILED_IN} and of libraries, found {licences}"
    print("libraries of the package:", *sorted(file.name for file in ours))


check_versions()
check_training()
check_formats()
check_libraries("--self-contained" in sys.argv[1:])
print(f"parsnets {parsnets.__version__} works in {package}")
