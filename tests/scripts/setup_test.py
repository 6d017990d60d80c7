"""scripts/setup.sh with commands of our own in place of Debian's: what it says, and when it asks."""

import os
import pty
import subprocess
import unittest

from script_case import SCRIPTS, FolderCase


class Setup(FolderCase):
    def setUp(self):
        super().setUp()
        self.put("bin/dpkg-query", "#!/bin/sh\n[ -e \"$0.has\" ] && echo 'ii '\n")
        self.put("bin/apt-get", "#!/bin/sh\necho \"$@\" >> \"$0.calls\"\necho 'output of apt-get'\n")
        self.put("bin/id", "#!/bin/sh\necho 0\n")
        for command in ("dpkg-query", "apt-get", "id"):
            (self.root / "bin" / command).chmod(0o755)
        self.environment = {"PATH": f"{self.root}/bin:/usr/bin:/bin"}

    def calls(self):
        log = self.root / "bin/apt-get.calls"
        return log.read_text("utf-8").splitlines() if log.exists() else []

    def run_script(self, **streams):
        return subprocess.run([str(SCRIPTS / "setup.sh"), "build"], env=self.environment, check=False,
                              stderr=subprocess.STDOUT, **streams)

    def on_terminal(self, answer):
        ours, terminal = pty.openpty()
        os.write(ours, answer)
        code = self.run_script(stdin=terminal, stdout=terminal).returncode
        os.close(terminal)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:  # all has been read, and nobody writes any more
            pass
        os.close(ours)
        return code, said.decode()

    def test_a_pipe_sees_the_command_and_is_not_asked(self):
        result = self.run_script(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        said = result.stdout.decode()
        self.assertEqual(result.returncode, 0, said)
        self.assertIn("apt-get update && apt-get -q install -y --no-install-recommends g++", said)
        self.assertIn("output of apt-get", said)
        self.assertNotIn("[Y/n]", said)
        self.assertEqual([call.split()[1] for call in self.calls()], ["update", "install"])

    def test_a_terminal_is_asked_before_anything_is_installed(self):
        code, said = self.on_terminal(b"n\n")
        self.assertEqual((code, self.calls()), (1, []), said)
        self.assertLess(said.index("apt-get -q install"), said.index("[Y/n]"))
        code, said = self.on_terminal(b"\n")
        self.assertEqual((code, len(self.calls())), (0, 2), said)

    def test_ci_is_not_asked_even_on_a_terminal(self):
        self.environment["CI"] = "true"
        code, said = self.on_terminal(b"")
        self.assertEqual((code, len(self.calls())), (0, 2), said)
        self.assertNotIn("[Y/n]", said)

    def test_nothing_is_said_when_nothing_is_missing(self):
        self.put("bin/dpkg-query.has", "")
        result = self.run_script(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.assertEqual((result.returncode, result.stdout, self.calls()), (0, b"", []))


if __name__ == "__main__":
    unittest.main()
