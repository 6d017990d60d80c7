"""Every file that carries the version has that of CMakeLists.txt. docs/release.md lists them."""

import re
import unittest

from script_case import SCRIPTS

ROOT = SCRIPTS.parent
CARRIERS = {
    "CMakeLists.txt": r"^project\(parsnets VERSION ([\d.]+)",
    "CHANGELOG.md": r"^## \[(\d[\d.]*)\] - \d{4}-\d\d-\d\d$",  # the newest release
    "CITATION.cff": r"^version: (.+)$",
    "npm/package.json": r'^  "version": "(.+)"',
    "runtime/arduino/library.properties": r"^version=(.+)$",
    "runtime/idf_component.yml": r'^version: "(.+)"$',
    "docs/openapi.json": r'^  "version": "(.+)"',
    "docs/parsnets.1": r'"parsnets ([\d.]+)"',
}


class Version(unittest.TestCase):
    def test_is_the_same_everywhere(self):
        found = {}
        for name, pattern in CARRIERS.items():
            match = re.search(pattern, (ROOT / name).read_text("utf-8"), re.M)
            found[name] = match and match.group(1)
        self.assertEqual(found, dict.fromkeys(CARRIERS, found["CMakeLists.txt"]))

    def test_the_page_lists_the_files(self):
        page = (ROOT / "docs/release.md").read_text("utf-8")
        self.assertEqual([name for name in CARRIERS if f"`{name}`" not in page], [])


if __name__ == "__main__":
    unittest.main()
