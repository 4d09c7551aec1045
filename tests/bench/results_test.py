"""What tools/bench says of figures, and what it writes into the documentation: results_test.py ROOT PROGRAM..."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
PROGRAMS = sys.argv[2:]
sys.path.insert(0, str(ROOT / "bench"))

from results import figures, pages, suite  # noqa: E402

AT_MOST = {"at_most": 1.25, "goal": 1.0}
AT_LEAST = {"at_least": 3}


def a_run(*benchmarks):
    return {"commit": "abc", "date": "2001-02-03", "quick": False, "benchmarks": [
        {"benchmark": name, "figures": found, "missing": missing,
         "context": {"processor": "a model", "processors": 2, "kernel": "Linux", "compiler": "GCC", "load": [0.5, 2]}}
        for name, found, missing in benchmarks]}


class Figures(unittest.TestCase):
    def test_a_figure_is_the_median_with_its_extremes(self):
        made = figures.figure("f", "ns", [5, 1, 3])
        self.assertEqual((made["median"], made["min"], made["max"]), (3, 1, 5))

    def test_launches_are_merged_by_name(self):
        first = [figures.figure("f", "ns", [1, 2], AT_MOST), figures.figure("g", "ns", [7])]
        merged = figures.merged([first, [figures.figure("f", "ns", [3], AT_MOST)]])
        self.assertEqual([(f["name"], f["repetitions"]) for f in merged], [("f", [1, 2, 3]), ("g", [7])])
        self.assertEqual(merged[0]["target"], AT_MOST)

    def test_verdicts(self):
        for value, target, said in ((1.5, AT_MOST, "missed by 20 %"), (1.1, AT_MOST, "met, its goal missed by 10 %"),
                                    (0.8, AT_MOST, "met, and its goal by 20 %"), (6, AT_LEAST, "met by 100 %"),
                                    (1.5, AT_LEAST, "missed by 50 %")):
            with self.subTest(value=value, target=target):
                one = figures.figure("f", "x", [value], target)
                self.assertEqual(figures.verdict(one), said)
                self.assertEqual(figures.is_met(one), said.startswith("met"))

    def test_numbers_have_three_digits_and_no_exponent(self):
        self.assertEqual([figures.number(n) for n in (0, 0.0123, 1.234, 12.34, 1234567)],
                         ["0.00", "0.0123", "1.23", "12.3", "1,234,567"])


class Pages(unittest.TestCase):
    def test_only_what_stands_in_a_block_is_rewritten(self):
        page = "before\n<!-- bench: extend -->\nold\n<!-- end -->\nafter\n"
        written = pages.rewritten(page, a_run(("extend", [figures.figure("pair", "ns", [2, 4, 6])], ["a peer"])))
        self.assertTrue(written.startswith("before\n<!-- bench: extend -->\n"))
        self.assertTrue(written.endswith("<!-- end -->\nafter\n"))
        self.assertIn("| pair | 4.00 ns | 2.00 to 6.00 |", written)
        self.assertIn("Missing: a peer", written)
        self.assertNotIn("old", written)

    def test_rewriting_twice_changes_nothing(self):
        run = a_run(("extend", [figures.figure("pair", "ns", [2], AT_MOST)], []))
        once = pages.rewritten((ROOT / "docs/benchmarks.md").read_text(), run)
        self.assertEqual(pages.rewritten(once, run), once)

    def test_a_missed_target_is_seen(self):
        text = pages.targets(a_run(("b", [figures.figure("f", "x", [2], AT_MOST), figures.figure("g", "x", [1], AT_MOST)], [])))
        self.assertIn("1 of 2 are met", text)
        self.assertIn("**missed by 60 %**", text)

    def test_the_documentation_shows_every_benchmark(self):
        blocks = re.findall(r"<!-- bench: ([\w ]+) -->", (ROOT / "docs/benchmarks.md").read_text())
        self.assertEqual(sorted(blocks), sorted([b.name for b in suite.BENCHMARKS] + ["run", "targets"]))


class Suite(unittest.TestCase):
    def test_it_runs_every_program_that_is_built(self):
        self.assertLessEqual(set(PROGRAMS), {b.name for b in suite.BENCHMARKS})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
