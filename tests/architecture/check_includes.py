#!/usr/bin/env python3
"""Reports every #include that layers.txt does not allow: check_includes.py ROOT"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')
TREES = ("include", "src", "tools", "examples", "bench", "tests")
LIBRARIES = ("boost", "CLI", "nlohmann", "gtest", "gmock", "benchmark", "hiredis", "sqlite3.h", "libpq-fe.h")


def read_rules():
    text = pathlib.Path(__file__).with_name("layers.txt").read_text()
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {layer: allowed for layer, *allowed in lines}


def is_within(path, layer):
    return path == layer or path.startswith((layer + "/", layer + "."))


def resolve(root, file, name):
    """The included file as a path of this tree, or the name of a library, or None for a header of the system."""
    for directory in (file.parent, root / "src", root / "include", root / "tests"):
        if (directory / name).is_file():
            return (directory / name).resolve().relative_to(root).as_posix()
    return name if name.split("/")[0] in LIBRARIES else None


def violations(root):
    rules = read_rules()
    files = (f for tree in TREES for f in sorted((root / tree).rglob("*.[ch]pp")))
    for file in files:
        path = file.relative_to(root).as_posix()
        layer = max((layer for layer in rules if is_within(path, layer)), key=len, default=None)
        if layer is None:
            yield path, 1, "layers.txt has no line for this file"
            continue
        allowed = [path.rpartition("/")[0], *rules[layer]]
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            included = INCLUDE.match(line) and resolve(root, file, INCLUDE.match(line)[1])
            if included and not any(is_within(included, each) for each in allowed):
                yield path, number, f"{layer} may not include {included}"


def main():
    found = list(violations(pathlib.Path(sys.argv[1]).resolve()))
    for path, number, complaint in found:
        print(f"{path}:{number}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
