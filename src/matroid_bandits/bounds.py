"""The paper's theorems as functions: regret bounds, the exchange lemma and the decomposition of regret."""

from __future__ import annotations

import heapq
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_integer
from matroid_bandits.environments import BernoulliEnvironment
from matroid_bandits.exceptions import ItemError, ProblemError
from matroid_bandits.kernels import statistics
from matroid_bandits.matroids import Matroid, PartitionMatroid
from matroid_bandits.problem import Problem


def gap_dependent(problem: Problem, n: ArrayLike, *, scale: float = 1.0) -> FloatArray:
    r"""Theorem 2: return the gap-dependent upper bound on OMM's regret after n episodes.

    .. math:: \sum_{e \notin A^*} \frac{16}{\Delta_{e, K_e}} \log n
              + \sum_{e \notin A^*} \sum_{k=1}^{K_e} \Delta_{e,k} \frac{4}{3} \pi^2.

    Parameters
    ----------
    problem : Problem
        Weights in [0, 1], or in a range of width `scale`.
    n : array_like of int
        Episodes, at least 1.
    scale : float, default 1.0
        The `scale` OMM is played with; the first sum grows with its square.

    Raises
    ------
    ProblemError
        An argument is not what is expected.

    Notes
    -----
    :math:`K_e` counts the optimal items of strictly better mean, also those that e could not replace; an item as
    good as all of them has :math:`K_e = 0` and adds nothing.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> float(mb.bounds.gap_dependent(mb.lower_bound_problem(4, 2, gap=0.25), 1000).round(1))
    897.4
    """
    _check_holds(problem)
    episodes, scale = _check_episodes(n), _check_scale(scale)
    low, high = problem.environment.support
    if not high - low <= scale * (1.0 + 1e-12):  # a sum of two bounds may be rounded
        raise ProblemError(
            f"expected weights in a range of width {scale:g}, the scale that OMM is played with; got weights in "
            f"[{low:g}, {high:g}]"
        )
    gains, K_e = problem.gains, problem.n_better()
    is_worse = K_e > 0
    best = gains[problem.optimal_order]
    own, K_e = gains[problem.suboptimal_items][is_worse], K_e[is_worse]
    least = best[K_e - 1] - own
    all_gaps = np.concatenate([[0.0], np.cumsum(best)])[K_e] - K_e * own
    slope = 16.0 * scale**2 * (1.0 / least).sum()
    bound: FloatArray = slope * np.log(episodes) + all_gaps.sum() * 4.0 / 3.0 * np.pi**2
    return bound


def gap_free(n_items: int, rank: int, n: ArrayLike, *, scale: float = 1.0) -> FloatArray:
    r"""Theorem 3: return the gap-free bound :math:`8 \sqrt{K L n \log n} + \frac{4}{3} \pi^2 K L` on OMM's regret.

    For weights in a range of width `scale` it is `scale` times that.

    Raises
    ------
    ProblemError
        An argument is not what is expected.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> float(mb.bounds.gap_free(4, 2, 1000).round(1))
    1985.9
    """
    try:
        L, K = operator.index(n_items), operator.index(rank)
    except TypeError:
        raise ProblemError(f"expected n_items and rank to be integers, got {n_items!r} and {rank!r}") from None
    if not 0 <= K <= L < 2**53:
        raise ProblemError(f"expected 0 <= rank <= n_items < 2**53, got rank {rank} of {n_items} items")
    episodes, scale = _check_episodes(n), _check_scale(scale)
    K_L = float(K) * float(L)
    bound: FloatArray = scale * (8.0 * np.sqrt(K_L * episodes * np.log(episodes)) + 4.0 / 3.0 * np.pi**2 * K_L)
    return bound


def lower_bound(problem: Problem, form: Literal["paper", "kl"] = "paper") -> float:
    r"""Return the lower bound on :math:`\liminf R(n) / \log n` of any consistent policy: Theorem 4, or its KL form.

    Parameters
    ----------
    problem : Problem
        With independent Bernoulli weights.
    form : "paper" or "kl", default "paper"
        "paper": Theorem 4, :math:`(L - K) / (4 \Delta)`, for a `lower_bound_problem`. "kl": the sharper
        :math:`\sum_e \Delta_e / \mathrm{kl}(\bar w_e, \bar w_{\sigma(e)})` over suboptimal items, where
        :math:`\sigma(e)` is the worst optimal item that e could replace (Talebi and Proutiere, AAMAS 2016); it
        holds on any matroid with a unique optimal basis, and policies that reach it are known.

    Raises
    ------
    ProblemError
        The bound does not apply to the problem.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.lower_bound_problem(10, 2, gap=0.1)
    >>> round(mb.bounds.lower_bound(problem), 1), round(mb.bounds.lower_bound(problem, "kl"), 1)
    (20.0, 39.7)
    """
    _check_holds(problem)
    if not isinstance(problem.environment, BernoulliEnvironment):
        raise ProblemError(f"expected Bernoulli weights, got {problem.environment!r}")
    if form == "kl":
        return _kl_lower_bound(problem)
    if form != "paper":
        raise ProblemError(f'expected form to be "paper" or "kl", got {form!r}')
    means = problem.environment.mean_weights
    others = np.unique(means[problem.suboptimal_items])
    is_partition = isinstance(problem.constraint, PartitionMatroid) and set(
        problem.constraint.capacities.values()
    ) <= {1}
    is_gapped = others.size == 0 or (others.size == 1 and others[0] < 0.5)
    if problem.minimize or not is_partition or not is_gapped or not (means[problem.optimal_basis] == 0.5).all():
        raise ProblemError(
            "expected the partition bandit of Theorem 4, as made by lower_bound_problem: blocks of capacity 1, "
            'one item of mean 0.5 in each and all others equally worse; for other Bernoulli problems use form="kl"'
        )
    return float(problem.suboptimal_items.size / (4.0 * (0.5 - others[0]))) if others.size else 0.0


def least_gaps(problem: Problem) -> FloatArray:
    r"""Return :math:`\Delta_{e,\min}` (L,): the gap between the optimal set and the best set with item e.

    NaN for items of the optimal set, infinite for items that no set has. Works for every constraint: it is what
    forcing an item into the set would cost.

    Raises
    ------
    ProblemError
        The constraint cannot say what is best with an item, as paths in graphs with cycles cannot.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> pairs = mb.AssignmentConstraint.between("ab", "xy")
    >>> mb.bounds.least_gaps(mb.Problem(pairs, mb.BernoulliEnvironment([0.75, 0.5, 0.5, 0.5])))
    array([ nan, 0.25, 0.25,  nan])
    """
    _check_problem(problem)
    constraint, gains, best = problem.constraint, problem.gains, problem.optimal_basis
    gaps = np.full(problem.n_items, np.nan)
    for e in problem.suboptimal_items.tolist():
        other = constraint.force(gains.copy(), e, True)
        if other is None:
            raise ProblemError(
                f"expected a constraint whose best sets with a given item can be found; got {constraint!r}, where "
                "that is NP-hard"
            )
        is_set = e in other and (not constraint.fills_up or other.size == best.size)
        gaps[e] = gains[best].sum() - gains[other].sum() if is_set else np.inf
    return gaps


def comb_ucb1(problem: Problem, n: ArrayLike, *, is_gap_free: bool = False) -> FloatArray:
    r"""Return the upper bound on CombUCB1's regret after n episodes, for any constraint and weights in [0, 1].

    .. math:: \sum_{e \notin A^*} \frac{534 K}{\Delta_{e,\min}} \log n + \left(\frac{\pi^2}{3} + 1\right) K L

    or, free of gaps, :math:`47 \sqrt{K L n \log n} + (\pi^2 / 3 + 1) K L` (Kveton, Wen, Ashkan and Szepesvari,
    AISTATS 2015, Theorems 5 and 6), where K is the size of the largest set. CombUCB1 is ``OMM(scale=0.75**0.5)``: its
    radius is :math:`\sqrt{1.5 \log(t - 1) / s}`.

    Parameters
    ----------
    problem : Problem
        On any constraint, with one optimal set and weights in [0, 1].
    n : array_like of int
        Episodes, at least 1.
    is_gap_free : bool, default False
        Which of the two.

    Raises
    ------
    ProblemError
        The bound does not hold for the problem.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> pairs = mb.AssignmentConstraint.between("ab", "xy")
    >>> problem = mb.Problem(pairs, mb.BernoulliEnvironment([0.75, 0.5, 0.5, 0.5]))
    >>> [float(mb.bounds.comb_ucb1(problem, 1000, is_gap_free=free).round()) for free in (False, True)]
    [59054.0, 11083.0]
    """
    _check_problem(problem)
    if problem.no_stationary_bounds:
        raise ProblemError(f"expected a problem that bounds on regret hold for: {problem.no_stationary_bounds}")
    episodes = _check_episodes(n)
    low, high = problem.environment.support
    if low < 0.0 or high > 1.0:
        raise ProblemError(f"expected weights in [0, 1], got weights in [{low:g}, {high:g}]")
    K, L = float(problem.rank), float(problem.n_items)
    rest = (np.pi**2 / 3.0 + 1.0) * K * L
    if is_gap_free:
        free: FloatArray = 47.0 * np.sqrt(K * L * episodes * np.log(episodes)) + rest
        return free
    gaps = least_gaps(problem)[problem.suboptimal_items]
    if (gaps <= 0.0).any():
        e = int(problem.suboptimal_items[(gaps <= 0.0).argmax()])
        raise ProblemError(
            f"expected one optimal set, got another that is as good, with {problem.constraint.labels[e]!r}: use "
            "is_gap_free=True"
        )
    bound: FloatArray = 534.0 * K * (1.0 / gaps).sum() * np.log(episodes) + rest
    return bound


def path_lower_bound(n_items: int, n_steps: int, gap: float) -> float:
    r"""Return the lower bound on :math:`\liminf R(n) / \log n` for disjoint paths with perfectly correlated items.

    :math:`K (L - K) / (4 \Delta)` for L items in paths of K, all paths but one worse by :math:`\Delta` in total
    (Kveton et al., AISTATS 2015, Proposition 1): K times what it is on a matroid.

    Raises
    ------
    ProblemError
        An argument is not what is expected.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.bounds.path_lower_bound(20, 4, gap=0.8)
    20.0
    """
    L, K = (
        as_integer(name, value, 1, error=ProblemError) for name, value in (("n_items", n_items), ("n_steps", n_steps))
    )
    if L % K:
        raise ProblemError(f"expected n_items to be paths of {K} items, got {L}")
    if not (isinstance(gap, (int, float, np.integer, np.floating)) and not isinstance(gap, bool) and 0.0 < gap <= K):
        raise ProblemError(f"expected a gap above 0 and at most {K}, got {gap!r}")
    return K * (L - K) / (4.0 * float(gap))


def exchange_bijection(
    matroid: Matroid, optimal_basis: Sequence[Label] | IntArray, basis: Sequence[Label] | IntArray
) -> IntArray:
    r"""Lemma 1: pair each item of a basis with an optimal item that could have been chosen in its place.

    Returns
    -------
    int64 array (K,)
        :math:`\pi`, counting from 0: ``{basis[0], ..., basis[k-1], optimal_basis[pi[k]]}`` is independent for every
        k, and an item of both bases is paired with itself.

    Raises
    ------
    ItemError
        One of the two is not a basis, or has no order.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> triangle = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0)])
    >>> mb.bounds.exchange_bijection(triangle, [0, 1], [2, 0])
    array([1, 0])
    """
    if not isinstance(matroid, Matroid):
        raise ProblemError(f"expected a Matroid, got {type(matroid).__name__}")
    for name, X in (("optimal_basis", optimal_basis), ("basis", basis)):
        if not (isinstance(X, Sequence) or hasattr(X, "__array__")):
            raise ItemError(f"expected {name} to be a sequence of items, as their order matters; got {X!r}")
        if not matroid.is_basis(X):
            raise ItemError(f"expected {name} to be a basis, got {list(X)}")
    best, chosen = (matroid.as_items(X, keep_order=True) for X in (optimal_basis, basis))
    pi = np.empty(best.size, np.int64)
    place = {a: i for i, a in enumerate(best.tolist())}
    # From the last item back: what is left of the optimal basis is independent and larger than the items before,
    # so one of it extends them. It does so until enough of them are there to span it.
    after = matroid.spanned_after(chosen)[best]
    waiting = np.argsort(after, kind="stable").tolist()
    extends: list[int] = []
    taken: set[int] = set()
    for k in range(best.size - 1, -1, -1):
        while waiting and after[waiting[-1]] > k:
            heapq.heappush(extends, waiting.pop())
        while extends[0] in taken:
            heapq.heappop(extends)
        pi[k] = place.get(int(chosen[k]), extends[0])
        taken.add(int(pi[k]))
    return pi


@dataclass(frozen=True)
class Exchange:
    """A chosen item, the optimal item it is paired with, and the gap between their means.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.bounds.Exchange(item=2, instead_of=0, gap=0.25).gap
    0.25
    """

    item: int
    instead_of: int
    gap: float


@dataclass(frozen=True)
class Decomposition:
    """Regret of one basis as a sum of gaps of exchanged items (Theorem 1).

    Attributes
    ----------
    exchanges : tuple of Exchange
        One for each suboptimal item of the basis; gaps may be negative.
    regret : float
        The sum of all gaps: what the basis loses to the optimal one in expectation.
    bound : float
        The sum of the positive gaps, the theorem's upper bound.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.5, 0.9, 0.25]))
    >>> mb.bounds.decompose_regret(problem, [2, 1]).regret
    0.25
    """

    exchanges: tuple[Exchange, ...]
    regret: float
    bound: float


def decompose_regret(problem: Problem, basis: Sequence[Label] | IntArray) -> Decomposition:
    """Theorem 1: decompose the regret of a basis into gaps between chosen items and the optimal items they replace.

    `basis` is a sequence, in the order in which its items were chosen; any order gives a valid decomposition.

    Raises
    ------
    ItemError
        `basis` is not a basis, or has no order.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.5, 0.9, 0.25]))
    >>> mb.bounds.decompose_regret(problem, [2, 1]).exchanges
    (Exchange(item=2, instead_of=0, gap=0.25),)
    """
    _check_problem(problem)
    order = problem.optimal_order
    paired = order[exchange_bijection(_matroid(problem), order, basis)]
    chosen = _matroid(problem).as_items(basis, keep_order=True)
    gaps = problem.gains[paired] - problem.gains[chosen]
    exchanges = tuple(
        Exchange(int(e), int(a), float(gap)) for e, a, gap in zip(chosen, paired, gaps, strict=True) if e != a
    )
    return Decomposition(exchanges, float(gaps.sum()), float(np.maximum(gaps, 0.0).sum()))


def _kl_lower_bound(problem: Problem) -> float:
    means, gains, order = problem.environment.mean_weights, problem.gains, problem.optimal_order
    others = problem.suboptimal_items
    # The worst item that e could replace is the one that completes its span, the best ones coming first.
    after = _matroid(problem).spanned_after(order)[others]
    is_spanned = (after > 0) & (after <= order.size)  # a loop is never chosen
    others, worst = others[is_spanned], order[after[is_spanned] - 1]
    gaps = gains[worst] - gains[others]
    total = 0.0
    for e, a, gap in zip(others.tolist(), worst.tolist(), gaps.tolist(), strict=True):
        if gap > 0.0:
            total += gap / _kl(float(means[e]), float(means[a]))
    return total


def _kl(p: float, q: float) -> float:
    """Divergence of Bernoulli(p) from Bernoulli(q)."""
    return float(statistics.kl(p, q)) if 0.0 < q < 1.0 else np.inf


def _check_problem(problem: Problem) -> None:
    if not isinstance(problem, Problem):
        raise ProblemError(f"expected a Problem, got {type(problem).__name__}")


def _check_holds(problem: Problem) -> None:
    """Raise where the theorems on regret say nothing about the problem."""
    _check_problem(problem)
    if problem.no_bounds:
        raise ProblemError(f"expected a problem that bounds on regret hold for: {problem.no_bounds}")


def _matroid(problem: Problem) -> Matroid:
    """The constraint of a problem, which must be a matroid for the theorem to hold."""
    if not isinstance(problem.constraint, Matroid):
        raise ProblemError(f"expected a problem on a matroid, got {problem.constraint!r}")
    return problem.constraint


def _check_scale(scale: Any) -> float:
    """Check the scale of a confidence radius: a number in [0, 1e100]."""
    is_number = isinstance(scale, (int, float, np.integer, np.floating)) and not isinstance(scale, bool)
    if not is_number or not 0.0 <= scale <= 1e100:
        raise ProblemError(f"expected scale to be a number in [0, 1e100], got {scale!r}")
    return float(scale)


def _check_episodes(n: ArrayLike) -> FloatArray:
    try:
        episodes = np.asarray(n, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"expected numbers of episodes of at least 1, got {n!r}") from None
    if not (episodes >= 1).all():
        raise ProblemError(f"expected numbers of episodes of at least 1, got {episodes.min()}")
    return episodes
