#!/usr/bin/python3
"""parsnets.dask on local clusters of 1, 2 and 4 worker processes: the table of docs/scaling.md.

    scripts/scaling_dask.py [--samples 262144] [--features 512] [--classes 100] [--partitions 16] [--rounds 5]

All clusters run at once and take turns, so that other work on the machine disturbs them alike. The samples lie in the
memory of the workers before the clock starts. Workers have one thread each. Uses the engine of build/ or of
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


def samples(arguments, means):
    """X and y as dask arrays that the workers make."""
    rows = arguments.samples // arguments.partitions
    blocks = da.arange(arguments.partitions, chunks=1)
    chunks = (rows,) * arguments.partitions
    x = blocks.map_blocks(lambda number: block(int(number[0]), rows, means)[0], chunks=(chunks, (arguments.features,)),
                          new_axis=1, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    y = blocks.map_blocks(lambda number: block(int(number[0]), rows, means)[1], chunks=(chunks,), dtype=np.int64)
    return x, y


def used(dask_worker=None):
    """Seconds of the processor so far, peak memory of this process and what it has sent: (to the client?, bytes)."""
    status = Path("/proc/self/status").read_text()
    return (time.process_time(), int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) << 10,
            [(entry["who"] is None, entry["compressed"]) for entry in dask_worker.transfer_outgoing_log])


class Cluster:
    """Workers that hold the samples, and what each fit has cost."""

    def __init__(self, workers, arguments, means, folder):
        self.local = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None,
            memory_limit=0, silence_logs=50, local_directory=folder)
        self.client = distributed.Client(self.local)
        self.client.wait_for_workers(workers)
        with self.client.as_current():
            self.x, self.y = self.client.persist(samples(arguments, means))
            distributed.wait([self.x, self.y])
        self.client.run(lambda: __import__("parsnets.dask"))
        self.costs = []

    def fit(self, attributes):
        before = self.client.run(used)
        with self.client.as_current():
            training = []  # when the client begins to train, and later steps
            start = time.perf_counter()
            model = parsnets_dask.ParsNetsClassifier(feature_scaling="l2", n_jobs=1).fit(
                self.x, self.y, class_attributes=attributes, progress=lambda *_: training.append(time.perf_counter()))
            end = time.perf_counter()
        after = self.client.run(used)
        busy = sum(after[worker][0] - before[worker][0] for worker in after)
        sent = [entry for worker in after for entry in after[worker][2][len(before[worker][2]):]]
        between, to_client = (sum(size for whom, size in sent if whom == wanted) for wanted in (False, True))
        self.costs.append((training[0] - start, end - training[0], busy, between, to_client,
                           max(one[1] for one in after.values())))
        return model


def in_one_process(arguments, means, attributes):
    """The model of the same samples without dask."""
    rows = arguments.samples // arguments.partitions
    made = [block(number, rows, means) for number in range(arguments.partitions)]
    x, y = np.concatenate([one[0] for one in made]), np.concatenate([one[1] for one in made])
    return parsnets_dask.ParsNetsClassifier(feature_scaling="l2", n_jobs=1).fit(x, y, class_attributes=attributes)


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
    for name, default in (("samples", 262144), ("features", 512), ("classes", 100), ("partitions", 16), ("rounds", 5)):
        parser.add_argument("--" + name, type=int, default=default)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    random = np.random.RandomState(0)
    means = random.randn(arguments.classes, arguments.features).astype(np.float32) / 8
    attributes = random.randn(arguments.classes, 64).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        clusters = {workers: Cluster(workers, arguments, means, folder) for workers in (1, 2, 4)}
        models = {}
        for number in range(arguments.rounds + 1):
            for workers, cluster in clusters.items():
                models[workers] = cluster.fit(attributes)
                if number == 0:
                    cluster.costs.clear()  # the first fit loads libraries
        for cluster in clusters.values():
            cluster.client.close()
            cluster.local.close()
    one = in_one_process(arguments, means, attributes)
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
