#!/usr/bin/env python3
"""Installs the artifacts of a release on bare systems: install, first prediction, removal, upgrade, what is left.

  install_test.py [OUT] [--older FOLDER] [--suites bookworm,trixie] [--only tool,photos,...]

OUT is out/release. FOLDER has an earlier release, from which the upgrade starts; without it, the upgrade starts from
the same packages with the version 0.0.1. Each system is a minimal one by debootstrap in build-chroot/SUITE, and a copy
of it is used for each artifact. Needs root, and python3-numpy and python3-pil for photographs.
Prints a table: artifact, system, bytes, files, bytes of these, seconds to fetch and install Debian's packages that it
needs, seconds to install it, seconds from there to a prediction, and what was left after removal. The same is in
out/install-test.json, with what earlier runs found of artifacts that were not named.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build-chroot"
FOUND = ROOT / "out/install-test.json"
MIRROR = os.environ.get("DEBIAN_MIRROR")  # else that of debootstrap
# What package managers keep of what they did.
KEPT = re.compile(r"^/(proc|sys|dev|tmp|root/\.cache|var/(cache|log|tmp)|var/lib/(apt|dpkg|systemd|python|ucf)|"
                  r"etc/(ld\.so\.cache|alternatives|mailcap|apt|resolv\.conf|\.pwd\.lock)|run)(/|$)")
WORK_FOLDER = "rm -rf /tmp/work && mkdir /tmp/work && cd /tmp/work\n"
DEMO = "/usr/share/parsnets/demo"
PREDICTION = """{tool} train {demo} -o model.safetensors --quiet > /dev/null
{tool} predict model.safetensors {demo}/features.npy --quiet -o answers.csv
test "$(wc -l < answers.csv)" -gt 2000
"""


class System:
    """A copy of a minimal system, in which commands run."""

    def __init__(self, base, root):
        self.root = root
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=True)
        subprocess.run(["cp", "-a", str(base), str(root)], check=True)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
        subprocess.run(["mount", "--rbind", "/dev", str(root / "dev")], check=True)

    def output(self, script):
        proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        done = subprocess.run(["chroot", str(self.root), "sh", "-ec", script], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                                   "DEBIAN_FRONTEND": "noninteractive", **proxies})
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode} of\n{script}\n{done.stdout[-3000:]}")
        return done.stdout

    def run(self, script):
        """Seconds."""
        start = time.monotonic()
        self.output(script)
        return time.monotonic() - start

    def copy(self, *sources):
        """Into /tmp."""
        for source in sources:
            (shutil.copytree if source.is_dir() else shutil.copy)(source, self.root / "tmp" / source.name)

    def files(self):
        found = set()
        for folder, names, files in os.walk(self.root):
            place = folder[len(str(self.root)):]
            names[:] = [name for name in names if not KEPT.match(f"{place}/{name}")]
            found |= {f"{place}/{name}" for name in files if not KEPT.match(f"{place}/{name}")}
            found |= {f"{place}/{name}/" for name in names}
        return {name for name in found if "__pycache__" not in name}

    def close(self):
        subprocess.run(["umount", "-R", str(self.root / "dev")], check=True)
        subprocess.run(["umount", str(self.root / "proc")], check=True)
        subprocess.run(["rm", "-rf", "--one-file-system", str(self.root)], check=True)


def only(folder, pattern):
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise RuntimeError(f"{folder}/{pattern}: expected one file, found {len(found)}")
    return found[0]


def inside(artifacts):
    """Files and their bytes, unpacked."""
    sizes = []
    for path in artifacts:
        if path.suffix == ".deb":
            listed = subprocess.run(["dpkg-deb", "-c", str(path)], check=True, stdout=subprocess.PIPE, text=True).stdout
            sizes += [int(line.split()[2]) for line in listed.splitlines() if line[0] == "-"]
        elif path.suffix == ".whl":
            sizes += [entry.file_size for entry in zipfile.ZipFile(path).infolist() if not entry.is_dir()]
        else:
            with tarfile.open(path) as archive:
                sizes += [entry.size for entry in archive if entry.isfile()]
    return {"bytes": sum(path.stat().st_size for path in artifacts), "files": len(sizes), "unpacked": sum(sizes)}


def older(package, folder):
    """The same package as a version before it."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", str(package), str(tree)], check=True)
    control = tree / "DEBIAN/control"
    text = re.sub(r"^Version: .*$", "Version: 0.0.1-1", control.read_text(), flags=re.M)
    control.write_text(re.sub(r"(parsnets[\w.]*) \(= [^)]*\)", r"\1 (= 0.0.1-1)", text))
    made = folder / f"older-{package.name}"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", str(tree), str(made)], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return made


class Packages:
    """Debian packages, and what a user does with them. The first of `names` are needed by the last."""

    systems = ("bookworm",)  # where they were built: their dependencies have its names

    def __init__(self, what, names, predict, own=1, needs="", prepare=lambda folder: ()):
        self.what, self.names, self.predict = what, names, predict
        self.own, self.needs, self.prepare = own, needs, prepare

    def run(self, system, out, old):
        artifacts = [only(out, f"{name}_*.deb") for name in self.names]
        before = [only(old, f"{name}_*.deb") for name in self.names] if old else \
            [older(path, system.root / "tmp") for path in artifacts]
        system.copy(*artifacts, *(before if old else ()), *self.prepare(system.root.parent))
        install = "apt-get install -q -y --no-install-recommends "
        new = install + " ".join(f"/tmp/{path.name}" for path in artifacts)
        system.output("apt-get update -q")
        theirs = [line.split()[1] for line in system.output(f"{new} -s {self.needs}").splitlines()
                  if line.startswith("Inst ") and "parsnets" not in line.split()[1]]
        packages = system.run(install + " ".join(theirs)) if theirs else 0
        bare = system.files()
        took = {"packages_seconds": packages, "install_seconds": system.run(new),
                "prediction_seconds": system.run(WORK_FOLDER + self.predict)}
        purge = "apt-get purge -q -y '?name(parsnets)'"
        system.run(purge)
        left = system.files() - bare
        system.run(install + " ".join(f"/tmp/{path.name}" for path in before))
        system.run(new)
        ours = " ".join(path.name.split("_")[0] for path in artifacts)
        listed = system.output("dpkg-query -W -f '${Version} ${db:Status-Abbrev}\\n' " + ours)
        version = artifacts[0].name.split("_")[1]
        if set(listed.split("\n")) - {f"{version} ii ", ""}:
            raise RuntimeError(f"upgraded to {version}, and there is\n{listed}")
        system.run(WORK_FOLDER + self.predict)
        system.run(purge)
        left |= system.files() - bare
        return {**inside(artifacts[-self.own:]), **took, "left": sorted(left)}


class Archive:
    what = "the tool, its libraries and the demo set, for any folder"
    systems = ("bookworm", "trixie")

    def run(self, system, out, old):
        archive = only(out, "parsnets-*-linux-*.tar.xz")
        before = system.files()
        place = system.root / "opt/try"
        place.mkdir()
        # debootstrap's minimal system has tar, and no xz: it is unpacked with this one's.
        start = time.monotonic()
        subprocess.run(["tar", "-C", str(place), "-xf", str(archive)], check=True)
        install = time.monotonic() - start
        tool = f"/opt/try/{archive.name[:-len('.tar.xz')]}"
        predict = PREDICTION.format(tool=f"{tool}/bin/parsnets", demo=f"{tool}/share/parsnets/demo")
        first = system.run(WORK_FOLDER + predict)
        system.run(f"mv {tool} /opt/try/moved && cd /tmp/work && /opt/try/moved/bin/parsnets demo && "
                   "test -s parsnets-demo/report.html && rm -rf /opt/try")
        return {**inside([archive]), "packages_seconds": 0, "install_seconds": install, "prediction_seconds": first,
                "left": sorted(system.files() - before)}


class Wheel:
    what = "the Python package with the engine, its libraries and the demo set"
    systems = ("bookworm", "trixie")

    def run(self, system, out, old):
        wheel = only(out, "parsnets-*.whl")
        system.copy(wheel)
        needed = system.run("apt-get update -q && apt-get install -q -y --no-install-recommends "
                            "python3-venv python3-numpy python3-sklearn")
        system.run("mkdir /opt/try && python3 -m venv --system-site-packages /opt/try/venv")
        before = system.files()
        pip = "/opt/try/venv/bin/pip --quiet --disable-pip-version-check"
        install = system.run(f"{pip} install --no-index /tmp/{wheel.name}")
        predict = """/opt/try/venv/bin/python -c "
from parsnets import ParsNetsClassifier, datasets
data = datasets.load_demo()
model = ParsNetsClassifier().fit(data.X[data.trainval], data.y[data.trainval], class_attributes=data.class_attributes)
assert len(model.predict(data.X[data.test_unseen], classes='unseen')) > 100
" """
        first = system.run(WORK_FOLDER + predict)
        system.run(WORK_FOLDER + "/opt/try/venv/bin/parsnets demo && test -s parsnets-demo/report.html")
        system.run(f"{pip} uninstall -y parsnets")
        left = system.files() - before
        start = only(old, "parsnets-*.whl") if old else wheel  # once more over itself, then
        shutil.copy(start, system.root / "tmp")
        system.run(f"{pip} install --no-index /tmp/{start.name}")
        system.run(f"{pip} install --no-index --no-deps {'' if old else '--force-reinstall '}/tmp/{wheel.name}")
        system.run(WORK_FOLDER + predict)
        system.run(f"{pip} uninstall -y parsnets")
        return {**inside([wheel]), "packages_seconds": needed, "install_seconds": install, "prediction_seconds": first,
                "left": sorted(left | (system.files() - before))}


class NodePackage:
    what = "the C runtime as WebAssembly, for Node.js and browsers"
    systems = ("bookworm", "trixie")

    def run(self, system, out, old):
        package, tool = only(out, "parsnets-npm-*.tgz"), only(out, "parsnets-*-linux-*.tar.xz")
        needed = system.run("apt-get update -q && apt-get install -q -y --no-install-recommends nodejs")
        before = system.files()
        with contextlib.ExitStack() as later:  # a device file by the tool of the same release
            place = system.root / "opt/tool"
            later.callback(shutil.rmtree, place)
            place.mkdir()
            subprocess.run(["tar", "-C", str(place), "-xf", str(tool), "--strip-components=1"], check=True)
            system.run(WORK_FOLDER + "cd /opt/tool && bin/parsnets train share/parsnets/demo -o m.safetensors --quiet "
                       "&& bin/parsnets export m.safetensors -o /tmp/model.pnrt --quiet")
        system.copy(package)
        # Without npm, which Debian has as 400 packages: an archive is what it unpacks.
        install = system.run("mkdir -p /opt/try/node_modules/parsnets && tar -C /opt/try/node_modules/parsnets "
                             f"--strip-components=1 -xzf /tmp/{package.name}")
        first = system.run("""cd /opt/try && cat > first.mjs << 'END' && node first.mjs
import { readFile } from "node:fs/promises";
import { load } from "parsnets";
const model = await load(await readFile("/tmp/model.pnrt"));
const { matches } = model.classify(new Float32Array(model.features).fill(0.5), { top: 3 });
if (matches.length !== 3) throw new Error("expected three classes");
END
""")
        system.run("rm -r /opt/try")
        return {**inside([package]), "packages_seconds": needed, "install_seconds": install,
                "prediction_seconds": first, "left": sorted(system.files() - before)}


def sources(folder):
    return ROOT / "examples/cmake-consumer", ROOT / "tests/capi/c_client.c"


def photographs(folder):
    """A backbone, and the photographs of the demo set: those of eight classes, and the two others' as new ones."""
    made = folder / f"photographs-{os.getpid()}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    for script, out in (("demo_photos.py", made / "photos"), ("tiny_backbone.py", made / "tiny.onnx")):
        subprocess.run(["/usr/bin/python3", "-B", str(ROOT / "scripts" / script), "--out", str(out)], check=True,
                       stdout=subprocess.DEVNULL)
    (made / "photos/split.json").unlink()
    (made / "photos/attributes.csv").rename(made / "classes.csv")
    for name in ("deer", "truck"):
        (made / "photos" / name).rename(made / f"new-{name}")
    made.rename(folder / "photographs")
    return (folder / "photographs",)


TRIES = {
    "tool": Packages("the tool, the demo set, manual page, completion", ["parsnets"],
                     PREDICTION.format(tool="parsnets", demo=DEMO) + """
parsnets demo > /dev/null
test -s parsnets-demo/report.html
test -s /usr/share/man/man1/parsnets.1.gz
"""),
    "library": Packages("libparsnets.so, headers, the static library, CMake package, pkg-config file, the C runtime",
                        ["parsnets", "libparsnets[0-9]*", "libparsnets-dev"], """
cmake -S /tmp/cmake-consumer -B consumer -DCMAKE_BUILD_TYPE=Release > /dev/null && cmake --build consumer > /dev/null
consumer/consumer | grep '^with it: deer$'
cc -std=c99 -O2 /tmp/c_client.c $(pkg-config --cflags --libs parsnets) -lm -o client
readelf -d client | grep 'NEEDED.*libparsnets.so'
./client /usr/share/parsnets/demo client.safetensors
cc -std=c99 -c /usr/share/parsnets/runtime/parsnets_rt.c -o runtime.o
""", own=2, needs="g++ cmake make", prepare=sources),
    "photos": Packages("the modules that decode photographs and run networks", ["parsnets", "parsnets-photos"], """
parsnets train /tmp/photographs/photos --classes /tmp/photographs/classes.csv --backbone /tmp/photographs/tiny.onnx \
  -o birds.safetensors --quiet > /dev/null
parsnets predict birds.safetensors /tmp/photographs/new-deer --quiet -o answers.csv
test "$(wc -l < answers.csv)" -gt 200
""", prepare=photographs),
    "mpi": Packages("the module for mpirun", ["parsnets", "parsnets-mpi"], f"""
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
mpirun -n 2 parsnets train {DEMO} -o model.safetensors --quiet > /dev/null
parsnets predict model.safetensors {DEMO}/features.npy --quiet -o answers.csv
test "$(wc -l < answers.csv)" -gt 2000
"""),
    "archive": Archive(), "wheel": Wheel(), "npm": NodePackage(),
}


def base_of(suite):
    """Null where the suite cannot be bootstrapped."""
    base = WORK / suite
    if not base.is_dir():
        WORK.mkdir(exist_ok=True)
        part = WORK / f"{suite}.part"
        subprocess.run(["rm", "-rf", "--one-file-system", str(part)], check=True)
        if subprocess.run(["debootstrap", "--variant=minbase", suite, str(part), *([MIRROR] if MIRROR else [])],
                          stdout=subprocess.DEVNULL).returncode:
            return None
        part.rename(base)
    return base


def tried(name, base, out, old):
    """What came of it, or a `failure`."""
    with contextlib.ExitStack() as later:
        system = System(base, WORK / f"try-{os.getpid()}")
        later.callback(shutil.rmtree, WORK / "photographs", True)
        later.callback(system.close)
        try:
            return TRIES[name].run(system, out, old)
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            return {"failure": str(error)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "out/release")
    parser.add_argument("--older", type=Path)
    parser.add_argument("--suites", default="bookworm,trixie")
    parser.add_argument("--only", default=",".join(TRIES))
    options = parser.parse_args()
    rows, failed = [], False
    version = only(options.out, "parsnets-*-linux-*.tar.xz").name.split("-")[1]
    print(f"{'artifact':<10}{'system':<10}{'bytes':>12}{'files':>7}{'unpacked':>12}{'packages':>10}{'install':>9}"
          f"{'predict':>9}  left")
    for suite in options.suites.split(","):
        base = base_of(suite)
        for name in options.only.split(","):
            row = {"version": version, "artifact": name, "system": suite, "what": TRIES[name].what}
            if suite not in TRIES[name].systems:
                print(f"{name:<10}{suite:<10}{'':>12}  not made for it", flush=True)
                continue
            row.update({"failure": "the system cannot be bootstrapped here"} if base is None else
                       tried(name, base, options.out, options.older))
            rows.append(row)
            if "failure" in row:
                failed = failed or base is not None
                print(f"{name:<10}{suite:<10}{'':>12}  FAILED: {row['failure'][-600:]}", flush=True)
                continue
            left = row["left"]
            failed = failed or bool(left)
            print(f"{name:<10}{suite:<10}{row['bytes']:>12,}{row['files']:>7}{row['unpacked']:>12,}"
                  f"{row['packages_seconds']:>8.1f} s{row['install_seconds']:>7.1f} s"
                  f"{row['prediction_seconds']:>7.1f} s  "
                  + (f"{len(left)} files: {', '.join(left[:4])}" if left else "nothing"), flush=True)
    written = json.loads(FOUND.read_text("utf-8")) if FOUND.is_file() else []
    here = [(row["artifact"], row["system"]) for row in rows]
    rows += [row for row in written if (row["artifact"], row["system"]) not in here]
    FOUND.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("install_test.py: expected to be run as root")
    if os.environ.get("PARSNETS_OWN_MOUNTS") != "1":  # mounts end with the process
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv],
                   {**os.environ, "PARSNETS_OWN_MOUNTS": "1"})
    sys.exit(main())
