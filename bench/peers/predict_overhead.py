"""What Python adds to the engine's predictions.

predict() against the bare call of parsnets_predict_top with arguments made beforehand, alternately: for one sample the
difference of the medians is the overhead, for many samples the ratio of the rates is 1 when Python costs nothing.

    predict_overhead.py --model FILE --features FILE.npy [--check] --out RESULT.json
"""
import argparse
import ctypes
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("PARSNETS_LIBRARY", str(ROOT / "build" / "src" / "libparsnets.so"))

from parsnets import load_model  # noqa: E402
from parsnets._library import library  # noqa: E402

MOST_MICROSECONDS = 20
LEAST_RATIO = 0.97


def seconds_of(model, batches, runs, threads):
    """Seconds of (the C function, predict), runs x 2; batches: n x d each, taken in turn."""
    model.set_params(n_jobs=threads)
    out = np.empty(len(batches[0]), np.int32)
    arguments = [(model._model.handle, ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(len(x)),
                  ctypes.c_size_t(x.shape[1]), ctypes.c_int32(0), ctypes.c_size_t(1), ctypes.c_uint32(threads),
                  ctypes.c_void_p(out.ctypes.data), None) for x in batches]
    function, predict, clock = library().parsnets_predict_top, model.predict, time.perf_counter
    times = np.empty((runs, 2))
    for run in range(runs):
        bare, x = arguments[run % len(batches)], batches[run % len(batches)]
        for which in ((0, 1), (1, 0))[run % 2]:
            start = clock()
            if which == 0:
                function(*bare)
            else:
                labels = predict(x)
            times[run, which] = clock() - start
    assert (model.classes_[out] == labels).all()
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--features", required=True, help=".npy, rows of float32")
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=20000, help="of one sample")
    parser.add_argument("--rounds", type=int, default=30, help="of many samples")
    parser.add_argument("--check", action="store_true",
                        help=f"exit 1 unless overhead < {MOST_MICROSECONDS} us and ratios >= {LEAST_RATIO}")
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    model = load_model(given.model)
    x = np.load(given.features)
    x = np.ascontiguousarray(np.resize(x, (given.samples, x.shape[1])), np.float32)

    times = seconds_of(model, [np.ascontiguousarray(x[i:i + 1]) for i in range(64)], given.runs, 1)
    bare, predict = 1e6 * np.median(times, axis=0)
    result = {"numpy": np.__version__, "many_samples": [],
              "one_sample": {"c_us": bare, "predict_us": predict, "overhead_us": predict - bare}}
    for threads in sorted({1, min(2, len(os.sched_getaffinity(0)))}):
        times = seconds_of(model, [x], given.rounds, threads)
        rates = len(x) / np.median(times, axis=0)
        result["many_samples"].append({"threads": threads, "samples": len(x), "c_per_second": rates[0],
                                       "predict_per_second": rates[1], "seconds": times.tolist(),
                                       "ratio": float(np.median(times[:, 0] / times[:, 1]))})
    with open(given.out, "w") as out:
        json.dump(result, out)
    passed = predict - bare < MOST_MICROSECONDS and all(many["ratio"] >= LEAST_RATIO for many in result["many_samples"])
    return 0 if passed or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
