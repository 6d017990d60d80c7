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

    def test_types_of_members_may_have_arguments(self):
        self.assertEqual(self.filtered("a.hpp", "struct A {\n  /// Two.\n  std::pair<int, char> a, b;\n};\n"),
                         "struct A {\n\n  std::pair<int, char> a;  /**< a, b: Two. */ "
                         "std::pair<int, char> b;  /**< a, b: Two. */\n};\n")

    def test_macros_that_expand_tables_are_left_out_unless_they_have_a_comment(self):
        self.assertEqual(self.filtered("a.h", "\n#define PNRT_ONE(a) +1\n/* Two. */\n#define PNRT_TWO(a) +2\n"),
                         "\n\n/** Two. */\n#define PNRT_TWO(a) +2\n")

    def test_members_without_a_comment_stay_without(self):
        text = "struct A {\n  int a, b;\n};\n"
        self.assertEqual(self.filtered("a.hpp", text), text)


if __name__ == "__main__":
    unittest.main()
