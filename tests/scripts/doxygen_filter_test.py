"""scripts/doxygen_filter.py: comments reach every member, and no line moves."""

import unittest

from script_case import SCRIPTS, FolderCase, run


class DoxygenFilter(FolderCase):
    def filtered(self, name, text):
        self.put(name, text)
        return run(SCRIPTS / "doxygen_filter.py", self.root / name).stdout

    def test_the_comment_at_the_top_is_that_of_the_file(self):
        self.assertEqual(self.filtered("a.hpp", "#pragma once\n// What it holds,\n// and why.\n\n// not this\n"),
                         "/// @file a.hpp\n/// What it holds,\n/// and why.\n\n// not this\n")
        self.assertEqual(self.filtered("a.h", "/* What it holds.\n * More. */\n"),
                         "/** @file a.h What it holds.\n * More. */\n")

    def test_comments_of_c_are_documentation_and_rulers_are_not(self):
        self.assertEqual(self.filtered("a.h", "\n/* Adds. */\nint add(int a); /* quick */\n/* ---- Models ---- */\n"),
                         "\n/** Adds. */\nint add(int a); /**< quick */\n/* ---- Models ---- */\n")

    def test_members_share_the_comment_behind_them(self):
        self.assertEqual(
            self.filtered("a.hpp", "struct A {\n  double u = 0, s = 0;  ///< two\n    ///< parts\n  int n;\n};\n"),
            "struct A {\n  double u = 0;  /**< u, s: two parts */ double s = 0;  /**< u, s: two parts */\n\n"
            "  int n;\n};\n")

    def test_members_share_the_comment_above_them(self):
        self.assertEqual(self.filtered("a.hpp", "struct A {\n  /// Two.\n  const char *a, *b;\n};\n"),
                         "struct A {\n\n  const char *a;  /**< a, b: Two. */ const char *b;  /**< a, b: Two. */\n};\n")

    def test_members_without_a_comment_stay_without(self):
        text = "struct A {\n  int a, b;\n};\n"
        self.assertEqual(self.filtered("a.hpp", text), text)


if __name__ == "__main__":
    unittest.main()
