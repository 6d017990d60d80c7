"""scikit-learn's own checks of estimators, each a test of its own."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from parsnets import ParsNetsClassifier

# Without scln, which wants `open` networks at most as many as the tiny data of these checks allow.
METHODS = ("parsnets", "mmg", "ridge", "reverse-ridge", "eszsl", "sae", "sae-reverse", "dap")


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([ParsNetsClassifier(method=method, threads=1) for method in METHODS])
def test_scikit_learn_check(estimator, check):
    check(estimator)
