"""The log of requests: all of them when told so, slow ones always, and nothing of what they hold."""

from __future__ import annotations

import json
import logging

import pytest

from matroid_bandits.service._logs import _JsonFormatter
from service_kit import create, serving

pytestmark = pytest.mark.compiled


@pytest.fixture
def lines(caplog):
    """Fields of the requests that were logged."""
    caplog.set_level(logging.INFO, logger="matroid_bandits.access")
    return lambda: [record.fields for record in caplog.records if record.name == "matroid_bandits.access"]


def test_every_request_has_a_line_with_its_id(tmp_path, lines, caplog):
    with serving(str(tmp_path / "campaigns.db"), access_log=True) as client:
        at = create(client)
        asked = client.post(f"{at}/ask?secret=1", headers={"X-Request-Id": "trace-1"})
        told = {"decision": 1, "weights": [0.123456, 0.0]}
        client.post(f"{at}/tell", json=told, headers={"Idempotency-Key": "once-1"})
        missing = client.get("/nothing")
        client.get("/login")
    assert asked.headers["x-request-id"] == "trace-1"
    found = lines()
    assert [(each["method"], each["path"], each["status"]) for each in found[:5]] == [
        ("POST", "/v1/campaigns", 201),
        ("POST", f"{at}/ask", 200),
        ("POST", f"{at}/tell", 200),
        ("GET", "/nothing", 404),
        ("GET", "/login", 303),
    ]
    assert [each["request_id"] for each in found[1:3]] == ["trace-1", "once-1"]
    assert found[3]["request_id"] == missing.headers["x-request-id"]
    assert len(found[3]["request_id"]) == 16
    assert found[1]["bytes"] == len(asked.content)
    assert found[1]["ms"] > 0.0
    assert found[1]["address"] == "127.0.0.1"
    assert "0.123456" not in caplog.text  # no weight, no label, no query
    assert "boots" not in caplog.text
    assert "secret" not in caplog.text
    written = json.loads(_JsonFormatter().format(caplog.records[-1]))
    assert written["message"] == "request"
    assert written["path"] == "/login"


def test_without_it_only_slow_requests_are_logged(tmp_path, lines, caplog):
    with serving(str(tmp_path / "campaigns.db"), slow=1000.0) as client:
        at = create(client)
        assert "x-request-id" not in client.post(f"{at}/ask").headers
        assert lines() == []
    with serving(str(tmp_path / "campaigns.db"), slow=1e-9) as client:
        client.post(f"{at}/ask", headers={"X-Request-Id": "slow one"})
        assert "matroid_bandits_slow_requests_total 1.0" in client.get("/metrics").text
    assert lines()[0]["request_id"] == "slow one"
    assert "slow request request_id=slow one method=POST" in caplog.text
    assert caplog.records[-1].levelname == "WARNING"
