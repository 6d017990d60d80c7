#!/usr/bin/env python3
"""Installs the artifacts of a release on bare systems: install, first prediction, upgrade, removal, what is left.

  install_test.py [OUT] [--suites bookworm,trixie] [--only deb,wheel,archive] [--write FILE.json]

OUT is out/release. Each system is a minimal one by debootstrap in build-chroot/SUITE, and a copy of it is used for each
artifact. Needs root. Packages that artifacts depend on come from the suite's archive; that time is apart.
Prints a table: artifact, system, bytes, seconds to install, seconds from there to a prediction, what was left.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build-chroot"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
# What package managers keep of what they did.
KEPT = re.compile(r"^/(proc|sys|dev|tmp|root/\.cache|var/(cache|log|tmp)|var/lib/(apt|dpkg|systemd|python|ucf)|"
                  r"etc/(ld\.so\.cache|alternatives|mailcap|apt|resolv\.conf|\.pwd\.lock)|run)(/|$)")
PREDICTION = """cd /tmp && rm -rf work && mkdir work && cd work
{tool} train {demo} -o model.safetensors --quiet > /dev/null
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

    def run(self, script):
        """Seconds."""
        start = time.monotonic()
        proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        done = subprocess.run(["chroot", str(self.root), "sh", "-ec", script], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                                   "DEBIAN_FRONTEND": "noninteractive", **proxies})
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode} of\n{script}\n{done.stdout[-3000:]}")
        return time.monotonic() - start

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


def debs(out):
    return {path.name.split("_")[0]: path for path in out.glob("*.deb")}


def older(package, folder):
    """The same package as a version before it."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", str(package), str(tree)], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", "Version: 0.0.1-1", control.read_text(), flags=re.M))
    made = folder / "older.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", str(tree), str(made)], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return made


def try_deb(system, out):
    tool = debs(out)["parsnets"]
    system.run("apt-get update -q")
    before = system.files()
    older(tool, system.root / "tmp")
    shutil.copy(tool, system.root / "tmp")
    old = system.run("apt-get install -q -y --no-install-recommends /tmp/older.deb")
    upgrade = system.run(f"apt-get install -q -y --no-install-recommends /tmp/{tool.name}")
    assert "0.0.1" not in subprocess.run(["chroot", str(system.root), "dpkg-query", "-W", "parsnets"], check=True,
                                         stdout=subprocess.PIPE, text=True).stdout
    first = system.run(PREDICTION.format(tool="parsnets", demo="/usr/share/parsnets/demo"))
    system.run("cd /tmp/work && parsnets demo && test -s parsnets-demo/report.html")
    system.run("apt-get purge -q -y parsnets && apt-get autoremove -q -y --purge")
    return {"bytes": tool.stat().st_size, "dependencies_seconds": old, "install_seconds": upgrade,
            "prediction_seconds": first, "left": sorted(system.files() - before)}


def try_archive(system, out):
    (archive,) = out.glob("parsnets-*-linux-*.tar.xz")
    folder = archive.name[:-len(".tar.xz")]
    before = system.files()
    (system.root / "opt/try").mkdir()
    # debootstrap's minimal system has tar, and no xz: it is unpacked with this one's.
    start = time.monotonic()
    subprocess.run(["tar", "-C", str(system.root / "opt/try"), "-xf", str(archive)], check=True)
    install = time.monotonic() - start
    tool = f"/opt/try/{folder}"
    first = system.run(PREDICTION.format(tool=f"{tool}/bin/parsnets", demo=f"{tool}/share/parsnets/demo"))
    system.run(f"mv /opt/try/{folder} /opt/try/moved && cd /tmp/work && /opt/try/moved/bin/parsnets demo && "
               "test -s parsnets-demo/report.html && rm -rf /opt/try")
    return {"bytes": archive.stat().st_size, "dependencies_seconds": 0, "install_seconds": install,
            "prediction_seconds": first, "left": sorted(system.files() - before)}


def try_wheel(system, out):
    (wheel,) = out.glob("parsnets-*.whl")
    system.run("apt-get update -q")
    needed = system.run("apt-get install -q -y --no-install-recommends python3-venv python3-numpy python3-sklearn")
    system.run("mkdir /opt/try && python3 -m venv --system-site-packages /opt/try/venv")
    before = system.files()
    shutil.copy(wheel, system.root / "tmp")
    pip = "/opt/try/venv/bin/pip --quiet --disable-pip-version-check"
    install = system.run(f"{pip} install --no-index /tmp/{wheel.name}")
    first = system.run("""cd /tmp && /opt/try/venv/bin/python -c "
from parsnets import ParsNetsClassifier, datasets
data = datasets.load_demo()
model = ParsNetsClassifier().fit(data.X[data.trainval], data.y[data.trainval], class_attributes=data.class_attributes)
assert len(model.predict(data.X[data.test_unseen], classes='unseen')) > 100
" """)
    system.run("rm -rf /tmp/work && mkdir /tmp/work && cd /tmp/work && /opt/try/venv/bin/parsnets demo && "
               "test -s parsnets-demo/report.html")
    system.run(f"{pip} install --no-index --force-reinstall --no-deps /tmp/{wheel.name}")
    system.run(f"{pip} uninstall -y parsnets")
    return {"bytes": wheel.stat().st_size, "dependencies_seconds": needed, "install_seconds": install,
            "prediction_seconds": first, "left": sorted(system.files() - before)}


# Debian packages are those of the system that they were built on; programs need its glibc's symbols (glibc_report.py).
SYSTEMS = {"deb": ("bookworm",), "wheel": ("bookworm", "trixie"), "archive": ("bookworm", "trixie")}
TRIES = {"deb": try_deb, "wheel": try_wheel, "archive": try_archive}


def base_of(suite):
    """Null where the suite cannot be bootstrapped."""
    base = WORK / suite
    if not base.is_dir():
        WORK.mkdir(exist_ok=True)
        part = WORK / f"{suite}.part"
        subprocess.run(["rm", "-rf", "--one-file-system", str(part)], check=True)
        if subprocess.run(["debootstrap", "--variant=minbase", suite, str(part), MIRROR],
                          stdout=subprocess.DEVNULL).returncode:
            return None
        part.rename(base)
    return base


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "out/release")
    parser.add_argument("--suites", default="bookworm,trixie")
    parser.add_argument("--only", default=",".join(TRIES))
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows, failed = [], False
    print(f"{'artifact':<10}{'system':<10}{'bytes':>12}{'packages':>10}{'install':>9}{'predict':>9}  left")
    for suite in options.suites.split(","):
        base = base_of(suite)
        for name in options.only.split(","):
            row = {"artifact": name, "system": suite}
            if suite not in SYSTEMS[name]:
                print(f"{name:<10}{suite:<10}{'':>12}  not made for it", flush=True)
                continue
            if base is None:
                row["failure"] = "the system cannot be bootstrapped here"
            else:
                system = System(base, WORK / f"try-{os.getpid()}")
                with contextlib.closing(system):
                    try:
                        row.update(TRIES[name](system, options.out))
                    except (RuntimeError, AssertionError, StopIteration) as error:
                        row["failure"] = str(error)
            rows.append(row)
            if "failure" in row:
                failed = failed or base is not None
                print(f"{name:<10}{suite:<10}{'':>12}  FAILED: {row['failure'][-600:]}", flush=True)
                continue
            left = row["left"]
            failed = failed or bool(left)
            print(f"{name:<10}{suite:<10}{row['bytes']:>12,}{row['dependencies_seconds']:>8.1f} s"
                  f"{row['install_seconds']:>7.1f} s{row['prediction_seconds']:>7.1f} s  "
                  + (f"{len(left)} files: {', '.join(left[:4])}" if left else "nothing"), flush=True)
    if options.write:
        options.write.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("install_test.py: expected to be run as root")
    if os.environ.get("PARSNETS_OWN_MOUNTS") != "1":  # mounts end with the process
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv],
                   {**os.environ, "PARSNETS_OWN_MOUNTS": "1"})
    sys.exit(main())
