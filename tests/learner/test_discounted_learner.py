"""Discounted OMM in a live learner: late answers, requests, items that come and go, files and logs."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
from matroid_bandits.exceptions import SerializationError
from matroid_bandits.policies import _discounted
from samples import OftenRebased

NAMES = [f"item {i}" for i in range(24)]


def quotas(rng):
    """A matroid made of quotas on some of the names."""
    labels = rng.permutation(NAMES)[: rng.integers(3, len(NAMES))].tolist()
    n = len(labels)
    if rng.random() < 0.4:
        return mb.UniformMatroid(n, int(rng.integers(1, n)), labels=labels)
    blocks = dict(zip(labels, rng.integers(0, 4, n).tolist(), strict=True))
    return mb.PartitionMatroid(blocks, 2).truncate(int(rng.integers(1, 6)))


class Textbook:
    """What a learner with discounting believes, by the recursion N = gamma N + 1, in fractions."""

    def __init__(self, gamma, scale):
        self.gamma, self.scale, self.tau, self.t = Fraction(gamma), scale, Fraction(0), 0
        self.known, self.open, self.total, self.n_answers = {}, {}, Fraction(0), 0

    def item(self, label):
        return self.known.setdefault(
            label, dict.fromkeys(("N", "S", "waiting", "lost", "n0", "mu", "m"), Fraction(0))
        )

    def asked(self, labels):
        self.t, self.tau = self.t + 1, self.gamma * self.tau + 1
        for x in self.known.values():
            for key in ("N", "S", "waiting", "lost", "n0"):
                x[key] *= self.gamma
        for label in labels:
            x = self.item(label)
            x["waiting"] += 1
            if not x["N"]:
                x["m"] = Fraction(float(self.total) / self.n_answers) if self.n_answers else Fraction(0)
        self.open[self.t] = dict.fromkeys(labels, True)

    def observed(self, label, gain):
        self.item(label)["waiting"] += 1
        self.open[0] = {label: True}
        self.told(0, label, gain)

    def told(self, t, label, gain):
        counts = self.open[t].pop(label)
        if not self.open[t]:
            del self.open[t]
        if counts:
            x, weight = self.item(label), self.gamma ** (self.t - t)
            x["waiting"], x["N"] = x["waiting"] - weight, x["N"] + weight
            x["S"] += weight * Fraction(gain)
            self.total += Fraction(gain)
            self.n_answers += 1

    def closed(self, t):
        for label, counts in self.open.pop(t).items():
            if counts:
                x, weight = self.item(label), self.gamma ** (self.t - t)
                x["waiting"], x["lost"] = x["waiting"] - weight, x["lost"] + weight

    def forget(self, label):
        self.known.pop(label, None)
        for play in self.open.values():
            if label in play:
                play[label] = False

    def index(self, label):
        x = self.item(label)
        n = x["N"] + x["n0"]
        plays = n + x["waiting"] if n else x["waiting"] + x["lost"]
        if not plays:
            return math.inf
        mean = (x["S"] + x["n0"] * x["mu"]) / n if n else x["m"]
        return float(mean) + self.scale * math.sqrt(2 * math.log(max(float(self.tau), 1.0)) / float(plays))


def happenings(learners, rng, n, model=None, looks=True):
    """Let the same n things happen to all learners, which must go on alike, and to a model of what they believe."""
    first = learners[0]
    sign = -1.0 if first.minimize else 1.0
    if looks and rng.random() < 0.5:
        seen = {label: float(rng.integers(0, 5)) / 7 for label in first.constraint.labels if rng.random() < 0.6}
        for learner in learners:
            learner.observe(seen)
        for label, weight in seen.items():
            if model is not None:
                model.observed(label, sign * weight)
    for _ in range(n):
        labels = list(first.constraint.labels)
        what = rng.random()
        if what < 0.5 or not first.outstanding:
            request = {}
            if rng.random() < 0.3:
                request["available"] = [label for label in labels if rng.random() < 0.7]
            if rng.random() < 0.3:
                request["exclude"] = [label for label in labels if rng.random() < 0.2]
            if rng.random() < 0.3:
                basis = first.constraint.max_weight_basis(rng.random(len(labels)))[: rng.integers(0, 3)]
                request["pinned"] = [labels[e] for e in basis.tolist() if labels[e] not in request.get("exclude", ())]
            asked = [learner.ask(**request) for learner in learners]
            assert all(decision.labels == asked[0].labels for decision in asked[1:])
            if model is not None:
                model.asked(asked[0].labels)
        elif what < 0.8:
            decision = first.outstanding[int(rng.integers(first.n_outstanding))]
            untold = waiting(first, decision.id)
            weights = {label: float(rng.integers(0, 5)) / 7 for label in untold if rng.random() < 0.7}
            for learner in learners:
                if weights:
                    learner.tell(decision.id, weights)
            for label, weight in weights.items():
                if model is not None:
                    model.told(decision.id, label, sign * weight)
        elif what < 0.86:
            id = first.outstanding[int(rng.integers(first.n_outstanding))].id
            for learner in learners:
                learner.close(id)
            if model is not None:
                model.closed(id)
        elif what < 0.93:
            matroid = quotas(rng)
            unknown = [x for x in matroid.labels if x not in labels and first._departed.code(x) is None]
            priors = {x: (float(rng.integers(0, 5)) / 7, float(rng.integers(0, 4))) for x in unknown[::2]}
            for learner in learners:
                learner.change(matroid, priors=priors)
            for label, (mean, plays) in priors.items():
                if model is not None:
                    model.item(label).update(mu=Fraction(sign * mean), n0=Fraction(plays))
        else:
            some = [label for label in labels if rng.random() < 0.3]
            everything = rng.random() < 0.2
            for learner in learners:
                learner.restart(None if everything else some)
            if model is not None:
                for label in [*labels, *model.known] if everything else some:  # those that have left too
                    model.forget(label)
            if everything and model is not None:
                model.total, model.n_answers = Fraction(0), 0
        estimates = [learner.estimates() for learner in learners]
        assert all(np.array_equal(each.indices, estimates[0].indices) for each in estimates[1:])
        if model is not None:
            expected = [model.index(label) for label in first.constraint.labels]
            np.testing.assert_allclose(sign * estimates[0].indices, expected, rtol=1e-12, atol=1e-12)


def waiting(learner, id):
    """The labels, of those who have left too, that a decision waits for and that are still known."""
    play = learner._agent.open[id]
    codes = play.items[0, play.untold()].tolist()
    labels = [learner.constraint.labels[e] if e >= 0 else learner._departed.label(e) for e in codes]
    return [label for label in labels if label is not None]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), minimize=st.booleans())
def test_without_fading_it_is_omm_bit_for_bit(seed, minimize):
    rng = np.random.default_rng(seed)
    matroid, scale = quotas(rng), float(rng.choice([0.0, 0.7, 3.0]))
    learners = [
        mb.Learner(matroid, policy, minimize=minimize) for policy in (mb.OMM(scale), mb.DiscountedOMM(1, scale))
    ]
    happenings(learners, rng, 40)
    plain, faded = (learner.estimates() for learner in learners)
    assert np.array_equal(plain.means, faded.means, equal_nan=True)
    for label in learners[0].constraint.labels:
        assert str(learners[0].explain(label)) == str(learners[1].explain(label))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), minimize=st.booleans(), gamma=st.sampled_from([0.5, 0.9, 0.99]))
def test_indices_are_those_of_the_textbook_recursion(seed, minimize, gamma):
    rng = np.random.default_rng(seed)
    kind = [mb.DiscountedOMM, OftenRebased][seed % 2]
    happenings([mb.Learner(quotas(rng), kind(gamma, 0.3), minimize=minimize)], rng, 40, Textbook(gamma, 0.3))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([0.01, 0.5, 0.97]), scale=st.sampled_from([0.0, 0.3, 2.0]))
def test_engines_agree_whatever_happens_and_however_often_powers_of_two_change(seed, gamma, scale):
    rng = np.random.default_rng(seed)
    matroid = quotas(rng)
    learners = [
        mb.Learner(matroid, OftenRebased(gamma, scale), engine=name) for name in ("greedy", "warm", "kinetic")
    ]
    happenings([*learners, mb.Learner(matroid, mb.DiscountedOMM(gamma, scale))], rng, 40)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_files_and_logs_hold_all_there_is(seed, tmp_path_factory):
    rng, log = np.random.default_rng(seed), []
    learner = mb.Learner(quotas(rng), OftenRebased(0.9, 0.3), seed=0, record=log.append)
    happenings([learner], rng, 30)
    path = tmp_path_factory.mktemp("learner") / "learner.npz"
    learner.save(path)
    again = mb.Learner.replay(json.loads(json.dumps(log)))
    again._agent.settle()
    for name, array in learner._agent.state.extra.items():
        assert np.array_equal(array, again._agent.state.extra[name]), name
    happenings([learner, mb.Learner.load(path), again], rng, 25, looks=False)


def test_a_late_answer_weighs_what_its_own_episode_does():
    gamma, n = 0.9995, 4500
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.DiscountedOMM(gamma, 0.3))
    first = learner.ask(pinned="a")
    for _ in range(n):
        learner.tell(learner.ask(exclude="a"), [0.5])
    learner.tell(first, [1.0])
    learner.tell(learner.ask(pinned="a"), [0.0])
    weight = gamma ** (n + 1)
    assert learner.estimates().means[0] == pytest.approx(weight / (1 + weight), rel=1e-12)
    assert learner.explain("a").plays == pytest.approx(1 + weight, rel=1e-12)


def test_g_of_every_episode_is_the_product_that_the_clock_had():
    powers, g = _discounted._Powers(0.997), 1.0
    for episode in range(3 * powers._BLOCK):
        assert powers.g(episode, 0.0, 0.0, 0.0) == g
        g *= 0.997 if g > 1e-280 else math.inf
        if g == math.inf:
            break
    assert powers.g(0, 2000.0, 0.0, 0.0) == math.inf  # faded altogether: the answer weighs nothing
    for k in (70, 3, 0, 70):  # blocks are found again in any order
        assert powers.g(k * powers._BLOCK + 5, 4000.0, 0.0, 0.0) == _discounted._Powers(0.997).g(
            k * powers._BLOCK + 5, 4000.0, 0.0, 0.0
        )
    for k in range(100):
        powers.g(k * powers._BLOCK, 0.0, 0.0, 0.0)
    assert len(powers._blocks) <= powers._MOST_BLOCKS
    # of products with more factors than one would multiply one by one, the ratio to the present one is known
    late = _discounted._Powers(1 - 1e-9)
    assert late.g(2**40, 60.0, 2.0**40 + 1000, 0.5) == pytest.approx(0.5 * (1 - 1e-9) ** -1000, rel=1e-12)
    assert _discounted._Powers(0.5).g(2**40, 60.0, 2.0**40 + 1000, 0.5) == math.inf


@pytest.mark.parametrize("leaves", [False, True])
def test_what_has_faded_altogether_counts_as_never_answered(leaves):
    both, alone = mb.UniformMatroid(2, 1, labels="ab"), mb.UniformMatroid(1, 1, labels="a")
    learner = mb.Learner(both, mb.DiscountedOMM(0.5, 0.0))
    learner.observe([0.5, 0.4])
    old = learner.ask(pinned="b")
    if leaves:
        learner.change(alone)
    for _ in range(880):
        learner.tell(learner.ask(pinned="a"), [0.5])
    if leaves:
        learner.change(both)
    assert learner.estimates().means.tolist() == [0.5, 0.4]
    if leaves:
        learner.change(alone)
    for _ in range(100):
        learner.tell(learner.ask(pinned="a"), [0.5])
    if leaves:
        learner.change(both)
    assert learner.explain("b").mean != learner.explain("b").mean
    assert learner.estimates().indices.tolist() == [0.5, math.inf]
    learner.tell(old, [0.9])  # comes too late to be heard
    assert learner.estimates().indices.tolist() == [0.5, math.inf]
    assert learner.ask().labels == ("b",)


def test_newcomers_are_typical_of_what_is_still_beliefs():
    learner = mb.Learner(mb.UniformMatroid(2, 2, labels="ab"), mb.DiscountedOMM(0.5))
    for _ in range(50):
        learner.tell(learner.ask(), [0.0, 0.0])
    for _ in range(50):
        learner.tell(learner.ask(), [1.0, 1.0])
    learner.change(mb.UniformMatroid(3, 2, labels="abc"), priors="typical")
    explained = learner.explain("c")
    assert (explained.mean, explained.plays) == (pytest.approx(1.0), pytest.approx(2.0))
    assert learner.best_basis().means == pytest.approx(1.0)


def test_no_width_of_weights_is_too_much_for_it():
    learner = mb.Learner(mb.UniformMatroid(2, 2), mb.DiscountedOMM(0.9, 0.01))
    learner.tell(learner.ask(), [0.0, 1e100])  # a narrow radius is advised here, and warned of for OMM
    assert learner.estimates().means == pytest.approx([0.0, 1e100])


@pytest.mark.parametrize(
    ("name", "where", "value", "message"),
    [
        ("clock", (0, 0), 0.0, "expected the time of a discounted policy, the same in all runs; got"),
        ("clock", (0, 1), np.nan, "expected the time of a discounted policy"),
        ("cells", (0, 1, 0), -1.0, "expected weights of plays that are finite and not negative"),
        ("cells", (0, 1, 6), 60.0, "expected weights of plays"),
        ("means", (0, 0), np.inf, "expected finite means and positive radii"),
        ("radii", (0, 0), 0.0, "expected finite means and positive radii"),
    ],
)
def test_a_file_that_cannot_be_is_not_written(tmp_path, name, where, value, message):
    learner = mb.Learner(mb.UniformMatroid(2, 1), mb.DiscountedOMM(0.9))
    learner.tell(learner.ask(), [0.5])
    learner._agent.state.extra[name][where] = value
    with pytest.raises(SerializationError, match=message):
        learner.save(tmp_path / "learner.npz")
