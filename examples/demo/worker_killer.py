"""Kills a worker of the prefork_server in the middle of a charge, and measures how soon its key is free."""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import time


@dataclasses.dataclass
class Kill:
    invoice_id: str
    worker: int
    locks: str  # what inspect-locks saw just before
    seconds_until_free: float


def parent_of(pid):
    """None when there is no such process."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return None
    return int(stat.rpartition(")")[2].split()[1])


class WorkerKiller:
    def __init__(self, server_pid, inspector):
        self._server_pid = server_pid
        self._inspector = inspector

    def kill_the_one_that_charges(self, invoice_id):
        """Returns None when the charge was over too soon. Nobody else may want the invoice meanwhile."""
        key = f"invoice:{invoice_id}"
        lease = self._inspector.wait_for_lease(key, timeout=10)
        if lease is None or lease["holder"] is None or parent_of(lease["holder"]["pid"]) != self._server_pid:
            return None
        worker = lease["holder"]["pid"]
        with subprocess.Popen(
            ["wait_for_key", key], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as waiter:
            waiter.stdout.readline()  # it is about to wait
            locks = self._inspector.table()
            killed_at = time.monotonic_ns()
            os.kill(worker, signal.SIGKILL)
            acquired = re.match(r"acquired: (\d+) ns .* fencing number (\d+)", waiter.stdout.readline())
        if not acquired:
            raise RuntimeError(f"worker {worker} was killed, and nobody got {key}")
        acquired_at, fencing_number = map(int, acquired.groups())
        # Otherwise the worker released the key just before it was killed.
        if acquired_at < killed_at or fencing_number != lease["fencing_token"] + 1:
            return None
        return Kill(invoice_id, worker, locks, (acquired_at - killed_at) / 1e9)
