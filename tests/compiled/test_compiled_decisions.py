"""Compiled episodes make the decisions of an `Agent`; returns, regret and choices have the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
from compiled_cases import (
    DIRECTIONS,
    FAMILIES,
    POLICIES,
    STARTS,
    WORLDS,
    differences,
    is_sound,
    pairwise_cases,
    play_agent,
    play_compiled,
    settings_of,
)
from matroid_bandits.compiled import _orders, _quotas, _ready
from matroid_bandits.kernels import selection


@pytest.mark.parametrize("case", pairwise_cases(), ids=lambda case: " ".join(map(str, case)))
def test_decisions_and_totals_are_those_of_an_agent(case):
    policy = POLICIES[case[1]]
    common = settings_of(case, 9, 6, 3, checkpoints=[1, 2, 4])
    whole = play_agent(policy, common)
    assert differences(play_compiled(policy, common), whole) == []
    apart = settings_of(case, 9, 6, 3, by_run=True)
    cuts = [play_compiled(policy, apart, *cut) for cut in ((0, 1), (1, 3))]
    assert differences(cuts[1], play_agent(policy, apart, 1, 3)) == []
    assert np.array_equal(np.concatenate([each.choices for each in cuts]).sum(axis=0), whole.choices)


@pytest.mark.compiled
@pytest.mark.parametrize("n_items", [40, 300])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("policy", ["OMM", "epsilon"])
def test_longer_runs_of_more_items(family, policy, n_items):
    """Orders that are repaired and sorted, and selection among many."""
    for world in ("ties", "exponential"):
        common = settings_of((family, policy, world, "explore", world != "ties"), n_items, 400, 3, checkpoints=[7])
        assert differences(play_compiled(POLICIES[policy], common), play_agent(POLICIES[policy], common)) == []


_NAMES = st.tuples(*(st.sampled_from(list(each)) for each in (FAMILIES, POLICIES, WORLDS, STARTS, DIRECTIONS)))


@pytest.mark.compiled
@settings(max_examples=60, deadline=None)
@given(_NAMES.filter(is_sound), st.integers(8, 70), st.integers(1, 60), st.integers(1, 4), st.integers(0, 2**64 - 1))
def test_random_problems(case, n_items, n_episodes, n_runs, seed):
    policy = POLICIES[case[1]]
    common = settings_of(case, n_items, n_episodes, n_runs, seed, by_run=bool(seed % 2))
    assert differences(play_compiled(policy, common), play_agent(policy, common)) == []


def _interpreted(monkeypatch, name, module):
    """Play a kernel in Python, so that what it calls can be replaced."""
    kernel = getattr(module, name)
    monkeypatch.setitem(_ready.KERNELS, name, getattr(kernel, "py_func", kernel))
    monkeypatch.setattr(_ready, "is_interpreted", lambda: True)


def _last_of_equals(weights, starts, members, capacities, bases):
    """The best of every block, equal weights by larger item."""
    n = weights.shape[1]
    turned = np.ascontiguousarray(weights[:, ::-1])
    edges = starts[-1] - starts[::-1]
    selection.top_of_blocks(turned, edges, n - 1 - members[::-1], capacities[::-1].copy(), bases)
    bases[:] = np.sort(n - 1 - bases, axis=1)


def test_the_wrong_order_of_equals_is_noticed_in_quotas(monkeypatch):
    case = ("uniform", "OMM", "ties", "explore", False)
    common = settings_of(case, 9, 6, 2)
    _interpreted(monkeypatch, "play_quotas", _quotas)
    assert differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common)) == []
    monkeypatch.setattr(_quotas, "top_of_blocks", _last_of_equals)
    assert "choices" in differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common))


def test_the_wrong_order_of_equals_is_noticed_in_orders(monkeypatch):
    common = settings_of(("graph", "OMM", "ties", "explore", False), 12, 6, 2)
    _interpreted(monkeypatch, "play_orders", _orders)
    assert differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common)) == []
    repair = _orders.repair

    def careless(classes, starts, members, indices, budget, orders, is_spent):
        repair(classes, starts, members, indices + 1e-12 * np.arange(indices.size), budget, orders, is_spent)

    monkeypatch.setattr(_orders, "repair", careless)
    assert "choices" in differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common))
