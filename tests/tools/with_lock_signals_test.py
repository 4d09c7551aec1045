"""with-lock and signals, lost leases, and its own death."""

import os
import signal
import subprocess
import time
import unittest

from tool_test import PATIENCE, ToolTest, descendants, is_running, kill_tree

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]

# Says what it is told, and ends only by SIGKILL.
DEAF = """trap 'echo told' HUP INT QUIT TERM USR1 USR2; echo $$; while :; do sleep 0.05; done"""


class SignalTest(ToolTest):

    def start(self, *arguments, **options):
        """Starts with-lock with a command that writes its pid first; returns both."""
        process = self.start_with_lock(*arguments, **options)
        return process, int(process.stdout.readline())

    def guardian(self, process):
        [guardian] = [pid for pid in descendants(process.pid) if self.name(pid) == "with-lock-guard"]
        return guardian

    @staticmethod
    def name(pid):
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()

    def never_free_before_the_end_of(self, pids, key="k", ttl=None):
        """Looks until the key is free: none of the processes may be running when it is seen so."""
        deadline = time.monotonic() + PATIENCE
        while not self.is_free(key):
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual([pid for pid in pids if is_running(pid)], [])


class Forwarded(SignalTest):

    def test_signals_reach_the_commands_group(self):
        for number in [*ENDING, signal.SIGUSR1, signal.SIGUSR2]:
            with self.subTest(signal=number):
                process, _ = self.start("k", "--", "sh", "-c", DEAF)
                process.send_signal(number)
                self.assertEqual(process.stdout.readline(), b"told\n")
                self.assertIsNone(process.poll())
                self.assertFalse(self.is_free("k"), "it is still held while the command runs")
                kill_tree(process.pid)
                process.communicate(timeout=PATIENCE)
                self.until(lambda: self.is_free("k"))

    def test_all_of_the_group_is_told_and_waited_for_is_the_command(self):
        process, _ = self.start("k", "--", "sh", "-c", "sleep 60 & echo $!; wait")
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGTERM)
        self.assertTrue(self.is_free("k"))

    def test_what_was_ignored_stays_ignored(self):
        process = self.start_with_lock("k", "--", "sh", "-c", "echo $$; sleep 0.5; echo lives",
                                       preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.stdout.readline(), b"lives\n")
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_h3_a_stopped_with_lock_loses_nothing(self):
        process, command = self.start("--ttl", "500ms", "k", "--", "sh", "-c", "echo $$; sleep 60")
        fence = self.lock("k")["fencing_token"]
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        self.assertEqual(self.lock("k")["fencing_token"], fence)
        self.assertTrue(is_running(command))
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGTERM)

    def test_h3_a_guardian_that_is_stopped_is_continued(self):
        process, _ = self.start("--ttl", "1s", "k", "--", "sh", "-c", "echo $$; sleep 60")
        fence = self.lock("k")["fencing_token"]
        os.kill(self.guardian(process), signal.SIGSTOP)
        time.sleep(1.5)
        self.assertEqual(self.lock("k")["fencing_token"], fence)


class Waiting(SignalTest):

    def test_h1_a_signal_ends_the_wait(self):
        user = self.holder()
        user.acquire(b"k")
        for number in ENDING:
            with self.subTest(signal=number):
                process = self.start_with_lock("-w", "600", "k", "--", "touch", f"{self.folder}/ran")
                self.until(lambda: self.lock("k")["sleepers"] == 1)
                start = time.monotonic()
                process.send_signal(number)
                self.assertEqual(process.wait(PATIENCE), 128 + number)
                self.assertLess(time.monotonic() - start, 2)
        self.assertFalse(os.path.exists(f"{self.folder}/ran"))
        user.release(b"k")
        user.acquire(b"k")

    def test_h1_a_signal_at_any_moment_of_the_start_leaves_nothing_behind(self):
        for step in range(100):
            process = self.start_with_lock("k", "--", "sleep", "60")
            time.sleep(step * 0.0003)
            process.terminate()
            self.assertIn(process.wait(PATIENCE), (128 + signal.SIGTERM, -signal.SIGTERM))
            if os.path.exists(self.path):
                self.assertTrue(self.is_free("k"), step)
            process.communicate()


class Lost(SignalTest):

    def lose(self, key="k"):
        self.assertEqual(self.inspect("release", "--force", key).returncode, 0)

    def test_h3_the_whole_group_is_ended_before_somebody_else_works(self):
        # A third of this ttl is far beyond the patience of the test: an end by force is noticed before.
        process, worker = self.start("--ttl", "1d", "k", "--", "sh", "-c", "sleep 60 & echo $!; wait")
        self.lose()
        self.assertEqual(process.wait(PATIENCE), 75)
        self.assertFalse(is_running(worker))
        self.assertRegex(process.stderr.read(), rb"the lease is lost: it was ended by force by process \d+ of user \d+ at ")

    def test_h3_who_does_not_hear_is_killed(self):
        process, worker = self.start("--ttl", "1s", "k", "--", "sh", "-c", DEAF)
        self.lose()
        self.assertEqual(process.wait(PATIENCE), 75)
        self.assertFalse(is_running(worker))

    def test_h3_another_holder_is_left_alone(self):
        process, _ = self.start("--ttl", "1s", "k", "--", "sh", "-c", DEAF)
        self.lose()
        user = self.holder()
        user.acquire(b"k")
        fence = self.lock("k")["fencing_token"]
        self.assertEqual(process.wait(PATIENCE), 75)
        self.assertEqual(self.lock("k")["fencing_token"], fence)

    def test_h3_warn_lets_it_go_on(self):
        process, _ = self.start("--ttl", "300ms", "--on-lost=warn", "k", "--", "sh", "-c", "echo $$; sleep 1.5; exit 3")
        self.lose()
        self.assertEqual(process.wait(PATIENCE), 3)
        self.assertIn(b"the lease is lost", process.stderr.read())


class Killed(SignalTest):
    """H5: the key is never free while the command or a descendant runs."""

    GRANDCHILDREN = "sleep 600 & echo $!; setsid sleep 2 & sh -c 'trap \"\" TERM; sleep 1.5' & wait"

    def test_h5_a_killed_with_lock_takes_its_command_along_and_keeps_the_key_until_then(self):
        process, _ = self.start("--ttl", "300ms", "k", "--", "sh", "-c", self.GRANDCHILDREN)
        self.until(lambda: len(descendants(process.pid)) >= 7)
        tree = descendants(process.pid)[2:]
        process.kill()
        self.never_free_before_the_end_of(tree)

    def test_h5_so_does_a_killed_guardian(self):
        process, _ = self.start("--ttl", "300ms", "k", "--", "sh", "-c", self.GRANDCHILDREN)
        self.until(lambda: len(descendants(process.pid)) >= 7)
        tree = descendants(process.pid)[2:]
        os.kill(self.guardian(process), signal.SIGKILL)
        self.never_free_before_the_end_of(tree)
        # With-lock may notice it, and tell the command, before the kernel kills the command for its parent's death.
        self.assertIn(process.wait(PATIENCE), (128 + signal.SIGKILL, 128 + signal.SIGTERM))

    def test_h5_when_both_are_killed_the_descendants_hold_the_key_until_the_lease_expires(self):
        process, grandchild = self.start("--ttl", "600s", "k", "--", "sh", "-c", "sleep 600 & echo $!; wait")
        command = descendants(process.pid)[2]
        guardian = self.guardian(process)
        process.send_signal(signal.SIGSTOP)
        os.kill(guardian, signal.SIGKILL)
        process.kill()
        process.wait(PATIENCE)
        self.until(lambda: not is_running(command))
        self.assertTrue(is_running(grandchild))
        self.assertFalse(self.is_free("k"))
        os.kill(grandchild, signal.SIGKILL)
        self.until(lambda: self.is_free("k"))

    def test_h5_a_killed_command_frees_the_key(self):
        process, worker = self.start("k", "--", "sh", "-c", "sleep 600 & echo $!; wait")
        os.kill(descendants(process.pid)[2], signal.SIGKILL)
        self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGKILL)
        self.assertTrue(self.is_free("k"))
        os.kill(worker, signal.SIGKILL)

    def test_killed_on_a_server_the_ttl_ends_it(self):
        # The manual says so: no descriptor keeps a lease alive there. A lease that is handed over is the same here.
        process, command = self.start("--handover", "--ttl", "1s", "k", "--", "sh", "-c", "echo $$; exec sleep 600")
        process.send_signal(signal.SIGSTOP)
        os.kill(self.guardian(process), signal.SIGKILL)
        process.kill()
        self.until(lambda: not is_running(command))
        self.until(lambda: self.is_free("k"))


if __name__ == "__main__":
    unittest.main()
