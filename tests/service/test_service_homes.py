"""Homes of campaigns: servers announce themselves, hand operations over, and take over from each other."""

import pytest
import sqlalchemy as sa

from matroid_bandits.service import Database
from matroid_bandits.service._homes import Registry, Server, View, least_busy
from matroid_bandits.service._remembered import FRONT_MARK
from matroid_bandits.service._tables import homes, requests, servers
from service_databases import fresh_postgres
from service_kit import started


@pytest.fixture
def registry(postgres):
    """Servers and homes of a PostgreSQL with three campaigns."""
    database = Database(fresh_postgres(postgres))
    database.open()
    with database.writing() as connection:
        for name in "abc":
            database.create(connection, name, "{}", 0.0)
    yield Registry(database, takeover=5.0)
    database.close()


def silence(registry, id, seconds=100.0):
    """Let a server have said nothing for a while."""
    with registry.database.writing() as connection:
        before = registry.database.clock - seconds
        connection.execute(sa.update(servers).where(servers.c.id == id).values(seen=before))


def settle(registry, seconds=100.0):
    """Let the last moves have been a while ago."""
    with registry.database.writing() as connection:
        connection.execute(sa.update(homes).values(since=registry.database.clock - seconds))


def test_a_home_is_claimed_once_and_moves_when_it_may(registry):
    registry.beat([Server("one", "127.0.0.1:1"), Server("two", "127.0.0.1:2")])
    first = registry.view()
    assert {*first.servers} == {"one", "two"}
    assert [first.homes[name].server for name in "abc"] == ["", "", ""]
    assert registry.place(first.homes["a"], "one")
    assert not registry.place(first.homes["a"], "two")  # what it goes by is not so any more
    home = registry.view().homes["a"]
    assert (home.server, home.epoch) == ("one", 1)
    assert not registry.place(home, "two")  # it has just moved
    settle(registry)
    assert registry.place(home, "two")
    assert not registry.place(home, "one")
    moved = registry.view().homes["a"]
    assert (moved.server, moved.epoch) == ("two", 2)
    registry.beat([Server("two", "127.0.0.1:2", is_draining=True)])
    assert registry.place(moved, "one")  # at once, from one that drains
    silence(registry, "one")
    assert registry.place(registry.view().homes["a"], "two")  # and from one that is dead
    registry.leave(["two"])
    assert registry.place(registry.view().homes["a"], "one")
    assert {*registry.view().servers} == {"one"}


def test_campaigns_go_to_the_least_busy_server_that_can_take_them(registry):
    able = [Server("one", ""), Server("two", "")]
    registry.beat([*able, Server("drains", "", is_draining=True), Server("old", "", protocol=0), Server("dead", "")])
    silence(registry, "dead")
    for _ in range(4):
        view = registry.view()
        free = [home for home in view.homes.values() if not home.server]
        if free:
            assert registry.place(free[0], least_busy(view, registry.silent))
    placed = sorted(home.server for home in registry.view().homes.values())
    assert placed in (["one", "one", "two"], ["one", "two", "two"])
    assert least_busy(View(), registry.silent) is None


def test_ids_that_servers_made_are_forgotten_after_minutes(url):
    with started(url, tick=1000.0) as service:
        database = service.database
        now = database.now()
        with database.writing() as connection:
            for id, age in ((f"{FRONT_MARK}old", 601.0), (f"{FRONT_MARK}new", 5.0), ("a client's", 601.0)):
                row = {"id": id, "campaign": 1, "digest": "", "status": 200, "answer": "{}", "at": now - age}
                connection.execute(sa.insert(requests).values(row))
        database.forget_ids(now - 600.0, of_fronts=True)
        with database.reading() as connection:
            assert sorted(connection.execute(sa.select(requests.c.id)).scalars()) == [
                f"{FRONT_MARK}new",
                "a client's",
            ]
