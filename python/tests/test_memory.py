"""Nothing is left behind: many cycles in a process of their own do not make it larger."""

import os
import subprocess
import sys
from pathlib import Path

CYCLES = 10000
CODE = """
import gc, sys
import numpy as np
from parsnets import RidgeZSL

cycles = int(sys.argv[1])
rng = np.random.RandomState(0)
attributes = {str(label): rng.rand(5) for label in range(5)}
y = np.repeat(["0", "1", "2", "3"], 5)
x = (np.array([attributes[label] for label in y]) @ rng.rand(5, 6)).astype(np.float32)
taken = {}


def cycle(number):
    model = RidgeZSL(random_state=number).fit(x, y, class_attributes=attributes, progress=lambda *event: False)
    model.add_class(f"new {number}", rng.rand(5))
    taken[model.predict(x[number % 20:][:1])[0]] = model.predict_proba(x).sum()
    model.remove_class("4").calibrate(gamma=0.1)


def resident():
    gc.collect()
    with open("/proc/self/smaps_rollup") as file:  # counts pages; statm may be off by megabytes on many cores
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))


for number in range(500):
    cycle(number)
taken.clear()
before = resident()
for number in range(cycles):
    cycle(number)
taken.clear()
print(resident() - before)
"""


def test_ten_thousand_models_leave_less_than_a_megabyte(capsys):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    run = subprocess.run([sys.executable, "-c", CODE, str(CYCLES)], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    grown = int(run.stdout)
    with capsys.disabled():
        print(f"\nresident memory after {CYCLES} cycles of fit, predict and add_class: {grown / 1024:+.0f} KiB")
    assert grown < 1 << 20
