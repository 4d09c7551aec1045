"""A benchmark runs to its end, and what it writes can be read."""

import json
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop()


class Smoke(unittest.TestCase):
    def test_runs_and_writes_its_figures(self):
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run([PROGRAM, "--smoke", "--json", file.name], check=True)
            result = json.load(file)
        for name in ("processor", "kernel", "compiler", "commit", "load"):
            self.assertIn(name, result["context"])
        self.assertTrue(result["figures"])
        for figure in result["figures"]:
            with self.subTest(figure["name"]):
                self.assertTrue(figure["repetitions"])

    def test_refuses_what_it_does_not_know(self):
        refusal = subprocess.run([PROGRAM, "--unheard-of"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(refusal.returncode, 2)
        self.assertIn("--quick", refusal.stderr)


if __name__ == "__main__":
    unittest.main()
