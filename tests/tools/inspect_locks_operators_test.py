"""What an operator does with inspect-locks beyond listing: end a lease, watch a key, look at the processes."""

import calendar
import json
import os
import re
import signal
import subprocess
import time
import unittest

from tool_test import INSPECT_LOCKS, LOCK_HOLDER, PATIENCE, ToolTest, end_tree


class Release(ToolTest):

    def setUp(self):
        super().setUp()
        self.user = self.holder()
        self.user.acquire(b"k")

    def test_it_ends_the_lease_and_says_whose_it_was(self):
        fence = self.lock("k")["fencing_token"]
        [[key, pid, command, *_]] = self.table("release", "--force", "k")
        self.assertEqual((key, pid, command), ("k", str(self.user.pid), os.path.basename(LOCK_HOLDER)))
        self.assertTrue(self.is_free("k"))
        other = self.holder()
        other.acquire(b"k")
        self.assertGreater(self.lock("k")["fencing_token"], fence)

    def test_the_holder_finds_out_when_it_asks(self):
        for question in "extend", "release", "detach":
            self.output("release", "--force", "k")
            self.user.tell(question, b"k".hex(), 1000)
            self.assertEqual(self.user.hear(), "lost")
            self.user.acquire(b"k")

    def test_the_holder_is_told_by_whom_and_when(self):
        self.user.tell("ensure", b"k".hex())
        self.assertEqual(self.user.hear(), "held")
        before = int(time.time())
        tool = subprocess.Popen([INSPECT_LOCKS, "release", "--force", "k"], stdout=subprocess.DEVNULL,
                                env={**os.environ, "MORTISE_STORE": self.store})
        self.assertEqual(tool.wait(PATIENCE), 0)
        self.user.tell("ensure", b"k".hex())
        told = re.fullmatch(r".*the lease is lost, it was ended by force by process (\d+) of user (\d+) at (\S+)Z",
                            self.user.hear())
        self.assertEqual((int(told[1]), int(told[2])), (tool.pid, os.getuid()))
        at = calendar.timegm(time.strptime(told[3], "%Y-%m-%dT%H:%M:%S"))
        self.assertTrue(before <= at <= time.time())

    def test_who_lost_a_lease_otherwise_is_not_told_of_force(self):
        self.user.acquire(b"short", ttl_ms=1)
        self.until(lambda: self.is_free("short"))
        self.output("release", "--force", "k")
        self.user.tell("ensure", b"short".hex())
        self.assertRegex(self.user.hear(), "it expired or was ended by somebody else$")

    def test_the_lost_token_is_stopped_at_once(self):
        self.user.acquire(b"watched", ttl_ms=86_400_000)  # a third of it is far beyond the patience of the test
        self.user.tell("watch", b"watched".hex())
        self.assertEqual(self.user.hear(), "watched")
        self.output("release", "--force", "k")
        self.output("release", "--force", "watched")
        self.assertEqual(self.user.hear(), "lost")

    def test_a_waiter_is_woken(self):
        waiter = self.holder()
        waiter.tell_to_acquire(b"k", timeout_ms=PATIENCE * 1000)
        self.until(lambda: self.lock("k")["sleepers"] == 1)
        self.output("release", "--force", "k")
        self.assertEqual(waiter.hear(), "granted")

    def test_of_a_stopped_holder(self):
        self.user.process.send_signal(signal.SIGSTOP)
        self.output("release", "--force", "k")
        self.holder().acquire(b"k")
        self.user.process.send_signal(signal.SIGCONT)
        self.user.tell("extend", b"k".hex(), 1000)
        self.assertEqual(self.user.hear(), "lost")

    def test_of_a_lease_that_was_handed_over(self):
        self.user.detach(b"k")
        self.assertEqual(self.table("release", "--force", "k")[0][1], "handed over")
        self.assertTrue(self.is_free("k"))

    def test_of_a_key_that_nobody_holds(self):
        self.user.release(b"k")
        self.assertEqual(self.inspect("release", "--force", "k").returncode, 1)
        self.assertEqual(self.inspect("release", "--force", "other").returncode, 1)
        self.user.acquire(b"k")
        self.user.end()
        self.assertEqual(self.inspect("release", "--force", "k").returncode, 1, "it ended with its holder")

    def test_not_without_force(self):
        self.assertEqual(self.inspect("release", "k").returncode, 2)
        self.assertFalse(self.is_free("k"))

    def test_a_store_that_is_not_there_is_not_made(self):
        path = self.path + "-2"
        self.assertEqual(self.inspect("release", "--force", "k", store=f"shm:{path}").returncode, 3)
        self.assertFalse(os.path.exists(path))

    def test_as_json(self):
        lease = json.loads(self.output("release", "--force", "--json", "k"))
        self.assertEqual((lease["key"], lease["holder"]["pid"]), ("k", self.user.pid))
        self.assertIsNone(json.loads(self.output("release", "--force", "--json", "k", exit_code=1)))


class Watch(ToolTest):

    def watch(self, *arguments):
        process = subprocess.Popen([INSPECT_LOCKS, "watch", "--json", *arguments], stdout=subprocess.PIPE,
                                   env={**os.environ, "MORTISE_STORE": self.store}, text=True)
        self.addCleanup(end_tree, process)
        self.process = process

    def hear(self):
        event = json.loads(self.process.stdout.readline())
        self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}$")
        return event["event"], event["lease"]["holder"] and event["lease"]["holder"]["pid"]

    def test_every_change_is_a_line(self):
        user, other = self.holder(), self.holder()
        user.acquire(b"k", ttl_ms=60_000)
        self.watch("k")
        self.assertEqual(self.hear(), ("granted", user.pid))
        user.tell("extend", b"k".hex(), 600_000)
        self.assertEqual(self.hear(), ("extended", user.pid))
        user.tell("extend", b"k".hex(), 60_000)
        self.assertEqual(self.hear(), ("shortened", user.pid))
        self.assertEqual([user.hear(), user.hear()], ["extended"] * 2)
        user.release(b"k")
        self.assertEqual(self.hear(), ("released", user.pid))
        other.acquire(b"k", ttl_ms=500)
        self.assertEqual(self.hear(), ("granted", other.pid))
        self.assertEqual(self.hear(), ("expired", other.pid))
        user.acquire(b"k")
        self.assertEqual(self.hear(), ("granted", user.pid))
        user.detach(b"k")
        self.assertEqual(self.hear(), ("handed over", None))
        user.release(b"k")
        self.assertEqual(self.hear(), ("released", None))
        other.acquire(b"k")
        self.assertEqual(self.hear(), ("granted", other.pid))
        other.end()
        self.assertEqual(self.hear(), ("holder died", other.pid))
        user.acquire(b"k")
        self.assertEqual(self.hear(), ("granted", user.pid))

    def test_until_it_is_interrupted(self):
        self.holder().acquire(b"k")
        self.watch("k")
        self.hear()
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(PATIENCE), -signal.SIGINT)

    def test_lines_for_people(self):
        user = self.holder()
        user.acquire(b"k")
        process = subprocess.Popen([INSPECT_LOCKS, "watch", "k"], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "MORTISE_STORE": self.store})
        self.addCleanup(end_tree, process)
        self.assertRegex(process.stdout.readline(),
                         rf"^\S+  granted  pid {user.pid}  lock_holder  age \S+  left \S+  fence \d+\n$")


class Processes(ToolTest):

    def processes(self):
        return {each["pid"]: (each["state"], each["leases"])
                for each in json.loads(self.output("processes", "--json"))["processes"]}

    def test_their_leases_and_states(self):
        busy, idle, stopped, dead = (self.holder() for _ in range(4))
        for holder, key in (busy, b"a"), (busy, b"b"), (idle, b"c"), (stopped, b"d"), (dead, b"e"):
            holder.acquire(key)
        idle.release(b"c")
        stopped.process.send_signal(signal.SIGSTOP)
        dead.end()
        expected = {busy.pid: ("running", 2), idle.pid: ("running", 0), stopped.pid: ("stopped", 1), dead.pid: ("dead", 1)}
        self.until(lambda: self.processes() == expected)
        rows = self.output("processes").splitlines()
        self.assertEqual(rows[0].split(), ["PID", "COMMAND", "STATE", "LEASES"])
        self.assertIn([str(stopped.pid), "lock_holder", "stopped", "1"], [row.split() for row in rows])

    def test_a_lease_that_only_a_descendant_keeps(self):
        with_lock = self.start_with_lock("k", "--", "sh", "-c", "setsid sh -c 'echo ready; sleep 3' & exec sleep 60")
        self.assertEqual(with_lock.stdout.readline(), b"ready\n")
        with_lock.kill()
        with_lock.wait(PATIENCE)
        self.assertEqual(self.processes()[with_lock.pid], ("gone, kept by a descendant", 1))

    @unittest.skipUnless(os.geteuid() == 0, "it takes a pid namespace")
    def test_g3_a_pid_of_another_namespace_is_a_hint_only(self):
        self.store += "&guard=file"
        holder = self.holder()
        holder.acquire(b"k")
        elsewhere = ["unshare", "--pid", "--fork", "--mount-proc", INSPECT_LOCKS]
        output = subprocess.run([*elsewhere, "processes", "--json"], env={**os.environ, "MORTISE_STORE": self.store},
                                stdout=subprocess.PIPE, check=True, timeout=PATIENCE).stdout
        [process] = json.loads(output)["processes"]
        self.assertEqual((process["state"], process["alive"], process["pid_namespace"]),
                         ("in another namespace", True, os.stat("/proc/self/ns/pid").st_ino))

    @unittest.skipUnless(os.geteuid() == 0, "it takes a pid namespace")
    def test_g3_a_default_segment_of_another_namespace_is_refused(self):
        holder = self.holder()
        holder.acquire(b"k")
        finished = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", INSPECT_LOCKS],
                                  env={**os.environ, "MORTISE_STORE": self.store}, stderr=subprocess.PIPE, check=False,
                                  timeout=PATIENCE)
        self.assertEqual(finished.returncode, 3)
        self.assertIn(b"namespace", finished.stderr)
        self.assertFalse(self.is_free("k"))


class Stats(ToolTest):

    def test_how_full_it_is(self):
        user = self.holder()
        for key in b"a", b"b", b"c":
            user.acquire(key)
        user.release(b"c")
        stats = json.loads(self.output("stats", "--json"))
        self.assertEqual({name: stats[name] for name in ("leases", "sleepers", "known_keys", "processes", "process_slots")},
                         {"leases": 2, "sleepers": 0, "known_keys": 3, "processes": 1, "process_slots": 1024})
        self.assertGreaterEqual(stats["slots"], 1024)
        self.assertGreater(stats["fullest_stripe_percent"], 0)
        self.assertRegex(self.output("stats"), r"(?m)^known keys +3$")

    def counters(self, *key):
        return json.loads(self.output("stats", "--json", *key))["counters"]

    def test_contention_is_counted_of_a_key_and_of_all(self):
        user, other = self.holder(), self.holder()
        user.acquire(b"k")
        user.acquire(b"quiet")
        other.tell_to_acquire(b"k")
        self.assertEqual(other.hear(), "busy")
        other.tell_to_acquire(b"k", timeout_ms=PATIENCE * 1000)
        self.until(lambda: self.lock("k")["sleepers"] == 1)
        user.release(b"k")
        self.assertEqual(other.hear(), "granted")
        other.end()
        user.acquire(b"k", ttl_ms=1)
        self.until(lambda: self.is_free("k"))
        user.acquire(b"k")
        counters = self.counters("k")
        waited = counters.pop("waited_us")
        self.assertEqual(counters, {"grants": 4, "busy": 1, "expired": 1, "orphaned": 1, "waits": 1})
        self.assertEqual(self.lock("k")["counters"], {**counters, "waited_us": waited})
        self.assertEqual(self.counters("quiet"),
                         {"grants": 1, "busy": 0, "expired": 0, "orphaned": 0, "waits": 0, "waited_us": 0})
        self.assertEqual(self.counters(), {**counters, "grants": 5, "waited_us": waited})
        self.assertEqual(sum(part["waits"] for part in json.loads(self.output("stats", "--json"))["waits_by_length"]), 1)
        self.assertRegex(self.output("stats"), r"(?m)^of dead processes +1$")

    def test_a_key_is_counted_while_nobody_holds_it(self):
        user = self.holder()
        user.acquire(b"-k\n")
        user.release(b"-k\n")
        self.assertEqual(self.counters("--escaped", "--", r"-k\n")["grants"], 1)
        self.assertIsNone(self.counters("never seen"))
        self.assertRegex(self.output("stats", "never seen"), r"(?m)^grants +-$")


if __name__ == "__main__":
    unittest.main()
