"""``serve``, ``campaign`` and ``key``: settings from everywhere, a real server, signals."""

import collections
import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from typer.main import get_command

import matroid_bandits as mb
from command_line import call, one_sentence
from matroid_bandits.cli import app
from matroid_bandits.cli._serve import read_settings
from matroid_bandits.service import Database, Service, Settings, run_server

pytestmark = pytest.mark.usefixtures("own_folder")

CAMPAIGN = """
title = "Ads"
policy = "OMM"
seed = 1
matroid = { kind = "uniform", rows = ["boots", "hats", "bags"], rank = 2 }
"""


@pytest.mark.parametrize(
    "command",
    [
        ("serve",),
        ("campaign",),
        ("campaign", "list"),
        ("campaign", "create"),
        ("campaign", "apply"),
        ("campaign", "pause"),
        ("campaign", "archive"),
        ("campaign", "delete"),
        ("campaign", "export"),
        ("campaign", "backup"),
        ("campaign", "restore"),
        ("campaign", "resume"),
        ("campaign", "acknowledge"),
        ("campaign", "verify"),
        ("campaign", "repair"),
        ("key",),
        ("key", "create"),
        ("key", "list"),
        ("key", "revoke"),
    ],
)
def test_help(command):
    words = " ".join(call(*command, "--help").stdout.split())
    assert "matroid-bandits " + " ".join(command) in words.split("Example", 1)[-1]


def test_every_setting_is_an_option_a_variable_and_a_key():
    options = {param.name: param for param in get_command(app).commands["serve"].params}
    assert set(Settings.model_fields) <= set(options)
    for name in Settings.model_fields:
        assert options[name].envvar == f"MATROID_BANDITS_{name.upper()}"
        default = Settings.model_fields[name].default
        if isinstance(default, int | float) and not isinstance(default, bool):
            assert re.search(rf"by default {default:.9g}\b", options[name].help.replace(",", "")), name


def test_the_command_line_comes_before_the_file(tmp_path):
    file = tmp_path / "matroid-bandits.toml"
    file.write_text('port = 9000\nhost = "::1"\n')
    assert read_settings(None, {"port": 9001, "host": None}).address == "http://[::1]:9001"
    file.write_text("prot = 9000\n")
    result = call("campaign", "list")
    assert result.exit_code == 1
    assert "matroid-bandits.toml: prot: unknown key; did you mean 'port'?" in one_sentence(result)
    file.write_text("port = 90000\n")
    assert "port: expected less than or equal to 65535, got 90000" in one_sentence(call("campaign", "list"))


def test_keys_and_campaigns_by_command(tmp_path):
    made = call("key", "create", "admin", "--about", "mine", "--rate", "5", "--new")
    key = made.stdout.strip()
    assert re.fullmatch(r"mb_[0-9a-f]{12}_[\w-]{43}", key)
    assert Path("matroid-bandits.db").exists()
    listed = call("key", "list").stdout
    id = key.split("_")[1]
    assert listed.startswith(f"{id}  admin  all campaigns")
    assert "5/s" in listed
    assert call("key", "revoke", id).exit_code == 0
    assert "revoked" in call("key", "list").stdout
    assert "got 'root'" in one_sentence(call("key", "create", "root"))
    assert "got 'nobody'" in one_sentence(call("campaign", "export", "nobody"))
    assert "got 'nobody'" in one_sentence(call("campaign", "resume", "nobody", "--trust-log"))
    assert "got 'nobody'" in one_sentence(call("campaign", "repair", "nobody", "rest.jsonl"))
    assert "cannot be read" in one_sentence(call("campaign", "restore", "nothing.jsonl"))
    Path("bytes.jsonl").write_bytes(b"\xff\xfe")
    assert "UTF-8" in one_sentence(call("campaign", "restore", "bytes.jsonl"))


@pytest.mark.parametrize(
    "command",
    [
        ("campaign", "list"),
        ("campaign", "create", "given.toml"),
        ("campaign", "apply", "given.toml"),
        ("campaign", "apply", "given.toml", "--dry-run"),
        ("campaign", "pause", "ads"),
        ("campaign", "archive", "ads"),
        ("campaign", "delete", "ads", "--yes"),
        ("campaign", "export", "ads"),
        ("campaign", "backup", "all.jsonl"),
        ("campaign", "restore", "given.jsonl"),
        ("campaign", "resume", "ads"),
        ("campaign", "acknowledge", "ads"),
        ("campaign", "verify", "ads"),
        ("campaign", "repair", "ads", "rest.jsonl"),
        ("key", "create", "admin"),
        ("key", "list"),
        ("key", "revoke", "1a2b3c4d5e6f"),
    ],
)
def test_no_command_makes_a_database_by_itself(command):
    Path("given.jsonl").write_text("")
    Path("given.toml").write_text(CAMPAIGN)
    with contextlib.closing(sqlite3.connect("foreign.db")) as foreign, foreign:
        foreign.execute("CREATE TABLE bookmarks (url TEXT)")
    Path("empty.db").touch()
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    for db in ("typo.db", "sqlite:///typo.db", "foreign.db", "empty.db", "nowhere/typo.db"):
        result = call(*command, "--db", db)
        assert result.exit_code == 1
        assert "expected a database of campaigns" in one_sentence(result)
        assert ("--new" in result.stderr) == (command[1] in ("create", "restore"))
    Path("empty.db").write_text("this is a text" * 100)
    assert "cannot open the database" in one_sentence(call(*command, "--db", "empty.db"))
    Path("empty.db").write_bytes(b"")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_no_command_makes_tables_by_itself(url):
    assert call("campaign", "list", "--db", url).exit_code == 1
    database = Database(url)
    assert not database.exists()
    assert call("key", "create", "admin", "--db", url, "--new").exit_code == 0
    assert database.exists()
    assert call("campaign", "list", "--db", url).exit_code == 0
    database.close()


def test_a_campaign_is_made_changed_and_ended_by_commands():
    Path("ads.toml").write_text(CAMPAIGN)
    assert call("campaign", "create", "ads.toml", "--new").stdout == "ads is created.\n"
    assert "a name that is free" in one_sentence(call("campaign", "create", "ads.toml"))
    assert call("campaign", "apply", "ads.toml").stdout == "ads: nothing differs.\n"
    Path("ads.toml").write_text(CAMPAIGN.replace('"Ads"', '"Shoes"').replace('"OMM"', '"KLOSM"') + "holdout = 0.1")
    lines = [
        'policy: {"policy":"OMM","scale":1.0} -> {"policy":"KLOSM","c":0.0}',
        "holdout: 0.0 -> 0.1",
        'title: "Ads" -> "Shoes"',
    ]
    dry = call("campaign", "apply", "ads.toml", "--dry-run").stdout.splitlines()
    assert dry == [*lines, "ads: 3 would differ."]
    assert call("campaign", "apply", "ads.toml").stdout.splitlines() == [*lines, "ads: 3 was applied."]
    assert call("campaign", "apply", "ads.toml", "--dry-run").stdout == "ads: nothing differs.\n"
    window = CAMPAIGN.replace('"OMM"', '{policy = "SlidingWindowOMM", window = 9}')
    Path("ads.toml").write_text(window)
    assert "restart=True starts anew" in one_sentence(call("campaign", "apply", "ads.toml"))
    assert "restart: what was learnt is forgotten" in call("campaign", "apply", "ads.toml", "--restart").stdout
    assert call("campaign", "pause", "ads").stdout == "ads is paused.\n"
    assert "ads  paused" in call("campaign", "list").stdout
    assert call("campaign", "resume", "ads").stdout == "ads goes on.\n"
    assert call("campaign", "archive", "ads").stdout == "ads is archived.\n"
    assert "not archived" in one_sentence(call("campaign", "apply", "ads.toml"))
    assert call("campaign", "delete", "ads").exit_code == 1  # nobody said yes
    assert "ads  archived" in call("campaign", "list").stdout
    assert call("campaign", "delete", "ads", "--yes").stdout == "ads is deleted.\n"
    assert call("campaign", "list").stdout == ""
    assert call("campaign", "create", "ads.toml").stdout == "ads is created.\n"


def test_schema_of_campaigns():
    schema = json.loads(call("schema", "campaign").stdout)
    assert {"name", "policy"} == set(schema["required"])
    assert "expected problem, sweep, campaign, openapi or typescript" in call("schema", "nonsense").stderr


def test_a_server_for_other_machines_needs_keys():
    result = call("serve", "--host", "0.0.0.0")
    assert result.exit_code == 1
    assert "expected keys (matroid-bandits key create)" in one_sentence(result)


def test_files_that_are_no_campaigns():
    Path("ads.toml").write_text('policy = "OMM"\n')
    assert "ads.toml: constraint: expected" in one_sentence(call("serve", "ads.toml"))


@pytest.fixture
def connections():
    """How many connections to databases were made, and how many were closed."""
    found = collections.Counter()
    listeners = {each: lambda *_, each=each: found.update([each]) for each in ("connect", "close")}
    for each, listener in listeners.items():
        sa.event.listen(sa.Pool, each, listener)
    yield found
    for each, listener in listeners.items():
        sa.event.remove(sa.Pool, each, listener)


def test_a_port_that_is_taken(connections):
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(mb.exceptions.DataError, match="free address"),
    ):
        run_server(Settings(db="x.db", port=taken.getsockname()[1]))
    assert connections["connect"] == connections["close"] > 0


def test_a_service_that_cannot_start_leaves_no_connection_open(connections):
    database = Database("later.db")
    database.open()
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    with pytest.raises(mb.exceptions.UnavailableError):
        Service(Settings(db="later.db")).start()
    assert connections["connect"] == connections["close"] > 0


@pytest.mark.compiled
def test_the_library_alone_does_not_load_the_service():
    code = (
        "import sys, matroid_bandits; "
        "print([name for name in ('sqlalchemy', 'starlette', 'alembic', 'httpx', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


OWN = """
import matroid_bandits as mb


class Rows(mb.UniformMatroid):
    kind = "own-rows"
"""


@pytest.mark.long
@pytest.mark.compiled
def test_a_campaign_of_ones_own_constraint_is_there_after_a_restart():
    Path("own_rules.py").write_text(OWN)
    Path("own.toml").write_text(
        'policy = "OMM"\nseed = 1\nconstraint = { kind = "own_rules:Rows", n_items = 3, rank = 2 }\n'
    )
    environment = {**os.environ, "MATROID_BANDITS_PORT": "0", "PYTHONPATH": str(Path(mb.__file__).parents[1])}
    command = [sys.executable, "-c", "from matroid_bandits.cli import main; main()", "serve", "own.toml"]
    for n in (1, 2):
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as server:
            try:
                address = re.match(r"Serving (http://127.0.0.1:\d+) ", server.stdout.readline())[1]
                assert httpx.post(f"{address}/v1/campaigns/own/ask", timeout=600.0).json()["decision"] == n
                server.send_signal(signal.SIGTERM)
                server.wait(timeout=600)
            finally:
                server.kill()


SLOW = """
import pathlib
import time

import matroid_bandits as mb


class Patient(mb.OMM):
    def select(self, *arguments, **options):
        while not pathlib.Path("go").exists():  # as a compiler that takes its time
            time.sleep(0.01)
        return super().select(*arguments, **options)
"""


@pytest.mark.compiled
def test_a_server_listens_at_once_and_is_ready_when_all_is_compiled():
    Path("slow_policy.py").write_text(SLOW)
    Path("slow.toml").write_text(
        'policy = { policy = "slow_policy:Patient" }\n[constraint]\nkind = "uniform"\nrows = ["a", "b"]\nrank = 1\n'
    )
    environment = {**os.environ, "MATROID_BANDITS_PORT": "0", "PYTHONPATH": str(Path(mb.__file__).parents[1])}
    command = [sys.executable, "-c", "from matroid_bandits.cli import main; main()", "serve", "slow.toml"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            address = re.match(r"Serving (http://127.0.0.1:\d+) ", server.stdout.readline())[1]
            with httpx.Client(base_url=address, timeout=600.0) as client:
                assert client.get("/healthz").status_code == 200
                ready = client.get("/readyz")
                assert (ready.status_code, ready.json()["detail"]) == (503, "creating campaign slow, 1 to go")
                assert client.get("/v1/campaigns").json() == {"campaigns": []}
                Path("go").touch()
                assert client.post("/v1/campaigns/slow/ask").json()["decision"] == 1  # it waited
                assert client.get("/readyz").status_code == 200
            server.send_signal(signal.SIGTERM)
            _, errors = server.communicate(timeout=600)
        finally:
            server.kill()
    assert "creating campaign slow, 1 to go" in errors
    assert "ready: 1 campaigns are loaded" in errors


@pytest.mark.compiled
def test_a_server_from_beginning_to_end(tmp_path):
    """Files, a demo, a variable, a stream that ends when the server drains, a backup that is restored."""
    Path("ads.toml").write_text(CAMPAIGN)
    source = str(Path(mb.__file__).parents[1])
    environment = {**os.environ, "MATROID_BANDITS_PORT": "0", "PYTHONPATH": source, "MATROID_BANDITS_JSON_LOGS": "1"}
    command = [sys.executable, "-c", "from matroid_bandits.cli import main; main()", "serve", "ads.toml", "--demo"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            said = (json.loads(line)["message"] for line in server.stderr)
            serving = re.compile(r"Serving (http://127.0.0.1:\d+) from sqlite:///matroid-bandits.db")
            address = next(filter(None, map(serving.match, said)))[1]
            with httpx.Client(base_url=address, timeout=600.0) as client:
                assert client.post("/v1/campaigns/ads/ask").json()["items"] == ["boots", "hats"]
                end = time.monotonic() + 600.0
                while client.get("/v1/campaigns/demo/history").json().get("buckets", []) == []:
                    assert time.monotonic() < end
                    time.sleep(0.1)
                with client.stream("GET", "/v1/campaigns/demo/stream?only=summary") as stream:
                    lines = stream.iter_lines()
                    assert "event: summary" in (next(lines) for _ in range(10))
                    server.send_signal(signal.SIGTERM)
                    assert "event: end" in list(lines)
            _, errors = server.communicate(timeout=600)
        finally:
            server.kill()
    assert "boots" not in errors
    assert "storm" not in errors
    assert call("campaign", "backup", "all.jsonl").exit_code == 0
    restored = call("campaign", "restore", "all.jsonl", "--db", "other.db", "--new")
    assert restored.stdout == "ads is restored.\ndemo is restored.\n"
    listed = [call("campaign", "list", "--db", db).stdout for db in ("matroid-bandits.db", "other.db")]
    assert listed[0] == listed[1]
    assert listed[0].startswith("ads  active  2 events, 1 decisions, 1 waiting\n")
    exported = call("campaign", "export", "ads").stdout
    assert json.loads(exported.splitlines()[0])["name"] == "ads"
    Path("ads.jsonl").write_text(exported)
    assert call("campaign", "restore", "ads.jsonl", "--as", "copy").stdout == "copy is restored.\n"
    database = Database("matroid-bandits.db")
    with database.reading() as connection:
        assert [row.name for row in database.rows(connection)] == ["ads", "demo", "copy"]
    database.close()
