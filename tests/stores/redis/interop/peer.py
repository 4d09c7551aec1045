"""A worker in Python: the locks of redis-py, as Debian ships it. See interop_test.py for what it is told."""

import pathlib
import sys

import redis
from redis.lock import Lock

client = redis.Redis(unix_socket_path=sys.argv[1])
counter = pathlib.Path(sys.argv[2])
locks = {}


def acquire(key, ttl):
    lock = Lock(client, key, timeout=int(ttl) / 1000, thread_local=False)
    if not lock.acquire(blocking=False):
        return False
    locks[key] = lock
    return True


def release(key):
    try:
        locks[key].release()
        return True
    except (KeyError, redis.exceptions.LockError):
        return False


def extend(key, ttl):
    try:
        return bool(locks[key].extend(int(ttl) / 1000, replace_ttl=True))
    except (KeyError, redis.exceptions.LockError):
        return False


def count(key, rounds):
    for _ in range(int(rounds)):
        with Lock(client, key, timeout=20, sleep=0.001):
            counter.write_text(str(int(counter.read_text()) + 1))
    return True


for line in sys.stdin:
    verb, *words = line.split()
    done = {"acquire": acquire, "release": release, "extend": extend, "count": count}[verb](*words)
    print("yes" if done else "no", flush=True)
