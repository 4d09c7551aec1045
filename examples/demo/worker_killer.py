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


def socket_connected_to(port, pid):
    """The socket at the other end of a loopback connection from that port on the host of that process, as the kernel names it;
    None when there is none."""
    for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[2].rpartition(":")[2], 16) == port:
            return f"socket:[{fields[9]}]"
    return None


def has_open(pid, name):
    try:
        return any(os.readlink(link) == name for link in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # it has ended, or closed the file meanwhile
        return False


def worker_that_answers(server, client_port):
    """None when it has answered."""
    socket = socket_connected_to(client_port, server.pid)
    pids = (int(path.name) for path in pathlib.Path("/proc").iterdir() if path.name.isdigit())
    return next((pid for pid in pids if parent_of(pid) == server.pid and has_open(pid, socket)), None)


class WorkerKiller:
    def __init__(self, inspector):
        self._inspector = inspector

    def kill_the_one_that_charges(self, invoice_id, server, client_port):
        """Returns None when the charge was over too soon. Nobody else may want the invoice meanwhile."""
        key = f"invoice:{invoice_id}"
        lease = self._inspector.wait_for_lease(key, timeout=10)
        if lease is None:
            return None
        # A store on a server knows no processes, and waits for the expiry of a dead one's lease.
        holder_is_known = lease["holder"] is not None
        worker = lease["holder"]["pid"] if holder_is_known else worker_that_answers(server, client_port)
        if worker is None or parent_of(worker) != server.pid:
            return None
        os.kill(worker, signal.SIGSTOP)  # or the charge would be over before everybody is ready to watch
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
        seconds_until_free = (acquired_at - killed_at) / 1e9
        # Otherwise the worker released the key just before it was killed.
        died_with_it = fencing_number == lease["fencing_token"] + 1 if holder_is_known else seconds_until_free > 1
        if seconds_until_free < 0 or not died_with_it:
            return None
        return Kill(invoice_id, worker, locks, seconds_until_free)
