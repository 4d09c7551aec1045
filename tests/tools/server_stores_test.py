"""The tools on a store that knows no processes: server_stores_test.py redis|sqlite.

What such a store cannot know is said, not blank. The Redis server is the test's own, as REDIS_SERVER names it; with none,
or without SQL in the build, the test is skipped.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from tool_test import INSPECT_LOCKS, PATIENCE, ToolTest, end_tree, is_running

PR_SET_PDEATHSIG = 1
SKIPPED = 77


class ServerStore:
    """The tests, for a class that has a store."""

    knows_fences = True  # of the leases that are held

    def test_what_it_does_not_know_is_said(self):
        self.holder().acquire(b"k", ttl_ms=60_000)
        [[key, pid, command, age, left, fence, sleepers]] = self.table()
        self.assertEqual((key, pid, command, age, sleepers), ("k", "-", "-", "-", "-"))
        self.assertRegex(left, r"^(59\.\ds|1m00s)$")
        [lock] = self.locks()
        for unknown in "holder", "handed_over", "age_ms", "sleepers", "counters":
            self.assertIsNone(lock[unknown], unknown)
        self.assertEqual(lock["key_hex"], b"k".hex())
        if self.knows_fences:
            self.assertGreater(int(fence), 0)
            self.assertEqual(lock["fencing_token"], int(fence))
        else:
            self.assertEqual((lock["fencing_token"], fence), (None, "-"))
        self.assertEqual(self.lock("k")["fencing_token"], lock["fencing_token"])

    def test_nobody_is_called_dead_or_handed_over(self):
        user = self.holder()
        user.acquire(b"k")
        user.detach(b"k")
        user.end()
        output = self.output() + self.output("show", "k")
        self.assertNotIn("handed over", output)
        self.assertNotIn("dead", output)

    def test_keys_of_any_bytes(self):
        user = self.holder()
        for key in b"\0", b"a\nb", b"\xff\xfe", "schlüssel".encode(), b" ":
            user.acquire(key)
        self.assertEqual({lock["key_hex"] for lock in self.locks()},
                         {key.hex() for key in (b"\0", b"a\nb", b"\xff\xfe", "schlüssel".encode(), b" ")})

    def test_nobody_holds_it(self):
        self.holder().acquire(b"other")
        self.assertEqual(self.inspect("show", "k").returncode, 1)
        self.assertEqual(self.inspect("release", "--force", "k").returncode, 1)

    def test_numbers_that_it_does_not_have(self):
        self.holder().acquire(b"k")
        stats = json.loads(self.output("stats", "--json"))
        self.assertEqual(stats.pop("leases"), 1)
        self.assertEqual(stats.pop("store"), self.store)
        self.assertEqual(set(stats.values()), {None})
        self.assertRegex(self.output("stats"), r"(?m)^grants +-$")
        self.assertRegex(self.output("stats", "k"), r"(?m)^grants +-$")

    def test_what_it_cannot_do_is_refused_with_a_sentence(self):
        self.holder().acquire(b"k")
        for command in "processes", "check":
            finished = self.inspect(command)
            self.assertEqual((finished.returncode, finished.stdout), (3, b""))
            self.assertRegex(finished.stderr, rb"^inspect-locks: this store .+\n$")

    def test_release_by_force(self):
        user = self.holder()
        user.acquire(b"k")
        self.assertEqual(self.table("release", "--force", "k")[0][0], "k")
        self.assertTrue(self.is_free("k"))
        user.tell("ensure", b"k".hex())
        self.assertRegex(user.hear(), "the lease is lost, it expired or was ended by somebody else$")

    def test_a_watcher_sees_changes(self):
        user = self.holder()
        user.acquire(b"other")  # the store exists from now on
        watcher = subprocess.Popen([INSPECT_LOCKS, "--json", "watch", "--interval", "0.02", "k"], stdout=subprocess.PIPE,
                                   env={**os.environ, "MORTISE_STORE": self.store})
        self.addCleanup(end_tree, watcher)
        user.acquire(b"k", ttl_ms=100_000)
        self.assert_event(watcher, "granted")
        user.tell("extend", b"k".hex(), 600_000)
        self.assertEqual(user.hear(), "extended")
        self.assert_event(watcher, "extended")
        user.release(b"k")
        self.assert_event(watcher, "released")

    def assert_event(self, watcher, name):
        event = json.loads(watcher.stdout.readline())
        self.assertEqual((event["event"], event["lease"]["key"], event["lease"]["holder"]), (name, "k", None))

    def test_top_has_no_place_for_what_is_unknown(self):
        self.holder().acquire(b"k")
        self.assertEqual(self.inspect("top").returncode, 2)  # no terminal

    def test_metrics_have_no_sample_of_it(self):
        self.holder().acquire(b"k")
        text = self.output("--format=openmetrics")
        self.assertIn('mortise_lease_remaining_seconds{key="k"} ', text)
        self.assertNotRegex(text, r"(?m)^mortise_(lease_sleepers|lease_age_seconds|grants_total|processes|key_busy_total)[ {]")

    def test_with_lock(self):
        self.assertEqual(self.with_lock("k", "--", "echo", "ran")[0], "ran\n")
        self.holder().acquire(b"k")
        self.with_lock("-n", "k", "--", "echo", "ran", exit_code=1)

    def test_h3_a_record_that_is_gone_ends_the_command(self):
        process = self.start_with_lock("--ttl", "1s", "k", "--", "sh", "-c", "echo $$; exec sleep 600")
        command = int(process.stdout.readline())
        self.assertEqual(self.inspect("release", "--force", "k").returncode, 0)
        self.assertEqual(process.wait(PATIENCE), 75)
        self.assertFalse(is_running(command))


class Redis(ServerStore, ToolTest):

    def setUp(self):
        super().setUp()
        socket = os.path.join(self.folder, "socket")
        self.server = subprocess.Popen([os.environ["REDIS_SERVER"], "--port", "0", "--unixsocket", socket, "--save", "",
                                        "--dir", self.folder], stdout=subprocess.DEVNULL,
                                       preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        self.addCleanup(end_tree, self.server)
        self.until(lambda: os.path.exists(socket))
        self.store = f"redis+unix:{socket}"

    def test_h3_a_server_that_does_not_answer_ends_the_command_before_the_lease(self):
        ttl = 6
        process = self.start_with_lock("--ttl", f"{ttl}s", "k", "--", "sh", "-c", "sleep 600 & echo $!; wait")
        worker = int(process.stdout.readline())
        self.server.send_signal(signal.SIGSTOP)
        # No renewal began after this moment that was answered.
        last_renewal = time.monotonic()
        self.until(lambda: not is_running(worker))
        self.assertLess(time.monotonic(), last_renewal + ttl)
        self.server.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(PATIENCE), 75)
        self.assertIn(b"could not be renewed in time", process.stderr.read())

    def test_a_password_is_not_shown(self):
        self.assertNotIn(b"secret", self.inspect("--store", f"redis+unix://u:secret@{self.folder}/socket", "--json").stdout)

    def test_a_server_that_is_gone(self):
        self.server.kill()
        self.server.wait()
        finished = self.inspect("list")
        self.assertEqual(finished.returncode, 3)
        self.assertRegex(finished.stderr, rb"^inspect-locks: .+\n$")


class Sqlite(ServerStore, ToolTest):
    knows_fences = False  # they are given to who acquires, and kept nowhere

    def setUp(self):
        super().setUp()
        self.store = f"sqlite:{self.folder}/locks.db"


if __name__ == "__main__":
    kind = sys.argv.pop(1)
    if not os.environ.get("REDIS_SERVER" if kind == "redis" else "SQL_IS_BUILT"):
        print("skipped: there is no", "redis-server" if kind == "redis" else "SQL store in this build")
        sys.exit(SKIPPED)
    sys.argv.insert(1, {"redis": "Redis", "sqlite": "Sqlite"}[kind])
    unittest.main()
