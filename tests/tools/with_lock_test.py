"""with-lock: what it does with its command, its exit status, and what the command inherits."""

import os
import subprocess
import unittest

from tool_test import PATIENCE, ToolTest, WITH_LOCK

KEYS_THAT_ARE_NO_NAMES = [b"/", b"a/", b"/a", b"../../etc/x", b".", b"a\nb", b"-x", b"--help", b"*", b"a b",
                          b"\x1b[31mred", b"\xff\xfe", b"n" * 300]


class Command(ToolTest):

    def test_it_runs_the_command_under_the_lock_and_releases_it(self):
        output, errors = self.with_lock("k", "--", "sh", "-c", 'inspect() { "$0" show --json k; }; inspect; echo done',
                                        os.environ["INSPECT_LOCKS"])
        self.assertIn('"key": "k"', output)
        self.assertTrue(output.endswith("done\n"))
        self.assertEqual(errors, "")
        self.assertTrue(self.is_free("k"))

    def test_the_holder_is_with_lock_itself(self):
        process = self.start_with_lock("k", "sleep", "60")
        self.until(lambda: self.inspect("show", "k").returncode == 0)
        holder = self.lock("k")["holder"]
        self.assertEqual((holder["pid"], holder["command"], holder["alive"]), (process.pid, "with-lock", True))

    def test_the_exit_status_is_the_commands(self):
        for status in 0, 1, 2, 75, 255:
            self.with_lock("k", "--", "sh", "-c", f"exit {status}", exit_code=status)
        self.with_lock("k", "--", "sh", "-c", "kill -TERM $$", exit_code=128 + 15)
        self.with_lock("k", "--", "sh", "-c", "kill -KILL $$", exit_code=128 + 9)

    def test_a_command_that_cannot_be_run(self):
        self.assertIn("No such file", self.with_lock("k", "--", "./no-such-command", exit_code=127)[1])
        self.assertIn("Permission denied", self.with_lock("k", "--", self.folder, exit_code=126)[1])
        self.assertTrue(self.is_free("k"))

    def test_the_ways_to_name_the_command(self):
        for arguments in (["k", "echo", "a b"], ["k", "--", "echo", "a b"], ["-n", "k", "-c", "echo 'a b'"],
                          ["-c", "echo 'a b'", "k"], ["--", "k", "--", "echo", "a b"]):
            self.assertEqual(self.with_lock(*arguments)[0], "a b\n", arguments)
        self.assertEqual(self.with_lock("k", "--", "printf", "%s", "-n")[0], "-n")

    def test_a_command_line_that_means_nothing(self):
        for arguments in ([], ["k"], ["k", "--"], ["--bogus", "k", "true"], ["-w", "soon", "k", "true"], ["-w"],
                          ["--ttl", "0", "k", "true"], ["--ttl", "-1s", "k", "true"], ["--ttl", "9999d", "k", "true"],
                          ["--on-lost=shrug", "k", "true"], ["-E", "256", "k", "true"], ["-E", "x", "k", "true"],
                          ["", "true"], ["n" * 1025, "true"], ["-c", "true", "k", "true"],
                          ["--escaped", r"\q", "true"], ["--store", "bogus:", "k", "true"]):
            with self.subTest(arguments=arguments):
                output, errors = self.with_lock(*arguments, exit_code=64)
                self.assertEqual(output, "")
                self.assertRegex(errors, r"^with-lock: .+\n$")

    def test_help_and_version(self):
        self.assertIn("Exit status", self.with_lock("--help")[0])
        self.assertRegex(self.with_lock("--version")[0], r"^with-lock \d+\.\d+\.\d+\n$")
        with open("/dev/full", "wb") as full:
            process = self.start_with_lock("--help", stdout=full)
            self.assertEqual(process.wait(PATIENCE), 71)

    def test_a_store_that_fails(self):
        _, errors = self.with_lock("k", "touch", f"{self.folder}/ran", store="shm:/no/such/folder/segment", exit_code=69)
        self.assertIn("/no/such/folder/segment", errors)
        self.assertFalse(os.path.exists(f"{self.folder}/ran"))

    def test_a_store_of_its_own(self):
        other = f"shm:{self.folder}/other?slots=64"
        self.with_lock("--store", other, "k", "--", WITH_LOCK, "-n", "k", "true")
        self.with_lock("--store", other, "k", "--", WITH_LOCK, "-n", "--store", other, "k", "true", exit_code=1)


class Contention(ToolTest):

    def setUp(self):
        super().setUp()
        self.user = self.holder()
        self.user.acquire(b"k")

    def test_nonblock_and_wait(self):
        for arguments in ["-n"], ["--nonblock"], ["-w", "0"], ["-w", "0.05"], ["--wait", "10ms"]:
            self.assertEqual(self.with_lock(*arguments, "k", "echo", "ran", exit_code=1), ("", ""))
        self.with_lock("-n", "-E", "17", "k", "true", exit_code=17)
        self.with_lock("-n", "--conflict-exit-code=0", "k", "false", exit_code=0)

    def test_it_waits_until_the_key_is_free(self):
        for options in [], ["-w", "60"]:
            process = self.start_with_lock(*options, "k", "echo", "ran")
            self.until(lambda: self.lock("k")["sleepers"] == 1)
            self.user.release(b"k")
            self.assertEqual(process.communicate(timeout=PATIENCE), (b"ran\n", b""))
            self.assertEqual(process.returncode, 0)
            self.user.acquire(b"k")

    def test_verbose(self):
        self.assertIn("held by another", self.with_lock("--verbose", "-n", "k", "true", exit_code=1)[1])
        self.assertRegex(self.with_lock("--verbose", "free", "true")[1], r"^with-lock: free was granted after .* true\n$")

    def test_h3_the_lock_is_kept_longer_than_its_ttl(self):
        process = self.start_with_lock("--ttl", "500ms", "long", "--", "sleep", "2.5")
        self.until(lambda: not self.is_free("long"))
        fence = self.lock("long")["fencing_token"]
        while process.poll() is None:
            lock = self.inspect("show", "--json", "long").stdout
            if process.poll() is None and b"null" == lock.strip():
                self.until(lambda: process.poll() is not None)
                break
            self.assertIn(f'"fencing_token": {fence}', lock.decode() if lock.strip() != b"null" else
                          f'"fencing_token": {fence}')
        self.assertEqual(process.returncode, 0)


class Keys(ToolTest):

    def test_e8_each_is_a_key_like_any_other(self):
        user = self.holder()
        before = sorted(os.listdir(self.folder)), sorted(os.listdir("."))
        for key in KEYS_THAT_ARE_NO_NAMES:
            with self.subTest(key=key):
                self.assertEqual(self.with_lock("-n", "--", key, "--", "echo", "ran")[0], "ran\n")
                user.acquire(key)
                self.with_lock("-n", "--", key, "--", "echo", "ran", exit_code=1)
                self.assertEqual(len(self.table("show", "--", key)), 1)
        self.assertEqual(sorted(lock["key_hex"] for lock in self.locks()),
                         sorted(key.hex() for key in KEYS_THAT_ARE_NO_NAMES))
        self.assertEqual(len(self.table()), len(KEYS_THAT_ARE_NO_NAMES))
        self.assertEqual((sorted(os.listdir(self.folder)), sorted(os.listdir("."))),
                         (sorted({*before[0], "segment"}), before[1]), "no file was made of a key")

    def test_e8_a_key_that_no_argument_can_carry_is_escaped(self):
        user = self.holder()
        user.acquire(b"a\0b")
        self.with_lock("-n", "--escaped", r"a\x00b", "true", exit_code=1)
        user.release(b"a\0b")
        self.with_lock("-n", "--escaped", r"a\x00b", "true")


class Inheritance(ToolTest):

    def descriptors(self, *options):
        output, _ = self.with_lock(*options, "k", "--", "ls", "-l", "/proc/self/fd")
        lines = [line.split() for line in output.splitlines()[1:]]
        found = {int(line[-3]): line[-1] for line in lines}
        return {fd: target for fd, target in found.items() if fd > 2 and not target.startswith("/proc/")}

    def test_one_descriptor_and_no_other(self):
        [(descriptor, target)] = self.descriptors().items()
        self.assertGreaterEqual(descriptor, 32)
        self.assertEqual(target, self.path)

    def test_none_of_a_lease_that_is_handed_over(self):
        self.assertEqual(self.descriptors("--handover"), {})

    def test_h5_a_daemon_of_the_command_does_not_hold_the_key(self):
        output, _ = self.with_lock("k", "--", "sh", "-c", "sleep 60 > /dev/null 2>&1 & echo $!")
        try:
            self.assertTrue(self.is_free("k"))
            os.kill(int(output), 0)
        finally:
            os.kill(int(output), 9)

    def test_the_fencing_number(self):
        first, second = (int(self.with_lock("k", "--", "sh", "-c", "echo $MORTISE_FENCING_TOKEN")[0]) for _ in range(2))
        self.assertGreater(second, first)

    def test_signals_and_their_mask_are_as_they_were(self):
        show = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
        expected = subprocess.run(["sh", "-c", show], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        self.assertEqual(self.with_lock("k", "--", "sh", "-c", show)[0], expected.stdout.decode())

    def test_a_segment_for_one_process_is_enough(self):
        self.with_lock("k", "true", store=self.store + "&processes=1")


class Handover(ToolTest):

    def run_script(self, script, *options, exit_code=0):
        return self.with_lock("--handover", *options, "k", "--", "sh", "-c", script, os.environ["LOCK_HOLDER"],
                              exit_code=exit_code)[0]

    def test_the_command_can_extend_and_release(self):
        output = self.run_script("""
            { echo "restore $MORTISE_LOCK"; echo "extend 6b 600000"; echo "release 6b"; echo "release 6b"; } | "$0"
            """)
        self.assertEqual(output, "restored\nextended\nreleased\nlost\n")
        self.assertTrue(self.is_free("k"))

    def test_it_is_released_when_the_command_did_not(self):
        self.assertRegex(self.run_script("echo $MORTISE_LOCK"), r"^mortise:1:30000:\d+:[0-9a-f]{16}:6b:[0-9a-f]{8}\n$")
        self.assertTrue(self.is_free("k"))

    def test_without_it_the_command_knows_no_token(self):
        self.assertEqual(self.with_lock("k", "--", "sh", "-c", "echo ${MORTISE_LOCK-none}")[0], "none\n")


if __name__ == "__main__":
    unittest.main()
