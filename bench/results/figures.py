"""Figures: the median of repetitions, with their least and greatest, and what is said of them."""

import math
import statistics


def figure(name, unit, repetitions, target=None):
    """Of a target {"at_most" or "at_least": bound, "goal": bound or none} the bound must be kept, and the goal had better."""
    made = {"name": name, "unit": unit, "median": statistics.median(repetitions), "min": min(repetitions),
            "max": max(repetitions), "repetitions": repetitions}
    return made | ({"target": target} if target else {})


def merged(launches):
    """One figure of each name, with the repetitions of all launches of a program."""
    together = {}
    for launch in launches:
        for one in launch:
            known = together.setdefault(one["name"], one | {"repetitions": []})
            known["repetitions"] = known["repetitions"] + one["repetitions"]
    return [figure(f["name"], f["unit"], f["repetitions"], f.get("target")) for f in together.values()]


def sense(target):
    return "at_most" if "at_most" in target else "at_least"


def excess(value, bound, target):
    """By what part the value is on the wrong side of the bound; negative: it is on the right one."""
    return value / bound - 1 if sense(target) == "at_most" else 1 - value / bound


def is_met(one):
    return "target" not in one or excess(one["median"], one["target"][sense(one["target"])], one["target"]) <= 0


def verdict(one):
    if "target" not in one:
        return ""
    target, value = one["target"], one["median"]
    over = excess(value, target[sense(target)], target)
    if over > 0:
        return f"missed by {percent(over)}"
    if "goal" not in target:
        return f"met by {percent(over)}"
    over = excess(value, target["goal"], target)
    return f"met, its goal missed by {percent(over)}" if over > 0 else f"met, and its goal by {percent(over)}"


def percent(part):
    return f"{100 * abs(part):.0f} %"


def target_text(one):
    if "target" not in one:
        return ""
    target = one["target"]
    sign = {"at_most": "≤", "at_least": "≥"}[sense(target)]
    goal = f" ({short(target['goal'])})" if "goal" in target else ""
    return f"{sign} {short(target[sense(target)])}{goal}"


def short(bound):
    return f"{bound:g}"


def number(value):
    """Three significant digits, and never an exponent."""
    exponent = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(0, 2 - exponent), 5)}f}"


def spread(one):
    return f"{number(one['min'])} to {number(one['max'])}"


def row(one, before=None):
    """A line of the table; `before` is the same figure of another run."""
    text = (f"  {one['name']:<68} {number(one['median']):>9} {one['unit']:<11} {spread(one):>20}"
            f"   {target_text(one):<12} {verdict(one)}").rstrip()
    if before and before["median"]:
        text += f"   [was {number(before['median'])}, now {one['median'] / before['median']:.2f} of it]"
    return text
