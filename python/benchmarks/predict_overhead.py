"""What Python adds to the engine's predictions.

One sample: predict() against the bare call of parsnets_predict_top with arguments made beforehand, alternately; the
difference of the medians is the overhead. Many samples: predict() against the C++ library (bench/predict.cpp, built as
bench_predict with PARSNETS_BUILD_BENCH), alternately, with one thread and with all; the ratio of throughputs is 1 when
Python costs nothing.

  python3 benchmarks/predict_overhead.py [--model FILE [--features FILE.npy]] [--check]
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("PARSNETS_LIBRARY", str(ROOT / "build" / "src" / "libparsnets.so"))

from parsnets import ParsNetsClassifier, datasets, load_model  # noqa: E402
from parsnets._library import library  # noqa: E402

MOST_MICROSECONDS = 20
LEAST_RATIO = 0.97


def one_sample(model, x, runs, middle=np.median):
    """(bare, predict) in microseconds, the middle of all runs; x: n x d, its rows taken in turn."""
    rows = [np.ascontiguousarray(x[i:i + 1]) for i in range(min(64, len(x)))]
    out = ctypes.c_int32()
    arguments = [(model._model.handle, ctypes.c_void_p(row.ctypes.data), ctypes.c_size_t(1),
                  ctypes.c_size_t(x.shape[1]), ctypes.c_int32(0), ctypes.c_size_t(1), ctypes.c_uint32(1),
                  ctypes.byref(out), None) for row in rows]
    function = library().parsnets_predict_top
    predict, clock = model.predict, time.perf_counter_ns
    times = np.empty((runs, 2))
    for run in range(runs):
        bare, row = arguments[run % len(rows)], rows[run % len(rows)]
        for which in ((0, 1), (1, 0))[run % 2]:
            start = clock()
            if which == 0:
                function(*bare)
            else:
                predict(row)
            times[run, which] = clock() - start
    assert model.classes_[out.value] == predict(rows[(runs - 1) % len(rows)])[0]
    return middle(times, axis=0) / 1000


def many_samples(model, files, x, program, jobs, rounds, repeats):
    """(C++, predict) best seconds of each round, rounds x 2."""
    model.set_params(n_jobs=jobs)
    threads = "0" if jobs == -1 else str(jobs)
    seconds = np.empty((rounds, 2))
    for r in range(rounds):
        run = subprocess.run([program, *files, str(repeats), threads], check=True, capture_output=True, text=True)
        said = json.loads(run.stdout)
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            labels = model.predict(x)
            times.append(time.perf_counter() - start)
        assert model.classes_[said["first"]] == labels[0]
        seconds[r] = min(said["seconds"]), min(times)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="model file; by default one is trained on the demo data")
    parser.add_argument("--features", help=".npy with samples; by default the demo's, or for --model drawn ones")
    parser.add_argument("--program", default=str(ROOT / "build" / "bench_predict"), help="the C++ side")
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=20000, help="of one sample")
    parser.add_argument("--rounds", type=int, default=9, help="of many samples")
    parser.add_argument("--repeats", type=int, default=7, help="in a round")
    parser.add_argument("--check", action="store_true",
                        help=f"exit 1 unless overhead < {MOST_MICROSECONDS} us and ratios >= {LEAST_RATIO}")
    given = parser.parse_args()
    if given.model:
        model = load_model(given.model)
        x = np.abs(np.random.RandomState(0).normal(size=(1000, model.n_features_in_)))
    else:
        data = datasets.load_demo()
        model, x = ParsNetsClassifier().fit_dataset(data), data.X
    x = np.load(given.features) if given.features else x
    x = np.ascontiguousarray(np.resize(x, (given.samples, x.shape[1])), np.float32)

    bare, predict = one_sample(model, x, given.runs)
    print(f"one sample: bare call {bare:.2f} us, predict {predict:.2f} us, overhead {predict - bare:.2f} us")
    passed = predict - bare < MOST_MICROSECONDS
    with tempfile.TemporaryDirectory(prefix="parsnets-") as folder:
        files = [os.path.join(folder, "model.safetensors"), os.path.join(folder, "x.npy")]
        model.save(files[0])
        np.save(files[1], x)
        for jobs in (1, -1):
            seconds = many_samples(model, files, x, given.program, jobs, given.rounds, given.repeats)
            ratio = float(np.median(seconds[:, 0] / seconds[:, 1]))
            cpp, python = len(x) / np.median(seconds, axis=0)
            print(f"{len(x)} samples, n_jobs={jobs}: C++ {cpp:,.0f} samples/s, predict {python:,.0f} samples/s, "
                  f"ratio {ratio:.3f}")
            passed = passed and ratio >= LEAST_RATIO
    return 0 if passed or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
