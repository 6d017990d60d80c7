"""The C runtime beside numpy, one sample at a time on one core, both on the same float32 arithmetic.

    numpy_device.py --model MODEL.safetensors --features FEATURES.npy --parsnets PROGRAM --out RESULT.json

Exports the model as float32, float16 and int8, times `parsnets export --bench` and a numpy implementation of
docs/format.md (class vectors prepared beforehand, as in the runtime), in turns. The confidences of both are compared
first.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402  (after the thread count is set)

MOST_DIFFERENCE = 1e-3


class NumpyModel:
    """Prediction as docs/format.md says it, for cosine models with anchor gates and a shared network."""

    def __init__(self, path):
        raw = open(path, "rb").read()
        n = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:8 + n])
        kinds = {"F32": "<f4", "U8": "u1"}
        t = {k: np.frombuffer(raw[8 + n:][slice(*v["data_offsets"])], kinds[v["dtype"]]).reshape(v["shape"])
             for k, v in header.items() if k != "__metadata__"}
        info = json.loads(header["__metadata__"]["model"])
        expected = {"feature_scaling": "sqrt-l2", "gates": "anchor", "similarity": "cosine", "semantic_scaling": "l2",
                    "networks_see_encoding": True, "relu": False}
        for key, value in expected.items():
            if info[key] != value:
                raise SystemExit(f"{path}: this script knows {key} = {value} alone, the model has {info[key]}")
        self.mean, self.encoder, self.anchors = t["feature_mean"], t["encoder"], t["anchors"]
        networks = t["networks"].reshape(info["networks"], info["encoding"] + 1, -1)
        self.biases, self.weights = np.ascontiguousarray(networks[:, 0]), np.ascontiguousarray(networks[:, 1:])
        self.shared, self.bias, self.centre = np.ascontiguousarray(t["shared"].T), t["bias"], t["semantic_centre"]
        self.open, self.gamma, self.temperature = info["open_networks"], info["gamma"], info["temperature"]
        a = t["class_semantics"]
        if "semantic_factor" in t:
            a = a * t["semantic_factor"]
        a = a / np.linalg.norm(a, axis=1, keepdims=True)
        b = (a - t["whitening_centre"]) @ t["whitening"].T
        places = info.get("targets") == "classes"
        if not places:
            b = b - self.centre
        b /= np.linalg.norm(b, axis=1, keepdims=True)
        if info["prototype_support"] > 0:
            likeness = np.exp((b @ t["prototype_support"].T - 1) / info["prototype_width"]**2)
            predicted = likeness @ t["prototype_weights"]
            n = t["class_samples"][:, None] if places else 0
            b = (n * t["class_means"] + info["prior_samples"] * predicted) / (n + info["prior_samples"]) if places \
                else b + predicted
            b /= np.linalg.norm(b, axis=1, keepdims=True)
        self.classes = b.astype(np.float32)
        self.penalty = (self.gamma * t["class_seen"]).astype(np.float32)

    def confidences(self, x):
        x = np.sign(x) * np.sqrt(np.abs(x))
        x = x / np.sqrt(x @ x) - self.mean
        e = self.encoder @ x
        chosen = np.argpartition(self.anchors @ e, -self.open)[-self.open:]
        f = self.shared @ x + self.bias + (e @ self.weights[chosen]).sum(0) + self.biases[chosen].sum(0) - self.centre
        scores = self.classes @ f / np.sqrt(f @ f) - self.penalty
        p = np.exp((scores - scores.max()) / self.temperature)
        return p / p.sum()

    def top(self, x, k=5):
        p = self.confidences(x)
        best = np.argpartition(p, -k)[-k:]
        return best[np.argsort(-p[best])], p


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--features", required=True, help=".npy, rows of float32")
    parser.add_argument("--parsnets", default="build/parsnets")
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    x = np.load(args.features).astype(np.float32)[:200]
    ours = NumpyModel(args.model)

    def run(*command):
        return subprocess.run([args.parsnets, *command, "--quiet"], check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as work:
        sample = os.path.join(work, "x.npy")
        np.save(sample, x)
        predicted = json.loads(run("predict", "--model", args.model, "--input", sample, "--top", "1", "--json"))
        largest = 0.0
        for row, item in zip(x, predicted["predictions"]):
            largest = max(largest, abs(ours.confidences(row).max() - item["top"][0]["confidence"]))
        if largest > MOST_DIFFERENCE:
            raise SystemExit(f"numpy and the library differ by {largest} in the confidence of a sample")
        files = {}
        for precision in ("float32", "float16", "int8"):
            files[precision] = os.path.join(work, precision + ".pnrt")
            run("export", "--model", args.model, "--out", files[precision], "--precision", precision)
        numpy_times, times = [], {p: [] for p in files}
        for _ in range(4):  # in turns, since the machine's speed drifts
            for i in range(args.repeats // 4):
                start = time.perf_counter()
                ours.top(x[i % len(x)])
                numpy_times.append(1e6 * (time.perf_counter() - start))
            for precision, file in files.items():
                out = json.loads(run("export", "--model", file, "--bench", "--input", sample, "--json"))
                times[precision] += out["steady_us"]["samples"]
    runs = {"numpy float32": numpy_times, **{f"runtime {p}": values for p, values in times.items()}}
    with open(args.out, "w") as out:
        json.dump({"numpy": np.__version__, "samples": len(x), "largest_difference_of_confidence": float(largest),
                   "runs": {name: {"samples_us": values, "median_us": float(np.median(values)),
                                   "times_faster_than_numpy": float(np.median(numpy_times) / np.median(values))}
                            for name, values in runs.items()}}, out)


if __name__ == "__main__":
    main()
