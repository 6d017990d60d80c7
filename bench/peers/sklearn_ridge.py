"""KernelRidge with the linear kernel on centred features and targets, compared with the weights of the engine's ridge.

    sklearn_ridge.py --folder FOLDER --alpha A --out RESULT.json
"""
import argparse
import json
import os
import time

import numpy as np
import sklearn
from sklearn.kernel_ridge import KernelRidge


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--alpha", type=float, required=True)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    x, targets, ours = (np.load(os.path.join(given.folder, name)).astype(np.float64)
                        for name in ("x.npy", "targets.npy", "weights.npy"))
    start = time.perf_counter()
    x -= x.mean(0)
    model = KernelRidge(alpha=given.alpha, kernel="linear").fit(x, targets - targets.mean(0))
    seconds = time.perf_counter() - start
    weights = x.T @ model.dual_coef_
    difference = np.linalg.norm(weights - ours) / np.linalg.norm(weights)
    with open(given.out, "w") as out:
        json.dump({"scikit-learn": sklearn.__version__, "seconds": seconds, "relative_difference": difference}, out)


if __name__ == "__main__":
    main()
