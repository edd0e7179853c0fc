"""A live learner within budgets that change, against the best of all sets, decision by decision."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from budget_world import NAMES, allowed_sets, best_of, random_basket, random_request


def worth(U, items):
    return float(U[list(items)].sum())


@pytest.mark.parametrize(("policy", "seed"), [(mb.OMM(0.4), 0), (mb.ThompsonSampling(), 1)], ids=["omm", "thompson"])
def test_decisions_while_costs_items_and_budgets_change(policy, seed):
    """4,500 decisions each, with masks and pins, answers late or never, a hold-out; explained, and replayed."""
    rng, log = np.random.default_rng(seed), []
    learner = mb.Learner(random_basket(rng), policy, seed=seed, holdout=0.05, record=log.append)
    sets, chance = allowed_sets(learner.constraint), dict(zip(NAMES, rng.random(len(NAMES)), strict=True))
    waiting, n_explained, n_empty, n_full = [], 0, 0, 0
    for t in range(4500):
        if t % 25 == 24:
            learner.change(random_basket(rng), priors="typical" if rng.random() < 0.3 else None)
            sets = allowed_sets(learner.constraint)
        labels = learner.constraint.labels
        out, pins = random_request(rng, sets)
        wanted = {"exclude": [labels[e] for e in out], "pinned": [labels[e] for e in pins]}
        U = learner.estimates().indices
        best = best_of(sets, U, out, pins)
        if t % 15 == 0 and np.isfinite(U).all():
            e = int(rng.integers(len(labels)))
            forced = learner.explain(labels[e], **wanted).forced
            if e not in pins and e not in out:
                other = best_of(sets, U, [*out, e] if e in best else out, pins if e in best else [*pins, e])
                n_explained += forced is not None
                expected = np.inf if other is None else worth(U, best) - worth(U, other)
                assert (np.inf if forced is None else forced.cost) == pytest.approx(expected)
                if other is not None:
                    assert {*forced.enters} == {labels[k] for k in {*other} - {*best}}
                    assert {*forced.leaves} == {labels[k] for k in {*best} - {*other}}
        decision = learner.ask(**wanted)
        if decision.is_held_out:
            assert sets[:, np.isin(range(len(labels)), decision.items)].all(axis=1).any()
        else:
            assert decision.items.tolist() == best, (t, learner.constraint.to_dict(), U)
        n_empty += not best
        n_full += len(best) > 3
        weights = {label: float(rng.random() < chance[label]) for label in decision.labels}
        if rng.random() < 0.2:
            waiting.append((decision, weights))
        elif weights:
            learner.tell(decision, weights)
        if len(waiting) > 5:
            late, answer = waiting.pop(0)
            if rng.random() < 0.7 and answer:
                learner.tell(late, answer)
            elif answer:
                learner.close(late)
    assert n_explained > 100
    assert n_empty > 0
    assert n_full > 300
    again = mb.Learner.replay(json.loads(json.dumps(log)))
    assert again.has_state_of(learner)
