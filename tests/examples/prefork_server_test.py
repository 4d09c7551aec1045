"""The prefork_server, from outside: each test runs a real one on a free port."""

import concurrent.futures
import os
import re
import signal
import socket
import subprocess
import unittest

from charge_client import CONNECTION_LOST, ChargeClient, Server
from lock_inspector import LockInspector
from server_fixture import HeldKey, ServerTest, is_running, wait_until


class Answers(ServerTest):
    def test_charges_an_invoice_once(self):
        self.start()
        self.assertEqual(self.charge("A-1"), (201, "charged"))
        self.assertEqual(self.charge("A-1"), (200, "already charged"))
        self.assertEqual(self.charge("A-2"), (201, "charged"))
        self.assertEqual(
            [entry[:3] for entry in self.ledger_entries()], [["A-1", "12.50", "EUR"], ["A-2", "99.99", "USD"]]
        )

    def test_writes_the_worker_that_charged_into_the_ledger(self):
        self.start()
        _, body = self.request("POST", "/charge/A-1")
        self.assertEqual(int(self.ledger_entries()[0][4]), body["worker"])

    def test_remembers_the_charges_of_an_earlier_server(self):
        self.start()
        self.charge("A-1")
        self.assertEqual(self.stop(signal.SIGTERM), 0)
        self.start()
        self.assertEqual(self.charge("A-1"), (200, "already charged"))

    def test_refuses_to_charge_what_somebody_else_is_charging(self):
        self.start()
        with HeldKey("invoice:A-1", self.environment) as somebody:
            self.assertEqual(self.charge("A-1"), (409, "being charged"))
            self.assertEqual(self.charge("A-2"), (201, "charged"))
            somebody.let_go()
            self.assertEqual(self.charge("A-1"), (201, "charged"))

    def test_charges_once_when_many_ask_at_once(self):
        self.start("--charge-time", "100")
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            statuses = [status for status, _ in pool.map(self.charge, ["A-1"] * 48)]
        self.assertEqual(statuses.count(201), 1)
        self.assertEqual(set(statuses) - {200, 201, 409}, set())
        self.assertEqual(len(self.ledger_entries()), 1)

    def test_shows_an_invoice(self):
        self.start()
        before = {
            "invoice": "A-1", "customer": "Ünal & Söhne", "amount": "12.50", "currency": "EUR", "charged": False
        }  # fmt: skip
        self.assertEqual(self.request("GET", "/invoices/A-1")[1], before)
        self.charge("A-1")
        self.assertEqual(self.request("GET", "/invoices/A-1")[1], before | {"charged": True})

    def test_does_not_find_what_is_not_there(self):
        self.start()
        for method, target in [
            ("POST", "/charge/A-3"), ("POST", "/charge/"), ("POST", "/charge/A-1?"), ("GET", "/invoices/a-1"), ("GET", "/")
        ]:  # fmt: skip
            with self.subTest(target):
                self.assertEqual(self.request(method, target)[0].status, 404)

    def test_names_the_method_that_is_allowed(self):
        self.start()
        for method, target, allowed in [
            ("GET", "/charge/A-1", "POST"), ("DELETE", "/invoices/A-1", "GET"), ("POST", "/healthz", "GET")
        ]:  # fmt: skip
            with self.subTest(target):
                response, _ = self.request(method, target)
                self.assertEqual((response.status, response.getheader("Allow")), (405, allowed))
        self.assertEqual(self.ledger_entries(), [])

    def test_refuses_what_is_not_http(self):
        self.start()
        for request in [b"charge A-1\r\n\r\n", b"POST /charge/A-1 HTTP/1.1\r\nContent-Length: x\r\n\r\n"]:
            with self.subTest(request), socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
                connection.sendall(request)
                self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 400 "))
        self.assertEqual(self.charge("A-1"), (201, "charged"))

    def test_says_what_is_wrong_with_the_store(self):
        self.use_store(f"shm:{self.directory}/locks?processes=1")
        self.start()
        with HeldKey("something else", self.environment):
            response, body = self.request("POST", "/charge/A-1")
        self.assertEqual(response.status, 503)
        self.assertIn("process", body["error"])
        self.assertEqual(self.ledger_entries(), [])

    def test_does_not_charge_after_its_lease(self):
        self.start("--charge-time", "200", "--lease-time", "20")
        self.assertEqual(self.charge("A-1")[0], 409)
        self.assertEqual(self.ledger_entries(), [])


class Workers(ServerTest):
    def charging_worker(self, invoice_id):
        """The worker that is charging the invoice."""
        inspector = LockInspector(self.environment["MORTISE_STORE"])
        lease = inspector.wait_for_lease(f"invoice:{invoice_id}", timeout=20)
        self.assertIsNotNone(lease, "nobody began the charge")
        self.assertIn(lease["holder"]["pid"], self.workers_started())
        return lease["holder"]["pid"]

    def test_one_that_dies_is_replaced(self):
        self.start("--workers", "3")
        first = wait_until(lambda: len(self.workers_started()) == 3 and self.workers_started(), "three workers")
        for worker in first:
            os.kill(worker, signal.SIGKILL)
        wait_until(lambda: len(self.workers_started()) == 6, "three more workers")
        self.assertIn(self.request("GET", "/healthz")[1]["worker"], self.workers_started()[3:])
        self.assertEqual(len(re.findall(r"^worker \d+ was ended by signal 9$", self.log(), re.MULTILINE)), 3)

    def test_one_that_dies_in_the_middle_of_a_charge_frees_the_invoice(self):
        self.start("--charge-time", "2000")
        client = ChargeClient([Server(self.server.pid, self.port)])
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(client.post_once, "A-1")
            os.kill(self.charging_worker("A-1"), signal.SIGKILL)
            self.assertEqual(answer.result(), CONNECTION_LOST)
        self.assertEqual(self.ledger_entries(), [])
        self.assertEqual(self.charge("A-1"), (201, "charged"))
        self.assertEqual(len(self.ledger_entries()), 1)

    def stop_in_the_middle_of_a_charge(self, signal_number):
        self.start("--charge-time", "1000")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.charge, "A-1")
            self.charging_worker("A-1")
            self.assertEqual(self.stop(signal_number), 0)
            self.assertEqual(answer.result(), (201, "charged"))
        self.assertEqual(len(self.workers_started()), 4)
        self.assertEqual([pid for pid in self.workers_started() if is_running(pid)], [])
        with self.assertRaises(ConnectionRefusedError):
            self.charge("A-1")

    def test_sigterm_lets_them_finish_and_leaves_none(self):
        self.stop_in_the_middle_of_a_charge(signal.SIGTERM)

    def test_sigint_lets_them_finish_and_leaves_none(self):
        self.stop_in_the_middle_of_a_charge(signal.SIGINT)

    def test_they_do_not_outlive_a_parent_that_is_killed(self):
        self.start()
        workers = wait_until(lambda: len(self.workers_started()) == 4 and self.workers_started(), "four workers")
        self.stop(signal.SIGKILL)
        wait_until(lambda: not any(map(is_running, workers)), "the end of the workers")


class Start(ServerTest):
    def refusal(self, *options):
        """What a server says that does not start."""
        result = subprocess.run(
            self.command(*options),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
        )
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def test_refuses_a_malformed_invoice_and_names_its_line(self):
        header, row = "id,customer,amount,currency\n", "A-1,Rossi,12.50,EUR\n"
        for bad, line in [
            ("", 1),
            ("id,customer,amount\n" + row, 1),
            (header + row + "A-2,Rossi,12.50\n", 3),
            (header + row + "A-2,Rossi,12.50,EUR,x\n", 3),
            (header + row + "\n", 3),
            (header + "A-1,Rossi,12.5,EUR\n", 2),
            (header + "A-1,Rossi,-12.50,EUR\n", 2),
            (header + "A-1,Rossi,12.50,EUR\r\n", 2),
            (header + "A/1,Rossi,12.50,EUR\n", 2),
            (header + ",Rossi,12.50,EUR\n", 2),
            (header + '"A-1",Rossi,12.50,EUR\n', 2),
            (header + row + row, 3),
        ]:
            with self.subTest(bad):
                self.invoices.write_text(bad, encoding="utf-8", newline="")
                self.assertIn(f"invoices.csv:{line}: ", self.refusal())

    def test_refuses_a_file_that_is_no_ledger(self):
        self.ledger.write_text("Dear diary\n", encoding="utf-8")
        self.assertIn("is not a ledger", self.refusal())
        self.assertEqual(self.ledger.read_text(encoding="utf-8"), "Dear diary\n")

    def test_refuses_files_that_are_not_there(self):
        self.invoices.unlink()
        self.assertIn("invoices.csv", self.refusal())

    def test_refuses_a_store_that_cannot_be_opened(self):
        self.use_store(f"shm:{self.directory}/no/such/directory/locks")
        self.assertIn("no/such/directory", self.refusal())
        self.use_store("carrier-pigeon:")
        self.assertIn("carrier-pigeon", self.refusal())

    def test_refuses_bad_options(self):
        for option, value in [("--workers", "0"), ("--port", "65536"), ("--charge-time", "-1"), ("--lease-time", "0")]:
            with self.subTest(option):
                self.assertIn(option, self.refusal(option, value))

    def test_refuses_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.assertIn("in use", self.refusal("--port", str(other.getsockname()[1])))


if __name__ == "__main__":
    unittest.main()
