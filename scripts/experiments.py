#!/usr/bin/python3
"""Ideas that were tried in numpy before (or instead of) being built; docs/experiments.md quotes what this prints.

    scripts/experiments.py DATA [att|sent] [--folds N]        DATA: a folder with CUB's res50.mat and *_splits.mat

Only training classes are used: folds of (fit, held-out samples of fitted classes, held-out classes); the first fold is
the split's own train_loc / val_loc, intersected with trainval_loc. Test samples are never read. Figures are ZSL
accuracy and the harmonic mean at the best gamma, mean over the folds.
"""
import argparse
import numpy as np
import scipy.io
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize


def unit(rows):
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-12)


class Fold:
    """Prepared samples (sqrt, unit length, centred) and semantics of one fold."""

    def __init__(self, features, labels, semantics, fit, held, unseen):
        scaled = unit(np.sqrt(np.abs(features)) * np.sign(features))
        mean = scaled[fit].mean(0)
        self.x, self.x_seen, self.x_unseen = [(scaled[r] - mean).astype(np.float32) for r in (fit, held, unseen)]
        self.y, self.y_seen, self.y_unseen = labels[fit], labels[held], labels[unseen]
        self.seen, self.unseen = np.unique(self.y), np.unique(self.y_unseen)
        self.slot = np.searchsorted(self.seen, self.y)
        self.semantics = semantics
        self.gram = self.x.T @ self.x
        self.scale = np.trace(self.gram) / len(self.gram)

    def class_vectors(self, exponent):
        a = unit(self.semantics)
        a = a - a[self.seen].mean(0)
        if exponent > 0:
            _, s, v = np.linalg.svd(a[self.seen], full_matrices=False)
            a = (a @ v.T * (s**2 / s[0]**2 + 1e-3)**(-exponent / 2)) @ v
        return unit(a).astype(np.float32), a.astype(np.float32)

    def factor(self, strength):
        return cho_factor(self.gram + strength * self.scale * np.eye(len(self.gram), dtype=np.float32))

    def figures(self, score_unseen, score_seen):
        """ZSL accuracy and the best harmonic mean."""
        def per_class(hit, labels):
            return np.mean([hit[labels == c].mean() for c in np.unique(labels)])
        zsl = per_class(self.unseen[score_unseen[:, self.unseen].argmax(1)] == self.y_unseen, self.y_unseen)
        parts = []
        for s, y in ((score_unseen, self.y_unseen), (score_seen, self.y_seen)):
            margin = s[:, self.seen].max(1) - s[:, self.unseen].max(1)
            best_unseen, best_seen = (c[s[:, c].argmax(1)] for c in (self.unseen, self.seen))
            parts.append((margin, best_unseen == y, best_seen == y, y))
        best = 0
        for gamma in np.quantile(np.r_[parts[0][0], parts[1][0]], np.linspace(0, 1, 301)):
            u = per_class(parts[0][1] & (parts[0][0] < gamma), parts[0][3])
            s = per_class(parts[1][2] & (parts[1][0] >= gamma), parts[1][3])
            best = max(best, 2 * u * s / max(u + s, 1e-9))
        return 100 * zsl, 100 * best


def folds_of(labels, split, count):
    train_all = split["trainval_loc"].ravel() - 1
    train, val = [np.intersect1d(split[k].ravel() - 1, train_all) for k in ("train_loc", "val_loc")]
    for f in range(count):
        rng = np.random.RandomState(f)
        if f > 0:
            classes = rng.permutation(np.unique(labels[train_all]))
            held = np.isin(labels[train_all], classes[: len(classes) // 3])
            train, val = train_all[~held], train_all[held]
        fit, seen = [], []
        for c in np.unique(labels[train]):
            rows = rng.permutation(train[labels[train] == c])
            seen += list(rows[: len(rows) // 5])
            fit += list(rows[len(rows) // 5:])
        yield np.array(fit), np.array(seen), val


def loss_gradient(f, vectors, slot, tau, targets=None):
    length = np.linalg.norm(f, axis=1, keepdims=True) + 1e-12
    u = f / length
    logits = tau * u @ vectors.T
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    if targets is None:
        p[np.arange(len(p)), slot] -= 1
    else:
        p -= targets[slot]
    g = p @ vectors * (tau / len(f))
    return (g - u * (u * g).sum(1, keepdims=True)) / length


def refine(fold, exponent=0.25, strength=20, steps=15, tau=10.0, adam=None, smoothing=None):
    """Ridge, then steps of the preconditioned (or Adam's) descent. Returns W, b and the unit class vectors."""
    vectors, raw = fold.class_vectors(exponent)
    factor = fold.factor(strength)
    targets = raw[fold.y]
    b = targets.mean(0)
    w = cho_solve(factor, fold.x.T @ (targets - b)).astype(np.float32)
    rms = np.sqrt(((fold.x @ w + b)**2).sum(1).mean())
    w, b = w / rms, b / rms
    soft = None if smoothing is None else smoothing(vectors[fold.seen])
    m = v = 0
    for t in range(1, steps + 1):
        g = fold.x.T @ loss_gradient(fold.x @ w + b, vectors[fold.seen], fold.slot, tau, soft)
        if adam is None:
            w -= len(fold.x) / tau * cho_solve(factor, g).astype(np.float32)
        else:
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            w -= adam * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w, b, vectors


def convex(fold, exponent, decay):
    """The convex relative: multinomial logistic regression with fixed class vectors, products in place of cosines."""
    vectors, _ = fold.class_vectors(exponent)
    b, n = vectors[fold.seen], len(fold.x)
    scale = 1 / np.sqrt(fold.scale / n)

    def value(flat):
        w = flat.reshape(fold.x.shape[1], -1).astype(np.float32)
        logits = fold.x @ w @ b.T * scale
        logits -= logits.max(1, keepdims=True)
        p = np.exp(logits)
        z = p.sum(1, keepdims=True)
        loss = -(logits[np.arange(n), fold.slot] - np.log(z[:, 0])).mean()
        p /= z
        p[np.arange(n), fold.slot] -= 1
        gradient = fold.x.T @ (p @ b) * (scale / n) + decay * w
        return float(loss + decay / 2 * (w**2).sum()), gradient.ravel().astype(np.float64)

    start = np.zeros(fold.x.shape[1] * b.shape[1])
    found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 40})
    return found.x.reshape(fold.x.shape[1], -1).astype(np.float32), 0, vectors


def prototypes(fold, w, b, vectors, kernel, ridge):
    f = unit(fold.x @ w + b)
    means = unit(np.stack([f[fold.y == c].mean(0) for c in fold.seen]))
    cosine = vectors @ vectors[fold.seen].T
    k = kernel(cosine)
    moved = k @ np.linalg.solve(k[fold.seen] + ridge * np.eye(len(fold.seen)), means - vectors[fold.seen])
    return unit(vectors + moved).astype(np.float32), means


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("semantics", nargs="?", default="att", choices=("att", "sent"))
    parser.add_argument("--folds", type=int, default=2)
    args = parser.parse_args()
    features = scipy.io.loadmat(f"{args.data}/res50.mat")
    split = scipy.io.loadmat(f"{args.data}/{args.semantics}_splits.mat")
    x, y = features["features"].T.astype(np.float32), features["labels"].ravel().astype(int) - 1
    folds = [Fold(x, y, split["att"].T.astype(np.float32), *rows) for rows in folds_of(y, split, args.folds)]

    def show(name, make):
        rows = []
        for fold in folds:
            w, b, vectors = make(fold)
            rows.append(fold.figures(unit(fold.x_unseen @ w + b) @ vectors.T, unit(fold.x_seen @ w + b) @ vectors.T))
        print("| {} | {:.1f} | {:.1f} |".format(name, *np.mean(rows, 0)), flush=True)

    def with_prototypes(kernel, ridge):
        def make(fold):
            w, b, vectors = refine(fold)
            return w, b, prototypes(fold, w, b, vectors, kernel, ridge)[0]
        return make

    def mixed(share):
        def make(fold):
            w, b, vectors = refine(fold)
            moved, means = vectors.copy(), prototypes(fold, w, b, vectors, np.asarray, 1.0)[1]
            moved[fold.seen] = unit((1 - share) * vectors[fold.seen] + share * means)
            return w, b, moved
        return make

    def smooth(part):
        def soft(vectors):
            q = np.exp(5 * (vectors @ vectors.T - 1))
            return (1 - part) * np.eye(len(q)) + part * q / q.sum(1, keepdims=True)
        return soft

    print(f"| CUB, {args.semantics}, {len(folds)} folds of training classes | ZSL | H |\n|---|---|---|")
    show("ridge, lambda 1", lambda f: refine(f, 0, 1, 0))
    show("ridge, lambda 1, whitening 0.25", lambda f: refine(f, 0.25, 1, 0))
    show("Adam 1e-3 from lambda 1, 20 steps", lambda f: refine(f, 0.25, 1, 20, adam=1e-3))
    show("preconditioned from lambda 1, 15 steps", lambda f: refine(f, 0.25, 1, 15))
    show("preconditioned from lambda 20, 15 steps", refine)
    for decay in (0.1, 0.03, 0.01):
        show(f"convex logistic, decay {decay}", lambda f: convex(f, 0.25, decay))
    show("labels smoothed by semantics, 0.1", lambda f: refine(f, smoothing=smooth(0.1)))
    show("labels smoothed by semantics, 0.2", lambda f: refine(f, smoothing=smooth(0.2)))
    show("seen classes drawn to their mean, 0.2", mixed(0.2))
    show("seen classes drawn to their mean, 0.6", mixed(0.6))
    show("prototypes, linear kernel, 0.3", with_prototypes(np.asarray, 0.3))
    show("prototypes, quadratic kernel, 0.3", with_prototypes(lambda c: (1 + c)**2, 0.3))
    for width in (0.7, 1.0, 1.4, 2.0):
        show(f"prototypes, Gaussian of width {width}, 0.1", with_prototypes(lambda c: np.exp((c - 1) / width**2), 0.1))


if __name__ == "__main__":
    main()
