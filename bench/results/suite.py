"""The benchmarks: which programs there are, and how one is run."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from . import figures

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """Launches of one program differ where nanoseconds count, by where its memory happens to lie: those are repeated."""

    name: str
    launches: int = 1
    quick_launches: int = 1
    google: bool = False  # a program of Google Benchmark; the others are of our own harness

    @property
    def program(self):
        return ROOT / "build" / "bench" / "bin" / f"bench_{self.name}"

    def run(self, quick, commit):
        began = time.monotonic()
        results = [self.launch(quick, commit) for _ in range(self.quick_launches if quick else self.launches)]
        return {"benchmark": self.name, "seconds": round(time.monotonic() - began, 1),
                "figures": figures.merged([r["figures"] for r in results]), "missing": results[0].get("missing", []),
                "context": {**results[0]["context"], "load": [r["context"]["load"] for r in results]}}

    def launch(self, quick, commit):
        with tempfile.NamedTemporaryFile() as file:
            options = google_options(file.name, quick) if self.google else ["--json", file.name] + ["--quick"] * quick
            done = subprocess.run([self.program, *options], env={**os.environ, "MORTISE_COMMIT": commit},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                sys.exit(f"{self.name} failed: {done.stderr}")
            result = json.load(file)
        return of_google(result) if self.google else result


def google_options(file, quick):
    repetitions, seconds = (5, 0.02) if quick else (5, 0.1)
    return [f"--benchmark_out={file}", "--benchmark_out_format=json", f"--benchmark_repetitions={repetitions}",
            f"--benchmark_min_time={seconds}", "--benchmark_enable_random_interleaving=true"]


def of_google(result):
    """As our own harness would have written it."""
    times = {}
    for one in sorted(result["benchmarks"], key=lambda b: (b["family_index"], b["per_family_instance_index"])):
        if one["run_type"] == "iteration":
            times.setdefault(one["run_name"], []).append(one["cpu_time"])
    context = {"load": result["context"]["load_avg"][0]}
    return {"figures": [figures.figure(name, "ns", values) for name, values in times.items()], "context": context}


BENCHMARKS = [
    Benchmark("against_peers", launches=5, quick_launches=3),
    Benchmark("uncontended", google=True),
    Benchmark("many_keys"),
    Benchmark("new_keys", launches=3),
    Benchmark("busy_answer", launches=5, quick_launches=3),
    Benchmark("extend", launches=5, quick_launches=3),
    Benchmark("hand_off"),
    Benchmark("crash_hand_off"),
    Benchmark("expiry"),
    Benchmark("sleeping_waiters"),
    Benchmark("contention"),
    Benchmark("scaling"),
    Benchmark("attach"),
    Benchmark("memory"),
    Benchmark("inspection"),
    Benchmark("keep_alive"),
    Benchmark("redis"),
    Benchmark("sql"),
]
