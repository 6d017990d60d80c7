"""scripts/pages.py: a page with a figure, default, output or table that was not measured is found, and is mended."""

import json
import shutil
import unittest
from pathlib import Path

from script_case import SCRIPTS, FolderCase, run

SOURCE = Path(__file__).resolve().parents[2]
PAGE = """# A page

ZSL is <!--=demo.zsl-->66.6 %, <!--=demo.zsl - demo.h-->+4.2 points above H, of <!--=demo.bytes / 1e6-->1.50 MB.
`--folds` is <!--default: calibrate/folds-->`20`, a threshold `0.5`. See [below](#the-end) and [README](../README.md).
The paper has <!--published: Ours, as published/CUB/H-->76.0.

<!-- output: demo.eval 1,3 -->
```text
first
…
third
```

<!-- example -->
```
loss 0.25
```

## The end
"""
OPTIONS = "# Options\n\n## calibrate\n\n| `--folds` | `20` | an integer | fits |\n"


class Pages(FolderCase):
    def setUp(self):
        super().setUp()
        part = {"figures": {"zsl": 66.56, "h": 62.4, "bytes": 1.5e6}, "outputs": {"eval": ["first", "second", "third"]}}
        self.put("docs/results.json", json.dumps({"format": 1, "parts": {"demo": part}}))
        self.put("docs/options.md", OPTIONS)
        self.put("docs/page.md", PAGE)
        self.put("data/reference.csv", 'method,data,H\n"Ours, as published",CUB,76.0\n')
        self.put("README.md", "# Read me\n")

    def check(self):
        return run(SCRIPTS / "pages.py", "--check", "--root", self.root)

    def finds(self, old, new, finding):
        self.put("docs/page.md", PAGE.replace(old, new))
        found = self.check()
        self.assertEqual(found.returncode, 1, new)
        self.assertIn(finding, found.stderr)

    def test_a_page_that_is_true_passes(self):
        found = self.check()
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    def test_a_changed_figure_fails_and_is_mended(self):
        self.finds("66.6", "66.7", "figure demo.zsl: the page has '66.7', expected '66.6'")
        self.assertEqual(run(SCRIPTS / "pages.py", "--root", self.root).returncode, 0)
        self.assertEqual((self.root / "docs/page.md").read_text(), PAGE)

    def test_a_new_measurement_fails_until_pages_follow(self):
        results = json.loads((self.root / "docs/results.json").read_text())
        results["parts"]["demo"]["figures"]["zsl"] = 67.1
        self.put("docs/results.json", json.dumps(results))
        self.assertIn("figure demo.zsl - demo.h: the page has '+4.2', expected '+4.7'", self.check().stderr)
        run(SCRIPTS / "pages.py", "--root", self.root)
        self.assertEqual(self.check().returncode, 0)

    def test_what_was_not_measured_is_found(self):
        self.finds("demo.zsl-->", "cub.zsl-->", "has no figure cub.zsl")
        self.finds("ZSL is", "H is 71.8 and ZSL is", "the figure 71.8 has no mark")
        self.finds("<!-- example -->\n", "", "a block with figures has neither")
        self.finds("<!-- example -->\n", "<!-- make: nothing -->\n<!-- made -->\n", "scripts/pages.py makes no nothing")
        self.finds("third\n", "fourth\n", "output demo.eval")
        self.finds("76.0", "77.0", "published H of Ours, as published on CUB: the page has '77.0', expected '76.0'")
        self.finds("Ours,", "Theirs,", "data/reference.csv has no row Theirs, as published, CUB")
        self.finds("1,3 -->", "1,4 -->", "has 3 lines, the page wants line 4")

    def test_a_default_that_the_options_do_not_have_is_found(self):
        self.finds("`20`", "`10`", "default of calibrate --folds: the page has '10', expected '20'")
        self.finds("calibrate/folds", "calibrate/turns", "has no option --turns below calibrate")
        self.finds("a threshold", "a threshold (default 3)", "has no mark <!--default:")

    def test_links_that_lead_nowhere_are_found(self):
        self.finds("#the-end", "#the-start", "links to #the-start, and the page has no such heading")
        self.finds("../README.md", "../GONE.md", "links to ../GONE.md, which does not exist")

    def test_a_long_readme_is_found(self):
        self.put("README.md", "line\n" * 151)
        self.assertIn("README.md: 151 lines, expected at most 150", self.check().stderr)


class TheProject(FolderCase):
    def test_a_changed_figure_in_its_pages_fails(self):
        shutil.copytree(SOURCE / "docs", self.root / "docs")
        shutil.copy(SOURCE / "README.md", self.root)
        self.put("data/reference.csv", (SOURCE / "data/reference.csv").read_text("utf-8"))
        results = json.loads((self.root / "docs/results.json").read_text("utf-8"))
        results["parts"]["cub-att"]["figures"]["zsl"] += 1
        self.put("docs/results.json", json.dumps(results))
        found = run(SCRIPTS / "pages.py", "--check", "--root", self.root).stderr
        for page in ("README.md", "docs/benchmarks.md", "docs/experiments.md"):
            self.assertRegex(found, f"{page}: (figure|table)")

    def test_a_changed_row_of_another_script_fails(self):
        shutil.copytree(SOURCE / "docs", self.root / "docs")
        shutil.copy(SOURCE / "README.md", self.root)
        self.put("data/reference.csv", (SOURCE / "data/reference.csv").read_text("utf-8"))
        results = json.loads((self.root / "docs/results.json").read_text("utf-8"))
        parts = results["parts"]
        parts["photos"]["figures"]["resnet50.h"] += 1
        outputs = parts["choices"]["outputs"]
        for key in ("extraction", "attributes.cub", "gamma"):
            outputs[key][-1] = outputs[key][-1].replace(".", ".9")
        parts["field"]["outputs"]["sets"] = [line.replace("+12.67", "+12.68")
                                             for line in parts["field"]["outputs"]["sets"]]
        parts["targets"]["outputs"]["printed"][0] = parts["targets"]["outputs"]["printed"][2]
        self.put("docs/results.json", json.dumps(results))
        found = run(SCRIPTS / "pages.py", "--check", "--root", self.root).stderr
        for finding in ("photos.md: table photos", "experiments.md: table extraction",
                        "descriptions.md: table attributes", "experiments.md: table resamplings",
                        "everywhere.md: table targets", "field.md: table unlabelled"):
            self.assertIn(finding, found)


if __name__ == "__main__":
    unittest.main()
