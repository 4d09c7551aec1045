"""The metrics of inspect-locks, as a file and over HTTP, read by Prometheus' own parser."""

import os
import re
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tool_test import INSPECT_LOCKS, PATIENCE, ToolTest, end_tree


def samples(text):
    return {(sample.name, sample.labels.get("key")): sample for family in text_string_to_metric_families(text)
            for sample in family.samples}


class Metrics(ToolTest):

    def setUp(self):
        super().setUp()
        self.user = self.holder()
        self.user.acquire(b'a"\\\n\xff', ttl_ms=60_000)
        self.user.acquire(b"handed over")
        self.user.detach(b"handed over")

    def assert_metrics(self, text):
        found = samples(text)
        key = r'a"\\\n\xff'
        self.assertEqual(found["mortise_leases", None].value, 2)
        self.assertEqual(found["mortise_processes", None].value, 1)
        self.assertEqual(found["mortise_grants_total", None].value, 2)
        self.assertEqual(found["mortise_wait_seconds_count", None].value, 0)
        self.assertEqual(found["mortise_key_busy_total", key].value, 0)
        self.assertEqual(found["mortise_store_info", None].labels["store"], self.store)
        remaining = found["mortise_lease_remaining_seconds", key]
        self.assertTrue(0 < remaining.value <= 60.005)
        self.assertEqual((remaining.labels["pid"], remaining.labels["command"]), (str(self.user.pid), "lock_holder"))
        self.assertEqual(set(found["mortise_lease_sleepers", "handed over"].labels), {"key"})

    def test_a_parser_accepts_them(self):
        for command in [], ["list"], ["stats"]:
            self.assert_metrics(self.output("--format=openmetrics", *command))

    def test_not_of_other_commands(self):
        for arguments in ["processes"], ["stats", "k"]:
            self.assertEqual(self.inspect("--format=openmetrics", *arguments).returncode, 2)


class Server(Metrics):

    def serve(self, listen="127.0.0.1:0", **options):
        process = subprocess.Popen([INSPECT_LOCKS, "serve-metrics", "--listen", listen], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "MORTISE_STORE": self.store}, **options)
        self.addCleanup(end_tree, process)
        return re.fullmatch(r"listening at (http://127\.0\.0\.1:(\d+)/metrics)\n", process.stdout.readline()).groups()

    def test_a_scrape(self):
        url, _ = self.serve()
        for _ in range(2):
            with urllib.request.urlopen(url, timeout=PATIENCE) as response:
                self.assertIn("application/openmetrics-text; version=1.0.0", response.headers["Content-Type"])
                self.assert_metrics(response.read().decode())

    def test_a_client_that_says_nothing_keeps_nobody_waiting_for_ever(self):
        url, port = self.serve()
        with socket.create_connection(("127.0.0.1", int(port))):
            with urllib.request.urlopen(url, timeout=PATIENCE) as response:
                self.assertEqual(response.status, 200)

    def test_what_is_not_there(self):
        url, _ = self.serve()
        with self.assertRaises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(url.replace("metrics", "etc/passwd"), timeout=PATIENCE)
        self.assertEqual(error.exception.code, 404)
        error.exception.close()
        os.unlink(self.path)
        with self.assertRaises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(url, timeout=PATIENCE)
        self.assertEqual(error.exception.code, 503)
        error.exception.close()

    def test_an_address_that_is_none(self):
        for address in "localhost", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "nowhere:1", ":1":
            self.assertEqual(self.inspect("serve-metrics", "--listen", address).returncode, 2, address)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:" + str(taken.getsockname()[1])
            self.assertEqual(self.inspect("serve-metrics", "--listen", address).returncode, 4)


if __name__ == "__main__":
    unittest.main()
