"""The checker that judges the demo: it must find what it is there to find."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).parents[2] / "examples" / "demo" / "check_ledger.py"
INVOICES = "id,customer,amount,currency\nA-1,Rossi,12.50,EUR\nA-2,Novák,99.99,USD\n"
A_1, A_2 = "A-1,12.50,EUR,7,100", "A-2,99.99,USD,7,101"


class CheckLedger(unittest.TestCase):
    def check(self, *lines, end="\n"):
        """Returns the exit status and what the checker says of a ledger with these lines."""
        with tempfile.TemporaryDirectory() as directory:
            invoices, ledger = pathlib.Path(directory, "invoices.csv"), pathlib.Path(directory, "ledger")
            invoices.write_text(INVOICES, encoding="utf-8")
            ledger.write_text("\n".join(line.ljust(127) for line in lines) + end, encoding="utf-8")
            command = [sys.executable, "-B", CHECKER, invoices, ledger]
            result = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=30)
        return result.returncode, result.stdout

    def assert_refused(self, reason, *lines, **options):
        status, text = self.check(*lines, **options)
        self.assertEqual(status, 1)
        self.assertIn(reason, text)

    def test_accepts_each_invoice_charged_once_in_any_order(self):
        self.assertEqual(
            self.check(A_2, A_1), (0, "ledger: 2 invoices, each charged exactly once with the right amount\n")
        )

    def test_finds_a_double_charge(self):
        self.assert_refused("A-1 was charged 2 times", A_1, A_2, "A-1,12.50,EUR,8,102")

    def test_finds_a_late_writer(self):
        self.assert_refused("A-1: the fencing numbers do not rise: [7, 6]", A_1, A_2, "A-1,12.50,EUR,6,102")

    def test_finds_two_grants_with_one_number(self):
        self.assert_refused("A-1: the fencing numbers do not rise: [7, 7]", A_1, A_2, A_1)

    def test_finds_a_missing_invoice(self):
        self.assert_refused("A-2 was not charged", A_1)

    def test_finds_a_wrong_amount(self):
        self.assert_refused("A-2 was charged 99.98 USD instead of 99.99 USD", A_1, "A-2,99.98,USD,7,101")

    def test_finds_a_wrong_currency(self):
        self.assert_refused("A-2 was charged 99.99 EUR instead of 99.99 USD", A_1, "A-2,99.99,EUR,7,101")

    def test_finds_an_unknown_invoice(self):
        self.assert_refused("A-3 was charged, and there is no such invoice", A_1, A_2, "A-3,1.00,EUR,7,103")

    def test_finds_a_line_that_is_not_a_charge(self):
        self.assert_refused("line 2 is not a charge", A_1, "A-2,99.99", A_2)

    def test_finds_a_line_that_was_cut(self):
        self.assert_refused("the last line has no end", A_1, A_2, end="")


if __name__ == "__main__":
    unittest.main()
