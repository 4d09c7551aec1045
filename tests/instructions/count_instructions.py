#!/usr/bin/env python3
"""Counts the instructions of the library's hot paths, and compares them with those that are written down.

count_instructions.py PROGRAM COMPILER            fails when a count is more than a tenth away from the written one
count_instructions.py PROGRAM COMPILER --update   writes them down

Valgrind counts, so neither the processor nor what else it does has a say. Each path is run twice, for two numbers of
times: the difference, divided by that of the numbers, is what one time takes. Counts hold for one compiler: another one
is no failure, but skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WRITTEN = pathlib.Path(__file__).with_name("instructions.json")
PATHS = ["kept_handle", "run", "extend", "busy_answer", "new_key"]
FEW, MANY = 1000, 3000
SLACK = 0.10
SKIPPED = 77
# The C library copies and compares memory with what it knows of the processor: this is what all of x86-64 have.
TUNABLES = "glibc.cpu.hwcaps=" + ",".join(
    "-" + name for name in ("AVX", "AVX2", "AVX512F", "AVX512VL", "AVX512BW", "AVX_Fast_Unaligned_Load", "BMI1", "BMI2",
                            "ERMS", "FSRM", "EVEX", "LZCNT", "MOVBE", "POPCNT", "RTM", "SSE4_1", "SSE4_2", "SSSE3",
                            "Fast_Unaligned_Copy", "Prefer_No_VZEROUPPER"))


def total(program, path, times):
    with tempfile.TemporaryDirectory() as directory:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/%p",
                   f"--log-file={directory}/%p.log", program, f"{directory}/segment", path, str(times)]
        process = subprocess.Popen(command, env={**os.environ, "GLIBC_TUNABLES": TUNABLES})
        if process.wait() != 0:
            sys.exit(f"{path}: the program failed\n" + pathlib.Path(directory, f"{process.pid}.log").read_text())
        counted = pathlib.Path(directory, str(process.pid)).read_text()
        return int(re.search(r"^(?:totals|summary): (\d+)", counted, re.MULTILINE)[1])


def count(program, path):
    return round((total(program, path, MANY) - total(program, path, FEW)) / (MANY - FEW))


def judge(path, counted, written):
    """Whether the count is what was written down, with a line that says so."""
    change = counted / written - 1
    print(f"{path:<12} {counted:>6} instructions, {change:+.1%} of what is written down: {written}")
    return abs(change) <= SLACK


def main():
    program, compiler = sys.argv[1:3]
    written = json.loads(WRITTEN.read_text())
    update = sys.argv[3:] == ["--update"]
    if shutil.which("valgrind") is None:
        print("skipped: there is no valgrind")
        return SKIPPED
    if compiler != written["compiler"] and not update:
        print(f"skipped: the counts are those of {written['compiler']}, this is {compiler}")
        return SKIPPED
    counts = {path: count(program, path) for path in PATHS}
    judged = [judge(path, counts[path], written["instructions"].get(path, 1)) for path in PATHS]
    if update:
        WRITTEN.write_text(json.dumps({"compiler": compiler, "instructions": counts}, indent=2) + "\n")
        return 0
    if all(judged):
        return 0
    print("A slow-down? If it is meant, or an improvement: cmake --build --preset dev --target update-instruction-counts")
    return 1


if __name__ == "__main__":
    sys.exit(main())
