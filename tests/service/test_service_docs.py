"""The document of the API and its page: every command on it runs, in the order in which they stand there."""

from __future__ import annotations

import html
import re
import shutil
import subprocess

import pytest

from matroid_bandits.service import Database, create_key
from service_kit import serving

pytestmark = pytest.mark.compiled

#: Seconds that a stream is followed.
_STREAM_S = "2"


def test_every_command_of_the_page_runs(tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("left out: needs curl (apt-get install curl)")
    url = str(tmp_path / "campaigns.db")
    database = Database(url)
    database.open()
    key = create_key(database, "admin")
    database.close()
    with serving(url, key) as client:
        page = client.get("/docs").text
        assert '<link rel="stylesheet" href="/static/page.css">' in page  # the style of the other pages
        commands = [html.unescape(text) for text in re.findall(r"<code>(curl .*?)</code>", page, re.DOTALL)]
        paths = client.get("/openapi.json").json()["paths"]
        assert len(commands) == sum(map(len, paths.values()))
        for command in commands:
            seconds = _STREAM_S if "/stream" in command else "60"
            timed = command.replace("curl ", f"curl --silent --max-time {seconds} --write-out '%{{http_code}}' ", 1)
            environment = {"URL": str(client.base_url).rstrip("/"), "KEY": key, "PATH": "/usr/bin:/bin"}
            done = subprocess.run(["bash", "-c", timed], env=environment, capture_output=True, text=True)
            assert done.stdout[-3:] in ("200", "201"), f"{command}: {done.stdout[-300:]}"


def test_the_document_has_health_and_metrics_and_typed_events(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as client:
        document = client.get("/openapi.json").json()
        status = document["paths"]["/healthz"]["get"]
        assert status["security"] == []
        assert status["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/StatusAnswer")
        assert "text/plain" in document["paths"]["/metrics"]["get"]["responses"]["200"]["content"]
        events = document["components"]["schemas"]["EventsAnswer"]["properties"]["events"]["items"]["anyOf"]
        assert {each["$ref"].rpartition("/")[2] for each in events} >= {"AskedEvent", "ToldEvent", "ClosedEvent"}
