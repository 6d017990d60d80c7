"""Counts the instructions of the hot kernels under callgrind and compares them with tests/golden/instructions.json.

    check_counts.py PROGRAM FILE.json           compares; exit code 1 where a count moved by more than 2 %
    check_counts.py PROGRAM FILE.json --write   writes the file: `make instruction-counts`

Counted is what the program's own code executes. libm and libc choose their code by the processor and are left
out, so that the counts are the same on every machine with the same instruction set, as valgrind emulates it (AVX2 at
most). Counts of another compiler, build type or instruction set say nothing about ours: the check is skipped then (77).
"""
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

TOLERANCE = 0.02
SKIPPED = 77


def instructions_in(path, program):
    """(description, instructions of `program`'s own code) of one dump of callgrind."""
    names, description, mine, total, inclusive = {}, "", False, 0, False
    with open(path) as dump:
        for line in dump:
            if line.startswith("desc: Trigger: "):
                description = line.rsplit(": ", 1)[1].strip()
            elif line.startswith(("ob=", "cob=")):  # names may be introduced by either
                number, name = re.match(r"c?ob=\((\d+)\)(?: (.*))?", line).groups()
                if name:
                    names[number] = name
                if line.startswith("ob="):
                    mine = os.path.realpath(names[number]) == program
            elif line.startswith("calls="):
                inclusive = True  # the next line is the cost of the call, counted elsewhere
            elif line[0] in "0123456789+-*":
                if mine and not inclusive:
                    fields = line.split()
                    total += int(fields[1]) if len(fields) > 1 else 0
                inclusive = False
    return description, total


def measure(program):
    """What the counts depend on, and the counts by kernel."""
    program = os.path.realpath(program)
    with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
        out = os.path.join(folder, "counts")
        run = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}",
                              program], capture_output=True, text=True,
                             env={**os.environ, "LC_ALL": "C"})
        if run.returncode != 0:
            raise SystemExit(f"{program} failed under callgrind:\n{run.stderr}")
        dumps = [instructions_in(os.path.join(folder, name), program) for name in os.listdir(folder)]
    dumps = sorted(dump for dump in dumps if dump[0] and dump[1] > 0 and dump[0] != "Program termination")
    return ({"architecture": platform.machine(), **json.loads(run.stdout)},
            dict(dumps))


def main():
    if len(sys.argv) not in (3, 4) or (len(sys.argv) == 4 and sys.argv[3] != "--write"):
        print(__doc__, file=sys.stderr)
        return 2
    program, path = sys.argv[1:3]
    made_with, counts = measure(program)
    if len(sys.argv) == 4:
        with open(path, "w") as out:
            json.dump({"made_with": made_with, "instructions": counts}, out, indent=2)
            out.write("\n")
        print(f"{path}: {len(counts)} kernels")
        return 0
    with open(path) as stored:
        golden = json.load(stored)
    if golden["made_with"] != made_with:
        print(f"INSTRUCTION COUNTS NOT CHECKED: they were recorded with {golden['made_with']}, this is {made_with}")
        return SKIPPED
    failures = []
    for name in sorted(counts.keys() | golden["instructions"].keys()):
        now, before = counts.get(name), golden["instructions"].get(name)
        if now is None or before is None:
            failures.append(f"{name}: {'no longer counted' if now is None else 'not in the file'}")
            continue
        change = now / before - 1
        print(f"{name:<20}{before:>14,}{now:>14,}{100 * change:>+9.2f} %")
        if abs(change) > TOLERANCE:
            failures.append(f"{name}: {before:,} instructions became {now:,} ({100 * change:+.2f} %)")
    if failures:
        print(f"\nKernels moved by more than {100 * TOLERANCE:.0f} %:", *failures, sep="\n  ")
        print(f"If this is meant, run `make instruction-counts` and commit tests/golden/{os.path.basename(path)}.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
