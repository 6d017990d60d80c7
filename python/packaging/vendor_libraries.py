"""Makes a wheel self-contained: vendor_libraries.py WHEEL OUT_DIR; or an unpacked archive of the tool: --tree FOLDER.
Needs patchelf, binutils, cc and Python's wheel.

Does by hand what auditwheel does, which Debian does not have: the shared libraries that the wheel's programs need and
that a plain system lacks go to parsnets.libs/ under names of their own (a hash in the name keeps them apart from other
copies in the process), found through $ORIGIN. Their licences go along, and those of what is compiled into the engine.

HDF5 and libzip also ask for curl and OpenSSL, for remote files and encrypted archives, which the engine never opens. In
their place stands one small library whose functions all fail: it spares thirty libraries, and no cryptography has to be
kept up to date.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Set

# What PEP 600 and auditwheel expect of every system. libstdc++ is a part of our programs (-DPARSNETS_PORTABLE=ON).
ON_EVERY_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt|gcc_s|z))\.so\.[0-9.]+")
NEEDLESS = ("libcurl.so.4", "libcrypto.so.3")
# Debian packages; D3 is in the report.
COMPILED_IN = ("gcc-12-base", "libasio-dev", "libcli11-dev", "libfmt-dev", "nlohmann-json3-dev", "node-d3")
FOLDER = "parsnets.libs"


def run(*command: object) -> str:
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(file: Path) -> List[str]:
    return run("patchelf", "--print-needed", file).split()


def places(file: Path) -> Dict[str, Path]:
    """Where the loader finds everything that file needs, directly or not."""
    lines = [line.split() for line in run("ldd", file).splitlines()]
    missing = [line[0] for line in lines if line[1:3] == ["=>", "not"]]
    if missing:
        sys.exit(f"{file.name}: expected all its libraries on this system, found no {', '.join(missing)}")
    return {line[0]: Path(line[2]).resolve() for line in lines if line[1:2] == ["=>"]}


def closure(programs: List[Path]) -> Dict[str, Path]:
    """Name to file of every library to carry."""
    where = {name: place for program in programs for name, place in places(program).items()}
    found: Dict[str, Path] = {}
    waiting = list(programs)
    while waiting:
        for name in needed(waiting.pop()):
            if name not in found and name not in NEEDLESS and not ON_EVERY_SYSTEM.fullmatch(name):
                found[name] = where[name]
                waiting.append(where[name])
    return found


def symbols(file: Path, which: str) -> Set[str]:
    """NAME@VERSION, or NAME, of the symbols that file defines or leaves undefined."""
    return {line.split()[-1].replace("@@", "@") for line in run("nm", "-D", f"--{which}-only", file).splitlines()}


def write_stub(users: List[Path], out: Path) -> None:
    """A library with the functions that users want from NEEDLESS ones: each returns 0, a failure or nothing done."""
    where = {name: place for user in users for name, place in places(user).items()}
    offered = set().union(*(symbols(where[name], "defined") for name in NEEDLESS if name in where))
    offered |= {symbol.split("@")[0] for symbol in offered}  # for users that ask for no version
    versions: Dict[str, List[str]] = {}
    for symbol in sorted(offered & set().union(*(symbols(user, "undefined") for user in users))):
        name, _, version = symbol.partition("@")
        versions.setdefault(version, []).append(name)
    with tempfile.TemporaryDirectory() as scratch:
        code, script = Path(scratch, "stub.c"), Path(scratch, "stub.map")
        names = sorted(set().union(*versions.values()))
        code.write_text("".join(f"long {name}(void) {{ return 0; }}\n" for name in names))
        script.write_text("".join(f"{version} {{ global: {'; '.join(members)}; }};\n"
                                  for version, members in versions.items() if version))
        flags = [f"-Wl,--version-script={script}"] if script.stat().st_size else []
        run("cc", "-shared", "-fPIC", "-nostdlib", "-s", *flags, code, "-o", out)


def own_name(name: str, file: Path) -> str:
    """libx.so.1 -> libx-1a2b3c4d.so.1"""
    stem, ending = name.split(".so", 1)
    return f"{stem}-{hashlib.sha256(file.read_bytes()).hexdigest()[:8]}.so{ending}"


def vendor(programs: List[Path], folder: Path) -> List[Path]:
    """Fills folder and points the programs at it. Returns the libraries' files before they were copied."""
    libraries = closure(programs)
    folder.mkdir()
    names = {name: own_name(name, file) for name, file in libraries.items()}
    users = [file for file in [*programs, *libraries.values()] if set(NEEDLESS) & set(needed(file))]
    if users:
        stub = folder / "libparsnets-needless.so"
        write_stub(users, stub)
        run("patchelf", "--set-soname", stub.name, stub)
        names.update({name: stub.name for name in NEEDLESS})
    for name, file in libraries.items():
        shutil.copy(file, folder / names[name])
        run("patchelf", "--set-soname", names[name], folder / names[name])
    for file in [*programs, *folder.iterdir()]:
        changes = [word for name in needed(file) if name in names for word in ("--replace-needed", name, names[name])]
        rpath = "$ORIGIN" if file.parent == folder else f"$ORIGIN/../{folder.name}"
        if changes:
            run("patchelf", *changes, file)
        run("patchelf", "--set-rpath", rpath, file)  # patchelf 0.14 loses changes of the same call
    return list(libraries.values())


def platform_tag(files: List[Path]) -> str:
    """manylinux of the oldest glibc that has every symbol which is left to it. scripts/glibc_report.py names them."""
    found = [version for file in files for version in
             re.findall(r"Name: GLIBC_2\.([0-9]+)", run("readelf", "-V", "-W", file))]
    return f"manylinux_2_{max(map(int, found))}_{platform.machine()}"


def owner(library: Path) -> str:
    """The Debian package that a library is of."""
    paths = [str(library), str(library).replace("/usr", "", 1)]  # Debian lists some under /lib
    found = subprocess.run(["dpkg", "-S", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for packages, path in (line.rsplit(": ", 1) for line in found.splitlines()):
        if path in paths and not packages.startswith("diversion by "):
            return packages.split(",")[0].split(":")[0]
    sys.exit(f"{library}: expected a library of a Debian package, whose licence the wheel has to carry, found one that "
             "no package owns; build the engine with Debian's")


def copy_licences(libraries: List[Path], folder: Path) -> None:
    """The copyright files of the Debian packages of the libraries and of what is compiled in."""
    folder.mkdir(exist_ok=True)
    for package in {*map(owner, libraries), *COMPILED_IN}:
        licence = Path("/usr/share/doc", package, "copyright")
        if not licence.is_file():
            sys.exit(f"{licence}: expected the licence of {package}, which the wheel has to carry, found none; "
                     f"install {package} with its documentation")
        shutil.copy(licence, folder / f"{package}.txt")


def unpacked(wheel: Path, out: Path) -> None:
    """Vendors the libraries of a wheel, in a new one."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "wheel", "unpack", "--dest", scratch, wheel)
        (tree,) = Path(scratch).iterdir()
        (info,) = tree.glob("*.dist-info/WHEEL")
        programs = [tree / "parsnets" / name for name in ("libparsnets.so", "parsnets", "parsnets-decode")]
        finish(programs, tree / FOLDER, info.parent / "licenses")
        tag = platform_tag([*programs, *(tree / FOLDER).iterdir()])
        info.write_text(re.sub(r"^Tag: .*$", f"Tag: py3-none-{tag}", info.read_text(), flags=re.M))
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", out, tree)


def finish(programs: List[Path], folder: Path, licences: Path) -> None:
    """Strips the programs, carries their libraries to folder, and the licences of all."""
    for program in programs:
        os.chmod(program, 0o755)  # unpack forgets it
        run("strip", "--strip-unneeded", program)
    copy_licences(vendor(programs, folder), licences)


def main() -> None:
    if sys.argv[1] == "--tree":
        tree = Path(sys.argv[2])
        finish([tree / "bin" / "parsnets", tree / "bin" / "parsnets-decode"], tree / "lib", tree / "licenses")
    else:
        unpacked(Path(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
