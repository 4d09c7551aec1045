"""What inspect-locks says, and with which exit code, when it can't do what it was asked."""

import os
import shutil
import subprocess
import unittest

from tool_test import INSPECT_LOCKS, ToolTest

NOBODY = 65534


class Failures(ToolTest):

    def assert_fails(self, exit_code, *arguments, **options):
        """One sentence on stderr, nothing on stdout. Returns the sentence."""
        finished = self.inspect(*arguments, **options)
        sentence = finished.stderr.decode()
        self.assertEqual(finished.returncode, exit_code, sentence)
        self.assertFalse(finished.stdout)
        self.assertRegex(sentence, r"^inspect-locks: .+\n$")
        return sentence

    def make_store(self, options=""):
        store = self.store + options
        holder = self.holder(store)
        holder.acquire(b"k")
        return holder


class Usage(Failures):

    def setUp(self):
        super().setUp()
        self.make_store()

    def test_a_command_line_that_means_nothing(self):
        for arguments in (["--bogus"], ["bogus"], ["show"], ["show", "k", "b"], ["list", "k"], ["list", "show", "k"],
                          ["--store"], ["--json=maybe"], ["--store", "a:", "--store", "b:"], ["--escaped"],
                          ["show", "-x"]):
            with self.subTest(arguments=arguments):
                self.assert_fails(2, *arguments)

    def test_what_cannot_be_a_key(self):
        for arguments in [""], ["n" * 1025], ["--escaped", r"\q"], ["--escaped", "\\"], ["--escaped", r"\x4"], \
                ["--escaped", r"\xg0"], ["--escaped", r"\x+1"], ["--escaped", ""]:
            with self.subTest(arguments=arguments):
                self.assert_fails(2, "show", *arguments)

    def test_a_bad_url_is_named(self):
        for url in "bogus:", "bogus://host/", "k", f"shm:{self.path}?bogus=1", f"shm:{self.path}?slots=many":
            with self.subTest(url=url):
                for sentence in self.assert_fails(2, "--store", url), self.assert_fails(2, store=url):
                    self.assertIn("bogus" if "bogus" in url else "many" if "many" in url else url, sentence)
        self.assert_fails(2, "--store", "")


class Unopenable(Failures):

    def assert_left_alone(self, content):
        with open(self.path, "wb") as file:
            file.write(content)
        self.assertIn(self.path, self.assert_fails(3))
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), content)

    def test_a_store_that_is_not_there_is_not_made(self):
        self.assertIn(self.path, self.assert_fails(3))
        self.assertIn(self.path, self.assert_fails(3, "show", "k"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_file_that_is_something_else(self):
        for content in b"", b"x", bytes(1 << 20), os.urandom(1 << 20), b"#!/bin/sh\n" * 10_000:
            with self.subTest(content=content[:16]):
                self.assert_left_alone(content)

    def test_a_segment_that_was_cut_short(self):
        self.make_store()
        with open(self.path, "rb") as file:
            segment = file.read()
        os.unlink(self.path)
        for size in 1, 64, 4096, len(segment) // 2, len(segment) - 1:
            with self.subTest(size=size):
                self.assert_left_alone(segment[:size])

    def test_a_path_that_is_no_file(self):
        os.mkdir(self.path)
        self.assertIn(self.path, self.assert_fails(3))
        self.assert_fails(3, store=f"shm:{self.path}/nowhere/segment")

    def test_a_fifo_does_not_block(self):
        os.mkfifo(self.path)
        self.assertIn(self.path, self.assert_fails(3))

    def test_memory_stores_of_other_processes_cannot_be_seen(self):
        self.assert_fails(3, store="memory:")


class Permissions(Failures):
    """As root the tool is run as another user, from a copy that this user can reach; as anybody else, as oneself."""

    def setUp(self):
        super().setUp()
        self.as_reader = {}
        if os.geteuid() == 0:
            binary = shutil.copy(INSPECT_LOCKS, self.folder)
            self.as_reader = {"binary": binary, "user": NOBODY, "group": NOBODY, "extra_groups": []}

    def test_who_may_not_read_it_is_told_so(self):
        self.make_store("&mode=0600")
        if not self.as_reader:
            os.chmod(self.path, 0)
        self.assertIn(self.path, self.assert_fails(3, **self.as_reader))

    def test_who_may_read_it_can_look(self):
        holder = self.make_store("&mode=0644")
        os.chmod(self.path, 0o444)
        [lock] = self.locks(**self.as_reader)
        self.assertEqual((lock["key"], lock["holder"]["pid"], lock["holder"]["alive"]), ("k", holder.pid, True))
        self.assertEqual(self.table("show", "k", **self.as_reader)[0][:2], ["k", str(holder.pid)])
        holder.process.kill()
        self.until(lambda: not self.locks(**self.as_reader)[0]["holder"]["alive"])


class Output(Failures):

    def setUp(self):
        super().setUp()
        self.make_store()

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            for arguments in [], ["--json"], ["show", "k"], ["--help"], ["--version"]:
                with self.subTest(arguments=arguments):
                    self.assertIn("No space left", self.assert_fails(4, *arguments, stdout=full))

    def test_a_reader_that_went_away(self):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as pipe:
            self.assertIn("Broken pipe", self.assert_fails(4, stdout=pipe))

    def test_no_output_at_all(self):
        finished = subprocess.run(["sh", "-c", '"$0" >&-', INSPECT_LOCKS], stderr=subprocess.PIPE, check=False,
                                  env={**os.environ, "MORTISE_STORE": self.store})
        self.assertEqual(finished.returncode, 4, finished.stderr)


if __name__ == "__main__":
    unittest.main()
