#!/usr/bin/env python3
"""Runs the commands of one block in an empty directory, with a store of their own: run_commands.py MARKDOWN NAME"""

import os
import pathlib
import subprocess
import sys
import tempfile

import readme_blocks


def main():
    markdown, name = sys.argv[1:]
    block = next(b for b in readme_blocks.blocks(pathlib.Path(markdown).read_text()) if b.name == name)
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.to_script()],
            cwd=directory,
            env={**os.environ, "MORTISE_STORE": f"shm:{directory}/.segment"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    print(done.stdout, end="")
    if done.returncode != 0:
        print(f"{markdown}:{block.line}: the commands failed with {done.returncode}")
        return 1
    if not block.shows(done.stdout):
        print(f"{markdown}:{block.line}: this is not the output that the block shows:\n{block.text}", end="")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
