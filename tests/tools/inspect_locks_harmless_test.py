"""Looking has no side effects: inspect-locks neither disturbs those who lock, nor waits for them."""

import itertools
import json
import os
import random
import signal
import subprocess
import time
import unittest

from tool_test import INSPECT_LOCKS, LATEST_EXPIRY_MS, ToolTest


def for_a_while(seconds=5):
    """Rounds until the time is over, and ten at least: as many as the machine and the build can do."""
    end = time.monotonic() + seconds
    return itertools.takewhile(lambda number: number < 10 or time.monotonic() < end, itertools.count())


class Quiet(ToolTest):

    def segment(self):
        with open(self.path, "rb") as file:
            return file.read()

    def test_h6_a_quiet_segment_stays_as_it_is_byte_for_byte(self):
        living, dead = self.holder(), self.holder()
        for key in b"held", b"released", b"handed over":
            living.acquire(key)
        living.release(b"released")
        living.detach(b"handed over")
        living.acquire(b"expired", ttl_ms=1)
        dead.acquire(b"of a dead process")
        dead.end()
        self.until(lambda: len(self.locks()) == 3 and not self.lock_is_alive(b"of a dead process"))

        before = self.segment()
        for arguments in [], ["--json"], ["show", "held"], ["show", "nobody"], ["show", "of a dead process"]:
            self.inspect(*arguments)
        self.assertEqual(self.segment(), before)

    def lock_is_alive(self, key):
        return json.loads(self.inspect("show", "--json", key).stdout)["holder"]["alive"]

    def test_it_needs_no_place_among_the_attached_processes(self):
        self.store += "&processes=1"
        holder = self.holder()
        holder.acquire(b"k")
        self.assertEqual(self.lock(b"k")["holder"]["pid"], holder.pid)
        holder.release(b"k")
        holder.acquire(b"k")


class Busy(ToolTest):

    def setUp(self):
        super().setUp()
        self.steady = self.holder()
        self.steady.acquire(b"steady")
        self.fence = self.lock(b"steady")["fencing_token"]
        self.churners = []

    def start_churning(self, processes):
        self.churners = [self.holder() for _ in range(processes)]
        for number, churner in enumerate(self.churners):
            churner.tell("churn", f"churn{number}")
            self.assertEqual(churner.hear(), "churning")

    def stop_churning(self):
        """Each of them went on all the while, without an error and without ever being held up."""
        for churner in self.churners:
            churner.tell("stop")
            word, *numbers = churner.hear().split(" ", 2)
            self.assertEqual(word, "churned", numbers)
            rounds, slowest_ms = map(int, numbers)
            self.assertGreater(rounds, 0)
            yield slowest_ms

    def check(self, locks):
        """What is held all the time is always seen; what comes and goes is seen whole or not at all."""
        steady = [lock for lock in locks if lock["key"] == "steady"]
        self.assertEqual([lock["fencing_token"] for lock in steady], [self.fence])
        self.assertEqual(sorted(locks, key=lambda lock: lock["key"]), locks)
        for lock in locks:
            self.assertRegex(lock["key"], r"^(steady|churn\d(:first|:\d+)?)$")
            if lock["key"] == "steady":
                continue
            churner = self.churners[int(lock["key"][len("churn")])]
            self.assertEqual((lock["holder"]["pid"], lock["holder"]["alive"]), (churner.pid, True))
            self.assertTrue(0 <= lock["remaining_ms"] <= 30_000 + LATEST_EXPIRY_MS, lock)

    def test_it_sees_only_whole_leases_and_holds_nobody_up(self):
        self.start_churning(processes=3)
        seen = 0
        for _ in for_a_while():
            locks = self.locks()
            self.check(locks)
            seen += len(locks) - 1
            self.inspect("show", "churn0")
        self.assertGreater(seen, 0, "the churn was never met")
        for slowest_ms in self.stop_churning():
            self.assertLess(slowest_ms, 1000)

    def test_h6_it_answers_while_a_process_is_stopped_wherever_that_is(self):
        self.start_churning(processes=1)
        [churner] = self.churners
        for _ in for_a_while():
            os.kill(churner.pid, signal.SIGSTOP)
            self.check(self.locks())
            self.assertEqual(self.table("show", "steady")[0][0], "steady")
            self.assertGreater(json.loads(self.output("stats", "--json"))["counters"]["grants"], 0)
            os.kill(churner.pid, signal.SIGCONT)
        list(self.stop_churning())

    def test_h6_it_answers_when_a_process_died_wherever_that_was(self):
        for _ in for_a_while():
            self.start_churning(processes=1)
            time.sleep(0.005)
            self.churners[0].end()
            self.assertEqual([lock["fencing_token"] for lock in self.locks() if lock["key"] == "steady"], [self.fence])
            self.assertEqual(self.table("show", "steady")[0][0], "steady")
            self.assertGreater(json.loads(self.output("stats", "--json"))["counters"]["grants"], 0)

    def test_h6_it_may_be_killed_at_any_moment(self):
        self.start_churning(processes=3)
        dice = random.Random(1)
        killed = 0
        for _ in for_a_while():
            with subprocess.Popen([INSPECT_LOCKS, "--store", self.store], stdout=subprocess.DEVNULL) as victim:
                time.sleep(dice.uniform(0, 0.01))
                victim.kill()
                killed += victim.wait() == -signal.SIGKILL
        self.assertGreater(killed, 0)
        self.check(self.locks())
        for slowest_ms in self.stop_churning():
            self.assertLess(slowest_ms, 1000)


if __name__ == "__main__":
    unittest.main()
