"""The pages that show a run: what stands between <!-- bench: NAME --> and <!-- end --> is written anew."""

import re

from . import figures

BLOCK = re.compile(r"(<!-- bench: (?P<name>[\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
LONG_TABLE = 24  # rows: it is folded


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
            f"`{run['commit']}`, {run['date']}, {effort}. The load average was {min(loads):.1f} to {max(loads):.1f}, the "
            "benchmarks' own processes included.\n")


def targets(run):
    with_target = [(b["benchmark"], f) for b in run["benchmarks"] for f in b["figures"] if "target" in f]
    met = sum(figures.is_met(f) for _, f in with_target)
    lines = [f"{met} of {len(with_target)} are met.", "", "| benchmark | figure | median | least to greatest | target (goal) | |",
             "|---|---|--:|--:|---|---|"]
    for benchmark, f in with_target:
        verdict = figures.verdict(f)
        lines.append(f"| `{benchmark}` | {f['name']} | {figures.number(f['median'])} {f['unit']} | {figures.spread(f)} | "
                     f"{figures.target_text(f)} | {verdict if figures.is_met(f) else f'**{verdict}**'} |")
    return "\n".join(lines) + "\n"


def table(benchmark):
    if benchmark is None:
        return "Not measured.\n"
    rows = [f"| {f['name']} | {figures.number(f['median'])} {f['unit']} | {figures.spread(f)} |" for f in benchmark["figures"]]
    text = "\n".join(["| figure | median | least to greatest |", "|---|--:|--:|", *rows]) + "\n"
    if len(rows) > LONG_TABLE:
        text = f"<details><summary>{len(rows)} figures</summary>\n\n{text}\n</details>\n"
    return text + "".join(f"\nMissing: {name}\n" for name in benchmark["missing"])
