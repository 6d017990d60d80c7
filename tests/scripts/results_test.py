"""scripts/results.py: parts that are not there are named, data sets that are missing are left out, other parts stay."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from script_case import SCRIPTS, FolderCase


class Results(FolderCase):
    def setUp(self):
        super().setUp()
        for script in ("results.py", "pages.py", "benchmarks_page.py"):
            self.put(f"scripts/{script}", (SCRIPTS / script).read_text())
        self.put("docs/results.json", json.dumps({"format": 1, "parts": {"cub-att": {"figures": {"zsl": 66.6}}}}))

    def results(self, *arguments, **environment):
        return subprocess.run([sys.executable, self.root / "scripts/results.py", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, **environment}, text=True)

    def test_an_unknown_part_is_named(self):
        found = self.results("--only", "demo,nothing")
        self.assertEqual(found.returncode, 2)
        self.assertIn("found nothing", found.stderr)

    def test_a_part_without_its_data_is_left_out_and_its_figures_stay(self):
        before = (self.root / "docs/results.json").read_text()
        found = self.results("--only", "cub-att", PARSNETS_DATA=str(self.root))
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn(f"cub-att: left out, {self.root} has no CUB", found.stdout)
        self.assertEqual((self.root / "docs/results.json").read_text(), before)

    @unittest.skipUnless(shutil.which("false"), "no program that fails")
    def test_a_command_that_fails_ends_the_run_and_changes_nothing(self):
        before = (self.root / "docs/results.json").read_text()
        found = self.results("--only", "demo", PARSNETS=shutil.which("false"))
        self.assertEqual(found.returncode, 1)
        self.assertIn("parsnets data inspect data/demo: exit code 1", found.stderr)
        self.assertEqual((self.root / "docs/results.json").read_text(), before)


if __name__ == "__main__":
    unittest.main()
