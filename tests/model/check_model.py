#!/usr/bin/env python3
"""Has Spin search lease_protocol.pml.

  check_model.py searches [--large]   every configuration, completely: none may have an error, and every label of the
                                      model must be reached. --large: the configurations that take minutes
  check_model.py mutants              every way to break the model that it knows must be found, and so must be what
                                      the protocol is known not to keep; a search that is cut short must be noticed
  check_model.py trail NAME=VALUE...  the steps to the first error of one configuration
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).with_name("lease_protocol.pml")
DEPTH = 1_000_000
MEGABYTES = 4000

SEARCHES = {
    "eviction": "PROCS=2 ROUNDS=2 KEYS=2 KILLS=1 TORN=1",
    "aliasing": "PROCS=2 ROUNDS=2 KEYS=3 COLLIDING=1 TORN=1",
    "two slots": "PROCS=2 ROUNDS=2 KEYS=2 SLOTS=2 START=HELD KILLS=1",
    "repairs": "PROCS=3 KEYS=2 SLOTS=2 START=HELD KILLS=2",
    "expiry": "PROCS=2 ROUNDS=2 START=HELD TICKS=2 TTL=2 EXTENSIONS=1 KILLS=1",
    "hand-over": "PROCS=2 START=HELD TICKS=2 TTL=2 EXTENSIONS=1 HAND_OVER=1 KILLS=1",
    "process slots": "PROCS=3 PROCESS_SLOTS=2 START=KNOWN KILLS=2 TORN=1",
    "waiting": "PROCS=4 START=HELD WAITING=1",
    "waiting, deaths": "PROCS=3 START=HELD WAITING=1 KILLS=1 IMPATIENT=1 SPURIOUS=1",
    "waiting, eviction": "PROCS=3 KEYS=2 START=HELD WAITING=1 KILLS=1",
    "waiting, expiry": "PROCS=3 START=HELD WAITING=1 TICKS=1 TTL=2 EXTENSIONS=1 EXTENDERS=1",
    "waiting, process slots": "PROCS=3 PROCESS_SLOTS=2 START=HELD WAITING=1 KILLS=2 TORN=1",
}

LARGE = {
    "three processes": "PROCS=3 KEYS=2 SLOTS=2 KILLS=1",
    "waiting twice": "PROCS=3 ROUNDS=2 START=HELD WAITING=1",
}

MUTANTS = {
    "NO_FLOOR": "PROCS=2 ROUNDS=2 KEYS=2",
    "NO_REPAIR_FLOOR": "PROCS=3 KEYS=2 SLOTS=2 START=HELD KILLS=1",
    "FENCE_BESIDE_FLOOR": "PROCS=3 KEYS=2 SLOTS=2 START=HELD",
    "NO_STAMP": "PROCS=2 START=KNOWN",
    "FENCE_BEFORE_READ": "PROCS=2 START=KNOWN",
    "FENCE_AFTER_SWAP": "PROCS=2 START=KNOWN TICKS=1",
    "OWNER_FIRST": "PROCS=2 ROUNDS=2 KEYS=2 TORN=1",
    "KEY_BEFORE_LEASE": "PROCS=2 KEYS=2 START=KNOWN",
    "NO_RECHECK": "PROCS=3 PROCESS_SLOTS=2 START=HELD KILLS=1",
    "NO_SECOND_FIND": "PROCS=2 SLOTS=2",
    "PUBLISH_BEFORE_WRITE": "PROCS=2 KEYS=2 START=KNOWN TICKS=1",
    "NO_REPAIR": "PROCS=2 KEYS=2 START=KNOWN KILLS=1",
    "REPAIR_KEEPS_KEY": "PROCS=2 KEYS=2 START=KNOWN KILLS=1",
    "REPAIR_CLEARS_TAGS": "PROCS=3 KEYS=2 SLOTS=2 START=HELD KILLS=1",
    "RELEASE_BY_KEY": "PROCS=2 START=HELD TICKS=1",
    "EXTEND_WITHOUT_SWAP": "PROCS=2 START=HELD TICKS=1 EXTENSIONS=1",
    "LOST_WITHOUT_RECHECK": "PROCS=2 START=HELD TICKS=2 TTL=2 EXTENSIONS=1 HAND_OVER=1",
    "HOLDER_RECHECKS_FIRST": "PROCS=2 START=HELD TICKS=2 TTL=2 EXTENSIONS=1 HAND_OVER=1",
    "NO_FORGET": "PROCS=3 PROCESS_SLOTS=2 START=HELD KILLS=1",
    "FORGET_AFTER_PUBLISH": "PROCS=3 PROCESS_SLOTS=2 START=HELD KILLS=1",
    "FORGET_ONCE": "PROCS=3 PROCESS_SLOTS=2 START=HELD WAITING=1 KILLS=1",
    "NO_BIT_PASSING": "PROCS=3 START=HELD WAITING=1",
    "RELEASE_DROPS_BIT": "PROCS=3 START=HELD WAITING=1",
    "WAKE_BEFORE_SWAP": "PROCS=2 START=HELD WAITING=1",
    "CLEAR_BIT_WITHOUT_COUNT": "PROCS=3 START=HELD WAITING=1",
    "CLEAR_BIT_WITHOUT_SWAP": "PROCS=3 START=HELD WAITING=1",
    "NO_EVICTION_WAKE": "PROCS=4 KEYS=2 START=HELD WAITING=1",
    "SOONER_WITHOUT_WAKE": "PROCS=2 START=HELD WAITING=1 TICKS=1 TTL=2 EXTENSIONS=1",
    "SOONER_KEEPS_BIT": "PROCS=2 START=HELD WAITING=1 TICKS=1 TTL=2 EXTENSIONS=1",
    "REVIVAL_SWAPPED_BACK": "PROCS=2 START=HELD WAITING=1 TICKS=1 TTL=1 EXTENSIONS=1",
    "SLEEP_WITHOUT_COMPARE": "PROCS=2 START=HELD WAITING=1",
    "SLEEP_WITHOUT_BIT": "PROCS=2 START=HELD WAITING=1",
    "LEAVE_WITHOUT_TRYING": "PROCS=3 START=HELD WAITING=1 IMPATIENT=1",
}

# What the protocol does not keep, and is known not to.
LIMITS = {
    "a sleeper behind a lease that passed on to an earlier end sleeps for retry_delay":
        "PROCS=3 START=HELD WAITING=1 TICKS=2 TTL=2 MIXED_TTL=1",
    "one who just goes to sleep when the end comes closer, and whose fellow leaves, sleeps for retry_delay":
        "PROCS=3 START=HELD WAITING=1 TICKS=1 TTL=2 EXTENSIONS=1 EXTENDERS=1 IMPATIENT=1",
    "a release fails while another key is torn to equal its own, identity included":
        "PROCS=3 KEYS=3 SLOTS=2 COLLIDING=1 START=HELD",
}


class ModelError(Exception):
    pass


@dataclasses.dataclass
class Search:
    errors: int
    complete: bool
    states: int
    seconds: float
    megabytes: int
    report: str


class Verifier:
    """The program that Spin and the C compiler make of the model in one configuration."""

    def __init__(self, definitions, directory, optimize="-O2"):
        self.definitions = [f"-D{each}" for each in definitions.split()]
        self.directory = directory
        self.command([os.environ.get("SPIN", "spin"), *self.definitions, "-a", MODEL])
        self.command([os.environ.get("CXX", "c++"), "-x", "c", optimize, "-w", "-DSAFETY", "-DCOLLAPSE", "-DNOFAIR",
                      f"-DMEMLIM={MEGABYTES}", "-o", "pan", "pan.c"])

    def command(self, arguments):
        done = subprocess.run(arguments, cwd=self.directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0 or "Error:" in done.stdout:
            raise ModelError(f"{' '.join(map(str, arguments))}\n{done.stdout}")
        return done.stdout

    def search(self, depth=DEPTH):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = self.command(["./pan", f"-m{depth}"])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        figure = lambda pattern: float(re.search(pattern, report)[1])
        return Search(
            errors=int(figure(r"errors: (\d+)")),
            complete=not re.search(r"too small|out of memory|not completed|truncated", report),
            states=int(figure(r"([\d.e+]+) states, stored")),
            seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            megabytes=int(figure(r"([\d.]+)\s+total actual memory usage")),
            report=report,
        )

    def trail(self):
        return self.command([os.environ.get("SPIN", "spin"), *self.definitions, "-t", "-p", "-g", "-l", MODEL])

    def reached_lines(self, report):
        """The lines of the model of which some statement was executed."""
        statements = collections.Counter()
        for lines in re.findall(r"src_ln\d+ \[\] = \{(.*?)\}", (self.directory / "pan.h").read_text(), re.DOTALL):
            statements.update(int(line) for line in lines.split(","))
        statements.subtract(int(line) for line in re.findall(rf"{MODEL.name}:(\d+), state", report))
        return {line for line, count in statements.items() if count > 0}


def labels():
    """Each label of the model with the lines from there to the next."""
    lines = MODEL.read_text().splitlines()
    starts = [(number, line[:-1]) for number, line in enumerate(lines, start=1) if re.fullmatch(r"\w+:", line)]
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    return {name: set(range(start + 1, end)) for (start, name), end in zip(starts, ends)}


def run_searches(configurations):
    failures = []
    reached = set()
    total = 0
    print(f"{'configuration':24}{'states':>12}{'seconds':>9}{'MB':>7}  definitions")
    for name, definitions in configurations.items():
        with tempfile.TemporaryDirectory() as directory:
            verifier = Verifier(definitions, pathlib.Path(directory))
            found = verifier.search()
            print(f"{name:24}{found.states:12,}{found.seconds:9.1f}{found.megabytes:7}  {definitions}", flush=True)
            reached |= verifier.reached_lines(found.report)
            total += found.states
            if found.errors:
                failures.append(f"{name}: an error; see check_model.py trail {definitions}")
            elif not found.complete:
                failures.append(f"{name}: the search was cut short\n{found.report}")
    print(f"{'all':24}{total:12,}")
    return failures, reached


def searches(configurations):
    failures, reached = run_searches(configurations)
    if configurations is SEARCHES:
        failures += [f"no configuration reaches {label}" for label, lines in labels().items() if not lines & reached]
    return failures


def first_error(definitions):
    with tempfile.TemporaryDirectory() as directory:
        found = Verifier(definitions, pathlib.Path(directory), "-O1").search()
        complaint = re.search(r"pan:1: (.*?) \(at depth", found.report)
        return (complaint[1] if complaint else None), found


def mutants():
    failures = []
    known = set(re.findall(r"^#define ([A-Z_]+) [1-9]\d* +/\*", MODEL.read_text(), re.MULTILINE))
    known -= {"KNOWN", "HELD"}
    if known != set(MUTANTS):
        failures.append(f"not in both the model and this script: {sorted(known ^ set(MUTANTS))}")
    cases = {mutant: f"{definitions} MUTANT={mutant}" for mutant, definitions in MUTANTS.items()}
    for name, definitions in {**cases, **LIMITS}.items():
        error, found = first_error(definitions)
        print(f"{name}: {'found' if error else 'NOT FOUND'} after {found.states:,} states\n    {definitions}", flush=True)
        if not error:
            failures.append(f"{name} was not found")
    with tempfile.TemporaryDirectory() as directory:
        if Verifier("PROCS=2 START=KNOWN", pathlib.Path(directory), "-O1").search(depth=20).complete:
            failures.append("a search that was cut short was taken for a complete one")
    return failures


def trail(definitions):
    with tempfile.TemporaryDirectory() as directory:
        verifier = Verifier(" ".join(definitions), pathlib.Path(directory))
        found = verifier.search()
        print(verifier.trail() if found.errors else "no error")
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["searches", "mutants", "trail"])
    parser.add_argument("definitions", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "searches":
        failures = searches(LARGE if arguments.large else SEARCHES)
    elif arguments.what == "mutants":
        failures = mutants()
    else:
        failures = trail(arguments.definitions)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
