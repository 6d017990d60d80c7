import re
from pathlib import Path


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", text, re.S).group(1), {})
    accuracy, why = capsys.readouterr().out.splitlines()
    assert float(accuracy) > 0.9 and why.startswith("[('")
    assert (tmp_path / "demo.safetensors").stat().st_size > 1000
