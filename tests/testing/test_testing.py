"""The checks must pass what is right and catch what is not."""

import re

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ContractError, PolicyError
from matroid_bandits.kernels import compiling
from matroid_bandits.testing import PolicySuite, check_environment, check_matroid, check_policy
from samples import MATROIDS, WORLDS


@pytest.mark.parametrize("matroid", MATROIDS.values(), ids=MATROIDS)
def test_every_family_passes(matroid):
    check_matroid(matroid, n_trials=20)


def test_large_matroids_are_sampled():
    check_matroid(mb.GraphicMatroid([(i, (i * 7 + 1) % 12) for i in range(30)]), n_trials=20)


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        (lambda X: len(X) > 0, "the empty set is not independent"),
        (lambda X: len(X) != 1, r"\{0, 1\} is independent, but its subset \{1\} is not"),
        (lambda X: not {0, 1} <= X and not {1, 2} <= X, r"augmentation fails: \{0, 2\} and \{1\}"),
    ],
)
def test_broken_axioms_are_named(predicate, message):
    with pytest.raises(ContractError, match=message):
        check_matroid(mb.OracleMatroid(4, predicate))


def test_broken_axioms_are_found_among_many_items():
    def stable_in_a_path(X):  # stable sets of a path are hereditary but do not augment
        return not any(e + 1 in X for e in X)

    for n_items in (13, 20, 40):
        with pytest.raises(ContractError, match=r"augmentation fails: \{.+\} and \{.+\} are independent"):
            check_matroid(mb.OracleMatroid(n_items, stable_in_a_path))


def two_pairs(X):  # {0, 1} and {2, 3}, no other pair of these four; all other items are free
    few = X & {0, 1, 2, 3}
    return len(few) <= 1 or few in ({0, 1}, {2, 3})


@pytest.mark.parametrize("n_items", range(13, 31))
@pytest.mark.parametrize(
    "predicate",
    [
        two_pairs,
        lambda X: two_pairs(frozenset(e - 9 for e in X)),
        lambda X: len(X) <= 5 and two_pairs(X),  # all bases have 5 items
    ],
    ids=["first", "last", "truncated"],
)
def test_bases_that_cannot_be_exchanged_are_found(predicate, n_items):
    with pytest.raises(ContractError, match=r"augmentation fails: \{.+\} and \{.+\} are independent") as caught:
        check_matroid(mb.OracleMatroid(n_items, predicate))
    large, small = (set(map(int, part.split(","))) for part in re.findall(r"\{(.+?)\}", str(caught.value))[:2])
    assert len(large) > len(small)
    assert predicate(frozenset(large))
    assert predicate(frozenset(small))
    assert not any(predicate(frozenset(small | {e})) for e in large - small)


@pytest.mark.parametrize("n_items", [13, 30])
def test_sets_whose_subsets_are_dependent_are_found(n_items):
    with pytest.raises(ContractError, match=r"\{.+\} is independent, but its subset \{.+\} is not"):
        check_matroid(mb.OracleMatroid(n_items, lambda X: not {0, 1} <= X or len(X) >= 5))
    with pytest.raises(ContractError, match=r"\{.+\} is independent, but its subset \{.+\} is not"):
        check_matroid(mb.OracleMatroid(n_items, lambda X: len(X) != 2 or sum(X) % 3 > 0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "expected a Matroid, got None"),
        (len, r"expected a Matroid, got .* \(OracleMatroid makes a matroid of a predicate\)"),
        (mb.UniformMatroid, r"expected a Matroid, got .* \(the class; an instance is needed\)"),
    ],
)
def test_only_matroids_are_checked(given, message):
    with pytest.raises(ContractError, match=message):
        check_matroid(given)


class Undecided:
    def __bool__(self):
        raise TypeError("neither")


@pytest.mark.parametrize("n_items", [4, 15])
def test_predicates_must_say_yes_or_no(n_items):
    for answer, given in (
        (np.ones(2, bool), r"an array of shape \(2,\)"),
        (np.ones(1), r"an array of shape \(1,\)"),
        (Undecided(), "Undecided"),
    ):
        with pytest.raises(ContractError, match=rf"expected is_independent\(.*\) to be true or false, got {given}"):
            check_matroid(mb.OracleMatroid(n_items, lambda X, answer=answer: answer if X else True))
    check_matroid(mb.OracleMatroid(n_items, lambda X: np.bool_(len(X) < 3)), n_trials=5)
    check_matroid(mb.OracleMatroid(n_items, lambda X: int(len(X) < 3)), n_trials=5)


class WrongClosure(mb.UniformMatroid):
    def span(self, independent):
        return np.zeros(self.n_items, bool)


class WrongGreedy(mb.UniformMatroid):
    def best_sets(self, weights, *, available=None, pinned=None):
        return super().best_sets(-weights, available=available, pinned=pinned)


class WrongCircuit(mb.UniformMatroid):
    def replaceable(self, basis, item):
        return basis[1:]


class WrongRank(mb.UniformMatroid):
    def find_rank(self):
        return 3


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (WrongClosure, "closure"),
        (WrongGreedy, "max_weight_basis"),
        (WrongCircuit, "circuit"),
        (WrongRank, "rank is 3, but is_independent implies 2"),
    ],
)
def test_disagreeing_answers_are_named(family, message):
    with pytest.raises(ContractError, match=message):
        check_matroid(family(5, 2))


# Policies


FEATURES = np.column_stack([np.ones(9), np.linspace(-1.0, 1.0, 9)])
BUILT_IN = [
    mb.OMM(),
    mb.OMM(scale=0.0),
    mb.KLOSM(),
    mb.KLOSM(c=3.0),
    mb.MOSS(),
    mb.KLUCBPlusPlus(),
    mb.CLSG(),
    mb.SingleSeedThompson(),
    mb.EpsilonGreedy(0.4),
    mb.UniformRandom(),
    mb.ThompsonSampling(),
    mb.ThompsonSampling("normal", noise=0.5),
    mb.CombLinUCB(FEATURES),
    mb.CombLinTS(FEATURES),
    mb.FixedSet([0]),
    mb.SoftMinimum(),
    mb.SoftMinimum(deviation=0.5),
    mb.CLUCB(0.1),
    mb.ExposureFloors(mb.ThompsonSampling("normal"), {0: 0.3}),
    mb.Steady(mb.ThompsonSampling("normal"), 0.3),
]


@pytest.mark.parametrize("policy", BUILT_IN, ids=repr)
def test_every_policy_passes(policy):
    check_policy(policy)


@pytest.mark.parametrize("n_items", [1, 2])
def test_policies_pass_on_few_items(n_items):
    for policy in (*BUILT_IN[:12], mb.FixedSet([0])):
        check_policy(policy, n_items=n_items, n_episodes=4)


class Recent(mb.Policy):
    """A sound policy with an array of its own."""

    support = (-2.0, 5.0)
    samples = True

    memory = (mb.Memory("recent", initial=np.nan),)

    def indices(self, state, request):
        recent = state.extra["recent"]
        return np.where(np.isnan(recent), np.inf, recent) + request.stream.uniform(
            request.episode, np.arange(state.n_items)
        )

    def observe(self, state, feedback):
        weights = -feedback.gains if state.minimize else feedback.gains
        assert -2.0 <= weights.min() <= weights.max() <= 5.0
        state.extra["recent"][feedback.runs, feedback.items] = feedback.gains


def test_a_users_own_policy_passes():
    check_policy(Recent())


def broken(indices=None, **others):
    """A policy with one method replaced."""
    methods = {"indices": indices or (lambda self, state, request: state.means.copy())}
    return type("Broken", (mb.Policy,), methods | others)()


def changes_means(self, state, request):
    state.means += 1.0
    return state.means.copy()


def keeps_a_note(self, state, request):
    state.extra["note"] = state.means.copy()
    return state.means.copy()


def counts_calls(self, state, request):
    self.calls = getattr(self, "calls", 0) + 1
    return state.means + self.calls


def draws_from_a_global_generator(self, state, request):
    return np.random.default_rng().random(state.counts.shape)


def numbers_runs_by_row(self, state, request):
    return state.means + np.arange(state.n_runs)[:, None]


def centres_over_runs(self, state, request):
    return state.means - state.means.mean(axis=0)


def divides_by_counts(self, state, request):
    with np.errstate(invalid="ignore"):
        return state.sums / state.counts


def forgets_infinity(self, state, request):
    with np.errstate(invalid="ignore"):
        return state.means + np.log(request.episode) * state.radii


def shares_an_array(self, state, request):
    state.extra["total"] = np.zeros(3)


def keeps_a_list(self, state, request):
    state.extra["total"] = [0.0] * state.n_runs


def keeps_another(self, state, request):
    state.extra["other"] = np.zeros(state.counts.shape)


def counts_waiting_twice(self, state, plays):
    state.waiting[plays.runs, plays.items] += 1


def says_how_many(self, state, request):
    return state.n_items


def adds_up_all_runs(self, state, feedback):
    state.extra["sum"] += feedback.gains.sum()


def resets_counts(self, state, feedback):
    state.counts[:] = 0


def rounds_weights(self, state, feedback):
    np.multiply(feedback.gains, 0.5, out=feedback.gains)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"indices": lambda self, state, request: state.means[0]}, r"of shape \(4, 9\), a row per run, got \(9,\)"),
        ({"indices": lambda self, state, request: state.means.tolist()}, "an array of floats, got list"),
        ({"indices": lambda self, state, request: state.counts.copy()}, "an array of floats, got one of int64"),
        ({"indices": lambda self, state, request: None}, "an array of floats, got NoneType"),
        (
            {"indices": lambda self, state, request: np.where(state.counts > 0, np.nan, 0.0)},
            r"got NaN for item \d, in episode 2",
        ),
        (
            {"indices": changes_means},
            "expected indices to leave the state as it is; it changed state.means in episode 1",
        ),
        (
            {"indices": keeps_a_note},
            "to hold what memory declares, got 'note', which it does not",
        ),
        (
            {"indices": counts_calls},
            r"a function of \(state, request\), got .* and then .* for item \d in episode \d",
        ),
        ({"indices": draws_from_a_global_generator}, r"expected indices to be a function of \(state, request\)"),
        ({"indices": numbers_runs_by_row}, "run 1 change with the runs beside it: expected 0.25 .* got 1.25"),
        ({"indices": centres_over_runs}, "indices of run 0 change with the runs beside it"),
        (
            {"memory": (mb.Memory("total", "run"),), "advance": shares_an_array},
            r"expected state.extra\['total'\] to be an array of shape \(4,\) of float64, .*; got shape \(3,\)",
        ),
        ({"memory": (mb.Memory("total"),), "advance": keeps_a_list}, "as memory declares it; got list"),
        (
            {"advance": keeps_another},
            "to hold what memory declares, got 'other', which it does not",
        ),
        (
            {"memory": (mb.Memory("sum", "run", shape=(1,)),), "observe": adds_up_all_runs},
            r"state.extra\['sum'\] of run 0 changes with the runs beside it, in episode 1",
        ),
        ({"observe": resets_counts}, "expected observe to leave the state as it is; it changed state.counts"),
        ({"wait": counts_waiting_twice}, "expected wait to leave the state as it is; it changed state.waiting"),
        ({"advance": says_how_many}, r"expected advance to return \(runs, items\) or None, got int"),
        ({"observe": rounds_weights}, "expected observe to leave the feedback it is given"),
    ],
)
def test_broken_policies_are_caught(methods, message):
    with pytest.raises(ContractError, match=message):
        check_policy(broken(**methods))


@pytest.mark.parametrize("indices", [divides_by_counts, forgets_infinity])
def test_items_never_seen_are_treated_as_an_engine_would(indices):
    check_policy(broken(indices))


class Remembers(mb.Policy):
    """Sums of its own, as a user would write them."""

    memory = (mb.Memory("sums"),)

    def indices(self, state, request):
        return state.extra["sums"].copy()

    def observe(self, state, feedback):
        state.extra["sums"][feedback.runs, feedback.items] += feedback.gains


class Contrary(Remembers):
    """The mistake of taking gains for costs."""

    def observe(self, state, feedback):
        sign = -1.0 if state.minimize else 1.0
        state.extra["sums"][feedback.runs, feedback.items] += sign * feedback.gains


def test_a_policy_goes_by_gains_in_both_directions():
    check_policy(Remembers())
    with pytest.raises(
        ContractError, match=r"expected indices to go by gains alone: item .* the same gains are costs"
    ):
        check_policy(Contrary())
    network = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)])
    costs = mb.Problem(network, mb.ExponentialEnvironment([2.0, 5.0, 3.0, 9.0, 4.0]), minimize=True)
    result = mb.simulate(costs, {"sums": Discounted(), "OMM": mb.OMM()}, n_episodes=1000, n_runs=10, seed=0)
    assert result.regret[0, -1] < 10 * result.regret[1, -1]


class Discounted(mb.Policy):
    """Discounted sums, which learnt the worst basis while `observe` was given raw costs."""

    memory = (mb.Memory("sums"), mb.Memory("plays"))

    def indices(self, state, request):
        plays = np.maximum(state.extra["plays"], 1e-9)
        return state.extra["sums"] / plays + 0.3 / np.sqrt(plays)

    def advance(self, state, request):
        state.extra["sums"] *= 0.99
        state.extra["plays"] *= 0.99

    def observe(self, state, feedback):
        state.extra["sums"][feedback.runs, feedback.items] += feedback.gains
        state.extra["plays"][feedback.runs, feedback.items] += 1.0


class Falling(mb.AffinePolicy):
    def coefficient(self, state, request):
        return 1.0 / request.episode


class Ageing(mb.AffinePolicy):
    """Lines of its own that shrink in every episode, which it keeps to itself."""

    memory = (mb.Memory("a"), mb.Memory("b", initial=np.inf))

    def coefficient(self, state, request):
        return 0.5

    def lines(self, state):
        return state.extra["a"], state.extra["b"]

    def advance(self, state, request):
        state.extra["a"] *= 0.9

    def observe(self, state, feedback):
        cells = feedback.runs, feedback.items
        state.extra["a"][cells], state.extra["b"][cells] = state.means[cells], state.radii[cells]


class Named(Ageing):
    """The same, and says so."""

    def advance(self, state, request):
        super().advance(state, request)
        return np.nonzero(state.counts)


def test_lines_that_age_in_secret_are_noticed():
    with pytest.raises(ContractError, match="expected advance to leave the lines of other items, since engines"):
        check_policy(Ageing())
    check_policy(Named())


class Scratch(mb.Policy):
    """Keeps an array of its run's that is as long as there are items, which belongs to none of them."""

    memory = (mb.Memory("recent", "run", shape=(9,)), mb.Memory("n", "run", np.int64))

    def indices(self, state, request):
        return state.means + state.extra["recent"].sum(axis=1, keepdims=True)

    def observe(self, state, feedback):
        for run, gain in zip(feedback.runs, feedback.gains, strict=True):
            n = state.extra["n"][run] % 9
            state.extra["recent"][run, n] = gain
            state.extra["n"][run] += 1


def test_an_array_as_long_as_the_items_is_as_declared():
    check_policy(Scratch())


class Remembering(mb.Policy):
    """Keeps what it worked out for a constraint where every other constraint finds it."""

    def prepare(self, constraint):
        self.bonus = np.arange(constraint.n_items) * (-1.0) ** constraint.rank

    def indices(self, state, request):
        return state.means + self.bonus


class Handed(mb.Policy):
    """Is handed it back."""

    def prepare(self, constraint):
        return np.arange(constraint.n_items) * (-1.0) ** constraint.rank

    def indices(self, state, request):
        return state.means + state.prepared


def test_what_is_worked_out_for_a_constraint_is_not_kept_by_the_policy():
    check_policy(Handed())
    for promise in ("test_two_constraints_interleaved", "test_the_policy_stays_as_it_was_made"):
        suite = PolicySuite()
        suite.policy = Remembering()
        with pytest.raises(ContractError, match="prepare returns"):
            getattr(suite, promise)()


class TestRestartingWindow(PolicySuite):
    """A test for each promise, as pytest finds them."""

    policy = mb.Restarting(mb.SlidingWindowOMM(5, 0.5), mb.CUSUM(n_first=2, tolerance=0.05, threshold=0.5))


class Knows(mb.Policy):
    """Goes by the true weights of nine items, whatever was seen."""

    tries_unseen = False

    def indices(self, state, request):
        sign = -1.0 if state.minimize else 1.0
        return np.tile(sign * np.arange(9.0), (state.n_runs, 1))


def test_a_clairvoyant_policy_says_that_it_is_one():
    with pytest.raises(mb.exceptions.ContractError):
        mb.testing.check_policy(Knows())
    Knows.is_clairvoyant = True
    mb.testing.check_policy(Knows())
    assert mb.PolicyWrapper(Knows()).is_clairvoyant


def test_a_coefficient_that_falls_is_named():
    with pytest.raises(ContractError, match=r"expected coefficient never to fall, got 0\.5 after 1\.0 in episode 2"):
        check_policy(Falling())


def only_maximises(self, state, request):
    if state.minimize:
        raise NotImplementedError("costs")
    return state.means.copy()


def test_errors_of_a_policy_come_through():
    with pytest.raises(NotImplementedError, match="costs"):
        check_policy(broken(only_maximises))
    with pytest.raises(PolicyError, match="expected features for 9 items, got 3 rows"):
        check_policy(mb.CombLinTS(np.eye(3)))
    with pytest.raises(ContractError, match=r"expected a Policy, got .*an instance is needed"):
        check_policy(mb.OMM)
    with pytest.raises(ContractError, match="expected a Policy, got 'OMM'"):
        check_policy("OMM")


# Environments


N_DRAWS = 200 if compiling._chosen_tier() == "interpreted" else 20_000


@pytest.mark.parametrize("name", WORLDS)
def test_every_environment_passes(name):
    check_environment(WORLDS[name][0], n_draws=N_DRAWS)


def test_environments_at_the_edge_pass():
    check_environment(mb.BernoulliEnvironment([]))
    check_environment(mb.BernoulliEnvironment([0.0, 1.0, 1e-6]), n_draws=N_DRAWS)
    check_environment(mb.GaussianEnvironment([1e9, 0.0], noise=0.0), n_draws=100)
    check_environment(mb.ExponentialEnvironment(np.full(100, 1e6)), n_draws=100)


class Fair(mb.Environment):
    """A sound environment: fair coins."""

    def __init__(self, means=(0.5,) * 6, support=(0.0, 1.0)):
        super().__init__(means, support)

    def draw(self, stream, t, items):
        return np.round(stream.uniform(t, items))


def test_a_users_own_environment_passes():
    check_environment(Fair(), n_draws=200)


def coins(draw):
    """Fair coins drawn in another way."""
    return type("Broken", (Fair,), {"draw": draw})()


def changing_means(values):
    world = Fair()
    object.__setattr__(world, "_mean_weights", values)
    return world


class Drifting(Fair):
    @property
    def mean_weights(self):
        self._calls = getattr(self, "_calls", 0) + 1
        means = np.full(6, 0.5 / self._calls)
        means.flags.writeable = False
        return means


class Reversed(Fair):
    support = (1.0, 0.0)


class Miscounted(Fair):
    n_items = 7


def sorts_items(self, stream, t, items):
    items.sort(axis=-1)
    return np.round(stream.uniform(t, items))


def by_place(self, stream, t, items):
    return np.round(stream.uniform(t, np.arange(items.shape[-1])))


def by_row(self, stream, t, items):
    return np.round(mb.Stream(stream.seed, range(stream.n_runs)).uniform(t, items))


def same_in_all_episodes(self, stream, t, items):
    return np.round(stream.uniform(0, items))


def unaddressed(self, stream, t, items):
    return np.random.default_rng().integers(0, 2, (stream.n_runs, items.shape[-1])).astype(float)


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (
            coins(lambda self, stream, t, items: np.zeros(items.shape)),
            r"shape \(6, 6\) .* got shape \(6,\)",
        ),
        (coins(lambda self, stream, t, items: [[0.0]]), "of float64 for items of shape .*, got list"),
        (
            coins(lambda self, stream, t, items: stream.uniform(t, items) < 0.5),
            r"expected weights of shape \(6, 6\) of float64 .* of bool",
        ),
        (
            coins(lambda self, stream, t, items: np.full((stream.n_runs, items.shape[-1]), np.nan)),
            r"expected finite weights within support \[0, 1\], got nan for item 0",
        ),
        (
            coins(lambda self, stream, t, items: 2.0 * stream.uniform(t, items)),
            r"expected finite weights within support \[0, 1\], got 1\.\d+ for item",
        ),
        (coins(sorts_items), "expected draw to leave the items it is given"),
        (coins(by_place), r"depend on \(seed, run, t, item\) alone; asked in another order, item \d has"),
        (coins(by_row), r"depend on \(seed, run, t, item\) alone; asked for run 1 alone"),
        (coins(unaddressed), r"depend on \(seed, run, t, item\) alone; asked again"),
        (coins(same_in_all_episodes), "expected weights to be drawn anew in each episode"),
        (
            Fair(means=[0.5, 0.5, 0.2]),
            "weights of item 2 to average to mean_weights, 0.2; got 0.[45].* over 2000 draws",
        ),
        (Fair(means=[0.5, 1.5]), r"expected mean_weights within support \[0, 1\], got 1.5 for item 1"),
        (Reversed(), r"expected support to be a lower and an upper bound, got \(1.0, 0.0\)"),
        (changing_means(np.full(6, 0.5)), "expected mean_weights to be read-only"),
        (changing_means([0.5] * 6), "expected mean_weights to be a row of float64, got list"),
        (changing_means(np.full((2, 3), 0.5)), r"expected mean_weights to be a row of float64, got shape \(2, 3\)"),
        (Drifting(), "expected mean_weights to be constant"),
        (Miscounted(), "expected n_items to be 6, the number of mean_weights; got 7"),
        ("coins", "expected an Environment, got 'coins'"),
    ],
)
def test_broken_environments_are_caught(world, message):
    with pytest.raises(ContractError, match=message):
        check_environment(world, n_draws=2_000)


def test_draws_that_are_not_declared_are_noticed():
    class Secret(mb.Policy):
        def indices(self, state, request):
            return state.means + request.stream.uniform(request.episode, np.arange(state.n_items))

    class Open(Secret):
        samples = True

    with pytest.raises(ContractError, match="do not depend on random numbers unless samples = True"):
        mb.testing.check_policy(Secret())
    mb.testing.check_policy(Open())
