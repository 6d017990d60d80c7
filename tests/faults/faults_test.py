#!/usr/bin/env python3
"""Kills writing commands at their file calls, and lets these fail. Usage: faults_test.py PARSNETS PRELOAD.so [POINTS]

At each point, in a folder of its own: the process is killed before the call, the call fails, or all reads and writes
from there on do a part of their work. Afterwards each file is the old one or a complete new one; a failure has its exit
code and a message; and when the command runs again, it succeeds and nothing else is left in the folder. A small full
disk is tried, too, where a name space of our own is allowed. POINTS: of each command and kind, evenly spread; 0: all.
"""
import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "data/demo"

# Words with {} are in the folder. The files of a command are there before it runs, from an earlier run of `before`.
TRAIN = ["train", "--data", "{data}", "--out", "{model}", "--method", "ridge"]
COMMANDS = {
    "train": TRAIN,
    "train --run": ["train", "--data", "{data}", "--run", "{run}", "--method", "ridge"],
    "calibrate": ["calibrate", "--model", "{model}", "--data", "{data}", "--folds", "2"],
    "classes remove": ["classes", "remove", "--model", "{model}", "--classes", "{class}", "--out", "{fewer}"],
    "export": ["export", "--model", "{model}", "--out", "{device}", "--precision", "float32", "--c-header", "{header}"],
    "predict": ["predict", "--model", "{model}", "--input", "{data}/features.npy", "--out", "{predictions}"],
    "stats": ["stats", "--data", "{data}", "--out", "{statistics}"],
    "data split": ["data", "split", "{data}", "--force"],
    "data convert": ["data", "convert", "{data}", "{converted}", "--format", "csv"],
}
NAMES = {"data": "data", "model": "m.safetensors", "run": "run", "fewer": "fewer.safetensors", "device": "m.pnrt",
         "header": "m.h", "predictions": "p.csv", "statistics": "s.safetensors", "converted": "converted"}


def words(command, folder):
    values = {name: str(folder / file) for name, file in NAMES.items()}
    first = (DEMO / "attributes.csv").read_text("utf-8").splitlines()[1].split(",")[0]
    return [word.format(**values, **{"class": first}) for word in command]


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class Tool:
    def __init__(self, tool, preload, root):
        self.tool, self.preload, self.root, self.points = tool, preload, Path(root), 0

    def run(self, command, folder, kind="", at=0):
        environment = dict(os.environ, LD_PRELOAD=self.preload, FAULT_FOLDER=str(folder), FAULT_KIND=kind,
                           FAULT_AT=str(at), FAULT_COUNT=str(folder) + ".count", TMPDIR=str(self.root))
        return subprocess.run([self.tool, *words(command, folder), "--quiet", "--threads", "1"], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=300)

    def complete(self, path):
        """Whether a file can be read to its end."""
        if path.suffix in (".safetensors", ".pnrt", ".npy", ".csv") and path.name != "p.csv":
            return subprocess.run([self.tool, "info", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False).returncode == 0
        text = path.read_text("utf-8", errors="replace")
        return text[-1:] in ("\n", "}")

    def problem(self, name, start, wanted, folder, kind, at):
        """What is wrong after a fault, or an empty string."""
        command = COMMANDS[name]
        shutil.copytree(start, folder, symlinks=True)
        done = self.run(command, folder, kind, at)
        expected = {"kill": (-signal.SIGKILL,), "fail": (0, 1, 3), "short": (0,)}[kind]
        if done.returncode not in expected:
            return f"exit code {done.returncode}: {done.stderr[-300:]}"
        if kind == "fail" and done.returncode != 0 and len(done.stderr.strip().splitlines()) < 1:
            return "no message"
        for path in files(folder):
            old = start / path
            same = old.exists() and old.read_bytes() == (folder / path).read_bytes()
            if ".parsnets-" in path:
                if kind != "kill":
                    return f"{path} was left"
            elif not same and not self.complete(folder / path):
                return f"{path} is neither the old file nor a complete new one"
        if lost := set(files(start)) - set(files(folder)):
            return f"lost: {lost}"
        done = self.run(command, folder)
        if done.returncode != 0:
            return f"not after the next start: {done.stderr[-300:]}"
        if files(folder) != wanted:
            return f"after the next start, expected {wanted}, found {files(folder)}"
        return ""

    def test(self, name, most):
        start = self.root / name.replace(" ", "-")
        shutil.copytree(DEMO, start / "data")
        for step in (TRAIN, COMMANDS[name]):  # what is there was written before
            done = self.run(step, start)
            assert done.returncode == 0, done.stderr
        clean = self.root / (start.name + "-clean")
        shutil.copytree(start, clean)
        assert self.run(COMMANDS[name], clean).returncode == 0
        count, wanted = int(Path(str(clean) + ".count").read_text("utf-8")), files(clean)
        wrong = 0
        for kind in ("kill", "fail", "short"):
            step = 1 if most == 0 else max(1, -(-count // most))
            points = range(1, count + 1, step)
            problems = []

            def one(at, kind=kind, problems=problems):
                folder = self.root / f"{start.name}-{kind}-{at}"
                if found := self.problem(name, start, wanted, folder, kind, at):
                    problems.append(f"    {name}, {kind} at call {at}: {found}")
                shutil.rmtree(folder)

            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(one, points))
            self.points += len(points)
            print(f"{name:<16}{kind:<7}{len(points):>5} of {count} calls  {len(problems)} wrong", flush=True)
            print("".join(line + "\n" for line in problems[:10]), end="")
            wrong += len(problems)
        return wrong

    def test_full_disk(self):
        """Disks of more and more kilobytes, until the command succeeds."""
        start = self.root / "predict"
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
        command = [self.tool, "predict", "--model", start / "m.safetensors", "--input", start / "data/features.npy",
                   "--out", disk / "p.csv", "--quiet"]
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
        wrong = sum(harness.test(name, most) for name in COMMANDS)
        wrong += harness.test_full_disk()
    print(f"{harness.points} faults, {wrong} with a wrong outcome")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
