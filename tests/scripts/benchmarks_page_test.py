"""scripts/benchmarks_page.py: what is missing or not reached is said, and goals are decided by the figures."""

import unittest

import script_case  # noqa: F401 - where scripts are imported from
import benchmarks_page as page


def training(name, threads_ratio, gemm_ratio, seconds=3.0, above=2e8):
    runs = [{"threads": 1, "samples": [9.0], "seconds": 9.0, "peak_rss": 3e8, "rss_above_features": 2e8},
            {"threads": 2, "samples": [seconds], "seconds": seconds, "peak_rss": 1e8 + above,
             "rss_above_features": above, "times_one_thread": threads_ratio, "gemm_times_one_thread": gemm_ratio}]
    return {"data": {"name": name}, "runs": runs}


def svr(ratio, reached):
    ours = {"seconds": 2.0, "cpu_seconds": 4.0, "relative_gap": 9e-4, "of_gemm_peak": 0.8}
    peer = {"outputs": [{"relative_gap": 5e-4, "reached": reached}], "seconds_of_all": 2 * ratio,
            "cpu_seconds_of_all": 2 * ratio, "times_ours": ratio, "times_our_cpu": ratio / 2}
    return {"data": {"name": "CUB"}, "samples": 7057, "encoding": 400, "networks": 200, "open": 40, "outputs": 312,
            "epsilon": 0.1, "threads": 2, "libsvm": {"missing": "no libsvm"},
            "bounds": [{"c": 0.1, "ours": ours, "ours_with_bias": ours, "liblinear": peer}]}


def served(rate, p99, errors=0, end=3e7):
    return {"runs": [{"name": "demo", "clients": 16, "batch": 64, "predictions_per_second": rate,
                      "predictions_per_second_of_two_cores": 2 * rate, "p50_seconds": 0.01, "p99_seconds": p99,
                      "errors": errors, "resident_start": 3e7, "resident_end": end, "flops_per_second": 1e9,
                      "body_bytes_per_second": 1e7}]}


def stages():
    sizes = {"name": "CUB", "generated": False, "features": "res50", "training_samples": 7057, "samples": 11788,
             "dimensions": 2048, "attributes": 312, "classes": 200, "seen_classes": 150, "encoding": 400,
             "networks": 200, "open": 40}
    peaks = [{"threads": threads, "fma32_flops_per_second": [threads * 1e11], "triad_bytes_per_second": [2e10],
              "gemm32_flops_per_second": [threads * 9e10], "gemm32_of_fma_peak": 0.9,
              "gemm64_flops_per_second": [threads * 4e10], "gemm64_of_fma_peak": 0.8} for threads in (1, 2)]
    runs = [{"stage": name, "threads": 1, "flops": flops, "bytes": 2e9, "seconds": 1.0, "flops_per_second": flops,
             "of_fma_peak": flops / 1e11, "of_gemm_peak": flops / 9e10, "of_triad_bandwidth": 0.1}
            for name, flops in (("load", 0), ("statistics", 4.5e10))]
    return {"sets": [{"data": sizes, "peaks": peaks, "stages": runs}]}


class BenchmarksPage(unittest.TestCase):
    def holds(self, parts):
        return [holds for _, _, holds in page.goals(parts)]

    def test_training_has_limits_of_time_and_memory(self):
        self.assertEqual(self.holds({"training": {"sets": [training("AWA2-sized", 1.8, 1.9)]}}), [True, True, True])
        self.assertEqual(self.holds({"training": {"sets": [training("AWA2-sized", 1.8, 1.9, 8.1, 6.1e8)]}}),
                         [False, False, True])
        self.assertEqual(self.holds({"training": {"sets": [training("CUB", 1.8, 1.9, 2.6)]}}), [False, True])
        commands = {"calibrate": [4.0, 6.0, 6.1], "train --search auto": [24.0]}
        self.assertEqual(self.holds({"training": {"sets": [], "commands": commands}}), [True, False])

    def test_the_second_thread_is_judged_only_where_products_gain_by_it(self):
        self.assertEqual(self.holds({"training": {"sets": [training("CUB", 1.7, 1.9, 2.5)]}}), [True, False])
        self.assertEqual(self.holds({"training": {"sets": [training("CUB", 1.0, 1.2, 2.5)]}}), [True])

    def test_products_and_the_closed_form_have_their_share_of_the_peak(self):
        part = stages()
        self.assertEqual(self.holds({"stages": part}), [True])
        part["sets"][0]["stages"].append({"stage": "closed form, class space", "seconds": 3.0, "of_gemm_peak": 0.9})
        self.assertAlmostEqual(page.closed_form_share(part["sets"][0]["stages"]), 0.8)
        self.assertEqual(self.holds({"stages": part}), [True, False])

    def peers(self, is_bound):
        row = {"program": "PyTorch, softmax loss", "ours": "SVR", "peer": {"seconds": 9.0, "accuracy": 50.0},
               "times_ours": 9.0, "is_bound": is_bound}
        missing = {"program": "numpy", "ours": "SVR", "peer": {"missing": "no numpy"}}
        return {"data": {"name": "CUB"}, "fit_samples": 5000, "threads": 2, "validation_classes": 50,
                "ours": {"SVR": {"seconds": 1.0, "accuracy": 60.0}}, "rows": [row, missing]}

    def test_one_table_has_what_people_would_use_instead(self):
        parts = {"peers": {"results": self.peers(True)}, "svr": {"results": {**svr(150, True), "liblinear": {}}}}
        text = page.block(self.results("aaa", **parts))
        self.assertIn("| PyTorch, softmax loss | SVR | at least 9.0 | 50.00 % | 60.00 % |", text)
        self.assertIn("| numpy | SVR | MISSING: no numpy |", text)
        self.assertIn("| LIBLINEAR | SVR, C 0.1 | 150 |  |  |", text)
        self.assertEqual(self.holds({"peers": self.peers(True)}), [None])
        self.assertEqual(self.holds({"peers": self.peers(False)}), [False])

    def test_growth_shows_sizes_exponents_and_why(self):
        row = {"quantity": "samples", "sizes": [5000, 10000], "train_user_seconds": [1.0, 2.0], "train_exponent": 1.0,
               "predict_user_seconds": [0.5, 1.1], "predict_exponent": 1.1}
        text = "\n".join(page.growth_block({"samples": 5000, "dimensions": 512, "classes": 100, "attributes": 100,
                                            "rows": [row]}))
        self.assertIn("| samples 5,000 → 10,000 | 1.00 s → 2.00 s | 1.00 | 500.0 ms → 1.10 s | 1.10 | Statistics", text)

    def test_networks_on_photographs_reach_half_of_the_peak(self):
        engine = {"engine": "OpenCV", "network_seconds": 0.05, "flops_per_second": 1.4e11, "of_fma_peak": 0.49,
                  "decode_seconds": 4e-4,
                  "runs": [{"threads": 1, "images_per_second": 18.0, "network_share": 0.97}]}
        part = {"network": "ResNet-50", "flops": 7.7e9, "photographs": 64, "engines": [engine]}
        self.assertIn("| OpenCV | 1 | 50.0 ms | 140.0 | 49 % | 400 us | 18.0 | 97 % |",
                      "\n".join(page.photographs_block(part)))
        self.assertEqual(self.holds({"photographs": part}), [False])
        self.assertIn("MISSING: no module", page.photographs_block({"missing": "no module"}))

    def test_stages_and_products_have_their_share_of_the_hardware(self):
        text = "\n".join(page.stages_block(stages()))
        self.assertIn("| float32 products, Gflop/s | 90.0 | 180.0 | 2.0 | 90 % / 90 % |", text)
        self.assertIn("| triad, GB/s read and written | 20.0 | 20.0 | 1.00 |  |", text)
        self.assertIn("| statistics | 45.0 | 2,000 MB | 1.00 s |  |  | 45.0 | 45 % | 50 % | 10 % |", text)
        self.assertIn("| load |  | 2,000 MB | 1.00 s |  |  |  |  |  | 10 % |", text)

    def test_a_lower_bound_below_the_goal_decides_nothing(self):
        self.assertEqual(self.holds({"svr": svr(250, True)}), [True])
        self.assertEqual(self.holds({"svr": svr(250, False)}), [True])
        self.assertEqual(self.holds({"svr": svr(150, True)}), [False])
        self.assertEqual(self.holds({"svr": svr(150, False)}), [None])

    def test_missing_peers_and_gaps_that_were_not_reached_are_named(self):
        text = "\n".join(page.svr_block(svr(150, False)))
        self.assertIn("MISSING: no libsvm", text)
        self.assertIn("not reached", text)

    def test_the_server_is_judged_by_rate_errors_memory_and_tail(self):
        self.assertEqual(self.holds({"serve": served(30000, 0.04)}), [True, True, True, True])
        self.assertEqual(self.holds({"serve": served(10000, 0.06, 1, 4e7)}), [False, False, False, False])
        self.assertIn("30,000", "\n".join(page.serve_block(served(30000, 0.04))))

    def results(self, commit, **parts):
        environment = {"parsnets": "0.1.0", "commit": commit, "sources_changed": False, "compiler": "GNU",
                       "build_type": "Release", "cpu": "CPU", "simd": "AVX", "cores": 2, "memory": 2**34,
                       "system": "Linux", "libraries": {}, "peers": {}}
        common = {"command": "parsnets_bench", "started": "today", "took_seconds": 1, "load_before": 0.1,
                  "load_after": 0.2, "quick": False}
        return {"environment": environment, "parts": {name: {**common, **part} for name, part in parts.items()}}

    def test_parts_of_another_run_have_an_environment_of_their_own(self):
        suite = self.results("aaa", svr={"results": svr(250, True)})
        serving = self.results("bbb", serve={"results": served(30000, 0.04), "autogroup_nice": -18})
        text = page.block(suite, serving)
        self.assertIn("### Environment of serve\n\n- ParsNets 0.1.0, commit bbb", text)
        self.assertIn("### Serving over HTTP\n\nMeasured apart from the other parts, at commit bbb.", text)
        self.assertIn("preferred these parts to other programs: serve.", text)
        self.assertEqual(text.count("Measured apart"), 1)
        self.assertIn("| the server answers all requests of a load test | 0 errors | yes |", text)
        alone = page.block(suite)
        self.assertNotIn("preferred", alone)
        self.assertIn("### Serving over HTTP\n\nNot in these results.", alone)
        with self.assertRaisesRegex(ValueError, "found in several: svr"):
            page.block(suite, self.results("bbb", svr={"results": svr(250, True)}))
        third = page.block(self.results("ccc"), suite, serving)
        self.assertIn("LIBSVM\n\nMeasured apart from the other parts, at commit aaa.", third)
        self.assertIn("### Serving over HTTP\n\nMeasured apart from the other parts, at commit bbb.", third)

    def test_times_have_the_unit_that_suits(self):
        self.assertEqual([page.seconds(v) for v in (2e-6, 0.0123, 1.234, 987)], ["2 us", "12.3 ms", "1.23 s", "987 s"])


if __name__ == "__main__":
    unittest.main()
