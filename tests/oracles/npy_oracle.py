#!/usr/bin/env python3
"""numpy as the oracle of the .npy, .npz and .csv readers and writers.

  npy_oracle.py probe          exits 0 when numpy is there
  npy_oracle.py write DIR      writes arrays and what numpy makes of them; cases.txt lists them, one per line:
                               file member rows cols         (member '-' for a .npy file)
                               values as raw native float32 in <case>.f32 and float64 in <case>.f64
  npy_oracle.py text DIR       writes arrays of strings; the strings, one per line, in <file>.txt
  npy_oracle.py csv DIR        writes numbers in many spellings to numbers.csv, float32(float(text)) to numbers.f32
  npy_oracle.py check DIR      reads files the library wrote and compares them with <case>.f32 / .i32 / .txt
"""
import io
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np


def samples(dtype, shape, rng):
    """Values over the whole range of the type, its extremes included."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.kind == "b":
        flat = rng.integers(0, 2, count).astype(dtype)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        flat = rng.integers(info.min, info.max, count, dtype=dtype.newbyteorder("="), endpoint=True)
        flat[:2] = [info.min, info.max]
    else:
        info = np.finfo(dtype)
        flat = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype)
        flat[:6] = [0.0, -0.0, np.nan, np.inf, info.max if dtype.itemsize < 8 else 1 / 3, info.tiny / 4]
    return flat.astype(dtype).reshape(shape)


def write(folder):
    rng = np.random.default_rng(7)
    lines = []

    def note(case, file, member, array):
        with np.errstate(over="ignore"):
            for ending in ("f4", "f8"):
                array.astype("=" + ending, order="C").tofile(folder / f"{case}.f{8 * int(ending[1])}")
        rows, cols = (array.shape + (1,))[:2]
        lines.append(f"{case} {file} {member} {rows} {cols}")

    kinds = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "b1"]
    for kind in kinds:
        for order in "<>":
            for layout in "CF":
                for version in ((1, 0), (2, 0), (3, 0)):
                    array = np.asarray(samples(order + kind, (37, 11), rng), order=layout)
                    case = f"{'le' if order == '<' else 'be'}_{kind}_{layout}_{version[0]}"
                    with open(folder / f"{case}.npy", "wb") as f:
                        np.lib.format.write_array(f, array, version=version)
                    note(case, case + ".npy", "-", array)
    for case, array in [
        ("vector", samples("<f4", (23,), rng)),
        ("row_f", np.asarray(samples("<f4", (1, 23), rng), order="F")),
        ("column_f", np.asarray(samples("<f8", (23, 1), rng), order="F")),
        ("tall_f", np.asarray(samples("<f4", (600_000, 3), rng), order="F")),  # longer columns than one panel
        ("wide_f", np.asarray(samples("<i2", (300, 4000), rng), order="F")),  # several panels
        ("large_c", samples(">f4", (700, 1000), rng)),  # several pieces
    ]:
        np.save(folder / f"{case}.npy", array)
        note(case, case + ".npy", "-", array)

    arrays = {
        "features": samples("<f4", (41, 13), rng),
        "fortran": np.asarray(samples("<f8", (41, 13), rng), order="F"),
        "labels": samples("<i8", (41,), rng),
        "bytes": samples("|u1", (5, 70_000), rng),
        "grün": samples("<f4", (7, 3), rng),
    }
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)

    def write_zip64(file, method):
        with zipfile.ZipFile(file, "w", method) as z:
            for member, array in arrays.items():
                with z.open(member + ".npy", "w", force_zip64=True) as f:
                    np.lib.format.write_array(f, array)

    write_zip64(folder / "zip64_stored.npz", zipfile.ZIP_STORED)
    write_zip64(folder / "zip64_deflated.npz", zipfile.ZIP_DEFLATED)

    # Written to a stream that cannot seek: sizes and checksum follow the data.
    with open(folder / "streamed.npz", "wb") as file:
        write_zip64(SimpleNamespace(write=file.write, flush=file.flush), zipfile.ZIP_DEFLATED)
    for archive in ("stored", "deflated", "zip64_stored", "zip64_deflated", "streamed"):
        for member, array in arrays.items():
            note(f"{archive}_{member}", archive + ".npz", member, array)
    (folder / "cases.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


NAMES = ["ant", "zebra finch", "ä", "日本語", "", "a𝔘z", "long " * 20]


def text(folder):
    for case, array in [
        ("unicode_le", np.array(NAMES).astype("<U")),
        ("unicode_be", np.array(NAMES).astype(">U")),
        ("bytes", np.array([n.encode() for n in NAMES])),
        ("column", np.array(NAMES).reshape(-1, 1)),
    ]:
        np.save(folder / f"{case}.npy", array)
        np.savez_compressed(folder / f"{case}.npz", names=array)
        (folder / f"{case}.txt").write_text("".join(name + "\n" for name in NAMES), encoding="utf-8")


def csv(folder):
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 2**32, 40_000, dtype=np.uint32).view(np.float32)
    bits = bits[np.isfinite(bits)]
    doubles = rng.standard_normal(20_000) * 10.0 ** rng.integers(-44, 38, 20_000)
    spellings = [repr(float(v)) for v in doubles]
    spellings += [str(v) for v in bits]
    spellings += ["%.9g" % v for v in bits[:5000]] + ["%.17e" % v for v in bits[:5000]]
    spellings += ["%.40f" % v for v in bits[:2000]]
    spellings += ["0", "-0", "+1", "007", ".5", "5.", "1E5", "1e+05", "1e-400", "-1e-400", "0e999", "4.9e-324",
                  "0." + "0" * 400 + "1", "1" + "0" * 300 + "e-300", "0" * 500 + "1", "3.4028235e38", "16777217",
                  "7.038531e-26", " 2.5 ", "\t2.5"]
    spellings += ["", "nan", "NaN", "NA", "-nan"]
    width = 7
    spellings += ["1"] * (-len(spellings) % width)
    rows = [spellings[i:i + width] for i in range(0, len(spellings), width)]
    (folder / "numbers.csv").write_text("\n".join(",".join(row) for row in rows))
    with np.errstate(over="ignore"):
        missing = ("", "na")
        values = np.array([float("nan" if s.strip().lower() in missing else s) for s in spellings]).astype(np.float32)
    assert not np.isinf(values).any()
    values.tofile(folder / "numbers.f32")
    (folder / "shape.txt").write_text(f"{len(rows)} {width}\n")


def check(folder):
    def require(condition, what):
        if not condition:
            sys.exit("npy_oracle.py check: " + what)

    single = np.load(folder / "single.npy")
    require(single.dtype == np.dtype("<f4"), f"single.npy: dtype {single.dtype}")
    values = np.fromfile(folder / "values.f32", np.float32).reshape(single.shape)
    require(np.array_equal(single, values, True), "single.npy: values differ")
    whole = np.fromfile(folder / "labels.i32", np.int32)
    require(np.array_equal(np.load(folder / "labels.npy"), whole), "labels.npy")
    # numpy's own bytes for the same array
    buffer = io.BytesIO()
    np.save(buffer, single)
    require((folder / "single.npy").read_bytes() == buffer.getvalue(), "single.npy is not what numpy.save writes")
    with open(folder / "numbers.csv") as f:
        read = [np.array([float(v) for v in line.split(",")]).astype(np.float32) for line in f]
    raw = np.fromfile(folder / "csv.f32", np.float32)
    require(np.array_equal(np.concatenate(read), raw, True), "numbers.csv: values differ")


def main():
    if sys.argv[1] != "probe":
        {"write": write, "text": text, "csv": csv, "check": check}[sys.argv[1]](Path(sys.argv[2]))


main()
