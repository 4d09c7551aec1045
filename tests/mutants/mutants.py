#!/usr/bin/env python3
"""Breaks the code in every way of tests/mutants/*.patch, and sees whether the tests notice.

  mutants.py run [NAME...]  builds a copy of the sources in build/mutants with one patch after another, or with those that
                            are named, and runs the tests that are to notice: each must fail, and pass without the patch
  mutants.py check BUILD    every patch must apply, name a test of that build, and be in docs/design/crash-safety.md
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCUMENTATION = ROOT / "docs/design/crash-safety.md"
WORK = ROOT / "build/mutants"
SOURCES, BUILD = WORK / "sources", WORK / "build"
LONGEST_SECONDS = 300  # of the tests of one mutant: one that hangs is noticed


@dataclasses.dataclass
class Mutant:
    path: pathlib.Path

    def __post_init__(self):
        self.name = self.path.stem
        text = self.path.read_text()
        self.files = re.findall(r"^\+\+\+ b/(\S+)$", text, re.MULTILINE)
        caught = re.search(r"^Caught by: (\S+)$", text.split("\n--- ")[0], re.MULTILINE)
        self.tests = caught[1] if caught else ""
        self.regex = rf"^{self.tests}( |$)"  # CTest may add the value of a parameter
        self.target = re.match(r"\w*", self.tests)[0]  # a CTest name begins with the program's

    def patch(self, directory, *options):
        return subprocess.run(["patch", "--strip=1", "--fuzz=0", "--batch", "--reject-file=-", f"--directory={directory}",
                               f"--input={self.path}", *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def mutants(names=()):
    paths = [HERE / f"{name}.patch" for name in names] or sorted(HERE.glob("*.patch"))
    unknown = [path.stem for path in paths if not path.exists()]
    if unknown:
        raise SystemExit(f"there is no mutant {', '.join(unknown)}")
    return [Mutant(path) for path in paths]


def names_of_tests(build):
    status, output = command("ctest", "--test-dir", build, "--show-only")
    if status != 0:
        raise SystemExit(output)
    return re.findall(r"^ *Test *#\d+: (.+)$", output, re.MULTILINE)


def check(build):
    failures = []
    documentation = DOCUMENTATION.read_text()
    tests = names_of_tests(build)
    for mutant in mutants():
        applied = mutant.patch(ROOT, "--dry-run")
        if applied.returncode != 0:
            failures.append(f"{mutant.name} does not apply:\n{applied.stdout}")
        if f"`{mutant.name}`" not in documentation:
            failures.append(f"{mutant.name} is not in {DOCUMENTATION.name}")
        if not mutant.tests or not any(re.match(mutant.regex, test) for test in tests):
            failures.append(f"{mutant.name}: \"Caught by:\" names no test")
    return failures


def copy_file(name):
    """With a new time if it differs, so that it is built again; and not otherwise."""
    source, copy = ROOT / name, SOURCES / name
    if copy.exists() and copy.read_bytes() == source.read_bytes():
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, copy)
    shutil.copymode(source, copy)


def copy_sources():
    for top in ROOT.iterdir():
        if top.name in ("build", ".git"):
            continue
        for path in [top] if top.is_file() else top.rglob("*"):
            if path.is_file():
                copy_file(path.relative_to(ROOT))


def command(*arguments, limit=None):
    """The exit status and the output; 'timed out' after `limit` seconds, with all that it started gone."""
    with subprocess.Popen(list(map(str, arguments)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return 1, "timed out"
    return process.returncode, output


def require(what, *arguments):
    status, output = command(*arguments)
    if status != 0:
        raise SystemExit(f"{output}\n{what} failed")


def build(targets):
    return command("cmake", "--build", BUILD, "--parallel", os.cpu_count(), "--target", *sorted(targets))


def run_tests(regex):
    return command("ctest", "--test-dir", BUILD, "--no-tests=error", "--output-on-failure", "-R", regex, limit=LONGEST_SECONDS)


def try_mutant(mutant):
    """What became of it, in a word."""
    applied = mutant.patch(SOURCES)
    if applied.returncode != 0:
        return "DOES NOT APPLY"
    try:
        status, output = build({mutant.target})
        if status != 0:
            print(output)
            return "DOES NOT BUILD"
        status, output = run_tests(mutant.regex)
        if status == 0:
            return "SURVIVED"
        return "hung" if output == "timed out" else "caught"
    finally:
        for name in mutant.files:
            copy_file(name)


def run(names):
    chosen = mutants(names)
    copy_sources()
    require("configuring", "cmake", "--preset", "dev", "-S", SOURCES, "-B", BUILD, "-DMORTISE_BUILD_EXAMPLES=OFF")
    status, output = build({mutant.target for mutant in chosen})
    if status != 0:
        raise SystemExit(f"{output}\nthe sources do not build")
    for regex in sorted({mutant.regex for mutant in chosen}):
        status, output = run_tests(regex)
        if status != 0:
            raise SystemExit(f"{output}\n{regex} fails without a mutant")
    survivors = []
    for mutant in chosen:
        begin = time.monotonic()
        verdict = try_mutant(mutant)
        print(f"{mutant.name:36} {verdict:9} {time.monotonic() - begin:5.0f} s  {mutant.tests}", flush=True)
        if verdict not in ("caught", "hung"):
            survivors.append(mutant.name)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants were caught")
    return [f"not caught: {name}" for name in survivors]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "check"])
    parser.add_argument("names", nargs="*", metavar="NAME or BUILD")
    arguments = parser.parse_args()
    failures = check(*arguments.names) if arguments.what == "check" else run(arguments.names)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
