"""What was learnt is what is averaged, whichever version summed it first."""

import pytest

from matroid_bandits._util.sums import added
from service_kit import create, serving, until

FIVE_OF_TEN = {"kind": "uniform", "rows": [f"art-{k}" for k in range(10)], "rank": 5}


def day(client, at):
    """The sums of all buckets of a day: asked, weight, learnt, closed, expired, settled; and the history."""
    history = client.get(f"{at}/history?resolution=86400").json()
    names = "asked", "weight", "learnt", "closed", "expired", "settled"
    return {name: added(bucket[name] for bucket in history["buckets"]) for name in names} | {"history": history}


def click(client, at, n_decisions, n_clicks):
    """Decisions that are told of a click on their first item, and of nothing else, or not at all."""
    asked = client.post(f"{at}/ask/batch", json={"requests": [{}] * n_decisions}).json()["decisions"]
    answers = [{"decision": each["decision"], "weights": {each["items"][0]: 1.0}} for each in asked[:n_clicks]]
    assert client.post(f"{at}/tell/batch", json={"answers": answers}).status_code == 200
    return asked


@pytest.mark.parametrize(("answers", "ended"), [("all", (400, 0)), ("clicks", (0, 400))])
def test_defaults_of_decisions_whose_window_has_ended_are_averaged(url, answers, ended):
    """A site that tells clicks only: 90 of them in 400 decisions are 0.225 a decision, not 5."""
    with serving(url) as client:
        at = create(client, matroid=FIVE_OF_TEN, answers=answers, answer_window=3600.0, default=0.0)
        click(client, at, 400, 90)
        client.put(at, json={"answer_window": 0.1})
        until(lambda: sum(day(client, at)[key] for key in ("expired", "settled")) == 400)
        found = day(client, at)
        assert found["weight"] / found["learnt"] == pytest.approx(0.225, abs=1e-12)
        assert (found["asked"], found["expired"], found["settled"]) == (400, *ended)
    with serving(url) as client:
        assert day(client, at)["history"]["buckets"] == found["history"]["buckets"]


def test_closing_with_a_default_is_learnt_and_forgetting_is_not(url):
    with serving(url) as client:
        at = create(client, matroid=FIVE_OF_TEN, direction="minimize")
        asked = click(client, at, 4, 1)
        client.post(f"{at}/close", json={"decision": asked[0]["decision"], "default": 0.5})
        assert (day(client, at)["weight"], day(client, at)["learnt"]) == (3.0, 1.0)
        client.post(f"{at}/close", json={"decision": asked[1]["decision"]})
        assert (day(client, at)["weight"], day(client, at)["learnt"]) == (3.0, 1.0)
        client.post(f"{at}/close", json={"before": 5, "default": 0.25})
        found = day(client, at)
        assert (found["weight"], found["learnt"], found["closed"]) == (5.5, 3.0, 4)
