"""A learner goes on with other settings: a log of it replays, whatever follows what."""

import itertools
import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError, PolicyError
from matroid_bandits.learner._configure import keeps_memory
from samples import Mixed

LABELS = "abcdefgh"
ITEMS = mb.PartitionMatroid(dict(zip(LABELS, "xxxyyyzz", strict=True)))
LATER = mb.PartitionMatroid(dict(zip("abdefgi", "xxyyyzz", strict=True)))
FEATURES = np.column_stack([np.ones(8), np.linspace(-1, 1, 8)])

POLICIES = {
    "OMM": mb.OMM(),
    "KLOSM": mb.KLOSM(),
    "MOSS": mb.MOSS(),
    "CLSG": mb.CLSG(),
    "eps": mb.EpsilonGreedy(0.3),
    "chance": mb.UniformRandom(),
    "fixed": mb.FixedSet("adg"),
    "beta": mb.ThompsonSampling(),
    "normal": mb.ThompsonSampling("normal", noise=0.3),
    "discounted": mb.DiscountedOMM(0.95, 0.3),
    "undiscounted": mb.DiscountedOMM(1.0, 1.0),
    "fading": mb.DiscountedThompson(0.9),
    "window": mb.SlidingWindowOMM(7, scale=0.5),
    "linear": mb.CombLinUCB(FEATURES),
    "sampled": mb.CombLinTS(FEATURES),
    "contextual": mb.CombLinUCB(n_features=2),
    "restarting": mb.Restarting(mb.OMM(), mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.6)),
    "restarting beta": mb.Restarting(mb.ThompsonSampling(), mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.6)),
    "own": Mixed(),
}
#: Those that cannot start from plays and gains.
PARTICULAR = ("window", "linear", "sampled", "contextual")


def play(learner, n, late=None):
    """Some decisions: told at once, in parts, late, closed with a default, closed without."""
    held = [] if late is None else late
    for t in range(n):
        given = {"features": FEATURES[: learner.constraint.n_items]} if learner.policy.n_features else {}
        decision = learner.ask(tags={"visitor": f"v{t % 5}"}, **given)
        weights = {label: (hash_of(label) * (decision.id + 3) % 11) / 11 for label in decision.labels}
        first, *rest = decision.labels
        if t % 5 == 0:
            learner.tell(decision, weights)
        elif t % 5 == 1:
            learner.tell(decision, {first: weights[first]})
            held.append((decision, {label: weights[label] for label in rest}))
        elif t % 5 == 2:
            held.append((decision, weights))
        elif t % 5 == 3:
            learner.close(decision, default=0.25)
        else:
            learner.close(decision)
    return held


def hash_of(label):
    return sum(map(ord, str(label)))


def bytes_of(learner, tmp_path, name="x"):
    learner.save(tmp_path / name)
    return (tmp_path / name).read_bytes()


@pytest.fixture(scope="module")
def beginnings():
    """A learner of every policy that was played for a while, with its log and the answers that are still to come."""
    found = {}
    for name, policy in POLICIES.items():
        log = []
        learner = mb.Learner(ITEMS, policy, seed=5, id="x", holdout=0.2, record=log.append)
        late = play(learner, 12)
        if name not in ("linear", "sampled"):  # which need features of newcomers
            learner.change(LATER, priors={"i": (0.5, 2)} if policy.takes_priors else None)
            late += play(learner, 4)
            learner.change(ITEMS)
        found[name] = learner, log, late
    return found


def changes():
    """Every ordered pair of policies; each policy with its next four is tested by default."""
    for (i, before), (j, after) in itertools.permutations(enumerate(POLICIES), 2):
        yield pytest.param(before, after, marks=[pytest.mark.long] if (j - i) % len(POLICIES) > 4 else [])


@pytest.mark.parametrize(("before", "after"), list(changes()))
def test_a_log_replays_over_every_change_of_policy(beginnings, before, after, tmp_path):
    begun, log, late = beginnings[before]
    learner, log = mb.Learner.replay(log), [*log]
    learner.record = log.append
    policy, is_anew = POLICIES[after], after in PARTICULAR
    if is_anew:
        n_events = len(log)
        with pytest.raises(PolicyError, match=r"restart=True starts anew"):
            learner.configure(policy=policy)
        assert len(log) == n_events
        assert bytes_of(learner, tmp_path) == bytes_of(begun, tmp_path, "y")
    learner.configure(policy=policy, holdout=mb.Holdout(0.3, by="visitor"), restart=is_anew)
    assert log[-1] == {
        "event": "configured",
        "policy": mb.policy_to_dict(policy),
        "holdout": {"share": 0.3, "by": "visitor"},
        "answers": "all",
        "restart": is_anew,
    }
    found = learner.estimates(**({"features": FEATURES} if policy.n_features else {}))
    counts = begun._agent.state.counts[0]
    assert np.array_equal(learner._agent.state.counts[0], 0 * counts if is_anew else counts)
    assert np.isnan(found.means).all() or not is_anew
    late = late + play(learner, 6)
    for decision, weights in late[::2]:
        learner.tell(decision.id, weights)
    learner.save(tmp_path / "half")
    loaded = mb.Learner.load(tmp_path / "half")
    again = mb.Learner.replay(json.loads(json.dumps(log)))
    assert bytes_of(again, tmp_path, "z") == bytes_of(learner, tmp_path, "half")
    for each in (learner, loaded, again):
        each.record = None
        rest = play(each, 4)
        for decision, weights in late[1::2] + rest:
            each.tell(decision.id, weights)
    final = bytes_of(learner, tmp_path, "final")
    assert bytes_of(loaded, tmp_path, "a") == final
    assert bytes_of(again, tmp_path, "b") == final


def told(policy, n=20, **more):
    learner = mb.Learner(ITEMS, policy, seed=5, **more)
    for t in range(n):
        decision = learner.ask()
        learner.tell(decision, [(hash_of(label) + t) % 3 / 3 for label in decision.labels])
    return learner


def test_discounting_everything_by_one_is_omm_from_any_moment():
    learners = [told(mb.ThompsonSampling("normal")) for _ in range(2)]
    waits = [learner.ask() for learner in learners]
    learners[0].configure(policy=mb.OMM(1.0))
    learners[1].configure(policy=mb.DiscountedOMM(1.0, 1.0))
    for t in range(30):
        one, two = (learner.ask() for learner in learners)
        assert one.labels == two.labels
        for learner, decision in zip(learners, (one, two), strict=True):
            learner.tell(decision, [(hash_of(label) + t) % 4 / 4 for label in decision.labels])
        if t == 7:
            for learner, decision in zip(learners, waits, strict=True):
                learner.tell(decision, [0.5, 1.0, 0.0])


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("t", [0, 1, 7, 100, 5000])
def test_the_clock_of_a_discounted_policy_can_be_set(gamma, t):
    policy = mb.DiscountedOMM(gamma)
    row = (1.0, 0.0, 0.0, 0.0)
    for episode in range(1, t + 1):
        row = policy._next(row, episode)
    found = policy._clock(t)
    assert (found[0], *found[2:]) == (row[0], *row[2:])
    assert found[1] == pytest.approx(row[1], rel=1e-9)
    g, _, _, _ = policy._clock(2**31)
    assert 2.0**-60 <= g <= 1.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (mb.SlidingWindowOMM(7), mb.SlidingWindowOMM(7, scale=0.5)),
        (mb.CombLinUCB(FEATURES), mb.CombLinUCB(FEATURES, c=0.5)),
        (mb.DiscountedOMM(0.9), mb.DiscountedOMM(0.9, scale=0.5)),
        (mb.Restarting(mb.DiscountedOMM(0.9)), mb.Restarting(mb.DiscountedOMM(0.9, scale=0.5))),
    ],
    ids=repr,
)
def test_where_the_memory_does_not_depend_on_what_changes_it_carries_over(before, after):
    learner = told(before)
    kept = {name: array.copy() for name, array in learner._agent.state.extra.items()}
    learner.configure(policy=after)
    assert learner.policy == after
    assert all(np.array_equal(array, learner._agent.state.extra[name]) for name, array in kept.items())
    assert keeps_memory(after, before)
    assert not keeps_memory(mb.SlidingWindowOMM(8), mb.SlidingWindowOMM(7))
    assert not keeps_memory(mb.CombLinUCB(FEATURES), mb.CombLinTS(FEATURES))


def test_thompson_sampling_takes_the_total_for_successes():
    for minimize in (False, True):
        learner = told(mb.OMM(), minimize=minimize)
        state = learner._agent.state
        learner.configure(policy=mb.ThompsonSampling())
        after = learner._agent.state
        cost = -after.sums if minimize else after.sums
        gains = after.counts - cost if minimize else cost
        assert np.array_equal(after.extra["successes"], np.rint(gains))
        assert np.array_equal(state.counts, after.counts)
        learner.configure(policy=mb.DiscountedThompson(0.9))
        S, F = (learner._agent.state.extra[name] for name in ("successes", "failures"))
        assert np.array_equal(S + F, after.counts)


def test_a_hold_out_alone_changes_nothing_else(tmp_path):
    log = []
    learner, plain = told(mb.SlidingWindowOMM(7), id="x", record=log.append), told(mb.SlidingWindowOMM(7), id="x")
    n_events = len(log)
    learner.configure(holdout=0.0)
    learner.configure(policy=mb.SlidingWindowOMM(7))
    learner.configure()
    assert len(log) == n_events  # nothing happened
    learner.configure(holdout=0.25)
    assert log[-1]["holdout"] == 0.25
    assert learner.holdout == mb.Holdout(0.25)
    plain.configure(holdout=0.25)
    assert bytes_of(learner, tmp_path, "x") == bytes_of(plain, tmp_path, "y")
    assert sum(learner.ask().is_held_out for _ in range(200)) in range(30, 71)  # 6 sigma around 50


def test_weights_that_a_policy_cannot_take_are_in_the_way():
    learner = mb.Learner(ITEMS, mb.OMM(scale=10.0), seed=1, priors={"a": (7.0, 1.0)})
    with pytest.raises(PolicyError, match=r"priors have other means; restart=True starts anew"):
        learner.configure(policy=mb.KLOSM())
    learner.tell(learner.ask(), [5.0, 5.0, 5.0])
    with pytest.raises(PolicyError, match=r"cannot take the weights told so far: .*; restart=True starts anew"):
        learner.configure(policy=mb.KLOSM())
    assert learner.policy == mb.OMM(scale=10.0)
    learner.configure(policy=mb.KLOSM(), restart=True)
    with pytest.raises(FeedbackError, match=r"needs weights in \[0, 1\]"):
        learner.tell(learner.ask(), [5.0, 5.0, 5.0])


def test_items_that_have_left_are_known_to_the_next_policy():
    learner = told(mb.OMM())
    known = dict(zip(learner.constraint.labels, learner.estimates().counts.tolist(), strict=True))
    late = learner.ask(pinned=["c"])
    learner.change(LATER)
    learner.configure(policy=mb.DiscountedOMM(1.0, 1.0))
    learner.tell(late.id, {"c": 1.0})
    learner.change(ITEMS)
    counts = dict(zip(learner.constraint.labels, learner.estimates().counts.tolist(), strict=True))
    assert counts == known | {"c": known["c"] + 1}


@pytest.mark.parametrize("after", [mb.KLOSM(), mb.SlidingWindowOMM(7)], ids=repr)
def test_a_record_that_raises_leaves_everything_as_it_was(after, tmp_path):
    learner = told(mb.OMM(), id="x")
    learner.ask()
    before = bytes_of(learner, tmp_path)

    def record(event):
        raise OSError("full")

    learner.record = record
    with pytest.raises(OSError, match="full"):
        learner.configure(policy=after, holdout=0.5, restart=isinstance(after, mb.SlidingWindowOMM))
    assert bytes_of(learner, tmp_path) == before


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"policy": mb.OMM}, "expected a Policy"),
        ({"policy": mb.FixedSet(["zz"])}, "zz"),
        ({"holdout": 1.5}, "expected holdout"),
        ({"holdout": {"part": 0.5}}, "expected a hold-out with its share"),
        ({"holdout": mb.Holdout(0.1), "restart": "yes"}, "expected restart"),
    ],
)
def test_settings_that_cannot_be_are_refused(given, error, tmp_path):
    learner = told(mb.OMM(), id="x")
    before = bytes_of(learner, tmp_path)
    with pytest.raises(PolicyError, match=error):
        learner.configure(**given)
    assert bytes_of(learner, tmp_path) == before
    with pytest.raises(PolicyError, match="name of a tag"):
        mb.Holdout(0.1, by=3)
