"""Seconds and memory of scipy.io.loadmat: scipy_load.py --file FILE.mat --out RESULT.json"""
import argparse
import json
import resource
import time

import scipy.io


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", required=True)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()

    with open("/proc/self/statm") as statm:
        before = int(statm.read().split()[1]) * resource.getpagesize()
    start = time.perf_counter()
    content = scipy.io.loadmat(given.file)
    seconds = time.perf_counter() - start
    with open("/proc/self/status") as status:  # unlike ru_maxrss, of this program alone
        peak = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    assert content["features"].size > 0
    with open(given.out, "w") as out:
        json.dump({"scipy": scipy.__version__, "seconds": seconds, "peak": peak - before}, out)


if __name__ == "__main__":
    main()
