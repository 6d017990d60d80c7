#!/usr/bin/env python3
"""Which symbols keep a wheel, an archive or a folder from older systems.

  glibc_report.py FILE.whl|FILE.tar.xz|FOLDER [--most 2.34]

Prints, newest first, the versions of glibc that its programs and libraries ask for, with the symbols and the files;
what they expect of the system; and the oldest systems that have all of it. With --most, exit code 1 if a newer glibc is
needed, or a library that is neither in there nor on every system (PEP 600).
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

ON_EVERY_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt|gcc_s|z))\.so\.[0-9.]+")
SYSTEMS = ((28, "RHEL 8"), (31, "Debian 11, Ubuntu 20.04"), (34, "RHEL 9"), (35, "Ubuntu 22.04"), (36, "Debian 12"),
           (39, "Ubuntu 24.04"), (41, "Debian 13"))
SHOWN = 4  # versions, and symbols of each


def programs(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def needs_of(folder):
    """{version of glibc: {symbol: files}}, and the names of libraries that are expected and not in the folder."""
    symbols, wanted, here = defaultdict(lambda: defaultdict(set)), set(), set()
    for path in programs(folder):
        here.add(path.name)
        wanted |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", "-W", path)))
        for symbol, version in re.findall(r" UND (\S+)@GLIBC_2\.(\d+)\b", output("readelf", "--dyn-syms", "-W", path)):
            symbols[int(version)][symbol].add(path.name)
    return symbols, wanted - here


def unpack(source, scratch):
    if source.is_dir():
        return source
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            archive.extractall(scratch)
    else:
        with tarfile.open(source) as archive:
            archive.extractall(scratch)
    return Path(scratch)


def report(source, most):
    """The lines, and whether all is as it should be."""
    with tempfile.TemporaryDirectory() as scratch:
        symbols, outside = needs_of(unpack(source, scratch))
    if not symbols:
        return [f"{source.name}: expected programs or libraries that use glibc, found none"], False
    newest = max(symbols)
    lines = [f"{source.name}: glibc 2.{newest} or newer: "
             + "; ".join(name for version, name in SYSTEMS if version >= newest)]
    for version in sorted(symbols, reverse=True)[:SHOWN]:
        names = sorted(symbols[version])
        files = sorted(set().union(*symbols[version].values()))
        lines.append(f"  2.{version}: {', '.join(names[:SHOWN])}"
                     + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "") + f" ({', '.join(files)})")
    strange = sorted(name for name in outside if not ON_EVERY_SYSTEM.fullmatch(name))
    lines.append("  of the system: " + ", ".join(sorted(outside - set(strange))))
    if strange:
        lines.append("  EXPECTED INSIDE: " + ", ".join(strange))
    return lines, newest <= most and not strange


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--most", default="2.99", help="the newest glibc that may be needed")
    options = parser.parse_args()
    lines, right = report(options.source, int(options.most.partition(".")[2]))
    print("\n".join(lines))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
