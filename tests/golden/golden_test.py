"""Files that releases wrote give the answers that they gave then: golden_test.py PARSNETS [--write VERSION].

A folder of tests/golden for each version: model.safetensors, model.pnrt, and answers.json with the accuracies of both
on the demo set and the classes of its first samples. Folders are added (--write), never changed.
"""

import csv
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "data/demo"
SAMPLES = 50
TOOL = sys.argv.pop(1) if len(sys.argv) > 1 else "parsnets"


def parsnets(*words):
    return subprocess.run([TOOL, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout


def answers(folder):
    found = {}
    for name in ("model.safetensors", "model.pnrt"):
        report = json.loads(parsnets("eval", folder / name, DEMO, "--json", "--quiet"))
        found[name] = {"zsl": report["zsl"]["top1_per_class"], "h": report["gzsl"]["h"]}
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch, "classes.csv")
        parsnets("predict", folder / "model.safetensors", DEMO / "features.npy", "--quiet", "--top", "1", "-o", table)
        with table.open(encoding="utf-8") as rows:
            found["classes"] = [row["class"] for row in csv.DictReader(rows)][:SAMPLES]
    return found


class Golden(unittest.TestCase):
    def test_files_of_releases_give_their_answers(self):
        folders = [path.parent for path in HERE.glob("*/answers.json")]
        if not folders:
            self.skipTest("no version was released yet")
        for folder in folders:
            with self.subTest(folder.name):
                stored, now = json.loads((folder / "answers.json").read_text("utf-8")), answers(folder)
                self.assertEqual(stored["classes"], now["classes"])
                for name in ("model.safetensors", "model.pnrt"):
                    for measure, value in stored[name].items():
                        self.assertAlmostEqual(value, now[name][measure], delta=1e-6, msg=f"{name}: {measure}")


def write(version):
    folder = HERE / version
    folder.mkdir()  # fails where it is there already
    parsnets("train", DEMO, "-o", folder / "model.safetensors", "--quiet")
    parsnets("export", folder / "model.safetensors", "-o", folder / "model.pnrt", "--quiet")
    (folder / "answers.json").write_text(json.dumps(answers(folder), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--write":
        write(sys.argv[2])
    else:
        unittest.main()
