#!/usr/bin/python3
"""Draws the charts of a run: charts.py RESULTS.json DIRECTORY. With Debian's Python, which has Debian's matplotlib."""

import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.hashsalt": "mortise", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif",
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
})
import matplotlib.pyplot as plt  # noqa: E402

OURS, THEIRS, FLOOR = "#c0392b", "#7f8c8d", "#bdc3c7"
OUR_LINES, THEIR_LINES = [OURS, "#e59866"], ["#2e86c1", "#28b463", "#8e44ad", "#34495e", "#b7950b", "#7f8c8d"]
FLOORS = ("clock read", "CAS pair", "raw futex")


class Run:
    def __init__(self, results):
        self.benchmarks = {b["benchmark"]: b["figures"] for b in results["benchmarks"]}

    def matching(self, benchmark, pattern):
        """Pairs of what the groups of the pattern matched, and the figure."""
        found = [(re.fullmatch(pattern, f["name"]), f) for f in self.benchmarks.get(benchmark, [])]
        return [(match.groups(), f) for match, f in found if match]


def color_of(name):
    return OURS if name.startswith("mortise") else FLOOR if name.split(", ")[0] in FLOORS else THEIRS


def short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def bars(title, axis, named, reverse=False):
    """A bar for each (name, figure), with whiskers from the least to the greatest, on a log axis."""
    named = sorted(named, key=lambda pair: pair[1]["median"], reverse=not reverse)
    figure, axes = plt.subplots(figsize=(7.2, 0.6 + 0.26 * len(named)))
    names, values = [name for name, _ in named], [f["median"] for _, f in named]
    spread = [[f["median"] - f["min"] for _, f in named], [f["max"] - f["median"] for _, f in named]]
    axes.barh(names, values, xerr=spread, color=[color_of(n) for n in names], height=0.66,
              error_kw={"elinewidth": 0.8, "ecolor": "#555555"})
    for row, (_, f) in enumerate(named):
        axes.annotate(short(f["median"]), (f["max"], row), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_xscale("log")
    axes.set_xlim(min(f["min"] for _, f in named) / 2, max(f["max"] for _, f in named) * 4)
    axes.set_xlabel(axis)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.grid(axis="x", linewidth=0.4)
    return figure


def lines(title, x_label, y_label, named):
    """A curve for each (name, [(x, figure)]), in the band from the least to the greatest, on log axes."""
    figure, axes = plt.subplots(figsize=(7.2, 3.6))
    ours, theirs = iter(OUR_LINES), iter(THEIR_LINES)
    for name, points in named:
        color = next(ours if name.startswith("mortise") else theirs)
        xs, found = [x for x, _ in points], [f for _, f in points]
        axes.plot(xs, [f["median"] for f in found], marker="o", markersize=3, color=color, label=name)
        axes.fill_between(xs, [f["min"] for f in found], [f["max"] for f in found], color=color, alpha=0.15, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.grid(linewidth=0.4)
    axes.legend(frameon=False)
    return figure


def grouped(pairs, name_at, x_at, x_of):
    curves = {}
    for groups, figure in pairs:
        curves.setdefault(groups[name_at], []).append((x_of(groups[x_at]), figure))
    return sorted(((name, sorted(points, key=lambda p: p[0])) for name, points in curves.items()),
                  key=lambda curve: not curve[0].startswith("mortise"))


def peers(run):
    named = [(f["name"], f) for f in run.benchmarks.get("against_peers", []) if f["unit"] == "ns"]
    return bars("Acquire and release, nobody else wants the key", "ns (log)", named) if named else None


def waits(run):
    pairs = run.matching("contention", r"8 processes, 1 key, wait, (.+), p([\d.]+)")
    if not pairs:
        return None
    figure = lines("The wait for a key that 8 processes want", "", "µs (log)",
                   grouped(pairs, 0, 1, lambda percent: 1 / (1 - float(percent) / 100)))
    percents = sorted({float(groups[1]) for groups, _ in pairs})
    figure.axes[0].set_xticks([1 / (1 - p / 100) for p in percents], [f"p{p:g}" for p in percents])
    figure.axes[0].set_xticks([], minor=True)
    return figure


def keys(run):
    pairs = run.matching("many_keys", r"(\d+) keys of 24 bytes, (?!.*\(|mortise, one key)(.+)")
    return lines("One of many keys, in random order", "keys (log)", "ns (log)", grouped(pairs, 1, 0, int)) if pairs else None


def contention(run):
    named = [(groups[0], f) for groups, f in run.matching("contention", r"8 processes with peers, (.+)") if f["unit"] == "M/s"]
    return bars("8 processes want one key, and hold it for 200 ns", "million grants a second (log)", named, True) if named else None


def hand_off(run):
    pairs = run.matching("hand_off", r"(one core|two cores), (mortise|raw futex|flock), (p50|p99)")
    named = [(f"{who}, {where}, {percentile}", f) for (where, who, percentile), f in pairs]
    return bars("From the release to a waiter that slept", "µs (log)", named) if named else None


def main():
    results, directory = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for chart in (peers, waits, keys, contention, hand_off):
        figure = chart(Run(results))
        if figure is not None:
            figure.savefig(directory / f"{chart.__name__}.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
