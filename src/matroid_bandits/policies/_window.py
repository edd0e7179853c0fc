"""OMM over the last episodes alone, for weights that change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits._util.checks import as_integer, as_number
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import forms, statistics
from matroid_bandits.kernels import window as kernels
from matroid_bandits.policies._base import AffinePolicy
from matroid_bandits.policies._memory import NOW, Memory
from matroid_bandits.policies._request import Feedback, Plays, Request
from matroid_bandits.policies._state import State

_TOTALS = ("counts", "waiting", "lost", "sums")
_RING = ("episodes", "codes", "values")
_NONE = np.empty((0, 0))


class SlidingWindowOMM(AffinePolicy):
    r"""OMM on the last `window` episodes alone, for drifting weights: SW-UCB for semi-bandits.

    Plays and gains are counted over the last w episodes, and the index is
    :math:`\hat w_e + c_t / \sqrt{T_e}` with :math:`c_t = \mathrm{scale} \sqrt{2 \log \min(t - 1, w)}` (SW-UCB of
    Garivier and Moulines, 2008; for sets Chen, Wang, Zhao and Zheng, UAI 2021). An item that was not played in the
    window counts as never seen and is tried first.

    A play leaves after w episodes, answered or not, and an answer that comes later is dropped. An item whose answers
    have left while newer plays of it wait keeps the mean it had until it is asked for again.

    Parameters
    ----------
    window : int
        Length of the window in episodes, the w above: well above L / K for L items and sets of K, otherwise the
        policy explores forever, and below the time between changes; 100 L / K to a fifth of that time is a good
        range.
    scale : float, default 1.0
        The radius is ``scale`` times the paper's, which is far too wide inside a window: take about the standard
        deviation of a weight, 0.2 to 0.3 for weights in [0, 1].

    Notes
    -----
    An episode changes at most two sets' items, whatever the window: those chosen now and those chosen w episodes ago.
    Where the window has no end in sight, decisions are those of `OMM`, bit for bit.

    Sums are added up anew every w episodes. An item has at most w plays in the window, so that at most 2 w additions
    and subtractions lie between, each of numbers of at most w times the largest gain: a sum is never off by more than
    :math:`2^{-52} w^2` times the largest gain.

    On problems with five changes in 50,000 episodes (Bernoulli weights, dynamic regret) ``window=2000, scale=0.25``
    had 5,505 where OMM had 9,049 (partition, 24 items in 4 blocks), 5,511 where OMM had 13,864 (uniform, 6 of 30)
    and 8,278 where OMM had 14,641 (uniform, 10 of 100).

    A prior counts like plays made when its item came, so it leaves the window after w episodes.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.SlidingWindowOMM(2000, scale=0.25)
    SlidingWindowOMM(window=2000, scale=0.25)
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.SlidingWindowOMM(2))
    >>> for weight in (1.0, 0.0, 0.0):
    ...     learner.tell(learner.ask(), [weight])
    >>> learner.estimates().means  # the first play has left the window, and "a" was played again since
    array([0., 0.])
    """

    memory = (
        Memory("ids", dtype=np.int64, initial=-1),
        *(Memory(name, dtype=np.int64) for name in ("order", "counts", "waiting", "lost", "first_counts")),
        *(Memory(name) for name in ("sums", "means", "first_sums", "priors")),
        Memory("came_at", dtype=np.int64, initial=NOW),  # old files have -1 for the last episode that has passed
        Memory("radii", initial=np.inf),
        Memory("n_ids", "run", np.int64),
        Memory("episodes", "growing", np.int64, (1,)),
        Memory("codes", "growing", np.int64, (1, 1)),
        Memory("values", "growing", shape=(1, 1)),
    )

    forgets = True
    tunable = ("scale",)

    def __init__(self, window: int, scale: float = 1.0) -> None:
        self._window = as_integer("window", window, 1, 2**47, error=PolicyError)
        self._scale = as_number("scale", scale, 0.0, 1e100, error=PolicyError)

    @property
    def window(self) -> int:
        """Length of the window, in episodes."""
        return self._window

    @property
    def scale(self) -> float:
        """Factor of the confidence radius, relative to the paper's."""
        return self._scale

    def coefficient(self, state: State, request: Request) -> float:
        """Return ``scale * sqrt(2 log(min(t - 1, window)))`` for episode t, and 0 for episode 1."""
        return self._scale * math.sqrt(2.0 * math.log(max(min(request.episode - 1, self._window), 1)))

    def lines(self, state: State) -> tuple[FloatArray, FloatArray]:
        return state.extra["means"], state.extra["radii"]

    def compiled(self) -> forms.PolicyForm | None:
        form = super().compiled()
        return None if form is None else form._replace(kind=forms.WINDOW, window=self._window)

    def beliefs(self, state: State) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return the means over the window, NaN for items without feedback in it, and the plays in the window."""
        n, waiting, lost = (state.extra[name] for name in ("counts", "waiting", "lost"))
        priors = state.extra["priors"]
        means = np.where((n > 0) | (priors > 0.0), state.extra["means"], np.nan)
        return means, n, np.where((n > 0) | (priors > 0.0), n + waiting + priors, waiting + lost)

    def advance(self, state: State, request: Request) -> tuple[IntArray, IntArray] | None:
        """Remove the plays of the oldest episode from the window."""
        t, extra = request.episode, state.extra
        self._name(state)
        if extra["episodes"].shape[1] < self._window:
            self._lengthen(state, t)
        row = t % extra["episodes"].shape[1]
        extra["episodes"][:, row] = t
        is_over = state.has_priors and self._drop_priors(state, t)
        if t < self._window:  # nothing leaves, and sums stay as they were added up
            return None
        if t % self._window == 0 or is_over:
            extra["codes"][:, row] = 0
            extra["first_counts"][:], extra["first_sums"][:] = 0, 0.0
            return self._recount(state)
        return self._leave(state, row)

    def observe(self, state: State, feedback: Feedback) -> None:
        """Count feedback on plays inside the window, and discard the rest."""
        runs, items, gains = feedback[:3]
        self._name(state)
        if feedback.is_early:
            for counts, sums in (("counts", "sums"), ("first_counts", "first_sums")):
                state.extra[counts][runs, items] += 1
                state.extra[sums][runs, items] += gains
            self._update(state, runs, items)
        else:
            self._enter(state, runs, items, gains, kernels.ANSWERED, feedback.episode)

    def wait(self, state: State, plays: Plays) -> None:
        """Count pending plays; an item without feedback in the window gets the mean of all gains so far."""
        runs, items = plays.runs, plays.items
        is_new = state.extra["counts"][runs, items] == 0
        if is_new.any():
            state.extra["means"][runs[is_new], items[is_new]] = state.typical_gain[runs[is_new]]
        self._enter(state, runs, items, np.zeros(runs.size), kernels.WAITING, plays.episode)

    def drop(self, state: State, dropped: Sequence[Plays]) -> None:
        """Mark pending plays as closed without feedback."""
        for plays in dropped:
            none = np.zeros(plays.runs.size)
            self._enter(state, plays.runs, plays.items, none, kernels.LOST, plays.episode)

    def rearranged(self, state: State, newcomers: IntArray) -> None:
        """Recompute the window's statistics for the current items and plays."""
        extra = state.extra
        self._name(state, anew=True)
        kernels.close_all(*(extra[name] for name in ("ids", "order", "codes", "values")))
        for plays in state.pending() if state.pending is not None else ():
            row = self._row(state, plays.episode)
            if row >= 0:
                kernels.reopen(plays.runs, plays.items, row, extra["ids"], extra["codes"], extra["values"])
        sums = extra["sums"].copy()
        is_full = extra["episodes"].max(initial=0) >= self._window
        if is_full:  # also for items that were away when the first plays left
            extra["first_counts"][:], extra["first_sums"][:] = 0, 0.0
        self._take_priors(state)
        self._recount(state, None if is_full else sums)

    def begin(self, state: State) -> None:
        raise PolicyError(f"{self!r} cannot start from plays and gains, since it must know when each was")

    def forget(self, state: State, runs: IntArray, items: IntArray) -> None:
        """Remove the answered plays of some items from the window."""
        extra = state.extra
        self._name(state)
        kernels.disown(runs, items, extra["ids"], extra["codes"])
        for name in ("counts", "lost", "sums", "first_counts", "first_sums", "priors"):
            extra[name][runs, items] = 0
        extra["means"][runs, items] = state.means[runs, items]  # of the plays that wait, as the state has it
        self._update(state, runs, items)

    def check_extra(self, state: State) -> None:
        extra = state.extra
        codes, values, episodes, order = (extra[name] for name in ("codes", "values", "episodes", "order"))
        whole = ("counts", "waiting", "lost", "first_counts", "n_ids")
        fits = (
            codes.shape == values.shape
            and codes.shape[:2] == episodes.shape
            and 1 <= episodes.shape[1] <= self._window
            and codes.shape[2] >= 1
            and not np.isinf(values).any()
            and all(np.isfinite(extra[name]).all() for name in ("sums", "means", "first_sums", "priors"))
            and all((extra[name] >= 0).all() for name in whole)
            and ((order >= 0) & (order < max(state.n_items, 1))).all()
            and (extra["ids"] < np.maximum(extra["n_ids"], 0)[:, None]).all()
            and ((codes >= -(2**62)) & (codes <= 2**62)).all()
        )
        if fits:  # the totals are those of the plays
            alone = State(state.constraint, state.n_runs, state.minimize)
            alone.extra = extra | {name: extra[name].copy() for name in (*_TOTALS, "means", "radii")}
            self._recount(alone)
            fits = all(np.array_equal(alone.extra[name], extra[name]) for name in ("counts", "waiting", "lost"))
        if not fits:
            raise PolicyError(f"expected the plays of the last {self._window} episodes, got arrays that do not fit")

    def _name(self, state: State, anew: bool = False) -> None:
        """Give a number of its own to every item that has none: to all at first, to newcomers when items changed."""
        ids, order, n_ids = (state.extra[name] for name in ("ids", "order", "n_ids"))
        if not anew and n_ids.all():
            return
        for run in range(state.n_runs):
            newcomers = np.flatnonzero(ids[run] < 0)
            ids[run, newcomers] = n_ids[run] + np.arange(newcomers.size)
            n_ids[run] += newcomers.size
        order[:] = np.argsort(ids, axis=1)

    def _lengthen(self, state: State, t: int) -> None:
        """Make room for an episode where its row is still in use: twice as many rows, up to the window's."""
        episodes, codes, values = (state.extra[name] for name in _RING)
        n_runs, n_rows, width = codes.shape
        if not episodes.size or episodes[0, t % n_rows] <= max(t - self._window, 0):
            return
        n_more = min(2 * n_rows, self._window)
        is_used = episodes[0] > 0
        rows = episodes[0, is_used] % n_more
        for name, old, shape in zip(_RING, (episodes, codes, values), ((), (width,), (width,)), strict=True):
            state.extra[name] = room = np.zeros((n_runs, n_more, *shape), old.dtype)
            room[:, rows] = old[:, is_used]

    def _row(self, state: State, episode: int) -> int:
        """The ring's row of an episode, -1 when it has left the window."""
        episodes = state.extra["episodes"]
        row = episode % episodes.shape[1]
        return row if episodes.size and episodes[0, row] == episode else -1

    def _enter(
        self, state: State, runs: IntArray, items: IntArray, gains: FloatArray, kind: int, episode: int
    ) -> None:
        """Write plays of an episode into the ring, unless they have left it."""
        row = self._row(state, episode)
        if row < 0:
            return
        ids, totals, done = state.extra["ids"], self._totals(state), 0
        while True:
            codes, values = state.extra["codes"], state.extra["values"]
            done = kernels.enter(runs, items, gains, kind, row, ids, codes, values, *totals, done)
            if done == items.size:
                break
            for name in ("codes", "values"):  # twice as wide
                state.extra[name] = np.concatenate([state.extra[name], np.zeros_like(state.extra[name])], axis=2)
        self._update(state, runs, items)

    def _leave(self, state: State, row: int) -> tuple[IntArray, IntArray]:
        """Let the plays of a row leave the window; returns whose they were."""
        extra, (n_runs, _, width) = state.extra, state.extra["codes"].shape
        runs, items = np.empty((2, n_runs * width), np.int64)
        n = kernels.leave(
            row, extra["ids"], extra["order"], extra["codes"], extra["values"], *self._totals(state), runs, items
        )
        self._update(state, runs[:n], items[:n])
        return runs[:n], items[:n]

    def _take_priors(self, state: State) -> None:
        """Count the priors of items that have come within the window."""
        if state.has_priors:
            now, came_at = state.extra["episodes"].max(axis=1, keepdims=True), state.extra["came_at"]
            is_in = (came_at < 0) | (came_at > now - self._window)
            state.extra["priors"][:] = np.where(is_in, state.prior_counts, 0.0)

    def _drop_priors(self, state: State, t: int) -> bool:
        """Let the priors of items that came before the window leave it; returns whether there were any."""
        came_at, priors = state.extra["came_at"], state.extra["priors"]
        came_at[came_at < 0] = t - 1
        is_over = (came_at <= t - self._window) & (priors > 0.0)
        priors[is_over] = 0.0
        return bool(is_over.any())

    def _recount(self, state: State, sums: FloatArray | None = None) -> tuple[IntArray, IntArray]:
        """Add up anew what is in the window, or only count it where its `sums` are known; returns all items."""
        extra = state.extra
        rows = np.argsort(extra["episodes"][0], kind="stable") if state.n_runs else np.empty(0, np.int64)
        names = ("ids", "order", "codes", "values", "first_counts", "first_sums")
        kernels.recount(rows, *(extra[name] for name in names), *self._totals(state))
        if sums is not None:
            extra["sums"][:] = sums
        runs = np.repeat(np.arange(state.n_runs), state.n_items)
        items = np.tile(np.arange(state.n_items), state.n_runs)
        self._update(state, runs, items)
        return runs, items

    def _totals(self, state: State) -> list[AnyArray]:
        return [state.extra[name] for name in _TOTALS]

    def _update(self, state: State, runs: IntArray, items: IntArray) -> None:
        """Bring the lines of some items up to date with the totals."""
        extra = state.extra
        priors = (state.prior_means, extra["priors"]) if state.has_priors else (_NONE, _NONE)
        statistics.update_lines(runs, items, *self._totals(state), *priors, extra["means"], extra["radii"])
