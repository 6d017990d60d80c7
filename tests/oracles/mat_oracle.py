"""What scipy and h5py make of MATLAB files.

mat_oracle.py make DIR   writes MAT files of many kinds into DIR and manifest.tsv, with the values read back from them

Lines of the manifests, tab-separated:
  numbers FILE VARIABLE KIND ROWS COLS DUMP   DUMP.f32 and DUMP.f64 hold the values, columns first, little-endian
  strings FILE VARIABLE KIND ROWS COLS DUMP   DUMP.txt holds UTF-8 strings, each ended by a NUL
  refuse  FILE VARIABLE KIND WORD -    -      reading must fail with a message that has WORD in it
Exit code 77: a module is missing.
"""
import shutil
import struct
import sys
import warnings
import zlib
from pathlib import Path

try:
    import h5py
    import numpy as np
    import scipy.io
    import scipy.sparse
except ImportError as missing:
    print(missing)
    sys.exit(77)

INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
KINDS = {"float32": "single", "float64": "double", "float16": "half", "bool": "logical"}


class Manifest:
    def __init__(self, folder):
        self.folder, self.lines = folder, []

    def numbers(self, file, variable, kind, value):
        """`value` has the shape MATLAB gives it, as a reader returned it."""
        dump = f"dump{len(self.lines)}"
        for suffix, dtype in (("f32", "<f4"), ("f64", "<f8")):
            with np.errstate(over="ignore"):
                np.asarray(value).T.astype(dtype).tofile(self.folder / f"{dump}.{suffix}")
        self.lines.append(["numbers", file, variable, kind, *value.shape, dump])

    def strings(self, file, variable, kind, shape, values):
        dump = f"dump{len(self.lines)}"
        (self.folder / f"{dump}.txt").write_bytes(b"".join(v.encode() + b"\0" for v in values))
        self.lines.append(["strings", file, variable, kind, *shape, dump])

    def refuse(self, file, variable, kind, word):
        self.lines.append(["refuse", file, variable, kind, word, "-", "-"])

    def save(self):
        (self.folder / "manifest.tsv").write_text("".join("\t".join(map(str, line)) + "\n" for line in self.lines))


def arrays(rng):
    """Name, array: every type, extremes of each, empty and large ones."""
    yield "wide", rng.standard_normal((7, 301)).astype("float32")
    yield "doubles", rng.standard_normal((33, 5)) * 10.0 ** rng.integers(-50, 50, (33, 5))
    yield "special", np.array([[np.nan, np.inf, -np.inf, -0.0, 1e-310, 1e300, 0.1, 16777217.0]])
    yield "integral", rng.integers(0, 255, (6, 9)).astype("float64")
    yield "scalar", np.array([[2.5]])
    yield "column", np.arange(40.0).reshape(40, 1)
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        yield dtype, np.concatenate([np.array([info.min, info.max, 0, 1], dtype), rng.integers(
            info.min, info.max, 11, dtype, endpoint=True)]).reshape(3, 5)
    yield "bits", rng.integers(0, 2, (4, 6)).astype(bool)
    yield "none", np.zeros((0, 0))
    yield "no_rows", np.zeros((0, 5), "float32")
    yield "no_cols", np.zeros((5, 0))
    yield "large", rng.standard_normal((300, 2000)).astype("float32")
    yield "large_double", rng.standard_normal((500, 900))
    yield "large_bytes", rng.integers(0, 4, (1000, 700)).astype("uint8")


def cell(values):
    return np.array([*values, None], object)[:-1].reshape(-1, 1)


REFUSED = [("complex_values", "double", "complex"), ("structure", "struct", "struct"), ("cube", "double", "2x3x4"),
           ("names", "cell", "numeric"), ("absent", "-", "absent")]
NAMES = ["001.Black_footed_Albatross", "a", "", "Ünïcödé 鳥", "x" * 300, "four"]


def kind_of(array):
    name = str(array.dtype.newbyteorder("="))
    return KINDS.get(name, name)


def make_scipy(folder, manifest, rng):
    for compressed in (True, False):
        file = f"scipy_{'compressed' if compressed else 'plain'}.mat"
        written = dict(arrays(rng))
        others = {"names": cell(NAMES), "lines": np.array(["one", "three", "fi"]), "word": "albatross",
                  "no_names": np.empty((0, 1), object), "complex_values": np.array([[1 + 2j]]),
                  "sparse_values": scipy.sparse.csc_matrix(np.eye(3)), "structure": {"a": 1.0, "b": "x"},
                  "cube": np.zeros((2, 3, 4)), "mixed": cell(["a", np.eye(2)])}
        scipy.io.savemat(folder / file, {**written, **others}, do_compression=compressed)
        back = scipy.io.loadmat(folder / file)
        for name, array in written.items():
            manifest.numbers(file, name, kind_of(array), back[name])
        manifest.strings(file, "names", "cell", back["names"].shape,
                         ["".join(v) for v in back["names"].ravel(order="F")])
        manifest.strings(file, "lines", "char", (3, 5), [v.rstrip() for v in back["lines"]])
        manifest.strings(file, "word", "char", (1, 9), list(back["word"]))
        manifest.strings(file, "no_names", "cell", (0, 1), [])
        for refused in REFUSED + [("sparse_values", "sparse", "full(x)"), ("mixed", "cell", "mixed{2}")]:
            manifest.refuse(file, *refused)


class Level5:
    """A writer that does what MATLAB does and scipy does not: values in the smallest type, short elements, big-endian
    files, wide characters."""

    MI = {"int8": 1, "uint8": 2, "int16": 3, "uint16": 4, "int32": 5, "uint32": 6, "float32": 7, "float64": 9,
          "int64": 12, "uint64": 13, "utf8": 16, "utf16": 17, "utf32": 18}

    def __init__(self, order):
        self.order = order
        self.data = b"MATLAB 5.0 MAT-file, by hand".ljust(116) + bytes(8) + struct.pack(order + "HH", 0x0100, 0x4D49)

    def element(self, mi, payload):
        if 0 < len(payload) <= 4:
            return struct.pack(self.order + "I", len(payload) << 16 | mi) + payload.ljust(4, b"\0")
        return struct.pack(self.order + "II", mi, len(payload)) + payload + bytes(-len(payload) % 8)

    def matrix(self, mx_class, shape, name, *parts):
        body = self.element(6, struct.pack(self.order + "II", mx_class, 0))
        body += self.element(5, struct.pack(self.order + "ii", *shape)) + self.element(1, name.encode())
        body += b"".join(parts)
        return struct.pack(self.order + "II", 14, len(body)) + body

    def values(self, array, stored):
        raw = array.T.astype(np.dtype(stored).newbyteorder(self.order)).tobytes()
        return self.element(self.MI[stored], raw)

    def text(self, text, stored, codec, name=""):
        return self.matrix(4, (1, len(text)), name, self.element(self.MI[stored], text.encode(codec)))

    def add(self, matrix, compressed):
        if compressed:
            matrix = zlib.compress(matrix)
            matrix = struct.pack(self.order + "II", 15, len(matrix)) + matrix
        self.data += matrix


def make_level5(folder, manifest, rng):
    mx = {"double": 6, "single": 7}
    for order, label in (("<", "little"), (">", "big")):
        wide = "utf-16-le" if order == "<" else "utf-16-be"
        wider = "utf-32-le" if order == "<" else "utf-32-be"
        for compressed in (False, True):
            out = Level5(order)
            file = f"hand_{label}_{'compressed' if compressed else 'plain'}.mat"
            names = []
            for kind in mx:
                for stored in INTEGERS + ["float32", "float64"]:
                    for shape in ((1, 1), (1, 2), (3, 4), (170, 130)):
                        value = rng.integers(0, 120, shape)
                        name = f"{kind}_{stored}_{shape[0]}_{shape[1]}"
                        names.append((name, kind))
                        out.add(out.matrix(mx[kind], shape, name, out.values(value, stored)), compressed)
            out.add(out.matrix(1, (1, 6), "texts", out.text("abc", "uint8", "ascii"), out.text("abcde", "utf8", "utf8"),
                               out.text("Ünï", "utf8", "utf8"), out.text("鳥ab", "utf16", wide),
                               out.text("鳥abc", "utf32", wider), out.text("abcdefghi", "uint16", wide)), compressed)
            out.add(out.matrix(4, (2, 3), "grid", out.element(16, b"axbycz")), compressed)
            (folder / file).write_bytes(out.data)
            back = scipy.io.loadmat(folder / file, uint16_codec=wide)
            for name, kind in names:
                manifest.numbers(file, name, kind, back[name])
            manifest.strings(file, "texts", "cell", (1, 6), ["".join(v) for v in back["texts"].ravel(order="F")])
            manifest.strings(file, "grid", "char", (2, 3), list(back["grid"]))


def make_h5py(folder, manifest, rng):
    layouts = {
        "plain": {},
        "gzip": {"chunks": True, "compression": "gzip", "compression_opts": 4},
        "shuffled": {"chunks": True, "compression": "gzip", "shuffle": True, "fletcher32": True},
        "chunked": {"chunks": True},
    }
    for matlab in (True, False):
        for layout, options in layouts.items():
            file = f"h5py_{'matlab' if matlab else 'bare'}_{layout}.mat"
            path = folder / file
            written = {k: v for k, v in arrays(rng) if matlab or v.size}
            written["big_endian"] = (rng.standard_normal((20, 3000)) * 1e3).astype(">f8")
            written["big_short"] = rng.integers(-3000, 3000, (4, 4)).astype(">i2")
            if not matlab:
                written["halves"] = np.arange(65536, dtype="uint16")[:31744].view("float16").reshape(31, 1024)
            with h5py.File(path, "w", userblock_size=512 if matlab else 0) as f:
                def put(name, data, kind=None, empty=False, **options):
                    d = f.create_dataset(name, data=data, **options)
                    if kind and matlab:
                        d.attrs["MATLAB_class"] = np.bytes_(kind)
                    if empty:
                        d.attrs["MATLAB_empty"] = np.uint8(1)
                    return d

                for name, array in written.items():
                    if array.size == 0:
                        put(name, np.array(array.shape, "uint64"), kind_of(array), empty=True)
                    else:
                        stored = array.astype("uint8") if matlab and array.dtype == bool else array
                        put(name, stored.T, kind_of(array), **options)
                if not matlab:
                    f["vector"] = np.arange(9, dtype="int32")
                    f["number"] = 7.5
                    if layout != "plain":
                        tall = rng.standard_normal((5000, 7)).astype("float32")
                        put("tall", tall, chunks=(4999, 1), compression="gzip")
                        put("flat", tall, chunks=(1, 3), compression="gzip")
                    f["text"] = "plain HDF5 text"
                    f["pair"] = np.zeros(2, [("real", "f8"), ("imag", "f8")])
                    put("packed", np.zeros((50, 50)), compression="lzf")
                if matlab:
                    links = []
                    for i, text in enumerate(NAMES):
                        units = np.frombuffer(text.encode("utf-16-le"), "uint16")
                        data = units.reshape(-1, 1) if text else np.zeros(2, "uint64")
                        d = put(f"#refs#/c{i}", data, "char", empty=not text)
                        d.attrs["MATLAB_int_decode"] = np.int32(2)
                        links.append(d.ref)
                    put("names", np.array([links], h5py.ref_dtype), "cell", dtype=h5py.ref_dtype)
                    put("grid", np.array([[97, 98], [120, 32]], "uint16").T, "char")
                    f.create_group("structure").attrs["MATLAB_class"] = np.bytes_("struct")
                    put("complex_values", np.zeros((1, 2), [("real", "f8"), ("imag", "f8")]), "double")
                    f["cube"] = np.zeros((4, 3, 2))
            with h5py.File(path, "r") as f:
                for name, array in written.items():
                    back = f[name][()]
                    if f[name].attrs.get("MATLAB_empty", 0):
                        back = np.zeros(back[::-1])
                    manifest.numbers(file, name, kind_of(array), back.T)
                if matlab:
                    texts = []
                    for ref in f["names"][()].ravel():
                        raw = f[ref][()]
                        texts.append("" if "MATLAB_empty" in f[ref].attrs else raw.tobytes().decode("utf-16-le"))
                    manifest.strings(file, "names", "cell", (len(NAMES), 1), texts)
                    manifest.strings(file, "grid", "char", (2, 2), ["ab", "x"])
                    for refused in REFUSED:
                        manifest.refuse(file, *refused)
                else:
                    manifest.numbers(file, "vector", "int32", f["vector"][()].reshape(-1, 1))
                    manifest.numbers(file, "number", "double", np.array([[f["number"][()]]]))
                    if "tall" in f:
                        manifest.numbers(file, "tall", "single", f["tall"][()].T)
                        manifest.numbers(file, "flat", "single", f["flat"][()].T)
                    manifest.refuse(file, "text", "string", "string")
                    manifest.refuse(file, "pair", "compound", "compound")
                    manifest.refuse(file, "packed", "double", "gzip")


def make_matlab(folder, manifest):
    """The files that MATLAB itself wrote and scipy keeps for its own tests."""
    for path in sorted((Path(scipy.io.matlab.__file__).parent / "tests/data").glob("*.mat")):
        file = path.name
        if h5py.is_hdf5(path):
            shutil.copy(path, folder)
            with h5py.File(path, "r") as f:
                for name, d in f.items():
                    manifest.numbers(file, name, d.attrs["MATLAB_class"].decode(), d[()].T)
            continue
        if path.read_bytes()[126:128] not in (b"IM", b"MI"):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                back = scipy.io.loadmat(path)
                kinds = {name: kind for name, _, kind in scipy.io.whosmat(path)}
        except Exception:  # damaged on purpose
            continue
        shutil.copy(path, folder)
        for name, value in back.items():
            kind = None if name.startswith("__") else kinds.get(name)
            if kind == "char" and value.size:
                if any("\ufffd" in v for v in value):  # broken text, which scipy mends and we refuse
                    continue
                shape = (len(value), max(map(len, value)))
                manifest.strings(file, name, kind, shape, [v.rstrip() if len(value) > 1 else v for v in value])
            elif scipy.sparse.issparse(value):
                manifest.refuse(file, name, "sparse", "sparse")
            elif kind in ("struct", "object", "function"):
                manifest.refuse(file, name, kind, kind)
            elif kind in ("double", "single", "logical", *INTEGERS):
                if value.ndim > 2:
                    manifest.refuse(file, name, kind, "x".join(map(str, value.shape)))
                elif np.iscomplexobj(value):
                    manifest.refuse(file, name, kind, "complex")
                else:
                    manifest.numbers(file, name, kind, value)


def main():
    warnings.simplefilter("error")
    folder = Path(sys.argv[2])
    rng = np.random.default_rng(7)
    manifest = Manifest(folder)
    make_scipy(folder, manifest, rng)
    make_level5(folder, manifest, rng)
    make_h5py(folder, manifest, rng)
    make_matlab(folder, manifest)
    manifest.save()


main()
