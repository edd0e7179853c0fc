"""Servers as the tests of the service use them: real ones."""

import contextlib
import re
import socket
import threading
import time
import uuid

import httpx
import uvicorn

from matroid_bandits.service import Service, Settings, _passing, create_app
from matroid_bandits.service._routes import ENDPOINTS
from matroid_bandits.service._run import server_config

ADS = {"kind": "partition", "category": "slot", "rows": [
    {"item": "boots", "slot": "left"}, {"item": "heels", "slot": "left"},
    {"item": "fedora", "slot": "right"}, {"item": "beret", "slot": "right"},
]}  # fmt: skip


#: What no test waits for, unless it says so: a machine that is busy with other things must not reach it.
PATIENT = dict.fromkeys(
    ["lease", *(f"{what}_timeout" for what in ("lock", "statement", "idle", "connect", "request", "answer"))], 240.0
)
_passing._CONNECT_S = 240.0


def settings_for(url, **more):
    """Settings of a server that looks around often, and is patient."""
    return Settings(db=url, **{"tick": 0.1, "drain": 3.0, **PATIENT, **more})


@contextlib.contextmanager
def started(url, **more):
    """A service without HTTP."""
    service = Service(settings_for(url, **more))
    service.start()
    try:
        yield service
    finally:
        service.stop()


def counted(service, name, **labels):
    """What a service has counted, as Prometheus is told it."""
    return service.figures.registry.get_sample_value(f"matroid_bandits_{name}_total", labels) or 0


@contextlib.contextmanager
def serving(url, key=None, **more):
    """A server in a thread of its own, and a client of it."""
    service = Service(settings_for(url, **more))
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    app = create_app(service=service, listeners=[listener])
    runner = uvicorn.Server(server_config(app, service.settings))
    service.leases.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until(lambda: runner.started or not thread.is_alive())
    assert runner.started
    port = listener.getsockname()[1]
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    try:
        hooks = {"response": [check_answer]}
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=240.0, event_hooks=hooks
        ) as client:
            front = runner.lifespan.state["front"]
            client.service, client.gate, client.passing = service, front.gate, front.passing
            yield client
    finally:
        service.drain()
        runner.should_exit = True
        thread.join(240.0)


def check_answer(response):
    """Every answer says what the API's document says that it does, and nothing else."""
    for endpoint in ENDPOINTS:
        path = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(endpoint.path))
        is_asked = endpoint.method == response.request.method and re.fullmatch(path, response.request.url.path)
        if is_asked and endpoint.answer is not None and response.is_success:
            response.read()
            documented = endpoint.answer.model_validate(response.json()).model_dump(mode="json")
            check_part(documented, response.json(), endpoint.path)


def check_part(documented, given, where):
    if isinstance(given, dict):
        assert given.keys() <= documented.keys(), f"{where}: {given.keys() - documented.keys()} is not documented"
        for key in given:
            check_part(documented[key], given[key], f"{where}: {key}")
    elif isinstance(given, list):
        for one, other in zip(documented, given, strict=True):
            check_part(one, other, where)
    else:
        assert documented == given, where


def create(client, name="ads", **more):
    body = {"name": name, "matroid": ADS, "policy": "OMM", "seed": 1, **more}
    answer = client.post("/v1/campaigns", json=body)
    assert answer.status_code == 201, answer.text
    return f"/v1/campaigns/{name}"


def fresh_id():
    return {"Idempotency-Key": str(uuid.uuid4())}


def received(sock):
    """Everything until the server closes or resets a connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := sock.recv(65536):
            found += part
    return found


def until(condition, seconds=240.0):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
    return found
