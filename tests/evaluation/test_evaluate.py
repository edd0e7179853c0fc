"""Whole logs of real learners: read, weighed, and compared with the truth."""

import gzip
import json
import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits._util.sums import added
from matroid_bandits.evaluation import evaluate, inclusion_probabilities, matching_replay, read_log
from matroid_bandits.evaluation._laws import propensities
from matroid_bandits.exceptions import EvaluationError


def play(constraint, means, n, *, policy=None, holdout=0.1, seed=0, available=None, tags=None, **options):
    """The log of a learner whose items are worth 0 or 1."""
    events, rng = [], np.random.default_rng(seed)
    learner = mb.Learner(constraint, policy or mb.OMM(), seed=seed, holdout=holdout, record=events.append, **options)
    for t in range(n):
        mask = None if available is None else available(t, rng)
        decision = learner.ask(available=mask)
        learner.tell(decision, (rng.random(decision.items.size) < means[decision.items]).astype(float))
    return events, learner


GRAPH = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("b", "d")])
PROBLEMS = {
    "partition": mb.PartitionMatroid([0, 0, 0, 1, 1, 1]),
    "graphic": GRAPH,
    "transversal": mb.TransversalMatroid([[0], [0, 1], [1], [1, 2], [2], [0, 2]]),
}
MEANS = np.array([0.8, 0.2, 0.5, 0.3, 0.9, 0.6])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("is_masked", [False, pytest.param(True, marks=pytest.mark.long)])
def test_values_are_unbiased(name, is_masked):
    """30 logs of 250 decisions: the mean estimate within 4 standard errors of the truth, for each target."""
    constraint, found, truth = PROBLEMS[name], {"fixed": [], "random": []}, []
    worst = constraint.max_weight_basis(-MEANS)
    masks = [np.ones(6, bool), np.array([True, True, False, True, True, True])]

    def available(t, rng):
        return masks[t % 2] if is_masked else None

    for seed in range(30):
        events, _ = play(constraint, MEANS, 250, seed=seed, holdout=0.3, available=available)
        result = evaluate(events, {"fixed": mb.FixedSet(worst), "random": mb.UniformRandom()})
        for target, each in result.estimates.items():
            found[target].append(each.value)
    used = masks if is_masked else masks[:1]
    fixed = [
        MEANS[constraint.solve(np.isin(np.arange(6), worst)[None] * 1.0, available=mask[None])[0][0]].sum()
        for mask in used
    ]
    truth = {
        "fixed": np.mean(fixed),
        "random": np.mean(
            [inclusion_probabilities(constraint, available=mask).probabilities @ MEANS for mask in used]
        ),
    }
    for target, values in found.items():
        assert abs(np.mean(values) - truth[target]) < 4 * np.std(values, ddof=1) / math.sqrt(30)


def test_a_learner_is_valued_as_it_is():
    events, learner = play(PROBLEMS["partition"], MEANS, 1500, holdout=0.2)
    best = evaluate(events, {"now": learner, "set": learner.best_basis().labels})
    assert best.estimates["now"].value == pytest.approx(best.estimates["set"].value, abs=0.05)
    assert best.uplift.window.value > 0
    assert best.looks[-1].p_better < 0.05
    assert best.played.value == pytest.approx(
        np.mean([added(weight for _, weight in event["weights"]) for event in events if event["event"] == "told"])
    )


@pytest.mark.compiled
@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.EpsilonGreedy(0.2)], ids=repr)
def test_propensities_of_policies_that_sample_are_redrawn(policy):
    """12 logs of 150 decisions; the mean within 4 standard errors."""
    values = []
    for seed in range(12):
        events, _ = play(PROBLEMS["partition"], MEANS, 150, policy=policy, seed=seed, holdout=0.3)
        result = evaluate(events, {"worst": [1, 3]}, n_redraws=200)
        values.append(result.estimates["worst"].value)
        assert result.estimates["worst"].least_propensity >= 0.3 / 3
    assert abs(np.mean(values) - 0.5) < 4 * np.std(values, ddof=1) / math.sqrt(12)


def test_early_logs_do_not_say_what_would_have_been_played():
    events, _ = play(PROBLEMS["graphic"], MEANS, 80, holdout=0.4)
    expected = evaluate(events, {"random": mb.UniformRandom()})
    early = [{key: value for key, value in event.items() if key != "instead"} for event in events]
    assert any("instead" in event for event in events)
    assert evaluate(early, {"random": mb.UniformRandom()}) == expected


def test_without_a_hold_out_what_was_never_possible_is_refused_by_name():
    events, _ = play(PROBLEMS["partition"], MEANS, 300, holdout=0.0)
    with pytest.raises(EvaluationError, match=r"cannot value worst: .* could not have been chosen at decision"):
        evaluate(events, {"worst": [1, 3]})


@pytest.mark.parametrize("policy", [mb.OMM(), mb.ThompsonSampling(), mb.EpsilonGreedy(0.1)], ids=repr)
def test_targets_that_learn_are_refused(policy):
    events, _ = play(PROBLEMS["partition"], MEANS, 5)
    with pytest.raises(EvaluationError, match="expected a target that does not learn"):
        evaluate(events, [policy])


def test_only_settled_decisions_count():
    events = []
    learner = mb.Learner(PROBLEMS["partition"], mb.OMM(), seed=1, holdout=0.5, record=events.append)
    decisions = [learner.ask() for _ in range(6)]
    learner.tell(decisions[0], [1.0, 0.0])
    learner.tell(decisions[1], {int(decisions[1].items[0]): 1.0})
    learner.close(decisions[1], default=0.25)
    learner.tell(decisions[2], {int(decisions[2].items[1]): 0.5})
    learner.close(decisions[2])
    learner.close_before(5, default=0.0)  # the fourth
    learner.close(decisions[4])  # without any answer
    result = evaluate(events, [mb.UniformRandom()])
    assert (result.played.n_decisions, result.n_open, result.n_lost) == (4, 1, 1)
    assert result.played.value == pytest.approx((1.0 + 1.25 + 0.5 + 0.0) / 4)  # what was told, and defaults
    window = result.uplift.window
    assert (window.n_learner + window.n_control, window.n_lost) == (4, 1)
    n_lost_of_control = int(decisions[4].is_held_out)
    assert result.uplift.notes == (
        f"1 decision was closed without an answer and is not counted ({n_lost_of_control} of the control).",
    )
    frame = read_log(events).frame()
    assert frame["source"].value_counts().to_dict() == {"waiting": 2, "default": 3, "told": 4, "lost": 3}
    assert frame["asked_at"].isna().all()


def test_costs_are_valued_in_their_own_units_and_uplift_in_gains():
    constraint = PROBLEMS["partition"]
    events, rng = [], np.random.default_rng(4)
    learner = mb.Learner(constraint, mb.OMM(), seed=4, minimize=True, holdout=0.3, record=events.append)
    for _ in range(1200):
        decision = learner.ask()
        learner.tell(decision, (rng.random(2) < MEANS[decision.items]).astype(float))
    result = evaluate(events, {"dear": [0, 4]})
    assert result.estimates["dear"].value == pytest.approx(1.7, abs=4 * result.estimates["dear"].error)
    assert result.uplift.window.value > 0
    assert result.minimize


def test_items_that_come_and_go():
    events, rng = [], np.random.default_rng(2)
    before = mb.PartitionMatroid(["x", "x", "y", "y"], labels=["a", "b", "c", "d"])
    after = mb.PartitionMatroid(["y", "x", "x", "y"], labels=["d", "new", "a", "c"])
    worth = {"a": 0.9, "b": 0.5, "c": 0.3, "d": 0.6, "new": 0.1}
    learner = mb.Learner(before, mb.OMM(), seed=2, holdout=0.4, record=events.append)

    def visits(n):
        for _ in range(n):
            decision = learner.ask()
            learner.tell(decision, [float(rng.random() < worth[label]) for label in decision.labels])

    visits(400)
    late = learner.ask()
    learner.change(after)
    visits(400)
    learner.tell(late, {label: worth[label] for label in late.labels})
    result = evaluate(events, {"editor": mb.FixedSet(["a", "c"], away=["b"])})
    found = result.estimates["editor"]
    assert result.n_open == 0
    assert abs(found.value - 1.2) < 4 * found.error


def test_units_are_values_of_a_tag():
    """Decisions of one visitor share a mood: errors by visitor are larger, and uplift counts visitors."""
    rng = np.random.default_rng(8)
    events = []
    sticky = mb.Holdout(0.3, by="visitor")
    learner = mb.Learner(PROBLEMS["partition"], mb.OMM(), seed=8, holdout=sticky, record=events.append)
    for visitor in range(40):
        mood = rng.normal(0, 0.2)
        for visit in range(10):
            decision = learner.ask(tags={"visitor": visitor, "visit": [visitor, visit]})
            learner.tell(decision, np.clip(MEANS[decision.items] + mood, 0, 1))
    by_visitor = evaluate(events, [mb.UniformRandom()])  # the tag of the hold-out
    by_decision = evaluate(events, [mb.UniformRandom()], unit="visit")
    assert by_visitor.played.n_units == 40
    assert by_visitor.played.error > 1.5 * by_decision.played.error
    assert by_visitor.looks[-1].n_decisions == 40
    assert by_visitor.uplift.unit == "visitor"
    assert sum((by_visitor.uplift.window.n_learner, by_visitor.uplift.window.n_control)) == 400
    with pytest.raises(EvaluationError, match="expected decisions with the tag 'page', got none"):
        evaluate(events, [mb.UniformRandom()], unit="page")


def test_the_editors_set_is_valued_by_its_own_law():
    """10 logs of 150 decisions; the set within 4 standard errors of its value."""
    values, editor = [], mb.FixedSet([1, 3])
    for seed in range(10):
        events, _ = play(PROBLEMS["partition"], MEANS, 150, seed=seed, holdout=mb.Holdout(0.4, control=editor))
        result = evaluate(events, {"editor": editor})
        assert abs(result.estimates["editor"].balance) < 4
        assert result.uplift.window.n_control > 30
        values.append(result.estimates["editor"].value)
    assert abs(np.mean(values) - 0.5) < 4 * np.std(values, ddof=1) / math.sqrt(10)


@pytest.mark.compiled
def test_a_control_that_samples_is_redrawn():
    events, _ = play(
        PROBLEMS["partition"], MEANS, 200, holdout=mb.Holdout(0.5, control=mb.ThompsonSampling()), seed=1
    )
    found = evaluate(events, {"best": [0, 4]}, n_redraws=200).estimates["best"]
    assert abs(found.balance) < 4
    assert abs(found.value - 1.7) < 4 * found.error


def test_two_policies_are_compared_without_any_target():
    events, _ = play(PROBLEMS["partition"], MEANS, 200, holdout=mb.Holdout(0.5, control=mb.KLOSM()))
    result = evaluate(events, {})
    assert result.estimates == {}
    assert result.looks[-1].n_decisions == 200


def test_what_neither_learner_nor_control_would_choose_cannot_be_valued():
    events, _ = play(PROBLEMS["partition"], MEANS, 400, holdout=mb.Holdout(0.4, control=mb.FixedSet([1, 3])))
    with pytest.raises(EvaluationError, match=r"cannot value others: .* could not have been chosen at decision"):
        evaluate(events, {"others": [2, 5]})


def test_a_target_that_cannot_be_valued_is_a_row_that_says_why():
    events, _ = play(PROBLEMS["partition"], MEANS, 400, holdout=mb.Holdout(0.4, control=mb.FixedSet([1, 3])))
    targets = {"others": [2, 5], "editor": mb.FixedSet([1, 3])}
    found = evaluate(events, targets, strict=False, categories=True)
    others = found.estimates["others"]
    assert math.isnan(others.value)
    assert (others.low, others.high, others.effective_size) == (-math.inf, math.inf, 0.0)
    assert "cannot value others" in others.warnings[0]
    assert found.estimates["editor"] == evaluate(events, {"editor": targets["editor"]}).estimates["editor"]
    assert all("others" not in row for row in found.parts["category"].values())
    form = found.to_dict()["estimates"]["others"]
    assert (form["value"], form["low"]) == (None, None)


def test_shares_of_redraws_of_a_control_are_smoothed():
    """Two redraws of six sets: an item that neither has was played, and its propensity is not 0."""
    control = mb.ThompsonSampling()
    events, _ = play(PROBLEMS["partition"], MEANS, 60, holdout=mb.Holdout(0.5, control=control), seed=1)
    log = mb.read_log(events)
    found = np.concatenate(propensities(log, n_redraws=2))
    own = np.concatenate([np.isin(each.items, each.learner_items) for each in log.decisions])
    # (hits + 1) / 3 of the control and all or nothing of OMM, half each
    expected = np.array([1.0, 2.0, 3.0]) / 6.0
    assert all(np.isclose(p, expected + 0.5 * is_own).any() for p, is_own in zip(found, own, strict=True))
    assert np.isclose(found, 1.0 / 6.0).any()


def test_settings_count_from_when_they_were_in_force():
    events, learner = play(PROBLEMS["partition"], MEANS, 200, holdout=0.5)
    learner.configure(policy=mb.KLOSM(), holdout=0.1)
    rng = np.random.default_rng(1)
    for _ in range(300):
        decision = learner.ask()
        learner.tell(decision, (rng.random(2) < MEANS[decision.items]).astype(float))
    log = read_log(events)
    assert [log.decisions[place].share for place in (0, 199, 200)] == [0.5, 0.5, 0.1]
    assert (log.policy, log.holdout.share) == (mb.KLOSM(), 0.1)
    found = evaluate(log, {"worst": [1, 3]}).estimates["worst"]
    assert abs(found.value - 0.5) < 4 * found.error
    assert abs(found.balance) < 4


def test_uplift_is_of_the_control_at_the_end():
    events, learner = play(PROBLEMS["partition"], MEANS, 200, holdout=0.5)
    learner.configure(holdout=mb.Holdout(0.5, control=mb.FixedSet([1, 3])))
    rng = np.random.default_rng(1)
    for _ in range(150):
        decision = learner.ask()
        learner.tell(decision, (rng.random(2) < MEANS[decision.items]).astype(float))
    found = evaluate(events, {})
    assert found.uplift.window.n_learner + found.uplift.window.n_control == found.looks[-1].n_decisions == 150
    assert found.played.n_decisions == 350


def test_warnings_say_what_hold_out_would_do():
    events, _ = play(PROBLEMS["partition"], MEANS, 120, holdout=0.05, seed=3)
    found = evaluate(events, {"worst": [1, 3]}).estimates["worst"]
    assert any("plays' worth of information" in said for said in found.warnings)
    events, _ = play(PROBLEMS["partition"], MEANS, 600, holdout=0.05, seed=3)
    found = evaluate(events, {"worst": [1, 3]}).estimates["worst"]
    assert found.warnings[-1] == "a hold-out of 50.0% over as many decisions would be enough for any of its items"


def test_matching_replay_agrees_where_sets_are_equally_likely():
    events, learner = play(PROBLEMS["partition"], MEANS, 1500, holdout=0.5, seed=5)
    log = read_log(events)
    matched = matching_replay(log, [1, 3])
    found = evaluate(log, {"worst": [1, 3]}).estimates["worst"]
    assert 30 < matched.n_decisions < 150  # one in nine of the random sets
    assert abs(matched.value - 0.5) < 4 * matched.error
    assert abs(matched.value - found.value) < 4 * matched.error
    assert found.error < matched.error
    assert matching_replay(log, learner).n_decisions > 30
    with pytest.raises(EvaluationError, match="expected sets that are equally likely when drawn"):
        matching_replay(play(GRAPH, MEANS, 20, holdout=0.9)[0], [0, 1, 2])
    with pytest.raises(EvaluationError, match="one set for a request, got one that draws 0, 1, 2, 3, 4 and 1 more"):
        matching_replay(log, mb.UniformRandom())
    with pytest.raises(EvaluationError, match="got none in this log"):
        matching_replay(play(PROBLEMS["partition"], MEANS, 20, holdout=0.0)[0], [1, 3])


# Sources


def test_files_of_lines_packed_or_not(tmp_path):
    events, _ = play(GRAPH, MEANS, 20)
    text = "\n".join(json.dumps(event) for event in events) + "\n"
    (tmp_path / "log.jsonl").write_text(text)
    with gzip.open(tmp_path / "log.jsonl.gz", "wt") as file:
        file.write(text)
    frames = [read_log(source).frame() for source in (events, tmp_path / "log.jsonl", str(tmp_path / "log.jsonl.gz"))]
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    assert list(frames[0].columns) == [
        "decision", "item", "asked_at", "told_at", "weight", "source", "held_out", "control", "share", "tags",
        "propensity",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "begins with a created event, got an empty one"),
        ([{"event": "asked", "decision": 1, "items": []}], "expected a created event first, got 'asked'"),
        (["{"], "line 1 of the log is no JSON"),
        ([3], "expected events as mappings, got int"),
        (3, "expected a file, a client or events, got int"),
        ("/nowhere/at/all", "expected a file of events, got '/nowhere/at/all'"),
        ([{"format": "x"}, {"format": "x"}], "got those of several"),
    ],
)
def test_what_is_no_log(source, message):
    with pytest.raises(EvaluationError, match=message):
        read_log(source)


def test_events_that_are_cut_short_are_named():
    events, _ = play(GRAPH, MEANS, 2)
    del events[2]["weights"]
    with pytest.raises(EvaluationError, match="event 3 of the log is malformed: KeyError"):
        read_log(events)
