#!/usr/bin/env python3
"""Writes the C++ blocks of a Markdown file, and a list of all that is to be tested: extract.py MARKDOWN DIRECTORY"""

import pathlib
import shutil
import sys

import readme_blocks


def main():
    markdown, directory = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)

    found = readme_blocks.blocks(markdown.read_text())
    for block in found:
        if block.is_cpp:
            (directory / f"{block.name}.cpp").write_text(block.to_cpp(markdown))

    lists = {
        "README_SNIPPETS": [b.name for b in found if b.is_cpp and not b.is_program],
        "README_PROGRAMS": [b.name for b in found if b.is_program],
        "README_RUN_PROGRAMS": [b.name for b in found if b.is_program and "run" in b.marks],
        "README_RUN_COMMANDS": [b.name for b in found if not b.is_cpp and "run" in b.marks],
    }
    text = "".join(f"set({name} {' '.join(names)})\n" for name, names in lists.items())
    (directory / "blocks.cmake").write_text(text)


if __name__ == "__main__":
    main()
