"""Arrays with more elements than 32 bits count, in a sparse file that is mapped."""

import numpy as np
import pytest

from parsnets import RidgeZSL

DIMENSIONS = 4096
ROWS = (1 << 31) // DIMENSIONS + 3
FREE = 10 << 30  # bytes: the pages of the file


def free_memory():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))


def test_samples_beyond_2_to_the_31_elements_have_their_own_classes(tmp_path):
    if free_memory() < FREE:
        pytest.skip(f"needs {FREE >> 30} GB of free memory")
    rng = np.random.RandomState(0)
    attributes = {"a": [1, 0], "b": [0, 1], "c": [1, 1]}
    known = rng.randn(40, DIMENSIONS).astype(np.float32)
    labels = np.repeat(["a", "b"], 20)
    known[:20, :8] += 3
    model = RidgeZSL(n_jobs=2).fit(known, labels, class_attributes=attributes)
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (ROWS, DIMENSIONS))
    places = [0, 7, ROWS // 2, ROWS - 3, ROWS - 2, ROWS - 1]  # the last ones start at element 2^31 and beyond
    chosen = known[[1, 30, 3, 25, 5, 33]]
    x[places] = chosen
    assert x.size > 1 << 31
    found = model.predict(x)
    expected = np.full(ROWS, model.predict(np.zeros((1, DIMENSIONS), np.float32))[0])
    expected[places] = model.predict(chosen)
    assert len(set(model.predict(chosen))) > 1
    np.testing.assert_array_equal(found, expected)
