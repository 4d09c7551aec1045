"""Workers in other languages, with lock libraries of others, and ours: whoever holds a key excludes the others.

interop_test.py REDIS_SERVER OUR_PEER PYTHON NODE NODE_DIRECTORY

A peer is told on its standard input "acquire KEY TTL_MS", "release KEY", "extend KEY TTL_MS", or "count KEY ROUNDS": so often
take the key, and add one to a counter that nothing else protects. It answers "yes" or "no".
"""

import ctypes
import itertools
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

NODE_DIRECTORY, NODE, PYTHON, OUR_PEER, REDIS_SERVER = (sys.argv.pop() for _ in range(5))
HERE = pathlib.Path(__file__).parent
PR_SET_PDEATHSIG = 1


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Peer:
    def __init__(self, command, socket, counter):
        self.process = subprocess.Popen([*command, socket, counter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=die_with_parent)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def ask(self, *words):
        self.tell(*words)
        return self.answer()

    def end(self):
        self.process.kill()
        self.process.communicate()


class Interop(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(dir="/dev/shm")
        self.addCleanup(self.directory.cleanup)
        socket = self.directory.name + "/socket"
        self.server = subprocess.Popen([REDIS_SERVER, "--port", "0", "--unixsocket", socket, "--save", ""],
                                       stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        while not pathlib.Path(socket).exists():
            self.assertIsNone(self.server.poll())
            time.sleep(0.01)
        self.counter = pathlib.Path(self.directory.name, "counter")
        self.counter.write_text("0")
        # node finds modules beside the program
        program = shutil.copy(HERE / "peer.mjs", NODE_DIRECTORY)
        commands = {"mortise": [OUR_PEER], "redis-py": [PYTHON, "-B", HERE / "peer.py"], "verrou": [NODE, program]}
        self.peers = {name: Peer(command, socket, str(self.counter)) for name, command in commands.items()}
        for peer in self.peers.values():
            self.addCleanup(peer.end)

    def test_holder_excludes_all_others(self):
        for holder, other in itertools.permutations(self.peers, 2):
            with self.subTest(holder=holder, other=other):
                holder, other = self.peers[holder], self.peers[other]
                self.assertEqual(holder.ask("acquire", "k", 20000), "yes")
                self.assertEqual(other.ask("acquire", "k", 20000), "no")
                self.assertEqual(holder.ask("extend", "k", 30000), "yes")
                self.assertEqual(holder.ask("release", "k"), "yes")
                self.assertEqual(other.ask("acquire", "k", 20000), "yes")
                self.assertEqual(holder.ask("release", "k"), "no")
                self.assertEqual(holder.ask("extend", "k", 20000), "no")
                self.assertEqual(other.ask("release", "k"), "yes")

    def test_expired_lease_is_the_next_ones(self):
        for holder, other in itertools.permutations(self.peers, 2):
            with self.subTest(holder=holder, other=other):
                holder, other = self.peers[holder], self.peers[other]
                self.assertEqual(holder.ask("acquire", "k", 50), "yes")
                time.sleep(0.1)
                self.assertEqual(other.ask("acquire", "k", 20000), "yes")
                self.assertEqual(holder.ask("release", "k"), "no")
                self.assertEqual(holder.ask("acquire", "k", 20000), "no")
                self.assertEqual(other.ask("release", "k"), "yes")

    def test_all_together_lose_no_count(self):
        rounds = 200
        for peer in self.peers.values():
            peer.tell("count", "k", rounds)
        for name, peer in self.peers.items():
            self.assertEqual(peer.answer(), "yes", name)
        self.assertEqual(int(self.counter.read_text()), rounds * len(self.peers))


if __name__ == "__main__":
    unittest.main()
