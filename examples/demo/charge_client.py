"""An HTTP client of the prefork_server that asks until an invoice is charged."""

import collections
import http.client
import json
import random
import threading
import time

CHARGED = 201
ALREADY_CHARGED = 200
BEING_CHARGED = 409
CONNECTION_LOST = 0


class ChargeFailed(Exception):
    """The server gave an answer that asking again will not better."""


class ChargeClient:
    """May be shared between threads; each request has a connection of its own."""

    def __init__(self, ports, request_timeout=30):
        self._ports = ports
        self._request_timeout = request_timeout
        self._lock = threading.Lock()
        self._answers = collections.Counter()

    def post_once(self, invoice_id, on_connected=lambda own_port: None):
        """Asks any of the servers. Returns the status of the answer, or CONNECTION_LOST."""
        port = random.choice(self._ports)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=self._request_timeout)
        try:
            connection.connect()
            on_connected(connection.sock.getsockname()[1])
            connection.request("POST", f"/charge/{invoice_id}")
            response = connection.getresponse()
            body = response.read()
            status = response.status
        except (http.client.HTTPException, OSError):
            status = CONNECTION_LOST
        finally:
            connection.close()
        with self._lock:
            self._answers[status] += 1
        if status not in (CHARGED, ALREADY_CHARGED, BEING_CHARGED, CONNECTION_LOST):
            raise ChargeFailed(f"{invoice_id}: {status} {json.loads(body)['error']}")
        return status

    def charge(self, invoice_id, deadline):
        """Asks until the invoice is charged; `deadline` is one of time.monotonic()."""
        while self.post_once(invoice_id) not in (CHARGED, ALREADY_CHARGED):
            if time.monotonic() > deadline:
                raise ChargeFailed(f"{invoice_id}: not charged in time")
            time.sleep(random.uniform(0.01, 0.05))

    def answers(self):
        """How often which status came."""
        with self._lock:
            return collections.Counter(self._answers)
