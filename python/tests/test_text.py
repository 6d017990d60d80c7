"""Classes described by the vectors of a text encoder."""

import numpy as np
import pytest

from parsnets import BadInputError, RidgeZSL, text


def letters(texts):
    """An encoder: how often each letter occurs."""
    return [[one.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz :"] for one in texts]


def test_names_and_descriptions_become_class_attributes():
    vectors = text.describe(["polar_bear", "deer"], letters)
    assert list(vectors) == ["polar_bear", "deer"]
    np.testing.assert_array_equal(vectors["polar_bear"], letters(["polar bear"])[0])
    vectors = text.describe({"polar_bear": "white", "deer": "has antlers"}, letters)
    np.testing.assert_array_equal(vectors["deer"], letters(["deer: has antlers"])[0])
    names = np.repeat(["polar_bear", "deer"], 10)
    samples = np.array([vectors[name] for name in names])[:, :9]
    table = dict(vectors, seal=vectors["deer"] * 0.5)
    assert "seal" in RidgeZSL().fit(samples, names, class_attributes=table).classes_


def test_what_an_encoder_must_give():
    for encoder in (lambda texts: [[1.0]], lambda texts: np.ones(len(texts)), lambda texts: [[np.nan]] * len(texts)):
        with pytest.raises(BadInputError, match="^encoder: expected"):
            text.describe(["a", "b"], encoder)
    with pytest.raises(BadInputError, match="^classes: expected different"):
        text.describe(["a", "a"], letters)


def test_saved_vectors_are_a_table_of_classes(tmp_path):
    text.save({"a, b": [0.1, 2], "c": [3, 4]}, tmp_path / "classes.csv")
    assert (tmp_path / "classes.csv").read_text() == 'class,v1,v2\n"a, b",0.1,2.0\nc,3.0,4.0\n'
