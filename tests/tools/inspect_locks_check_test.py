"""inspect-locks check: what is wrong with a store, and --repair: mending it."""

import json
import os
import signal
import unittest

from tool_test import ToolTest

SOUND = "The store is sound.\n"
DAMAGED = "The store is damaged.\n"


class CheckTest(ToolTest):

    def setUp(self):
        super().setUp()
        self.user = self.holder()
        self.user.acquire(b"held")
        self.user.acquire(b"handed over")
        self.user.detach(b"handed over")

    def segment(self):
        with open(self.path, "rb") as file:
            return file.read()

    def overwrite(self, offset, content):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(content)

    def damage(self):
        """Makes another key of the one that is held, and that process end."""
        self.user.end()
        self.overwrite(self.segment().index(b"held\0"), b"hold")

    def findings(self, exit_code, *arguments):
        report = json.loads(self.output("check", "--json", *arguments, exit_code=exit_code))
        self.assertEqual(list(report), ["store", "sound", "findings", "repairs"])
        self.assertEqual(report["store"], self.store)
        self.assertEqual(report["sound"], exit_code == 0)
        return [(each["severity"], each["sentence"]) for each in report["findings"]], report["repairs"]


class Check(CheckTest):

    def test_a_store_in_use_is_sound(self):
        before = self.segment()
        self.assertEqual(self.output("check"), SOUND)
        self.assertEqual(self.findings(0), ([], []))
        self.assertEqual(self.segment(), before)

    def test_a_store_whose_user_was_killed_is_sound(self):
        self.user.end()
        self.assertEqual(self.output("check"), SOUND)

    def test_damage_is_told_in_a_sentence(self):
        self.damage()
        before = self.segment()
        line, verdict = self.output("check", exit_code=1).splitlines(keepends=True)
        self.assertRegex(line, r'^damage: stripe \d+, slot \d+ \(key "hold"\): it has a key that is not the one of its hash\n$')
        self.assertEqual(verdict, DAMAGED)
        [(severity, sentence)], repairs = self.findings(1)
        self.assertEqual((f"{severity}: {sentence}\n", repairs), (line, []))
        self.assertEqual(self.segment(), before)

    def test_it_needs_no_right_to_write(self):
        os.chmod(self.path, 0o444)
        self.assertEqual(self.output("check"), SOUND)

    def test_a_damaged_header_cannot_be_checked_or_repaired(self):
        self.user.end()
        self.overwrite(40, b"\xff")
        for arguments in ["check"], ["check", "--repair"]:
            finished = self.inspect(*arguments)
            self.assertEqual((finished.returncode, finished.stdout), (3, b""))
            self.assertIn(b"stop its users and remove it", finished.stderr)


class Repair(CheckTest):

    def test_a_store_in_use_is_left_alone(self):
        before = self.segment()
        finished = self.inspect("check", "--repair")
        self.assertEqual((finished.returncode, finished.stdout), (3, b""))
        self.assertIn(f"{self.user.pid} (lock_holder)", finished.stderr.decode())
        self.assertEqual(self.segment(), before)

    def test_a_stopped_process_uses_it_too(self):
        self.user.process.send_signal(signal.SIGSTOP)
        self.assertEqual(self.inspect("check", "--repair").returncode, 3)

    def test_damage_is_mended(self):
        self.damage()
        fence = self.lock("handed over")["fencing_token"]
        *lines, verdict = self.output("check", "--repair").splitlines(keepends=True)
        self.assertRegex(lines[0], r'^repaired: stripe .*\(key "hold"\).*; the slot was wiped\n$')
        self.assertEqual(verdict, SOUND)
        self.assertEqual(self.findings(0, "--repair"), ([], []), "there is nothing left to do")
        self.assertEqual(self.findings(0), ([], []))
        # A lease that was handed over is still there, and the store can be used.
        [lock] = self.locks()
        self.assertEqual((lock["key"], lock["fencing_token"]), ("handed over", fence))
        next_user = self.holder()
        next_user.acquire(b"held")
        next_user.tell_to_acquire(b"handed over")
        self.assertEqual(next_user.hear(), "busy")
        self.assertGreater(self.lock("held")["fencing_token"], fence)

    def test_a_store_that_is_not_there_is_not_made(self):
        path = self.path + "-2"
        self.assertEqual(self.inspect("check", "--repair", store=f"shm:{path}").returncode, 3)
        self.assertFalse(os.path.exists(path))

    def test_what_is_no_command_line(self):
        for arguments in ["--repair"], ["list", "--repair"], ["check", "k"], ["check", "show"]:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.inspect(*arguments).returncode, 2)
        self.assertEqual(self.inspect("check", store="memory:").returncode, 3)


if __name__ == "__main__":
    unittest.main()
