import dataclasses
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from parsnets import ParsNetsClassifier, _display, datasets

HOSTILE = "<script>alert('1')</script> & \"x\""


@pytest.fixture(scope="module")
def fitted(demo):
    return ParsNetsClassifier(networks=100).fit_dataset(demo)


@pytest.fixture(scope="module")
def hostile():
    """Names that would break a page; class 3 is unseen."""
    rng = np.random.default_rng(1)
    labels = np.arange(80) % 4
    names = [f"{HOSTILE}{i}" for i in range(4)]
    return datasets.from_arrays(rng.random((80, 6), dtype=np.float32), labels.astype(np.int32),
                                np.eye(4, 5, dtype=np.float32) + 1, names, name=HOSTILE, test=labels == 3,
                                attribute_names=[f"{HOSTILE}{i}" for i in "abcde"])


def parsed(html):
    """The display as a tree: it is well-formed, needs nothing from outside and runs nothing."""
    tree = ElementTree.fromstring(html)
    assert tree.get("class") == "parsnets"
    for element in tree.iter():
        assert element.tag not in {"script", "link", "img", "iframe", "object"}
        assert not any(name.startswith("on") or name in {"src", "href"} for name in element.attrib)
    style = "".join(tree.find("style").itertext())
    assert "url(" not in style and "@import" not in style
    for table in tree.iter("table"):
        assert all(header.get("scope") in {"row", "col"} for header in table.iter("th"))
        assert all(row.find("th") is not None for row in table.iter("tr"))
    for chart in tree.iter("svg"):
        assert chart.get("role") == "img" and chart.get("aria-label")
    return tree


def words(tree):
    return [text.strip() for element in tree.iter() if element.tag != "style" for text in element.itertext()]


def info(tree):
    return {row.find("th").text: row.find("td").text for row in tree.iter("tr") if row.find("td") is not None}


def test_every_class_shows_itself(demo, fitted):
    shown = fitted.explain(demo.X[demo.test_unseen[:1]])[0]
    for thing, function in [(demo, _display.dataset_html), (fitted.evaluate(demo), _display.evaluation_html),
                            (shown, _display.explanation_html), (fitted, _display.estimator_html)]:
        assert thing._repr_html_() == function(thing)
    assert fitted._repr_mimebundle_()["text/html"] == _display.estimator_html(fitted)


def test_an_evaluation_shows_its_figures_with_bars_of_their_length(demo, fitted):
    evaluation = fitted.evaluate(demo)
    tree = parsed(_display.evaluation_html(evaluation))
    rows = tree.find(".//table").findall("tbody/tr")
    figures = [evaluation.zsl_top1_per_class, evaluation.zsl_top1, evaluation.zsl_top5, evaluation.u, evaluation.s,
               evaluation.h, evaluation.ausuc]
    assert len(rows) == len(figures)
    for row, figure in zip(rows, figures):
        shown = row.find("td").text
        assert shown.endswith("%") and float(shown.rstrip("\u202f%")) == pytest.approx(100 * figure, abs=0.05)
        well, bar = row.findall(".//rect")
        assert float(bar.get("width")) / float(well.get("width")) == pytest.approx(figure, abs=0.001)
    low, high = evaluation.intervals["h"].low, evaluation.intervals["h"].high
    assert f"95 % interval {100 * low:.1f} to {100 * high:.1f}" in _display.evaluation_html(evaluation)
    partial = dataclasses.replace(evaluation, u=None, s=None, h=None, ausuc=None, gamma=None)
    assert len(parsed(_display.evaluation_html(partial)).find(".//table").findall("tbody/tr")) == 3


def by_class(tree):
    """(class, what it is confused with, accuracy, kind of the bar), a row each."""
    table = tree.findall(".//table")[1]
    return [(row.find("th").text.strip(), row.find("th/span").text.strip(),
             float(row.find("td").text.rstrip("\u202f%")), row.findall(".//rect")[1].get("class"))
            for row in table.findall("tbody/tr")]


def test_an_evaluation_shows_each_of_a_few_classes_worst_first(demo, fitted):
    evaluation = fitted.evaluate(demo)
    rows = by_class(parsed(_display.evaluation_html(evaluation)))
    shown = {name: value / 100 for name, _, value, _ in rows}
    assert shown == pytest.approx(evaluation.gzsl_per_class, abs=0.00051)
    assert [value for _, _, value, _ in rows] == sorted(value for _, _, value, _ in rows)
    assert {name for name, _, _, kind in rows if kind == "unseen"} == {"deer", "truck"}
    guess = fitted.predict(demo.X[demo.test_seen])
    wrong = guess[(demo.y[demo.test_seen] == "cat") & (guess != "cat")]
    names, counts = np.unique(wrong, return_counts=True)
    said = next(what for name, what, _, _ in rows if name == "cat")
    assert said in {f"{counts.max()} predicted as {name}" for name in names[counts == counts.max()]}
    only_zsl = dataclasses.replace(evaluation, u=None, s=None, h=None, ausuc=None, gamma=None, gzsl_per_class=None,
                                   confusion=None)
    assert {(name, what, kind) for name, what, _, kind in by_class(parsed(_display.evaluation_html(only_zsl)))} == {
        ("deer", "", "unseen"), ("truck", "", "unseen")}
    device = dataclasses.replace(only_zsl, zsl_per_class=None)
    assert len(parsed(_display.evaluation_html(device)).findall(".//table")) == 1


def test_of_many_classes_the_worst_and_the_best_are_shown(demo, fitted):
    many = dataclasses.replace(fitted.evaluate(demo), gzsl_per_class={i: i / 100 for i in range(99, -1, -1)},
                               confusion=None)
    tree = parsed(_display.evaluation_html(many))
    assert [name for name, _, _, _ in by_class(tree)] == ["0", "1", "2", "3", "4", "95", "96", "97", "98", "99"]
    assert "the 5 worst and the 5 best of 100" in tree.findall(".//caption")[0].text


def test_the_bars_of_an_explanation_sum_to_the_difference_of_the_scores(demo, fitted):
    for shown in fitted.explain(demo.X[demo.test_unseen[::60]]):
        tree = parsed(_display.explanation_html(shown))
        amounts = [float(title.text.rsplit(": ", 1)[1]) for title in tree.findall(".//rect/title")]
        assert len(amounts) == 13  # ten attributes, the others, examples, calibration
        assert sum(amounts) == pytest.approx(shown.score - shown.runner_up_score, abs=0.001)
        kinds = [rect.get("class") for rect in tree.findall(".//rect")]
        assert [kind == "seen" for kind in kinds] == [amount >= 0 for amount in amounts]
        assert str(shown.label) in words(tree) and any(shown.runner_up in word for word in words(tree))
        assert info(tree)["10 active networks"].startswith(f"{shown.active_networks[0]}, {shown.active_networks[1]}")


def test_an_explanation_shows_what_both_classes_have_beside_each_bar(demo, fitted):
    shown = fitted.explain(demo.X[demo.test_unseen[:1]])[0]
    texts = [(float(text.get("y")), text.text) for text in parsed(_display.explanation_html(shown)).iter("text")]
    lines = {}
    for y, text in texts:
        lines.setdefault(y, []).append(text)
    head, *rows = lines.values()
    assert head == [shown.label, shown.runner_up]
    for name, row in zip([name for name, _ in shown.top(10)], rows):
        place = demo.attribute_names.index(name)
        assert row[0] == name and [float(cell) for cell in row[2:]] == [
            demo.class_attributes[shown.label][place], demo.class_attributes[shown.runner_up][place]]
    assert all(len(row) == 2 for row in rows[10:]) and len(rows) == 13


def test_a_list_of_explanations_shows_five_charts_and_how_many_more(demo, fitted):
    shown = fitted.explain(demo.X[:8])
    tree = ElementTree.fromstring(shown._repr_html_())
    cards = tree.findall("div/div")
    assert [card.get("class") for card in cards] == ["parsnets"] * 6 and len(tree.findall(".//figure")) == 5
    assert cards[5].find("p/strong").text == "and 3 more"
    assert [card.find("p/strong").text for card in cards[:5]] == [one.label for one in shown[:5]]
    few = shown[2:4]
    assert type(few) is type(shown) and len(ElementTree.fromstring(few._repr_html_()).findall("div/div")) == 2
    assert "none" in words(ElementTree.fromstring(shown[:0]._repr_html_()))


def test_a_single_class_needs_no_chart(demo, fitted):
    shown = fitted.explain(demo.X[:1])[0]
    only = dataclasses.replace(shown, runner_up=shown.label)
    assert not parsed(_display.explanation_html(only)).findall(".//rect")


def test_a_data_set_shows_each_class_with_its_samples(demo):
    tree = parsed(_display.dataset_html(demo))
    assert info(tree)["samples"] == "2,400" and info(tree)["unseen"] == "deer, truck"
    titles = [title.text for title in tree.findall(".//rect/title")]
    assert "deer: 240 test, unseen classes" in titles and "ship: 192 training" in titles
    assert "ship: 48 test, seen classes" in titles and len(titles) == 18


def test_many_classes_become_a_strip():
    labels = np.arange(1000, dtype=np.int32) % 500
    data = datasets.from_arrays(np.ones((1000, 2), np.float32), labels, np.ones((500, 3), np.float32),
                                [f"c{i}" for i in range(500)])
    tree = parsed(_display.dataset_html(data))
    assert len(tree.findall(".//rect")) == 500 and "without names" in info(tree)["attributes"]
    assert float(tree.find(".//figure/svg").get("width")) < 500


def test_an_estimator_shows_its_training_record(demo, fitted):
    tree = parsed(_display.estimator_html(fitted))
    found = info(tree)
    assert found["networks"] == "10 of 100 active" and found["classes"] == "10: 8 seen, 2 unseen"
    assert found["trained on"] == "demo, 1,536 samples" and "ZSL" in found["on validation classes"]
    assert found["gamma, temperature"] == f"{fitted.gamma_:.4g}, {fitted.temperature_:.4g}"
    captions = " ".join("".join(caption.itertext()) for caption in tree.iter("figcaption"))
    assert "objective by training step" in captions and "100 networks" in captions and "candidates" not in captions
    assert any("near automobile" in word for word in words(tree))  # truck


def test_a_search_shows_its_candidates_and_the_chosen_one(demo):
    tree = parsed(_display.estimator_html(ParsNetsClassifier(method="sae", search="grid").fit_dataset(demo)))
    chosen = [dot.find("title").text for dot in tree.iter("circle") if dot.get("class") == "unseen"]
    assert len(list(tree.iter("circle"))) == 24 and chosen == [info(tree)["chosen"]]


def test_a_plain_classifier_has_no_unseen_classes_to_show(demo):
    model = ParsNetsClassifier(method="ridge").fit(demo.X[demo.trainval], demo.y[demo.trainval])
    tree = parsed(_display.estimator_html(model))
    assert info(tree)["classes"] == "8: 8 seen, 0 unseen" and not any("near" in word for word in words(tree))


def test_names_are_text_whatever_they_hold(hostile):
    model = ParsNetsClassifier(method="ridge", options={"calibrate": False}).fit_dataset(hostile)
    trees = [parsed(_display.dataset_html(hostile)), parsed(_display.estimator_html(model)),
             parsed(_display.explanation_html(model.explain(hostile.X[:1])[0]))]
    for tree in trees:
        assert any(HOSTILE in word for word in words(tree))
    assert by_class(parsed(_display.evaluation_html(model.evaluate(hostile))))[0][0] == HOSTILE[:27] + "…"


@pytest.mark.parametrize("palette", [_display._LIGHT, _display._DARK])
def test_text_stands_out_from_its_paper(palette):
    def light(colour):
        digits = colour * 2 if len(colour) == 3 else colour
        parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    colours = dict(re.findall(r"--(\w+):#(\w+)", palette))
    paper = light(colours["paper"])
    for name, least in [("ink", 7), ("muted", 4.5), ("seen", 3), ("unseen", 3)]:
        one, other = sorted([light(colours[name]), paper])
        assert (other + 0.05) / (one + 0.05) >= least
