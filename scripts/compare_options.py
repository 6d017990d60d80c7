#!/usr/bin/env python3
"""Compares options of training with the default ones, on classes that neither has seen.

  PYTHONPATH=python scripts/compare_options.py DATA[,SEMANTICS]:SEEN+UNSEEN ... [--options search=auto] [--draws 8]
                                               [--first 1] [--samples 30] [--features 256]

DATA is a data set folder. Each draw takes SEEN + UNSEEN of its seen classes; the last ones play the unseen ones, and
are held out of training altogether. Of the others, a fifth of the samples are held out. Test classes and test samples
of DATA are not read. --samples of each class and --features of each sample are drawn, so that a search takes seconds;
it has no limit of time here. Prints a Markdown table: what --options change on what was held out, in points of ZSL
accuracy and of H, mean and standard error over the draws, and the worst draw. With search=auto, "replaced" counts the
draws in which it left the default options. `PYTHONPATH=python` is not needed where the package is installed.
"""

import argparse
import statistics
import warnings

import numpy as np

from parsnets import ParsNetsClassifier, datasets, metrics


def accuracies(scores, labels, seen, gamma):
    """ZSL accuracy and H in percent; every class has the same share in them."""
    def mean(offset, classes):
        right = (scores - np.where(seen, offset, 0)).argmax(axis=1) == labels
        return 100 * np.mean([right[labels == c].mean() for c in np.flatnonzero(classes)])
    return mean(np.inf, ~seen), metrics.harmonic_mean(mean(gamma, ~seen), mean(gamma, seen))


def draw(data, seen_count, unseen_count, options, seed):
    random = np.random.default_rng(seed)
    of_train = data.labels[data.trainval]
    classes = random.permutation(np.unique(of_train))[:seen_count + unseen_count]
    fit, held, fit_y, held_y = [], [], [], []
    for number, c in enumerate(classes):
        own = random.permutation(data.trainval[of_train == c])[:options.samples]
        part = len(own) // 5 if number < seen_count else len(own)
        held += own[:part].tolist()
        fit += own[part:].tolist()
        held_y += [number] * part
        fit_y += [number] * (len(own) - part)
    columns = np.sort(random.permutation(data.X.shape[1])[:options.features])
    x, vectors = np.asarray(data.X)[:, columns].astype(np.float32), data.semantics[classes]
    found = {"seed": seed}
    for name, changes in (("default", {}), ("changed", dict(options.options))):
        search = changes.pop("search", "none")
        model = ParsNetsClassifier(search=search, random_state=seed, options={"time-budget": 0, **changes})
        model.fit(x[fit], fit_y, class_attributes=vectors, class_names=range(len(vectors)))
        zsl, h = accuracies(model.class_scores(x[held]), np.array(held_y), model.seen_, model.gamma_)
        found[name] = {"zsl": zsl, "h": h}
    validation = model.record_["validation"]
    found["replaced"] = validation.get("gain", 0) > validation.get("gain_error", 0)
    return found


def change(found, figure):
    values = [one["changed"][figure] - one["default"][figure] for one in found]
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0
    return f"{statistics.mean(values):+.2f} ± {error:.2f} | {min(values):+.2f}"


def row(source, counts, found, searches):
    cells = [source, counts, str(len(found)), *([str(sum(one["replaced"] for one in found))] if searches else []),
             change(found, "zsl"), change(found, "h")]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--first", type=int, default=1, help="seed of the first draw")
    parser.add_argument("--samples", type=int, default=30, help="of each class, at most")
    parser.add_argument("--features", type=int, default=256, help="of each sample, at most")
    parser.add_argument("--options", default="search=auto", help="what is compared, comma-separated",
                        type=lambda text: [tuple(part.split("=", 1)) for part in text.split(",")])
    options = parser.parse_args()
    searches = ("search", "auto") in options.options
    warnings.simplefilter("ignore")
    head = ["data", "seen + unseen", "draws", *(["replaced"] if searches else []), "ZSL", "worst", "H", "worst"]
    print(f"| {' | '.join(head)} |\n|---|---|{'---:|' * (len(head) - 2)}", flush=True)
    every = []
    for given in options.data:
        source, _, counts = given.rpartition(":")
        folder, _, semantics = source.partition(",")
        data = datasets.load_folder(folder, semantics=semantics or None)
        found = [draw(data, *map(int, counts.split("+")), options, options.first + i) for i in range(options.draws)]
        every += found
        row(source, counts, found, searches)
    if len(options.data) > 1:
        row("all", "", every, searches)


if __name__ == "__main__":
    main()
