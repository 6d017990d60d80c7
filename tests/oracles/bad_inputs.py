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
import zlib
from pathlib import Path

import h5py
import numpy as np
import scipy.io
import scipy.sparse

OUT = Path(sys.argv[1])
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


def put(folder, name, data):
    (OUT / folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def written(write, *args, **options):
    buffer = io.BytesIO()
    write(buffer, *args, **options)
    return buffer.getvalue()


def npy(array, allow_pickle=False):
    return written(np.save, array, allow_pickle=allow_pickle)


def npy_raw(header, values):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values


def npz(**members):
    return written(np.savez_compressed, **members)


def column(values):
    return np.asarray(values, dtype=np.float64).reshape(-1, 1)


def cell(names):
    array = np.empty((len(names), 1), dtype=object)
    array[:, 0] = names
    return array


def mat(variables):
    data = written(scipy.io.savemat, variables, do_compression=True)
    return b"MATLAB 5.0 MAT-file".ljust(116) + data[116:]  # without the date


def changed(variables, changes):
    """With some of them replaced; None: left out."""
    return {k: v for k, v in {**variables, **changes}.items() if v is not None}


def features_mat(**changes):
    variables = {"features": FEATURES.T, "labels": column(LABELS + 1),
                 "image_files": cell([f"{i}.jpg" for i in range(N)])}
    return mat(changed(variables, changes))


def splits_mat(**changes):
    variables = {"att": TABLE.T, "allclasses_names": cell(CLASSES), "trainval_loc": column(TRAINVAL),
                 "test_seen_loc": column(TEST_SEEN), "test_unseen_loc": column(UNSEEN),
                 "train_loc": column(TRAINVAL[TRAINVAL <= 15]), "val_loc": column(TRAINVAL[TRAINVAL > 15])}
    return mat(changed(variables, changes))


def hdf5(build):
    """A MATLAB 7.3 file: HDF5 behind a 512-byte MATLAB header. `build` fills the h5py file."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512, libver="earliest") as f:
        build(f)
    header = b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<H", 0x0200) + b"IM"
    return header + buffer.getvalue()[len(header):]


def h5_array(f, name, data, kind=b"double", **how):
    f.create_dataset(name, data=data, **how).attrs["MATLAB_class"] = np.bytes_(kind)


def h5_features(f, features=True, labels=True):
    if features:
        h5_array(f, "features", FEATURES, b"single")
    if labels:
        h5_array(f, "labels", column(LABELS + 1).T)


def h5_unwritten(f, name, shape):
    h5_array(f, name, None, b"single", shape=shape, dtype="f4", chunks=tuple(min(s, 1024) for s in shape))


def table_text(rows=None, header=None):
    lines = [header or ["class"] + ATTRIBUTES, *(table_rows() if rows is None else rows)]
    return "".join(",".join(map(str, line)) + "\n" for line in lines)


def table_rows():
    return [[name] + list(values) for name, values in zip(CLASSES, TABLE.tolist())]


def split_text(**changes):
    return json.dumps(changed(SPLIT, changes))


def case(name, base, mention, args=(), target=None, skip_if_root=False):
    """Starts a case from a base folder ('plain', 'xlsa17' or None) for the damage to follow."""
    assert all(name != entry["name"] for entry in MANIFEST), name
    if base is None:
        os.mkdir(OUT / name)
    elif base:
        shutil.copytree(OUT / f"valid_{base}", OUT / name)
    MANIFEST.append({"name": name, "args": list(args), "path": target or name, "must_mention": list(mention),
                     "skip_if_root": skip_if_root})


def damage(base, file, remove=None):
    """A function that makes a case of a base folder by writing this file, in place of another one if told."""
    def bad(name, data, *mention):
        case(name, base, (file, *mention))
        if remove:
            os.remove(OUT / name / remove)
        put(name, file, data)
    return bad


def bases():
    for name, files in {
        "valid_plain": {"features.npy": npy(FEATURES), "labels.npy": npy(LABELS), "attributes.csv": table_text(),
                        "split.json": split_text()},
        "valid_xlsa17": {"res101.mat": features_mat(), "att_splits.mat": splits_mat()},
        "valid_hdf5": {"res101.mat": hdf5(h5_features), "att_splits.mat": splits_mat()},
    }.items():
        os.mkdir(OUT / name)
        for file, data in files.items():
            put(name, file, data)


def folder_cases():
    case("missing_folder", "", ["missing_folder", "folder"])
    case("file_instead_of_folder", None, ["a_file", "folder"], target="file_instead_of_folder/a_file")
    put("file_instead_of_folder", "a_file", "x")
    case("empty_folder", None, ["empty_folder"])
    case("two_plain_features", "plain", ["features.npy", "features.csv"])
    put("two_plain_features", "features.csv", "1,2,3\n" * N)
    case("two_mat_features", "xlsa17", ["res101", "googlenet", "--features"])
    put("two_mat_features", "googlenet.mat", features_mat())
    case("unknown_features_name", "xlsa17", ["nosuch", "res101"], args=["--features", "nosuch"])
    case("unknown_semantics_name", "xlsa17", ["nosuch_splits.mat", "att"], args=["--semantics", "nosuch"])
    for name, file in (("labels_missing", "labels.npy"), ("attributes_missing", "attributes.csv")):
        case(name, "plain", [name, file])
        os.remove(OUT / name / file)
    case("splits_file_missing", "xlsa17", ["att_splits.mat"])
    os.remove(OUT / "splits_file_missing/att_splits.mat")
    for file in ("features.npy", "labels.npy", "attributes.csv", "split.json"):
        damage("plain", file)("empty_" + file.replace(".", "_"), b"", "empty")
    damage("xlsa17", "res101.mat")("empty_mat", b"", "empty")
    for file in ("features.npy", "attributes.csv"):
        name = "directory_named_" + file.replace(".", "_")
        case(name, "plain", [file, "directory"])
        os.remove(OUT / name / file)
        os.mkdir(OUT / name / file)
    case("fifo_named_features_npy", "plain", ["features.npy", "regular file"])
    os.remove(OUT / "fifo_named_features_npy/features.npy")
    os.mkfifo(OUT / "fifo_named_features_npy/features.npy")
    case("unreadable_features", "plain", ["features.npy", "ermission"], skip_if_root=True)
    os.chmod(OUT / "unreadable_features/features.npy", 0)


def npy_cases():
    good = npy(FEATURES)
    bad = damage("plain", "features.npy")
    bad("npy_truncated", good[:-7], "truncated")
    bad("npy_garbage", bytes(range(256)), "numpy array")
    bad("npy_is_a_zip", npz(features=FEATURES), "npz")
    bad("npy_object_array", npy(FEATURES.astype(object), allow_pickle=True), "pickle")
    bad("npy_strings_as_features", npy(FEATURES.astype(str)), "numbers")
    bad("npy_3d_features", npy(FEATURES.reshape(N, D, 1)), "3-D")
    bad("npy_zero_samples", npy(FEATURES[:0]), "at least one")
    shape = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
    bad("npy_huge_shape", npy_raw(shape % "1000000000, 2048", FEATURES.tobytes()), "bytes")


def npz_cases():
    good = npz(features=FEATURES)
    bad = damage("plain", "features.npz", remove="features.npy")
    bad("npz_truncated", good[:-30], "zip")
    bad("npz_garbage", b"PK\x03\x04" + bytes(200), "zip")
    bad("npz_missing_member", npz(a=FEATURES, b=FEATURES), "features", "'a'", "'b'")

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
    bad("npz_empty_archive", struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0, 0, 0, 0, 0), "features")


def label_cases():
    def bad(name, array, *mention):
        damage("plain", "labels.npy")(name, npy(array), *mention)

    case("labels_shorter_than_features", "plain", ["features", "29", "30"])
    put("labels_shorter_than_features", "labels.npy", npy(LABELS[:-1]))
    bad("labels_negative", np.where(np.arange(N) == 3, -1, LABELS), "-1")
    bad("labels_beyond_classes", np.where(np.arange(N) == 3, 6, LABELS), "0 to 5", "6")
    bad("labels_not_integer", np.where(np.arange(N) == 3, 1.5, LABELS), "integer", "1.5")
    bad("labels_nan", np.where(np.arange(N) == 3, np.nan, LABELS), "integer", "nan")
    bad("labels_huge", np.where(np.arange(N) == 3, 1e300, LABELS), "integer")
    bad("labels_two_columns", np.stack([LABELS, LABELS], 1), "label")
    bad("labels_unknown_class_name", np.array(["ant", "yak"] * (N // 2)), "yak")
    damage("plain", "labels.csv", remove="labels.npy")("labels_csv_with_text", "0\n" * (N - 1) + "x\n", "x")


def attribute_cases():
    bad = damage("plain", "attributes.csv")

    def with_cell(value):
        rows = table_rows()
        rows[2][3] = value
        return table_text(rows)

    bad("attributes_without_class_column", table_text(header=["name"] + ATTRIBUTES), "'class'")
    bad("attributes_with_class_column_only", table_text([[c] for c in CLASSES], ["class"]), "attribute")
    bad("attributes_ragged_row", table_text().replace("cat,", "cat,0.5,"), ":4", "5 cells", "6 cells")
    bad("attributes_class_twice", table_text().replace("cat,", "ant,"), "class", "'ant'", "once")
    bad("attributes_name_twice", table_text(header=["class", "legs", "fur", "legs", "wings"]), "'legs'", "unique")
    bad("attributes_text_in_cell", with_cell("many"), "cat", "horns", "many", "number")
    bad("attributes_line_break_in_cell", with_cell('"ma\nny"'), "cat", "horns", "number")
    bad("attributes_decimal_comma", with_cell('"0,5"'), "cat", "horns", "0,5")
    bad("attributes_infinite", with_cell("inf"), "cat", "horns", "inf")
    bad("attributes_beyond_float", with_cell("1e300"), "cat", "horns")
    bad("attributes_without_classes", table_text([]), "row")
    bad("attributes_empty_class_name", table_text().replace("cat,", ","), "class", "empty")
    bad("attributes_not_utf8", table_text().encode().replace(b"cat", b"c\xe4t"), ":4", "UTF-8")
    bad = damage("plain", "features.csv", remove="features.npy")
    rows = "1,2,3\n" * (N - 1)
    bad("features_csv_text_cell", rows + "1,x,3\n", "features.csv:30", "column 2", "number")
    bad("features_csv_ragged", rows + "1,2\n", "features.csv:30", "3 cells", "2 cells")


def split_cases():
    bad = damage("plain", "split.json")
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


def mat_cases():
    good = features_mat()
    bad = damage("xlsa17", "res101.mat")

    def variables(name, *mention, **changes):
        bad(name, features_mat(**changes), *mention)

    bad("mat_truncated", good[: len(good) // 2])
    bad("mat_garbage", bytes(range(256)) * 4, "MATLAB")
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
    bad = damage("xlsa17", "res101.mat")
    bad("hdf5_truncated", good[: len(good) // 2])
    superblock = 512 + 8
    bad("hdf5_garbage_superblock", good[:superblock] + b"\xa5" * 96 + good[superblock + 96:])
    bad("hdf5_header_without_data", good[:512], "7.3")

    def huge_features(f):
        h5_features(f, features=False)
        h5_unwritten(f, "features", (N, 10**9))

    def huge_everything(f):
        h5_unwritten(f, "features", (10**9, 2048))
        h5_unwritten(f, "labels", (1, 10**9))

    def compound(f):
        h5_features(f, features=False)
        h5_array(f, "features", np.zeros((N, D), dtype=[("real", "f4"), ("imag", "f4")]), b"single")

    bad("hdf5_huge_features_never_written", hdf5(huge_features), "features")
    bad("hdf5_huge_labels_never_written", hdf5(huge_everything), "labels")
    bad("hdf5_labels_missing", hdf5(lambda f: h5_features(f, labels=False)), "labels")
    bad("hdf5_complex_features", hdf5(compound), "features", "complex")


def splits_file_cases():
    def bad(name, *mention, **changes):
        damage("xlsa17", "att_splits.mat")(name, splits_mat(**changes), *mention)

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
    data = splits_mat()
    damage("xlsa17", "att_splits.mat")("splits_truncated", data[: len(data) * 2 // 3])


def main():
    os.makedirs(OUT)
    for make in (bases, folder_cases, npy_cases, npz_cases, label_cases, attribute_cases, split_cases, mat_cases,
                 hdf5_cases, splits_file_cases):
        make()
    for file, content in (("manifest.json", MANIFEST), ("valid.json", ["valid_plain", "valid_xlsa17", "valid_hdf5"])):
        put("", file, json.dumps(content, indent=1) + "\n")
    print(f"{len(MANIFEST)} bad inputs in {OUT}")


main()
