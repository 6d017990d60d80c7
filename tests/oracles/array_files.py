"""Writes MAT files with scipy and h5py and archives with numpy, for the tests of their readers.

array_files.py v5|v5_uncompressed|v73|npz|npz_stored FILE FOLDER [FILE FOLDER ...]

Each FILE gets the arrays NN.NAME.npy (n x d; MATLAB sees d x n) and the lists of strings NN.NAME.json of its FOLDER.
"""
import json
import os
import sys

import numpy as np


def arrays_of(folder):
    out = {}
    for file in sorted(os.listdir(folder)):
        path = os.path.join(folder, file)
        number, rest = file.split(".", 1)
        name, ending = os.path.splitext(rest)
        out[name] = np.load(path) if ending == ".npy" else json.load(open(path, encoding="utf-8"))
    return out


def write_v5(path, arrays, compressed):
    import scipy.io
    cells = {k: np.array([*v, None], object)[:-1].reshape(-1, 1) if isinstance(v, list) else v.T
             for k, v in arrays.items()}
    scipy.io.savemat(path, cells, appendmat=False, do_compression=compressed)


def write_v73(path, arrays):
    import h5py
    with h5py.File(path, "w", userblock_size=512) as f:
        def put(name, kind, data, shape=None, **options):
            d = f.create_dataset(name, data=np.array(shape, "uint64") if data.size == 0 else data,
                                 **(options if data.size else {}))
            d.attrs["MATLAB_class"] = np.bytes_(kind)
            if data.size == 0:
                d.attrs["MATLAB_empty"] = np.uint8(1)
            if kind == "char":
                d.attrs["MATLAB_int_decode"] = np.int32(2)
            return d.ref

        for name, value in arrays.items():
            if isinstance(value, list):
                texts = [np.frombuffer(v.encode("utf-16-le"), "uint16").reshape(-1, 1) for v in value]
                links = [put(f"#refs#/{name}{i}", "char", text, (0, 0)) for i, text in enumerate(texts)]
                put(name, "cell", np.array([links], h5py.ref_dtype), (0, 1), dtype=h5py.ref_dtype)
            else:
                large = value.nbytes > 1 << 16
                rows = max(1, min(len(value), (1 << 19) // max(1, value[:1].nbytes)))
                options = {"chunks": (rows, value.shape[1]), "compression": "gzip"} if large else {}
                put(name, {"f4": "single", "f8": "double"}[value.dtype.str[1:]], value, value.shape[::-1], **options)
    with open(path, "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM")


def main():
    kind, *places = sys.argv[1:]
    for path, folder in zip(places[::2], places[1::2]):
        arrays = arrays_of(folder)
        if kind == "v73":
            write_v73(path, arrays)
        elif kind.startswith("v5"):
            write_v5(path, arrays, kind == "v5")
        else:
            with open(path, "wb") as f:
                (np.savez if kind == "npz_stored" else np.savez_compressed)(
                    f, **{k: np.array(v) if isinstance(v, list) else v for k, v in arrays.items()})


main()
