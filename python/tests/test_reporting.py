import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from same_bytes import assert_same_bytes

from parsnets import BadInputError, CancelledError, ParsNetsClassifier, RidgeZSL, UsageError
from parsnets.datasets import from_arrays, load_folder
from parsnets.reporting import report

DEMO = Path(__file__).resolve().parents[2] / "data" / "demo"


@pytest.fixture(scope="module")
def fitted(demo):
    return ParsNetsClassifier().fit_dataset(demo)


def run_tool(tool, *arguments):
    subprocess.run([tool, *map(str, arguments), "--quiet"], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def folders(tool, tmp_path_factory):
    """Two run folders of one name, the first with a bench file."""
    top = tmp_path_factory.mktemp("runs")
    run_tool(tool, "train", "--data", DEMO, "--run", top / "a" / "run", "--seed", 3)
    run_tool(tool, "train", "--data", DEMO, "--run", top / "b" / "run", "--method", "ridge", "--seed", 3)
    run_tool(tool, "bench", "--data", DEMO, "--methods", "ridge", "--out", top / "a" / "run" / "bench.json")
    return [top / "a" / "run", top / "b" / "run"]


def embedded(page):
    """The data of the page."""
    found = re.search(r'<script[^>]*id="report-data"[^>]*>(.*?)</script>', page.read_text("utf-8"), re.S)
    return json.loads(found.group(1))


@pytest.mark.parametrize("flags, options", [
    ("--points 100", {"points": 100}),
    ("--points 50 --seed 9", {"points": 50, "random_state": 9}),
])
def test_a_run_folder_gives_the_page_of_the_command_line(folders, tool, tmp_path, flags, options):
    run_tool(tool, "report", "--run", folders[0], "--out", tmp_path / "cli.html", *flags.split())
    page = report(tmp_path / "made" / "python.html", folders[0], n_jobs=1, **options)
    assert page == tmp_path / "made" / "python.html"
    assert_same_bytes(page, tmp_path / "cli.html")
    assert embedded(page)["thumbnails"] is not None


def test_several_run_folders_are_told_apart_as_on_the_command_line(folders, tool, tmp_path):
    both = ",".join(map(str, folders))
    run_tool(tool, "report", "--run", both, "--out", tmp_path / "cli.html", "--points", 100)
    page = report(tmp_path / "python.html", folders, points=100)
    assert_same_bytes(page, tmp_path / "cli.html")
    assert [run["name"] for run in embedded(page)["runs"]] == [str(folder) for folder in folders]


def test_estimators_are_shown_by_their_figures(demo, fitted, folders, tmp_path):
    ridge = RidgeZSL().fit_dataset(demo)
    models = {"ParsNets & co </script>": fitted, "ridge": ridge, "earlier": folders[0]}
    data = embedded(report(tmp_path / "r.html", models, demo, points=60, explanations=3, compare_mmg=False))
    assert [run["name"] for run in data["runs"]] == list(models)
    for run, model in zip(data["runs"], (fitted, ridge)):
        figures = model.evaluate(demo)
        assert run["summary"]["zsl"] == pytest.approx(100 * figures.zsl_top1_per_class)
        assert run["summary"]["h"] == pytest.approx(100 * figures.h)
        assert len(run["explanations"]) == 3 and len(run["tsne"]["label"]) <= 60
    alone = embedded(report(tmp_path / "r.html", ridge, demo, points=60))
    assert [run["name"] for run in alone["runs"]] == ["RidgeZSL"]


def test_photographs_come_from_the_folder_of_the_data_or_a_given_one(demo, tmp_path):
    def thumbnails(data, **options):
        return embedded(report(tmp_path / "r.html", ridge, data, points=60, explanations=1, **options))["thumbnails"]

    ridge = RidgeZSL().fit_dataset(demo)
    assert thumbnails(demo) is not None
    assert thumbnails(demo, photographs=tmp_path) is None
    memory = from_arrays(demo.X, demo.labels, demo.semantics, demo.class_names, name=demo.name,
                         test=~np.isin(np.arange(len(demo.labels)), demo.trainval))
    assert thumbnails(memory) is None and thumbnails(memory, photographs=DEMO) is not None
    shutil.copytree(DEMO, tmp_path / "demo", ignore=shutil.ignore_patterns("thumbnails*"))
    assert thumbnails(load_folder(tmp_path / "demo")) is None


def test_what_cannot_be_reported_is_refused(demo, fitted, folders, tmp_path):
    page = tmp_path / "r.html"
    with pytest.raises(UsageError, match="data: expected the data set"):
        report(page, fitted)
    with pytest.raises(UsageError, match="data: expected a Dataset.* found str; .*load_folder"):
        report(page, fitted, str(DEMO))
    with pytest.raises(NotFittedError):
        report(page, ParsNetsClassifier(), demo)
    with pytest.raises(UsageError, match="found object"):
        report(page, object(), demo)
    with pytest.raises(UsageError, match="at least one"):
        report(page, {}, demo)
    with pytest.raises(UsageError, match="in a dict"):
        report(page, [fitted], demo)
    with pytest.raises(BadInputError, match="train --run"):
        report(page, tmp_path)
    with pytest.raises(UsageError, match="points"):
        report(page, fitted, demo, points=1)
    other = RidgeZSL().fit(demo.X[:500], demo.y[:500], class_attributes=demo.class_attributes)
    with pytest.raises(BadInputError, match="fit_dataset"):
        report(page, other, demo)
    test = np.ones(len(demo.labels), np.uint8)
    test[demo.trainval[:-1]] = 0  # one sample fewer to train on
    with pytest.raises(BadInputError, match="trainval"):
        others = from_arrays(demo.X, demo.labels, demo.semantics, demo.class_names, test=test)
        report(page, RidgeZSL().fit_dataset(others), demo)
    assert not page.exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"data": 3}'])
def test_a_damaged_run_json_is_named(folders, tmp_path, text):
    (tmp_path / "model.safetensors").write_bytes((folders[1] / "model.safetensors").read_bytes())
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadInputError, match="run.json.*train the run again"):
        report(tmp_path / "r.html", tmp_path)


def test_a_run_without_run_json_needs_the_data_set(demo, folders, tmp_path):
    (tmp_path / "model.safetensors").write_bytes((folders[1] / "model.safetensors").read_bytes())
    with pytest.raises(UsageError, match="data"):
        report(tmp_path / "r.html", tmp_path)
    assert len(embedded(report(tmp_path / "r.html", tmp_path, demo, points=50))["runs"]) == 1


def test_a_report_can_be_cancelled(demo, fitted, tmp_path):
    with pytest.raises(CancelledError):
        report(tmp_path / "r.html", fitted, demo, progress=lambda *call: True)
    assert not (tmp_path / "r.html").exists()


def test_own_rows_are_shown_and_marked(demo, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("method,data,U,S\nmine,demo,60,40\n")
    page = embedded(report(tmp_path / "r.html", RidgeZSL().fit_dataset(demo), demo, points=60, explanations=1,
                           own_rows=rows))
    assert [(row["method"], row["h"], row["own"]) for row in page["reference"]] == [("mine", 48.0, True)]
    rows.write_text("method,data,U\nmine,demo,600\n")
    with pytest.raises(BadInputError, match="rows.csv:2"):
        report(tmp_path / "r.html", RidgeZSL().fit_dataset(demo), demo, own_rows=rows)
