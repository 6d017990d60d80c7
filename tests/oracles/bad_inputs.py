#!/usr/bin/env python3
"""Named bad inputs for the whole data layer: `bad_inputs.py OUTDIR`.

Makes OUTDIR/<name>/, one damaged data set folder per case, and OUTDIR/manifest.json: a list of
  {"name", "path" (below OUTDIR), "args" (extra arguments), "must_mention" (strings the message has to contain),
   "skip_if_root" (only where root's rights defeat the case)}.
`parsnets data inspect OUTDIR/<path> <args>` must exit with 3 and say why in one line on stderr. OUTDIR/valid.json lists
the undamaged folders the cases start from, which must be accepted: a case is refused for its damage alone.
The output depends on nothing but the versions of numpy, scipy and h5py.
"""
import io
import json
import os
import shutil
import struct
import sys
import zipfile
import zlib

import h5py
import numpy as np
import scipy.io
import scipy.sparse

OUT = sys.argv[1]
CLASSES = ["ant", "bee", "cat", "dog", "elk", "fox"]
ATTRIBUTES = ["legs", "fur", "horns", "wings"]
PER_CLASS, D = 5, 3
N = len(CLASSES) * PER_CLASS
RNG = np.random.default_rng(1)
FEATURES = RNG.standard_normal((N, D)).astype(np.float32)
LABELS = np.repeat(np.arange(len(CLASSES)), PER_CLASS).astype(np.int32)
TABLE = np.round(RNG.uniform(0, 1, (len(CLASSES), len(ATTRIBUTES))), 3)
SPLIT = {"unseen_classes": ["elk", "fox"], "test_seen_samples": [0, 5, 10, 15], "val_classes": ["dog"]}
UNSEEN = np.flatnonzero(LABELS >= 4) + 1
TEST_SEEN = np.array(SPLIT["test_seen_samples"]) + 1
TRAINVAL = np.setdiff1d(np.flatnonzero(LABELS < 4) + 1, TEST_SEEN)
MANIFEST = []


def path(folder, name):
    return os.path.join(OUT, folder, name)


def put(folder, name, data):
    with open(path(folder, name), "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def get(folder, name):
    with open(path(folder, name), "rb") as f:
        return f.read()


def npy(array, allow_pickle=False):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def npy_raw(header, values, length=None):
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) if length is None else length) + text + values


def npz(members, compressed=True):
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **members)
    return buffer.getvalue()


def column(values):
    return np.asarray(values, dtype=np.float64).reshape(-1, 1)


def cell(names):
    array = np.empty((len(names), 1), dtype=object)
    array[:, 0] = names
    return array


def mat(variables, compressed=True, version="5"):
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, variables, do_compression=compressed, format=version)
    data = buffer.getvalue()
    if version == "5":  # scipy writes the date
        data = b"MATLAB 5.0 MAT-file".ljust(116) + data[116:]
    return data


def features_variables(**changes):
    variables = {"features": FEATURES.T, "labels": column(LABELS + 1),
                 "image_files": cell([f"{i}.jpg" for i in range(N)])}
    variables.update(changes)
    return {k: v for k, v in variables.items() if v is not None}


def splits_variables(**changes):
    variables = {
        "att": TABLE.T,
        "allclasses_names": cell(CLASSES),
        "trainval_loc": column(TRAINVAL),
        "test_seen_loc": column(TEST_SEEN),
        "test_unseen_loc": column(UNSEEN),
        "train_loc": column(TRAINVAL[TRAINVAL <= 15]),
        "val_loc": column(TRAINVAL[TRAINVAL > 15]),
    }
    variables.update(changes)
    return {k: v for k, v in variables.items() if v is not None}


def hdf5(build):
    """A MATLAB 7.3 file: HDF5 behind a 512-byte MATLAB header. `build` fills the h5py file."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512, libver="earliest") as f:
        build(f)
    header = b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<H", 0x0200) + b"IM"
    return header + buffer.getvalue()[len(header):]


def h5_array(f, name, data, kind=b"double", **how):
    f.create_dataset(name, data=data, **how).attrs["MATLAB_class"] = np.bytes_(kind)


def h5_features(f, **skip):
    if "features" not in skip:
        h5_array(f, "features", FEATURES, b"single")
    if "labels" not in skip:
        h5_array(f, "labels", column(LABELS + 1).T)


def h5_unwritten(f, name, shape, kind=b"single"):
    dataset = f.create_dataset(name, shape=shape, dtype="f4", chunks=tuple(min(s, 1024) for s in shape))
    dataset.attrs["MATLAB_class"] = np.bytes_(kind)


def table_text(rows=None, header=None):
    lines = [",".join(header or ["class"] + ATTRIBUTES)]
    lines += [",".join(str(v) for v in row) for row in (rows if rows is not None else table_rows())]
    return "\n".join(lines) + "\n"


def table_rows():
    return [[name] + list(values) for name, values in zip(CLASSES, TABLE.tolist())]


def split_text(**changes):
    split = {**SPLIT, **changes}
    return json.dumps({k: v for k, v in split.items() if v is not None})


def case(name, base, mention, args=(), target=None, skip_if_root=False):
    """Starts a case from a base folder ('plain', 'xlsa17' or None) and returns its name for the damage to follow."""
    assert all(name != entry["name"] for entry in MANIFEST), name
    if base is None:
        os.mkdir(os.path.join(OUT, name))
    elif base:
        shutil.copytree(os.path.join(OUT, "valid_" + base), os.path.join(OUT, name))
    entry = {"name": name, "args": list(args), "path": target or name, "must_mention": list(mention)}
    if skip_if_root:
        entry["skip_if_root"] = True
    MANIFEST.append(entry)
    return name


def plain(name, file, data, *mention, remove=None):
    case(name, "plain", mention)
    if remove:
        os.remove(path(name, remove))
    put(name, file, data)


def xlsa17(name, file, data, *mention):
    case(name, "xlsa17", mention)
    put(name, file, data)


def bases():
    os.mkdir(os.path.join(OUT, "valid_plain"))
    put("valid_plain", "features.npy", npy(FEATURES))
    put("valid_plain", "labels.npy", npy(LABELS))
    put("valid_plain", "attributes.csv", table_text())
    put("valid_plain", "split.json", split_text())
    os.mkdir(os.path.join(OUT, "valid_xlsa17"))
    put("valid_xlsa17", "res101.mat", mat(features_variables()))
    put("valid_xlsa17", "att_splits.mat", mat(splits_variables()))
    shutil.copytree(os.path.join(OUT, "valid_xlsa17"), os.path.join(OUT, "valid_hdf5"))
    put("valid_hdf5", "res101.mat", hdf5(h5_features))


def folder_cases():
    case("missing_folder", "", ["missing_folder", "folder"])
    case("file_instead_of_folder", None, ["a_file", "folder"], target="file_instead_of_folder/a_file")
    put("file_instead_of_folder", "a_file", "x")
    case("empty_folder", None, ["empty_folder"])
    case("two_plain_features", "plain", ["features.npy", "features.csv"])
    put("two_plain_features", "features.csv", "1,2,3\n" * N)
    case("two_mat_features", "xlsa17", ["res101", "googlenet", "--features"])
    put("two_mat_features", "googlenet.mat", mat(features_variables()))
    case("unknown_features_name", "xlsa17", ["nosuch", "res101"], args=["--features", "nosuch"])
    case("unknown_semantics_name", "xlsa17", ["nosuch_splits.mat", "att"], args=["--semantics", "nosuch"])
    for name, file in (("labels_missing", "labels.npy"), ("attributes_missing", "attributes.csv")):
        case(name, "plain", [name, file])
        os.remove(path(name, file))
    case("splits_file_missing", "xlsa17", ["att_splits.mat"])
    os.remove(path("splits_file_missing", "att_splits.mat"))
    for file in ("features.npy", "labels.npy", "attributes.csv", "split.json"):
        name = "empty_" + file.replace(".", "_")
        plain(name, file, b"", file, "empty")
    xlsa17("empty_mat", "res101.mat", b"", "res101.mat", "empty")
    for file in ("features.npy", "attributes.csv"):
        name = "directory_named_" + file.replace(".", "_")
        case(name, "plain", [file, "directory"])
        os.remove(path(name, file))
        os.mkdir(path(name, file))
    case("fifo_named_features_npy", "plain", ["features.npy", "regular file"])
    os.remove(path("fifo_named_features_npy", "features.npy"))
    os.mkfifo(path("fifo_named_features_npy", "features.npy"))
    case("unreadable_features", "plain", ["features.npy", "ermission"], skip_if_root=True)
    os.chmod(path("unreadable_features", "features.npy"), 0)


def npy_cases():
    good = npy(FEATURES)

    def bad(name, data, *mention):
        plain(name, "features.npy", data, "features.npy", *mention)

    bad("npy_truncated", good[:-7], "truncated")
    bad("npy_truncated_in_header", good[:40], "truncated")
    bad("npy_trailing_bytes", good + b"extra", "bytes")
    bad("npy_garbage", bytes(range(256)), "numpy array")
    bad("npy_is_a_zip", npz({"features": FEATURES}), "npz")
    bad("npy_version_9", good[:6] + b"\x09" + good[7:], "version")
    bad("npy_header_length_beyond_file", npy_raw("{'descr': '<f4'", b"", 65000), "header length")
    bad("npy_header_not_a_dict", npy_raw("import os".ljust(117) + "\n", FEATURES.tobytes()), "header")
    bad("npy_object_array", npy(FEATURES.astype(object), allow_pickle=True), "pickle")
    bad("npy_complex", npy(FEATURES.astype(np.complex64)), "complex")
    bad("npy_strings_as_features", npy(FEATURES.astype(str)), "numbers")
    bad("npy_structured", npy(np.zeros(N, dtype=[("a", "f4"), ("b", "i4")])), "structured")
    bad("npy_3d_features", npy(FEATURES.reshape(N, D, 1)), "3-D")
    bad("npy_0d_features", npy(np.float32(1)), "0-D")
    bad("npy_zero_samples", npy(FEATURES[:0]), "at least one")
    bad("npy_zero_dimensions", npy(FEATURES[:, :0]), "at least one")
    shape = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
    bad("npy_huge_shape", npy_raw(shape % "1000000000, 2048", FEATURES.tobytes()), "bytes")
    bad("npy_overflowing_shape", npy_raw(shape % f"{2**62}, 8", FEATURES.tobytes()), "bytes")
    bad("npy_shape_beyond_64_bits", npy_raw(shape % f"{10**30}, 8", FEATURES.tobytes()), "shape")
    bad("npy_negative_shape", npy_raw(shape % "-1, 3", FEATURES.tobytes()), "shape")


def npz_cases():
    good = npz({"features": FEATURES})

    def bad(name, data, *mention):
        plain(name, "features.npz", data, "features.npz", *mention, remove="features.npy")

    bad("npz_truncated", good[:-30], "zip")
    bad("npz_garbage", b"PK\x03\x04" + bytes(200), "zip")
    bad("npz_missing_member", npz({"a": FEATURES, "b": FEATURES}), "features", "'a'", "'b'")
    directory = good.rfind(b"PK\x01\x02")
    encrypted = bytearray(good)
    encrypted[6] |= 1
    encrypted[directory + 8] |= 1
    bad("npz_encrypted", bytes(encrypted), "features", "encrypt")
    flipped = bytearray(npz({"features": FEATURES}, compressed=False))
    flipped[flipped.rfind(b"PK\x01\x02") - 1] ^= 1
    bad("npz_wrong_checksum", bytes(flipped), "features", "CRC")

    # Declares 100 GB in a zip64 field of the directory; a few hundred bytes are there.
    huge = 100 * 10**9
    body = zlib.compressobj(9, zlib.DEFLATED, -15)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({huge // 4},), }}"
    packed = body.compress(npy_raw(header, bytes(50_000))) + body.flush()
    name = b"features.npy"
    crc = 0x12345678
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 8, 0, 0x21, crc, len(packed), 0xFFFFFFFF, len(name), 20)
    local += name + struct.pack("<HHQQ", 1, 16, huge, len(packed)) + packed
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 8, 0, 0x21, crc, len(packed), 0xFFFFFFFF,
                        len(name), 12, 0, 0, 0, 0, 0)
    entry += name + struct.pack("<HHQ", 1, 8, huge)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(entry), len(local), 0)
    bad("npz_bomb_of_100_gb", local + entry + end, "features", str(huge))

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        for value in (FEATURES, FEATURES + 1):
            info = zipfile.ZipInfo("features.npx" if value is not FEATURES else "features.npy")
            z.writestr(info, npy(value))
    bad("npz_member_twice", buffer.getvalue().replace(b"features.npx", b"features.npy"), "features", "twice")
    case("npz_empty_archive", "plain", ["features.npz", "features"])
    os.remove(path("npz_empty_archive", "features.npy"))
    put("npz_empty_archive", "features.npz", struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0, 0, 0, 0, 0))


def label_cases():
    def bad(name, array, *mention):
        plain(name, "labels.npy", npy(array), *mention)

    bad("labels_shorter_than_features", LABELS[:-1], "features", "29", "30")
    bad("labels_negative", np.where(np.arange(N) == 3, -1, LABELS), "labels.npy", "-1")
    bad("labels_beyond_classes", np.where(np.arange(N) == 3, 6, LABELS), "labels.npy", "0 to 5", "6")
    bad("labels_not_integer", np.where(np.arange(N) == 3, 1.5, LABELS), "labels.npy", "integer", "1.5")
    bad("labels_nan", np.where(np.arange(N) == 3, np.nan, LABELS), "labels.npy", "integer", "nan")
    bad("labels_huge", np.where(np.arange(N) == 3, 1e300, LABELS), "labels.npy", "integer")
    bad("labels_two_columns", np.stack([LABELS, LABELS], 1), "labels.npy", "label")
    bad("labels_unknown_class_name", np.array(["ant", "yak"] * (N // 2)), "labels.npy", "yak")
    case("labels_csv_with_text", "plain", ["labels.csv", "x"])
    os.remove(path("labels_csv_with_text", "labels.npy"))
    put("labels_csv_with_text", "labels.csv", "0\n" * (N - 1) + "x\n")


def attribute_cases():
    def bad(name, text, *mention):
        plain(name, "attributes.csv", text, "attributes.csv", *mention)

    def with_cell(value):
        rows = table_rows()
        rows[2][3] = value
        return table_text(rows)

    bad("attributes_without_class_column", table_text(header=["name"] + ATTRIBUTES), "'class'")
    bad("attributes_with_class_column_only", table_text([[c] for c in CLASSES], ["class"]), "attribute")
    bad("attributes_ragged_row", table_text().replace("cat,", "cat,0.5,"), ":4", "5 cells", "6 cells")
    bad("attributes_truncated", table_text()[:-16], ":7", "cells")
    bad("attributes_class_twice", table_text().replace("cat,", "ant,"), "class", "'ant'", "once")
    bad("attributes_name_twice", table_text(header=["class", "legs", "fur", "legs", "wings"]), "'legs'", "unique")
    bad("attributes_text_in_cell", with_cell("many"), "cat", "horns", "many", "number")
    bad("attributes_line_break_in_cell", with_cell('"ma\nny"'), "cat", "horns", "number")
    bad("attributes_decimal_comma", with_cell('"0,5"'), "cat", "horns", "0,5")
    bad("attributes_infinite", with_cell("inf"), "cat", "horns", "inf")
    bad("attributes_beyond_float", with_cell("1e300"), "cat", "horns")
    bad("attributes_without_classes", table_text([]), "row")
    bad("attributes_empty_class_name", table_text().replace("cat,", ","), "class", "empty")
    bad("attributes_open_quote", table_text().replace("cat,", '"cat,'), ":4", "closing quote")
    bad("attributes_not_utf8", table_text().encode().replace(b"cat", b"c\xe4t"), ":4", "UTF-8")
    bad("attributes_nul_byte", table_text().replace("cat", "c\0t"), ":4", "UTF-8")
    bad("attributes_utf16", table_text().encode("utf-16"), "UTF-8")
    for name, text, mention in (
        ("features_csv_text_cell", "1,2,3\n" * (N - 1) + "1,x,3\n", ["features.csv:30", "column 2", "number"]),
        ("features_csv_infinite", "1,2,3\n" * (N - 1) + "1,2,inf\n", ["features.csv:30", "column 3", "finite"]),
        ("features_csv_ragged", "1,2,3\n" * (N - 1) + "1,2\n", ["features.csv:30", "3 cells", "2 cells"]),
        ("features_csv_header_only", "a,b,c\n", ["features.csv", "rows"]),
    ):
        plain(name, "features.csv", text, *mention, remove="features.npy")


def split_cases():
    def bad(name, text, *mention):
        plain(name, "split.json", text, "split.json", *mention)

    bad("split_not_json", "unseen_classes: elk, fox\n", "JSON")
    bad("split_truncated", split_text()[:-9], "JSON")
    bad("split_is_an_array", "[]", "object", "array")
    bad("split_without_unseen_classes", split_text(unseen_classes=None), "unseen_classes")
    bad("split_unseen_classes_empty", split_text(unseen_classes=[]), "unseen_classes")
    bad("split_unknown_unseen_class", split_text(unseen_classes=["elk", "yak"]), "unseen_classes", "yak")
    bad("split_unseen_class_twice", split_text(unseen_classes=["elk", "elk"]), "unseen_classes", "elk")
    bad("split_unseen_classes_a_string", split_text(unseen_classes="elk"), "unseen_classes", "array")
    bad("split_unseen_classes_numbers", split_text(unseen_classes=[4.5]), "unseen_classes", "names", "4.5")
    bad("split_unseen_class_number_out_of_range", split_text(unseen_classes=[4, 6]), "unseen_classes", "found 6")
    bad("split_deeply_nested", '{"unseen_classes": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested")
    bad("split_unknown_val_class", split_text(val_classes=["yak"]), "val_classes", "yak")
    bad("split_val_class_is_unseen", split_text(val_classes=["elk"]), "val_classes", "elk", "unseen")
    bad("split_key_misspelt", split_text(test_seen_smaples=[0]), "test_seen_smaples", "test_seen_samples")
    bad("split_test_seen_out_of_range", split_text(test_seen_samples=[0, N]), "test_seen_samples", "0 to 29", "30")
    bad("split_test_seen_negative", split_text(test_seen_samples=[-1]), "test_seen_samples", "-1")
    large = 2**64 - 1
    bad("split_test_seen_beyond_64_bits", split_text(test_seen_samples=[large]), "test_seen_samples", str(large))
    bad("split_test_seen_of_unseen_class", split_text(test_seen_samples=[0, N - 1]), "test_seen_samples", "29", "fox")
    bad("split_test_seen_twice", split_text(test_seen_samples=[0, 5, 0]), "test_seen_samples", "0", "once")
    bad("split_test_seen_not_integers", split_text(test_seen_samples=[0.5]), "test_seen_samples", "integer", "0.5")
    bad("split_test_seen_a_number", split_text(test_seen_samples=3), "test_seen_samples", "array")


def v5_element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def v5_header():
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def v5_matrix(name, kind, rows, cols, element, values):
    flags, shape = v5_element(6, struct.pack("<II", kind, 0)), v5_element(5, struct.pack("<ii", rows, cols))
    return v5_element(14, flags + shape + v5_element(1, name) + v5_element(element, values))


# A column of labels as it should be, and `features` of 2^31-1 x 30 singles with 16 bytes of values.
V5_LABELS = v5_matrix(b"labels", 6, N, 1, 9, (LABELS + 1.0).tobytes())
V5_HUGE = v5_matrix(b"features", 7, 2**31 - 1, N, 7, bytes(16))


def mat_cases():
    good = get("valid_xlsa17", "res101.mat")

    def bad(name, data, *mention):
        xlsa17(name, "res101.mat", data, "res101.mat", *mention)

    def variables(name, *mention, compressed=True, **changes):
        bad(name, mat(features_variables(**changes), compressed), *mention)

    bad("mat_truncated", good[: len(good) // 2])
    bad("mat_truncated_in_header", good[:100])
    bad("mat_garbage", bytes(range(256)) * 4, "MATLAB")
    bad("mat_v4", mat({"features": FEATURES.T, "labels": column(LABELS + 1)}, version="4"), "version 4")
    garbage = np.random.default_rng(2).integers(0, 256, 300, dtype=np.uint8).tobytes()
    bad("mat_garbage_zlib", v5_header() + struct.pack("<II", 15, len(garbage)) + garbage)
    bad("mat_huge_dimensions", v5_header() + V5_LABELS + V5_HUGE, "features")
    packed = zlib.compress(V5_HUGE)
    bad("mat_huge_dimensions_compressed", v5_header() + V5_LABELS + struct.pack("<II", 15, len(packed)) + packed,
        "features")
    bad("mat_element_beyond_file", v5_header() + V5_LABELS + struct.pack("<II", 14, 2**31 - 8) + V5_HUGE[8:])
    variables("mat_features_missing", "features", features=None)
    variables("mat_labels_missing", "labels", labels=None)
    variables("mat_features_a_cell", "features", "cell", features=cell(["a"] * N).T)
    variables("mat_features_complex", "features", "complex", features=FEATURES.T.astype(np.complex64))
    variables("mat_features_sparse", "features", "sparse",
              features=scipy.sparse.csc_matrix(FEATURES.T.astype(np.float64)))
    variables("mat_features_text", "features", "char", features="t" * N)
    variables("mat_features_transposed", "features", "transpose", features=FEATURES)
    variables("mat_labels_shorter", "features", "29", "30", labels=column(LABELS[:-1] + 1))
    variables("mat_labels_beyond_classes", "labels", "7", labels=column(np.where(np.arange(N) == 3, 7, LABELS + 1)))
    variables("mat_labels_not_integer", "labels", "integer", "1.5",
              labels=column(np.where(np.arange(N) == 3, 1.5, LABELS + 1)))
    variables("mat_image_files_shorter", "image_files", "29", "30", image_files=cell(["x.jpg"] * (N - 1)))


def hdf5_cases():
    good = hdf5(h5_features)

    def bad(name, data, *mention):
        xlsa17(name, "res101.mat", data, "res101.mat", *mention)

    bad("hdf5_truncated", good[: len(good) // 2])
    superblock = 512 + 8
    bad("hdf5_garbage_superblock", good[:superblock] + b"\xa5" * 96 + good[superblock + 96:])
    bad("hdf5_header_without_data", good[:512], "7.3")

    def huge_features(f):
        h5_features(f, features=None)
        h5_unwritten(f, "features", (N, 10**9))

    def huge_everything(f):
        h5_unwritten(f, "features", (10**9, 2048))
        h5_unwritten(f, "labels", (1, 10**9))

    def no_labels(f):
        h5_features(f, labels=None)

    def compound(f):
        h5_features(f, features=None)
        h5_array(f, "features", np.zeros((N, D), dtype=[("real", "f4"), ("imag", "f4")]), b"single")

    bad("hdf5_huge_features_never_written", hdf5(huge_features), "features")
    bad("hdf5_huge_labels_never_written", hdf5(huge_everything), "labels")
    bad("hdf5_labels_missing", hdf5(no_labels), "labels")
    bad("hdf5_complex_features", hdf5(compound), "features", "complex")


def splits_file_cases():
    def bad(name, *mention, **changes):
        xlsa17(name, "att_splits.mat", mat(splits_variables(**changes)), "att_splits.mat", *mention)

    bad("splits_mixed_base", "test_unseen_loc", "0", "30", test_unseen_loc=column(np.append(UNSEEN, 0)))
    bad("splits_index_beyond_samples", "test_unseen_loc", "30", "31", test_unseen_loc=column(np.append(UNSEEN, N + 1)))
    bad("splits_index_negative", "trainval_loc", "-4", trainval_loc=column(np.append(TRAINVAL, -4)))
    bad("splits_index_not_integer", "trainval_loc", "integer", "2.5", trainval_loc=column(np.append(TRAINVAL, 2.5)))
    bad("splits_index_nan", "trainval_loc", "integer", "nan", trainval_loc=column(np.append(TRAINVAL, np.nan)))
    bad("splits_index_twice", "trainval_loc", "twice", trainval_loc=column(np.append(TRAINVAL, TRAINVAL[0])))
    bad("splits_trainval_missing", "trainval_loc", trainval_loc=None)
    bad("splits_test_unseen_missing", "test_unseen_loc", test_unseen_loc=None)
    bad("splits_list_is_a_matrix", "trainval_loc", trainval_loc=TRAINVAL.reshape(4, 4).astype(np.float64))
    bad("splits_list_is_text", "trainval_loc", trainval_loc="1 2 3")
    bad("splits_att_missing", "att", att=None)
    bad("splits_att_wrong_class_count", "att", "6", "5", att=TABLE.T[:, :-1])
    bad("splits_att_infinite", "att", "finite", att=np.where(TABLE.T == TABLE.T[1, 2], np.inf, TABLE.T))
    bad("splits_att_a_cell", "att", "cell", att=cell(["a"] * 6).T)
    bad("splits_names_are_numbers", "allclasses_names", allclasses_names=column(range(6)))
    case("splits_truncated", "xlsa17", ["att_splits.mat"])
    data = get("valid_xlsa17", "att_splits.mat")
    put("splits_truncated", "att_splits.mat", data[: len(data) * 2 // 3])


def main():
    os.makedirs(OUT)
    for make in (bases, folder_cases, npy_cases, npz_cases, label_cases, attribute_cases, split_cases, mat_cases,
                 hdf5_cases, splits_file_cases):
        make()
    for file, content in (("manifest.json", MANIFEST), ("valid.json", ["valid_plain", "valid_xlsa17", "valid_hdf5"])):
        with open(os.path.join(OUT, file), "w") as f:
            json.dump(content, f, indent=1)
            f.write("\n")
    print(f"{len(MANIFEST)} bad inputs in {OUT}")


main()
