"""Kill -9 under load: nothing that was acknowledged is lost or doubled, and the log replays.

``make torture`` runs this alone with hundreds of kills; ``MATROID_BANDITS_KILLS`` says how many for each database.
"""

import os
import random
import threading
import time

import pytest

import matroid_bandits as mb
from service_nursery import nursery, wait_until_ready
from service_visitors import Visitor, check_log, free_ports

KILLS = int(os.environ.get("MATROID_BANDITS_KILLS", "2"))
N_CLIENTS = 6


@pytest.mark.compiled
def test_what_was_acknowledged_survives_kills(url):
    ports = free_ports(3 if url.startswith("postgresql") else 2)  # homes move between the servers of a PostgreSQL
    is_over = threading.Event()
    chance = random.Random(0)
    with nursery() as servers:
        more = {"snapshot_every": 200, "takeover": 1.0}
        pids = [servers.start(url, port, **more) for port in ports]
        for port in ports:
            wait_until_ready(port)
        with mb.Client(f"http://127.0.0.1:{ports[0]}", "ads") as client:
            matroid = mb.PartitionMatroid({f"ad {n}": n % 4 for n in range(20)})
            client.create(matroid, mb.OMM(), seed=1)
        visitors = [Visitor(ports, seed, is_over) for seed in range(N_CLIENTS)]
        for each in visitors:
            each.start()
        for kill in range(KILLS):
            time.sleep(chance.uniform(0.05, 0.4))
            victim = kill % len(ports)
            others = (
                [n for n in range(len(ports)) if n != victim] if kill % 4 == 3 else []
            )  # now and then all of them
            for n in (victim, *others):
                servers.end(pids[n])
                pids[n] = servers.start(url, ports[n], **more)
            wait_until_ready(ports[victim])
        time.sleep(0.2)
        is_over.set()
        for each in visitors:
            each.join(60.0)
        assert [each.error for each in visitors] == [None] * N_CLIENTS
    n = check_log(url, visitors)
    print(f"{KILLS} kills, {n} acknowledged requests, none lost, none twice")
