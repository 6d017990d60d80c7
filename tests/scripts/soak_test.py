"""scripts/soak.py: what it calls a problem."""

import unittest

import script_case  # noqa: F401 - it makes scripts importable
import soak

GOOD = {"wrong_answers": [], "hostile": {"failed": 0}, "requests": 1, "healthz": {"p99": 0.05}}
FLAT = [50 << 20] * 40


def problems(samples=FLAT, **changes):
    return soak.problems_of({**GOOD, **changes}, samples, 0.1)


class Soak(unittest.TestCase):
    def test_a_good_run_has_none(self):
        self.assertEqual(problems(), [])
        self.assertEqual(problems([10 << 20] * 10 + [50 << 20] * 30), [], "what the first requests take")

    def test_each_failure_is_one(self):
        for found in (problems(wrong_answers=["/v1/predict: 200 b''"]), problems(hostile={"failed": 1}),
                      problems(requests=0), problems(healthz={"p99": 0.101}), problems(healthz={"p99": float("inf")}),
                      problems([(50 + i) << 20 for i in range(40)])):
            self.assertEqual(len(found), 1, found)

    def test_the_memory_of_each_fifth_is_told(self):
        self.assertEqual(soak.fifths([1] * 8 + [100] * 24 + [3] * 8), [1, 100, 100, 100, 3])
        self.assertEqual(soak.fifths([5, 6, 7, 8, 9]), [5, 6, 7, 8, 9])
        self.assertEqual(len(soak.fifths([7])), 5)

    def test_those_without_an_answer_count_as_slow(self):
        self.assertEqual(soak.quantile([1.0] * 98 + [float("inf")] * 2, 0.99), float("inf"))
        self.assertEqual(soak.quantile([1.0] * 100 + [float("inf")], 0.5), 1.0)
        self.assertEqual(soak.quantile([], 0.5), float("inf"))


if __name__ == "__main__":
    unittest.main()
