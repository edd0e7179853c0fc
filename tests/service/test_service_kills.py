"""Kill -9 under load: nothing that was acknowledged is lost or doubled, and the log replays.

``make torture`` runs this alone with hundreds of kills; ``MATROID_BANDITS_KILLS`` says how many for each database.
"""

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

import matroid_bandits as mb
from service_kit import until
from service_nursery import children, nursery, wait_until_ready
from service_visitors import Visitor, check_log, free_ports

KILLS = int(os.environ.get("MATROID_BANDITS_KILLS", "2"))
N_CLIENTS = 6


@pytest.mark.torture
@pytest.mark.compiled
def test_what_was_acknowledged_survives_kills(url):
    ports = free_ports(3 if url.startswith("postgresql") else 2)  # a SQLite file has one machine
    is_over = threading.Event()
    chance = random.Random(0)
    with nursery() as servers:
        more = {"snapshot_every": 200, "lease": 1.0}
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
            others = [n for n in range(len(ports)) if n != victim]
            for n in (victim, *others) if kill % 4 == 3 else (victim,):  # now and then all of them
                servers.end(pids[n])
                pids[n] = servers.start(url, ports[n], **more)
            wait_until_ready(ports[victim])
        time.sleep(0.2)
        is_over.set()
        for each in visitors:
            each.join(240.0)
        assert [each.error for each in visitors] == [None] * N_CLIENTS
    n = check_log(url, visitors)
    print(f"{KILLS} kills, {n} acknowledged requests, none lost, none twice")


@pytest.mark.torture
@pytest.mark.compiled
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the workers in /proc")
def test_what_was_acknowledged_survives_kills_of_workers(url):
    """Workers of one command are killed, or stopped until their parent kills them, holders of leases and others."""
    (port,), is_over, chance = free_ports(1), threading.Event(), random.Random(1)
    with nursery() as servers:
        parent = servers.start(url, port, workers=3, lease=1.0, snapshot_every=200)
        wait_until_ready(port)
        with mb.Client(f"http://127.0.0.1:{port}", "ads") as client:
            client.create(mb.PartitionMatroid({f"ad {n}": n % 4 for n in range(20)}), mb.OMM(), seed=1)
        visitors = [Visitor([port], seed, is_over) for seed in range(N_CLIENTS)]
        for each in visitors:
            each.start()
        for kill in range(KILLS):
            until(lambda: len(children(parent)) == 3)
            victim = chance.choice(children(parent))
            os.kill(victim, signal.SIGSTOP if kill % 20 == 1 else signal.SIGKILL)  # the parent waits for a minute
            until(lambda victim=victim: victim not in children(parent))
        until(lambda: len(children(parent)) == 3)
        is_over.set()
        for each in visitors:
            each.join(240.0)
        assert [each.error for each in visitors] == [None] * N_CLIENTS
        servers.end(parent, signal.SIGTERM)
    n = check_log(url, visitors)
    print(f"{KILLS} kills of workers, {n} acknowledged requests, none lost, none twice")
