"""inspect-locks top: the live screen, on a terminal of our own."""

import os
import pty
import signal
import struct
import subprocess
import termios
import fcntl
import threading
import unittest

import pyte

from tool_test import INSPECT_LOCKS, PATIENCE, ToolTest, end_tree

LINES, COLUMNS = 24, 100


class Terminal:
    """Runs the tool on a pseudo terminal, and knows what its screen shows."""

    def __init__(self, test, *arguments, lines=LINES, **environment):
        self.screen = pyte.Screen(COLUMNS, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.master, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, COLUMNS, 0, 0))
        self.settings = termios.tcgetattr(self.terminal)
        self.raw = b""
        self.process = subprocess.Popen([INSPECT_LOCKS, *arguments], stdin=self.terminal, stdout=self.terminal,
                                        stderr=subprocess.PIPE, start_new_session=True,
                                        env={**os.environ, "MORTISE_STORE": test.store, "TERM": "linux", **environment})
        test.addCleanup(end_tree, self.process)
        self.mutex = threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                output = os.read(self.master, 65536)
            except OSError:
                return
            with self.mutex:
                self.raw += output
                self.stream.feed(output)

    def lines(self):
        with self.mutex:
            return [line.rstrip() for line in self.screen.display]

    def press(self, keys):
        os.write(self.master, keys.encode())

    def keys_shown(self):
        return [line.split()[0] for line in self.lines()[3:] if line]


class Top(ToolTest):

    def setUp(self):
        super().setUp()
        self.store = self.store.replace("1024", "16384")
        self.user = self.holder()
        for key, ttl_ms in (b"alpha", 300_000), (b"beta", 100_000), (b"gamma", 200_000):
            self.user.acquire(key, ttl_ms)
        waiter = self.holder()
        waiter.tell_to_acquire(b"gamma", timeout_ms=PATIENCE * 1000)
        self.until(lambda: self.lock("gamma")["sleepers"] == 1)

    def top(self, *arguments, **options):
        return Terminal(self, "top", "--interval", "0.05", *arguments, **options)

    def test_it_shows_what_is_held_and_keeps_up(self):
        top = self.top()
        self.until(lambda: len(top.keys_shown()) == 3)
        self.assertIn("locks 3  sleepers 1  processes 2", top.lines()[0])
        self.assertEqual(top.lines()[2].split(),
                         ["KEY", "PID", "COMMAND", "AGE", "LEFT", "FENCE", "SLEEPERS", "WAITED"])
        self.user.release(b"alpha")
        self.until(lambda: "alpha" not in top.keys_shown())

    def test_the_orders(self):
        top = self.top()
        self.until(lambda: top.keys_shown()[:1] == ["gamma"])  # most contended
        for letter, expected in (("l", ["beta", "gamma", "alpha"]), ("a", ["alpha", "beta", "gamma"]),
                                 ("k", ["alpha", "beta", "gamma"])):
            top.press(letter)
            self.until(lambda: top.keys_shown() == expected)
        top.press("w")
        self.until(lambda: top.keys_shown()[:1] == ["gamma"])

    def test_filter_and_pause(self):
        top = self.top()
        top.press("/et\n")
        self.until(lambda: top.keys_shown() == ["beta"])
        top.press("\x1b")
        self.until(lambda: len(top.keys_shown()) == 3)
        top.press("p")
        self.until(lambda: "PAUSED" in top.lines()[0])
        self.user.release(b"alpha")
        top.press("k")
        self.until(lambda: "sorted by key" in top.lines()[1])
        self.assertIn("alpha", top.keys_shown())
        top.press("p")
        self.until(lambda: "alpha" not in top.keys_shown())

    def assert_terminal_is_restored(self, top):
        self.assertEqual(termios.tcgetattr(top.terminal), top.settings)
        # The cursor is back.
        self.until(lambda: not top.screen.cursor.hidden)

    def test_q_leaves_the_terminal_as_it_was(self):
        top = self.top()
        self.until(lambda: len(top.keys_shown()) == 3)
        self.assertNotEqual(termios.tcgetattr(top.terminal), top.settings)
        top.press("q")
        self.assertEqual(top.process.wait(PATIENCE), 0)
        self.assert_terminal_is_restored(top)

    def test_so_do_signals(self):
        for number in signal.SIGINT, signal.SIGTERM:
            top = self.top()
            self.until(lambda: len(top.keys_shown()) == 3)
            top.process.send_signal(number)
            top.process.wait(PATIENCE)
            self.assert_terminal_is_restored(top)

    def test_a_thousand_locks_without_flicker(self):
        for number in range(1000):
            self.user.acquire(f"many:{number:04}".encode())
        top = self.top(lines=50)
        top.press("k")
        self.until(lambda: top.keys_shown()[:1] == ["alpha"] and top.keys_shown()[-1] == "many:0043")
        with top.mutex:
            top.raw = b""
        shown = top.lines()[2:]
        for _ in range(20):
            before = len(top.raw)
            self.until(lambda: len(top.raw) > before)  # the ages change
            self.assertEqual([line.split()[0] for line in top.lines()[2:]], [line.split()[0] for line in shown])
        self.assertNotIn(b"\x1b[2J", top.raw, "what has not changed is not drawn again")
        self.assertNotIn(b"many:", top.raw)
        top.press("\x1b[6~")  # a page down
        self.until(lambda: top.keys_shown()[0] == "many:0044")

    def test_without_a_terminal_it_says_so(self):
        finished = self.inspect("top", stdin=subprocess.DEVNULL)
        self.assertEqual((finished.returncode, finished.stdout), (2, b""))
        self.assertIn(b"terminal", finished.stderr)


class Colours(ToolTest):

    def output_on_terminal(self, **environment):
        terminal = Terminal(self, "list", **environment)
        terminal.process.wait(PATIENCE)
        self.until(lambda: b"KEY" in terminal.raw and terminal.raw.endswith(b"\n"))
        return terminal.raw

    def test_only_on_a_terminal_and_if_wanted(self):
        dead = self.holder()
        dead.acquire(b"k")
        dead.end()
        self.until(lambda: self.lock("k", exit_code=1)["holder"]["alive"] is False)
        self.assertIn(b"\x1b[31m", self.output_on_terminal())
        self.assertNotIn(b"\x1b", self.output_on_terminal(NO_COLOR="1"))
        self.assertNotIn(b"\x1b", self.output_on_terminal(TERM="dumb"))
        self.assertNotIn("\x1b", self.output())


if __name__ == "__main__":
    unittest.main()
