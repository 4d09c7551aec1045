#!/usr/bin/env python3
"""Has the model checker Spin search lease_protocol.pml.

  check_model.py searches [--large]   every configuration to the end: none may have an error, and together they must
                                      reach every label. --large: configurations that take minutes, by hand
  check_model.py mutants              every way to break the protocol that the model knows must be found, and what the
                                      protocol is known not to keep must be seen; so must a search that is cut short
  check_model.py mapping              the table of labels in docs/design/lease-protocol.md must be true
  check_model.py trail NAME=VALUE...  the steps to the first error of a configuration
"""

import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).with_name("lease_protocol.pml")
ROOT = MODEL.parents[2]
DOCUMENTATION = ROOT / "docs/design/lease-protocol.md"
# Labels of the model that stand for nothing in the code.
PLUMBING = {"next", "out"}
SPIN = os.environ.get("SPIN", "spin")
COMPILER = os.environ.get("CXX", "c++")
MEGABYTES = 2000
DEPTH = 1_000_000

SEARCHES = {
    "eviction": "PROCS=2 ROUNDS=2 KEYS=2 KILLS=1 TORN=1",
    "eviction, torn words": "PROCS=3 KEYS=2 START=KNOWN KILLS=1 TORN=1",
    "marks": "PROCS=2 ROUNDS=3 START=KNOWN FENCE_BITS=2 TORN=1",
    "aliasing": "PROCS=2 ROUNDS=2 KEYS=3 COLLIDING=1",
    "two slots": "PROCS=2 ROUNDS=2 KEYS=2 SLOTS=2 START=HELD KILLS=1",
    "repair": "PROCS=3 KEYS=2 SLOTS=2 START=HELD KILLS=2",
    "expiry": "PROCS=2 ROUNDS=2 START=HELD TICKS=2 TTL=2 EXTENSIONS=1 KILLS=1",
    "hand-over": "PROCS=2 START=HELD TICKS=2 TTL=2 EXTENSIONS=1 HAND_OVER=1 KILLS=1",
    "process slots": "PROCS=3 PROCESS_SLOTS=2 START=KNOWN KILLS=2 TORN=1",
    "waiting": "PROCS=3 START=KNOWN WAITING=1",
    "waiting, deaths": "PROCS=3 START=HELD WAITING=1 KILLS=1 IMPATIENT=1 SPURIOUS=1",
    "waiting, two slots": "PROCS=3 KEYS=2 SLOTS=2 START=HELD WAITING=1 KILLS=1",
    "waiting, expiry": "PROCS=3 START=HELD WAITING=1 TICKS=1 TTL=2 EXTENSIONS=2 EXTENDERS=1",
    "waiting, process slots": "PROCS=3 PROCESS_SLOTS=2 START=HELD WAITING=1 KILLS=2 TORN=1",
}

LARGE = {
    "three processes": "PROCS=3 KEYS=2 SLOTS=2 START=HELD KILLS=2 TORN=1",
    "marks": "PROCS=3 ROUNDS=2 START=KNOWN FENCE_BITS=2",
    "three keys": "PROCS=2 ROUNDS=2 KEYS=3 SLOTS=2 START=HELD KILLS=1",
    "expiry": "PROCS=2 ROUNDS=2 START=HELD TICKS=2 TTL=2 EXTENSIONS=1 KILLS=1 TORN=1",
    "three waiters": "PROCS=4 START=HELD WAITING=1",
    "waiting, eviction": "PROCS=4 KEYS=2 ONE_EVICTS=1 START=HELD WAITING=1",
    "waiting, expiry": "PROCS=3 START=HELD WAITING=1 TICKS=2 TTL=2 EXTENSIONS=1 EXTENDERS=1",
}

# Where each is looked for.
MUTANTS = {
    "NO_FLOOR": "eviction",
    "NO_REPAIR_FLOOR": "repair",
    "FENCE_BESIDE_FLOOR": "two slots",
    "NO_STAMP": "eviction",
    "FENCE_BEFORE_READ": "eviction",
    "FENCE_AFTER_SWAP": "expiry",
    "OWNER_FIRST": "eviction, torn words",
    "KEY_BEFORE_LEASE": "eviction",
    "NO_RECHECK": "process slots",
    "NO_SECOND_FIND": "two slots",
    "PUBLISH_BEFORE_WRITE": "eviction",
    "NO_REPAIR": "repair",
    "REPAIR_KEEPS_KEY": "repair",
    "REPAIR_CLEARS_TAGS": "repair",
    "RELEASE_BY_KEY": "expiry",
    "EXTEND_WITHOUT_SWAP": "expiry",
    "LOST_WITHOUT_RECHECK": "hand-over",
    "HOLDER_RECHECKS_FIRST": "hand-over",
    "NO_FORGET": "process slots",
    "FORGET_AFTER_PUBLISH": "process slots",
    "FORGET_ONCE": "waiting, process slots",
    "NO_BIT_PASSING": "waiting",
    "RELEASE_DROPS_BIT": "waiting",
    "WAKE_BEFORE_SWAP": "waiting",
    "CLEAR_BIT_WITHOUT_COUNT": "waiting",
    "CLEAR_BIT_WITHOUT_SWAP": "waiting",
    "NO_EVICTION_WAKE": "waiting, eviction",
    "SOONER_WITHOUT_WAKE": "waiting, expiry",
    "SOONER_KEEPS_BIT": "waiting, expiry",
    "REVIVAL_SWAPPED_BACK": "waiting, expiry",
    "SLEEP_WITHOUT_COMPARE": "waiting",
    "SLEEP_WITHOUT_BIT": "waiting",
    "LEAVE_WITHOUT_TRYING": "waiting, deaths",
    "MARK_NEVER_MOVED": "marks",
    "MARK_STORED": "eviction",
    "MARK_MOVED_UNCHECKED": "marks",
}

# What the protocol is known not to keep, and what must be added to which search to see it.
LIMITS = {
    "who sleeps behind a lease that passes on to an earlier end sleeps on for retry_delay":
        ("waiting, expiry", "MIXED_TTL=1"),
    "who goes to sleep just when the end comes closer, and whose fellow leaves, sleeps on for retry_delay":
        ("waiting, expiry", "IMPATIENT=1"),
    "a lease is called lost while another key is torn to equal its own, identity included":
        ("repair", "KEYS=3 COLLIDING=1"),
}


@dataclasses.dataclass
class Outcome:
    complaint: str  # of the first error, or ""
    complete: bool
    states: int
    seconds: float
    megabytes: int
    reached: set  # lines of the model

    def __str__(self):
        verdict = self.complaint or ("no error" if self.complete else "CUT SHORT")
        return f"{self.states:12,} states {self.seconds:6.1f} s {self.megabytes:5} MB  {verdict}"


class Verifier:
    """The program that Spin and a compiler make of the model in one configuration."""

    def __init__(self, definitions, directory, optimize):
        self.directory = pathlib.Path(directory)
        # Of two values for a name the later counts.
        chosen = dict(each.split("=") for each in definitions.split())
        self.definitions = [f"-D{name}={value}" for name, value in chosen.items()]
        self.run(SPIN, *self.definitions, "-a", MODEL)
        self.run(COMPILER, "-x", "c", optimize, "-w", "-DSAFETY", "-DCOLLAPSE", "-DNOFAIR", f"-DMEMLIM={MEGABYTES}",
                 "-o", "pan", "pan.c")

    def run(self, *command):
        done = subprocess.run(command, cwd=self.directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
        return done.stdout

    def search(self, depth=DEPTH):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        report = self.run("./pan", f"-m{depth}")
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        complaint = re.search(r"pan:1: (.*) \(at depth", report)
        return Outcome(
            complaint=complaint[1] if complaint else "",
            complete="errors: 0" in report and not re.search("too small|out of memory|not completed", report),
            states=int(float(re.search(r"([\d.e+]+) states, stored", report)[1])),
            seconds=seconds,
            megabytes=round(float(re.search(r"([\d.]+)\s+total actual memory usage", report)[1])),
            reached=self.reached_lines(report),
        )

    def reached_lines(self, report):
        statements = collections.Counter()
        for lines in re.findall(r"short src_ln\d+ \[\] = \{(.*?)\};", (self.directory / "pan.c").read_text(), re.DOTALL):
            statements.update(map(int, re.findall(r"\d+", lines)))
        unreached = set(re.findall(rf"{MODEL.name}:(\d+), (state \d+)", report))
        statements.subtract(int(line) for line, _ in unreached)
        return {line for line, count in statements.items() if count > 0}

    def trail(self):
        return self.run(SPIN, *self.definitions, "-t", "-p", "-g", "-l", MODEL)


@contextlib.contextmanager
def verifier(definitions, optimize="-O0"):  # compiling with more takes longer than it saves
    with tempfile.TemporaryDirectory() as directory:
        yield Verifier(definitions, directory, optimize)


def report(name, definitions, outcome):
    print(f"{name}\n    {definitions}\n{outcome}", flush=True)


def report_figures(line):
    """For the table that tools/test prints at its end."""
    print(line)
    if "MORTISE_FIGURES" in os.environ:
        with open(os.environ["MORTISE_FIGURES"], "a", encoding="utf-8") as file:
            file.write(f"model  {line}\n")


def run_searches(configurations, optimize="-O0"):
    failures = []
    reached = set()
    outcomes = []
    for name, definitions in configurations.items():
        with verifier(definitions, optimize) as each:
            outcome = each.search()
        report(name, definitions, outcome)
        if outcome.complaint or not outcome.complete:
            failures.append(f"{name}: {outcome}; see check_model.py trail {definitions}")
        reached |= outcome.reached
        outcomes.append(outcome)
    report_figures(f"{len(outcomes)} searches, {sum(each.states for each in outcomes):,} states, "
                   f"{sum(each.seconds for each in outcomes):.0f} s, at most {max(each.megabytes for each in outcomes)} MB, "
                   f"{len(failures)} failures")
    return failures, reached


def labels():
    """Each label of the model with the lines from there to the next."""
    lines = MODEL.read_text().splitlines()
    starts = [(number, line[:-1]) for number, line in enumerate(lines, start=1) if re.fullmatch(r"\w+:", line)]
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    return {name: set(range(start + 1, end)) for (start, name), end in zip(starts, ends)}


def searches():
    failures, reached = run_searches(SEARCHES)
    return failures + [f"no search reaches {name}" for name, lines in labels().items() if not lines & reached]


def mutants():
    failures = []
    listed = re.search(r"#define NONE 0\n(.*?)#ifndef MUTANT", MODEL.read_text(), re.DOTALL)[1]
    for unknown in set(re.findall(r"#define (\w+)", listed)) ^ set(MUTANTS):
        failures.append(f"{unknown} is not both in the model and here")
    configurations = LARGE | SEARCHES
    cases = {name: f"{configurations[search]} MUTANT={name}" for name, search in MUTANTS.items()}
    cases |= {name: f"{SEARCHES[search]} {added}" for name, (search, added) in LIMITS.items()}
    for name, definitions in cases.items():
        with verifier(definitions) as each:
            outcome = each.search()
        report(name, definitions, outcome)
        if not outcome.complaint:
            failures.append(f"{name}: not found")
    report_figures(f"{len(MUTANTS)} broken protocols and {len(LIMITS)} known limits, {len(failures)} not found")
    with verifier(SEARCHES["waiting"]) as each:
        outcome = each.search(depth=100)
    report("a search that is cut short", SEARCHES["waiting"], outcome)
    if outcome.complaint or outcome.complete:
        failures.append("a search that is cut short: not noticed")
    return failures


def mapping():
    """Is every name in the table of the documentation one of the model and one of the code, and every label in it?"""
    failures = []
    model = MODEL.read_text()
    named = set()
    for names, code, source in re.findall(r"^\| (`.*?`) \| (.*?) \| `(src/\S+)` \|$", DOCUMENTATION.read_text(), re.MULTILINE):
        text = (ROOT / source).read_text()
        failures += [f"{source} has no {name}" for name in re.findall(r"`(?:\w+::)?(~?\w+)`", code)
                     if not re.search(rf"{re.escape(name)}\b", text)]
        named.update(re.findall(r"`(\w+)`", names))
    failures += [f"the model has no {name}" for name in sorted(named)
                 if not re.search(rf"^{name}:|^#define {name}\(|^inline {name}\(", model, re.MULTILINE)]
    failures += [f"the documentation does not name {name}" for name in sorted(labels().keys() - named - PLUMBING)]
    return failures


def trail(definitions):
    with verifier(" ".join(definitions), "-O2") as each:
        outcome = each.search()
        print(each.trail() if outcome.complaint else outcome)
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["searches", "mutants", "mapping", "trail"])
    parser.add_argument("definitions", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "trail":
        failures = trail(arguments.definitions)
    elif arguments.what == "mutants":
        failures = mutants()
    elif arguments.what == "mapping":
        failures = mapping()
    elif arguments.large:
        failures, _ = run_searches(LARGE, "-O2")
    else:
        failures = searches()
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
