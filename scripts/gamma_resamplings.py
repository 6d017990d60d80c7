#!/usr/bin/env python3
"""Compares gamma as training chooses it with the mean gamma of its folds and with the best one.

  PYTHONPATH=python scripts/gamma_resamplings.py DATA[,SEMANTICS] SEEN UNSEEN [--draws 12] [--first 100] [--samples 100]

DATA is a data set folder. Each draw takes SEEN + UNSEEN of its seen classes; the last ones play the unseen ones, and
are held out of training altogether. Of the others, a fifth of the samples are held out. Test classes and test samples
of DATA are not read. Prints a row of a Markdown table: H on what was held out, mean and standard error over the draws.
`PYTHONPATH=python` is not needed where the package is installed.
"""

import argparse
import statistics
import warnings

import numpy as np

from parsnets import ParsNetsClassifier, datasets, metrics


def fitted(x, y, vectors, seed):
    return ParsNetsClassifier(random_state=seed).fit(x, y, class_attributes=vectors, class_names=range(len(vectors)))


def draw(data, seen_count, unseen_count, most, seed):
    """Harmonic means at the three values of gamma."""
    random = np.random.default_rng(seed)
    of_train = data.labels[data.trainval]
    classes = random.permutation(np.unique(of_train))[:seen_count + unseen_count]
    fit, held, fit_y, held_y = [], [], [], []
    for number, c in enumerate(classes):
        own = random.permutation(data.trainval[of_train == c])[:most]
        part = len(own) // 5 if number < seen_count else len(own)
        held += own[:part].tolist()
        fit += own[part:].tolist()
        held_y += [number] * part
        fit_y += [number] * (len(own) - part)
    x, vectors = data.X, data.semantics[classes]
    model = fitted(x[fit], fit_y, vectors, seed)
    # Without the descriptions of unseen classes, gamma is the mean of the same folds.
    of_folds = fitted(x[fit], fit_y, vectors[:seen_count], seed).gamma_
    gamma, u, s = metrics.seen_unseen_curve(held_y, model.class_scores(x[held]), model.classes_, model.seen_)
    h = 100 * np.array([metrics.harmonic_mean(*pair) for pair in zip(u, s)])
    return [h[np.searchsorted(gamma, g, "right") - 1] for g in (of_folds, model.gamma_)] + [h.max()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("seen", type=int)
    parser.add_argument("unseen", type=int)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--first", type=int, default=100, help="seed of the first draw")
    parser.add_argument("--samples", type=int, default=100, help="of each class, at most")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder, _, semantics = options.data.partition(",")
    data = datasets.load_folder(folder, semantics=semantics or None)
    found = [draw(data, options.seen, options.unseen, options.samples, options.first + i) for i in range(options.draws)]
    folds, chosen, best = zip(*found)
    change = [b - a for a, b in zip(folds, chosen)]
    error = statistics.stdev(change) / len(change) ** 0.5
    print(f"| {options.data} | {options.seen} / {options.unseen} | {np.mean(folds):.1f} | {np.mean(chosen):.1f} "
          f"| {np.mean(change):+.2f} ± {error:.2f} | {np.mean(best):.1f} |", flush=True)


if __name__ == "__main__":
    main()
