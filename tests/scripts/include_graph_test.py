"""scripts/include_graph.py on small trees: what is wrong is found and named."""

import unittest

from script_case import SCRIPTS, FolderCase, run

TREE = {
    "tests/base/layering_test.cpp": 'const std::vector<std::string> kOrder{"base", "data"};\n',
    "include/parsnets/set.hpp": "int load(int seed);\n",
    "src/base/file.hpp": "int open();\n",
    "src/base/file.cpp": '#include "base/file.hpp"\n\nint open() { return 1; }\n',
    "src/data/set.cpp": '#include "base/file.hpp"\n#include "parsnets/set.hpp"\n\nint load(int s) { return s; }\n',
    "cli/train.cpp": '#include "parsnets/set.hpp"\n',
    "cli/predict.cpp": '#include "base/file.hpp"\n',
    "docs/architecture.md": "Text.\n<!-- include_graph.py: begin -->\n<!-- include_graph.py: end -->\nMore.\n",
}


class IncludeGraph(FolderCase):
    def setUp(self):
        super().setUp()
        for name, text in TREE.items():
            self.put(name, text)

    def run_script(self, *arguments):
        return run(SCRIPTS / "include_graph.py", "--root", self.root, *arguments)

    def refused(self, message):
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(message, done.stderr)

    def test_a_page_is_fresh_once_it_is_written_and_stale_after_a_new_include(self):
        self.refused("docs/architecture.md is stale")
        self.assertEqual(self.run_script("--write").returncode, 0)
        self.assertEqual(self.run_script("--check").returncode, 0)
        page = (self.root / "docs/architecture.md").read_text()
        self.assertTrue(page.startswith("Text.\n") and page.endswith("More.\n"))
        self.put("cli/predict.cpp", '#include "parsnets/set.hpp"\n')
        self.refused("docs/architecture.md is stale")

    def test_an_include_of_a_later_room_is_named(self):
        self.put("src/data/set.hpp", "")
        self.put("src/base/file.hpp", '#include "data/set.hpp"\n')
        self.refused("src/base/file.hpp includes src/data/set.hpp: data comes after base")

    def test_files_that_include_each_other_are_named(self):
        self.put("src/base/a.hpp", '#include "base/b.hpp"\n')
        self.put("src/base/b.hpp", '#include "base/a.hpp"\n')
        self.refused("include cycle: src/base/a.hpp -> src/base/b.hpp -> src/base/a.hpp")

    def test_a_room_without_a_place_in_the_order_is_named(self):
        self.put("src/cellar/a.cpp", "")
        self.refused("src/cellar has no place in kOrder")

    def test_following_a_file_leads_through_headers_to_the_sources_that_define_what_they_declare(self):
        text = self.run_script("--follow", "cli/train.cpp").stdout
        self.assertEqual(text.splitlines()[:-1], ["cli/train.cpp", "src/data/set.cpp", "src/base/file.cpp",
                                                  "src/base/file.hpp", "include/parsnets/set.hpp"])
        self.assertIn("5 of 6 files", text)
        self.assertIn("no reading path", text)

    def put_reading_path(self, *files):
        steps = "".join(f"{number}. `{file}`: what it does.\n" for number, file in enumerate(files, 1))
        self.put("docs/architecture.md", f"{TREE['docs/architecture.md']}## Reading paths\n\n### `train`\n\n{steps}")

    def test_a_reading_path_is_counted(self):
        self.put_reading_path("cli/train.cpp", "src/data/set.cpp", "src/base/file.cpp")
        self.assertEqual(self.run_script("--write").returncode, 0)
        self.assertEqual(self.run_script("--check").returncode, 0)
        self.assertIn("3 in its reading path", self.run_script("--follow", "cli/train.cpp").stdout)
        self.assertIn("(3 in its reading path)", (self.root / "docs/architecture.md").read_text())

    def test_a_reading_path_with_a_file_that_is_not_there_not_reached_or_there_twice_is_refused(self):
        for files, message in [
                (("src/data/gone.cpp",),
                 "the reading path of cli/train.cpp names src/data/gone.cpp, which does not exist"),
                (("src/base/file.cpp", "src/data/set.cpp"),
                 "names src/base/file.cpp, but no file before it leads there"),
                (("src/data/set.cpp", "src/data/set.cpp"), "names src/data/set.cpp twice")]:
            with self.subTest(message):
                self.put_reading_path("cli/train.cpp", *files)
                self.refused(message)


if __name__ == "__main__":
    unittest.main()
