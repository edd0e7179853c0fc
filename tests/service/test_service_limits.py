"""Small requests with large costs: what they would take is bounded before it is taken."""

import json

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import LimitError
from matroid_bandits.matroids import UniformMatroid
from matroid_bandits.service import Settings
from matroid_bandits.service._limits import check_sizes, check_work
from service_kit import create, serving

SETTINGS = Settings(max_items=1000, max_parts=10, max_features=20, max_work=10_000, max_answer=100_000, max_label=64)


def uniform(n, rank=1):
    return {"format": "matroid-bandits/matroid", "version": 1, "kind": "uniform", "n_items": n, "rank": rank}


def total(parts):
    return {"format": "matroid-bandits/matroid", "version": 1, "kind": "direct-sum", "parts": parts}


def nested(form, times):
    for _ in range(times):
        form = {"format": "matroid-bandits/matroid", "version": 1, "kind": "dual", "base": form}
    return form


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"matroid": uniform(1001)}, "expected n_items to be at most 1,000, got 1001"),
        ({"matroid": total([uniform(600), uniform(600)])}, "expected at most 1,000 items, got 1,200"),
        ({"matroid": total([uniform(1)] * 11)}, "expected at most 10 parts of a matroid, got 11"),
        ({"matroid": total([total([uniform(1)] * 6)] * 2)}, "expected at most 10 parts of a matroid, got 12"),
        ({"matroid": nested(uniform(1000), 10)}, "10,000 items in all operations of a matroid, got 11,000"),
        ({"matroid": {"kind": "uniform", "rows": ["a"] * 1001, "rank": 1}}, "at most 1,000 items, got 1,001"),
        ({"matroid": {"kind": "linear", "vectors": [], "shape": [1000, 999]}}, "a shape of at most 10,000 numbers"),
        ({"matroid": {"kind": "linear", "vectors": [], "shape": [10**9, 1]}}, "shape to be at most 1,000, got"),
        ({"policy": {"policy": "CombLinUCB", "n_features": 21}}, "expected n_features to be at most 20, got 21"),
        ({"policy": {"policy": "Restarting", "base": {"policy": "CombLinTS", "n_features": 10**6}}}, "n_features"),
        ({"policy": {"policy": "CombLinUCB", "features": [[0.0] * 21]}}, "features to be at most 20, got 21"),
        ({"policy": {"policy": "CombLinUCB", "features": ["c"] * 21}}, "features to be at most 20, got 21"),
        ({"policy": {"policy": "CombLinUCB", "features": {"a": [0.0] * 21}}}, "features to be at most 20, got 21"),
        ({"policy": {"policy": "CombLinUCB", "features": [["a", [0.0] * 21]]}}, "features to be at most 20, got 21"),
    ],
)  # fmt: skip
def test_what_a_spec_speaks_of_has_limits(form, words):
    with pytest.raises(LimitError, match=words):
        check_sizes(form, SETTINGS)


def listed_sets(n_sets):
    """Sets of 6 of 60 items, in both vocabularies."""
    sets = [[(k + step) % 60 for step in (0, 7, 13, 29, 31, 44)] for k in range(n_sets)]
    rows = [{"set": str(k), "item": [str(e) for e in members]} for k, members in enumerate(sets)]
    stored = mb.ExplicitSets(sets[:60], labels=range(60)).to_dict() | {"sets": sets}
    return {"constraint": stored}, {"constraint": {"kind": "sets", "rows": rows}}


def intersection(n):
    few = mb.UniformMatroid(2, 1)
    kinds = mb.MatroidIntersection, mb.QuotaIntersection
    stored = [kind(few, few).to_dict() | {"one": uniform(n), "two": uniform(n, 2)} for kind in kinds]
    rows = [{"item": str(e), "category": "x"} for e in range(n)]
    parts = [
        {"kind": "uniform", "rows": rows, "rank": 3},
        {"kind": "partition", "category": "category", "rows": rows},
    ]
    return [{"constraint": form} for form in [*stored, {"kind": "intersection", "parts": parts}]]


def test_items_are_counted_once_and_sets_are_no_items():
    for form in (*listed_sets(166), *intersection(1000)):
        check_sizes(form, SETTINGS)
    plenty = SETTINGS.model_copy(update={"max_work": 10_000_000})
    for form in listed_sets(34_000):
        check_sizes(form, plenty)
        with pytest.raises(LimitError, match="items in listed sets, sets times items; got 34,000 x 60"):
            check_sizes(form, SETTINGS)
    rows = [{"item": str(k % 500), "partner": str(k)} for k in range(3000)]
    check_sizes({"constraint": {"kind": "transversal", "rows": rows}}, SETTINGS)
    for form in intersection(1001):
        with pytest.raises(LimitError, match=r"at most 1,000, got 1001|at most 1,000 items, got 1,001"):
            check_sizes(form, SETTINGS)
    deep = intersection(1000)[0]["constraint"]
    deep |= {key: nested(deep[key], 4) for key in ("one", "two")}
    check_sizes({"constraint": deep | {"one": nested(uniform(1000), 3)}}, SETTINGS)
    with pytest.raises(LimitError, match="10,000 items in all operations of a matroid, got 11,000"):
        check_sizes({"constraint": deep}, SETTINGS)


def test_specs_within_the_limits_pass():
    for form in (
        {"matroid": total([uniform(500), uniform(500)])},
        {"matroid": total([uniform(1)] * 10)},
        {"matroid": nested(uniform(1000), 9)},
        {"matroid": {"kind": "linear", "vectors": [], "shape": [0, 5]}},
        {"policy": {"policy": "CombLinUCB", "features": [[0.0] * 20] * 100}},
        {"matroid": None, "policy": 3},
        [],
        None,
    ):
        check_sizes(form, SETTINGS)


def test_a_batch_looks_at_no_more_than_it_may():
    check_work(10, UniformMatroid(1000, 10), SETTINGS)
    with pytest.raises(LimitError, match=r"expected at most 10,000 items in a batch.* got 11 x 1,000"):
        check_work(11, UniformMatroid(1000, 10), SETTINGS)
    check_work(31, UniformMatroid(100, 100), SETTINGS)
    with pytest.raises(LimitError, match="at most 100,000 bytes; got 32 requests for up to 100 items, 102,400 bytes"):
        check_work(32, UniformMatroid(100, 100), SETTINGS)
    named = UniformMatroid(100, 100, labels=["x" * 50 + str(e) for e in range(100)])
    with pytest.raises(LimitError, match="104,000 bytes"):
        check_work(20, named, SETTINGS)
    check_work(0, UniformMatroid(0, 0), SETTINGS)
    budget = mb.KnapsackConstraint([7, 9, 8, 6] * 10, 99)  # 40 items, 100 additions for each
    check_work(25, budget, SETTINGS)
    with pytest.raises(LimitError, match="requests times a tenth of the additions within its budget; got 26 x 400"):
        check_work(26, budget, SETTINGS)


def test_over_http_a_limit_is_413_and_says_what_was_asked(tmp_path):
    with serving(str(tmp_path / "campaigns.db"), max_work=100) as client:
        at = create(client)
        cases = {
            "n_features": {"policy": {"policy": "CombLinUCB", "n_features": 20_000}},
            "50,000,000": {"matroid": total([uniform(100_000)] * 500)},
            "expected n_features to be at most 512, got 20000": {
                "policy": {"policy": "CombLinUCB", "n_features": 20_000}
            },
        }
        for words, more in cases.items():
            body = {"name": "large", "matroid": uniform(2), "policy": "OMM", **more}
            answer = client.post("/v1/campaigns", json=body)
            assert (answer.status_code, answer.json()["error"]) == (413, "LimitError")
            assert words in answer.json()["detail"]
        changed = client.post(f"{at}/change", json={"matroid": total([uniform(100_000)] * 500)})
        assert changed.status_code == 413
        batch = client.post(f"{at}/ask/batch", json={"requests": [{}] * 26})
        assert (batch.status_code, client.get(at).json()["decisions"]) == (413, 0)
        assert "26 x 4" in batch.json()["detail"]
        assert client.post(f"{at}/ask/batch", json={"requests": [{}] * 25}).status_code == 200


def test_a_page_of_events_has_a_limit_and_says_where_to_go_on(url):
    with serving(url, max_page=500) as client:
        at = create(client)
        client.post(f"{at}/ask/batch", json={"requests": [{}] * 30})
        found, after, n_pages = [], 0, 0
        while after is not None:
            page = client.get(f"{at}/events?after={after}&limit=1000")
            found += page.json()["events"]
            after, n_pages = page.json()["next"], n_pages + 1
            assert sum(len(json.dumps(event)) for event in page.json()["events"][:-1]) < 2 * 500
        assert [event["seq"] for event in found] == list(range(1, 32))
        assert n_pages > 3
        assert len(client.get(f"{at}/waiting?limit=1000").json()["decisions"]) < 30
        assert len(client.get(f"{at}/waiting?limit=2").json()["decisions"]) == 2
        with client.stream("GET", f"{at}/stream?after=0") as live:
            seqs = []
            for line in live.iter_lines():
                seqs += [int(line[4:])] if line.startswith("id: ") else []
                if seqs[-1:] == [31]:
                    break
        assert seqs == list(range(1, 32))


def test_a_long_answer_comes_whole(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as client:
        rows = [f"item {e} {'x' * 100}" for e in range(5000)]
        at = create(client, matroid={"kind": "uniform", "rows": rows, "rank": 5000})
        answer = client.post(f"{at}/ask")
        assert answer.json()["items"] == rows
        assert int(answer.headers["content-length"]) == len(answer.content) > 1 << 19


def test_limits_agree_with_each_other():
    usual = Settings()
    assert usual.max_items * (usual.max_label + 3) <= usual.max_spec  # a label with its quotes and comma
    assert usual.max_items <= usual.max_work  # a request for a campaign of the largest size


@pytest.mark.long
@pytest.mark.compiled
def test_as_many_items_as_a_campaign_may_have_fit_into_a_body(tmp_path):
    usual = Settings()
    rows = [f"a label of usual length {k:06d}" for k in range(usual.max_items)]
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client, matroid={"kind": "uniform", "rows": rows, "rank": 3})
        assert client.get(f"{at}?constraint=false").json()["n_items"] == usual.max_items
        weights = {"weights": dict.fromkeys(rows, 0.5)}
        assert client.post(f"{at}/observe", json=weights).json()["observed"] == usual.max_items
        assert len(client.post(f"{at}/ask").json()["items"]) == 3
        long = client.post(f"{at}/tell", json={"decision": 1, "weights": weights["weights"]})
        assert long.status_code == 413  # an answer has no such list
