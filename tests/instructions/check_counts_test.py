"""check_counts.py reads callgrind's dumps: self cost of the program, whatever it calls."""

import os
import tempfile
import unittest

from check_counts import instructions_in

DUMP = """# callgrind format
desc: Trigger: Client Request: gates
events: Ir

ob=(1) {program}
fl=(1) gates.cpp
fn=(1) select
10 100
+1 20
cob=(2) /usr/lib/libm.so.6
cfn=(2) expf
calls=1 0
12 5000
* 3

ob=(2)
fn=(2)
0 5000

ob=(1)
fn=(3) rank
40 7
"""


class Instructions(unittest.TestCase):
    def test_costs_of_calls_and_of_libraries_are_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            program, dump = os.path.join(os.path.realpath(folder), "program"), os.path.join(folder, "dump")
            with open(dump, "w") as out:
                out.write(DUMP.format(program=program))
            self.assertEqual(instructions_in(dump, program), ("gates", 130))


if __name__ == "__main__":
    unittest.main()
