"""scripts/check_text.py on a small tree without git: what is wrong is found and named, the rest is left alone."""

import unittest

from script_case import SCRIPTS, FolderCase, run


class CheckText(FolderCase):
    def setUp(self):
        super().setUp()
        self.put("scripts/check_text.py", (SCRIPTS / "check_text.py").read_text())

    def run_script(self, *arguments):
        return run(self.root / "scripts/check_text.py", *arguments)

    def findings(self, check):
        done = self.run_script(check)
        self.assertEqual(done.returncode, 1 if done.stdout else 0)
        return done.stdout.splitlines()

    def test_blanks_tabs_and_open_last_lines_are_named(self):
        self.put("a.txt", "one \ntwo\n")
        self.put("b.txt", "\tone\n")
        self.put("c.txt", "one")
        self.put("Makefile", "all:\n\techo\n")
        self.put("build/d.txt", "built ")
        self.put("fuzz/corpus/e.csv", "a, ")
        self.assertEqual(self.findings("whitespace"),
                         ["a.txt:1: blanks (or a CR) at the end of the line", "b.txt:1: a tab",
                          "c.txt: the last line does not end"])

    def test_long_prose_is_named_but_no_table_code_or_address(self):
        word = "word " * 30 + "end"
        self.put("page.md", f"{word}\n\n| {word} |\n\n```\n{word}\n```\n\n    {word}\n\n"
                            f"See [this](https://example.org/{'x' * 120}).\n")
        self.assertEqual(self.findings("markdown"), ["page.md:1: 153 columns, expected at most 120"])

    def test_a_file_that_a_page_names_and_that_is_not_there_is_named(self):
        self.put("page.md", "`scripts/check_text.py` and `scripts/gone.py`\n")
        self.assertEqual(self.findings("markdown"), ["page.md:1: names scripts/gone.py, which does not exist"])

    def test_programs_are_known_by_their_first_line_too(self):
        self.put("run", "#!/bin/sh\n")
        self.put("get", "#!/usr/bin/python3\n")
        self.put("notes", "text\n")
        self.put("more.sh", "\n")
        self.assertEqual(sorted(self.run_script("files", "shell").stdout.split()), ["more.sh", "run"])
        self.assertEqual(sorted(self.run_script("files", "python").stdout.split()), ["get", "scripts/check_text.py"])


if __name__ == "__main__":
    unittest.main()
