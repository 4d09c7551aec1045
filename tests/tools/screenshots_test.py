"""The screenshots in docs/images show what the tool shows today: the same columns, and a row for each lock of tools/screenshots."""

import os
import re
import unittest

from tool_test import ToolTest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
LEFT, COLUMN, TOP, LINE = 10, 8.4, 24, 18  # as tools/screenshots draws


def rows(name):
    """The lines of a screenshot, as text: each character is drawn at a place of its own."""
    with open(f"{ROOT}/docs/images/{name}.svg", encoding="utf-8") as file:
        cells = re.findall(r'<text x="([\d.]+)" y="(\d+)"[^>]*>(?:&#x27;|&quot;|&amp;|&lt;|&gt;|(.))</text>', file.read())
    lines = {}
    for x, y, character in cells:
        lines.setdefault((int(y) - TOP) // LINE, {})[round((float(x) - LEFT) / COLUMN)] = character or "?"
    return ["".join(line.get(column, " ") for column in range(max(line) + 1)) for _, line in sorted(lines.items())]


class Screenshots(ToolTest):

    def setUp(self):
        super().setUp()
        self.holder().acquire(b"k")
        self.headings = self.output().split("\n")[0].split()
        with open(f"{ROOT}/tools/screenshots", encoding="utf-8") as script:
            self.keys = re.findall(r'\("([^"]+)", "\d+[smh]"\)', script.read())

    def test_list(self):
        headings, *locks = rows("list")
        self.assertEqual(headings.split(), self.headings)
        self.assertEqual(len(self.keys), 5)
        self.assertEqual([line.split()[0] for line in locks], sorted(self.keys, key=str.encode))
        for line in locks:
            self.assertEqual(len(re.split(" {2,}", line.strip())), len(self.headings), line)

    def test_top(self):
        lines = rows("top")
        [place] = [number for number, line in enumerate(lines) if line.split()[:1] == ["KEY"]]
        self.assertEqual(lines[place].split(), [*self.headings, "WAITED"])
        self.assertEqual({line.split()[0] for line in lines[place + 1:place + 6]}, set(self.keys))


if __name__ == "__main__":
    unittest.main()
