"""check_workflows.py finds what GitHub would refuse, and what we do not want."""

import unittest

from script_case import SCRIPTS, FolderCase

import check_workflows as check

GOOD = """name: test
on:
  push:
permissions:
  contents: read
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: make test
"""


class Workflows(FolderCase):
    def setUp(self):
        super().setUp()
        self.put("Makefile", "test:\n\ttrue\n")

    def found(self, text):
        self.put(".github/workflows/test.yml", text)
        return list(check.mistakes(self.root))

    def test_ours_are_right(self):
        self.assertEqual(list(check.mistakes(SCRIPTS.parent)), [])

    def test_a_mistake_is_named(self):
        self.assertEqual(self.found(GOOD), [])
        for old, new, said in (("make test", "make tests", "no target tests"),
                               ("make test", "scripts/none.sh", "expected scripts/none.sh"),
                               ("@v4", "@main", "a fixed version"),
                               ("    runs-on: ubuntu-latest", "    run-on: ubuntu-latest", "unknown key 'run-on'"),
                               ("    runs-on", "    needs: two\n    runs-on", "needs two"),
                               ("  contents: read", "  contents: write", "contents: read"),
                               ("make test", "echo ${{ secrets.TOKEN }}", "no secrets"),
                               ("push:", "pushed:", "unknown key 'pushed'")):
            self.assertIn(said, "\n".join(self.found(GOOD.replace(old, new))), new)

    def test_fields_of_a_template_have_ids_of_their_own(self):
        self.put(".github/ISSUE_TEMPLATE/bug.yml",
                 "name: a\nbody:\n- type: textarea\n  id: x\n  attributes: {label: a}\n- type: area\n  id: x\n")
        text = "\n".join(self.found(GOOD))
        self.assertIn("ids that differ", text)
        self.assertIn("found area", text)


if __name__ == "__main__":
    unittest.main()
