"""Who holds which lock, as the program inspect-locks sees it."""

import json
import subprocess
import time


class LockInspector:
    def __init__(self, store):
        self._command = ["inspect-locks", "--store", store]

    def leases(self):
        return json.loads(self._run("list", "--json"))["locks"]

    def table(self):
        return self._run("list")

    def lease(self, key):
        """None when nobody holds the key."""
        return next((lease for lease in self.leases() if lease["key"] == key), None)

    def wait_for_lease(self, key, timeout):
        """None when nobody took the key in time."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            lease = self.lease(key)
            if lease:
                return lease
        return None

    def _run(self, *arguments):
        return subprocess.run([*self._command, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout
