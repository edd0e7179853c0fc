"""Random histories of all that can happen to a learner, for every policy, beside plain references."""

import json
import math
import os
from functools import partial

import numpy as np
import pytest

import ledger as books
import matroid_bandits as mb
from ledger import Jumpy, Ledger
from samples import Mixed

#: How many histories each policy has.
N_HISTORIES = int(os.environ.get("MATROID_BANDITS_EXAMPLES", "5"))
N_STEPS = 40

NAMES = [f"item {i}" for i in range(9)]
ROWS = dict(zip(NAMES, np.random.default_rng(0).normal(size=(9, 3)).round(2).tolist(), strict=True))
FIXED = NAMES[1], NAMES[3], NAMES[4]


def made(kind, **settings):
    """A policy that has features for the items it is made for."""
    return lambda labels: kind([ROWS[label.split(",")[0]] for label in labels], **settings)


def always(policy):
    return lambda labels: policy


def fixed(labels):
    return mb.FixedSet(
        [label for label in FIXED if label in labels], [label for label in FIXED if label not in labels]
    )


BELIEF = {"prior_scale": 2.0, "noise": 0.5}
OMMs = {
    "OMM": (mb.OMM(), partial(books.omm, scale=1.0)),
    "window": (mb.SlidingWindowOMM(6, 0.5), partial(books.windowed, window=6, scale=0.5)),
    "long window": (mb.SlidingWindowOMM(500, 0.5), partial(books.windowed, window=500, scale=0.5)),
    "discounted": (mb.DiscountedOMM(0.8, 0.5), partial(books.discounted, gamma=0.8, scale=0.5)),
}
PLAIN = {name: (always(policy), index) for name, (policy, index) in OMMs.items()}
PLAIN |= {
    f"restarting {name}": (always(mb.Restarting(policy, Jumpy())), index) for name, (policy, index) in OMMs.items()
}
PLAIN |= {
    "CombLinUCB": (made(mb.CombLinUCB, **BELIEF), None),
    "CombLinUCB by request": (always(mb.CombLinUCB(n_features=3, **BELIEF)), None),
    "restarting CombLinUCB": (lambda labels: mb.Restarting(made(mb.CombLinUCB, **BELIEF)(labels), Jumpy()), None),
    "restarting CombLinUCB by request": (always(mb.Restarting(mb.CombLinUCB(n_features=3, **BELIEF), Jumpy())), None),
}
OTHERS = {
    "KLOSM": always(mb.KLOSM()),
    "epsilon": always(mb.EpsilonGreedy(0.3)),
    "chance": always(mb.UniformRandom()),
    "fixed": fixed,
    "beta": always(mb.ThompsonSampling()),
    "normal": always(mb.ThompsonSampling("normal", 0.3)),
    "fading": always(mb.DiscountedThompson(0.8)),
    "CombLinTS": made(mb.CombLinTS, **BELIEF),
    "CombLinTS by request": always(mb.CombLinTS(n_features=3, **BELIEF)),
    "own": always(Mixed()),
    "restarting beta": always(mb.Restarting(mb.ThompsonSampling(), Jumpy())),
    "restarting fading": always(mb.Restarting(mb.DiscountedThompson(0.8), Jumpy())),
    "restarting KLOSM": always(mb.Restarting(mb.KLOSM(), mb.CUSUM(n_first=2, tolerance=0.05, threshold=0.5))),
}


class History:
    """A learner and its ledger, to which the same things happen."""

    def __init__(self, policy, seed, folder):
        self.rng = rng = np.random.default_rng(seed)
        self.made, self.folder, self.log = policy, folder, []
        labels = NAMES[: rng.integers(3, 7)]
        first = policy(labels)
        self.is_beta = first.support == (0.0, 1.0)
        settings = {
            "minimize": bool(seed % 3 == 2),
            "seed": seed,
            "id": "x",
            "holdout": 0.1 if seed % 4 == 3 else 0.0,
        }
        priors = self.priors(first, labels)
        self.learner = mb.Learner(self.matroid(labels), first, priors=priors, record=self.log.append, **settings)
        sign = -1.0 if self.learner.minimize else 1.0
        self.ledger = Ledger(labels, sign, has_alarms=isinstance(first, mb.Restarting))
        self.ledger.prior(priors or {})
        if first.n_features is None and isinstance(first, (mb.OMM, mb.DiscountedOMM, mb.SlidingWindowOMM, mb.KLOSM)):
            seen = {label: self.weight() for label in labels if rng.random() < 0.3}
            self.learner.observe(seen)
            self.ledger.observe(seen)

    def weight(self):
        return float(self.rng.integers(2)) if self.is_beta else float(self.rng.random())

    def matroid(self, labels):
        return mb.UniformMatroid(len(labels), min(int(self.rng.integers(1, 4)), len(labels)), labels=labels)

    def priors(self, policy, labels):
        if not policy.takes_priors or self.rng.random() < 0.4:
            return None
        few = [label for label in labels if self.rng.random() < 0.4]
        return {label: (float(self.rng.random()), float(self.rng.integers(0, 4))) for label in few}

    def table(self):
        """Features of a request, by label."""
        if self.learner.policy.n_features is None:
            return None
        return {label: self.rng.normal(size=3).round(2).tolist() for label in self.learner.constraint.labels}

    def rows(self):
        """The features that items have in the ledger: a request's, or their own."""
        return self.table() if self.learner.policy.n_features is not None else ROWS

    def features(self, table):
        return {} if self.learner.policy.n_features is None else {"features": table}

    def step(self):
        rng, learner = self.rng, self.learner
        open_ids, dice = [decision.id for decision in learner.outstanding], rng.random()
        if dice < 0.42 or not open_ids:
            self.ask()
        elif dice < 0.7:
            self.tell(int(rng.choice(open_ids)))
        elif dice < 0.77:
            t, default = int(rng.choice(open_ids)), None if rng.random() < 0.5 else self.weight()
            learner.close(t, default)
            self.ledger.close(t, default)
        elif dice < 0.79:
            until = max(learner.n_decisions - 4, 0)
            assert learner.close_before(until) == sum(t < until for t in open_ids)
            for t in open_ids:
                if t < until:
                    self.ledger.close(t, None)
        elif dice < 0.88:
            self.change()
        elif dice < 0.92:
            some = [label for label in self.ledger.labels if rng.random() < 0.4]
            learner.restart(some)
            self.ledger.forget(some)
        elif dice < 0.94:
            learner.restart()
            self.ledger.restart()
        elif dice < 0.97:
            self.explain(open_ids)
        else:
            learner.save(self.folder / "learner")
            self.learner = mb.Learner.load(self.folder / "learner", record=self.log.append)

    def ask(self):
        rng, labels, request = self.rng, self.ledger.labels, {}
        if rng.random() < 0.3:
            request["available"] = [label for label in labels if rng.random() < 0.7]
        if rng.random() < 0.3:
            request["exclude"] = [label for label in labels if rng.random() < 0.3]
        if rng.random() < 0.3 and labels:
            pinned = labels[int(rng.integers(len(labels)))]
            request["pinned"] = [pinned] if pinned not in request.get("exclude", ()) else []
        table = self.table()
        indices = self.learner.estimates(**self.features(table)).indices * self.ledger.sign
        decision = self.learner.ask(**request, **self.features(table))
        if not decision.is_held_out:
            may = [label for label in labels if label not in request.get("exclude", ())]
            may = [label for label in may if label in request.get("available", labels)]
            fixed = request.get("pinned", [])
            order = sorted(may, key=lambda label: -indices[labels.index(label)])  # ties: the smaller item
            best = [*fixed, *(label for label in order if label not in fixed)][: self.learner.constraint.rank]
            assert list(decision.labels) == sorted(best, key=labels.index)
        self.ledger.ask(decision.labels, ROWS if table is None else table)

    def tell(self, t):
        rng, plays = self.rng, self.ledger.open(t)
        told = [x.label for x in plays if x.what == "waits" and rng.random() < 0.7]
        weights = {label: self.weight() for label in told}
        is_whole = len(plays) == sum(x.t == t for x in self.ledger.plays)
        if is_whole and rng.random() < 0.5:
            weights = {x.label: self.weight() for x in plays}
            self.learner.tell(t, list(weights.values()))
        elif weights:
            self.learner.tell(t, weights)
        self.ledger.tell(t, weights)

    def change(self):
        rng, learner, ledger = self.rng, self.learner, self.ledger
        labels = rng.permutation(NAMES)[: rng.integers(0, 8) if rng.random() < 0.3 else rng.integers(3, 8)].tolist()
        forget = [label for label in NAMES if label in ledger.known and rng.random() < 0.08]
        newcomers = [label for label in labels if label not in ledger.known or label in forget]
        priors = self.priors(learner.policy, newcomers) or {}
        settings = {"priors": priors} if learner.policy.takes_priors else {}
        if learner.policy.item_features is not None and newcomers:
            settings["features"] = {label: ROWS[label] for label in newcomers}
        learner.change(self.matroid(labels), forget=forget, **settings)
        ledger.change(labels, priors, forget)

    def explain(self, open_ids):
        """Whatever is asked about what is believed changes nothing."""
        for label in self.ledger.labels:
            self.learner.explain(label, **self.features(self.table()))
        self.learner.best_basis()
        self.learner.preview(**self.features(self.table()))

    def survives(self):
        """What the learner believes is what an agent believes to which only what survives has happened."""
        table = self.table()
        found = self.learner.estimates(**self.features(table)).indices * self.ledger.sign
        stream = mb.Stream(self.learner.seed, range(1), mb.stream.POLICY)
        expected = books.survivor(self.ledger, self.made, self.learner.minimize, stream, table)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    def replays(self):
        """The log makes the same learner, and the same file, byte for byte."""
        again = mb.Learner.replay(json.loads(json.dumps(self.log)))
        self.learner.save(self.folder / "learner")
        again.save(self.folder / "again")
        assert (self.folder / "learner").read_bytes() == (self.folder / "again").read_bytes()


@pytest.mark.parametrize("name", PLAIN)
def test_indices_are_those_of_a_plain_reference(name, tmp_path):
    policy, index = PLAIN[name]
    for seed in range(N_HISTORIES):
        history = History(policy, seed, tmp_path)
        ledger = history.ledger
        for step in range(N_STEPS):
            history.step()
            table = history.rows()
            found = history.learner.estimates(**history.features(table)).indices * ledger.sign
            for e, label in enumerate(ledger.labels):
                if index is None:
                    expected = books.linear(ledger, np.array(table[label]), 2.0, 0.5)
                else:
                    expected = index(ledger, label)
                where = f"{name}, history {seed}, step {step}, {label}"
                assert math.isnan(expected) or found[e] == pytest.approx(expected, rel=1e-9, abs=1e-9), where
        history.survives()
        history.replays()


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_believed_comes_from_what_survives(name, tmp_path):
    for seed in range(N_HISTORIES):
        history = History(OTHERS[name], seed, tmp_path)
        for step in range(N_STEPS):
            history.step()
            if step % 10 == 9:
                history.survives()
        history.replays()
