"""What has been seen so far, for a batch of runs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import statistics
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Plays

if TYPE_CHECKING:
    from matroid_bandits.policies._base import Policy


#: The arrays of a state that have a row per run, besides the policy's; some are empty until they are needed.
_BY_RUN = (
    "counts", "waiting", "lost", "sums", "means", "radii", "n_waiting", "prior_means", "prior_counts",
    "_n_forgotten", "_totals",
)  # fmt: skip


class State:
    r"""Sufficient statistics of a policy: plays and gains of every item in every run, arrays of shape (R, L).

    A policy always maximises: sums and means are of *gains*, the weights, or minus the weights when `minimize`. The
    arrays belong to the state, which keeps them consistent; a policy reads them and writes to `extra` alone. One that
    detects changes may also let the state `forget` items.

    Feedback may be late. A pending play narrows the radius at once and updates the mean when its feedback arrives, so
    that exploration continues during delays (hallucinated updates: Desautels, Krause and Burdick, JMLR 2014). An item
    that was chosen and never answered has the mean of all gains known when it was last chosen. Without delays, means
    and radii are the paper's.

    Parameters
    ----------
    constraint : Constraint
        Which sets may be chosen.
    n_runs : int
        The number of runs R.
    minimize : bool, default False
        Whether weights are costs.
    policy : Policy, optional
        The policy whose arrays the state holds.
    episode : int, default 0
        The last episode that has passed.

    Attributes
    ----------
    counts : int64 array (R, L)
        Number of answered plays of each item, the paper's T_e.
    waiting : int64 array (R, L)
        Number of pending plays of each item.
    lost : int64 array (R, L)
        Number of plays of each item that were closed without feedback.
    sums : float64 array (R, L)
        Total gain.
    means : float64 array (R, L)
        Mean gain; 0 for an item that was never chosen.
    radii : float64 array (R, L)
        :math:`1 / \sqrt{n}` of the plays n behind the mean (see `plays`), infinite for an item never asked for that
        has no prior.
    n_waiting : int64 array (R,)
        Number of pending plays of each run.
    episode : int
        The last episode that has passed.
    extra : dict of arrays
        The policy's arrays, by name, as declared by `Policy.memory`.
    prepared : object
        The result of `Policy.prepare` for the constraint; None if the state `is_apart`.
    constraint : Constraint
        The constraint, for policies that need it.
    minimize : bool
        Whether gains are negated costs.
    pending : callable, or None
        Function that returns the pending plays, as an iterable of `Plays`; None without delays.
    is_apart : bool
        Whether the state is of one item that was removed from a learner; its plays are not counted as pending.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=2)
    >>> state.counts.shape, bool(state.is_seen)
    ((2, 3), False)
    """

    def __init__(
        self,
        constraint: Constraint,
        n_runs: int,
        minimize: bool = False,
        policy: Policy | None = None,
        episode: int = 0,
    ) -> None:
        shape = (n_runs, constraint.n_items)
        self.constraint, self.minimize = constraint, minimize
        self.counts: IntArray = np.zeros(shape, np.int64)
        self.waiting: IntArray = np.zeros(shape, np.int64)
        self.lost: IntArray = np.zeros(shape, np.int64)
        self.sums: FloatArray = np.zeros(shape)
        self.means: FloatArray = np.zeros(shape)
        self.radii: FloatArray = np.full(shape, np.inf)
        self.n_waiting: IntArray = np.zeros(n_runs, np.int64)
        self.episode = episode
        self.memory = () if policy is None else tuple(policy.memory)
        names = [each.name for each in self.memory]
        if len({*names}) < len(names):
            again = next(name for name in names if names.count(name) > 1)
            raise PolicyError(
                f"expected arrays of different names in the memory of {type(policy).__name__}, got {again!r} more "
                "than once"
            )
        self.prepared: Any = None if policy is None else policy.prepare(constraint)
        self.extra = {each.name: each.make(n_runs, constraint.n_items, episode) for each in self.memory}
        self.pending: Callable[[], Iterable[Plays]] | None = None
        self.is_apart = False
        self.prior_means: FloatArray = np.zeros((0, 0))
        self.prior_counts: FloatArray = np.zeros((0, 0))
        self._n_forgotten: IntArray = np.zeros((0, 0), np.int64)
        self._totals: FloatArray = np.zeros((n_runs, statistics.N_PARTIALS + 2))  # of all gains, exactly

    @property
    def n_runs(self) -> int:
        """The number of runs R."""
        return int(self.counts.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items L."""
        return int(self.counts.shape[1])

    @property
    def asked(self) -> IntArray:
        """Number of times each item was chosen, with or without feedback, shape (R, L)."""
        asked = self.counts + self.waiting + self.lost
        return asked + self._n_forgotten if self._n_forgotten.size else asked

    @property
    def has_priors(self) -> bool:
        """Whether any item has a prior."""
        return self.prior_counts.size > 0

    @property
    def plays(self) -> AnyArray:
        """Number of plays behind each mean, shape (R, L): answered, pending and prior plays.

        Answered plays and those that wait; every play asked for where none was answered; and what a prior is worth.
        """
        if not self.n_waiting.any() and not self.has_priors and not self.lost.any():
            return self.counts
        plays = np.where(self.counts > 0, self.counts + self.waiting, self.waiting + self.lost).astype(np.float64)
        if self.has_priors:
            plays = np.where(self.prior_counts > 0.0, self.counts + self.waiting + self.prior_counts, plays)
        return plays

    @property
    def is_unseen(self) -> BoolArray:
        """Mask (R, L) of the items that were never chosen and have no prior."""
        return np.isinf(self.radii)

    @property
    def is_seen(self) -> bool:
        """Whether every item has been chosen in every run, or has a prior."""
        return not self.is_unseen.any()

    @property
    def alarms(self) -> tuple[IntArray, IntArray] | None:
        """Number of resets of each item by a change detector, and the episode of the last one (0: none); each (R, L).

        They are the policy's memory called "n_alarms" and "last_alarm"; None for a policy without.
        """
        n, last = self.extra.get("n_alarms"), self.extra.get("last_alarm")
        return None if n is None or last is None else (n, last)

    def repeated(self, n_runs: int) -> State:
        """Return a read-only state of several runs that all equal the single run of this state.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.State(mb.UniformMatroid(3, 1), n_runs=1).repeated(4).counts.shape
        (4, 3)
        """
        other = copy.copy(self)
        for name in _BY_RUN:
            setattr(other, name, np.repeat(getattr(self, name), n_runs, axis=0))
        other.extra = {name: np.repeat(array, n_runs, axis=0) for name, array in self.extra.items()}
        if (pending := self.pending) is not None:
            other.pending = lambda: (_repeated(plays, n_runs) for plays in pending())
        return other

    def absorb(self, feedback: Feedback) -> None:
        """Count feedback of a simulation without delays, where an item has at most one answer for each run."""
        statistics.absorb.call(
            feedback.runs, feedback.items, feedback.gains, self.counts, self.sums, self.means, self.radii
        )

    def answer(self, feedback: Feedback, was_waiting: bool) -> None:
        """Count feedback on plays, pending or not."""
        self.count(feedback.runs, feedback.items, feedback.gains, was_waiting)

    def count(self, runs: IntArray, items: IntArray, gains: FloatArray, was_waiting: bool) -> None:
        """Add the observed gains (n,) of `items` (n,), each in its run (n,), to the statistics."""
        statistics.answer.call(runs, items, gains, was_waiting, *self.answered)
        if self.prior_counts.size:
            statistics.update_lines(runs, items, *self._lines)

    @property
    def answered(self) -> tuple[AnyArray, ...]:
        """The arrays that `count` writes to, as the kernels of answers take them; they stay the same objects."""
        return self.counts, self.waiting, self.sums, self.means, self.radii, self.n_waiting, self._totals

    def wait(self, runs: IntArray, items: IntArray) -> None:
        """Count plays of `items` (n,) in `runs` (n,) as pending."""
        statistics.wait(runs, items, *self._lines, self.n_waiting, self._totals)

    def drop(self, runs: IntArray, items: IntArray, were_unseen: bool = False) -> None:
        """Remove pending plays of `items` (n,) in `runs` (n,), which will get no feedback; see `Agent.close`."""
        statistics.drop(runs, items, *self._lines, self.n_waiting)
        if were_unseen:
            if not self._n_forgotten.size:
                self._n_forgotten = np.zeros(self.counts.shape, np.int64)
            for array, n in ((self.lost, -1), (self._n_forgotten, 1)):
                np.add.at(array, (runs, items), n)
            statistics.update_lines(runs, items, *self._lines)

    def restore_forgotten(self, n_forgotten: IntArray) -> None:
        """Set how many plays of each item (R, L) left no trace but in `asked`."""
        self._n_forgotten = n_forgotten

    def set_priors(self, items: IntArray, means: FloatArray, counts: FloatArray) -> None:
        """Set priors: `items` count as played `counts` (n,) times with mean gain `means` (n,), in every run."""
        if not self.has_priors:
            self.prior_means, self.prior_counts = np.zeros(self.sums.shape), np.zeros(self.sums.shape)
        self.prior_means[:, items], self.prior_counts[:, items] = means, counts
        self.update(items)

    def restart(self, items: IntArray | None) -> None:
        """Reset some items, or all, including their priors and pending plays."""
        if items is None:
            self.restore_totals(0.0, 0, 0)
            for each in self.memory:
                if each.kind == "growing":
                    self.extra[each.name] = each.make(self.n_runs, self.n_items, self.episode)
                elif each.kind == "run":
                    self.extra[each.name][...] = each.value(self.episode)
            items = np.arange(self.n_items)
        self.renew(self.memory, slice(None), items)
        self.n_waiting -= self.waiting[:, items].sum(axis=1)
        for array in (self.counts, self.waiting, self.lost, self.sums):
            array[:, items] = 0
        if self.has_priors:
            self.prior_counts[:, items] = 0.0
        self.update(items)

    def renew(self, memory: Iterable[Memory], runs: IntArray | slice, items: IntArray) -> None:
        """Reset the policy's arrays for `items` (n,), each in its run (n,) or in all runs, to their initial
        values."""
        for each in memory:
            if each.kind == "item":
                self.extra[each.name][runs, items] = each.value(self.episode)

    def forget(self, runs: IntArray, items: IntArray) -> None:
        """Discard the answered plays and the priors of `items` (n,), each in its run (n,), as outdated.

        Plays that wait go on waiting: an item that has some takes the mean of all gains answered so far.
        """
        if not self._n_forgotten.size:
            self._n_forgotten = np.zeros(self.counts.shape, np.int64)
        self._n_forgotten[runs, items] += self.counts[runs, items] + self.lost[runs, items]
        for array in (self.counts, self.lost, self.sums):
            array[runs, items] = 0
        if self.has_priors:
            self.prior_counts[runs, items] = 0.0
        if self.waiting[runs, items].any():
            self.means[runs, items] = self.typical_gain[runs]
        statistics.update_lines(runs, items, *self._lines)

    def take_over(self, other: State) -> None:
        """Copy plays, gains and priors from a state of the same items; the policy's arrays stay unchanged."""
        for name in ("counts", "waiting", "lost", "sums", "means", "n_waiting"):
            getattr(self, name)[:] = getattr(other, name)
        self.prior_means, self.prior_counts = other.prior_means.copy(), other.prior_counts.copy()
        self._n_forgotten = other._n_forgotten.copy()
        self._totals[:] = other._totals
        self.update(np.arange(self.n_items))

    def take_memory(self, other: State) -> None:
        """Copy the policy's arrays from a state of the same items and of a policy with the same declarations."""
        for each in self.memory:
            if each.kind == "growing":
                self.extra[each.name] = other.extra[each.name].copy()
            else:
                self.extra[each.name][:] = other.extra[each.name]

    def restore(self, counts: AnyArray, sums: AnyArray) -> None:
        """Restore saved counts and sums, shape (R, L), and recompute the means and radii."""
        self.counts[:], self.sums[:] = counts, sums
        self.update(np.arange(self.n_items))

    def update(self, items: IntArray) -> None:
        """Recompute the means and radii of some items after their counts or sums were written to."""
        runs = np.repeat(np.arange(self.n_runs), items.size)
        statistics.update_lines(runs, np.tile(items, self.n_runs), *self._lines)

    @property
    def typical_gain(self) -> FloatArray:
        """Mean of all gains observed so far, shape (R,), exact up to one rounding; 0 before any."""
        return np.array([statistics.exact_mean(row) for row in self._totals])

    def remember(self, feedback: Feedback) -> list[AnyArray]:
        """Return what counting some feedback would overwrite, for `revert`."""
        cells = [array[feedback.runs, feedback.items] for array in self._cells]
        return [*cells, self.n_waiting.copy(), self._totals.copy()]

    def revert(self, feedback: Feedback, remembered: Sequence[AnyArray]) -> None:
        """Undo the counting of some feedback."""
        *cells, n_waiting, totals = remembered
        for array, values in zip(self._cells, cells, strict=True):
            array[feedback.runs, feedback.items] = values
        self.n_waiting[:], self._totals[:] = n_waiting, totals

    def rows(self, rows: slice | IntArray) -> State:
        """Return some of the runs as a state: a view for a slice, else a copy; needs no pending plays."""
        part = copy.copy(self)
        for name in _BY_RUN:
            array = getattr(self, name)
            setattr(part, name, array[rows] if len(array) else array)
        part.extra = {name: array[rows] for name, array in self.extra.items()}
        return part

    def totals(self) -> dict[str, AnyArray]:
        """Return the exact total of all observed gains, as arrays to store."""
        n = statistics.N_PARTIALS
        partials, (n_partials, n_answers) = self._totals[:, :n].copy(), self._totals[:, n:].T.astype(np.int64)
        return {"partials": partials, "n_partials": n_partials, "n_answers": n_answers}

    def restore_totals(
        self, partials: AnyArray | float, n_partials: AnyArray | int, n_answers: AnyArray | int
    ) -> None:
        """Restore the totals that `totals` returned."""
        n = statistics.N_PARTIALS
        self._totals[:, :n], self._totals[:, n], self._totals[:, n + 1] = partials, n_partials, n_answers

    @property
    def _cells(self) -> tuple[AnyArray, ...]:
        return self.counts, self.waiting, self.sums, self.means, self.radii

    @property
    def _lines(self) -> tuple[AnyArray, ...]:
        plays = self.counts, self.waiting, self.lost
        return *plays, self.sums, self.prior_means, self.prior_counts, self.means, self.radii


def _repeated(plays: Plays, n_runs: int) -> Plays:
    """Plays of the only run as plays of each of several."""
    runs = np.repeat(np.arange(n_runs), plays.items.size)
    features = None if plays.features is None else np.tile(plays.features, (n_runs, 1))
    return Plays(runs, np.tile(plays.items, n_runs), plays.episode, features)
