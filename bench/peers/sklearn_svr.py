"""MultiOutputRegressor(LinearSVR) on the expanded features of gated networks: a row holds [1, z] once per open network.

Tolerances are tried from loose to tight until the relative gap to the dual values given is at most the one given, for
every output; the time is that of the last fit alone.

    sklearn_svr.py --folder FOLDER --networks K --c C --epsilon E --duals D1,D2 --gaps G1,G2 --out RESULT.json
"""
import argparse
import json
import os
import time
import warnings

import numpy as np
import scipy.sparse
import sklearn
from sklearn.multioutput import MultiOutputRegressor
from sklearn.svm import LinearSVR


def expanded(z, opened, networks):
    n, h = z.shape
    k = opened.shape[1]
    row = np.hstack([np.ones((n, 1)), z])
    columns = (opened[:, :, None] * (h + 1) + np.arange(h + 1)).reshape(n, -1).astype(np.int32)
    values = np.repeat(row[:, None, :], k, axis=1).reshape(n, -1)
    starts = np.arange(n + 1, dtype=np.int32) * (k * (h + 1))
    return scipy.sparse.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(n, networks * (h + 1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--networks", type=int, required=True)
    parser.add_argument("--c", type=float, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--duals", required=True)
    parser.add_argument("--gaps", required=True)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    z, targets = (np.load(os.path.join(given.folder, name)).astype(np.float64) for name in ("z.npy", "targets.npy"))
    opened = np.load(os.path.join(given.folder, "open.npy")).reshape(len(z), -1)
    duals, needed = (np.array([float(value) for value in values.split(",")]) for values in (given.duals, given.gaps))
    phi = expanded(z, opened, given.networks)
    warnings.simplefilter("ignore")  # of fits that end by the number of iterations: the gap tells
    tried = []
    for tolerance in (1e-1, 1e-2, 1e-3):
        start = time.perf_counter()
        model = MultiOutputRegressor(LinearSVR(C=given.c, epsilon=given.epsilon, loss="epsilon_insensitive",
                                               fit_intercept=False, dual=True, tol=tolerance)).fit(phi, targets)
        seconds = time.perf_counter() - start
        weights = np.array([one.coef_.ravel() for one in model.estimators_])
        losses = np.maximum(0, np.abs(targets - phi @ weights.T) - given.epsilon).sum(0)
        primal = (weights**2).sum(1) / 2 + given.c * losses
        gaps = (primal - duals) / primal
        tried.append({"tolerance": tolerance, "seconds": seconds, "relative_gaps": gaps.tolist()})
        if (gaps <= needed).all():
            break
    with open(given.out, "w") as out:
        json.dump({"scikit-learn": sklearn.__version__, "seconds": seconds, "relative_gap": gaps.max(),
                   "reached": bool((gaps <= needed).all()), "tried": tried}, out)


if __name__ == "__main__":
    main()
