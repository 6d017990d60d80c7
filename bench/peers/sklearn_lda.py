"""LinearDiscriminantAnalysis with shrinkage; accuracy by the nearest class mean on its axes.

    sklearn_lda.py --folder FOLDER --shrinkage S --out RESULT.json
"""
import argparse
import json
import os
import time

import numpy as np
import sklearn
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--shrinkage", type=float, required=True)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    x, labels, held, held_labels = (np.load(os.path.join(given.folder, name + ".npy"))
                                    for name in ("x", "labels", "held", "held_labels"))
    start = time.perf_counter()
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=given.shrinkage).fit(x, labels)
    seconds = time.perf_counter() - start
    means, mapped = model.transform(model.means_), model.transform(held)
    distances = (mapped**2).sum(1)[:, None] - 2 * mapped @ means.T + (means**2).sum(1)
    right = model.classes_[distances.argmin(1)] == held_labels
    accuracy = 100 * float(np.mean([right[held_labels == c].mean() for c in np.unique(held_labels)]))
    with open(given.out, "w") as out:
        json.dump({"scikit-learn": sklearn.__version__, "seconds": seconds, "accuracy": accuracy}, out)


if __name__ == "__main__":
    main()
