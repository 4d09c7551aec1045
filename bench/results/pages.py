"""The pages that show a run: what stands between <!-- bench: NAME --> and <!-- end --> is written anew."""

import re

from . import figures

BLOCK = re.compile(r"(<!-- bench: (?P<name>[\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rewritten(page, run):
    return BLOCK.sub(lambda block: block[1] + text_of(block["name"], run) + block[3], page)


def text_of(name, run):
    if name == "run":
        return about(run)
    if name == "targets":
        return targets(run)
    return table(next((b for b in run["benchmarks"] if b["benchmark"] == name), None))


def about(run):
    contexts = [b["context"] for b in run["benchmarks"]]
    one = next(c for c in contexts if "kernel" in c)
    loads = [load for c in contexts for load in c["load"]]
    effort = "with `--quick`" if run["quick"] else "in full"
    return (f"{one['processors']} processors, {one['processor']}; {one['kernel']}; {one['compiler']}; commit "
            f"`{run['commit']}`, {run['date']}, {effort}. The load was {min(loads):.1f} to {max(loads):.1f}"
            f"{', of which the benchmarks themselves make up to 8' if max(loads) > 1 else ''}.\n")


def targets(run):
    with_target = [f for b in run["benchmarks"] for f in b["figures"] if "target" in f]
    met = sum(figures.is_met(f) for f in with_target)
    lines = [f"{met} of {len(with_target)} are met.", "", "| figure | median | least to greatest | target (goal) | |",
             "|---|--:|--:|---|---|"]
    for f in with_target:
        verdict = figures.verdict(f)
        lines.append(f"| {f['name']} | {figures.number(f['median'])} {f['unit']} | {figures.spread(f)} | "
                     f"{figures.target_text(f)} | {verdict if figures.is_met(f) else f'**{verdict}**'} |")
    return "\n".join(lines) + "\n"


def table(benchmark):
    if benchmark is None:
        return "Not measured.\n"
    lines = ["| figure | median | least to greatest |", "|---|--:|--:|"]
    for f in benchmark["figures"]:
        lines.append(f"| {f['name']} | {figures.number(f['median'])} {f['unit']} | {figures.spread(f)} |")
    lines += [f"\nMissing: {name}" for name in benchmark["missing"]]
    return "\n".join(lines) + "\n"
