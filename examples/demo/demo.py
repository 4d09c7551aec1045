#!/usr/bin/env python3
"""Charges every invoice several times at once, and kills workers of the prefork_server meanwhile.

Finds inspect-locks and wait_for_key on the PATH, and the locks in the store that MORTISE_STORE names.
"""

import argparse
import concurrent.futures
import os
import random
import subprocess
import sys
import threading
import time

import charge_client
import check_ledger
import lock_inspector
import worker_killer

COPIES = 3  # of each charge, at once
CLIENTS = 48
KILLS = 3
SPARE_VICTIMS = 9  # a charge may be over before its worker is killed
TIME_LIMIT = 200  # seconds; ten are usual


def parse_command_line():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True, action="append", help="of each server")
    parser.add_argument("--server-pid", type=int, required=True, action="append", help="of each server")
    parser.add_argument("--invoices", required=True)
    return parser.parse_args()


class Progress:
    def __init__(self, total):
        self._changed = threading.Condition()
        self._total = total
        self._done = 0

    def one_more(self, _):
        with self._changed:
            self._done += 1
            if self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
                print(f"  {self._done} of {self._total} callers know that their invoice is charged", flush=True)
            self._changed.notify_all()

    def wait_for(self, share):
        with self._changed:
            self._changed.wait_for(lambda: self._done >= share * self._total)


def show(kill):
    print(f"\nWorker {kill.worker} was charging {kill.invoice_id} when it was killed. The locks just before:")
    print(kill.locks)
    print(f"After {kill.seconds_until_free * 1000:.1f} ms the key was free.\n", flush=True)


def kill_workers(client, killer, victims, progress, pool):
    """Kills KILLS workers; each is charging an invoice of `victims`, which nobody else asks for."""
    kills = []
    for invoice_id in victims:
        if len(kills) == KILLS:
            break
        progress.wait_for((len(kills) + 1) / (KILLS + 2))
        connected = concurrent.futures.Future()
        request = pool.submit(client.post_once, invoice_id, lambda *connection: connected.set_result(connection))
        kill = killer.kill_the_one_that_charges(invoice_id, *connected.result(timeout=30))
        request.result()
        if kill:
            kills.append(kill)
            show(kill)
    return kills


def summarise(answers, kills):
    print()
    print(f"requests                {answers.total():5}")
    print(f"  charged               {answers[charge_client.CHARGED]:5}")
    print(f"  already charged       {answers[charge_client.ALREADY_CHARGED]:5}")
    print(f"  refused (409)         {answers[charge_client.BEING_CHARGED]:5}   somebody else was charging the invoice")
    print(f"  connection lost       {answers[charge_client.CONNECTION_LOST]:5}   their worker was killed")
    print(f"workers killed          {len(kills):5}   in the middle of a charge")
    times = ", ".join(f"{kill.seconds_until_free * 1000:.1f}" for kill in kills)
    print(f"from the kill until the key was free: {times} ms", flush=True)


def main():
    options = parse_command_line()
    deadline = time.monotonic() + TIME_LIMIT
    servers = [charge_client.Server(pid, port) for pid, port in zip(options.server_pid, options.port)]
    client = charge_client.ChargeClient(servers)
    inspector = lock_inspector.LockInspector(os.environ["MORTISE_STORE"])
    inspector.leases()  # a store that cannot be looked into is better found now than at the first kill
    killer = worker_killer.WorkerKiller(inspector)

    invoice_ids = list(check_ledger.read_invoices(options.invoices))
    random.shuffle(invoice_ids)
    victims, others = invoice_ids[: KILLS + SPARE_VICTIMS], invoice_ids[KILLS + SPARE_VICTIMS :]
    progress = Progress(COPIES * len(invoice_ids))

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as load, concurrent.futures.ThreadPoolExecutor(1) as side:

        def charge_all(ids):
            charges = [load.submit(client.charge, invoice_id, deadline) for invoice_id in ids for _ in range(COPIES)]
            for charge in charges:
                charge.add_done_callback(progress.one_more)
            return charges

        charges = charge_all(others)
        kills = kill_workers(client, killer, victims, progress, side)
        for charge in charges + charge_all(victims):
            charge.result()

    summarise(client.answers(), kills)
    if len(kills) < KILLS:
        sys.exit(f"demo: only {len(kills)} of {KILLS} workers could be killed in the middle of a charge")


if __name__ == "__main__":
    try:
        main()
    except (charge_client.ChargeFailed, subprocess.CalledProcessError) as error:
        sys.exit(f"demo: {error}")
