#!/usr/bin/env python3
"""SPDX 2.3 of a release: sbom.py FOLDER prints it as JSON, sbom.py FOLDER --table as a table.

Lists what the files of a release folder carry or link to: libraries inside the wheel and the archive, by the licences
that lie beside them, what is compiled in, and what the Debian packages depend on. Versions and licences are those of
Debian's packages on this machine.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Packages whose headers are compiled into the programs, and D3, which the report page has.
COMPILED_IN = ("libcli11-dev", "libfmt-dev", "libasio-dev", "nlohmann-json3-dev", "node-d3")
# By the licence fields of Debian's copyright files; those without such a field by name.
SPDX = {"BSD-3-clause": "BSD-3-Clause", "BSD-3-Clause": "BSD-3-Clause", "Expat": "MIT", "MIT": "MIT",
        "BSD-2-clause": "BSD-2-Clause", "BSL-1.0": "BSL-1.0", "Boost-1.0": "BSL-1.0",
        "Apache-2.0": "Apache-2.0", "zlib": "Zlib", "Zlib": "Zlib", "BSD-variant": "BSD-3-Clause", "ISC": "ISC"}
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
KNOWN = {"libstdc++6": GCC, "gcc-12-base": GCC, "libgcc-s1": GCC, "libc6": "LGPL-2.1-or-later", "zlib1g": "Zlib",
         "libbz2-1.0": "bzip2-1.0.6", "libhdf5-103": "BSD-3-Clause", "libhdf5-103-1": "BSD-3-Clause",
         "libaec0": "BSD-2-Clause", "libsz2": "BSD-2-Clause", "libasio-dev": "BSL-1.0", "libzip4": "BSD-3-Clause",
         "libzip-dev": "BSD-3-Clause", "libopenmpi3": "BSD-3-Clause", "python3": "PSF-2.0",
         "python3-numpy": "BSD-3-Clause", "libseccomp2": "LGPL-2.1-only"}


def packages_in(names):
    """Debian packages of the licence files of a wheel or an archive."""
    return {Path(name).stem for name in names if re.search(r"/licenses/[^/]+\.txt$", name)}


def contents(folder):
    """{file of the release: ({packages inside}, {packages that it depends on})}"""
    found = {}
    for path in sorted(folder.iterdir()):
        inside, needed = set(), set()
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                inside = packages_in(wheel.namelist())
        elif re.search(r"-linux-.*\.tar\.xz$", path.name):
            with tarfile.open(path) as archive:
                inside = packages_in(archive.getnames())
        elif path.suffix == ".deb":
            control = subprocess.run(["dpkg-deb", "-f", str(path), "Depends", "Package"], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout
            fields = dict(line.split(": ", 1) for line in control.splitlines() if ": " in line)
            needed = {re.split(r"[ (|:]", part.strip())[0] for part in fields.get("Depends", "").split(",") if part}
            needed = {name for name in needed if "parsnets" not in name}
            inside = set(COMPILED_IN) if fields["Package"] == "parsnets" else set()
        elif path.name.endswith((".json", "SHA256SUMS")):
            continue
        found[path] = (inside, needed)
    return found


def version_of(package):
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.DEVNULL).stdout
    return shown or "NOASSERTION"


def licence_of(package):
    if package in KNOWN:
        return KNOWN[package]
    path = Path("/usr/share/doc", package, "copyright")
    if not path.is_file():
        return "NOASSERTION"
    fields = re.findall(r"^Files: \*\n(?:.+\n)*?License: (\S+)", path.read_text("utf-8", "replace"), re.M)
    return SPDX.get(fields[0], "NOASSERTION") if fields else "NOASSERTION"


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def document(folder):
    version = re.search(r"^project\(parsnets VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
    found = contents(folder)
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    packages, relations = [], []
    for path in found:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        packages.append({"SPDXID": identifier(path.name), "name": path.name, "versionInfo": version,
                         "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "packageFileName": path.name,
                         "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
                         "copyrightText": "The ParsNets developers",
                         "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]})
        relations.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                          "relatedSpdxElement": identifier(path.name)})
        for kind, names in zip(("CONTAINS", "DEPENDS_ON"), found[path]):
            relations += [{"spdxElementId": identifier(path.name), "relationshipType": kind,
                           "relatedSpdxElement": identifier("debian-" + name)} for name in sorted(names)]
    others = set().union(*(inside | needed for inside, needed in found.values()))
    for name in sorted(others):
        packages.append({"SPDXID": identifier("debian-" + name), "name": name, "versionInfo": version_of(name),
                         "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "supplier": "Organization: Debian",
                         "licenseConcluded": "NOASSERTION", "licenseDeclared": licence_of(name),
                         "copyrightText": "NOASSERTION",
                         "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                           "referenceLocator": f"pkg:deb/debian/{name}@{version_of(name)}"}]})
    content = hashlib.sha256(json.dumps([packages, relations], sort_keys=True).encode()).hexdigest()
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"parsnets-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/parsnets-{version}-{content}",
            "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/sbom.py"]},
            "packages": packages, "relationships": relations}


def table(content):
    where = {}
    for row in content["relationships"]:
        if row["relationshipType"] != "DESCRIBES":
            where.setdefault(row["relatedSpdxElement"], []).append(
                ("in " if row["relationshipType"] == "CONTAINS" else "of ") + row["spdxElementId"][len("SPDXRef-"):])
    for package in content["packages"]:
        if package["SPDXID"] in where:
            yield (f"{package['name']:<28}{package['versionInfo']:<26}{package['licenseDeclared']:<44}"
                   + ", ".join(where[package["SPDXID"]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    content = document(options.folder)
    print("\n".join(table(content)) if options.table else json.dumps(content, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
