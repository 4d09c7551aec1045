"""An HTTP client of the prefork_server that asks until an invoice is charged."""

import collections
import ctypes
import dataclasses
import http.client
import json
import os
import random
import threading
import time

CHARGED = 201
ALREADY_CHARGED = 200
BEING_CHARGED = 409
CONNECTION_LOST = 0


CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclasses.dataclass(frozen=True)
class Server:
    pid: int
    port: int


def enter_network_of(pid):
    """What this thread connects from now on, it connects on the host of that process."""
    with open(f"/proc/{pid}/ns/net") as network:
        if os.path.samestat(os.fstat(network.fileno()), os.stat("/proc/thread-self/ns/net")):
            return
        if LIBC.setns(network.fileno(), CLONE_NEWNET) != 0:
            raise ChargeFailed(f"cannot enter the network of process {pid}: {os.strerror(ctypes.get_errno())}")


class ChargeFailed(Exception):
    """The server gave an answer that asking again will not better."""


class ChargeClient:
    """May be shared between threads; each request has a connection of its own."""

    def __init__(self, servers, request_timeout=30):
        self._servers = servers
        self._request_timeout = request_timeout
        self._lock = threading.Lock()
        self._answers = collections.Counter()

    def post_once(self, invoice_id, on_connected=lambda server, own_port: None):
        """Asks any of the servers. Returns the status of the answer, or CONNECTION_LOST."""
        server = random.choice(self._servers)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=self._request_timeout)
        try:
            enter_network_of(server.pid)
            connection.connect()
            on_connected(server, connection.sock.getsockname()[1])
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
