#!/usr/bin/env python3
"""Kills writing commands at their file calls, and lets these fail.

Usage: faults_test.py PARSNETS PRELOAD.so [POINTS [COMMAND…]]

At each point, in a folder of its own: the process is killed before the call, the call fails, all reads and writes from
there on do a part of their work, or one allocation fails. Afterwards each file is the old one or a complete new one; a
failure has its exit code and a message; and when the command runs again, it succeeds and nothing else is left in the
folder. A small full disk is tried, too, where a name space of our own is allowed. POINTS: of each command and kind,
evenly spread; 0: all, of the allocations ALLOCATIONS.
"""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "data/demo"

ALLOCATIONS = 40
MOST_ENDED = 0.02

# What is there before each command. It runs in a copy of that folder, but {base} is where all copies come from: what is
# made of photographs says where they are.
BEFORE = [
    ["train", "data", "-o", "ridge.safetensors", "--method", "ridge"],
    ["train", "data", "-o", "default.safetensors"],
    ["train", "data", "--run", "earlier", "--method", "ridge"],
    ["stats", "data", "-o", "a.safetensors"],
]
COMMANDS = {
    "train": "train data -o m.safetensors --method ridge",
    "train --run": "train data --run run --method ridge",
    "train --search": "train data -o m.safetensors --method ridge --search grid --grid lambda=0.5,1",
    "train --checkpoint": "train data -o m.safetensors --networks 0 --checkpoint c.safetensors --resume",
    "train --stats": "train data -o m.safetensors --stats a.safetensors --networks 0",
    "calibrate": "calibrate ridge.safetensors data --folds 2",
    "adapt": "adapt default.safetensors data/features.npy",
    "suggest": "suggest default.safetensors data/features.npy --top 6 -o answers.csv",
    "classes add": "classes add default.safetensors --attributes new.csv -o m.safetensors",
    "classes teach": "classes teach deer default.safetensors --input data/features.npy",
    "classes remove": "classes remove ridge.safetensors --classes deer -o m.safetensors",
    "export": "export ridge.safetensors -o m.pnrt --precision float32 --c-header m.h",
    "export --max-bytes": "export ridge.safetensors -o m.pnrt --max-bytes 20kB --data data --max-drop 100",
    "eval": "eval ridge.safetensors data -o e.json",
    "predict": "predict ridge.safetensors data/features.npy -o p.csv",
    "predict, JSON": "predict ridge.safetensors data/features.npy -o p.json",
    "page": "page ridge.safetensors --data data --samples 10 -o page.html",
    "bench": "bench data --methods ridge -o b.json --table b.md,b.csv,b.tex",
    "report": "report earlier -o report.html --points 10",
    "report, JSON": "report earlier -o report.json --points 10",
    "reproduce": "reproduce --root data --out rep --methods ridge --seeds 1 --points 10",
    "stats": "stats data -o s.safetensors",
    "stats --stats": "stats --stats a.safetensors -o s.safetensors",
    "data split": "data split data --force",
    "data convert": "data convert data converted --format csv",
    "data synth": "data synth synth --classes 5 --samples 50 --dimensions 8",
    "extract": "extract {base}/photos --backbone {base}/tiny.onnx -o extracted",
    "train photographs": "train {base}/photos --classes data/attributes.csv --backbone {base}/tiny.onnx "
                         "-o m.safetensors --networks 0",
}
# One of two processes, by its number.
RANKS = {f"{name}, rank {rank} of 2": COMMANDS[name] for name in ("train", "predict") for rank in (0, 1)}
ONE_RANK = '[ "$OMPI_COMM_WORLD_RANK" != "$FAULT_RANK" ] || export LD_PRELOAD="$FAULT_PRELOAD"; exec "$@"'
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader",
          "--mca", "mpi_yield_when_idle", "1", "-n", "2", "sh", "-c",
          ONE_RANK, "sh"]
PHOTOS = {"extract", "train photographs"}
ONCE = {"extract"}  # refuses a data set that is there
TIMED = {"b.json", "report.html", "report.json", "run.json", "reproduce.json", "results.json"}  # hold what they took
TELLING = {"b.md", "b.csv", "b.tex"}  # say which methods failed
# How names of files begin that the same command uses.
UNFINISHED = "extraction.partial", "c.safetensors", "m.safetensors.checkpoint"


def unfinished(path):
    return path.name.startswith(UNFINISHED)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def make_photos(folder):
    """A backbone, and four photographs of each of some classes; whether that was possible."""
    scripts = DEMO.parents[1] / "scripts"
    for script, out in (("tiny_backbone.py", "tiny.onnx"), ("demo_photos.py", "photos")):
        done = subprocess.run([scripts / script, "--out", folder / out], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"), check=False)
        if done.returncode != 0:
            print(f"photographs: not tried: {done.stdout.strip()[-200:]}")
            return False
    for extra in (photo for one in (folder / "photos").iterdir() for photo in sorted(one.glob("*.png"))[4:]):
        extra.unlink()
    return True


class Tool:
    def __init__(self, tool, preload, root):
        self.tool, self.preload, self.root = tool, preload, Path(root)
        self.points = self.allocations = self.ended = 0

    def run(self, command, folder, kind="", at=0, rank=None):
        """A command whose current folder is this one; what it keeps for its user is there, too."""
        environment = dict(os.environ, FAULT_FOLDER=str(folder), FAULT_KIND=kind, FAULT_AT=str(at),
                           FAULT_RANK=str(rank), FAULT_COUNT=f"{folder}.count", TMPDIR=str(self.root),
                           XDG_CACHE_HOME=str(folder / "cache"))
        environment["LD_PRELOAD" if rank is None else "FAULT_PRELOAD"] = self.preload
        if rank is not None:  # jobs that end at once would remove each other's folders
            environment["TMPDIR"] = str(self.root / f"mpi-{folder.name}")
            os.makedirs(environment["TMPDIR"], exist_ok=True)
        return subprocess.run([*(MPIRUN if rank is not None else []), self.tool, *command, "--quiet", "--threads", "1"],
                              env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=300)

    def must_run(self, command, folder, rank=None):
        done = self.run(command, folder, rank=rank)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"

    def prepare(self):
        """What is there before each command; whether photographs are."""
        base = self.root / "base"
        shutil.copytree(DEMO, base / "data")
        for command in BEFORE:
            self.must_run(command, base)
        header, first = (base / "data/attributes.csv").read_text("utf-8").splitlines()[:2]
        (base / "new.csv").write_text(f"{header}\nyak,{first.split(',', 1)[1]}\n", "utf-8")
        return make_photos(base)

    def complete(self, path, clean):
        """Whether a file that is not the old one is a whole new one."""
        if clean.is_file() and path.read_bytes() == clean.read_bytes():
            return True
        if path.suffix in (".safetensors", ".pnrt", ".npy") and not unfinished(path):
            return subprocess.run([self.tool, "info", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False).returncode == 0
        if path.suffix == ".json" and path.name in TIMED:
            return json.loads(path.read_text("utf-8")).keys() == json.loads(clean.read_text("utf-8")).keys()
        return unfinished(path) or (path.name in TIMED and path.read_bytes()[-50:] == clean.read_bytes()[-50:])

    def problem(self, command, once, start, clean, folder, kind, at, rank):
        """What is wrong after a fault, or an empty string."""
        shutil.copytree(start, folder, symlinks=True)
        done = self.run(command, folder, kind, at, rank)
        expected = {"kill": (-signal.SIGKILL,), "fail": (0, 1, 3), "short": (0,), "memory": (0, 1, 3)}[kind]
        ended = kind == "memory" and done.returncode == -signal.SIGABRT and "std::bad_alloc" in done.stderr
        if ended:
            self.ended += 1
        elif rank is not None and kind == "kill":
            if done.returncode == 0 or "rank" not in done.stderr:
                return f"a dead process goes unnoticed: exit code {done.returncode}: {done.stderr[-300:]}"
        elif done.returncode not in expected:
            return f"exit code {done.returncode}: {done.stderr[-300:]}"
        elif done.returncode > 0 and (said := len(re.findall("^parsnets: ", done.stderr, re.M))) != 1:
            return f"{said} messages: {done.stderr[-300:]}"
        for path in files(folder):
            old = start / path
            same = old.exists() and old.read_bytes() == (folder / path).read_bytes()
            if ".parsnets-" in path:
                if not ended and kind != "kill" and rank is None:  # a rank that fails ends the others
                    return f"{path} was left"
            elif done.returncode > 0 and path in TELLING:
                if not same and (folder / path).read_text("utf-8")[-1:] != "\n":
                    return f"{path} is not complete"
            elif not same and not self.complete(folder / path, clean / path):
                return f"{path} is neither the old file nor a complete new one"
            elif done.returncode == 0 and not self.complete(folder / path, clean / path):
                return f"exit code 0, but {path} is not the new one"
        if lost := [path for path in set(files(start)) - set(files(folder)) if not unfinished(Path(path))]:
            return f"lost: {lost}"
        if done.returncode != 0 or not once:
            done = self.run(command, folder, rank=rank)
        if done.returncode != 0:
            return f"not after the next start: {done.stderr[-300:]}"
        if files(folder) != files(clean):
            return f"after the next start, expected {files(clean)}, found {files(folder)}"
        return ""

    def test(self, name, most):
        """Returns how many outcomes were wrong."""
        base, start = self.root / "base", self.root / name.replace(" ", "-")
        command = {**COMMANDS, **RANKS}[name].format(base=base).split()
        rank = int(name.split(" ")[2]) if name in RANKS else None
        shutil.copytree(base, start, ignore=shutil.ignore_patterns("photos", "tiny.*"))
        if name not in ONCE:
            self.must_run(command, start, rank)  # what it writes was written before
        clean = self.root / (start.name + "-clean")
        shutil.copytree(start, clean)
        self.must_run(command, clean, rank)
        calls, allocations = map(int, Path(f"{clean}.count").read_text("utf-8").split())
        wrong = 0
        for kind in ("kill", "fail") if name in RANKS else ("kill", "fail", "short", "memory"):
            count, wanted = (allocations, most or ALLOCATIONS) if kind == "memory" else (calls, most)
            points = range(1, count + 1, -(-count // wanted) if wanted else 1)
            problems, ended = [], self.ended

            def one(at, kind=kind, problems=problems):
                folder = self.root / f"{start.name}-{kind}-{at}"
                if found := self.problem(command, name in ONCE, start, clean, folder, kind, at, rank):
                    problems.append(f"    {name}, {kind} at {at}: {found}")
                shutil.rmtree(folder)

            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(one, points))
            self.points += len(points)
            self.allocations += len(points) if kind == "memory" else 0
            print(f"{name:<22}{kind:<7}{len(points):>5} of {count} calls  {len(problems)} wrong"
                  f"{f', {self.ended - ended} ended by a library' if self.ended > ended else ''}", flush=True)
            print("".join(line + "\n" for line in problems[:10]), end="")
            wrong += len(problems)
        return wrong

    def test_ended(self):
        """What lists folders (libstdc++) or frees JSON ends a process that has no memory for it; ours must not.
        That is a small share of all commands."""
        return 1 if self.ended > MOST_ENDED * self.allocations else 0

    def test_full_disk(self):
        """Disks of more and more kilobytes, until the command succeeds."""
        script = """
            mount -t tmpfs -o size=$2k none "$1" || exit 77
            cp "$OLD" "$1/p.csv" || exit 77
            shift 2; "$@"; code=$?
            [ $code = 0 ] || cmp -s "$OLD" "$DISK/p.csv" || exit 99
            [ $(ls "$DISK" | wc -l) = 1 ] || exit 98
            exit $code"""
        disk = self.root / "disk"
        disk.mkdir()
        old = self.root / "old.csv"
        old.write_text("sample,rank,class,confidence\n", "utf-8")
        command = [self.tool, "predict", self.root / "base/ridge.safetensors", self.root / "base/data/features.npy",
                   "-o", disk / "p.csv", "--quiet"]
        codes = set()
        for kilobytes in (8, 16, 32, 64, 4096):
            done = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", disk, str(kilobytes), *command],
                                  env=dict(os.environ, OLD=str(old), DISK=str(disk)), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode == 77 or "unshare" in done.stderr:
                print("full disk: no name space of our own")
                return 0
            if done.returncode != 0 and (done.returncode != 1 or "No space left" not in done.stderr):
                print(f"    full disk of {kilobytes} kB: exit code {done.returncode}: {done.stderr[-300:]}")
                return 1
            codes.add(done.returncode)
        print("full disk: the old file stays, and the message says so")
        return 0 if codes == {0, 1} else 1


def main():
    tool, preload = (str(Path(word).resolve()) for word in sys.argv[1:3])
    most = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    with tempfile.TemporaryDirectory() as root:
        harness = Tool(tool, preload, root)
        photos = harness.prepare()
        # mpirun takes long to start, and may fail by itself where machines are busy.
        ranks = most > 2 and shutil.which("mpirun") and (Path(tool).parent / "parsnets-mpi.so").is_file()
        tried = [name for name in COMMANDS if name not in PHOTOS or photos]
        names = sys.argv[4:] or tried + list(RANKS if ranks else [])
        wrong = sum(harness.test(name, most) for name in names)
        wrong += (0 if sys.argv[4:] else harness.test_ended()) + harness.test_full_disk()
    print(f"{harness.points} faults, {wrong} with a wrong outcome")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
