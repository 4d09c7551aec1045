"""Keys are bytes: whatever they are, inspect-locks prints one line for each, and takes the line's text back."""

import re
import unicodedata
import unittest

from tool_test import ToolTest

HOSTILE_KEYS = [
    b"/", b"a/", b"/a", b"../../etc/x", b".", b"a\nb", b"a\0b", b"-x", b"--help", b"*", b"a b", b"\x1b[31mred",
    b"\xff\xfe", b"n" * 300,
    # For the command line.
    b"-", b"--", b"-5", b"--json", b"list", b"show", b"[a,b]", b"{}", b"%%", b"'\"", b"k=v", b"@file",
    # For the notation.
    b"\\", b"\\\\", b"\\n", b"\\x41", b"a\\",
    # For columns and lines.
    b" ", b" a", b"a ", b"a  b", b"   ", b"\t", b"\r\n", b"\x7f", "\x85".encode(), "\u2028".encode(),
    "\u202egnp.exe".encode(), "\u3000".encode(),
    # Nearly UTF-8: overlong, a surrogate, beyond the last character, cut short.
    b"\xc0\xaf", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", "漢".encode()[:2], b"\xf0\x9f\x99",
    # Every byte; the longest key.
    bytes(range(256)), b"\xff" * 1024,
]


def unescaped(text):
    """The bytes that the notation stands for, read by the book and not by the tool."""
    shorthands = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}

    def byte(escape):
        letters = escape[1]
        return shorthands[letters] if letters in shorthands else bytes.fromhex(letters[1:].decode())

    return re.sub(rb"\\(x[0-9a-f]{2}|[^x])", byte, text.encode())


def columns(text):
    """How many columns a terminal gives to the text, by the tables of Unicode."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class HostileKeys(ToolTest):

    def setUp(self):
        super().setUp()
        holder = self.holder()
        for key in HOSTILE_KEYS:
            holder.acquire(key)

    def test_e8_the_table_has_one_line_for_each_and_each_reads_back(self):
        text = self.output()
        self.assertEqual(len(text.splitlines()), 1 + len(HOSTILE_KEYS))  # by every kind of line break
        self.assertFalse({unicodedata.category(c) for c in text.replace("\n", "")} & {"Cc", "Zl", "Zp"})
        self.assertEqual([unescaped(row[0]) for row in self.table()], sorted(HOSTILE_KEYS))

    def test_e8_json_has_the_text_of_the_table_and_the_exact_bytes(self):
        locks = self.locks()
        self.assertEqual([lock["key"] for lock in locks], [row[0] for row in self.table()])
        self.assertEqual([bytes.fromhex(lock["key_hex"]) for lock in locks], sorted(HOSTILE_KEYS))

    def test_show_takes_the_escaped_text_back(self):
        for lock in self.locks():
            with self.subTest(key=lock["key"]):
                [row] = self.table("show", "--escaped", "--", lock["key"])
                self.assertEqual(unescaped(row[0]).hex(), lock["key_hex"])

    def test_show_takes_the_bytes_as_they_are(self):
        for key in HOSTILE_KEYS:
            if b"\0" in key:
                continue  # no argument can carry it: that is what --escaped is for
            with self.subTest(key=key):
                self.assertEqual(self.lock(key)["key_hex"], key.hex())


class KeyText(ToolTest):

    def keys_shown(self, *keys):
        holder = self.holder()
        for key in keys:
            holder.acquire(key)
        return [row[0] for row in self.table()]

    def test_the_notation(self):
        notation = {
            b"a\nb\tc\rd\\e": r"a\nb\tc\rd\\e",
            b"a\0b\x1b[31m\x7f": r"a\x00b\x1b[31m\x7f",
            b"\xff\xfe": r"\xff\xfe",
            b" a  b ": r"\x20a \x20b\x20",
            "naïve 漢字 🙂".encode(): "naïve 漢字 🙂",
            "\u202eevil\u2066".encode(): r"\xe2\x80\xaeevil\xe2\x81\xa6",
        }
        self.assertEqual(self.keys_shown(*notation), [notation[key] for key in sorted(notation)])

    def test_columns_are_aligned_by_display_width(self):
        holder = self.holder()
        for key in "漢字かな", "e\u0301cole", "🙂", "plain", "ﾊﾝｶｸ", "한국":
            holder.acquire(key.encode())
        lines = self.output().splitlines()
        starts = {columns(line[:line.index("PID" if line.startswith("KEY") else str(holder.pid))]) for line in lines}
        self.assertEqual(starts, {len("漢字かな") * 2 + 2})

    def test_a_long_key_is_not_cut_and_pushes_only_its_own_line(self):
        long_key = b"n" * 1024
        self.assertEqual(self.keys_shown(b"short", long_key), [long_key.decode(), "short"])
        headings, _, short = self.output().splitlines()
        self.assertEqual(headings.index("PID"), len("short") + 2)
        self.assertEqual(short[:7], "short  ")


if __name__ == "__main__":
    unittest.main()
