"""Clicks by place: attention that is known or learnt, and what it says of the items."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import attention as kernels
from matroid_bandits.policies import evaluate

ATTENTION = np.array([1.0, 0.5, 0.25])
STREAM = mb.Stream(0, [0, 1])


class TestLearnt(mb.testing.PolicySuite):
    policy = mb.PositionBias(mb.OMM(0.5))


class TestKnown(mb.testing.PolicySuite):
    policy = mb.PositionBias(mb.KLOSM(), ATTENTION)


class TestSampled(mb.testing.PolicySuite):
    policy = mb.PositionBias(mb.ThompsonSampling(), n_places=2)


def played(policy, n_lists=40, n_runs=2, n_items=5, attention=ATTENTION):
    """An agent after some lists in random order, and the clicks and shows by run, item and place."""
    agent, rng = Agent(mb.UniformMatroid(n_items, 3), policy, n_runs=n_runs), np.random.default_rng(1)
    clicks, shown = np.zeros((2, n_runs, n_items, 3))
    for t in range(1, n_lists + 1):
        request = mb.Request(t, mb.Stream(0, range(n_runs)))
        items, sizes = agent.choose(request)
        places = np.concatenate([rng.permutation(3) for _ in range(n_runs)])
        play = agent.play(request, items, sizes, places=places)
        weights = (rng.random(places.size) < 0.6 * attention[places]).astype(np.float64)
        runs, chosen = play.cells()
        shown[runs, chosen, places] += 1.0
        clicks[runs, chosen, places] += weights
        agent.learn(play, weights)
    return agent, clicks, shown


def test_the_index_is_the_mean_of_looks_and_the_radius_of_shows_and_looks():
    policy = mb.PositionBias(mb.OMM(0.5), ATTENTION)
    agent, clicks, shown = played(policy)
    n, m, c = shown.sum(axis=2), shown @ ATTENTION, clicks.sum(axis=2)
    expected = c / m + 0.5 * np.sqrt(2.0 * np.log(40)) * np.sqrt(n) / m
    request = mb.Request(41, STREAM)
    assert evaluate(policy, agent.state, request) == pytest.approx(expected)
    means, counts, _ = policy.beliefs(agent.state)
    assert means == pytest.approx(c / m)
    assert (counts == n).all()
    assert policy.spreads(agent.state, request) == pytest.approx(expected - c / m)


@pytest.mark.parametrize("base", [mb.OMM(0.5), mb.KLOSM(3.0), mb.ThompsonSampling()])
@pytest.mark.parametrize("minimize", [False, True])
def test_at_the_top_alone_it_is_the_wrapped_policy(base, minimize):
    """With an attention of 1 everywhere the indices are those of the wrapped policy, costs and waiting plays too."""
    plain, wrapped = (
        Agent(mb.UniformMatroid(5, 3), policy, n_runs=2, minimize=minimize)
        for policy in (base, mb.PositionBias(base, [1.0]))
    )
    rng = np.random.default_rng(2)
    for t in range(1, 30):
        request = mb.Request(t, STREAM)
        U, V = (evaluate(agent._policy, agent.state, request) for agent in (plain, wrapped))
        assert pytest.approx(V) == U
        items, sizes = plain.choose(request)
        weights, some = (rng.random((2, 2)) < 0.4).astype(np.float64).reshape(-1), np.array([0, 1, 3, 4])
        for agent in (plain, wrapped):
            play = agent.play(request, items, sizes, places=agent.order(request, items, sizes))
            agent.learn(play, weights, some)  # what comes third is still waited for


def test_plays_count_by_their_fisher_information():
    clicks, shown = np.array([[[3.0, 2.0]]]), np.array([[[10.0, 20.0]]])
    n, m, c, plays = (np.empty((1, 1)) for _ in range(4))
    kernels.evidence(clicks, shown, np.array([[1.0, 0.5]]), n, m, c, plays)
    w = 5.5 / 21.0
    assert (n.item(), m.item(), c.item()) == (30.0, 20.0, 5.0)
    information = 10.0 / (w * (1 - w)) + 20.0 * 0.5**2 / (0.5 * w * (1 - 0.5 * w))
    assert plays.item() == pytest.approx(information * w * (1 - w))
    kernels.evidence(clicks, shown, np.array([[1.0, 1.0]]), n, m, c, plays)
    assert plays.item() == 30.0  # every show is a look


def test_the_alternating_estimate_is_a_stationary_point():
    agent, clicks, shown = played(mb.PositionBias(mb.OMM(), n_places=3), n_lists=150)
    attention = agent.state.extra["attention"].copy()
    assert (agent.state.extra["clicks_at"] == clicks).all()
    assert (agent.state.extra["shown_at"] == shown).all()
    kernels.balance(clicks, shown, 500, attention)
    w = (0.5 + clicks.sum(axis=2)) / (1.0 + np.einsum("rk,rek->re", attention, shown))
    again = np.minimum(1.0, (0.5 + clicks.sum(axis=1)) / (1.0 + np.einsum("re,rek->rk", w, shown)))
    assert attention[:, 1:] == pytest.approx(again[:, 1:], abs=1e-9)
    assert (attention[:, 0] == 1.0).all()
    assert np.abs(attention - ATTENTION).max() < 0.2


class Worlds(mb.Environment):
    """Weights 0 or 1, with means of its own for each run."""

    def __init__(self, table):
        super().__init__(n_items=table.shape[1], support=(0.0, 1.0))
        self._table = table

    def means(self, t, stream):
        return self._table[stream.runs]

    def draw(self, stream, t, items):
        items = np.broadcast_to(items, (stream.n_runs, items.shape[-1]))
        return (stream.uniform(t, items) < np.take_along_axis(self.means(t, stream), items, 1)).astype(np.float64)


@pytest.mark.long
def test_attention_is_learnt_within_6_percent():
    """On pages of known attention it is known after 8,000 lists, and regret is less than half of ignoring it."""
    n, attention, found = 24, 1.0 / np.arange(1, 5), {}
    table = np.random.default_rng(2).beta(1.0, 4.0, (n, 24))
    problem = mb.Problem(mb.PartitionMatroid(np.arange(24) // 6), mb.PositionEnvironment(Worlds(table), attention))

    class Watched(mb.PositionBias):
        def advance(self, state, request):
            super().advance(state, request)
            found.update(zip(request.stream.runs.tolist(), state.extra["attention"].copy(), strict=True))

    policies = {"learnt": Watched(mb.OMM(0.2), n_places=4), "ignored": mb.PositionBias(mb.OMM(0.2), [1.0])}
    result = mb.simulate(problem, policies, n_episodes=8000, n_runs=n, seed=0, start="explore")
    errors = np.abs(np.stack([found[run] for run in range(n)]) - attention)
    assert (errors.mean(axis=0) < 0.06).all()
    assert 2.0 * result["learnt"].regret[-1] < result["ignored"].regret[-1]


def test_a_reset_item_keeps_the_attention():
    agent, _, _ = played(mb.PositionBias(mb.OMM(), n_places=3), n_lists=150)
    state, before = agent.state, agent.state.extra["attention"].copy()
    state.restart(np.array([2]))
    assert (state.extra["attention"] == before).all()
    assert not state.extra["shown_at"][:, 2].any()
    assert state.is_unseen[:, 2].all()
    state.restart(None)
    assert (state.extra["attention"] == 1.0).all()


def test_places_below_the_last_share_its_attention():
    agent = Agent(mb.UniformMatroid(4, 4), mb.PositionBias(mb.OMM(), [1.0, 0.5]))
    request = mb.Request(1, mb.Stream(0, [0]))
    play = agent.play(request, *agent.choose(request), places=np.arange(4))
    agent.learn(play, np.zeros((1, 4)))
    assert agent.state.extra["shown_at"][0].tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]


def test_it_begins_from_the_plays_of_another_policy():
    policy = mb.PositionBias(mb.OMM(0.5), ATTENTION)
    learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM(0.5), seed=0)
    learner.observe([1.0, 0.0, 0.5])
    before = learner.estimates()
    learner.configure(policy=policy)
    assert learner.estimates().means == pytest.approx(before.means)
    assert learner.estimates().indices == pytest.approx(before.indices)


def test_priors_count_as_plays_at_the_top():
    plain, wrapped = (
        mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), policy, seed=0, priors={"a": (0.5, 4), "c": (0.25, 8)})
        for policy in (mb.OMM(0.5), mb.PositionBias(mb.OMM(0.5)))
    )
    for learner in (plain, wrapped):
        learner.observe([1.0, 0.0, 0.5])
    assert wrapped.estimates().means == pytest.approx(plain.estimates().means)
    assert wrapped.estimates().indices == pytest.approx(plain.estimates().indices)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mb.PositionBias(mb.MOSS()), "expected base to be an OMM, a KLOSM or a ThompsonSampling, got MOSS"),
        (lambda: mb.PositionBias(mb.PositionBias(mb.OMM())), "expected base to be an OMM"),
        (lambda: mb.PositionBias(mb.OMM), "expected base to be a Policy"),
        (lambda: mb.PositionBias(mb.OMM(), [0.5, 1.0]), "1 first and all above 0"),
        (lambda: mb.PositionBias(mb.OMM(), [1.0, 0.0]), "1 first and all above 0"),
        (lambda: mb.PositionBias(mb.OMM(), "fast"), "1 first and all above 0"),
        (lambda: mb.PositionBias(mb.OMM(), n_places=0), "expected n_places"),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(PolicyError, match=words):
        make()


def test_impossible_files_are_refused():
    agent, _, _ = played(mb.PositionBias(mb.OMM(), n_places=3))
    policy, extra = mb.PositionBias(mb.OMM(), n_places=3), agent.state.extra
    policy.check_extra(agent.state)
    for name, value in (("clicks_at", 1000.0), ("shown_at", 0.5), ("attention", 2.0), ("clicks_at", np.nan)):
        before = extra[name].copy()
        extra[name][0, 0] = value
        with pytest.raises(PolicyError):
            policy.check_extra(agent.state)
        extra[name][:] = before
