"""quick_start: a second copy is excluded while the first runs, and only then."""

import os
import subprocess
import tempfile
import unittest


class QuickStart(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.environment = {**os.environ, "MORTISE_STORE": f"shm:{directory.name}/locks"}

    def start(self):
        return subprocess.Popen(
            ["quick_start"],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def assert_excluded(self):
        with self.start() as copy:
            self.assertEqual(copy.communicate(timeout=30)[0], "Another copy has the lock.\n")
        self.assertEqual(copy.returncode, 1)

    def assert_has_the_lock(self, copy):
        self.assertEqual(copy.stdout.readline(), "I have the lock. Press Enter to finish.\n")

    def test_a_second_copy_is_excluded_until_the_first_ends(self):
        with self.start() as first:
            self.assert_has_the_lock(first)
            self.assert_excluded()
            first.communicate("\n", timeout=30)
        self.assertEqual(first.returncode, 0)
        with self.start() as second:
            self.assert_has_the_lock(second)

    def test_a_second_copy_is_excluded_until_the_first_is_killed(self):
        with self.start() as first:
            self.assert_has_the_lock(first)
            self.assert_excluded()
            first.kill()
        with self.start() as second:
            self.assert_has_the_lock(second)


if __name__ == "__main__":
    unittest.main()
