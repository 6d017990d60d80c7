"""Labels stay what they are, whatever holds them; what cannot be meant is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from same_bytes import assert_same_bytes

from parsnets import BadInputError, RidgeZSL, UsageError, ZeroShotClassifier, load_model

RANDOM = np.random.RandomState(0)
ATTRIBUTES = RANDOM.rand(6, 5).astype(np.float32)
MIX = RANDOM.rand(5, 7)


def fitted(labels, seen=4, **extra):
    """A model whose classes have `labels`, of which the first `seen` have samples."""
    numbers = np.repeat(np.arange(seen), 10)
    y = np.array(labels[:seen])[numbers]
    extra.setdefault("class_attributes", dict(zip(labels, ATTRIBUTES)))
    return RidgeZSL().fit(ATTRIBUTES[numbers] @ MIX, y, **extra)


X = (ATTRIBUTES @ MIX).astype(np.float32)


@pytest.fixture
def numbered():
    return fitted([0, 1, 2, 3, 4, 5])


def test_masks_are_not_taken_for_the_labels_0_and_1(numbered):
    before = numbered.classes_
    for flags in (~numbered.seen_, (~numbered.seen_).tolist(), [True], [0, True], np.True_):
        with pytest.raises(BadInputError, match=r"^classes: .*classes_\[mask\]"):
            numbered.predict(X, classes=flags)
    with pytest.raises(BadInputError, match="^label: .*True or False"):
        numbered.remove_class(True)
    with pytest.raises(BadInputError, match="^label: .*True or False"):
        numbered.add_class(False, ATTRIBUTES[0] * 0.5)
    with pytest.raises(BadInputError, match="^validation: .*True or False"):
        fitted([0, 1, 2, 3, 4, 5], validation=[True, False, False, False])
    with pytest.raises(BadInputError, match="^y: .*True or False"):
        numbered.calibrate(X, [True] * 6)
    assert numbered.classes_ is before
    picked = numbered.predict(X, classes=numbered.classes_[~numbered.seen_])
    assert set(picked) <= {4, 5}


def test_labels_that_are_flags_stay_usable():
    model = fitted([False, True], seen=2)
    assert model.classes_.dtype == bool and model.predict(X[:2], classes=[True]).tolist() == [True, True]
    assert model.remove_class(True).classes_.tolist() == [False]


def test_labels_number_rows_of_a_bare_table_only_where_they_start_at_0():
    numbers = np.repeat([1, 2, 3, 4], 10)
    x, fit = ATTRIBUTES[numbers - 1] @ MIX, RidgeZSL().fit
    with pytest.raises(BadInputError, match=r"class_names, np.arange"):
        fit(x, numbers, class_attributes=ATTRIBUTES)
    named = fit(x, numbers, class_attributes=ATTRIBUTES, class_names=np.arange(1, 7))
    assert named.classes_.tolist() == [1, 2, 3, 4, 5, 6] and np.array_equal(named.class_attributes_, ATTRIBUTES)
    assert fit(x, numbers, class_attributes=ATTRIBUTES[:4]).classes_.tolist() == [1, 2, 3, 4]
    assert fit(x, numbers - 1, class_attributes=ATTRIBUTES).classes_.tolist() == list(range(6))


@pytest.mark.parametrize("labels", [["a", "b", "c", "d", "e", "f"], [5, 4, 3, 2, 1, 0]])
def test_a_series_of_vectors_is_read_as_a_dict_of_them(labels):
    series = pd.Series(list(ATTRIBUTES), index=labels)
    ours, theirs = fitted(labels, class_attributes=series), fitted(labels)
    assert_same_bytes(ours._model.to_bytes(), theirs._model.to_bytes())
    assert ours.classes_.tolist() == sorted(labels)
    new = [f"new {label}" for label in labels] if isinstance(labels[0], str) else [label + 10 for label in labels]
    ours.add_classes(pd.Series(list(ATTRIBUTES * 0.5), index=new))
    theirs.add_classes(dict(zip(new, ATTRIBUTES * 0.5)))
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert_same_bytes(ours._model.to_bytes(), theirs._model.to_bytes())


def test_a_frame_adds_its_rows_as_classes_with_columns_in_any_order():
    names = list("uvwxy")
    model = fitted(list("abcdef"), attribute_names=names)
    frame = pd.DataFrame(ATTRIBUTES[:2] * 0.5, index=["okapi", "zebra"], columns=names)
    for table in (frame, frame[list("ywuvx")]):
        added = pickle.loads(pickle.dumps(model)).add_classes(table)
        assert added.classes_.tolist()[-2:] == ["okapi", "zebra"]
        assert np.array_equal(added.class_attributes_[-2:], ATTRIBUTES[:2] * 0.5)
    for odd, found in ((frame.rename(columns={"w": "colour"}), "found 'w' missing; 'colour' unknown;"),
                       (frame[names[:4]], "found 'y' missing;"),
                       (frame[list("uvwxx")], "found 'y' missing; 'x' more than once;"),
                       (frame[list("uvwxyy")], "found 'y' more than once;")):
        with pytest.raises(BadInputError, match="^class_attributes: .* of attribute_names once, " + found):
            model.add_classes(odd)
    assert len(model.classes_) == 6
    numbered = pickle.loads(pickle.dumps(model)).add_classes(pd.DataFrame(ATTRIBUTES[:2] * 0.5, index=list("gh")))
    assert np.array_equal(numbered.class_attributes_[-2:], ATTRIBUTES[:2] * 0.5)  # columns 0, 1, ... are positions
    unnamed = fitted(list("abcdef")).add_classes(frame)  # has no names to compare with
    assert np.array_equal(unnamed.class_attributes_[-2:], ATTRIBUTES[:2] * 0.5)
    with pytest.raises(UsageError, match="found ndarray"):
        model.add_classes(ATTRIBUTES)
    with pytest.raises(BadInputError, match="attributes of 'okapi': expected numbers"):
        model.add_class("okapi", ["tall"] * 5)


def test_a_series_of_attributes_is_matched_by_their_names():
    names = list("uvwxy")
    series = pd.Series(ATTRIBUTES[0] * 0.5, index=names)
    for given in (series, series[list("ywuvx")], series.reset_index(drop=True), series.to_numpy()):
        model = fitted(list("abcdef"), attribute_names=names)
        model.add_class("okapi", given).add_classes({"kudu": given, "oryx": ATTRIBUTES[0] * 0.5})
        assert np.array_equal(model.class_attributes_[-3:], [ATTRIBUTES[0] * 0.5] * 3)
    for odd, found in ((series.rename({"w": "colour"}), "'w' missing; 'colour' unknown"),
                       (series[list("uvwx")], "'y' missing"), (series[list("uvwxyy")], "'y' more than once")):
        with pytest.raises(ValueError, match=f"^attributes of 'gnu': expected each of the 5 attributes.*found {found}"):
            model.add_class("gnu", odd)
    wide = pd.Series(np.zeros(9), index=[f"new {i}" for i in range(9)])
    with pytest.raises(ValueError, match="'v', 'w', 'x', 'y' missing; 'new 0', .*'new 4' and 4 more unknown"):
        model.add_class("gnu", wide)
    assert len(model.classes_) == 9


def test_fit_puts_named_attributes_in_one_order():
    names, turned = list("uvwxy"), list("ywuvx")
    frame = pd.DataFrame(ATTRIBUTES, index=list("abcdef"), columns=names)
    rows = {label: frame.loc[label] for label in "abcdef"}
    mixed = {**rows, "b": rows["b"][turned], "e": rows["e"][turned]}
    for table, extra in ((mixed, {}), (pd.Series(mixed), {}), (mixed, {"attribute_names": names}),
                         (frame[turned], {"attribute_names": names})):
        model = fitted(list("abcdef"), class_attributes=table, **extra)
        assert np.array_equal(model.class_attributes_, ATTRIBUTES) and model.attribute_names_ == tuple(names)
    with pytest.raises(ValueError, match="^attributes of 'e': .*found 'w' missing; 'colour' unknown"):
        fitted(list("abcdef"), class_attributes={**mixed, "e": rows["e"].rename({"w": "colour"})})
    with pytest.raises(ValueError, match="^class_attributes: .*found 'z' missing; 'u' unknown"):
        fitted(list("abcdef"), class_attributes=frame, attribute_names=list("vwxyz"))
    numbered = {label: pd.Series(vector) for label, vector in zip("abcdef", ATTRIBUTES)}
    by_position = fitted(list("abcdef"), class_attributes=numbered)
    assert by_position._model.to_bytes() == fitted(list("abcdef"))._model.to_bytes()


def test_a_class_with_two_rows_is_refused_by_name():
    frame = pd.DataFrame(ATTRIBUTES, index=list("abcdef"))
    twice = pd.concat([frame, frame.loc[["c"]]])
    with pytest.raises(ValueError, match="one row per class, found 'c' in rows 2 and 6"):
        fitted(list("abcdef"), class_attributes=twice)
    model = fitted(list("abcdef"))
    with pytest.raises(ValueError, match="one row per class, found 'new c' in rows 2 and 6"):
        model.add_classes(twice.rename(index="new {}".format))
    assert len(model.classes_) == 6
    renamed = fitted(list("abcdef"), class_attributes=twice, class_names=list("abcdefg"))  # the index does not count
    assert renamed.classes_.tolist() == list("abcdefg")


def test_a_frame_whose_classes_are_in_a_column_is_refused_with_advice():
    frame = pd.DataFrame(ATTRIBUTES, index=pd.Index(list("abcdef"), name="class"), columns=list("uvwxy"))
    unindexed = frame.reset_index()  # as read_csv gives it without index_col=0
    named, numbers = unindexed.rename(columns={"class": "animal"}), unindexed.assign(**{"class": range(6)})
    for odd, column in ((unindexed, "class"), (numbers, "class"), (named, "animal"),
                        (frame.assign(w=["red"] * 6), "w"), (frame.assign(w=[None] * 5 + ["red"]), "w")):
        advice = rf"^class_attributes: .*'{column}'.*set_index\('{column}'\), or index_col=0 of read_csv"
        with pytest.raises(BadInputError, match=advice):
            fitted(list("abcdef"), class_attributes=odd)
    with pytest.raises(BadInputError, match=r"set_index\('class'\)"):
        fitted(list("abcdef")).add_classes(unindexed)
    mixed = frame.astype({"u": object, "v": np.float64}).assign(w=True)
    assert fitted(list("abcdef"), class_attributes=mixed).attribute_names_ == tuple("uvwxy")
    assert fitted(list("abcdef"), class_attributes=unindexed.set_index("class")).attribute_names_ == tuple("uvwxy")


def test_a_mapping_that_names_its_attributes_is_taken_at_its_word():
    class Named(dict):
        attribute_names = list("uvwxy")

    table = Named(zip("abcdef", ATTRIBUTES))
    assert fitted(list("abcdef"), class_attributes=table).attribute_names_ == tuple("uvwxy")
    turned = fitted(list("abcdef"), class_attributes=table, attribute_names=list("yxwvu"))
    assert turned.attribute_names_ == tuple("yxwvu") and np.array_equal(turned.class_attributes_, ATTRIBUTES[:, ::-1])
    with pytest.raises(BadInputError, match="found 'z' missing; 'u' unknown"):
        fitted(list("abcdef"), class_attributes=table, attribute_names=list("vwxyz"))
    table.attribute_names = None
    model = fitted(list("abcdef"), class_attributes=table)
    assert not model._model.names_attributes
    other = Named({"okapi": ATTRIBUTES[0] * 0.5})
    other.attribute_names = list("yxwvu")
    added = fitted(list("abcdef"), attribute_names=list("uvwxy")).add_classes(other)
    assert np.array_equal(added.class_attributes_[-1], ATTRIBUTES[0][::-1] * 0.5)


def test_signed_and_unsigned_integers_are_of_one_kind(numbered):
    for new in (np.uint8(200), np.int16(-3), 2**40, np.uint64(2**40 + 1)):
        numbered.add_class(new, ATTRIBUTES[0] * 0.5)
    assert numbered.classes_.dtype == np.int64
    assert numbered.classes_.tolist() == [0, 1, 2, 3, 4, 5, 200, -3, 2**40, 2**40 + 1]
    assert numbered.score(X, numbered.predict(X)) == 1  # fails for objects
    unsigned = fitted(np.arange(6, dtype=np.uint8)).add_class(7, ATTRIBUTES[1] * 0.5)
    assert unsigned.classes_.dtype == np.uint8 and unsigned.add_class(700, ATTRIBUTES[2] * 0.5).classes_[-1] == 700
    large = numbered.remove_class(-3).add_class(2**64 - 1, ATTRIBUTES[1] * 0.4)
    assert large.classes_.dtype == np.uint64 and large.classes_[-1] == 2**64 - 1
    with pytest.raises(BadInputError, match="2.0, which equals"):
        large.add_class(2.0, ATTRIBUTES[0] * 0.4)


def test_keys_of_several_kinds_are_refused_and_large_numbers_kept():
    with pytest.raises(BadInputError, match=r"same type as in y \(<U1\), found 1;"):
        fitted(["a", "b", "c"], seen=3, class_attributes={**dict(zip("abc", ATTRIBUTES)), 1: ATTRIBUTES[3]})
    with pytest.raises(BadInputError, match=r"same type as in y \(int64\), found 'a';"):
        fitted([0, 1, 2], seen=3, class_attributes={**dict(zip(range(3), ATTRIBUTES)), "a": ATTRIBUTES[3]})
    with pytest.raises(BadInputError, match="found 0.5;"):
        fitted([0, 1, 2], seen=3, class_attributes={**dict(zip(range(3), ATTRIBUTES)), 0.5: ATTRIBUTES[3]})
    ids = [2**63 + 1, 2**63 + 2, 2**63 + 3, 2**63 + 4, 2**64 - 1, 7]
    for seen in (4, 6):
        model = fitted(np.array(ids, np.uint64), seen=seen, class_attributes=dict(zip(ids, ATTRIBUTES)))
        assert model.classes_.dtype == np.uint64 and model.classes_.tolist() == sorted(ids)
    small = fitted([1, 2, 3, 4, 5, 0], seen=6)  # in the same order
    assert model.predict(X).tolist() == [sorted(ids)[label] for label in small.predict(X)]
    assert fitted([0, 1, 2, 3, 4, 2**63 + 5]).classes_.tolist() == [0, 1, 2, 3, 4, 2**63 + 5]  # y is signed
    with pytest.raises(BadInputError, match="one 64-bit type"):
        fitted([-1, 1, 2, 3, 4, 2**63 + 5])
    assert fitted(np.arange(6, dtype=np.int16)).classes_.dtype == np.int16
    assert fitted(np.array(list("abcdef"), object)).classes_.dtype == object


def test_any_iterable_holds_labels(numbered):
    attributes = dict(zip(range(6), ATTRIBUTES))
    wanted = numbered.predict(X, classes=[1, 4])
    few = {4: 0, 1: 0}
    for classes in (few.keys(), (label for label in (1, 4)), range(1, 5, 3), pd.Series([4, 1]), pd.Index([1, 4])):
        assert np.array_equal(numbered.predict(X.tolist(), classes=classes), wanted), classes
    y = np.repeat(np.arange(4), 10)
    x = ATTRIBUTES[y] @ MIX
    model = RidgeZSL().fit(x, y, class_attributes=np.array(list(attributes.values())), class_names=attributes.keys(),
                           validation=(label for label in (1, 2)))
    listed = RidgeZSL().fit(x, y, class_attributes=attributes, validation=[1, 2])
    assert_same_bytes(model._model.to_bytes(), listed._model.to_bytes())
    with pytest.raises(BadInputError, match="flat list"):
        numbered.predict(X, classes=[[1], [4]])


@pytest.mark.parametrize("labels", [range(6), np.arange(6, dtype=np.int16), pd.Series(range(6)), list("abcdef"),
                                    [(0, i) for i in range(6)]], ids=lambda labels: type(labels).__name__)
def test_files_take_labels_whose_text_they_have(numbered, tmp_path, labels):
    names = [str(label) for label in labels]
    fitted(names).save(tmp_path / "m.safetensors")
    for load in (load_model, ZeroShotClassifier.load, RidgeZSL.load):
        model = load(tmp_path / "m.safetensors", labels=labels, n_jobs=1)
        assert model.classes_.tolist() == list(labels) and model.n_jobs == 1
        assert not model.classes_.flags.writeable and not np.shares_memory(model.classes_, np.asarray(labels))
    assert model.predict(X).dtype == model.classes_.dtype
    model.save(tmp_path / "again.safetensors")
    assert_same_bytes(tmp_path / "m.safetensors", tmp_path / "again.safetensors")
    twin = pickle.loads(pickle.dumps(model))
    assert twin.classes_.tolist() == list(labels) and twin.classes_.dtype == model.classes_.dtype


def test_files_refuse_labels_of_other_classes(numbered, tmp_path):
    numbered.save(tmp_path / "m.safetensors")
    for labels, message in ((range(1, 7), "found 1 for '0'"), (range(5), r"expected 6.*\(5,\)"),
                            ([0, 1, 2, 3, 5, 4], "found 5 for '4'"), (np.zeros((6, 1)), r"\(6, 1\)")):
        with pytest.raises(BadInputError, match="^labels: .*" + message):
            load_model(tmp_path / "m.safetensors", labels=labels)


def test_names_of_classes_may_be_in_any_script(tmp_path, demo):
    names = {name: name + " \u9e7f \U0001f98c" for name in demo.class_names}
    table = {names[name]: row for name, row in demo.class_attributes.items()}
    x, y = demo.X[demo.trainval], demo.y[demo.trainval]
    model = RidgeZSL().fit(x, [names[label] for label in y], class_attributes=table)
    model.remove_class(names["frog"]).add_class(names["frog"], demo.class_attributes["frog"])
    model.save(tmp_path / "m.safetensors")
    assert RidgeZSL.load(tmp_path / "m.safetensors").classes_.tolist() == model.classes_.tolist()


def test_added_labels_of_another_kind_are_kept_as_they_are(demo):
    model = RidgeZSL().fit(demo.X[demo.trainval], demo.labels[demo.trainval], class_attributes=demo.semantics)
    model.add_classes({"okapi": demo.semantics[0] * 0.5, (1, 2): demo.semantics[1] * 0.5})
    assert model.classes_.tolist()[-3:] == [9, "okapi", (1, 2)]
    x = demo.X[::24]
    assert set(model.predict(x, classes=[3, "okapi"])) == {3, "okapi"}
    some = [4, (1, 2), "okapi"]
    assert np.array_equal(model.predict(x, classes=set(some)), model.predict(x, classes=some))
    model.remove_class((1, 2)).remove_class("okapi").add_class("a longer name than before", demo.semantics[2] * 0.5)
    assert model.classes_[-1] == "a longer name than before"


def test_longer_names_are_not_cut_off(demo):
    ridge = RidgeZSL().fit_dataset(demo)
    ridge.add_class("a much longer name than all of the others", demo.semantics[2] * 0.5)
    assert ridge.classes_[-1] == "a much longer name than all of the others"
