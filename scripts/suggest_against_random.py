#!/usr/bin/env python3
"""Compares the samples that `suggest` chooses for labelling with samples that are drawn.

  PYTHONPATH=python scripts/suggest_against_random.py DATA[,SEMANTICS] ... [--draws 4] [--first 11] [--repeats 10]

DATA is a data set folder. In each draw a quarter of its seen classes plays the unseen ones. Half of the samples of
these, and a tenth of those of the others, are unlabelled; labels are given to those of them that are chosen, and a
copy of the model is taught them. ZSL accuracy is that on the other half. Test classes and test samples of DATA are
not read. Prints a Markdown table of means over the draws: accuracy after so many labels per unseen class, suggested
and drawn; how many drawn labels per class reach the accuracy of the suggested ones, and the share of these that
suggestions take. With "mixed", samples of seen classes are among the unlabelled ones. `PYTHONPATH=python` is not
needed where the package is installed.
"""

import argparse
import copy
import warnings

import numpy as np

from parsnets import ParsNetsClassifier, datasets

COUNTS = (0.5, 1, 2, 5, 10)
DRAWN = (0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20)


class Problem:
    def __init__(self, data, seed):
        random = np.random.default_rng(seed)
        of_train = data.labels[data.trainval]
        classes = random.permutation(np.unique(of_train))
        self.seen = len(classes) - len(classes) // 4
        fit, pool, test = [], [], []
        for number, c in enumerate(classes):
            own = [(row, number) for row in random.permutation(data.trainval[of_train == c])]
            if number < self.seen:
                pool += own[:len(own) // 10]
                fit += own[len(own) // 5:]
            else:
                pool += own[:len(own) // 2]
                test += own[len(own) // 2:]
        x = np.asarray(data.X, dtype=np.float32)
        (rows, labels), (pool_rows, self.labels), (test_rows, self.test_labels) = (np.array(part).T
                                                                                   for part in (fit, pool, test))
        self.pool, self.test, self.unseen = x[pool_rows], x[test_rows], len(classes) - self.seen
        self.model = ParsNetsClassifier(random_state=seed).fit(x[rows], labels, class_names=range(len(classes)),
                                                               class_attributes=data.semantics[classes])

    def accuracy(self, chosen):
        """ZSL in percent after these samples of the pool were taught."""
        model = copy.copy(self.model)
        for label in np.unique(self.labels[chosen]):
            model.teach(label, self.pool[chosen[self.labels[chosen] == label]])
        right = self.seen + model.class_scores(self.test)[:, self.seen:].argmax(axis=1) == self.test_labels
        return 100 * np.mean([right[self.test_labels == c].mean() for c in np.unique(self.test_labels)])

    def suggested(self, among):
        """Accuracies for COUNTS; fewer labels are the first ones of more."""
        rows = among[self.model.suggest(self.pool[among], round(COUNTS[-1] * self.unseen))]
        return [self.accuracy(rows[:round(count * self.unseen)]) for count in COUNTS]

    def drawn(self, among, repeats):
        """Mean accuracies for DRAWN."""
        orders = [np.random.default_rng(repeat).permutation(among) for repeat in range(repeats)]
        return [np.mean([self.accuracy(order[:round(count * self.unseen)]) for order in orders]) for count in DRAWN]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--first", type=int, default=11, help="seed of the first draw")
    parser.add_argument("--repeats", type=int, default=10, help="random choices per draw")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | unlabelled | labels per class | suggested | drawn | drawn labels per class for the same | share |\n"
          "|---|---|---:|---:|---:|---:|---:|")
    for given in options.data:
        folder, _, semantics = given.partition(",")
        data = datasets.load_folder(folder, semantics=semantics or None)
        problems = [Problem(data, options.first + i) for i in range(options.draws)]
        for name, mixed in (("mixed", True), ("unseen alone", False)):
            pools = [np.flatnonzero(problem.labels >= (0 if mixed else problem.seen)) for problem in problems]
            suggested = np.mean([p.suggested(pool) for p, pool in zip(problems, pools)], axis=0)
            drawn = np.mean([p.drawn(pool, options.repeats) for p, pool in zip(problems, pools)], axis=0)
            rising = np.maximum.accumulate(drawn)
            for count, accuracy in zip(COUNTS, suggested):
                same = np.interp(accuracy, rising, DRAWN)
                if accuracy >= rising[-1]:
                    needed, share = f"more than {DRAWN[-1]}", f"below {100 * count / DRAWN[-1]:.0f} %"
                else:  # none: it is not above the accuracy without labels
                    needed, share = f"{same:.1f}", f"{100 * count / same:.0f} %" if same > 0 else "–"
                at = drawn[DRAWN.index(count)]
                print(f"| {given} | {name} | {count:g} | {accuracy:.1f} | {at:.1f} | {needed} | {share} |", flush=True)


if __name__ == "__main__":
    main()
