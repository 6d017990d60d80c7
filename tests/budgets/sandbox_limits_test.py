#!/usr/bin/env python3
"""Small files that would take gigabytes or minutes end the process that reads them, and are refused in one line.

  sandbox_limits_test.py PARSNETS
"""

import struct
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

import budgets_test as budgets


def one_chunk(folder, rows):
    """Every label lies in a chunk of its own, and all of these are stored in one place."""
    def change(file):
        import numpy
        values = numpy.random.default_rng(1).random(125_000).astype("f4")
        labels = file.create_dataset("labels", shape=(rows, 1), maxshape=(None, None), chunks=(1, len(values)),
                                     dtype="f4", compression=9)
        labels.id.write_direct_chunk((0, 0), zlib.compress(values.tobytes()))
        for row in range(1, rows):
            labels.id.write_direct_chunk((row, 0), b"?")
        file["features"] = numpy.ones((1, 1), "f4")

    content = budgets.hdf5(change)
    nodes = [node for node in budgets.places(content, b"TREE") if content[node + 4] == 1 and content[node + 5] == 0]
    keys = [node + 24 + i * 40 for node in nodes for i in range(struct.unpack_from("<H", content, node + 6)[0])]
    largest = max(keys, key=lambda key: struct.unpack_from("<I", content, key)[0])
    for key in keys:
        content[key:key + 4] = content[largest:largest + 4]
        content[key + 32:key + 40] = content[largest + 32:largest + 40]
    budgets.mat73(folder / "res101.mat", content)
    names = budgets.mat5_array("allclasses_names", 4, 1, 1, budgets.element(1, b"a"))
    table = budgets.mat5_array("att", 6, 1, 1, budgets.element(9, struct.pack("<d", 1)))
    budgets.mat5(folder / "att_splits.mat", names, table)
    return ["data", "inspect", folder]


class SandboxLimits(unittest.TestCase):
    def refused(self, make, size, *problems):
        with tempfile.TemporaryDirectory() as root:
            command = make(Path(root), size)
            held = sum(file.stat().st_size for file in Path(root).iterdir())
            memory, seconds, code, said = budgets.measure([sys.argv[1], *command])
        times, inflated, _ = budgets.LIMITS["MAT 7.3"]
        self.assertEqual((code, said.count("\n")), (3, 1), said)
        self.assertTrue(any(problem in said for problem in problems), said)
        self.assertLess(memory, times * held + 2 * budgets.SPARE + inflated * budgets.MEGABYTE)
        self.assertLess(seconds, budgets.SECONDS + held // budgets.MEGABYTE * budgets.SECONDS_PER_MEGABYTE + 2)

    def test_names_that_share_a_long_string_take_no_more_memory_than_they_may(self):
        self.refused(budgets.mat73_names, 600_000, "found one that takes more memory")

    def test_chunks_that_share_one_place_take_no_more_time_than_they_may(self):
        # On a machine that is too busy to give it the time, its silence ends it.
        self.refused(one_chunk, 20_000, "found one that takes more time", "found no answer for")


if __name__ == "__main__":
    try:
        import h5py  # noqa: F401 - only whether it is there
    except ImportError:
        print("skipped: no h5py; `scripts/setup.sh test` installs it")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
