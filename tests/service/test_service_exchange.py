"""What servers say to each other: who is let in, what is answered, and what is sent again."""

import asyncio
import contextlib
import json
import struct

import pytest

from matroid_bandits.exceptions import DataError, UnavailableError
from matroid_bandits.service import Service, Settings, run_server
from matroid_bandits.service._exchange import ANSWER, PROBLEM, Handed, Line, clock
from matroid_bandits.service._homes import PROTOCOL, Server, View
from matroid_bandits.service._router import Router
from matroid_bandits.specs import CampaignSpec, parse
from service_databases import fresh_postgres
from service_kit import ADS, settings_for


class Front:
    """The side that connects."""

    def __init__(self, secret, id="front"):
        self.secret, self.me = secret, Server(id, "")
        self.back, self.news = [], []

    def line(self, server):
        return Line(self, server, self.news.append, self.back.extend, 5.0)


@contextlib.asynccontextmanager
async def home(tmp_path):
    """A server with one campaign, which is at home there."""
    service = Service(settings_for(str(tmp_path / "campaigns.db")))
    service.start()
    service.create(parse(CampaignSpec, {"name": "ads", "matroid": ADS, "policy": "OMM", "seed": 1}))
    service.router = router = Router(service, Server(service.id, "127.0.0.1:0"), ("127.0.0.1", 0))
    await router.start()
    router.take(View({router.me.id: router.me}, everywhere=router.me.id))
    try:
        yield service, router
    finally:
        await router.stop()
        await asyncio.to_thread(service.stop)


def handed(name, verb="ask", content=b"{}", **more):
    """An operation, and the future of its answer."""
    future = asyncio.get_running_loop().create_future()
    line = [verb, name, more.pop("id", "an id"), "", "a key"]
    given = Handed(name, line, content, lambda *answer: future.set_result(answer), future.set_exception, lambda: None)
    for key, value in more.items():
        setattr(given, key, value)
    return given, future


async def is_open(line, seconds=0.5):
    end = clock() + seconds
    while not line.is_open and clock() < end:
        await asyncio.sleep(0.01)
    return line.is_open


def test_operations_are_answered_in_batches_and_found_by_their_ids(tmp_path):
    async def run():
        async with home(tmp_path) as (_, router):
            front = Front(router.secret)
            line = front.line(router.me)
            line.watch(["ads"])
            asks = [handed("ads", id=f"ask {n % 3}") for n in range(6)]
            others = [handed("ads", "tell", b"{}", id="bad"), handed("none", id="unknown")]
            for given, _ in (*asks, *others):
                line.hand(given)
            answers = [await asyncio.wait_for(future, 20.0) for _, future in (*asks, *others)]
            async with asyncio.timeout(20.0):
                while {"ads": 4} not in front.news:
                    await asyncio.sleep(0.01)
            line.close()
            return answers

    answers = asyncio.run(run())
    decisions = [json.loads(body)["decision"] for _, _, body in answers[:6]]
    assert decisions == [1, 2, 3, 1, 2, 3]
    assert [kind for kind, _, _ in answers[:3]] == [ANSWER] * 3
    assert [(kind, status) for kind, status, _ in answers[6:]] == [(PROBLEM, 422), (PROBLEM, 404)]


def test_only_servers_of_the_same_database_that_mean_each_other_are_let_in(tmp_path, caplog):
    async def run():
        async with home(tmp_path) as (_, router):
            right = Front(router.secret).line(router.me)
            assert await is_open(right, 20.0)
            another = Server("another", router.me.address)
            wrong = [Front(b"another").line(router.me), Front(router.secret).line(another)]
            operations = [handed("ads") for _ in wrong]
            for line, (given, _) in zip(wrong, operations, strict=True):
                line.hand(given)
                assert not await is_open(line)
            assert not any(future.done() for _, future in operations)
            for line in (right, *wrong):
                line.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", int(router.me.address.rpartition(":")[2]))
            hello = {"protocol": PROTOCOL + 1, "from": "front", "to": router.me.id, "nonce": ""}
            text = json.dumps(hello).encode()
            writer.write(struct.pack(">II", len(text), len(text)) + text)
            assert b"refused" in await reader.read()
            writer.close()
            await writer.wait_closed()

    asyncio.run(run())
    assert "without the secret of this database" in caplog.text
    assert "expected server another" in caplog.text


def test_nothing_is_sent_again_after_a_minute_or_a_stall(tmp_path):
    async def run():
        async with home(tmp_path) as (_, router):
            late, late_answer = handed("ads", at=clock() - 61.0)
            router._back([late])
            with pytest.raises(UnavailableError, match="not known what it did"):
                await late_answer
            before, before_answer = handed("ads", at=clock() - 1.0)
            router._stalled = clock()
            router._back([before])
            with pytest.raises(UnavailableError):
                await before_answer
            ran = asyncio.get_running_loop().create_future()
            fresh, _ = handed("ads", run_here=lambda: ran.set_result(None))
            router._back([fresh])
            await asyncio.wait_for(ran, 20.0)
            router._last_turn = clock() - 10.0  # the process has just been stopped
            stopped, stopped_answer = handed("ads")
            router._back([stopped])
            with pytest.raises(UnavailableError):
                await stopped_answer

    asyncio.run(run())


def test_servers_that_others_must_reach_say_where(postgres):
    settings = Settings(db=fresh_postgres(postgres), host="0.0.0.0", port=0, insecure=True)
    with pytest.raises(DataError, match="expected --advertise HOST:PORT"):
        run_server(settings)
    for wrong in ("nowhere", "host:", ":7000", "a b:1"):
        with pytest.raises(ValueError, match="advertise"):
            Settings(advertise=wrong)
