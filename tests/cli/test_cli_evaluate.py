"""`matroid-bandits evaluate`: targets, sources, and what is printed."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from command_line import call, one_sentence
from matroid_bandits._util.sums import added
from matroid_bandits.service import Service, Settings, export_campaign, restore

MEANS = {"sport/a": 0.2, "sport/b": 0.5, "politics/a": 0.7, "politics/b": 0.4}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A file with 400 decisions, two per visitor, one in five held out."""
    events, rng = [], np.random.default_rng(1)
    matroid = mb.PartitionMatroid(["s", "s", "p", "p"], labels=[*MEANS])
    holdout = mb.Holdout(0.2, by="visitor")
    learner = mb.Learner(matroid, mb.OMM(), seed=1, holdout=holdout, record=events.append)
    for n in range(1200):
        decision = learner.ask(tags={"visitor": n // 2, "device": ["phone", "desk"][n % 2]})
        learner.tell(decision, [float(rng.random() < MEANS[label]) for label in decision.labels])
    path = tmp_path_factory.mktemp("logs") / "news.jsonl"
    lines = (json.dumps({"seq": seq, "at": float(seq), **event}) for seq, event in enumerate(events, 1))
    path.write_text("\n".join(lines))
    return path


def test_tables_and_a_page(log, tmp_path):
    targets = ["random", "set:sport/a,politics/b", "best", "learner", "learner@200"]
    chosen = [word for target in targets for word in ("--policy", target)]
    result = call("evaluate", log, *chosen, "--by", "device", "--details", "--report", tmp_path / "worth")
    assert result.exit_code == 0, result.output
    for words in ("1,200 settled decisions", "of 600 units", "What exploring cost", "By category", "By device"):
        assert words in result.output
    results = json.loads((tmp_path / "worth" / "results.json").read_text())
    found = results["experiments"]["news"]["evaluation"]
    assert [*found["estimates"]] == targets
    for target, truth in (("random", 0.9), ("set:sport/a,politics/b", 0.6)):
        each = found["estimates"][target]
        assert abs(each["value"] - truth) < 4 * each["error"]
    parts = found["parts"]
    assert [*parts["category"]] == ["s", "p"]
    assert {*parts["device"]} == {"phone", "desk"}
    for target in targets:
        whole = added(row[target]["value"] for row in parts["category"].values())
        assert whole == pytest.approx(found["estimates"][target]["value"])
    page = (tmp_path / "worth" / "index.html").read_text()
    assert found["uplift"]["sentence"] in page
    assert found["uplift"]["sentence"] in " ".join(result.output.split())
    assert "valid at every look" in page
    assert (tmp_path / "worth" / "figures" / "news-uplift.svg").is_file()


def test_other_intervals_are_details(log, tmp_path):
    result = call("evaluate", log, "--report", tmp_path / "worth")
    page = (tmp_path / "worth" / "index.html").read_text()
    for text in (result.output, page):
        assert "in the last 7 days" in " ".join(text.split())
        assert "sequence" not in text
        assert "would be lost at the level" not in text


def test_json_and_options(log):
    result = call("evaluate", log, "--json", "--method", "snips", "--unit", "device")
    found = json.loads(result.stdout)
    assert [*found["estimates"]] == ["random", "best"]
    assert found["method"] == "snips"
    assert found["played"]["n_units"] == 2
    assert found["learner"]["value"] > found["estimates"]["random"]["value"]


def test_a_campaign_of_a_database(log, tmp_path):
    url = str(tmp_path / "campaigns.db")
    service = Service(Settings(db=url))
    service.start()
    lines = [json.dumps({"format": "matroid-bandits/campaign", "version": 1, "name": "front", "spec": {},
                         "status": "active", "reason": None, "trusted": 0})]  # fmt: skip
    service.stop()
    from hashlib import sha256

    digest, body = sha256(lines[0].encode()), log.read_text().split("\n")
    for line in body:
        digest.update(line.encode())
    lines += [*body, json.dumps({"end": "front", "events": len(body), "checksum": digest.hexdigest()})]
    assert restore(service.database, lines) == ["front"]
    assert len([*export_campaign(service.database, "front")]) == len(lines)
    service.database.close()
    by_name, by_file = (
        json.loads(call("evaluate", *each, "--json").stdout) for each in (["front", "--db", url], [log])
    )
    assert by_name == by_file


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "OMM"], "expected --policy to be random, set:a,b,c, best, learner or learner@EVENT; got 'OMM'"),
        (["--policy", "set:sport/a,weather"], "expected items of the log after set:, got 'weather'"),
        (["--policy", "set:"], "expected items of the log after set:, got ''"),
        (["--policy", "set:[1"], "a list of JSON"),
        (["--policy", "learner@9999"], "expected event to be an integer from 1 to 2401"),
        (["--by", "page"], "expected decisions with the tag 'page', got none"),
        (["--unit", "page"], "expected decisions with the tag 'page', got none"),
    ],
)
def test_errors_in_words(log, options, message):
    result = call("evaluate", log, *options)
    assert result.exit_code == 1
    assert message in one_sentence(result)


def test_what_is_no_log(tmp_path):
    (tmp_path / "empty.db").write_text("")
    result = call("evaluate", "nothing", "--db", tmp_path / "empty.db")
    assert "'nothing' is no file, and as a campaign: expected a database" in one_sentence(result)


def test_a_log_with_a_fixed_control(tmp_path):
    """Random sets are no target by default, and one that cannot be valued is a row that says why."""
    events, rng = [], np.random.default_rng(1)
    matroid = mb.PartitionMatroid(["s", "s", "p", "p"], labels=[*MEANS])
    holdout = mb.Holdout(0.2, control=mb.FixedSet(["sport/b", "politics/b"]))
    learner = mb.Learner(matroid, mb.OMM(), seed=1, holdout=holdout, record=events.append)
    for _ in range(200):
        decision = learner.ask()
        learner.tell(decision, [float(rng.random() < MEANS[label]) for label in decision.labels])
    path = tmp_path / "fixed.jsonl"
    path.write_text("\n".join(map(json.dumps, events)))
    result = call("evaluate", path, "--json")
    assert result.exit_code == 0, result.output
    assert [*json.loads(result.stdout)["estimates"]] == ["best"]
    result = call("evaluate", path, "--policy", "random", "--policy", "set:sport/b,politics/b")
    assert result.exit_code == 0, result.output
    assert "could not have been chosen at decision" in " ".join(result.output.split())
    result = call("evaluate", path, "--policy", "random", "--policy", "set:sport/b,politics/b", "--json")
    found = json.loads(result.stdout)["estimates"]
    assert found["random"]["value"] is None
    assert abs(found["set:sport/b,politics/b"]["value"] - 0.9) < 4 * found["set:sport/b,politics/b"]["error"]


@pytest.mark.parametrize("kind", [["told"], {"told": 1}, None])
def test_an_event_whose_kind_is_no_text(log, tmp_path, kind):
    lines = log.read_text().splitlines()
    lines[4] = json.dumps({"event": kind})
    path = tmp_path / "odd.jsonl"
    path.write_text("\n".join(lines))
    result = call("evaluate", path)
    assert result.exit_code != 0
    assert "expected the kind of an event as text" in one_sentence(result)
