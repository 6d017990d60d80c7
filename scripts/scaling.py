#!/usr/bin/env python3
"""Measures training with more samples and more processes, and predicts it for larger machines; prints Markdown tables.

  scaling.py memory  [--tool build/parsnets] [--sets DIR]   1 M x 512 and smaller under --memory-limit 1GB
  scaling.py mpi     [--tool build/parsnets] [--sets DIR]   1, 2 and 4 processes: strong and weak scaling
  scaling.py predict [--gflops 1000] [--network 1.25]       ImageNet-21k on 1 and 16 nodes, by the formulas alone

Generated sets (data synth, 100 classes, 512 features) are made in DIR unless they are there; 1 M samples need 2 GB.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def generated(tool, sets, samples):
    folder = sets / f"n{samples}"
    if not (folder / "split.json").exists():
        subprocess.run([tool, "data", "synth", folder, "--samples", str(samples), "--classes", "100", "--attributes",
                        "85", "--dimensions", "512", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return folder


def train(tool, folder, out, *options, processes=1):
    """What `train --json` says."""
    before = ["mpirun", "-n", str(processes)] if processes > 1 else []
    command = [*before, tool, "train", "--data", folder, "--out", out, "--quiet", "--json", *options]
    done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE,
                          env={**os.environ, **MPI_ENVIRONMENT})
    return json.loads(done.stdout)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def measure_memory(tool, sets):
    rows, before = [], None
    for samples in (125_000, 250_000, 500_000, 1_000_000):
        result = train(tool, generated(tool, sets, samples), sets / "m.safetensors", "--memory-limit", "1GB")
        seconds = result["seconds"]
        rows.append((f"{samples:,}", f"{samples * 512 * 4 / 1e6:,.0f} MB", "yes" if result["streamed"] else "no",
                     f"{result['peak_memory_bytes'] / 1e6:.0f} MB", f"{seconds:.1f} s",
                     "" if before is None else f"{seconds / before:.2f}"))
        before = seconds
        print(rows[-1], file=sys.stderr)
    table(("samples", "features on disk", "streamed", "peak memory", "time", "of the row above"), rows)


def measure_mpi(tool, sets):
    for name, sizes in (("strong", (250_000, 250_000, 250_000)), ("weak", (62_500, 125_000, 250_000))):
        rows, first = [], None
        for processes, samples in zip((1, 2, 4), sizes):
            result = train(tool, generated(tool, sets, samples), sets / "m.safetensors", "--threads", "1",
                           processes=processes)
            seconds = result["seconds"]
            first = first or seconds
            ratio = first / seconds
            rows.append((processes, f"{samples:,}", f"{seconds:.1f} s", f"{ratio:.2f}",
                         f"{result['bytes_sent'] / 1e6:.1f} MB", f"{result['peak_memory_bytes'] / 1e6:.0f} MB"))
            print(rows[-1], file=sys.stderr)
        print(f"{name} scaling\n")
        table(("processes", "samples", "time", "speed-up" if name == "strong" else "efficiency",
               "sent per process", "peak memory of process 0"), rows)


def sent(d, classes, seen, q, networks, h, steps, tries):
    """Bytes that a process puts into collective calls in one fit; docs/scaling.md has the formula."""
    width = h + 1
    return (8 * (d * d + classes * d + classes + 1) + 16 * classes + 4 * networks * width ** 2 + 16 * networks + 16
            + 8 * seen * q + steps * (4 * q * (d + networks * width) + 16) + tries * 8 * (seen * q + 1))


def predict(gflops, network):
    n, d, classes, seen, networks, k, h, steps, folds = 14_000_000, 2048, 21_000, 20_000, 100, 10, 64, 3, 4
    q = min(d, seen - 1)
    output = 2 * d * q + 2 * k * h * q
    pass_flops = n * (2 * d * h + 2 * networks * h + output)
    loss = n * 2 * q * seen
    moments = n * (2 * d * q + 2 * k * h * q)
    fit = n * d * d + pass_flops + steps * (2 * pass_flops + moments + 3 * loss)
    flops = fit * (1 + folds * 0.8 * 0.7)  # a fold has 80 % of the samples of 70 % of the classes
    traffic = sent(d, classes, seen, q, networks, h, steps, steps) * (1 + folds)
    fixed = 44 * d * d + 24 * seen * d + 20 * d * q + networks * (h + 1) * (20 * q + 4 * (h + 1)) + 88 * seen * q
    rows = []
    for nodes in (1, 16):
        compute = flops / (gflops * 1e9 * nodes)
        network_time = 0 if nodes == 1 else 2 * traffic / (network * 1e9)
        rows.append((nodes, f"{n * d * 4 / nodes / 1e9:.1f} GB", f"{fixed / 1e9:.1f} GB", f"{flops / 1e15:.1f} P",
                     f"{compute / 3600:.2f} h", f"{traffic / 1e9:.1f} GB" if nodes > 1 else "0",
                     f"{network_time:.0f} s"))
    table(("nodes", "features per node", "memory beside them", "flops", f"time at {gflops:.0f} GFLOP/s per node",
           "sent per node", f"time of that at {network} GB/s"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("memory", "mpi", "predict"))
    parser.add_argument("--tool", default="build/parsnets")
    parser.add_argument("--sets", type=pathlib.Path, default=pathlib.Path("out/scaling"))
    parser.add_argument("--gflops", type=float, default=1000)
    parser.add_argument("--network", type=float, default=1.25)
    options = parser.parse_args()
    if options.what == "predict":
        predict(options.gflops, options.network)
        return
    options.sets.mkdir(parents=True, exist_ok=True)
    (measure_memory if options.what == "memory" else measure_mpi)(options.tool, options.sets)


if __name__ == "__main__":
    main()
