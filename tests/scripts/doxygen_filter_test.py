"""scripts/doxygen_filter.py: comments reach every member, and no line moves."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "doxygen_filter.py"


def filtered(name, text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text(text)
        return subprocess.run([sys.executable, str(SCRIPT), str(file)], stdout=subprocess.PIPE, check=True,
                              universal_newlines=True).stdout


class DoxygenFilter(unittest.TestCase):
    def test_the_comment_at_the_top_is_that_of_the_file(self):
        self.assertEqual(filtered("a.hpp", "#pragma once\n// What it holds,\n// and why.\n\n// not this\n"),
                         "/// @file a.hpp\n/// What it holds,\n/// and why.\n\n// not this\n")
        self.assertEqual(filtered("a.h", "/* What it holds.\n * More. */\n"),
                         "/** @file a.h What it holds.\n * More. */\n")

    def test_comments_of_c_are_documentation_and_rulers_are_not(self):
        self.assertEqual(filtered("a.h", "\n/* Adds. */\nint add(int a); /* quick */\n/* ---- Models ---- */\n"),
                         "\n/** Adds. */\nint add(int a); /**< quick */\n/* ---- Models ---- */\n")

    def test_members_share_the_comment_behind_them(self):
        self.assertEqual(
            filtered("a.hpp", "struct A {\n  double u = 0, s = 0;  ///< two\n    ///< parts\n  int n;\n};\n"),
            "struct A {\n  double u = 0;  /**< u, s: two parts */ double s = 0;  /**< u, s: two parts */\n\n"
            "  int n;\n};\n")

    def test_members_share_the_comment_above_them(self):
        self.assertEqual(filtered("a.hpp", "struct A {\n  /// Two.\n  const char *a, *b;\n};\n"),
                         "struct A {\n\n  const char *a;  /**< a, b: Two. */ const char *b;  /**< a, b: Two. */\n};\n")

    def test_members_without_a_comment_stay_without(self):
        text = "struct A {\n  int a, b;\n};\n"
        self.assertEqual(filtered("a.hpp", text), text)


if __name__ == "__main__":
    unittest.main()
