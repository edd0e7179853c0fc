"""Arguments of every kernel, taken from a day's work of the package, which is played interpreted."""

import importlib
import pkgutil
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import matroid_bandits as mb
import samples
from episode_cases import DELAYS, FAMILIES, POLICIES, WORLDS
from matroid_bandits import compiled, kernels
from matroid_bandits.agent import Agent
from matroid_bandits.compiled import Misfit, Settings, Slice, _kernels, _ready
from matroid_bandits.engines import CountClassesEngine, KineticEngine, WarmEngine
from matroid_bandits.exceptions import MatroidBanditsError, PolicyError
from matroid_bandits.kernels import episodes, statistics, uplift
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.kernels.compiling import Kernel

#: Of each kernel, these calls are kept.
_KEPT = (1, 2, 3, 7, 40)


def all_kernels():
    """Every kernel of the package, by module and name."""
    found = {}
    for package in (kernels, compiled):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Kernel):
                    found.setdefault(value, f"{value.__module__.removeprefix('matroid_bandits.')}.{name}")
    return {name: kernel for kernel, name in found.items()}


class Copies:
    """Copies of values whose arrays share memory as the originals do."""

    def __init__(self):
        self._stores = {}

    def of(self, value):
        if type(value) is tuple:
            return tuple(map(self.of, value))
        if not isinstance(value, np.ndarray):
            return value
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if id(owner) not in self._stores:
            store = np.empty(owner.nbytes, np.uint8)
            store[:] = np.frombuffer(owner.tobytes("A"), np.uint8)
            self._stores[id(owner)] = store, owner
        store, _ = self._stores[id(owner)]
        offset = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        copy = np.ndarray(value.shape, value.dtype, store, offset if value.size else 0, value.strides)
        copy.flags.writeable = value.flags.writeable
        return copy


@contextmanager
def recorded(among):
    """While this lasts, kernels are interpreted; yields a dictionary of the arguments of their calls."""
    calls, counts = {name: [] for name in among}, dict.fromkeys(among, 0)

    def recorder(name, kernel):
        def call(*arguments):
            counts[name] += 1
            if counts[name] in _KEPT:
                calls[name].append(Copies().of(arguments))
            return kernel.py_func(*arguments)

        return call

    before = {kernel: kernel.call for kernel in among.values()}
    try:
        for name, kernel in among.items():
            kernel.call = recorder(name, kernel)
        with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
            patch.setattr(_ready, "is_interpreted", lambda: True)  # agents play, however long they take
            yield calls
    finally:
        for kernel, call in before.items():
            kernel.call = call


def work():
    """Use everything that has a kernel, on a few items."""
    rng = np.random.default_rng(5)
    n = 14
    coins = {n: WORLDS["bernoulli"](n, rng) for n in (8, n, 60)}
    for name, make in FAMILIES.items():
        problem = mb.Problem(make(n, rng), coins[n])
        for engine in ("greedy", "warm", "kinetic", "threshold"):
            with suppress(PolicyError):  # it does not fit
                mb.simulate(problem, mb.OMM(), n_episodes=8, n_runs=2, seed=1, engine=engine)
        _play_whole(mb.OMM(), problem, n_episodes=40)
        _play_whole(POLICIES["discounted"], problem, n_episodes=40)  # in the large kernel
        if name not in ("large integers", "float vectors"):
            _learn(problem.constraint, mb.ThompsonSampling())
    for policy in POLICIES.values():
        for family in ("partition", "graph"):
            problem = mb.Problem(FAMILIES[family](n, rng), coins[n])
            mb.simulate(problem, policy, n_episodes=12, n_runs=2, seed=1)
            _play_whole(policy, problem)
        with suppress(PolicyError):
            mb.simulate(
                mb.Problem(mb.UniformMatroid(60, 4), coins[60]),
                policy,
                n_episodes=90,
                n_runs=2,
                seed=1,
                engine="classes",
            )
    for policy in samples.POLICIES.values():
        mb.simulate(samples.PROBLEM, policy, n_episodes=12, n_runs=2, seed=1)
        _learn(samples.GRAPH, policy)
    restarting = mb.Restarting(mb.SlidingWindowOMM(7), mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.2))
    mb.simulate(samples.PROBLEM, [mb.ESCB(), restarting], n_episodes=12, n_runs=2, seed=1)
    with pytest.MonkeyPatch.context() as patch:  # what is done for many plays that wait
        patch.setattr(importlib.import_module("matroid_bandits.policies._linear"), "_MANY", 1)
        _learn(samples.GRAPH, mb.CombLinTS(samples.FEATURES))
    for policy in (mb.Hybrid(), mb.ESCB()):
        _learn(mb.PartitionMatroid("aabbbccc", {"a": 1, "b": 2, "c": 1}), policy)
    for make in (make for name, make in WORLDS.items() if name != "extreme"):
        problem = mb.Problem(FAMILIES["partition"](n, rng), make(n, rng))
        mb.simulate(problem, mb.OMM(), n_episodes=6, n_runs=2, seed=1)
        _play_whole(mb.OMM(), problem)
    for make in DELAYS.values():
        for name in ("OMM", "discounted", "window", "beta", "KL", "fading"):
            for family in ("partition", "graph"):
                problem = mb.Problem(FAMILIES[family](n, rng), make(coins[n], rng))
                mb.simulate(problem, POLICIES[name], n_episodes=12, n_runs=2, seed=1)
                _play_whole(POLICIES[name], problem)
    for size in (300, 3000):
        for matroid in (mb.UniformMatroid(size, 30), mb.PartitionMatroid(np.arange(size) % 3, {0: 5, 1: 1, 2: 20})):
            problem = mb.Problem(matroid, mb.GaussianEnvironment(rng.random(size)))
            _play_whole(mb.OMM(), problem, n_episodes=30)
            mb.simulate(problem, mb.OMM(), n_episodes=30, n_runs=1, seed=1)
            _learn(matroid, mb.OMM())
    arcs = [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("b", "c"), ("c", "b"), ("d", "e"), ("c", "e")]
    topics, sellers = mb.PartitionMatroid("aabbccaa"), mb.PartitionMatroid("xyxyxyxz")
    for constraint in (
        mb.ArborescenceConstraint(arcs, "a"),
        mb.PathConstraint(arcs, "a", "e"),
        mb.PathConstraint(arcs, "a", "e", n_paths=2),
        mb.AssignmentConstraint.between("abcd", "xyz", forbidden=[("b", "y")]),
        mb.AssignmentConstraint.between("abcd", "xyz"),
        mb.KnapsackConstraint([3, 5, 2, 4, 1, 6], 8),
        mb.KnapsackConstraint([3, 5, 2, 4, 1, 6], 8, groups="aabbcc", at_most=2),
        mb.QuotaIntersection(topics, sellers),
        mb.MatroidIntersection(samples.GRAPH, sellers),
        mb.MatroidIntersection(samples.GRAPH, mb.LaminarMatroid(8, [(range(6), 3), (range(3), 2)])),
        mb.direct_sum(mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")]), mb.UniformMatroid(3, 1, labels="xyz")),
        *samples.MATROIDS.values(),
    ):
        costs = isinstance(constraint, mb.PathConstraint | mb.ArborescenceConstraint)
        problem = mb.Problem(constraint, mb.BernoulliEnvironment(rng.random(constraint.n_items)), minimize=costs)
        mb.simulate(problem, mb.OMM(), n_episodes=6, n_runs=2, seed=1)
        _learn(constraint, mb.OMM(), costs)
        if isinstance(constraint, mb.Matroid):
            _ask_the_matroid(constraint)
    with pytest.MonkeyPatch.context() as patch:  # engines that pay for many items, with few
        for engine in (KineticEngine, CountClassesEngine):
            patch.setattr(engine, "LEAST_ITEMS", 8)
        patch.setattr(CountClassesEngine, "LEAST_ITERATED", 8)
        patch.setattr(KineticEngine, "WATCHED", 10**6)  # it never rests
        matroid = mb.PartitionMatroid(np.arange(40) % 3, {0: 3, 1: 1, 2: 6})
        problem = mb.Problem(matroid, mb.BernoulliEnvironment(rng.random(40)))
        for policy in (mb.OMM(), mb.MOSS(), mb.KLOSM(), mb.SingleSeedThompson(), mb.CLSG(1.0)):
            _play_whole(policy, problem, n_episodes=60)
            mb.simulate(problem, policy, n_episodes=60, n_runs=2, seed=1)
            _learn(matroid, policy)
        _bar(matroid, rng)
        patch.setattr(_kernels, "MOVES_PER_CLASS", 0)  # what is nearly sorted is sorted anew
        _play_whole(mb.OMM(), mb.Problem(samples.GRAPH, mb.BernoulliEnvironment(samples.TENTHS)))
        patch.setattr(WarmEngine, "MOST_ITEMS", 8)
        graph = mb.GraphicMatroid([*((v, v + 1) for v in range(11)), *rng.integers(0, 12, (30, 2)).tolist()])
        _play_whole(mb.OMM(0.2), mb.Problem(graph, mb.BernoulliEnvironment(rng.random(41))), n_episodes=200)
    problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.8, 0.1, 0.2]))
    for threshold in ("proven", "unproven", "CLUCB"):
        mb.identify(problem, 0.1, threshold=threshold, n_runs=2, seed=1).confidence()
    mb.rounds_bound(mb.Problem(mb.UniformMatroid(4, 2), mb.GaussianEnvironment([1.0, 0.8, 0.1, 0.2])), delta=0.1)
    sequence = mb.evaluation.UpliftSequence(0, 1)
    sequence.trace([1.0, 0.0, 0.5, 0.25], [False, True, False, True], [0.5, 0.1, 0.2, 0.9])
    for is_control in (False, True):  # a share of 0 or 1 leaves an arm without decisions, and is refused above
        shares, state = np.array([0.0, 1.0]), np.zeros(uplift.SIZE)
        uplift.advance(
            state, np.array([0.5, 0.25]), np.array([is_control] * 2), shares, 0.0, 1.0, np.empty((2, uplift.SIZE))
        )
    episodes.radius_of(3)
    close = 1.0 + np.arange(600) % 97 * 2.0**-52
    close[0] = 1e300
    for values in (rng.random(600), close, np.round(rng.random(600), 1), -rng.random(5000), rng.standard_cauchy(200)):
        mb.UniformMatroid(values.size, values.size // 3).max_weight_basis(values)
        np.testing.assert_equal(np.sort(values)[::-1], values[_order(values)])
    for p, q in ((0.5, 0.5001), (0.1, 0.9), (0.0, 0.5)):
        statistics.kl(p, q)


def _learn(constraint, policy, minimize=False):
    """Ask, tell, late, in parts and never, with items that are out and pinned."""
    features = None if policy.n_features is None else np.ones((constraint.n_items, policy.n_features))
    learner = mb.Learner(constraint, policy, seed=1, minimize=minimize, features=features, holdout=0.2)
    labels = constraint.labels
    decision = learner.ask()
    for i in range(9):
        decision = learner.ask(exclude=[[], labels[:1], labels[-1:], decision.labels][i % 4])
        for label in decision.labels[: None if i % 2 else -1]:
            learner.tell(decision, {label: float(i % 3 == 0)})
    learner.close_before(learner.n_decisions + 1)
    learner.estimates()
    best = learner.best_basis().labels
    for label in labels[:6]:
        learner.explain(label)
    learner.ask(), learner.close(learner.ask(), None)
    plain = mb.Learner(constraint, policy, seed=1, minimize=minimize, features=features)
    for _ in range(3):
        decision = plain.ask()
        plain.tell(decision, [0.0] * decision.items.size)
    for more in (
        lambda: learner.preview(pinned=best[:1]),
        lambda: learner.restart(labels[:1]),
        lambda: learner.change(constraint),
        lambda: learner.confidence(deviation=0.5),
    ):
        with suppress(MatroidBanditsError):  # not every policy and constraint has it
            more()


def _bar(matroid, rng):
    """Ask for sets without the last one's best items."""
    agent, own = Agent(matroid, mb.OMM(), engine="kinetic"), mb.Stream(0, range(1))
    agent.observe(mb.Request(0, own), np.arange(matroid.n_items)[None], rng.random((1, matroid.n_items)))
    excluded = np.zeros(0, np.int64)
    for t in range(1, 9):
        play = agent.decide(mb.Request(t, own, excluded=excluded))
        agent.learn(play, rng.random(play.items.shape))
        excluded = play.items[0, :4]


def _ask_the_matroid(matroid):
    basis = matroid.max_weight_basis(np.arange(matroid.n_items) % 3)
    matroid.closure(basis[:1])
    matroid.coloops()
    assert matroid == mb.constraint_from_dict(matroid.to_dict())
    for item in set(range(matroid.n_items)) - set(basis.tolist()):
        matroid.circuit(basis, item)


def _order(values):
    order = np.empty((1, values.size), np.int64)
    order_kernels.argsort_rows(values[None], order)
    return order[0]


def _play_whole(policy, problem, n_episodes=9):
    settings = Settings(problem, n_episodes, 2, 1, "observe", np.array([n_episodes]))
    with suppress(Misfit):
        compiled.play(Slice("it", policy, 0, 2), settings, lambda n: False)
