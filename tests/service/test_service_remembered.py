"""Requests that were answered before get the same bytes, from whichever version's rows."""

import hashlib
import json
import uuid

import pytest
import sqlalchemy as sa
from pydantic_core import to_json

import matroid_bandits as mb
from matroid_bandits.service._remembered import MADE, short_decision, short_digest, short_id, whole
from matroid_bandits.service._tables import requests
from service_kit import create, serving


def stored(client, *, made=False):
    """What is stored of requests whose clients gave them ids, or of those whose ids the server made."""
    chosen = sa.select(requests).where(requests.c.id.startswith(MADE) == made).order_by(requests.c.at)
    with client.service.database.reading() as connection:
        return connection.execute(chosen).all()


@pytest.mark.parametrize("kind", ["uuid", "words"])
def test_answers_come_again_byte_for_byte(url, kind):
    with serving(url) as client:
        at = create(client, holdout=0.5)
        bodies = [
            ("ask", {}),
            ("ask", {"pinned": ["beret"], "tags": {"visitor": "ann"}}),
            ("ask/batch", {"requests": [{}, {}]}),
            ("tell", {"decision": 1, "weights": [0.5, 0.5]}),
            ("close", {"decision": 2}),
        ]
        ids = [str(uuid.uuid4()) if kind == "uuid" else f"request {n}" for n in range(len(bodies))]

        def send(n):
            path, body = bodies[n]
            answer = client.post(f"{at}/{path}", json=body, headers={"Idempotency-Key": ids[n]})
            assert answer.status_code == 200, answer.text
            return answer

        first = [send(n).content for n in range(len(bodies))]
        again = [send(n) for n in range(len(bodies))]
        assert [each.content for each in again] == first
        assert all(each.headers["Idempotency-Replayed"] == "true" for each in again)
        other = client.post(f"{at}/ask", json={"exclude": ["boots"]}, headers={"Idempotency-Key": ids[0]})
        assert other.status_code == 409
        rows = stored(client)
        assert [row.id for row in rows] == [*map(short_id, ids)]
        assert rows[0].answer.startswith("[1,[")
        assert "learner" not in rows[1].answer
        assert len(rows[3].answer) < 15
    with serving(url) as client:
        assert [send(n).content for n in range(len(bodies))] == first


def test_every_request_that_writes_has_an_id(url):
    with serving(url) as client:
        at = create(client)
        assert client.post(f"{at}/ask").status_code == client.put(at, json={"title": "Ads"}).status_code == 200
        assert client.post(f"{at}/tell", json={"decision": 1, "weights": [0.5, 0.5]}).status_code == 200
        assert client.get(at).status_code == client.post(f"{at}/preview").status_code == 200
        assert [row.status for row in stored(client, made=True)] == [201, 200, 200, 200]
        assert stored(client) == []


def test_a_damaged_answer_is_told_and_not_executed_again(url):
    with serving(url) as client:
        at, id = create(client), {"Idempotency-Key": "visit 1"}
        assert client.post(f"{at}/ask", headers=id).status_code == 200
        (row,) = stored(client)
        for column, value in (
            ("answer", row.answer.replace("[1,", "[2,")),
            ("answer", row.answer[:-1]),
            ("status", 201),
        ):
            with client.service.database.writing() as connection:
                connection.execute(sa.update(requests).values({column: value}))
            again = client.post(f"{at}/ask", headers=id)
            assert (again.status_code, again.json()["error"]) == (409, "RequestIdError")
            assert "got one that is damaged" in again.json()["detail"]
            with client.service.database.writing() as connection:
                connection.execute(sa.update(requests).values(answer=row.answer, status=row.status))
        assert client.post(f"{at}/ask", headers=id).json()["decision"] == 1
        assert client.get(at).json()["decisions"] == 1


def test_rows_of_early_versions_are_answered(url):
    """They have the id, the digest and the answer in full."""
    with serving(url) as client:
        at = create(client)
        id, body = str(uuid.uuid4()), b"{}"
        digest = hashlib.blake2b(f"POST {at}/ask\n".encode() + body, digest_size=16).hexdigest()
        answer = {"decision": 7, "items": ["boots", "beret"], "full": True, "held_out": False}
        with client.service.database.writing() as connection:
            row = {"id": id, "campaign": 1, "digest": digest, "status": 200, "answer": json.dumps(answer)}
            row["at"] = client.service.database.now(connection)  # old ones are removed now and then
            connection.execute(sa.insert(requests).values(row))
        headers = {"Idempotency-Key": id, "Content-Type": "application/json"}
        client.event_hooks = {"response": []}  # the answer is an early one, without what is said today
        again = client.post(f"{at}/ask", content=body, headers=headers)
        assert again.json() == answer
        assert client.post(f"{at}/ask", content=b'{"exclude":[]}', headers=headers).status_code == 409
        assert short_digest(digest) != digest


def test_matchings_come_again():
    learner = mb.Learner(mb.TransversalMatroid({"ann": ["day"], "eve": ["day", "night"]}), mb.OMM(), seed=1)
    form = learner.ask(tags={"visitor": 7}).to_dict()
    assert {"matching", "tags"} <= form.keys()
    assert whole(short_decision(form), learner.id) == to_json(form)
