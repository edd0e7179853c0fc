"""What requests say of themselves: in decisions, logs and files; and a hold-out that is sticky by it."""

import json

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import MalformedRequestError, SerializationError

ITEMS = mb.UniformMatroid(6, 2, labels="abcdef")
TAGS = {"visitor": "ann", "page": 3, "segment": ["new", {"country": "pt"}], "logged_in": True}


def test_decisions_logs_and_files_carry_tags(tmp_path):
    log = []
    learner = mb.Learner(ITEMS, mb.OMM(), seed=1, record=log.append)
    decision = learner.ask(tags=TAGS)
    plain = learner.ask(tags={})
    assert (decision.tags, plain.tags) == (TAGS, {})
    assert log[1]["tags"] == TAGS
    assert "tags" not in log[2]
    decision.tags["visitor"] = "bob"  # a copy
    learner.change(mb.UniformMatroid(3, 2, labels="abz"))
    assert [each.tags for each in learner.outstanding] == [TAGS, {}]
    learner.save(tmp_path / "x")
    for again in (mb.Learner.load(tmp_path / "x"), mb.Learner.replay(json.loads(json.dumps(log)))):
        assert [each.tags for each in again.outstanding] == [TAGS, {}]
    assert mb.Decision.from_dict(json.loads(json.dumps(decision.to_dict()))).tags == TAGS
    assert "tags" not in plain.to_dict()


def test_tags_change_no_decision():
    one, two = (mb.Learner(ITEMS, mb.ThompsonSampling(), seed=1, holdout=0.5) for _ in range(2))
    for t in range(20):
        assert one.preview(tags={"visitor": t}).labels == two.preview().labels
        assert one.ask(tags={"visitor": t}).labels == two.ask().labels


@pytest.mark.parametrize(
    "tags",
    ["ann", [1], {1: 2}, {"x": float("nan")}, {"x": object()}, {"x": "y" * 1020}, 3],
    ids=lambda tags: str(tags)[:20],
)
def test_tags_that_are_no_small_json_are_refused(tags):
    learner = mb.Learner(ITEMS, mb.OMM(), seed=1)
    for call in (learner.ask, learner.preview, learner.check_ask):
        with pytest.raises(MalformedRequestError, match="expected tags"):
            call(tags=tags)
    assert learner.n_decisions == 0


def test_files_with_tags_that_cannot_be_are_refused(tmp_path, monkeypatch):
    learner = mb.Learner(ITEMS, mb.OMM(), seed=1)
    learner.ask(tags=TAGS)
    learner._agent.open[1].note.tags = {"x": "y" * 2000}
    learner.save(tmp_path / "x")
    with pytest.raises(SerializationError, match="tags"):
        mb.Learner.load(tmp_path / "x")


def test_a_sticky_hold_out_goes_by_the_value_of_a_tag(tmp_path):
    log = []
    holdout = mb.Holdout(0.3, by="visitor")
    learner = mb.Learner(ITEMS, mb.OMM(), seed=7, holdout=holdout, record=log.append)
    assert log[0]["holdout"] == {"share": 0.3, "by": "visitor"}
    visitors = [f"v{n}" for n in range(200)]
    first = {name: learner.ask(tags={"visitor": name, "page": 1}).is_held_out for name in visitors}
    assert 60 - 39 <= sum(first.values()) <= 60 + 39  # 6 sigma
    again = {name: learner.ask(tags={"page": 2, "visitor": name}).is_held_out for name in visitors}
    assert again == first
    sets = {learner.ask(tags={"visitor": name}).labels for name in visitors if first[name]}
    assert len(sets) > 5  # drawn anew each time
    learner.configure(holdout=mb.Holdout(0.6, by="visitor"))
    more = {name: learner.ask(tags={"visitor": name}).is_held_out for name in visitors}
    assert all(more[name] for name in visitors if first[name])
    assert sum(more.values()) > sum(first.values())
    learner.save(tmp_path / "x")
    loaded, replayed = mb.Learner.load(tmp_path / "x"), mb.Learner.replay(json.loads(json.dumps(log)))
    assert loaded.holdout == replayed.holdout == learner.holdout == mb.Holdout(0.6, by="visitor")
    for each in (loaded, replayed):
        assert [each.preview(tags={"visitor": name}).is_held_out for name in visitors] == list(more.values())


def test_a_request_without_the_tag_is_drawn_by_itself():
    sticky, plain = (
        mb.Learner(ITEMS, mb.OMM(), seed=7, holdout=holdout) for holdout in (mb.Holdout(0.5, by="visitor"), 0.5)
    )
    found = [(sticky.ask(tags={"visitor": None}).is_held_out, plain.ask().is_held_out) for _ in range(50)]
    assert all(one == other for one, other in found)
    assert len(set(found)) == 2


def test_another_seed_holds_out_other_visitors():
    found = [
        [
            mb.Learner(ITEMS, mb.OMM(), seed=seed, holdout=mb.Holdout(0.5, "v")).preview(tags={"v": n}).is_held_out
            for n in range(40)
        ]
        for seed in (1, 2)
    ]
    assert found[0] != found[1]
