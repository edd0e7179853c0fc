"""The order that an agent shows its sets in, and the places that its plays remember."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.policies import evaluate


class Heard(mb.Policy):
    """Plays by means, and takes down the places that it is told of."""

    def __init__(self):
        self._told = []

    def indices(self, state, request):
        return state.means

    def observe(self, state, feedback):
        self._told.append(None if feedback.places is None else feedback.places.tolist())

    def wait(self, state, plays):
        self._told.append(("waits", None if plays.places is None else plays.places.tolist()))

    def drop(self, state, dropped):
        self._told += [("dropped", each.places.tolist()) for each in dropped]


def shown(items, sizes, places):
    """The lists of all runs, from the top."""
    ends = np.cumsum(sizes)
    rows = [np.arange(hi - n, hi) for hi, n in zip(ends, sizes, strict=True)]
    flat = np.concatenate([row[: sizes[run]] for run, row in enumerate(items)])
    return [flat[row][np.argsort(places[row])].tolist() for row in rows]


def agent_with(means, constraint, policy, n_runs=1):
    agent, stream = Agent(constraint, policy, n_runs=n_runs), mb.Stream(seed=3, runs=range(n_runs))
    rows = np.tile(means, (n_runs, 1)).astype(np.float64)
    agent.observe(mb.Request(0, stream), np.tile(np.arange(len(means)), (n_runs, 1)), rows)
    return agent, stream


def test_lists_descend_by_index_and_equal_ones_by_item():
    agent, stream = agent_with([0.2, 0.5, 0.9, 0.5], mb.UniformMatroid(4, 4), Heard(), n_runs=2)
    request = mb.Request(1, stream)
    chosen = agent.choose(request)
    assert shown(*chosen, agent.order(request, *chosen)) == [[2, 1, 3, 0]] * 2
    assert shown(*chosen, agent.order(request, *chosen, worst_first=True)) == [[0, 3, 1, 2]] * 2


def test_pinned_items_come_first_in_the_order_of_the_request():
    agent, stream = agent_with([0.2, 0.5, 0.9, 0.5], mb.UniformMatroid(4, 4), Heard())
    request = mb.Request(1, stream, pinned=np.array([3, 0]))
    chosen = agent.choose(request)
    assert shown(*chosen, agent.order(request, *chosen)) == [[3, 0, 2, 1]]
    assert shown(*chosen, agent.order(request, *chosen, worst_first=True)) == [[3, 0, 1, 2]]


def test_rows_of_different_size_and_a_row_wider_than_its_set_have_places_of_their_own():
    agent, stream = agent_with([0.2, 0.5, 0.9], mb.UniformMatroid(3, 3), Heard(), n_runs=2)
    items, sizes = np.array([[0, 1, 2], [1, 2, 0]]), np.array([3, 2])
    assert agent.order(mb.Request(1, stream), items, sizes).tolist() == [2, 1, 0, 1, 0]
    agent, stream = agent_with([0.2, 0.5, 0.9], mb.UniformMatroid(3, 3), Heard())
    assert agent.order(mb.Request(1, stream), items[1:], sizes[1:]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "policy",
    [
        *(mb.OMM(), mb.KLOSM(), mb.ThompsonSampling(), mb.UniformRandom()),
        *(mb.ESCB(), mb.FPL(10), mb.Steady(mb.OMM(), 0.1)),
    ],
)
def test_the_order_is_that_of_the_indices_of_the_decision(policy):
    agent, stream = agent_with([0.25, 0.5, 1.0, 0.0, 0.75], mb.UniformMatroid(5, 3), policy, n_runs=4)
    for t in range(1, 6):
        request = mb.Request(t, stream)
        items, sizes = agent.choose(request)
        indices = evaluate(policy, agent.state, request)
        places = agent.order(request, items, sizes)
        again, _ = agent.choose(request)
        assert (again == items).all()  # the order changes nothing
        for run, row in enumerate(shown(items, sizes, places)):
            assert (np.diff(indices[run, row]) <= 0.0).all()
        agent.learn(agent.play(request, items, sizes, places=places), np.full(items.shape, 0.5))


def test_policies_are_told_the_places_of_what_is_answered_late_and_of_what_is_dropped():
    policy = Heard()
    agent, stream = agent_with([0.2, 0.5, 0.9], mb.UniformMatroid(3, 3), policy)
    request = mb.Request(1, stream)
    chosen = agent.choose(request)
    play = agent.play(request, *chosen, places=agent.order(request, *chosen))
    assert play.places.tolist() == [2, 1, 0]
    agent.learn(play, np.array([1.0]), np.array([1]))
    assert [each.places.tolist() for each in agent.state.pending()] == [[2, 0]]
    agent.close([(play, np.array([0, 2]))])
    assert policy._told == [None, ("waits", [2, 1, 0]), [1], ("dropped", [2, 0])]
    assert play.renamed(play.items).places is play.places


def test_a_play_without_an_order_has_no_places():
    policy = Heard()
    agent, stream = agent_with([0.2, 0.5, 0.9], mb.UniformMatroid(3, 2), policy)
    play = agent.decide(mb.Request(1, stream))
    agent.learn(play, np.array([[1.0, 0.0]]))
    assert play.places is None
    assert policy._told == [None, None]
