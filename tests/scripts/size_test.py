"""scripts/size.py on a small tree: what it counts, and what it refuses."""

import unittest

from script_case import SCRIPTS, FolderCase, run


class Size(FolderCase):
    def setUp(self):
        super().setUp()
        self.put("scripts/size.py", (SCRIPTS / "size.py").read_text("utf-8"))
        self.put("src/a.cpp", "int a;\nint b;\n")
        self.put("src/CMakeLists.txt", "no source\n")
        self.put("cli/c.cpp", "int c;\n")
        self.put("tests/a_test.cpp", "one\n" * 7)
        self.put("tests/web/node_modules/x.js", "not ours\n")
        self.put("include/parsnets/types.hpp",
                 "struct A {\n};\nenum class B { x };\nclass C;\nstruct D { struct E {}; };\n")
        self.put("include/parsnets/parsnets.h", "PARSNETS_API int f(void);\nPARSNETS_API int g(int, PARSNETS_API_T);\n")
        self.put("docs/options.md", "## a\n| `--x` | 1 |\n| `--y` | 1 |\n## b\n| `--x` | 2 |\n")
        self.put("docs/architecture.md", "### `train`\n\n1. `a`: x\n2. `b`: y\n\n### `predict`\n\n1. `a`: x\n")
        self.put("README.md", "one\ntwo\nthree\n")
        self.put("tool", "#!/bin/sh\nprintf 'Data:\\n  --x\\n  --y\\n\\nCommon options:\\n  --json\\n'\n")
        (self.root / "tool").chmod(0o755)

    def run_script(self, *arguments):
        return run(self.root / "scripts/size.py", *arguments)

    def numbers(self, *arguments):
        rows = self.run_script(*arguments).stdout.splitlines()[1:]
        return {row[:38].rstrip(): int(row[38:46]) for row in rows}

    def test_everything_is_counted(self):
        self.assertEqual(self.numbers("--parsnets", str(self.root / "tool")), {
            "lines in src, include, cli and decode": 10, "lines in tests": 7, "files in src": 2,
            "option names of all commands": 2, "options in `train --help`": 2, "public C++ types": 3,
            "functions of the C interface": 2, "files in the reading path of `train`": 2,
            "lines of README.md": 3})

    def test_without_the_tool_its_help_is_left_out(self):
        self.assertNotIn("options in `train --help`", self.numbers())

    def test_what_has_grown_is_named_but_tests_may_grow(self):
        self.put("tests/b_test.cpp", "one\n" * 50000)
        self.assertEqual(self.run_script("--check").returncode, 0)
        self.put("docs/options.md", "".join(f"| `--option-{n}` | 1 |\n" for n in range(200)))
        grown = self.run_script("--check")
        self.assertEqual(grown.returncode, 1)
        self.assertIn("option names of all commands: 200 of ", grown.stderr)
        self.assertNotIn("tests", grown.stderr)
        self.assertEqual(self.run_script().returncode, 0)


if __name__ == "__main__":
    unittest.main()
