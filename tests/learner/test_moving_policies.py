"""Policies for a moving world in a live learner: late answers, masks, items that come and go, files, replay."""

import copy
import json
import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits._util.sums import added
from matroid_bandits.exceptions import FeedbackError, PolicyError, SerializationError
from samples import GRAPH

NAMES = [f"item {i}" for i in range(9)]
EAGER = mb.CUSUM(n_first=2, tolerance=0.05, threshold=0.5)
PLAYERS = {
    "window": mb.SlidingWindowOMM(6, 0.5),
    "long window": mb.SlidingWindowOMM(500, 0.5),
    "fading": mb.DiscountedThompson(0.9),
    "restarting OMM": mb.Restarting(mb.OMM(0.5), EAGER),
    "restarting window": mb.Restarting(mb.SlidingWindowOMM(8, 0.5), EAGER),
    "restarting discounted": mb.Restarting(mb.DiscountedOMM(0.9, 0.5), EAGER),
    "restarting beta": mb.Restarting(mb.ThompsonSampling(), EAGER),
    "restarting fading": mb.Restarting(mb.DiscountedThompson(0.9), EAGER),
    "request features": mb.CombLinUCB(n_features=2),
    "request features, sampled": mb.CombLinTS(n_features=2),
    "restarting features": mb.Restarting(mb.CombLinUCB(n_features=2), EAGER),
}


def happen(rng, *learners, model=None, priors=True, n_steps=60, in_quarters=True):
    """A random history, the same for all of the learners; yields after every step."""
    first = learners[0]
    takes_priors = priors and first.policy.takes_priors
    for _ in range(n_steps):
        open_ids, dice = [decision.id for decision in first.outstanding], rng.random()
        labels = list(first.constraint.labels)
        if dice < 0.45 or not open_ids:
            request = {}
            if rng.random() < 0.3:
                request["exclude"] = [label for label in labels if rng.random() < 0.2]
            if rng.random() < 0.3:
                pinned = labels[int(rng.integers(len(labels)))]
                if pinned not in request.get("exclude", ()):
                    request["pinned"] = [pinned]
            if first.policy.n_features is not None:
                request["features"] = rng.random((len(labels), 2)).tolist()
            asked = [learner.ask(**request) for learner in learners]
            assert all(each.labels == asked[0].labels for each in asked)
            if model is not None:
                model.ask(asked[0].labels)
        elif dice < 0.78:
            t = int(rng.choice(open_ids))
            play = first._agent.open[t]
            items = [label for label in waiting_labels(first, play) if rng.random() < 0.7]
            weights = {label: float(rng.integers(0, 5)) / 4 if in_quarters else rng.random() for label in items}
            for each in (*learners, *([] if model is None else [model])):
                each.tell(t, weights)
        elif dice < 0.84:
            t, default = int(rng.choice(open_ids)), None if rng.random() < 0.5 else 0.25
            for each in (*learners, *([] if model is None else [model])):
                each.close(t, default)
        elif dice < 0.93:
            some = rng.permutation(NAMES)[: rng.integers(3, 8)].tolist()
            matroid = mb.UniformMatroid(len(some), int(rng.integers(1, 4)), labels=some)
            known = {*labels, *first._departed.labels}
            new = {label: (0.5, 2.5) for label in some if label not in known and rng.random() < 0.5}
            settings = {"priors": new} if takes_priors else {}
            if takes_priors and rng.random() < 0.2:
                settings = {"priors": "typical"}
            settings["forget"] = [label for label in labels if rng.random() < 0.1]
            if "priors" in settings and settings["priors"] != "typical":
                settings["priors"] = {k: v for k, v in settings["priors"].items() if k not in settings["forget"]}
            for learner in learners:
                learner.change(matroid, **settings)
            if model is not None:
                model.change(some, settings["forget"])
        else:
            some = [label for label in labels if rng.random() < 0.3]
            for each in (*learners, *([] if model is None else [model])):
                each.restart(some)
        yield


def waiting_labels(learner, play):
    """What a decision may still be told of."""
    return [
        learner._reader._label(int(play.items[0, k]))
        for k in play.untold()
        if learner._reader._label(int(play.items[0, k])) is not None
    ]


def start(policy, seed, **settings):
    matroid = mb.UniformMatroid(5, 2, labels=NAMES[:5])
    return mb.Learner(matroid, policy, seed=seed, id="x", **settings)


@pytest.mark.parametrize("minimize", [False, True], ids=["gains", "costs"])
@pytest.mark.parametrize(
    ("policy", "plain"),
    [
        (mb.SlidingWindowOMM(10_000, 1.2), mb.OMM(1.2)),
        (mb.DiscountedThompson(1.0), mb.ThompsonSampling()),
        (mb.Restarting(mb.OMM(1.2), mb.CUSUM(threshold=1e9)), mb.OMM(1.2)),
    ],
    ids=["window", "fading", "restarting"],
)
def test_at_its_limit_a_policy_is_the_plain_one_whatever_happens(policy, plain, minimize):
    """Requests, late and missing answers, newcomers with priors, returns, restarts: the same decisions throughout."""
    for seed in range(8):
        learners = [start(each, seed, minimize=minimize, priors={NAMES[1]: (0.5, 3)}) for each in (plain, policy)]
        for learner in learners:
            learner.observe({NAMES[0]: 0.25, NAMES[1]: 1.0})
        for _ in happen(np.random.default_rng(seed), *learners, in_quarters=False):
            one, other = (learner.estimates() for learner in learners)
            assert one.counts.tolist() == other.counts.tolist()
            assert one.indices.tolist() == other.indices.tolist()


class Windowed:
    """What is in the window, by label: every play ever made, and those of the last episodes looked at."""

    def __init__(self, window):
        self.window, self.t, self.plays = (
            window,
            0,
            [],
        )  # [episode, label, "waits" | "lost" | gain, whether it counts]

    def ask(self, labels):
        self.t += 1
        self.plays += [[self.t, label, "waits", True] for label in labels]

    def tell(self, t, weights):
        for label, w in weights.items():
            next(play for play in self.plays if play[:3] == [t, label, "waits"])[2] = w

    def close(self, t, default):
        for play in self.plays:
            if play[0] == t and play[2] == "waits":
                play[2] = "lost" if default is None else default

    def change(self, labels, forget):
        self.restart(forget)

    def restart(self, labels):
        for play in self.plays:
            play[3] &= play[1] not in labels

    def inside(self, label):
        return [what for s, name, what, counts in self.plays if name == label and counts and s > self.t - self.window]


@pytest.mark.parametrize("engine", ["greedy", "kinetic"])
@pytest.mark.parametrize("window", [1, 4, 20])
def test_a_window_holds_the_last_plays_whatever_happens(window, engine):
    for seed in range(5):
        learner, model = start(mb.SlidingWindowOMM(window, 0.5), seed, engine=engine), Windowed(window)
        for _ in happen(np.random.default_rng(seed), learner, model=model, priors=False):
            estimates = learner.estimates()
            means, _, plays = (array[0] for array in learner.policy.beliefs(learner._agent.state))
            c = 0.5 * math.sqrt(2 * math.log(max(min(model.t, window), 1)))
            for e, label in enumerate(learner.constraint.labels):
                inside = model.inside(label)
                gains = [x for x in inside if not isinstance(x, str)]
                n = len(gains) + inside.count("waits") if gains else len(inside)
                assert plays[e] == n
                if gains:
                    assert means[e] == estimates.means[e] == added(gains) / len(gains)  # of quarters: exact
                    assert estimates.indices[e] == pytest.approx(means[e] + c / math.sqrt(n), rel=1e-14)
                else:
                    assert np.isnan(estimates.means[e])
                    assert n > 0 or np.isinf(estimates.indices[e])


def test_a_prior_leaves_the_window_too():
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.SlidingWindowOMM(3), priors={"a": (0.75, 4)})
    assert (learner.explain("a").plays, learner.explain("a").mean) == (4.0, 0.75)
    learner.tell(learner.ask(pinned=["b"]), [0.0])
    learner.change(mb.UniformMatroid(3, 1, labels="abc"), priors="typical")
    assert learner.explain("c").plays == 1.0
    learner.tell(learner.ask(pinned=["b"]), [0.0])
    assert learner.explain("a").plays == 4.0
    learner.tell(learner.ask(pinned=["b"]), [0.0])
    assert (learner.explain("a").plays, learner.explain("c").plays) == (0.0, 1.0)
    learner.tell(learner.ask(pinned=["b"]), [0.0])
    assert np.isinf(learner.estimates().indices).tolist() == [True, False, True]


@pytest.mark.parametrize("policy", PLAYERS.values(), ids=PLAYERS)
def test_files_and_logs_hold_everything(policy, tmp_path):
    """Saved and loaded after any step, replayed from the log: the same learner, with the same future."""
    for seed in range(2):
        log = []
        learner = start(policy, seed, record=log.append)
        rng = np.random.default_rng(seed)
        for step, _ in enumerate(happen(rng, learner)):
            if step % 20 == 17:
                learner.save(tmp_path / "learner")
                again = mb.Learner.load(tmp_path / "learner")
                assert again.policy == learner.policy
                replica = mb.Learner.replay(json.loads(json.dumps(log)))
                for each in (again, replica):
                    twins = copy.deepcopy(learner), copy.deepcopy(each)
                    for _ in happen(np.random.default_rng(step), *twins, n_steps=10):
                        one, other = (twin.estimates(features=rows(twin)) for twin in twins)
                        assert np.array_equal(one.indices, other.indices)
                        assert one.counts.tolist() == other.counts.tolist()
                        if one.alarms is not None:
                            assert one.alarms.tolist() == other.alarms.tolist()
                            assert one.last_alarms.tolist() == other.last_alarms.tolist()


def rows(learner):
    return None if learner.policy.n_features is None else np.ones((learner.constraint.n_items, 2))


@pytest.mark.parametrize(
    ("policy", "name", "value"),
    [
        (mb.SlidingWindowOMM(5), "order", 99),
        (mb.SlidingWindowOMM(5), "codes", -(2**63)),
        (mb.SlidingWindowOMM(5), "codes", 3),
        (mb.SlidingWindowOMM(5), "counts", 7),
        (mb.SlidingWindowOMM(5), "values", np.inf),
        (mb.SlidingWindowOMM(5), "sums", np.nan),
        (mb.SlidingWindowOMM(5), "ids", 8),
        (mb.DiscountedThompson(0.9), "successes", -1.0),
        (mb.DiscountedThompson(0.9), "gains", np.nan),
        (mb.DiscountedThompson(0.9), "known_at", 99),
        (PLAYERS["restarting OMM"], "n_alarms", -1),
        (PLAYERS["restarting OMM"], "last_alarm", 3),
    ],
)
def test_arrays_that_cannot_be_are_not_saved(policy, name, value, tmp_path):
    learner = start(policy, 0)
    learner.tell(learner.ask(), [0.5, 1.0])
    learner._agent.state.extra[name].reshape(-1)[0] = value
    with pytest.raises(SerializationError, match="malformed learner: expected"):
        learner.save(tmp_path / "learner")


def test_a_policy_inside_that_cannot_be_stored_is_passed(tmp_path):
    class Tempered(mb.OMM):
        def __init__(self, warmth):
            super().__init__(1.0)

    policy = mb.Restarting(Tempered(3), EAGER)
    learner = start(policy, 0)
    learner.tell(learner.ask(), [0.5, 1.0])
    learner.save(tmp_path / "learner")
    with pytest.raises(SerializationError, match="the policy Restarting could not be stored; pass it"):
        mb.Learner.load(tmp_path / "learner")
    assert mb.Learner.load(tmp_path / "learner", policy=policy).estimates().counts.sum() == 2
    stored = start(mb.Restarting(mb.OMM(0.5), EAGER), 0)
    stored.save(tmp_path / "learner")
    with pytest.raises(SerializationError, match="expected the Restarting that the learner was saved with"):
        mb.Learner.load(tmp_path / "learner", policy=mb.Restarting(mb.OMM(0.6), EAGER))


# Alarms and features, as a user sees them


def test_alarms_are_among_the_estimates():
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.Restarting(mb.OMM(), EAGER), seed=0)
    for t in range(1, 10):
        learner.tell(learner.ask(pinned=["a"]), [float(t > 6)])
    estimates = learner.estimates()
    assert (estimates.alarms.tolist(), estimates.last_alarms.tolist()) == ([1, 0], [7, 0])
    assert estimates.counts.tolist() == [2, 0]
    assert estimates.to_frame().loc["a", "last_alarms"] == 7
    assert str(learner.explain("a", pinned=["a"])).endswith("index 2.482, started anew after decision 7)")
    assert mb.Learner(GRAPH, mb.OMM()).estimates().alarms is None
    learner.change(mb.UniformMatroid(2, 1, labels="bc"))
    assert learner.estimates().alarms.tolist() == [0, 0]
    learner.change(mb.UniformMatroid(3, 1, labels="cba"))
    assert learner.estimates().alarms.tolist() == [0, 0, 1]
    learner.restart(["a"])
    assert learner.estimates().alarms.tolist() == [0, 0, 0]


def test_an_item_that_has_left_may_start_anew():
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.Restarting(mb.SlidingWindowOMM(50), EAGER), seed=0)
    for _ in range(4):
        learner.tell(learner.ask(pinned=["a"]), [0.0])
    late = learner.ask(pinned=["a"])
    learner.change(mb.UniformMatroid(1, 1, labels="b"))
    learner.tell(late, {"a": 1.0})
    learner.change(mb.UniformMatroid(2, 1, labels="ab"))
    estimates = learner.estimates()
    assert (estimates.alarms.tolist(), estimates.counts.tolist()) == ([1, 0], [0, 0])


def test_features_of_requests_in_a_learner():
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.CombLinUCB(n_features=2, c=0.1), seed=0)
    X = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.0, 0.0]}
    for _ in range(20):
        decision = learner.ask(features=X)
        learner.tell(decision, [1.0 if decision.labels == ("b",) else 0.0])
    assert learner.ask(features=X).labels == ("b",)
    swapped = X | {"a": [0.0, 1.0], "b": [1.0, 0.0]}
    assert learner.ask(features=swapped).labels == ("a",)
    assert "a is chosen" in str(learner.explain("a", features=swapped))
    with pytest.raises(PolicyError, match=r"expected features of at most 1e\+50 in size, got 1e\+51 as feature"):
        learner.ask(features=X | {"a": [1e51, 0.0]})
    with pytest.raises(PolicyError, match=r"expected features of 2 numbers per item, which CombLinUCB.* needs"):
        learner.ask()
    with pytest.raises(PolicyError, match="expected no priors"):
        learner.change(mb.UniformMatroid(2, 1, labels="ad"), priors={"d": (0.5, 1)})
    fresh = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.CombLinUCB(n_features=2))
    with pytest.raises(PolicyError, match=r"expected features of 2 numbers per item, .*; got none"):
        fresh.observe([0.0, 0.5, 1.0])
    assert fresh.estimates(features=X).counts.tolist() == [0, 0, 0]
    fresh = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.CombLinUCB(n_features=2), features=X)
    fresh.observe([0.0, 1.0, 0.0])
    assert fresh.ask().labels == ("b",)


def test_weights_outside_the_range_are_refused():
    for policy in (mb.DiscountedThompson(0.9), mb.Restarting(mb.KLOSM())):
        learner = mb.Learner(mb.UniformMatroid(1, 1), policy)
        with pytest.raises(FeedbackError, match=r"needs weights in \[0, 1\], got 2.0"):
            learner.tell(learner.ask(), [2.0])
