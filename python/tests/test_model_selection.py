import numpy as np
import pytest

from parsnets import ClassDisjointKFold


def test_folds_have_disjoint_classes_and_cover_all():
    y = np.repeat(list("abcdefg"), 5)
    tests = []
    for train, test in ClassDisjointKFold(3, shuffle=True, random_state=1).split(y, y):
        assert not set(y[train]) & set(y[test])
        assert len(train) + len(test) == len(y)
        tests.extend(test)
    assert sorted(tests) == list(range(len(y)))


def test_a_fold_has_two_classes_or_more():
    y = np.repeat(list("abcdefg"), 5)
    assert [len(set(y[test])) for _, test in ClassDisjointKFold().split(y, y)] == [3, 2, 2]
    with pytest.raises(ValueError, match="at least 8 classes, two for each of n_splits = 4 folds, found 7; lower"):
        next(ClassDisjointKFold(4).split(y, y))


def test_fold_sizes_differ_by_one_class_at_most():
    y = np.arange(11)
    sizes = [len(test) for _, test in ClassDisjointKFold(4).split(y, y)]
    assert sorted(sizes) == [2, 3, 3, 3] and ClassDisjointKFold(4).get_n_splits() == 4


def test_random_state_decides_shuffled_folds():
    y = np.arange(30)

    def folds(**options):
        return [test.tolist() for _, test in ClassDisjointKFold(3, **options).split(y, y)]

    assert folds() == [list(range(10)), list(range(10, 20)), list(range(20, 30))]
    assert folds(shuffle=True, random_state=1) == folds(shuffle=True, random_state=1) != folds()
    assert folds(shuffle=True, random_state=1) != folds(shuffle=True, random_state=2)


def test_impossible_folds_are_refused():
    with pytest.raises(ValueError, match="n_splits"):
        ClassDisjointKFold(1)
    with pytest.raises(ValueError):
        next(ClassDisjointKFold(2).split([1, 2], [1, 2, 3]))
    assert repr(ClassDisjointKFold(3)) == "ClassDisjointKFold(n_splits=3, shuffle=False, random_state=None)"
