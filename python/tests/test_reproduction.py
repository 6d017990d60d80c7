import json

import pytest

import parsnets
from parsnets import BadInputError, ResultTable, UsageError
from test_reporting import DEMO


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return parsnets.reproduce(DEMO, tmp_path_factory.mktemp("study") / "out", methods="ridge,eszsl", seeds=2,
                              ablation=False, sparsity=False, report=False)


def test_tables_hold_the_results_of_the_methods(study):
    assert list(study.tables) == ["zsl", "gzsl", "costs", "intervals", "comparisons", "data"]
    assert [row["heads"][0] for row in study.tables["zsl"].contents["rows"]] == ["ridge", "eszsl"]
    assert study.summary["runs"] == 4
    assert study.report is None


def test_a_second_call_runs_only_what_is_new(study):
    again = parsnets.reproduce(DEMO, study.out, methods="ridge,eszsl", seeds=2, ablation=False, sparsity=False,
                               report=False)
    assert (again.summary["runs"], again.summary["reused"]) == (0, 4)
    assert again.tables["gzsl"].to_csv() == study.tables["gzsl"].to_csv()


def test_texts_are_those_of_the_files(study):
    table = study.tables["gzsl"]
    for text, ending in ((table.to_latex(), "tex"), (table.to_markdown(), "md"), (table.to_csv(), "csv")):
        assert text == (study.out / "tables" / f"gzsl.{ending}").read_text("utf-8")
    assert r"\begin{tabular}" in table.to_latex()


def test_frames_have_methods_as_rows(study):
    pandas = pytest.importorskip("pandas")
    frame = study.tables["gzsl"].to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.index.get_level_values("method")) == ["ridge", "eszsl"]
    cell = study.tables["gzsl"].contents["rows"][1]["cells"][2]
    assert frame.loc[("eszsl", "measured"), ("demo", "H", "mean")] == cell["mean"]


def test_what_is_no_table_is_bad_input(tmp_path):
    with pytest.raises(BadInputError):
        ResultTable({"name": "zsl"})
    (tmp_path / "t.json").write_text(json.dumps([1]))
    with pytest.raises(BadInputError):
        ResultTable.load(tmp_path / "t.json")


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(UsageError, match="seeds"):
        parsnets.reproduce(DEMO, tmp_path / "out", seeds=0)
    with pytest.raises(UsageError, match="methods"):
        parsnets.reproduce(DEMO, tmp_path / "out", methods="nonsense")
    assert not (tmp_path / "out").exists()


def test_progress_can_stop_the_work(tmp_path):
    with pytest.raises(parsnets.CancelledError):
        parsnets.reproduce(DEMO, tmp_path / "out", methods="ridge", progress=lambda *state: True)
