"""`matroid-bandits identify`: a problem, a saved learner, a log."""

import json

import pytest

import matroid_bandits as mb
from command_line import call, one_sentence

MEANS = {"a": 0.9, "b": 0.4, "c": 0.1}


@pytest.fixture
def learner():
    log = []
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.OMM(), seed=1, record=log.append)
    for t in range(40):
        decision = learner.ask()
        learner.tell(decision, [float(t % 5 > 0) if decision.labels == ("a",) else 0.0])
    return learner, log


def problem_file(tmp_path):
    path = tmp_path / "three.json"
    form = {
        "matroid": {"kind": "uniform", "rank": 1, "rows": [{"item": e, "p": p} for e, p in MEANS.items()]},
        "weights": {"family": "bernoulli", "mean": "p"},
        "policies": {"greedy": {"policy": "OMM", "scale": 0.5}},
        "episodes": 10,
        "runs": 1,
        "seed": 3,
    }
    path.write_text(json.dumps(form))
    return path


def test_a_problem(tmp_path):
    path = problem_file(tmp_path)
    result = call("identify", path, "--delta", "0.1", "--runs", "4", "--report", tmp_path / "page")
    assert result.exit_code == 0, result.output
    assert "Closest calls of the first run" in result.output
    assert "0 of 4" in result.output
    assert "it would stop; the closest call is a over" in (tmp_path / "page" / "index.html").read_text()
    result = call("identify", path, "--delta", "0.1", "--runs", "4", "--json", "--policy", "greedy")
    found = json.loads(result.output)
    assert found["sure"] == 4
    assert found["policy"] == "OMM(scale=0.5)"
    assert min(found["rounds"]) > found["lower_bound"] / 4
    result = call("identify", path, "--budget", "30", "--json")
    assert json.loads(result.output)["rounds"] == [30]


def test_a_saved_learner_and_a_log(tmp_path, learner):
    live, events = learner
    live.save(tmp_path / "news.learner")
    lines = (json.dumps({"seq": seq, "at": float(seq), **event}) for seq, event in enumerate(events, 1))
    (tmp_path / "news.jsonl").write_text("\n".join(lines))
    expected = live.confidence(weights="unit", delta=0.1)
    for name in ("news.learner", "news.jsonl"):
        result = call("identify", tmp_path / name, "--weights", "unit", "--delta", "0.1", "--json")
        assert mb.Confidence.from_dict(json.loads(result.output)) == expected
    result = call("identify", tmp_path / "news.learner", "--weights", "unit")
    assert "best set: a" in result.output
    assert "the closest call is a over b" in " ".join(result.output.split())


def test_mistakes(tmp_path, learner):
    learner[0].save(tmp_path / "news.learner")
    assert "expected the law of the weights" in one_sentence(call("identify", tmp_path / "news.learner"))
    assert "expected a file" in one_sentence(call("identify", tmp_path / "none.toml"))
    path = problem_file(tmp_path)
    assert "expected --policy to be one of greedy" in one_sentence(call("identify", path, "--policy", "other"))
    assert "above 0 and below 1" in one_sentence(call("identify", path, "--delta", "1"))
