"""Bodies, headers, queries and paths that nobody would send: never a 500, and what is refused changes nothing."""

import asyncio
import copy
import json
import os

import httpx
import hypothesis.strategies as st
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings

import matroid_bandits as mb
from matroid_bandits.service import Service, create_app
from matroid_bandits.service._health import OPERATION
from matroid_bandits.service._replica import OWN_EVENTS
from matroid_bandits.service._routes import ENDPOINTS
from matroid_bandits.service._tables import campaigns, events, requests
from service_kit import ADS, settings_for

N_EXAMPLES = int(os.environ.get("MATROID_BANDITS_FUZZ", "150"))

SAMPLES = {
    "ask": [{}, {"exclude": ["boots"], "pinned": ["beret"]}, {"available": ["heels", "beret"], "features": None},
            {"exclude": ["gone"], "unknown": "ignore", "tags": {"visitor": "ann", "page": [1, {"a": None}]}}],
    "ask/batch": [{"requests": [{}, {"exclude": ["boots"]}]}],
    "tell": [{"decision": 1, "weights": {"boots": 0.5}}, {"decision": 2, "weights": [["heels", 1], ["beret", 0]]}],
    "tell/batch": [{"answers": [{"decision": 1, "weights": [0.5, 0.5]}, {"decision": 2, "weights": {}}]}],
    "close": [{"decision": 3, "default": None}, {"before": 5, "default": 0.5}],
    "": [
        {"name": "new", "matroid": ADS, "policy": "OMM", "seed": 3, "holdout": 0.5, "priors": {"boots": [0.5, 2]}},
        {"name": "net", "matroid": mb.GraphicMatroid([("a", "b"), ("b", "c")]).to_dict(), "policy": "OMM"},
        {"name": "uni", "matroid": {"kind": "uniform", "rows": ["a", "b"], "rank": 1}, "policy": "ThompsonSampling",
         "direction": "minimize", "answer_window": 60, "default": 0.5, "features": None},
    ],
    "PUT": [
        {"title": "x", "about": "y", "answer_window": 60, "default": 0.5, "policy": "OMM", "holdout": 0.1},
        {"policy": {"policy": "DiscountedOMM", "gamma": 0.9}, "holdout": {"share": 0.1, "by": "visitor"}},
        {"policy": {"policy": "SlidingWindowOMM", "window": 9}, "restart": True, "seed": 1},
        {"add": {"mocs": "left"}, "remove": ["heels"], "capacities": {"left": 2}, "priors": "typical"},
        {"matroid": ADS, "direction": "maximize", "forget": ["boots"]},
    ],
    "change": [{"matroid": ADS, "priors": "typical", "features": None, "forget": ["boots"]}],
    "restart": [{"items": ["boots"]}, {"items": None}],
    "observe": [{"weights": {"boots": 0.5}}],
    "estimates": [{"features": [[1.0, 2.0]]}],
    "explain": [{"item": "boots", "exclude": ["heels"], "decision": None}, {"item": ["a", "b"], "decision": 1}],
    "preview": [{"pinned": ["beret"]}],
}  # fmt: skip

#: Values that someone's JSON may hold where something else belongs.
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.sampled_from([-1, 0, 2**31, 2**63, 2**64, 10**400, 1e308, -0.0, "", "boots", "\x00", "\ud800", "🎩",
                     "module:Class", "../../etc/passwd", "<script>", [], {}, [[]], [["boots", 1], ["boots", 2]],
                     {"": 1}, [{}], [None], {"kind": "uniform"}, {"file": "x.csv"}, [[[[[[[["a"]]]]]]]]]),
    st.recursive(st.none() | st.integers() | st.text(max_size=3),
                 lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
                 max_leaves=6),
)  # fmt: skip


def places(value, path=()):
    """The path to every part of a JSON value."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


@st.composite
def bodies(draw, sample):
    """A good body with one or two parts of it replaced, removed or added; or no JSON at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(
            st.binary(max_size=20) | st.sampled_from([b"", b"{", b"[" * 5000, b'{"a":1,"a":2}', b"NaN", b"\xff"])
        )
    body = copy.deepcopy(sample)
    for _ in range(draw(st.integers(0, 2))):
        path = draw(st.sampled_from(list(places(body))))
        if not path:
            body = copy.deepcopy(draw(JUNK))
            continue
        holder = body
        for key in path[:-1]:
            holder = holder[key]
        action = draw(st.integers(0, 3))
        if action == 0:
            del holder[path[-1]]
        elif action == 1 and isinstance(holder, dict):
            holder[draw(st.text(max_size=4))] = copy.deepcopy(draw(JUNK))
        else:
            holder[path[-1]] = copy.deepcopy(draw(JUNK))
    return json.dumps(body).encode("utf-8", "surrogatepass")


HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "Content-Type": st.sampled_from(
            ["application/json", "text/plain", "", "application/json; charset=latin-1", "é"]
        ),
        "Idempotency-Key": st.sampled_from(["a", "b", "", " ", "x" * 201, "\x7f", "ü", "\t"]),
        "Authorization": st.sampled_from(["", "Bearer", "Bearer mb_x_y", "Basic eDp5", "Bearer \xff", "bearer  "]),
        "Cookie": st.sampled_from(["matroid_bandits_key=mb_", "=", ";;;", "matroid_bandits_key=\xff"]),
        "Last-Event-ID": st.sampled_from(["-1", "x", "9" * 30]),
        "Host": st.sampled_from(["127.0.0.1", "localhost:1", "evil.example", "", "[::1", ":", "é"]),
        "Accept-Encoding": st.just("x"),
        "Sec-Fetch-Site": st.sampled_from(["cross-site", "same-origin", ""]),
    },
)
QUERIES = st.dictionaries(
    st.sampled_from(["after", "limit", "resolution", "constraint", "only", "x"]),
    st.sampled_from(["", "0", "1", "-1", "nan", "inf", "1e400", "9" * 40, "1.5", "true", "false", "é", "60", "\x00"]),
    max_size=2,
)
NAMES = st.sampled_from(["ads"] * 6 + ["nobody", "spare", "%00", "a%2Fb", "..", "x" * 300, "é", "%ff"])
CALLS = [each for each in (*ENDPOINTS, *OPERATION) if not each.path.endswith("/stream")]


class Target:
    """A server without a socket, and what its database holds."""

    def __init__(self, url):
        self.service, self.runner = Service(settings_for(url, tick=60.0)), asyncio.Runner()
        self.service.start()
        transport = httpx.ASGITransport(app=create_app(service=self.service))
        self.client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        for name in ("ads", "spare"):
            self.send("POST", "/v1/campaigns", json={"name": name, "matroid": ADS, "policy": "OMM", "seed": 1})

    def send(self, method, path, **more):
        return self.runner.run(self.client.request(method, path, **more))

    def state(self):
        """Every campaign, and how many events and ids there are."""
        with self.service.database.reading() as connection:
            rows = connection.execute(sa.select(campaigns).order_by(campaigns.c.id)).all()
            counts = [
                connection.execute(sa.select(sa.func.count()).select_from(each)).scalar()
                for each in (events, requests)
            ]
        return rows, counts

    def close(self):
        self.runner.run(self.client.aclose())
        self.runner.close()
        self.service.stop()


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    found = Target(str(tmp_path_factory.mktemp("fuzz") / "campaigns.db"))
    yield found
    found.close()


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
def test_nothing_that_is_sent_breaks_the_server(target):
    @given(st.data())
    @settings(max_examples=N_EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def send(data):
        endpoint = data.draw(st.sampled_from(CALLS))
        name = data.draw(NAMES) if not endpoint.path.endswith("archive") else "spare"
        path = endpoint.path.replace("{name}", name)
        headers = {"Content-Type": "application/json"} if data.draw(st.booleans()) else data.draw(HEADERS)
        encoded = {key: value.encode("latin-1") for key, value in headers.items()}
        query = data.draw(QUERIES)
        content = None
        if endpoint.method in ("POST", "PUT"):
            verb = "PUT" if endpoint.method == "PUT" else endpoint.path.partition("{name}/")[2]
            content = data.draw(bodies(data.draw(st.sampled_from(SAMPLES.get(verb, [{}])))))
        before = target.state()
        answer = target.send(endpoint.method, path, params=query, headers=encoded, content=content)
        check(endpoint, answer, before)
        target.send("POST", "/v1/campaigns/ads/resume")

    def check(endpoint, answer, before):
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert {"type", "title", "status", "error", "detail"} <= answer.json().keys()
            assert target.state() == before
        elif endpoint.answer is not None and answer.headers["content-type"] == "application/json":
            endpoint.answer.model_validate_json(answer.content)

    send()
    learner = mb.Learner.replay([event for event in log_of(target) if event["event"] not in OWN_EVENTS])
    assert learner.n_decisions > 0


def log_of(target):
    answer = target.send("GET", "/v1/campaigns/ads/events?limit=10000")
    return answer.json()["events"]
