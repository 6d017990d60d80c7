#!/usr/bin/env python3
"""What a file may cost. Usage: budgets_test.py PARSNETS [SCALE [--memory-alone]] | --table

Reads files that are as costly as their formats allow, each in one size and in twice that size, and compares memory and
processor time with the limits below, which SECURITY.md states: `--table` prints its table. Memory is the peak of a run
beyond that of one that reads almost nothing. SCALE multiplies all sizes; 1 by default.
`--memory-alone`: times are shown and not compared, since other programs run beside the tests.
"""
import io
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from pathlib import Path

MEGABYTE = 1 << 20
SPARE = 16 * MEGABYTE
SLOWER = 3.0  # how many times as long a file of twice the size may take
SHORTEST = 0.25  # seconds: below, a clock says nothing about growth
SECURITY = Path(__file__).resolve().parents[2] / "SECURITY.md"

# Format: times the size of the file, and megabytes for what it holds inflated, in words for SECURITY.md.
LIMITS = {
    "npy, npz": (4, 0, ""),
    "csv": (4, 0, "at most 131,072 classes and 32,768 columns with names"),
    "json": (4, 0, "split.json, preprocessing files; what would take more is refused"),
    "safetensors, device files": (4, 0, "with their header of JSON"),
    "MAT 5": (4, 128, "in a process of its own, which ends where it takes more"),
    "MAT 7.3": (4, 128, "as MAT 5; chunks that do not fit are refused"),
}
# Processor seconds of that process, and more for each megabyte of the file; it ends where it takes longer.
SECONDS, SECONDS_PER_MEGABYTE = 4, 1


def table():
    lines = ["| Format | Memory beside the program | |", "|---|---|---|"]
    for name, (times, inflated, why) in LIMITS.items():
        extra = SPARE // MEGABYTE + inflated
        lines.append(f"| {name} | {times} × the size of the file + {extra} MB | {why} |")
    return "\n".join(lines) + "\n"


def npy(array_type, shape, values):
    header = f"{{'descr': '{array_type}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def data_set(folder, **files):
    """A small data set in which some files are others. Names have _ for their dot."""
    usual = {"attributes_csv": "class,a,b\nx,1,0\ny,0,1\nz,1,1\n", "labels_csv": "x\ny\nz\n" * 4,
             "split_json": json.dumps({"unseen_classes": ["z"], "test_seen_samples": [0, 1], "val_classes": ["y"]}),
             "features_csv": "1,2\n3,4\n5,7\n" * 4}
    for name, content in {**usual, **files}.items():
        put(folder / name.replace("_csv", ".csv").replace("_json", ".json").replace("_npy", ".npy"), content)
    return ["data", "inspect", folder]


def short_labels(folder, size):
    return data_set(folder, labels_csv="1\n" * (size // 2))


def short_classes(folder, size):
    return data_set(folder, attributes_csv="class,a\n" + "".join(f"{i:x},1\n" for i in range(size // 8)))


def wide_classes(folder, size):
    columns = size // 20
    header = "class," + ",".join(f"{i:x}" for i in range(columns)) + "\n"
    return data_set(folder, attributes_csv=header + "".join(name + ",1" * columns + "\n" for name in "xyz"))


def most_classes(folder, size):
    """As many classes as there may be, whose rows are as short as the size allows."""
    rows = 131072
    return data_set(folder, attributes_csv="class,a\n" + "".join(f"{i:0{size // rows}x},1\n" for i in range(rows)))


def most_columns(folder, size):
    columns = 32767
    header = "class," + ",".join(f"{i:0{size // columns}x}" for i in range(columns)) + "\n"
    return data_set(folder, attributes_csv=header + "".join(name + ",1" * columns + "\n" for name in "xyz"))


def quoted_cells(folder, size):
    return data_set(folder, labels_csv='"""\n"\n' * (size // 6))


def short_features(folder, size):
    return data_set(folder, features_csv="1\n" * (size // 2))


def one_line(folder, size):
    return data_set(folder, features_csv="1," * (size // 2) + "1\n")


def csv_info(folder, size):
    put(folder / "x.csv", "a\n" + "1\n" * (size // 2))
    return ["info", folder / "x.csv"]


def split_numbers(folder, size):
    return data_set(folder, split_json='{"unseen_classes": ["z"], "test_seen_samples": [' + "0," * (size // 2) + "0]}")


def split_lists(folder, size):
    return data_set(folder, split_json='{"unseen_classes": [' + "[]," * (size // 3) + "[]]}")


def split_keys(folder, size):
    return data_set(folder, split_json="{" + ",".join(f'"{i:x}":0' for i in range(size // 10)) + "}")


def safetensors(folder, size, entries):
    header = "{" + ",".join(entries) + "}"
    put(folder / "x.safetensors", struct.pack("<Q", len(header)) + header.encode())
    return ["info", folder / "x.safetensors"]


def many_tensors(folder, size):
    return safetensors(folder, size, (f'"{i:x}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
                                      for i in range(size // 60)))


def long_shape(folder, size):
    return safetensors(folder, size, ['"x":{"dtype":"F32","shape":[0' + ",1" * (size // 2) + '],"data_offsets":[0,0]}'])


def large_payload(folder, size):
    header = f'{{"x":{{"dtype":"U8","shape":[{size}],"data_offsets":[0,{size}]}}}}'
    put(folder / "x.safetensors", struct.pack("<Q", len(header)) + header.encode() + b"\0" * size)
    return ["info", folder / "x.safetensors"]


def long_npy_header(folder, size):
    put(folder / "x.npy", npy("<f4", "(" + "0" * 60000 + "1, 1)", b"\0" * 4))
    return ["info", folder / "x.npy"]


def npz_members(folder, size):
    array = npy("<f4", "(1,)", b"\0\0\0\0")
    with zipfile.ZipFile(folder / "x.npz", "w") as archive:
        for i in range(size // (len(array) + 100)):
            archive.writestr(f"{i}.npy", array)
    return ["info", folder / "x.npz"]


def npz_bomb(folder, size):
    values = size * 100
    with zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as member:
            member.write(npy("<f4", f"({values // 4}, 1)", b""))
            for _ in range(values // MEGABYTE):
                member.write(bytes(MEGABYTE))
    return ["info", folder / "x.npz"]


def element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def mat5(path, *matrices):
    put(path, b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x100, 0x4D49) + b"".join(matrices))


def mat5_array(name, array_class, rows, cols, *content):
    head = element(6, struct.pack("<II", array_class, 0)) + element(5, struct.pack("<ii", rows, cols))
    return element(14, head + element(1, name.encode()) + b"".join(content))


def packed(matrix):
    squeezed = zlib.compress(matrix, 9)
    return struct.pack("<II", 15, len(squeezed)) + squeezed


def mat5_char_rows(folder, size):
    rows = size * 250
    mat5(folder / "att_splits.mat", packed(mat5_array("allclasses_names", 4, rows, 1, element(1, b"a" * rows))))
    return ["data", "inspect", folder]


def mat5_cells(folder, size):
    cells = size * 250 // 8
    mat5(folder / "att_splits.mat", packed(mat5_array("allclasses_names", 1, cells, 1, element(14, b"") * cells)))
    return ["data", "inspect", folder]


def mat5_variables(folder, size):
    count = size // 64
    mat5(folder / "x.mat", *(mat5_array(f"v{i:06x}", 6, 0, 0, element(9, b"")) for i in range(count)))
    return ["info", folder / "x.mat"]


def hdf5(change):
    """A file in memory as h5py writes it for the earliest readers."""
    import h5py
    content = io.BytesIO()
    with h5py.File(content, "w", libver="earliest") as file:
        change(file)
    return bytearray(content.getvalue())


def mat73(path, content):
    head = b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<HH", 0x200, 0x4D49)
    put(path, bytes(content) if content[:8] == b"\x89HDF\r\n\x1a\n" else head)


def places(content, mark):
    at = content.find(mark)
    while at >= 0:
        yield at
        at = content.find(mark, at + 1)


def mat73_names(folder, size):
    """Names of all variables are one long string."""
    long_name = "n" * (size // 4)

    def change(file):
        file["d"] = 1
        file[long_name] = file["d"]
        for i in range(size // 100):
            file[f"{i:05x}"] = file["d"]

    content = hdf5(change)
    heap = next(places(content, b"HEAP"))
    start = struct.unpack_from("<Q", content, heap + 24)[0]
    name = content.find(long_name.encode(), start) - start
    for node in places(content, b"SNOD"):
        for i in range(struct.unpack_from("<H", content, node + 6)[0]):
            struct.pack_into("<Q", content, node + 8 + 40 * i, name)
    mat73(folder / "x.mat", content)
    return ["info", folder / "x.mat"]


def mat73_chunks(folder, size):
    """All chunks of a variable are stored where the largest is."""
    values, rows = size // 8, size // 800

    def change(file):
        import numpy
        labels = file.create_dataset("labels", shape=(rows, 1), maxshape=(None, None), chunks=(1, values), dtype="f4",
                                     compression=9)
        labels[:] = 1
        labels.resize((rows, values))
        labels[0] = numpy.random.default_rng(1).random(values)
        file["features"] = numpy.ones((1, 1), "f4")

    content = hdf5(change)
    struct.pack_into("<QQ", content, content.find(struct.pack("<QQ", rows, values)), rows, 1)
    nodes = [node for node in places(content, b"TREE") if content[node + 4] == 1 and content[node + 5] == 0]
    keys = [node + 24 + i * 40 for node in nodes for i in range(struct.unpack_from("<H", content, node + 6)[0])]
    largest = max(keys, key=lambda key: struct.unpack_from("<I", content, key)[0])
    for key in keys:
        content[key:key + 4] = content[largest:largest + 4]
        content[key + 32:key + 40] = content[largest + 32:largest + 40]
    mat73(folder / "res101.mat", content)
    names = mat5_array("allclasses_names", 4, 1, 1, element(1, b"a"))
    mat5(folder / "att_splits.mat", names, mat5_array("att", 6, 1, 1, element(9, struct.pack("<d", 1))))
    return ["data", "inspect", folder]


def mat73_cells(folder, size):
    """Every cell is the same object, which takes a while to check."""
    def change(file):
        import h5py
        import numpy
        text = file.create_dataset("text", data=numpy.full((8, 1), 97, "u2"))
        text.attrs["MATLAB_class"] = numpy.bytes_("char")
        for i in range(60):
            text.attrs[f"a{i}"] = numpy.zeros(900, "u1")
        cells = file.create_dataset("allclasses_names", shape=(1, size // 8), dtype=h5py.ref_dtype)
        cells[...] = text.ref
        cells.attrs["MATLAB_class"] = numpy.bytes_("cell")

    mat73(folder / "att_splits.mat", hdf5(change))
    return ["data", "inspect", folder]


CASES = [  # format, what it does, bytes
    ("csv", short_labels, 4 * MEGABYTE),
    ("csv", short_classes, 4 * MEGABYTE),
    ("csv", wide_classes, 4 * MEGABYTE),
    ("csv", most_classes, MEGABYTE),
    ("csv", most_columns, MEGABYTE),
    ("csv", quoted_cells, 4 * MEGABYTE),
    ("csv", short_features, 4 * MEGABYTE),
    ("csv", one_line, 4 * MEGABYTE),
    ("csv", csv_info, 4 * MEGABYTE),
    ("json", split_numbers, 4 * MEGABYTE),
    ("json", split_lists, 2 * MEGABYTE),
    ("json", split_keys, 2 * MEGABYTE),
    ("safetensors, device files", many_tensors, 2 * MEGABYTE),
    ("safetensors, device files", long_shape, 4 * MEGABYTE),
    ("safetensors, device files", large_payload, 16 * MEGABYTE),
    ("npy, npz", long_npy_header, 60000),
    ("npy, npz", npz_members, MEGABYTE),
    ("npy, npz", npz_bomb, 500_000),
    ("MAT 5", mat5_char_rows, 17_000),
    ("MAT 5", mat5_cells, 17_000),
    ("MAT 5", mat5_variables, MEGABYTE),
    ("MAT 7.3", mat73_names, 600_000),
    ("MAT 7.3", mat73_chunks, MEGABYTE),
    ("MAT 7.3", mat73_cells, 2 * MEGABYTE),
]


REFUSED = (mat5_char_rows, mat73_names)  # what they declare cannot be read within the limits


def bound():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # what goes wrong must not take the machine along


def measure(command, seconds=120):
    """Peak of memory, processor time, exit code and what it says."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([str(word) for word in command], stdout=said, stderr=said, preexec_fn=bound)
        until = time.monotonic() + seconds
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() > until:
                process.kill()
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime, process.returncode, said.read()[-300:].decode()


def main():
    if sys.argv[1] == "--table":
        print(table(), end="")
        return 0
    if table() not in SECURITY.read_text("utf-8"):
        print(f"{SECURITY} does not state these limits:\n{table()}")
        return 1
    try:
        import h5py  # noqa: F401 - only whether it is there
    except ImportError:
        print("skipped: no h5py; `scripts/setup.sh test` installs it")
        return 77
    tool, scale = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1
    compares_times = "--memory-alone" not in sys.argv
    wrong = 0
    with tempfile.TemporaryDirectory() as root:
        put(Path(root) / "small.csv", "a\n1\n")
        empty = measure([tool, "info", Path(root) / "small.csv"])[0]
        print(f"{'case':<18}{'bytes':>10}{'memory':>9}{'at most':>9}{'seconds':>9}")
        for kind, make, size in CASES:
            times, inflated, _ = LIMITS[kind]
            before = None
            for part in (1, 2):
                folder = Path(root) / f"{make.__name__}{part}"
                folder.mkdir()
                command = [tool, *make(folder, int(part * scale * size))]
                held = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
                memory, seconds, code, said = measure(command)
                memory = max(0, memory - empty)
                limit = times * held + SPARE + inflated * MEGABYTE
                problems = []
                if code not in (0, 3):
                    problems.append(f"exit code {code}")
                if memory > limit:
                    problems.append("too much memory")
                if make in REFUSED and (code != 3 or said.count("\n") > 1):
                    problems.append(f"exit code {code} in place of one line and 3")
                bounded = kind.startswith("MAT") and seconds < SECONDS + SECONDS_PER_MEGABYTE * held / MEGABYTE + 2
                if compares_times and before is not None and not bounded and seconds > SLOWER * max(before, SHORTEST):
                    problems.append(f"{seconds / before:.1f} times as long")
                before = seconds
                print(f"{make.__name__:<18}{held:>10}{memory / MEGABYTE:>6.0f} MB{limit / MEGABYTE:>6.0f} MB"
                      f"{seconds:>9.2f}  {'; '.join(problems) or 'ok'}", flush=True)
                if problems:
                    print("    " + said.replace("\n", "\n    "))
                wrong += bool(problems)
    print(f"{wrong} of {2 * len(CASES)} runs cost too much")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
