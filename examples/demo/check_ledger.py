#!/usr/bin/env python3
"""Checks that each invoice was charged exactly once, with the right amount.

Usage: check_ledger.py INVOICES LEDGER
Prints what is wrong, and exits with 1 if anything is.
"""

import collections
import csv
import re
import sys

MAX_SHOWN = 20
LINE = re.compile(rb"([A-Za-z0-9-]+),([0-9]+\.[0-9]{2}),([A-Z]{3}),([0-9]+),([0-9]+) *")


def read_invoices(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row["id"]: (row["amount"], row["currency"]) for row in csv.DictReader(file)}


def read_ledger(path):
    """Returns the charges (amount, currency, fencing number) of each id, in their order, and what is wrong."""
    charges, problems = collections.defaultdict(list), []
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    if lines.pop():
        problems.append("the last line has no end")
    for number, line in enumerate(lines, start=1):
        match = LINE.fullmatch(line)
        if not match:
            problems.append(f"line {number} is not a charge: {line!r}")
            continue
        invoice_id, amount, currency, fencing_number, _ = (field.decode() for field in match.groups())
        charges[invoice_id].append((amount, currency, int(fencing_number)))
    return charges, problems


def check_invoice(invoice_id, due, charges):
    if not charges:
        yield f"{invoice_id} was not charged"
    if len(charges) > 1:
        yield f"{invoice_id} was charged {len(charges)} times"
    for amount, currency, _ in charges:
        if (amount, currency) != due:
            yield f"{invoice_id} was charged {amount} {currency} instead of {' '.join(due)}"
    fencing_numbers = [fencing_number for _, _, fencing_number in charges]
    if fencing_numbers != sorted(set(fencing_numbers)):
        yield f"{invoice_id}: the fencing numbers do not rise: {fencing_numbers}"


def check(invoices, charges):
    for invoice_id, due in invoices.items():
        yield from check_invoice(invoice_id, due, charges.get(invoice_id, []))
    for invoice_id in charges.keys() - invoices.keys():
        yield f"{invoice_id} was charged, and there is no such invoice"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    invoices = read_invoices(sys.argv[1])
    charges, problems = read_ledger(sys.argv[2])
    problems += check(invoices, charges)
    for problem in problems[:MAX_SHOWN]:
        print(f"ledger: {problem}")
    if problems:
        print(f"ledger: {len(problems)} problems")
        sys.exit(1)
    print(f"ledger: {len(invoices)} invoices, each charged exactly once with the right amount")


if __name__ == "__main__":
    main()
