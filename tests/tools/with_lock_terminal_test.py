"""with-lock as a job of an interactive shell, on a terminal."""

import os
import unittest

import pexpect

from tool_test import PATIENCE, ToolTest, WITH_LOCK

PROMPT = "ready> "


class JobControl(ToolTest):

    def setUp(self):
        super().setUp()
        environment = {**os.environ, "MORTISE_STORE": self.store, "PS1": PROMPT, "with_lock": WITH_LOCK, "TERM": "dumb"}
        self.shell = pexpect.spawn("bash", ["--norc", "--noprofile", "--noediting", "-i"], env=environment, echo=False,
                                   timeout=PATIENCE, encoding="utf-8")
        self.addCleanup(self.shell.close, force=True)
        self.shell.expect_exact(PROMPT)
        self.holder()  # the segment exists from now on

    def say(self, line):
        self.shell.sendline(line)

    def ask(self, line, answer):
        self.say(line)
        self.shell.expect(answer)
        self.shell.expect_exact(PROMPT)

    def test_ctrl_c_ends_the_command(self):
        self.say("$with_lock k -- bash -c 'echo begun; exec sleep 600'")
        self.shell.expect("begun\r\n")  # by the command, not as the terminal echoes the line
        self.shell.sendintr()
        self.shell.expect_exact(PROMPT)
        self.ask("echo status $?", "status 130")
        self.assertTrue(self.is_free("k"))

    def test_ctrl_z_and_fg(self):
        self.say("$with_lock --ttl 1s k -- bash -c 'echo begun; sleep 0.2; read line; echo got $line'")
        self.shell.expect("begun\r\n")  # by the command, not as the terminal echoes the line
        self.shell.sendcontrol("z")
        self.shell.expect("Stopped")
        self.shell.expect_exact(PROMPT)
        self.ask("sleep 2; jobs", "Stopped")
        self.assertFalse(self.is_free("k"), "a job that is stopped keeps its lock, beyond the ttl, too")
        self.say("fg")
        self.shell.expect_exact("with_lock")
        self.say("hello")
        self.shell.expect("got hello")
        self.shell.expect_exact(PROMPT)
        self.ask("echo status $?", "status 0")
        self.assertTrue(self.is_free("k"))

    def test_ctrl_z_when_the_command_has_the_terminal(self):
        self.say("$with_lock k -- bash -c 'read first; echo got $first; read second; echo got $second'")
        self.say("one")
        self.shell.expect("got one")
        self.shell.sendcontrol("z")
        self.shell.expect("Stopped")
        self.shell.expect_exact(PROMPT)
        self.say("fg")
        self.shell.expect_exact("with_lock")
        self.say("two")
        self.shell.expect("got two")
        self.shell.expect_exact(PROMPT)
        self.ask("echo status $?", "status 0")

    def test_ctrl_c_when_the_command_has_the_terminal(self):
        self.say("$with_lock k -- bash -c 'read first; echo got $first; exec sleep 600'")
        self.say("one")
        self.shell.expect("got one")
        self.shell.sendintr()
        self.shell.expect_exact(PROMPT)
        self.ask("echo status $?", "status 130")

    def test_in_the_background_it_stops_when_it_reads(self):
        self.ask("$with_lock k -- bash -c 'read line; echo got $line' &", r"\[1\]")
        self.until(lambda: not self.is_free("k"))
        self.say("sleep 1; jobs")
        self.shell.expect(r"Stopped \(tty input\)|Stopped")
        self.shell.expect_exact(PROMPT)
        self.say("fg")
        self.shell.expect_exact("with_lock")
        self.say("hello")
        self.shell.expect("got hello")
        self.shell.expect_exact(PROMPT)

    def test_bg_lets_it_go_on(self):
        self.say("$with_lock k -- bash -c 'echo begun; sleep 1; echo over'")
        self.shell.expect("begun\r\n")  # by the command, not as the terminal echoes the line
        self.shell.sendcontrol("z")
        self.shell.expect("Stopped")
        self.shell.expect_exact(PROMPT)
        self.say("bg")
        self.shell.expect("over\r\n")
        self.ask("wait; echo status $?", "status 0")

    def test_a_pipeline_is_one_job(self):
        self.say("$with_lock k -- bash -c 'trap \"echo goes on\" CONT; echo begun; while true; do sleep 0.1; done' | cat")
        self.shell.expect("begun\r\n")
        self.shell.sendcontrol("z")
        self.shell.expect("Stopped")
        self.shell.expect_exact(PROMPT)
        self.say("fg")
        self.shell.expect("goes on\r\n")  # before that, the terminal may still be the shell's
        self.shell.sendintr()
        self.shell.expect_exact(PROMPT)
        self.ask("echo status ${PIPESTATUS[0]}", "status 130")

    def test_ctrl_z_while_it_waits(self):
        user = self.holder()
        user.acquire(b"k")
        self.say("$with_lock k -- echo ran")
        self.until(lambda: self.lock("k")["sleepers"] == 1)
        self.shell.sendcontrol("z")
        self.shell.expect("Stopped")
        self.shell.expect_exact(PROMPT)
        user.release(b"k")
        self.assertTrue(self.is_free("k"))
        self.say("fg")
        self.shell.expect("ran")
        self.shell.expect_exact(PROMPT)


if __name__ == "__main__":
    unittest.main()
