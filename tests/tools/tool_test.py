"""What the tests of the tools have in common: a store of their own, processes that hold locks in it, and the tool."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

INSPECT_LOCKS = os.environ["INSPECT_LOCKS"]
LOCK_HOLDER = os.environ["LOCK_HOLDER"]
WITH_LOCK = os.environ["WITH_LOCK"]

# Far beyond anything that is usual: what takes longer has hung.
PATIENCE = 60

# A lease may expire this much later than its time to live says (C04).
LATEST_EXPIRY_MS = 5


class Holder:
    """A process that acquires locks when it is told to. See lock_holder.cpp for what it understands."""

    def __init__(self, store):
        self.process = subprocess.Popen([LOCK_HOLDER], env={**os.environ, "MORTISE_STORE": store},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid

    def tell(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")

    def hear(self):
        return self.process.stdout.readline().rstrip("\n")

    def tell_to_acquire(self, key, ttl_ms=600_000, timeout_ms=0):
        self.tell("acquire", key.hex(), ttl_ms, timeout_ms)

    def acquire(self, key, ttl_ms=600_000):
        self.tell_to_acquire(key, ttl_ms)
        answer = self.hear()
        assert answer == "granted", answer

    def release(self, key):
        self.tell("release", key.hex())
        answer = self.hear()
        assert answer == "released", answer

    def detach(self, key):
        self.tell("detach", key.hex())
        answer = self.hear()
        assert answer == "detached", answer

    def end(self):
        self.process.kill()
        self.process.communicate()


def descendants(pid):
    """The pids of the living descendants of a process, and its own."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
    except OSError:
        return []
    return [pid] + [each for child in children for each in descendants(int(child))]


def is_running(pid):
    """Is there such a process, and is it more than a zombie?"""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill_tree(pid):
    for each in descendants(pid):
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the end of another one ended it


def end_tree(process):
    kill_tree(process.pid)
    process.wait()
    for stream in process.stdout, process.stderr:
        if stream is not None:
            stream.close()


class ToolTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mortise-tool-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)  # other users may look at the segment too, if its mode lets them
        self.path = os.path.join(self.folder, "segment")
        self.store = f"shm:{self.path}?slots=1024"

    def holder(self, store=None):
        holder = Holder(store or self.store)
        self.addCleanup(holder.end)
        return holder

    def inspect(self, *arguments, store=None, binary=INSPECT_LOCKS, **options):
        """Runs the tool on the store of this test and returns the finished process, its output as bytes."""
        environment = {**os.environ, "MORTISE_STORE": store or self.store}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": PATIENCE, **options}
        return subprocess.run([binary, *arguments], env=environment, check=False, **options)

    def output(self, *arguments, exit_code=0, **options):
        finished = self.inspect(*arguments, **options)
        self.assertEqual((finished.returncode, finished.stderr), (exit_code, b""))
        return finished.stdout.decode()

    def table(self, *arguments, **options):
        """The rows of the table, each a list of its cells, without the headings."""
        lines = self.output(*arguments, **options).split("\n")
        self.assertEqual(lines.pop(), "")
        rows = [re.split(" {2,}", line) for line in lines]
        self.assertEqual(rows.pop(0), ["KEY", "PID", "COMMAND", "AGE", "LEFT", "FENCE", "SLEEPERS"])
        for row in rows:
            self.assertEqual(len(row), 7, row)
        return rows

    def locks(self, **options):
        return json.loads(self.output("list", "--json", **options))["locks"]

    def lock(self, key, **options):
        return json.loads(self.output("show", "--json", "--", key, **options))

    def start_with_lock(self, *arguments, store=None, **options):
        """Starts with-lock on the store of this test; it and all of its descendants are gone when the test is over."""
        environment = {**os.environ, "MORTISE_STORE": store or self.store, **options.pop("environment", {})}
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([WITH_LOCK, *arguments], env=environment, **options)
        self.addCleanup(end_tree, process)
        return process

    def with_lock(self, *arguments, exit_code=0, **options):
        """Runs with-lock to its end, and returns what it and its command wrote to standard output and error."""
        process = self.start_with_lock(*arguments, **options)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, exit_code, errors)
        return output.decode(), errors.decode()

    def is_free(self, key):
        return self.inspect("show", "--", key).returncode == 1

    def until(self, condition):
        """Looks again and again until the condition holds; fails when it never does."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it never came true")
