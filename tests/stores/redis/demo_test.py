"""tools/demo with its locks on a Redis server of the test's own: demo_test.py REDIS_SERVER DEMO BUILD_DIR"""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1


def main():
    server_program, demo, build_dir = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        socket = directory + "/socket"
        server = subprocess.Popen([server_program, "--port", "0", "--unixsocket", socket, "--save", ""],
                                  stdout=subprocess.DEVNULL,
                                  preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        try:
            while server.poll() is None and not pathlib.Path(socket).exists():
                time.sleep(0.01)
            environment = {**os.environ, "MORTISE_STORE": "redis+unix:" + socket}
            run = subprocess.run([demo, "--build-dir", build_dir], env=environment, check=False, text=True,
                                 stdout=subprocess.PIPE)
            print(run.stdout)
            hosts_are_available = subprocess.run(["unshare", "--net", "true"], check=False).returncode == 0
            if hosts_are_available and "in a network namespace of its own" not in run.stdout:
                sys.exit("the servers were not on two hosts")
            return run.returncode
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
