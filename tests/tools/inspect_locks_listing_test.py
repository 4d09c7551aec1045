"""What inspect-locks says of the locks that are held."""

import json
import os
import subprocess
import unittest

from tool_test import INSPECT_LOCKS, LATEST_EXPIRY_MS, LOCK_HOLDER, ToolTest


class Listing(ToolTest):

    def setUp(self):
        super().setUp()
        self.first = self.holder()
        self.first.acquire(b"warm-up")  # makes the store
        self.first.release(b"warm-up")

    def test_a_store_without_locks_gives_the_headings_only(self):
        self.assertEqual(self.table(), [])
        self.assertEqual(self.table("list"), [])

    def test_a_store_without_locks_gives_valid_json(self):
        self.assertEqual(json.loads(self.output("--json")), {"store": self.store, "locks": []})

    def test_one_lock(self):
        self.first.acquire(b"invoice:42", ttl_ms=90_000)
        [[key, pid, command, age, left, fence, sleepers]] = self.table()
        self.assertEqual([key, pid, command], ["invoice:42", str(self.first.pid), os.path.basename(LOCK_HOLDER)])
        self.assertRegex(age, r"^(\d{1,3}ms|\d{1,2}\.\ds)$")
        self.assertRegex(left, r"^1m[0-2]\ds$")
        self.assertGreater(int(fence), 0)
        self.assertEqual(sleepers, "0")

    def test_one_lock_as_json(self):
        self.first.acquire(b"invoice:42", ttl_ms=90_000)
        [lock] = self.locks()
        self.assertEqual(list(lock), ["key", "key_hex", "holder", "handed_over", "age_ms", "remaining_ms",
                                      "fencing_token", "sleepers", "counters"])
        self.assertEqual((lock["key"], lock["key_hex"]), ("invoice:42", b"invoice:42".hex()))
        self.assertEqual(lock["holder"], {"pid": self.first.pid, "command": os.path.basename(LOCK_HOLDER),
                                          "pid_namespace": os.stat("/proc/self/ns/pid").st_ino, "alive": True})
        self.assertIs(lock["handed_over"], False)
        self.assertTrue(0 <= lock["age_ms"] < 60_000, lock)
        self.assertTrue(30_000 < lock["remaining_ms"] <= 90_000 + LATEST_EXPIRY_MS, lock)
        self.assertIs(type(lock["fencing_token"]), int)
        self.assertEqual(lock["sleepers"], 0)

    def test_several_locks_are_ordered_by_key_and_name_their_holders(self):
        second = self.holder()
        for holder, key in (second, b"b"), (self.first, b"c"), (second, b"a"):
            holder.acquire(key)
        self.assertEqual([row[:2] for row in self.table()],
                         [["a", str(second.pid)], ["b", str(second.pid)], ["c", str(self.first.pid)]])
        self.assertEqual([(lock["key"], lock["holder"]["pid"]) for lock in self.locks()],
                         [("a", second.pid), ("b", second.pid), ("c", self.first.pid)])

    def test_durations_have_their_two_largest_units(self):
        for key, ttl_ms in (b"days", 365 * 86_400_000), (b"hours", 3 * 3_600_000), (b"seconds", 55_000):
            self.first.acquire(key, ttl_ms)
        left = {row[0]: row[4] for row in self.table()}
        self.assertEqual(left["days"], "364d23h")
        self.assertRegex(left["hours"], r"^2h5\dm$")
        self.assertRegex(left["seconds"], r"^[1-5]\d\.\ds$")

    def test_show_tells_of_one_key(self):
        self.first.acquire(b"a")
        self.first.acquire(b"b")
        [row] = self.table("show", "b")
        self.assertEqual(row[:2], ["b", str(self.first.pid)])
        self.assertEqual(self.lock(b"b")["key"], "b")

    def test_show_of_a_key_that_nobody_holds(self):
        finished = self.inspect("show", "a\nb")
        self.assertEqual((finished.returncode, finished.stdout), (1, b""))
        self.assertEqual(finished.stderr, b"inspect-locks: nobody holds a\\nb\n")
        self.assertIsNone(self.lock(b"nobody", exit_code=1))

    def test_what_is_released_or_has_expired_is_gone(self):
        self.first.acquire(b"released")
        self.first.release(b"released")
        self.first.acquire(b"expired", ttl_ms=1)
        self.until(lambda: self.inspect("show", "expired").returncode == 1)
        self.assertEqual(self.locks(), [])

    def test_a_later_grant_has_a_greater_fencing_token(self):
        fences = []
        for _ in range(3):
            self.first.acquire(b"k")
            fences.append(self.lock(b"k")["fencing_token"])
            self.first.release(b"k")
        self.assertLess(fences[0], fences[1])
        self.assertLess(fences[1], fences[2])

    def test_a_dead_holder_is_marked_zombie_or_reaped(self):
        second = self.holder()
        second.acquire(b"k")
        second.process.kill()
        self.until(lambda: not self.locks()[0]["holder"]["alive"])
        for _ in "zombie", "reaped":
            self.assertEqual([row[:2] for row in self.table()], [["k", f"{second.pid} (dead)"]])
            [row] = self.table("show", "k", exit_code=1)
            self.assertEqual(row[1], f"{second.pid} (dead)")
            self.assertEqual(self.lock(b"k", exit_code=1)["holder"]["pid"], second.pid)
            second.process.wait()

    def test_a_lease_that_was_handed_over_has_no_holder(self):
        second = self.holder()
        second.acquire(b"k")
        second.detach(b"k")
        for state in "alive", "dead":
            self.assertEqual([row[:3] for row in self.table()], [["k", "handed over", "-"]], state)
            self.assertIsNone(self.lock(b"k")["holder"])
            second.end()

    def test_waiters_are_counted_while_they_sleep(self):
        def sleepers_are(count):
            return lambda: self.lock(b"k")["sleepers"] == count

        self.first.acquire(b"k")
        waiters = [self.holder() for _ in range(3)]
        for count, waiter in enumerate(waiters, start=1):
            waiter.tell_to_acquire(b"k", timeout_ms=600_000)
            self.until(sleepers_are(count))
        self.until(lambda: self.table()[0][6] == "3")
        waiters.pop().process.kill()
        self.until(sleepers_are(2))
        self.first.release(b"k")
        self.until(sleepers_are(1))


class Store(ToolTest):

    def test_the_store_is_the_one_of_the_option_else_of_the_environment(self):
        other = f"shm:{self.folder}/other?slots=1024"
        self.holder().acquire(b"here")
        self.holder(other).acquire(b"there")
        self.assertEqual([lock["key"] for lock in self.locks()], ["here"])
        self.assertEqual([lock["key"] for lock in self.locks(store=other)], ["there"])
        for arguments in ["--store", other, "--json"], ["list", "--json", f"--store={other}"]:
            listing = json.loads(self.output(*arguments))
            self.assertEqual(listing["store"], other)
            self.assertEqual([lock["key"] for lock in listing["locks"]], ["there"])


class Information(unittest.TestCase):

    def say(self, *arguments):
        return subprocess.run([INSPECT_LOCKS, *arguments], capture_output=True, text=True, check=True).stdout

    def test_help_tells_the_commands_the_fields_and_the_exit_codes(self):
        text = self.say("--help")
        for word in "list", "show", "--json", "--store", "key_hex", "handed over", "Exit status":
            self.assertIn(word, text)
        self.assertIn("--escaped", self.say("show", "--help"))

    def test_version(self):
        self.assertRegex(self.say("--version"), r"^inspect-locks \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
