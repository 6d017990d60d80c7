"""Comparison of byte strings and files that says where they differ and never shows what is in them."""

from pathlib import Path

import pytest


def assert_same_bytes(first, *others):
    """Each a path or bytes."""
    __tracebackhide__ = True
    a, *rest = (x if isinstance(x, bytes) else Path(x).read_bytes() for x in (first, *others))
    for number, b in enumerate(rest, 2):
        if a != b:
            at = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
            pytest.fail(f"1 and {number}: {len(a)} and {len(b)} bytes, different from offset {at} on")
