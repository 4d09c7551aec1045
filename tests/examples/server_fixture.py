"""Starts the programs of examples/, which are on the PATH, for a test."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

INVOICES = "id,customer,amount,currency\nA-1,Ünal & Söhne,12.50,EUR\nA-2,Rossi Bakery Inc.,99.99,USD\n"


def wait_until(condition, what, timeout=20):
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.005)
    return value


def is_running(pid):
    """A process that has ended and that nobody has waited for does not run."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class HeldKey:
    """A process that holds a key, until it is let go."""

    def __init__(self, key, environment):
        self._process = subprocess.Popen(
            ["wait_for_key", key],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == "waiting\n"
        assert self._process.stdout.readline().startswith("acquired: ")

    def let_go(self):
        self._process.communicate()
        assert self._process.returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.returncode is None:
            self.let_go()


class ServerTest(unittest.TestCase):
    """Gives each test a directory, a segment, and servers that do not outlive it."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.invoices = self.directory / "invoices.csv"
        self.invoices.write_text(INVOICES, encoding="utf-8")
        self.ledger = self.directory / "ledger"
        self.use_store(f"shm:{self.directory}/locks")

    def use_store(self, url):
        self.environment = {**os.environ, "MORTISE_STORE": url}

    def command(self, *options):
        return ["prefork_server", "--invoices", self.invoices, "--ledger", self.ledger, *options]

    def start(self, *options):
        with open(self.directory / "log", "w", encoding="utf-8") as log:
            self.server = subprocess.Popen(
                self.command(*options), env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.addCleanup(self.end_server)
        self.port = int(re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", self.server.stdout.readline())[1])

    def end_server(self):
        if self.server.poll() is None:
            self.stop(signal.SIGTERM)
        self.server.stdout.close()

    def stop(self, signal_number):
        self.server.send_signal(signal_number)
        return self.server.wait(timeout=30)

    def log(self):
        return (self.directory / "log").read_text(encoding="utf-8")

    def workers_started(self):
        return [int(pid) for pid in re.findall(r"^worker (\d+) started$", self.log(), re.MULTILINE)]

    def request(self, method, target, **arguments):
        """Returns the response and its JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, target, **arguments)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        return response, json.loads(body)

    def charge(self, invoice_id):
        response, body = self.request("POST", f"/charge/{invoice_id}")
        return response.status, body.get("status") or body.get("error")

    def ledger_entries(self):
        return [line.rstrip().split(",") for line in self.ledger.read_text(encoding="utf-8").splitlines()]
