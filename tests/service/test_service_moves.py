"""Three servers with leases that move, under load: killed, stopped, cut off, slow; nothing is lost or doubled.

``make torture`` tries every kind of fault some times (``MATROID_BANDITS_FAULTS``), with stops of up to a minute
(``MATROID_BANDITS_STOP_S``).
"""

import contextlib
import itertools
import os
import random
import signal
import threading
import time
import urllib.request
from pathlib import Path

import pytest
import sqlalchemy as sa

import matroid_bandits as mb
from matroid_bandits.service import Database
from matroid_bandits.service._tables import leases
from service_databases import fresh_postgres
from service_kit import until
from service_nursery import DIES, STOPS, nursery, wait_until_ready
from service_proxy import Proxy
from service_visitors import Visitor, check_log, free_ports

pytestmark = pytest.mark.compiled  # servers are processes of their own

FAULTS = int(os.environ.get("MATROID_BANDITS_FAULTS", "1"))
STOPS_S = [float(each) for each in os.environ.get("MATROID_BANDITS_STOP_S", "1.5").split(",")]
LEASE_S = 1.0

#: Seconds beyond the time of a lease after which an ask must have been answered; a machine that is busy takes most.
SLACK_S = 240.0
N_CLIENTS = 6


class Fleet:
    """Three servers of one PostgreSQL that reach each other through proxies; a restarted one has the same ports."""

    def __init__(self, url, servers, n=3):
        self.url, self.servers, self.ports = url, servers, free_ports(n)
        self.proxies = {port: Proxy(port) for port in self.ports}
        self.pids, self.stops, self.database = {}, itertools.cycle(STOPS_S), Database(url)
        for port in self.ports:
            self.start(port)
        for port in self.ports:
            wait_until_ready(port)

    def start(self, port):
        proxy = self.proxies[port]
        more = {"lease": LEASE_S, "advertise": f"127.0.0.1:{proxy.port}"}
        self.pids[port] = self.servers.start(self.url, port, snapshot_every=200, drain=3.0, **more)

    def holder(self):
        """The port of the server that has the lease of the campaign."""
        return until(self._holder, LEASE_S + SLACK_S)

    def _holder(self):
        for port in self.ports:
            where = f"http://127.0.0.1:{port}/metrics"
            with contextlib.suppress(OSError), urllib.request.urlopen(where, timeout=5.0) as page:
                if b'matroid_bandits_leased{campaign="ads"} 1.0' in page.read():
                    return port
        return None

    def is_stopped(self, port):
        return Path(f"/proc/{self.pids[port]}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def close(self):
        for pid in self.pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            self.servers.end(pid)
        for proxy in self.proxies.values():
            proxy.close()
        self.database.close()

    def execute(self, statement):
        with self.database.writing() as connection:
            connection.execute(statement)


# Each fault happens to the holder of the lease; `served` waits until every client has been served again, and
# is called where that must be so.


def kill(fleet, port, served):
    """The holder dies, and another server gets its ports."""
    fleet.servers.end(fleet.pids[port])
    served()
    fleet.start(port)


def kill_and_replace(fleet, port, served):
    """Another server gets the ports of a holder that died before others notice."""
    fleet.servers.end(fleet.pids[port])
    fleet.start(port)
    served()


def drain(fleet, port, served):
    """The holder is told to end, and gives its lease up."""
    fleet.servers.end(fleet.pids[port], signal.SIGTERM)
    served()
    fleet.start(port)


def die_between_commit_and_answer(fleet, port, served):
    os.kill(fleet.pids[port], DIES)
    until(lambda: not Path(f"/proc/{fleet.pids[port]}").exists(), SLACK_S)
    fleet.servers.end(fleet.pids[port])
    served()
    fleet.start(port)


def stop(fleet, port, served):
    """The holder stops wherever it is, for longer than others wait for it, and goes on."""
    os.kill(fleet.pids[port], signal.SIGSTOP)
    _go_on(fleet, port, served)


def stop_inside_a_transaction(fleet, port, served):
    """The same, while it has the lock of the campaign's row."""
    os.kill(fleet.pids[port], STOPS)
    until(lambda: fleet.is_stopped(port), SLACK_S)
    _go_on(fleet, port, served)


def _go_on(fleet, port, served):
    end = time.monotonic() + next(fleet.stops)
    served()
    time.sleep(max(end - time.monotonic(), 0.0))
    os.kill(fleet.pids[port], signal.SIGCONT)
    served()


def cut_off(fleet, port, served):
    """No server reaches the holder, which lives."""
    fleet.proxies[port].cut()
    time.sleep(0.5)
    fleet.proxies[port].mend()
    served()


def slow_down(fleet, port, served):
    """What servers pass on to the holder takes a while."""
    fleet.proxies[port].delay = 0.3
    served()
    fleet.proxies[port].mend()
    served()


def cut_the_way_back(fleet, port, served):
    """What is passed on is executed, and its answers do not come."""
    fleet.proxies[port].is_mute = True
    served()
    fleet.proxies[port].mend()
    served()


def steal_the_lease(fleet, port, served):
    """The table says that another server has the lease, while the holder takes itself for it."""
    other = next(each for each in fleet.ports if each != port)
    stolen = {"server": "f" * 16, "url": f"http://127.0.0.1:{fleet.proxies[other].port}"}
    fleet.execute(sa.update(leases).values(**stolen, until=2e9))
    served()


def slow_database(fleet, port, served):
    """Nothing is appended for longer than a lease."""
    with fleet.database.writing() as connection:
        connection.exec_driver_sql("LOCK TABLE events IN ACCESS EXCLUSIVE MODE")
        time.sleep(1.5 * LEASE_S)
    served()


def refuse_commits(fleet, port, served):
    """Transactions are executed whole, and fail when they are committed."""
    refuse = "CREATE OR REPLACE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE '%'; END $$"
    fleet.execute(sa.text(refuse.replace("'%'", "'refused'")))
    deferred = "AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refused()"
    fleet.execute(sa.text(f"CREATE CONSTRAINT TRIGGER refused {deferred}"))
    time.sleep(0.3)
    fleet.execute(sa.text("DROP TRIGGER refused ON events"))
    served()


KINDS = (
    kill, kill_and_replace, drain, die_between_commit_and_answer, stop, stop_inside_a_transaction, cut_off, slow_down,
    cut_the_way_back, steal_the_lease, slow_database, refuse_commits,
)  # fmt: skip


@pytest.mark.torture
@pytest.mark.compiled
def test_what_was_acknowledged_survives_moves(postgres):
    """Every kind of fault happens to the holder in turns, under load; after each, every client is served again."""
    chance, is_over = random.Random(0), threading.Event()
    url = fresh_postgres(postgres)
    with nursery() as servers, contextlib.ExitStack() as stack:
        fleet = Fleet(url, servers)
        stack.callback(fleet.close)
        with mb.Client(f"http://127.0.0.1:{fleet.ports[0]}", "ads") as client:
            matroid = mb.PartitionMatroid({f"ad {n}": n % 4 for n in range(20)})
            client.create(matroid, mb.OMM(), seed=1)
        visitors = [Visitor(fleet.ports, seed, is_over, timeout=2.0) for seed in range(N_CLIENTS)]
        stack.callback(is_over.set)
        for each in visitors:
            each.start()
        waits = []

        def served():
            began, before = time.monotonic(), [len(each.told) for each in visitors]
            until(
                lambda: all(
                    e.error is not None or len(e.told) > n + 1 for e, n in zip(visitors, before, strict=True)
                ),
                LEASE_S + SLACK_S,
            )
            assert [each.error for each in visitors] == [None] * N_CLIENTS
            waits.append((time.monotonic() - began, fault.__name__))

        faults = [fault for _ in range(FAULTS) for fault in chance.sample(KINDS, len(KINDS))]
        for fault in faults:
            holder = fleet.holder()
            time.sleep(chance.uniform(0.05, 0.4))
            fault(fleet, holder, served)
            for port in fleet.ports:
                wait_until_ready(port)
        is_over.set()
        for each in visitors:
            each.join(240.0)
        assert [each.error for each in visitors] == [None] * N_CLIENTS
        n = check_log(url, visitors)
    seconds, name = max(waits)
    print(f"{len(faults)} faults, {n} acknowledged requests, none lost, none twice")
    print(f"served again after {seconds:.1f} s at most ({name})")
