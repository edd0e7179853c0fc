"""The loop of every episode: the policy gives indices, an engine finds the set, feedback updates the state.

Simulations, live learners, tests and benchmarks all go through `Agent.decide` and `Agent.learn`; the
order of an episode's steps is written here alone.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import Engine, EngineChoice, make_engine
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels.rows import first_other
from matroid_bandits.policies import (
    Detector,
    Feedback,
    Plays,
    Policy,
    Request,
    State,
    check_memory,
    evaluate,
    is_ours,
)


class Play:
    """The sets that an agent chose in one episode, and which of their weights are still unknown.

    Attributes
    ----------
    request : Request
        What was asked.
    items : int64 array (R, K)
        The chosen items of each run, ascending: the first ``sizes[run]`` of its row.
    sizes : int64 array (R,)
        How many items each run has chosen.
    told : bool array (n,), or None
        Which of the choices, in the order of `cells`, were answered or closed; None for none of them.
    features : float64 array (n, d), or None
        The features that the choices had in the request, in the order of `cells`.
    kept : float64 array (n, m), or None
        What `Policy.keep` gave for the choices, in the order of `cells`; None where it was not asked.
    places : int64 array (n,), or None
        The place in its list, 0 for the top, at which each choice was shown, in the order of `cells`; None where no
        order was made.
    note : object
        What the caller keeps beside the play while it is open; None by default.
    is_counted : bool
        Whether the policy learns from it; False of a play that is only kept open.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.agent import Agent
    >>> agent = Agent(mb.UniformMatroid(4, 2), mb.OMM(), n_runs=2)
    >>> runs, items = agent.decide(mb.Request(1, mb.Stream(seed=0, runs=range(2)))).cells()
    >>> runs.tolist(), items.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """

    __slots__ = ("features", "is_counted", "items", "kept", "note", "places", "request", "sizes", "told")

    def __init__(
        self,
        request: Request,
        items: IntArray,
        sizes: IntArray,
        told: BoolArray | None = None,
        features: FloatArray | None = None,
        note: Any = None,
        is_counted: bool = True,
        kept: FloatArray | None = None,
        places: IntArray | None = None,
    ) -> None:
        self.request, self.items, self.sizes, self.told, self.features = request, items, sizes, told, features
        self.note, self.is_counted, self.kept, self.places = note, is_counted, kept, places

    def cells(self, positions: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """Return the run and the item of every choice, run by run, or of the choices at the given positions."""
        n_runs, width = self.items.shape
        if n_runs == 1:  # a single row is as wide as its set
            runs, items = _runs(1, width), self.items[0]
        elif first_other.call(self.sizes, width) < 0:
            runs, items = _runs(n_runs, width), self.items.reshape(-1)
        else:
            is_chosen = np.arange(width) < self.sizes[:, None]
            runs, items = np.repeat(np.arange(n_runs), self.sizes), self.items[is_chosen]
        return (runs, items) if positions is None else (runs[positions], items[positions])

    def in_rows(self, values: AnyArray, fill: Any) -> AnyArray:
        """Return a value for each choice (n,), in the order of `cells`, as rows (R, W), `fill` where a set has
        ended."""
        if values.size == self.items.size:
            return values.reshape(self.items.shape)
        rows = np.full(self.items.shape, fill, values.dtype)
        rows[np.arange(self.items.shape[1]) < self.sizes[:, None]] = values
        return rows

    def untold(self) -> IntArray:
        """Return the positions of the choices without feedback."""
        n = int(self.sizes.sum())
        return np.arange(n) if self.told is None else np.flatnonzero(~self.told)

    def renamed(self, items: IntArray) -> Play:
        """Return the same play with renumbered items."""
        return Play(
            self.request, items, self.sizes, self.told, self.features, self.note, self.is_counted, self.kept,
            self.places,
        )  # fmt: skip

    def waiting(self) -> Plays:
        """Return the choices without feedback whose items still exist."""
        if self.told is None and self.items.shape[0] == 1 and self.items.min(initial=0) >= 0:  # nearly always
            return Plays(*self.cells(), self.request.episode, self.features, self.places)
        positions = self.untold()
        return self.plays(positions[self.cells(positions)[1] >= 0])

    def plays(self, positions: IntArray) -> Plays:
        """Return the choices at the given positions as a policy is told of them."""
        features = None if self.features is None else self.features[positions]
        places = None if self.places is None else self.places[positions]
        return Plays(*self.cells(positions), self.request.episode, features, places)


class Agent:
    """A policy playing under a constraint in a batch of runs, the paper's Algorithm 2.

    Parameters
    ----------
    constraint : Constraint
        Which sets may be chosen.
    policy : Policy
        How to choose.
    n_runs : int, default 1
        The number of independent runs R that advance together.
    minimize : bool, default False
        Weights are costs. They are negated here and nowhere else: a policy sees gains.
    engine : str or class, default "auto"
        The algorithm that finds decisions; all engines make the same ones.
    waits : bool, default True
        Whether answers may be late. Where every play is answered before the next decision, False saves the
        bookkeeping and changes nothing else.
    episode : int, default 0
        The last episode that has passed.

    Attributes
    ----------
    state : State
        What has been seen.
    open : dict of int to Play
        The plays that are not yet answered in full, by episode.

    Raises
    ------
    PolicyError
        The policy or the engine does not fit the constraint, or weights are gains where they must be costs.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.agent import Agent
    >>> agent, stream = Agent(mb.UniformMatroid(3, 1), mb.OMM(), n_runs=2), mb.Stream(seed=0, runs=range(2))
    >>> play = agent.decide(mb.Request(1, stream))
    >>> play.items
    array([[0],
           [0]])
    >>> agent.learn(play, np.array([[1.0], [0.0]]))
    >>> agent.state.counts
    array([[1, 0, 0],
           [1, 0, 0]])
    """

    def __init__(
        self,
        constraint: Constraint,
        policy: Policy,
        *,
        n_runs: int = 1,
        minimize: bool = False,
        engine: EngineChoice = "auto",
        waits: bool = True,
        episode: int = 0,
    ) -> None:
        if constraint.cost_reason and not minimize:
            raise PolicyError(f"expected weights that are costs: {constraint.cost_reason}")
        if constraint.gain_reason and minimize:
            raise PolicyError(f"expected weights that are gains: {constraint.gain_reason}")
        self._policy, self._waits, self._engine_choice = policy, waits, engine
        self.state = State(constraint, n_runs, minimize, policy, episode)
        self._engine = make_engine(engine, constraint, policy, self.state)
        self.open: dict[int, Play] = {}
        if waits:
            self.state.pending = self._waiting
        #: The play that was made last, while it is not yet counted as pending; see `settle`.
        self.fresh: Play | None = None
        # where a policy does not listen, or takes everything, nothing can fail after the state has changed
        self._can_fail = type(policy).observe is not Policy.observe and not policy.takes_all
        # the memory of a class from outside the package is checked after every answer
        self._is_watched = bool(self.state.memory) and not is_ours(type(policy))
        #: Whether the policy may refuse an answer; none of this package does.
        self.may_refuse = self._can_fail and not all(map(_is_ours, (policy, *vars(policy).values())))
        # while others wait, such a policy is told of every play that they wait beside
        self._hears = type(policy).wait is not Policy.wait
        # what does nothing is not called
        self._advances = type(policy).advance is not Policy.advance
        self._observes = type(policy).observe is not Policy.observe
        self._refreshes = type(self._engine).refresh is not Engine.refresh
        #: Whether the policy leaves everything to the state: nothing ages, is kept, heard or observed.
        self.counts_alone = not (self._advances or policy.n_kept or self._hears or self._observes)

    def rows(self, rows: slice | IntArray) -> Agent:
        """Return some of the runs as an agent; needs no pending plays; see `State.rows`."""
        part = copy.copy(self)
        part.state = self.state.rows(rows)
        part._engine = make_engine(self._engine_choice, self.state.constraint, self._policy, part.state)
        return part

    def decide(self, request: Request) -> Play:
        """Choose a set in every run, and advance to the next episode."""
        return self.play(request, *self.choose(request))

    def choose(self, request: Request) -> tuple[IntArray, IntArray]:
        """Return the sets that the policy would choose, and their sizes, without advancing."""
        if self.fresh is not None:
            self.settle()
        return self._engine.decide(request)

    def order(self, request: Request, items: IntArray, sizes: IntArray, worst_first: bool = False) -> IntArray:
        """Return the place (n,) of every choice, in the order of `Play.cells`, in the list that it is shown in.

        Called between `choose` and `play`. Lists descend by index; of equal indices the smaller item comes first.
        Pinned items come before all others, in the request's order. A policy that samples draws what it has drawn for
        the decision; one that chooses sets (`Policy.sets`) orders them by the indices that it reports, for ESCB the
        weights under which its set is the best.

        Parameters
        ----------
        request : Request
            What was asked.
        items, sizes : int64 array (R, W), int64 array (R,)
            The sets to be shown, as `choose` returns them; others can be ordered as well.
        worst_first : bool, default False
            Reverse the list behind the pinned items.
        """
        if self.fresh is not None:
            self.settle()
        runs, chosen = Play(request, _fitted(items, sizes), sizes).cells()
        rank = -evaluate(self._policy, self.state, request)[runs, chosen]
        by_index = np.lexsort((chosen, rank))  # stable in what follows
        if worst_first:
            by_index = by_index[::-1]
        turn = np.full(self.state.n_items, self.state.n_items)
        if request.pinned is not None:
            turn[request.pinned] = np.arange(request.pinned.size)
        order = by_index[np.lexsort((turn[chosen[by_index]], runs[by_index]))]
        places = np.empty(chosen.size, np.int64)
        places[order] = np.arange(chosen.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return places

    def play(
        self,
        request: Request,
        items: IntArray,
        sizes: IntArray,
        is_own: bool = True,
        places: IntArray | None = None,
    ) -> Play:
        """Advance one episode in which the given sets are played, whether the policy chose them or not.

        They are shown as lists where `places` (n,) are given, in the order of `Play.cells`; see `order`.
        """
        if self.fresh is not None:
            self.settle()
        play = Play(request, _fitted(items, sizes), sizes, places=places)
        if request.features is not None:
            play.features = _rows(request.features, *play.cells())
        self.state.episode = request.episode
        if self._advances:
            moved = self._policy.advance(self.state, request)
            if moved is not None:
                self._engine.refresh(*moved)
        if self._policy.n_kept and is_own:
            play.kept = self._kept(request, *play.cells())
        if self._waits and items.size:  # a play without items has nothing to wait for
            self.open[request.episode] = self.fresh = play
        return play

    def learn(self, play: Play, weights: FloatArray, positions: IntArray | None = None) -> None:
        """Update the state with the observed weights of chosen items.

        Parameters
        ----------
        play : Play
            The decision that is answered.
        weights : float64 array (R, K), or (n,) where rows differ in size or `positions` are given
            A weight for each choice, in the order of `Play.cells`.
        positions : int64 array (n,), optional
            Which of the choices are answered; the others may be answered later. Each is answered once.
        """
        is_fresh = positions is None and play is self.fresh and not (self._hears and self.state.n_waiting.any())
        if not is_fresh and self.fresh is not None:
            self.settle()
        was_waiting = self._waits and not is_fresh and play.request.episode in self.open
        if self._observes or not self._waits:
            feedback = self._answers(play, weights, positions)
            cells = feedback.runs, feedback.items
            self._count(feedback, was_waiting)
        else:
            cells = play.cells(positions)
            self.state.count(*cells, self._gains(weights), was_waiting)
        if self._waits:
            self._tick_off(play, positions)
        if self._refreshes:
            self._engine.refresh(*cells)

    def close(self, plays: Iterable[tuple[Play, IntArray]], were_unseen: bool = False) -> None:
        """Stop waiting for feedback on the choices at the given positions of some plays.

        Choices that `were_unseen`, in a place of a list that was not looked at, leave no trace but in `State.asked`:
        an item that was never seen stays so. Others count as lost.
        """
        self.settle()
        dropped = []
        for play, positions in plays:
            self._tick_off(play, positions)
            dropped.append(play.plays(positions))
        if not dropped:
            return
        runs, items = (np.concatenate(arrays) for arrays in zip(*(each[:2] for each in dropped), strict=True))
        self.state.drop(runs, items, were_unseen)
        self._policy.drop(self.state, dropped)
        self._engine.refresh(runs, items)

    def observe(self, request: Request, items: IntArray, weights: FloatArray) -> None:
        """Update the state with weights observed without a decision, such as the paper's w_0 in episode 0.

        Parameters
        ----------
        request : Request
            Its episode, stream and features are told to the policy.
        items : int64 array (R, k)
            Distinct items for each run.
        weights : float64 array (R, k)
            Their weights.
        """
        self.settle()
        feedback = self._looks(request, items, weights)
        self._count(feedback, was_waiting=False)
        self._engine.refresh(feedback.runs, feedback.items)

    def set_priors(self, items: IntArray, means: FloatArray, counts: FloatArray) -> None:
        """Set priors: `items` count as played `counts` (n,) times with mean gain `means` (n,), in every run."""
        self.state.set_priors(items, means, counts)
        self._policy.rearranged(self.state, items)
        self.refresh(items)

    def check_learn(self, play: Play, weights: FloatArray, positions: IntArray | None = None) -> None:
        """Raise the error with which the policy would refuse the feedback of `learn`, without learning from it."""
        if self.may_refuse:
            self._rehearse(self._answers(play, weights, positions))

    def check_observe(self, request: Request, items: IntArray, weights: FloatArray) -> None:
        """Raise the error with which the policy would refuse the weights of `observe`, without learning from them."""
        if self.may_refuse:
            self._rehearse(self._looks(request, items, weights))

    def settle(self) -> None:
        """Count the last play as pending, unless its feedback came at once.

        Called before anything else happens, so that no result depends on when it was.
        """
        play, self.fresh = self.fresh, None
        if play is None:
            return
        cells = play.cells()  # a play that came last has been told nothing, and its items are here
        self.state.wait(*cells)
        if self._hears:
            self._policy.wait(self.state, Plays(*cells, play.request.episode, play.features, play.places))
        if self._refreshes:
            self._engine.refresh(*cells)

    @property
    def engine(self) -> Engine:
        """The algorithm that finds the sets."""
        return self._engine

    def _tick_off(self, play: Play, positions: IntArray | None) -> None:
        """Take note that the choices at some positions, or all of them, need no more waiting for."""
        if positions is not None:
            told = np.zeros(int(play.sizes.sum()), bool) if play.told is None else play.told.copy()
            told[positions] = True
            if not told.all():
                play.told = told
                return
        self.open.pop(play.request.episode, None)
        if play is self.fresh:
            self.fresh = None

    def keep_apart(self, play: Play) -> None:
        """Leave the last play open without counting it, so that nothing is learnt from it."""
        play.is_counted, self.fresh = False, None

    def dismiss(self, play: Play, positions: IntArray) -> None:
        """Stop waiting for choices that are not counted in the state."""
        self.settle()
        self._tick_off(play, positions)

    def refresh(self, items: IntArray) -> None:
        """Tell the engine which items' state was changed outside the agent."""
        runs = np.repeat(np.arange(self.state.n_runs), items.size)
        self._engine.refresh(runs, np.tile(items, self.state.n_runs))

    def renew(self) -> None:
        """Make the policy recount all pending plays, after items or plays were rearranged."""
        self._policy.rearranged(self.state, np.empty(0, np.int64))

    def _waiting(self) -> Iterator[Plays]:
        return (play.waiting() for play in self.open.values() if play.is_counted)

    def _answers(self, play: Play, weights: FloatArray, positions: IntArray | None) -> Feedback:
        """What the policy is told of a play, or of the choices at some positions."""
        request, features, kept, places = play.request, play.features, play.kept, play.places
        if positions is not None:
            features = None if features is None else features[positions]
            kept = None if kept is None else kept[positions]
            places = None if places is None else places[positions]
        cells = play.cells(positions)
        if kept is None and self._policy.n_kept:
            kept = self.nothing_kept(cells[1].size)
        return Feedback(
            *cells, self._gains(weights), request.episode, request.stream, features, is_early=False, kept=kept,
            places=places,
        )  # fmt: skip

    def nothing_kept(self, n: int) -> FloatArray:
        """Return the stored numbers of n choices that the policy did not make."""
        return np.zeros((n, self._policy.n_kept))

    def _kept(self, request: Request, runs: IntArray, items: IntArray) -> FloatArray:
        """What `Policy.keep` gives, checked, since it is stored."""
        kept, shape = self._policy.keep(self.state, request, runs, items), (items.size, self._policy.n_kept)
        is_array = isinstance(kept, np.ndarray) and kept.dtype == np.float64 and kept.shape == shape
        if not is_array or not np.isfinite(kept).all():
            who = f"{type(self._policy).__name__}.keep"
            raise PolicyError(f"expected {who} to return finite float64 of shape {shape}, got {kept!r}")
        return kept

    def _gains(self, weights: FloatArray) -> FloatArray:
        gains = weights if weights.ndim == 1 else weights.reshape(-1)
        return -gains if self.state.minimize else gains

    def _looks(self, request: Request, items: IntArray, weights: FloatArray) -> Feedback:
        """What the policy is told of items that were seen without a decision."""
        cells = _runs(*items.shape), items.reshape(-1)
        gains = self._gains(weights)
        features = None if request.features is None else _rows(request.features, *cells)
        kept = self.nothing_kept(cells[1].size) if self._policy.n_kept else None
        return Feedback(*cells, gains, request.episode, request.stream, features, is_early=True, kept=kept)

    def _rehearse(self, feedback: Feedback) -> None:
        """Let a copy of the state take an answer, for what the policy raises."""
        trial = copy.copy(self)
        shared = self, self.state.constraint, self.state.prepared
        trial.state = copy.deepcopy(self.state, {id(part): part for part in shared})
        trial._count(feedback, was_waiting=False)

    def _count(self, feedback: Feedback, was_waiting: bool) -> None:
        """Count an answer, but only when the policy can take it."""
        remembered = self.state.remember(feedback) if self._can_fail else None
        if self._waits:
            self.state.answer(feedback, was_waiting)
        else:
            self.state.absorb(feedback)
        if remembered is None:
            if self._observes:
                self._observe(feedback)
            return
        try:
            self._observe(feedback)
        except BaseException:
            self.state.revert(feedback, remembered)
            raise

    def _observe(self, feedback: Feedback) -> None:
        self._policy.observe(self.state, feedback)
        if self._is_watched:
            check_memory(self.state, self._policy)


def _is_ours(part: Any) -> bool:
    """Whether a policy, or what it is made of, is of this package, or has no part in learning."""
    if not isinstance(part, (Policy, Detector)):
        return True
    return str(type(part).observe.__module__).startswith("matroid_bandits.")  # None where code was executed as text


@lru_cache(maxsize=64)
def _runs(n_runs: int, width: int) -> IntArray:
    """The run of every cell of a full batch, row by row."""
    return frozen(np.repeat(np.arange(n_runs), width))


def _fitted(items: IntArray, sizes: IntArray) -> IntArray:
    """Sets whose single row is as wide as its set."""
    return items[:, : sizes[0]] if items.shape[0] == 1 and items.shape[1] != sizes[0] else items


def _rows(features: FloatArray, runs: IntArray, items: IntArray) -> FloatArray:
    """The features of some choices, of a request's (L, d) or (R, L, d)."""
    rows: FloatArray = features[items] if features.ndim == 2 else features[runs, items]
    return rows
