#!/usr/bin/python3
"""parsnets.dask on local clusters of 1, 2 and 4 worker processes: the table of docs/scaling.md.

    scripts/scaling_dask.py [--samples 262144] [--features 512] [--classes 100] [--partitions 16] [--rounds 3]

All clusters run at once and take turns, so that other work on the machine disturbs them alike. Workers have one thread
each and read .npy files, one per partition, which fit into the page cache. Uses the engine of build/ or of
$PARSNETS_LIBRARY.
"""
import argparse
import os
import pickle
import re
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import dask  # noqa: E402
import dask.array as da  # noqa: E402
import distributed  # noqa: E402
import numpy as np  # noqa: E402

from parsnets import dask as parsnets_dask  # noqa: E402
from parsnets._partitions import Plan, sums_of  # noqa: E402


def block(number, rows, means):
    """Samples of partition `number` and their labels."""
    random = np.random.RandomState(number)
    labels = random.randint(len(means), size=rows)
    return means[labels] + random.randn(rows, means.shape[1]).astype(np.float32), labels


def write_samples(arguments, means, folder):
    """One file of samples and one of labels per partition."""
    rows = arguments.samples // arguments.partitions
    for number in range(arguments.partitions):
        for name, values in zip("xy", block(number, rows, means)):
            np.save(f"{folder}/{name}{number}.npy", values)


def samples(arguments, folder):
    """X and y as dask arrays that the workers read."""
    rows = arguments.samples // arguments.partitions

    def read(name, shape, kind):
        return da.concatenate([da.from_delayed(dask.delayed(np.load)(f"{folder}/{name}{number}.npy"), shape, kind)
                               for number in range(arguments.partitions)])

    return read("x", (rows, arguments.features), np.float32), read("y", (rows,), np.int64)


def used(dask_worker=None):
    """Seconds of the processor so far, peak memory of this process and what it has sent: (to the client?, bytes)."""
    status = Path("/proc/self/status").read_text()
    return (time.process_time(), int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) << 10,
            [(entry["who"] is None, entry["compressed"]) for entry in dask_worker.transfer_outgoing_log])


class Cluster:
    """Workers, and what each fit has cost."""

    def __init__(self, workers, folder):
        self.local = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None,
            memory_limit=0, silence_logs=50, local_directory=folder)
        self.client = distributed.Client(self.local)
        self.client.wait_for_workers(workers)
        self.client.run(lambda: __import__("parsnets.dask"))
        self.costs = []

    def fit(self, x, y, attributes):
        before = self.client.run(used)
        with self.client.as_current():
            training = []  # when the client begins to train, and later steps
            start = time.perf_counter()
            model = parsnets_dask.ParsNetsClassifier(feature_scaling="l2", n_jobs=1).fit(
                x, y, class_attributes=attributes, progress=lambda *_: training.append(time.perf_counter()))
            end = time.perf_counter()
        after = self.client.run(used)
        busy = sum(after[worker][0] - before[worker][0] for worker in after)
        sent = [entry for worker in after for entry in after[worker][2][len(before[worker][2]):]]
        between, to_client = (sum(size for whom, size in sent if whom == wanted) for wanted in (False, True))
        self.costs.append((training[0] - start, end - training[0], busy, between, to_client,
                           max(one[1] for one in after.values())))
        return model


def difference(model, other, x):
    """The largest difference of scores, relative to the largest score."""
    scores, others = model.class_scores(x), other.class_scores(x)
    return np.abs(scores - others).max() / np.abs(others).max()


def milliseconds(work):
    """The median processor time of a few calls."""
    taken = []
    for _ in range(9):
        start = time.process_time()
        work()
        taken.append(1e3 * (time.process_time() - start))
    return statistics.median(taken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("samples", 262144), ("features", 512), ("classes", 100), ("partitions", 16), ("rounds", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    random = np.random.RandomState(0)
    means = random.randn(arguments.classes, arguments.features).astype(np.float32) / 8
    attributes = random.randn(arguments.classes, 64).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        write_samples(arguments, means, folder)
        data = samples(arguments, folder)
        clusters = {workers: Cluster(workers, folder) for workers in (1, 2, 4)}
        models = {}
        for number in range(arguments.rounds + 1):
            for workers, cluster in clusters.items():
                models[workers] = cluster.fit(*data, attributes)
                if number == 0:
                    cluster.costs.clear()  # the first fit loads libraries
        one = parsnets_dask.ParsNetsClassifier(feature_scaling="l2", n_jobs=1).fit(
            *dask.compute(*data, scheduler="synchronous"), class_attributes=attributes)
        for cluster in clusters.values():
            cluster.client.close()
            cluster.local.close()
    x, labels = block(arguments.partitions, 10000, means)
    plan = Plan(arguments.features, "l2", None, {})
    part = sums_of([x, labels], 0, plan)
    print(f"{arguments.samples} samples of {arguments.features} features and {arguments.classes} classes in "
          f"{arguments.partitions} partitions, {os.cpu_count()} cores; medians of {arguments.rounds} fits; "
          f"processor time to add up 10,000 samples: {milliseconds(lambda: sums_of([x, labels], 0, plan)):.0f} ms, to "
          f"pickle and unpickle {len(part.statistics.to_bytes()) / 1e6:.1f} MB of statistics: "
          f"{milliseconds(lambda: pickle.loads(pickle.dumps(part))):.0f} ms\n")
    print("| workers | sums, seconds | speed-up | processor time of workers, seconds | training on the client, seconds "
          "| between workers, MB | to the client, MB | peak memory of a worker, MB | difference of scores |")
    print("|---" * 9 + "|")
    first = statistics.median(cost[0] for cost in clusters[1].costs)
    for workers, cluster in clusters.items():
        sums, training, busy, between, to_client, memory = map(statistics.median, zip(*cluster.costs))
        print(f"| {workers} | {sums:.2f} | {first / sums:.2f} | {busy:.2f} | {training:.2f} | {between / 1e6:.1f} | "
              f"{to_client / 1e6:.1f} | {memory / 1e6:.0f} | {difference(models[workers], one, x):.0e} |")


if __name__ == "__main__":
    main()
