"""A live learner against the obvious model: requests, late answers, items that come and go, replay."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import reference
import strategies
from matroid_bandits.exceptions import (
    DecisionClosedError,
    FeedbackError,
    InvalidMatroidError,
    ItemError,
    PolicyError,
    ReplayError,
    UnknownDecisionError,
)
from matroid_bandits.learner._items import NOWHERE

# A random history of everything that can happen


def labelled(data, names):
    """A matroid on some of the names, and its independence test over labels."""
    matroid, is_independent = data.draw(strategies.nested(depth=1).filter(lambda pair: 0 < pair[0].n_items <= 7))
    labels = data.draw(st.permutations(names))[: matroid.n_items]
    form = matroid.to_dict() if not isinstance(matroid, mb.OracleMatroid) else None
    if form is None or "base" in form or "parts" in form:
        matroid = mb.OracleMatroid(matroid.n_items, is_independent, labels=labels)
    else:
        matroid = mb.constraint_from_dict(form | {"labels": labels})
    place = {label: e for e, label in enumerate(labels)}
    return matroid, lambda chosen: is_independent(frozenset(place[label] for label in chosen))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6), minimize=st.booleans(), engine=st.sampled_from(["auto", "greedy"]))
def test_a_random_history_equals_the_obvious_model(data, seed, minimize, engine):
    rng = np.random.default_rng(seed)
    names = [f"item {i}" for i in range(9)]
    matroid, independent = labelled(data, names)
    is_storable = not isinstance(matroid, mb.OracleMatroid)
    log = []
    learner = mb.Learner(
        matroid, mb.OMM(0.7), minimize=minimize, seed=0, engine=engine, record=log.append if is_storable else None
    )
    model = reference.LiveOMM(matroid.labels, independent, kinds=kinds_of(matroid), scale=0.7, minimize=minimize)
    if rng.random() < 0.5:
        first = {label: float(rng.integers(0, 5)) / 7 for label in matroid.labels if rng.random() < 0.6}
        learner.observe(first)
        model.observe(first)
    for _ in range(25):
        happening = rng.random()
        if happening < 0.45 or not model.open:
            ask(learner, model, rng)
        elif happening < 0.8:
            tell(learner, model, rng)
        elif happening < 0.86:
            t, default = int(rng.choice(list(model.open))), None if rng.random() < 0.5 else 0.25
            learner.close(t, default)
            model.close(t, default)
        elif happening < 0.88:
            until = model.t - 2
            assert learner.close_before(max(until, 0)) == sum(t < until for t in model.open)
            for t in [t for t in model.open if t < until]:
                model.close(t)
        elif happening < 0.94:
            matroid, independent = labelled(data, names)
            if isinstance(matroid, mb.OracleMatroid):  # code, which no log can hold
                is_storable, learner.record = False, None
            change(learner, model, matroid, independent, rng)
        else:
            some = [label for label in model.labels if rng.random() < 0.4]
            learner.restart(some)
            for label in some:
                model.forget(label)
                model.item(label)
        compare(learner, model)
    if is_storable:
        again = mb.Learner.replay(json.loads(json.dumps(log)))
        assert beliefs(again) == beliefs(learner)
        assert again.ask() == copy.deepcopy(learner).ask()


def ask(learner, model, rng):
    labels = list(model.labels)
    request = {}
    if rng.random() < 0.4:
        request["available"] = [label for label in labels if rng.random() < 0.7]
    if rng.random() < 0.4:
        request["exclude"] = [label for label in labels if rng.random() < 0.2]
    if rng.random() < 0.4:
        pinned = []
        for label in rng.permutation(labels).tolist():
            is_free = label not in request.get("exclude", ()) and rng.random() < 0.3
            if is_free and model.independent({*pinned, label}):
                pinned.append(label)
        request["pinned"] = pinned
    expected = model.ask(**request)
    decision = learner.ask(**request)
    assert list(decision.labels) == expected
    assert [decision.labels[i] for i in np.searchsorted(decision.items, decision.pinned)] == sorted(
        request.get("pinned", []), key=labels.index
    )
    assert decision.is_full == (len(expected) == learner.constraint.rank)


def tell(learner, model, rng):
    t = int(rng.choice(list(model.open)))
    waiting = [label for label in model.open[t] if model.open[t][label] or learner._departed.code(label) is not None]
    told = [label for label in waiting if rng.random() < 0.7]
    nobody = [label for label in told if not model.open[t][label]]
    weights = {label: float(rng.integers(0, 5)) / 7 for label in told if label not in nobody}
    if weights:
        learner.tell(t, weights)
        model.tell(t, weights)


def kinds_of(matroid):
    """The categories of each item, by label."""
    kinds = matroid.categories()
    return {label: tuple(names[e] for names in kinds) for e, label in enumerate(matroid.labels)}


def change(learner, model, matroid, independent, rng):
    forget = [label for label in model.labels if rng.random() < 0.1]
    before = set(model.known) - set(forget)
    newcomers = [label for label in matroid.labels if label not in before]
    priors = {label: (float(rng.random()), float(rng.integers(0, 3))) for label in newcomers if rng.random() < 0.5}
    if rng.random() < 0.3:
        priors = "typical"
    learner.change(matroid, priors=priors, forget=forget)
    model.change(matroid.labels, independent, priors, forget, kinds_of(matroid))


def compare(learner, model):
    learner._agent.settle()
    state = learner._agent.state
    for e, label in enumerate(learner.constraint.labels):
        x = model.item(label)
        assert (state.counts[0, e], state.waiting[0, e], state.lost[0, e]) == (x["N"], x["waiting"], x["lost"]), label
        assert state.sums[0, e] == x["S"]
    indices = learner.estimates().indices * model.sign
    assert indices.tolist() == [model.index(label) for label in learner.constraint.labels]


def beliefs(learner):
    learner._agent.settle()
    state = learner._agent.state
    arrays = {name: getattr(state, name).tolist() for name in ("counts", "waiting", "lost", "sums", "means", "radii")}
    arrays |= {name: array.tolist() for name, array in state.extra.items()} | {"typical": state.typical_gain.tolist()}
    plays = [
        (t, p.items.tolist(), None if p.told is None else p.told.tolist()) for t, p in learner._agent.open.items()
    ]
    return arrays, plays, learner._departed.labels, learner.n_decisions, learner.id


# Requests

NEWS = mb.PartitionMatroid({f"{topic}{i}": topic for topic in "abc" for i in range(4)}, 2).truncate(5)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"available": ["a0", "zz"]}, "available: expected an item or its label, got 'zz'"),
        ({"available": 3}, "expected available to be items, labels or a mask, got 3"),
        ({"available": [True, False]}, r"expected a mask of 12 values, one per item, got shape \(2,\)"),
        ({"available": np.ones(3, bool)}, r"expected a mask of 12 values, one per item, got shape \(3,\)"),
        ({"exclude": ["a0", "a0"]}, "exclude: expected distinct items, got 0 more than once"),
        ({"exclude": [99]}, r"exclude: expected items in 0\.\.11, got 99"),
        ({"pinned": ["q"]}, "pinned: expected an item or its label, got 'q'"),
        ({"pinned": ["a0", "a1", "a2"]}, "expected pinned items that can be chosen together, got 'a0', 'a1', 'a2'"),
        (
            {"pinned": ["a0", "b1"], "exclude": ["b1"]},
            "expected items that are pinned or excluded, got both for 'b1'",
        ),
        ({"pinned": 5}, "pinned: expected item numbers"),
    ],
)
def test_a_request_that_makes_no_sense_changes_nothing(request_, message):
    learner = mb.Learner(NEWS, mb.OMM(), seed=0)
    learner.tell(learner.ask(), np.linspace(0, 1, 5))
    before = beliefs(learner)
    with pytest.raises(ItemError, match=message):
        learner.ask(**request_)
    assert beliefs(learner) == before


def test_features_are_for_policies_that_use_them():
    learner = mb.Learner(NEWS, mb.OMM())
    with pytest.raises(PolicyError, match=r"expected no features, since OMM\(scale=1.0\) takes none with a request"):
        learner.ask(features=np.zeros((12, 2)))
    with pytest.raises(PolicyError, match="expected no features"):
        mb.Learner(NEWS, mb.OMM(), features=np.zeros((12, 2)))


def test_a_request_may_leave_less_than_a_basis():
    learner = mb.Learner(NEWS, mb.OMM())
    few = learner.ask(available=["a0", "a1", "a2"])
    assert few.labels == ("a0", "a1")
    assert not few.is_full
    nobody = learner.ask(available=[])
    assert nobody.labels == ()
    learner.tell(nobody, [])
    only = learner.ask(available=[], pinned=["c3"])
    assert (only.labels, only.pinned.tolist()) == (("c3",), [11])
    mask = np.zeros(12, bool)
    mask[[1, 5]] = True
    assert learner.ask(available=mask).items.tolist() == [1, 5]
    assert learner.ask(available=mask.tolist()).items.tolist() == [1, 5]
    assert learner.ask().is_full


@pytest.mark.parametrize("engine", ["greedy", "warm", "kinetic"])
def test_requests_that_leave_everything_open_are_the_plain_path(engine):
    plain, masked = (mb.Learner(NEWS, mb.OMM(), seed=1, engine=engine) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(60):
        decision, other = plain.ask(), masked.ask(available=np.ones(12, bool), exclude=(), pinned=())
        assert decision.items.tolist() == other.items.tolist()
        weights = rng.random(5)
        plain.tell(decision, weights)
        masked.tell(other, weights)
    assert beliefs(plain)[:2] == beliefs(masked)[:2]


def test_held_out_decisions_are_random_and_say_so():
    learner = mb.Learner(NEWS, mb.OMM(scale=0.0), seed=3, holdout=0.25)
    learner.observe(np.linspace(0, 1, 12))
    decisions = [learner.ask(exclude=["c3"], pinned=["a0"]) for _ in range(400)]
    held_out = [decision for decision in decisions if decision.is_held_out]
    assert abs(len(held_out) - 100) < 5 * np.sqrt(400 * 0.25 * 0.75)
    assert all("a0" in decision.labels and "c3" not in decision.labels for decision in decisions)
    assert len({decision.labels for decision in held_out}) > 20
    assert len({decision.labels for decision in decisions if not decision.is_held_out}) == 1
    assert "drawn at random" in str(learner.explain("a1", decision=held_out[0]))
    assert [d.is_held_out for d in learner.outstanding] == [d.is_held_out for d in decisions]


# Answers that come late, in parts, never


@pytest.mark.parametrize("delay", [0, 1, 7, 500])
def test_everything_is_shown_at_once_whatever_the_delay(delay):
    n_items, rank = 30, 6
    learner = mb.Learner(mb.UniformMatroid(n_items, rank), mb.OMM(), seed=0)
    waiting, shown, pages = [], set(), set()
    for t in range(1000):
        waiting.append(learner.ask())
        shown.update(waiting[-1].items.tolist())
        pages.add(tuple(waiting[-1].items.tolist()))
        if t == n_items // rank - 1:
            assert len(shown) == n_items
        if len(waiting) > delay:
            decision = waiting.pop(0)
            learner.tell(decision, (np.random.default_rng(t).random(rank) < 0.5).astype(float))
    assert len(pages) > 100


@pytest.mark.parametrize(
    "policy",
    [mb.OMM(), mb.KLOSM(), mb.ThompsonSampling(), mb.ThompsonSampling("normal"), mb.EpsilonGreedy(0.2)],
    ids=repr,
)
def test_an_answer_may_be_split_and_reordered(policy):
    whole, parts = (mb.Learner(NEWS, policy, seed=5, id="one") for _ in range(2))
    rng = np.random.default_rng(1)
    for _ in range(40):
        pair = whole.ask(), parts.ask()
        assert pair[0] == pair[1]
        weights = dict(zip(pair[0].labels, (rng.integers(0, 11, 5) / 10).tolist(), strict=True))
        whole.tell(pair[0], weights)
        for label in rng.permutation(list(weights)).tolist():
            parts.tell(pair[1], {label: weights[label]})
    assert beliefs(whole) == beliefs(parts)


def test_linear_beliefs_do_not_depend_on_the_order_of_answers():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 3))
    whole, parts = (mb.Learner(NEWS, mb.CombLinUCB(X), seed=5) for _ in range(2))
    decisions = [[learner.ask() for _ in range(10)] for learner in (whole, parts)]
    answers = [rng.random(decision.items.size) for decision in decisions[0]]
    for decision, weights in zip(decisions[0], answers, strict=True):
        whole.tell(decision, weights)
    for k in rng.permutation(10).tolist():
        for place in rng.permutation(answers[k].size).tolist():
            e = int(decisions[1][k].items[place])
            parts.tell(decisions[1][k], {e: answers[k][place]})
    for name in ("theta", "root"):
        one, other = (learner._agent.state.extra[name] for learner in (whole, parts))
        assert np.allclose(one, other, rtol=0, atol=1e-12)


def test_waiting_plays_narrow_linear_beliefs_and_closing_widens_them_again():
    X = np.random.default_rng(3).normal(size=(12, 3))
    learner = mb.Learner(NEWS, mb.CombLinUCB(X, noise=0.5), seed=5)
    learner.tell(learner.ask(), np.linspace(0, 1, 5))
    before = learner.estimates().indices
    decisions = [learner.ask() for _ in range(4)]
    during = learner.estimates().indices
    assert (during < before - 1e-6).all()
    for decision in decisions:
        learner.close(decision)
    assert np.allclose(learner.estimates().indices, before, rtol=0, atol=1e-12)


def test_an_answer_at_once_narrows_linear_beliefs_beside_those_that_wait():
    learners = [mb.Learner(mb.UniformMatroid(2, 1), mb.CombLinUCB(np.eye(2)), seed=5) for _ in range(2)]
    for learner, is_whole in zip(learners, (True, False), strict=True):
        learner.apply({"event": "asked", "decision": 1, "items": [0]}, trust=True)  # waits for ever
        decision = learner.apply({"event": "asked", "decision": 2, "items": [1]}, trust=True)
        learner.estimates()
        learner.tell(decision, [0.5] if is_whole else {1: 0.5})
    narrowed = [learner._agent.state.extra["narrowed_root"][0] for learner in learners]
    assert np.allclose(narrowed[0], narrowed[1], rtol=0, atol=1e-12)
    assert np.allclose(np.diag(narrowed[0]) ** 2, 0.01 / 1.01)


class Uneven(mb.Constraint):
    """Not a matroid: the best single item, or the pair of the last two."""

    is_hereditary = fills_up = False

    def allows(self, items):
        return items.size == 1 or items.tolist() == [self.n_items - 2, self.n_items - 1]

    def best_sets(self, weights, *, available=None, pinned=None):
        is_pair = weights[:, -2:].sum(axis=1) > weights.max(axis=1)
        items = np.where(is_pair[:, None], [self.n_items - 2, self.n_items - 1], weights.argmax(axis=1)[:, None])
        return items, np.where(is_pair, 2, 1)

    def fields(self):
        return {"n_items": self.n_items}


def test_sets_of_other_constraints_may_differ_in_size():
    learner = mb.Learner(Uneven(4), mb.OMM(scale=0.0), seed=0)
    learner.observe([0.25, 0.0, 0.1, 0.2])
    assert learner.ask().labels == (2, 3)
    learner.tell(1, [0.0, 0.0])
    assert learner.ask().labels == (0,)
    learner.tell(2, [0.5])
    assert learner.estimates().counts.tolist() == [2, 1, 2, 2]


def test_closing():
    learner = mb.Learner(NEWS, mb.OMM(), seed=0)
    first, second, third = (learner.ask() for _ in range(3))
    learner.tell(first, {first.labels[0]: 1.0})
    learner.close(first, default=0.0)
    assert learner.estimates().counts.sum() == 5
    assert learner.estimates().means[first.items].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    learner.close(second)
    assert learner.estimates().counts.sum() == 5
    for closed in (first, second, second.id):
        for call in (lambda d=closed: learner.close(d), lambda d=closed: learner.tell(d, [0.0] * 5)):
            with pytest.raises(DecisionClosedError, match="was told all its weights already, or closed"):
                call()
    with pytest.raises(UnknownDecisionError, match=r"expected a decision or its id, 1\.\.3; got 4"):
        learner.close(4)
    with pytest.raises(UnknownDecisionError, match="got True"):
        learner.close(True)
    with pytest.raises(UnknownDecisionError, match=r"got 1\.0"):
        learner.tell(1.0, [0.0] * 5)
    with pytest.raises(FeedbackError, match="expected a number for 'default', got 'none'"):
        learner.close(third, default="none")
    beta = mb.Learner(NEWS, mb.ThompsonSampling())
    with pytest.raises(FeedbackError, match=r"expected a default that ThompsonSampling.* can take, got 2\.0"):
        beta.close(beta.ask(), default=2)
    assert learner.n_outstanding == 1
    assert learner.close_before(10, default=0.5) == 1
    assert learner.close_before(10) == 0
    assert learner.outstanding == ()


def test_a_decision_of_another_learner_is_refused():
    ours, theirs = (mb.Learner(NEWS, mb.OMM(), seed=0) for _ in range(2))
    ours.ask()
    foreign = theirs.ask()
    for call in (lambda: ours.tell(foreign, [0.0] * 5), lambda: ours.close(foreign)):
        with pytest.raises(
            UnknownDecisionError, match=f"expected a decision of learner {ours.id}, got .* of learner"
        ):
            call()
    assert ours.estimates().counts.sum() == 0
    twin = mb.Learner(NEWS, mb.OMM(), seed=0, id=ours.id)
    ours.tell(twin.ask(), [0.0] * 5)  # the same learner elsewhere: a replica
    for id in ("", 3, b"x"):
        with pytest.raises(PolicyError, match="expected id to be a string"):
            mb.Learner(NEWS, mb.OMM(), id=id)


@pytest.mark.long
@pytest.mark.compiled
def test_very_many_decisions_may_wait(tmp_path):
    learner = mb.Learner(mb.UniformMatroid(50, 5), mb.OMM(), seed=0)
    for _ in range(200):
        learner.ask(exclude=[3])
    plays = learner._agent.open
    template = plays[200]
    learner._agent.settle()
    for t in range(201, 50_001):  # as asking would, without choosing
        plays[t] = template.renamed(template.items)
        plays[t].request = mb.Request(t, learner._stream)
    learner._agent.state.waiting[0, template.items[0]] += 50_000 - 200
    learner._agent.state.n_waiting += 5 * (50_000 - 200)
    learner._agent.state.update(np.arange(50))
    learner._episode = 50_000
    learner.save(tmp_path / "many")
    again = mb.Learner.load(tmp_path / "many")
    assert again.n_outstanding == 50_000
    assert again.ask() == learner.ask()
    assert again.close_before(49_999) == 49_998
    assert again.n_outstanding == 3


# Items that come and go


def test_items_are_matched_by_label_and_who_returns_is_remembered():
    before, after = mb.UniformMatroid(3, 1, labels="abc"), mb.UniformMatroid(3, 1, labels="cbd")
    learner = mb.Learner(before, mb.ThompsonSampling(), seed=0)
    learner.observe({"a": 0.0, "b": 1.0, "c": 1.0})
    late = learner.ask()
    (label,) = late.labels
    learner.change(after)
    assert learner.estimates().counts.tolist() == [1, 1, 0]
    assert learner.n_decisions == 1
    learner.tell(late, {label: 1.0})  # of an item that may have left
    learner.change(before)
    estimates = dict(zip("abc", learner.estimates().counts.tolist(), strict=True))
    assert estimates == {"a": 1, "b": 1, "c": 1} | {label: 2}
    assert learner._agent.state.extra["successes"].tolist() == [
        [float(label == "a"), 1.0 + (label == "b"), 1.0 + (label == "c")]
    ]
    assert learner.outstanding == ()


def test_only_so_many_departed_items_are_remembered():
    learner = mb.Learner(mb.UniformMatroid(4, 4, labels="abcd"), mb.OMM(3.0), max_departed=2)
    learner.observe([1.0, 2.0, 3.0, 4.0])
    late = learner.ask()
    learner.change(mb.UniformMatroid(1, 1, labels="x"))
    learner.tell(late, [1.0, 2.0, 3.0, 4.0])  # taken, and counted where anybody remembers
    learner.change(mb.UniformMatroid(4, 4, labels="abcd"))
    assert learner.estimates().counts.tolist() == [0, 0, 2, 2]


def test_newcomers_with_a_typical_prior_do_not_flood():
    names = [f"old {i}" for i in range(200)]
    learner = mb.Learner(mb.UniformMatroid(200, 6, labels=names), mb.OMM(0.25), seed=0)
    rng = np.random.default_rng(0)
    chance = dict(zip(names, rng.uniform(0.1, 0.5, 200).tolist(), strict=True))
    for _ in range(4000):
        decision = learner.ask()
        learner.tell(decision, [float(rng.random() < chance[x]) for x in decision.labels])
    newcomers = [f"new {i}" for i in range(100)]
    chance |= dict(zip(newcomers, rng.uniform(0.1, 0.5, 100).tolist(), strict=True))
    learner.change(mb.UniformMatroid(300, 6, labels=names + newcomers), priors="typical")
    only_new = 0
    for _ in range(1000):
        decision = learner.ask()
        only_new += all(x.startswith("new") for x in decision.labels)
        learner.tell(decision, [float(rng.random() < chance[x]) for x in decision.labels])
    assert only_new == 0
    flooded = mb.Learner(mb.UniformMatroid(200, 6, labels=names), mb.OMM(0.25), seed=0)
    flooded.observe([0.5] * 200)
    flooded.change(mb.UniformMatroid(300, 6, labels=names + newcomers))
    pages = [flooded.ask().labels for _ in range(16)]
    assert all(x.startswith("new") for page in pages for x in page)


@pytest.mark.parametrize(
    ("settings_", "error", "message"),
    [
        ({"constraint": mb.UniformMatroid(3, 1)}, InvalidMatroidError, "the new constraint has none"),
        ({"constraint": "abc"}, PolicyError, "expected a Constraint, such as a Matroid; got str"),
        ({"priors": "usual"}, FeedbackError, "expected priors by item, or \"typical\"; got 'usual'"),
        ({"priors": {"a": (0.5, 1)}}, ItemError, "expected priors of newcomers, got one for 'a', which is known"),
        ({"priors": {"d": 0.5}}, FeedbackError, "expected a mean and what it is worth in plays for 'd', got 0.5"),
        ({"priors": {"d": (np.nan, 1)}}, FeedbackError, "expected the prior mean of 'd' to be"),
        ({"priors": {"d": (0.5, -1)}}, FeedbackError, "expected the weight of the prior of 'd' to be"),
        ({"priors": [0.5]}, FeedbackError, "expected priors by item"),
        ({"features": np.zeros((3, 2))}, PolicyError, "expected no features of the new items"),
        ({"forget": ["q"]}, ItemError, "expected an item or its label, got 'q'"),
    ],
)
def test_a_change_that_makes_no_sense_changes_nothing(settings_, error, message):
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM(), seed=0)
    learner.tell(learner.ask(), [0.5])
    waiting = learner.ask()
    before = beliefs(learner)
    with pytest.raises(error, match=message):
        learner.change(**{"constraint": mb.UniformMatroid(3, 1, labels="acd")} | settings_)
    assert beliefs(learner) == before
    learner.tell(waiting, [0.5])
    with pytest.raises(InvalidMatroidError, match="the old constraint has none"):
        mb.Learner(mb.UniformMatroid(3, 1), mb.OMM()).change(mb.UniformMatroid(3, 1, labels="abc"))


def test_linear_policies_take_features_of_newcomers_and_no_priors():
    X = np.eye(3)
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.CombLinUCB(X), seed=0)
    late = learner.ask()
    new = mb.UniformMatroid(3, 1, labels="bcd")
    with pytest.raises(PolicyError, match=r"expected features of (the )?1 new items"):
        learner.change(new)
    with pytest.raises(PolicyError, match="expected no priors"):
        learner.change(new, features={"d": [1.0, 1.0, 0.0]}, priors={"d": (0.5, 1.0)})
    learner.change(new, features={"d": [1.0, 1.0, 0.0]})
    learner.tell(late, [1.0])  # of an item that has left: what is learnt is about all
    assert learner._agent.state.extra["theta"][0].tolist() == pytest.approx([1 / 1.01, 0.0, 0.0])
    learner.change(mb.UniformMatroid(3, 1, labels="abc"))  # who returns is remembered
    assert learner.policy == mb.CombLinUCB(X)


def test_restarting_forgets_items_and_what_they_wait_for():
    learner = mb.Learner(NEWS, mb.ThompsonSampling(), seed=0)
    learner.observe(np.linspace(0, 1, 12))
    late = learner.ask()
    learner.restart(late.labels[:2])
    assert learner.estimates().counts[late.items].tolist() == [0, 0, 1, 1, 1]
    learner.tell(late, [1.0] * 5)  # taken; of the restarted ones it does not count
    assert learner.estimates().counts[late.items].tolist() == [0, 0, 2, 2, 2]
    learner.restart()
    fresh = mb.Learner(NEWS, mb.ThompsonSampling(), seed=0, id=learner.id)
    state, other = learner._agent.state, fresh._agent.state
    assert all(np.array_equal(getattr(state, x), getattr(other, x)) for x in ("counts", "sums", "means", "radii"))
    assert np.array_equal(state.extra["successes"], other.extra["successes"])
    with pytest.raises(ItemError, match="got 'zz'"):
        learner.restart(["zz"])
    assert NOWHERE < -(10**18)


def test_a_fixed_set_follows_its_items():
    learner = mb.Learner(mb.UniformMatroid(4, 2, labels="abcd"), mb.FixedSet(["d", "b"]))
    assert learner.ask().labels == ("b", "d")
    learner.change(mb.UniformMatroid(4, 2, labels="xdab"))
    assert learner.ask().labels == ("d", "b")


# Events


def test_a_log_is_json_and_replays_to_the_same_learner():
    log = []
    learner = mb.Learner(NEWS, mb.ThompsonSampling(), seed=7, id="news", holdout=0.1, record=log.append)
    learner.observe({"a0": 1.0})
    rng = np.random.default_rng(0)
    for t in range(60):
        decision = learner.ask(exclude=[f"b{t % 4}"], pinned=["c1"] if t % 3 else [])
        if t % 4:
            learner.tell(decision, {x: float(rng.integers(0, 2)) for x in decision.labels[: 1 + t % 5]})
        if t % 4 == 0 and t % 8:
            learner.close(decision, default=0.0)
    learner.close_before(20)
    learner.change(mb.UniformMatroid(4, 2, labels=["a0", "b0", "new", "c1"]), priors="typical", forget=["a3"])
    learner.restart(["b0"])
    learner.ask()
    log = json.loads(json.dumps(log))
    assert {event["event"] for event in log} == {
        "created", "observed", "asked", "told", "closed", "changed", "restarted",
    }  # fmt: skip
    again = mb.Learner.replay(log)
    assert beliefs(again) == beliefs(learner)
    assert [again.ask().labels for _ in range(5)] == [learner.ask().labels for _ in range(5)]


def test_a_log_that_tells_of_forgotten_items_replays():
    log = []
    learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM(), seed=0, record=log.append)
    decision = learner.ask()
    learner.change(mb.UniformMatroid(2, 1, labels="bc"), forget=["a"])
    learner.tell(decision, [0.25, 0.5])  # of a, which is forgotten, and of b
    assert json.loads(json.dumps(log[-1]))["weights"] == [["a", 0.25], ["b", 0.5]]
    again = mb.Learner.replay(json.loads(json.dumps(log)))
    assert (again.n_outstanding, again.estimates().counts.tolist()) == (0, [1, 0])
    assert again.ask() == learner.ask()


def test_a_replay_that_decides_otherwise_stops_unless_the_log_is_trusted():
    log = []
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM(), seed=0, record=log.append)
    learner.tell(learner.ask(), [0.5])
    log[1]["items"] = ["c"]
    log[2]["weights"] = [["c", 0.5]]
    with pytest.raises(ReplayError, match=r"decision 1: the log says \['c'\], this learner decides \['a'\]"):
        mb.Learner.replay(log)
    trusting = mb.Learner.replay(log, trust=True)
    assert trusting.estimates().counts.tolist() == [0, 0, 1]
    once = mb.Learner.replay(log[:1])
    with pytest.raises(ReplayError):
        once.apply(log[1])
    assert (once.n_decisions, once.ask().labels) == (0, ("a",))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"event": "created"}, "expected an event that happens to a learner, got 'created'"),
        ({}, "expected an event that happens to a learner, got None"),
        ("asked", "expected an event that happens to a learner, got str"),
        ({"event": "asked", "decision": 5, "items": ["a"]}, "expected decision 1 next, got 5"),
        ({"event": "asked", "decision": 1}, "malformed asked event: KeyError"),
        ({"event": "told", "decision": 1}, "malformed told event"),
        ({"event": "changed"}, "malformed changed event"),
        ({"event": "told", "decision": 1, "weights": 3}, "malformed told event"),
    ],
)
def test_events_that_make_no_sense_change_nothing(event, message):
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM(), seed=0)
    before = beliefs(learner)
    with pytest.raises(ReplayError, match=message):
        learner.apply(event)
    assert beliefs(learner) == before
    with pytest.raises(ReplayError, match="expected a created event first"):
        mb.Learner.replay([event] if isinstance(event, dict) and event.get("event") != "created" else [{}])
    with pytest.raises(ReplayError, match="expected a created event first"):
        mb.Learner.replay([])


def test_labels_that_are_numbers_replay_by_label():
    log = []
    learner = mb.Learner(mb.UniformMatroid(3, 2, labels=[2, 0, 1]), mb.OMM(), seed=0, record=log.append)
    decision = learner.ask()
    learner.tell(decision, [0.25, 0.75])
    learner.ask(exclude=np.array([0]))
    assert beliefs(mb.Learner.replay(json.loads(json.dumps(log)))) == beliefs(learner)


# Why this item


def test_explanations_of_requests():
    network = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("e", "e")])
    learner = mb.Learner(network, mb.OMM(scale=0.0), minimize=True, seed=0)
    learner.observe([4.0, 5.0, 6.0, 1.0, 3.0, 2.0])
    assert learner.ask().labels == (("a", "b"), ("d", "a"), ("a", "c"))
    why = learner.explain(("b", "c"))
    assert (why.standing, why.mean, why.plays, why.index) == ("out", 5.0, 1.0, 5.0)
    assert why.rival_labels == (("a", "b"), ("a", "c"))
    assert why.margins.tolist() == [1.0, 2.0]
    assert str(why) == "b-c is out: it could only replace a-b, which leads by 1 (4 against 5), or a-c (by 2)"
    assert learner.explain(("a", "b"), exclude=[("a", "b")]).standing == "unavailable"
    assert str(learner.explain(("b", "c"), exclude=[("a", "b")])).startswith("b-c is chosen (mean 5 over 1 plays")
    pinned = learner.explain(("c", "d"), pinned=[("c", "d")])
    assert (pinned.standing, pinned.is_chosen) == ("pinned", True)
    assert "pinned, so it is in" in str(pinned)
    assert learner.explain(("a", "c"), pinned=[("c", "d")]).rival_labels == (("d", "a"),)  # the pin cannot give way
    blocked = learner.explain(("d", "a"), pinned=[("c", "d"), ("a", "c")])
    assert blocked.standing == "loop"
    assert "cannot be chosen with what is pinned" in str(blocked)
    assert learner.explain(("e", "e")).standing == "loop"
    decision = learner.ask(exclude=[("a", "b")])
    assert learner.explain(("a", "b"), decision=decision).standing == "unavailable"
    assert learner.explain(("b", "c"), decision=decision).standing == "chosen"
    fresh = mb.Learner(network, mb.OMM())
    assert "never asked for" in str(fresh.explain(("a", "b")))


def test_beliefs_have_labels_and_frames():
    learner = mb.Learner(NEWS, mb.OMM(), seed=0, priors={"c3": (0.5, 4.0)})
    learner.tell(learner.ask(), [0.5] * 5)
    waiting = learner.ask()
    frame = learner.estimates().to_frame()
    assert frame.index.tolist() == list(NEWS.labels)
    assert frame.loc[waiting.labels[0], "waiting"] == 1
    assert frame.loc["c3", "means"] == 0.5
    best = learner.best_basis()
    assert best.to_frame().index.tolist() == list(best.labels)
    assert mb.Learner(mb.GraphicMatroid([(0, 1), (1, 2)]), mb.OMM()).estimates().to_frame().index.tolist() == [
        (0, 1),
        (1, 2),
    ]


# One learner, several threads


@pytest.mark.compiled
def test_public_methods_are_atomic():
    from concurrent.futures import ThreadPoolExecutor

    learner = mb.Learner(mb.UniformMatroid(200, 10), mb.ThompsonSampling(), seed=0)

    def visit(k):
        for _ in range(100):
            decision = learner.ask(exclude=[k])
            learner.estimates()
            learner.tell(decision, [1.0] * 10)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(8)))
    assert learner.n_decisions == 800
    assert learner.estimates().counts.sum() == 8000
    assert learner.outstanding == ()


def test_checking_raises_what_asking_and_telling_would_and_changes_nothing():
    log = []
    learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM(), record=log.append)
    decision = learner.ask()
    learner.tell(decision, {"a": 0.5})
    before = learner.estimates()
    for wanted in ({"exclude": ["z"]}, {"pinned": ["a", "b", "c"]}, {"pinned": ["a"], "exclude": ["a"]}):
        with pytest.raises(ItemError):
            learner.check_ask(**wanted)
    with pytest.raises(PolicyError):
        learner.check_ask(features=[[1.0]] * 3)
    for id, weights, error in (
        (2, {}, UnknownDecisionError), (1, {"a": 0.5}, DecisionClosedError), (1, {"c": 0.5}, FeedbackError),
    ):  # fmt: skip
        with pytest.raises(error):
            learner.check_tell(id, weights)
    learner.check_ask(exclude=["a"])
    learner.check_tell(decision, {"b": 0.5})
    assert len(log) == 3
    assert learner.estimates().waiting.tolist() == before.waiting.tolist() == [0, 1, 0]
