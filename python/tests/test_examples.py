"""The examples run as scripts, and the Python blocks of the documentation run as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mat_folder import save_xlsa17

from parsnets import DAP, ESZSL, SAE, ParsNetsClassifier, RidgeZSL, datasets

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def run(folder, name, *arguments):
    """What the example prints, run by a new interpreter in an empty folder, in which it leaves nothing."""
    done = subprocess.run([sys.executable, ROOT / "examples" / "python" / name, *map(str, arguments)], cwd=folder,
                          env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def table_rows(text):
    """Rows of the Markdown table: first cell to the others."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in rows[2:]}


def one_decimal(*figures):
    return [f"{100 * figure:.1f}" for figure in figures]


def test_the_table_has_the_figures_of_the_estimators(demo, tmp_path):
    text = run(tmp_path, "zsl_table.py")
    rows = table_rows(text)
    for name, estimator in [("ridge", RidgeZSL), ("ESZSL", ESZSL), ("SAE", SAE), ("DAP", DAP)]:
        e = estimator(search="grid").fit_dataset(demo).evaluate(demo)
        assert rows[name][:5] == one_decimal(e.zsl_top1_per_class, e.u, e.s, e.h, e.ausuc)
    assert float(rows["ParsNets"][0]) > 90
    for fact in ("features features.npy", "semantics attributes.csv", "seed 1", "crc32 75588c6a", "validation classes"):
        assert fact in text
    assert not list(tmp_path.iterdir())


def test_the_table_reads_mat_files(demo, tmp_path):
    save_xlsa17(demo, tmp_path / "mat")
    flags = ("--no-search", "--seed", "4")
    text = run(tmp_path, "zsl_table.py", tmp_path / "mat", "--features", "features", *flags)
    assert "seed 4" in text and "by default" in text and "<Dataset mat" in text
    same = run(tmp_path, "zsl_table.py", ROOT / "data" / "demo", *flags)
    assert [row[:5] for row in table_rows(text).values()] == [row[:5] for row in table_rows(same).values()]


def test_tuning_chooses_settings_that_are_better_on_the_test(tool, tmp_path):
    (tmp_path / "empty").mkdir()
    text = run(tmp_path / "empty", "tune_on_validation_classes.py")
    assert not list((tmp_path / "empty").iterdir())
    assert "12 settings x 4 folds" in text and "of 48 classes; 10 of them validate" in text
    last = {line[:20].strip(): line[20:].split() for line in text.splitlines()[-5:]}
    (difficulty,) = re.findall('"(--classes .*)"', (ROOT / "examples/python/tune_on_validation_classes.py").read_text())
    subprocess.run([tool, "data", "synth", tmp_path / "data", *difficulty.split(), "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    data = datasets.load_folder(tmp_path / "data")
    for name, estimator in [("ESZSL, defaults", ESZSL()), ("ESZSL, search grid", ESZSL(search="grid")),
                            ("ParsNets, defaults", ParsNetsClassifier())]:
        e = estimator.fit_dataset(data).evaluate(data)
        assert last[name] == one_decimal(e.zsl_top1_per_class, e.u, e.s, e.h)
    for figure in (0, 3):  # ZSL, H
        assert all(float(last[name][figure]) > float(last["ESZSL, defaults"][figure]) + 2
                   for name in ("ESZSL, GridSearchCV", "ESZSL, search grid"))
        assert float(last["search auto"][figure]) > float(last["ParsNets, defaults"][figure]) - 2


def test_a_class_comes_and_goes(tmp_path):
    text = run(tmp_path, "add_class_at_run_time.py")
    assert "truck" not in text.split("classes: ")[1].splitlines()[0]
    assert "seen in training: False" in text and "truck and not automobile" in text
    assert float(re.search(r"recognised as truck.*: ([\d.]+) %", text).group(1)) > 80
    mean = {which: float(re.search(which + r".*harmonic mean ([\d.]+) %", text).group(1))
            for which in ("from training", "from 60 samples", "without")}
    assert mean["from 60 samples"] > mean["without"]
    assert "truck" not in text.split("after remove_class: ")[1]
    assert not list(tmp_path.iterdir())


def test_export_writes_what_it_says(tmp_path):
    text = run(tmp_path, "export_to_device.py", tmp_path / "out")
    assert float(re.search(r"same class from both: ([\d.]+) %", text).group(1)) >= 99
    size = (tmp_path / "out" / "model.pnrt").stat().st_size
    assert f"model.pnrt: {size:,} bytes" in text and size < (tmp_path / "out" / "model.safetensors").stat().st_size / 3
    assert "my_model[" in (tmp_path / "out" / "model.h").read_text()


def test_without_a_folder_export_leaves_nothing(tmp_path):
    text = run(tmp_path, "export_to_device.py")
    assert not list(tmp_path.iterdir())
    assert not Path(re.search(r"^(.*model\.pnrt):", text, re.M).group(1)).exists()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_notebooks_on_the_public_interface(example):
    text = example.read_text()
    cells = re.split(r"^# %%.*\n", text, flags=re.M)
    assert text.startswith("# %% [markdown]\n# # ") and len(cells) > 6 and cells[0] == ""
    for kind, cell in zip(re.findall(r"^# %%(.*)\n", text, flags=re.M), cells[1:]):
        compile(cell, example.name, "exec")  # each cell is whole
        assert (kind == " [markdown]") == all(line.startswith("#") for line in cell.split("\n") if line)
    assert not re.search(r"\b_[a-z]|\.__", text)
    assert all(len(line) <= 120 for line in text.splitlines())


def blocks(file):
    return re.findall(r"^```python\n(.*?)^```", file.read_text("utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("file, written", [
    ("README.md", set()),
    ("python/README.md", {"demo.safetensors"}),
    ("docs/python.md", {"demo.safetensors", "demo.pnrt", "demo.h", "report.html"}),
    ("docs/python-user.md", {"demo.safetensors", "report.html", "reproduction"}),
])
def test_the_blocks_of_the_documentation_run_in_their_order(file, written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(ROOT / file):
        code = compile(block, file, "exec")
        if "import torchvision" not in block:  # which downloads weights
            exec(code, names)
    assert len(names["model"].classes_) >= 10 and {path.name for path in tmp_path.iterdir()} == written


def test_the_documentation_names_every_parameter_with_its_option():
    text = (ROOT / "docs" / "python.md").read_text()
    said = {}
    for cells in re.findall(r"^\| (`.*?) \| (`--.*?) \| (`.*?) \| (`--.*?) \|$", text, flags=re.M):
        for parameters, options in (cells[:2], cells[2:]):
            said.update(zip(re.findall(r"`(\w+)`", parameters), re.findall(r"`--([\w-]+)`", options)))
    assert said == {**ParsNetsClassifier._options(), **ESZSL._options(), "search": "search",
                    "random_state": "seed", "n_jobs": "threads"}
    for estimator in (ParsNetsClassifier, RidgeZSL, ESZSL, SAE, DAP):
        rest = set(estimator().get_params()) - set(said) - {"method", "reverse", "options", "verbose", "class_weight"}
        assert f"`{estimator.__name__}`" in text and not rest
