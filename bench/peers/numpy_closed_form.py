"""The closed form of class space by numpy and scipy, with the formulas of docs/method.md: map, places, cosines.

    numpy_closed_form.py --folder FOLDER --rho R --width W --ridge L --whitening A --out RESULT.json
"""
import numpy as np
import scipy.linalg

from zero_shot import Fold, arguments, timed, write


def prepared(semantics, seen, exponent):
    """Unit vectors along partly whitened axes of the seen classes."""
    a = semantics / np.linalg.norm(semantics, axis=1, keepdims=True)
    centre = a[seen].mean(0)
    _, sigma, axes = np.linalg.svd(a[seen] - centre, full_matrices=False)
    kept = sigma**2 > 1e-10 * sigma[0]**2
    factor = (sigma[kept]**2 / sigma[0]**2 + 1e-3)**(-exponent / 2)
    b = (a - centre) @ (axes[kept].T * factor)
    return b / np.linalg.norm(b, axis=1, keepdims=True)


def main():
    parser = arguments(__doc__)
    for name in ("rho", "width", "ridge", "whitening"):
        parser.add_argument(f"--{name}", type=float, required=True)
    given = parser.parse_args()
    fold = Fold(given.folder)

    def fit():
        n, d = fold.x.shape
        count = np.bincount(fold.own).astype(np.float64)
        sums = np.zeros((len(fold.seen), d))
        for c in range(len(fold.seen)):
            sums[c] = fold.x[fold.own == c].sum(0, dtype=np.float64)
        means = sums / count[:, None]
        mean = sums.sum(0) / n
        within = (fold.x.T @ fold.x).astype(np.float64) / n - (means.T * (count / n)) @ means
        within[np.diag_indices(d)] += given.rho * np.trace(within) / d
        m = means - mean
        solved = scipy.linalg.cho_solve(scipy.linalg.cho_factor(within, overwrite_a=True, check_finite=False), m.T,
                                        check_finite=False)
        values, q = np.linalg.eigh(m @ solved)
        kept = values > 1e-9 * values[-1]
        weights = solved @ (q[:, kept] / np.sqrt(values[kept]))
        places = m @ weights
        b = prepared(fold.semantics.astype(np.float64), fold.seen, given.whitening)
        kernel = np.exp((b @ b[fold.seen].T - 1) / given.width**2)
        alpha = np.linalg.solve(kernel[fold.seen] + given.ridge * np.eye(len(m)), places - places.mean(0))
        return weights, mean @ weights + places.mean(0), kernel[fold.unseen] @ alpha

    (weights, centre, places), seconds = timed(fit)
    write(given.out, numpy=np.__version__, seconds=seconds,
          accuracy=fold.accuracy(fold.held @ weights - centre, places))


if __name__ == "__main__":
    main()
