#!/usr/bin/env python3
"""An uncontended lock on a known key makes no system call but for the clock: hot_path_test.py PROGRAM"""

import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory, "trace")
        subprocess.run(
            ["strace", "-f", "-o", trace, sys.argv[1]],
            env={**os.environ, "MORTISE_STORE": f"shm:{directory}/segment"},
            check=True,
        )
        lines = trace.read_text().splitlines()
    begin, end = (next(i for i, line in enumerate(lines) if f'write(-1, "{mark}"' in line) for mark in ("begin", "end"))
    calls = [line for line in lines[begin + 1 : end] if "clock_gettime" not in line]
    print(f"{begin} system calls to start up, {len(calls)} for 2,000 locks")
    print("\n".join(calls[:20]))
    return 1 if calls else 0


if __name__ == "__main__":
    sys.exit(main())
