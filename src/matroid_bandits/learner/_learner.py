"""A live learner: ask for a set, tell what its items were worth, never lose what was learnt."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, NoReturn

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_flag, as_index
from matroid_bandits.agent import Agent, Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import EngineChoice
from matroid_bandits.exceptions import DecisionClosedError, PolicyError, UnknownDecisionError
from matroid_bandits.learner import _snapshot, _validate
from matroid_bandits.learner._decision import Decision
from matroid_bandits.learner._explanation import Estimates, Explanation
from matroid_bandits.learner._feedback import Reader
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request, as_policy, evaluate
from matroid_bandits.stream import POLICY, Stream, as_seed


class Learner:
    """Learns the best basis of a matroid from what its choices turn out to be worth.

    Parameters
    ----------
    constraint : Constraint
        Which sets may be chosen; a matroid.
    policy : Policy
        How to choose.
    minimize : bool, default False
        Weights are costs.
    seed : int, optional
        For policies that randomise; by default a fresh one.
    engine : str, or class of one's own, default "auto"
        How decisions are found; all engines make the same ones.

    Attributes
    ----------
    MOST_DECISIONS : int
        How many decisions a learner can make, a class attribute.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> ads = mb.PartitionMatroid({"boots": "shoes", "heels": "shoes", "fedora": "hats"})
    >>> learner = mb.Learner(ads, mb.OMM(), seed=0)
    >>> decision = learner.ask()
    >>> decision.labels
    ('boots', 'fedora')
    >>> learner.tell(decision, {"boots": 0.0})  # the rest may come later
    >>> learner.tell(decision.id, {"fedora": 1.0})
    >>> learner.ask().labels
    ('heels', 'fedora')
    """

    #: Episodes beyond this address further looks at items before the first decision.
    MOST_DECISIONS: ClassVar[int] = _validate.MOST_DECISIONS

    def __init__(
        self,
        constraint: Constraint,
        policy: Policy,
        *,
        minimize: bool = False,
        seed: int | None = None,
        engine: EngineChoice = "auto",
    ) -> None:
        if not isinstance(constraint, Constraint):
            raise PolicyError(f"expected a Constraint, such as a Matroid; got {type(constraint).__name__}")
        self._constraint, self._policy = constraint, as_policy(policy)
        is_cost = as_flag("minimize", minimize, error=PolicyError)
        self._stream = Stream(as_seed(seed), range(1), POLICY)
        self._agent = Agent(constraint, policy, minimize=is_cost, engine=engine)
        self._reader = Reader(constraint, policy)
        self._episode = 0
        self._open: dict[int, tuple[Play, BoolArray | None]] = {}  # with which of the items were told

    @property
    def constraint(self) -> Constraint:
        """Which sets may be chosen."""
        return self._constraint

    @property
    def policy(self) -> Policy:
        """How to choose."""
        return self._policy

    @property
    def minimize(self) -> bool:
        """Whether weights are costs."""
        return self._agent.state.minimize

    @property
    def seed(self) -> int:
        """The seed of the policy's random choices."""
        return self._stream.seed

    @property
    def n_decisions(self) -> int:
        """How many decisions were asked for."""
        return self._episode

    @property
    def outstanding(self) -> tuple[Decision, ...]:
        """Decisions that still wait for weights, oldest first."""
        return tuple(Decision(id, play.items[0], self._constraint) for id, (play, _) in self._open.items())

    def ask(self) -> Decision:
        """Choose a set. Several decisions may be outstanding at a time."""
        t = self._episode + 1
        play = self._agent.decide(Request(t, self._stream))
        self._episode = t
        self._open[t] = (play, None)
        return Decision(t, play.items[0], self._constraint)

    def tell(self, decision: Decision | int, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Say what the items of a decision were worth.

        Parameters
        ----------
        decision : Decision or int
            The decision or its id.
        weights : array_like (K,), or mapping of item or label to float
            An array is in the order of ``decision.items``. A mapping may name some of the items; the rest may
            follow later, in any order. An integer that is one item's label and another's number is an error. A pandas
            Series is a mapping: its index names the items. No weight may be larger than 1e100 in size, so that sums
            stay finite.

        Raises
        ------
        UnknownDecisionError
            No such decision was made.
        DecisionClosedError
            An item of it has been told already.
        FeedbackError
            The weights do not fit the items, or are not numbers the policy can take.
        """
        try:
            id = decision.id if isinstance(decision, Decision) else as_index(decision)
            play, told = self._open[id]
        except (KeyError, TypeError):
            self._refuse(decision.id if isinstance(decision, Decision) else decision)
        items: IntArray = play.items[0]
        if isinstance(decision, Decision) and not _is_same(decision.items, items):
            raise UnknownDecisionError(f"expected a decision of this learner, got {decision!r} of another")
        places, values = self._reader.read(weights, items, id)
        if told is not None and (told.any() if places is None else told[places].any()):
            again = items[told][0] if places is None else items[places][told[places]][0]
            raise DecisionClosedError(
                f"expected a weight once per item; item {self._reader.name(again)} of decision {id} was told before"
            )
        self._agent.learn(play, values, places)
        if places is not None:
            told = np.zeros(items.size, bool) if told is None else told
            told[places] = True
        if places is None or told is None or told.all():
            del self._open[id]
        else:
            self._open[id] = (play, told)

    def observe(self, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Count weights seen before the first decision, one for every item or for those a mapping names."""
        if self._episode:
            raise DecisionClosedError("expected observe() before the first ask(); use tell() after it")
        items = self._reader.all_items
        places, values = self._reader.read(weights, items, 0)
        seen = items if places is None else places
        # The first look at an item belongs to episode 0, as in a simulation. Further ones have addresses past all
        # episodes, so that what a policy draws for them is drawn anew.
        looks = self._agent.state.counts[0, seen]
        for n in np.unique(looks).tolist():
            is_now = looks == n
            request = Request(self.MOST_DECISIONS + n if n else 0, self._stream)
            self._agent.observe(request, seen[None, is_now], values[None, is_now])

    def estimates(self) -> Estimates:
        """What is believed of each item now, in the units of the weights."""
        state = self._agent.state
        sign = -1.0 if state.minimize else 1.0
        counts = state.counts[0].copy()
        means = np.where(counts > 0, sign * state.means[0], np.nan)
        return Estimates(counts, means, sign * self._indices() + 0.0)

    def best_basis(self) -> IntArray:
        """The basis of best means so far, without exploration; items never seen come last."""
        state = self._agent.state
        means = np.where(state.counts > 0, state.means, -np.inf)
        items, sizes = self._constraint.best_sets(means)
        best: IntArray = items[0, : sizes[0]]
        return best

    def explain(self, item: int | Label) -> Explanation:
        """Why an item (number or label) is in or out of the next basis."""
        e, matroid = self._reader.item(item), self._constraint
        if not isinstance(matroid, Matroid):
            raise PolicyError(f"expected a matroid, whose items replace each other one by one; got {matroid!r}")
        U = self._indices()
        basis = matroid.max_weight_basis(U)
        sign = -1.0 if self.minimize else 1.0
        is_chosen = bool(e in basis)
        rivals = np.empty(0, np.int64) if is_chosen else np.sort(matroid.replaceable(basis, e))
        with np.errstate(invalid="ignore"):  # two items to be tried first are equally good
            margins = np.where(U[rivals] == U[e], 0.0, U[rivals] - U[e])
        labels = matroid.labels
        rival_labels = tuple(labels[i] for i in rivals.tolist())
        return Explanation(e, labels[e], is_chosen, float(sign * U[e]), rivals, rival_labels, margins)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the learner to one file, atomically: a crash leaves the old file or the new one.

        An `OracleMatroid`, and a policy whose arguments are not known, are code and cannot be stored; pass them to
        `load`. Of the matroid the file keeps a fingerprint, so that another one is noticed. The file that is
        replaced keeps its mode, and its place where `path` is a link to it.

        Raises
        ------
        SerializationError
            What the policy keeps is not what it can be, so `load` would refuse the file; the old file stays.
        """
        _snapshot.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        constraint: Constraint | None = None,
        policy: Policy | None = None,
        engine: EngineChoice = "auto",
    ) -> Learner:
        """The learner that `save` wrote, which goes on with exactly the decisions it would have made.

        Parameters
        ----------
        path : path
            The file.
        constraint, policy : optional
            Needed when they could not be stored: an `OracleMatroid`, a policy whose arguments are not known. They
            must be those that the learner was saved with.
        engine : str, default "auto"
            How decisions are found.

        Raises
        ------
        SerializationError
            The file is damaged, foreign or newer, or does not fit the arguments.
        """
        return _snapshot.load(cls, path, constraint, policy, engine)

    def _play(self, episode: int, items: IntArray) -> Play:
        """A decision of the past."""
        return Play(Request(episode, self._stream), items[None], np.array([items.size]))

    def _indices(self) -> FloatArray:
        """The gains that the next decision would go by: larger is better."""
        U: FloatArray = evaluate(self._policy, self._agent.state, Request(self._episode + 1, self._stream))[0]
        return U

    def _refuse(self, id: Any) -> NoReturn:
        try:
            number = as_index(id)
        except TypeError:
            number = 0
        if 1 <= number <= self._episode:
            raise DecisionClosedError(f"decision {number} was told all its weights already")
        raise UnknownDecisionError(f"expected a decision or its id, 1..{self._episode}; got {id!r}")

    def __repr__(self) -> str:
        return (
            f"Learner({self._constraint!r}, {self._policy!r}, {self._episode} decisions, "
            f"{len(self._open)} outstanding)"
        )


def _is_same(given: IntArray, own: IntArray) -> bool:
    """Whether a decision's items are those on record; mostly they are a view of them."""
    return given.base is own.base or np.array_equal(given, own)
