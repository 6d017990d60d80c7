"""scripts/reliability.py: what harnesses print becomes figures, and figures become the page."""

import importlib.util
import json
import types
import unittest
from unittest import mock

from script_case import SCRIPTS, FolderCase

spec = importlib.util.spec_from_file_location("reliability", SCRIPTS / "reliability.py")
reliability = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reliability)


class Reliability(FolderCase):
    def said(self, part, text, commands=()):
        """The figures of a part whose commands print this."""
        options = types.SimpleNamespace(build=self.root, points=0, mutations=10, runs=10, share=1, seconds=0, scale=1,
                                        commands=commands)
        with mock.patch.object(reliability, "lines_of", lambda *_: iter(text.splitlines())):
            return reliability.PARTS[part](options)

    def test_faults_are_counted_by_command_and_kind(self):
        found = self.said("faults", "train --run      kill      40 of 40 calls  0 wrong\n"
                                    "train --run      fail      39 of 40 calls  2 wrong\n"
                                    "    train --run, fail at call 3: lost\nexit code 1\n")
        self.assertEqual([(row["command"], row["kind"], row["points"], row["wrong"]) for row in found["rows"]],
                         [("train --run", "kill", 40, 0), ("train --run", "fail", 39, 2)])
        page = reliability.page({"faults": found})
        self.assertIn("| kills | 40 | 500 |", page)
        self.assertIn("| faults, kills among them | 79 | 1,000 |", page)
        self.assertIn("Open finds: faults: exit code 1.", page)
        self.assertIn("2 outcomes were wrong", page)

    def test_commands_that_run_again_replace_their_rows(self):
        first = self.said("faults", "train    kill      4 of 4 calls  1 wrong\n"
                                    "eval     kill      3 of 3 calls  0 wrong\n")
        (self.root / "faults.json").write_text(json.dumps(first), "utf-8")
        with mock.patch.object(reliability, "OUT", self.root):
            again = self.said("faults", "train    kill      4 of 4 calls  0 wrong\n"
                                        "train    memory    9 of 99 calls  0 wrong, 2 ended by a library\n", ["train"])
        self.assertEqual([(row["command"], row["kind"], row["wrong"], row["ended"]) for row in again["rows"]],
                         [("eval", "kill", 0, 0), ("train", "kill", 0, 0), ("train", "memory", 0, 2)])
        self.assertEqual(again["failed"], [])
        self.assertIn("\n2 of the allocations were of libraries", reliability.page({"faults": again}))

    def test_costs_are_read_from_the_table(self):
        found = self.said("budgets", "case  bytes memory\n"
                                     "short_labels         4194456    65 MB    32 MB     0.18  ok\n")
        self.assertEqual(found["rows"], [{"case": "short_labels", "bytes": 4194456, "megabytes": 65, "limit": 32,
                                          "seconds": 0.18, "says": "ok"}])
        self.assertIn("| short_labels | 4,194,456 | 65 | 32 | 0.18 |", reliability.page({"budgets": found}))

    def test_a_harness_that_fails_is_an_open_find_and_a_part_that_did_not_run_says_so(self):
        found = self.said("mutations", "mutated files:  5 'ok'  8 'damaged: truncated?'\nmodel: 7 runs, 3 accepted\n"
                                       "exit code 1\n")
        self.assertEqual(found["rows"]["device"], {"runs": 13, "accepted": 5})
        self.assertEqual(found["rows"]["model"], {"runs": 7, "accepted": 3})
        page = reliability.page({"mutations": found})
        self.assertIn("Open finds: mutations: exit code 1", page)
        self.assertIn("| kills | not run | 500 |", page)
        self.assertIn("There is no open find.", reliability.page({}))
        self.assertLessEqual(max(len(line) for line in page.splitlines() if not line.startswith("|")), 120)

    def test_a_line_runs_where_one_of_its_objects_ran_it(self):
        def file(name, lines, functions):
            return name, {"lines": [{"line_number": number, "count": count} for number, count in lines],
                          "functions": [{"name": one, "execution_count": count} for one, count in functions]}

        found = [file("src/a.hpp", [(1, 0), (2, 0)], [("f", 0)]), file("src/a.hpp", [(1, 5), (2, 0)], [("f", 5)]),
                 file("src/b.cpp", [(9, 1)], []), file("tests/b_test.cpp", [(1, 1)], []),
                 file("runtime/parsnets_rt.c", [(1, 1), (2, 0)], [("pnrt_open", 1), ("pnrt_teach", 0)])]
        with mock.patch.object(reliability, "gcov_files", lambda _: found), \
             mock.patch.object(reliability, "ROOT", self.root):
            self.put("build-coverage/a.gcno", "")
            part = reliability.coverage(None)
        self.assertEqual([part["src"][name] for name in ("lines", "lines_run", "functions_run")], [3, 2, 1])
        self.assertEqual(part["failed"], ["66.7 % of the lines of src run", "pnrt_teach does not run"])
        self.assertIn("| lines of `src` that tests run | 66.7 % | 90 % |", reliability.page({"coverage": part}))


if __name__ == "__main__":
    unittest.main()
