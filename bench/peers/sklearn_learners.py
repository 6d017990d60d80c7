"""Learners of unseen classes as one would put them together from scikit-learn, each fitted and timed by itself.

    sklearn_learners.py --folder FOLDER --shrinkage S --width W --ridge L --alpha A --out RESULT.json

"LDA + KernelRidge": axes of LinearDiscriminantAnalysis, and KernelRidge from the descriptions of the seen classes to
their means on these axes. The others are maps from features to descriptions, alpha times the mean eigenvalue.
"""
import numpy as np
import sklearn
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeCV

from zero_shot import Fold, arguments, timed, write


def lda_and_kernel_ridge(fold, given):
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=given.shrinkage).fit(fold.x, fold.labels)
    means = lda.transform(lda.means_)
    a = fold.semantics - fold.semantics[fold.seen].mean(0)
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    places = KernelRidge(kernel="rbf", gamma=0.5 / given.width**2, alpha=given.ridge)
    places.fit(a[fold.seen], means - means.mean(0))
    return lda, means.mean(0), places.predict(a[fold.unseen])


def to_descriptions(learner, fold):
    a = fold.semantics / np.linalg.norm(fold.semantics, axis=1, keepdims=True)
    centre = a[fold.seen].mean(0)
    learner.fit(fold.x, (a - centre)[fold.labels])
    return learner, centre, a


def main():
    parser = arguments(__doc__)
    for name in ("shrinkage", "width", "ridge", "alpha"):
        parser.add_argument(f"--{name}", type=float, required=True)
    given = parser.parse_args()
    fold = Fold(given.folder)
    (lda, centre, places), seconds = timed(lambda: lda_and_kernel_ridge(fold, given))
    learners = {"LDA + KernelRidge": {"seconds": seconds,
                                      "accuracy": fold.accuracy(lda.transform(fold.held) - centre, places)}}
    alpha = given.alpha * float((fold.x**2).sum() / fold.x.shape[1])
    for name, make in (("Ridge", lambda: Ridge(alpha)),
                       ("KernelRidge", lambda: KernelRidge(alpha=alpha, kernel="linear")),
                       ("RidgeCV", lambda: RidgeCV([alpha / 10, alpha, 10 * alpha]))):
        (learner, centre, a), seconds = timed(lambda: to_descriptions(make(), fold))
        learners[name] = {"seconds": seconds,
                          "accuracy": fold.accuracy(learner.predict(fold.held), (a - centre)[fold.unseen])}
    write(given.out, **{"scikit-learn": sklearn.__version__, "learners": learners})


if __name__ == "__main__":
    main()
