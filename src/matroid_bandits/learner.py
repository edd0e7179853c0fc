"""A live learner: ask for a basis, tell what its items were worth, never lose what was learnt."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, NoReturn

import numpy as np

from matroid_bandits._typing import AnyArray, ArrayLike, FloatArray, IntArray, Label
from matroid_bandits._util import files as _files
from matroid_bandits.engines import make_engine, policy_indices
from matroid_bandits.exceptions import (
    DecisionClosedError,
    FeedbackError,
    ItemError,
    PolicyError,
    SerializationError,
    UnknownDecisionError,
)
from matroid_bandits.kernels import statistics
from matroid_bandits.matroids import Matroid, matroid_from_dict
from matroid_bandits.policies import POLICIES, Optimal, Policy, State
from matroid_bandits.stream import POLICY, Stream, as_seed

_LOWEST, _HIGHEST = float(np.finfo(np.float64).min), float(np.finfo(np.float64).max)
_FORMAT = "matroid-bandits/learner"
_VERSION = 1
_FURTHER_LOOKS = 2**47


class Decision:
    """A basis to act on; immutable.

    Attributes
    ----------
    id : int
        Names the decision to `Learner.tell`.
    episode : int
        The episode it was made in, from 1.
    items : int64 array (K,)
        The chosen items, ascending.
    labels : tuple
        What they are called.
    """

    __slots__ = ("_id", "_items", "_matroid")

    def __init__(self, id: int, items: IntArray, matroid: Matroid) -> None:
        view = items.view()
        view.flags.writeable = False
        self._id, self._items, self._matroid = id, view, matroid

    @property
    def id(self) -> int:
        """Names the decision to `Learner.tell`."""
        return self._id

    @property
    def episode(self) -> int:
        """The episode the decision was made in, from 1."""
        return self._id

    @property
    def items(self) -> IntArray:
        """The chosen items, ascending, read-only."""
        return self._items

    @property
    def labels(self) -> tuple[Label, ...]:
        """What the items are called."""
        labels = self._matroid.labels
        return tuple(labels[e] for e in self._items.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return self._id == other._id and np.array_equal(self._items, other._items) and self._matroid == other._matroid

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.labels[:8])) + (", ..." if self._items.size > 8 else "")
        return f"Decision(id={self._id}, labels=({shown}))"


@dataclass(frozen=True)
class Estimates:
    """What a learner believes of each item, in the units of the weights.

    Attributes
    ----------
    counts : int64 array (L,)
        How often each item's weight was told.
    means : float64 array (L,)
        Mean weight, NaN for items never seen.
    indices : float64 array (L,)
        The optimistic (or sampled) weight that the next decision goes by; infinite for items to be tried first.
    """

    counts: IntArray
    means: FloatArray
    indices: FloatArray


@dataclass(frozen=True)
class Explanation:
    """Why an item is in or out of the next basis.

    Attributes
    ----------
    item, label
        The item asked about.
    is_chosen : bool
        Whether the next basis has it.
    index : float
        Its index.
    rivals : int64 array
        The members of its fundamental circuit: the chosen items it could replace. Empty for a chosen item, and for a
        loop, which no basis can have.
    margins : float64 array
        By how much each rival's index is better; an item enters when one of them turns negative.
    """

    item: int
    label: Label
    is_chosen: bool
    index: float
    rivals: IntArray
    rival_labels: tuple[Label, ...]
    margins: FloatArray

    def __str__(self) -> str:
        if self.is_chosen:
            return f"{self.label} is chosen (index {self.index:.4g})"
        if self.rivals.size == 0:
            return f"{self.label} can never be chosen: it is dependent by itself"
        shown = ", ".join(
            f"{label} (by {margin:.4g})" for label, margin in zip(self.rival_labels, self.margins, strict=True)
        )
        return f"{self.label} is out (index {self.index:.4g}): it could only replace {shown}"


class Learner:
    """Learns the best basis of a matroid from what its choices turn out to be worth.

    Parameters
    ----------
    matroid : Matroid
        Which sets may be chosen.
    policy : Policy
        How to choose.
    minimize : bool, default False
        Weights are costs.
    start : "explore" or "observe", default "explore"
        "explore": items never seen are tried first. "observe" is for a learner that is told of every item before
        its first decision, through `observe`.
    seed : int, optional
        For policies that randomise; by default a fresh one.
    engine : str, default "auto"
        How decisions are found; all engines make the same ones.

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

    def __init__(
        self,
        matroid: Matroid,
        policy: Policy,
        *,
        minimize: bool = False,
        start: Literal["explore", "observe"] = "explore",
        seed: int | None = None,
        engine: str = "auto",
    ) -> None:
        if not isinstance(matroid, Matroid):
            raise PolicyError(f"expected a Matroid, got {type(matroid).__name__}")
        if not isinstance(policy, Policy):
            hint = " (the class; an instance is needed)" if isinstance(policy, type) else ""
            raise PolicyError(f"expected a Policy, got {policy!r}{hint}")
        if isinstance(policy, Optimal):
            raise PolicyError("Optimal needs the true mean weights, so it can only be played by simulate()")
        if start not in ("explore", "observe"):
            raise PolicyError(f'expected start to be "explore" or "observe", got {start!r}')
        policy.check(matroid.n_items)
        self._matroid, self._policy, self._start = matroid, policy, start
        self._stream = Stream(as_seed(seed), range(1), POLICY)
        self._state = State(1, matroid.n_items, bool(minimize))
        policy.prepare(self._state)
        self._episode = 0
        self._open: dict[int, tuple[IntArray, AnyArray | None]] = {}  # items, and which of them were told
        self._engine_name = engine
        self._engine = make_engine(engine, matroid, policy, self._state)

    @property
    def matroid(self) -> Matroid:
        """Which sets may be chosen."""
        return self._matroid

    @property
    def policy(self) -> Policy:
        """How to choose."""
        return self._policy

    @property
    def minimize(self) -> bool:
        """Whether weights are costs."""
        return self._state.minimize

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
        return tuple(Decision(id, items, self._matroid) for id, (items, _) in self._open.items())

    def ask(self) -> Decision:
        """Choose a basis. Several decisions may be outstanding at a time."""
        if self._start == "observe" and self._episode == 0 and not self._state.counts.all():
            missing = int((self._state.counts[0] == 0).argmax())
            raise FeedbackError(
                f"expected observe() to be told every item before the first ask; item {missing} is missing"
            )
        t = self._episode + 1
        items: IntArray = self._engine.decide(t, self._stream)[0]
        self._episode = t
        self._open[t] = (items, None)
        return Decision(t, items, self._matroid)

    def tell(self, decision: Decision | int, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Say what the items of a decision were worth.

        Parameters
        ----------
        decision : Decision or int
            The decision or its id.
        weights : array_like (K,), or mapping of item or label to float
            An array is in the order of ``decision.items``. A mapping may name some of the items; the rest may
            follow later, in any order. Labels are tried before item numbers.

        Raises
        ------
        UnknownDecisionError
            No such decision was made.
        DecisionClosedError
            An item of it has been told already.
        FeedbackError
            The weights do not fit the items, or are not numbers the policy can take.
        """
        id = decision.id if isinstance(decision, Decision) else decision
        try:
            items, told = self._open[id]
        except (KeyError, TypeError):  # unhashable ids too
            self._refuse(id)
        if (
            isinstance(decision, Decision)
            and decision.items.base is not items
            and decision.items.tolist() != items.tolist()
        ):
            raise UnknownDecisionError(f"expected a decision of this learner, got {decision!r} of another")
        if isinstance(weights, Mapping):
            places, values = self._read_mapping(id, items, weights)
        else:
            places, values = None, self._read_array(items, weights)
        self._check_values(items if places is None else items[places], values)
        if told is not None and (told.any() if places is None else told[places].any()):
            again = items[told][0] if places is None else items[places][told[places]][0]
            raise DecisionClosedError(
                f"expected a weight once per item; item {self._name(again)} of decision {id} was told before"
            )
        seen = items if places is None else items[places]
        self._absorb(id, seen[None], values[None])
        if places is not None:
            told = np.zeros(items.size, bool) if told is None else told.copy()
            told[places] = True
        if places is None or told is None or told.all():
            del self._open[id]
        else:
            self._open[id] = (items, told)

    def observe(self, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Count weights seen before the first decision, one for every item or for those a mapping names."""
        if self._episode:
            raise DecisionClosedError("expected observe() before the first ask(); use tell() after it")
        items = np.arange(self._matroid.n_items)
        places: IntArray | None = None
        if isinstance(weights, Mapping):
            places, values = self._read_mapping(0, items, weights)
        else:
            values = self._read_array(items, weights)
        seen = items if places is None else places
        self._check_values(seen, values)
        # The first look at an item belongs to episode 0, as in a simulation. Further ones have addresses past all
        # episodes, so that what a policy draws for them is drawn anew.
        looks = self._state.counts[0, seen]
        for n in np.unique(looks).tolist():
            is_now = looks == n
            self._absorb(_FURTHER_LOOKS + n if n else 0, seen[None, is_now], values[None, is_now])

    def estimates(self) -> Estimates:
        """What is believed of each item now, in the units of the weights."""
        state = self._state
        sign = -1.0 if state.minimize else 1.0
        counts = state.counts[0].copy()
        means = np.where(counts > 0, sign * state.means[0], np.nan)
        return Estimates(counts, means, sign * self._indices() + 0.0)

    def best_basis(self) -> IntArray:
        """The basis of best means so far, without exploration; items never seen come last."""
        means = np.where(self._state.counts[0] > 0, self._state.means[0], -np.inf)
        return self._matroid.max_weight_basis(means)

    def explain(self, item: int | Label) -> Explanation:
        """Why an item (number or label) is in or out of the next basis."""
        e = self._item(item)
        U = self._indices()
        basis = self._matroid.max_weight_basis(U)
        sign = -1.0 if self._state.minimize else 1.0
        is_chosen = bool(e in basis)
        rivals = np.empty(0, np.int64) if is_chosen else np.sort(self._matroid.replaceable(basis, e))
        with np.errstate(invalid="ignore"):  # two items to be tried first are equally good
            margins = np.where(U[rivals] == U[e], 0.0, U[rivals] - U[e])
        labels = self._matroid.labels
        rival_labels = tuple(labels[i] for i in rivals.tolist())
        return Explanation(e, labels[e], is_chosen, float(sign * U[e]), rivals, rival_labels, margins)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the learner to one file, atomically: a crash leaves the old file or the new one.

        A user's own policy, and an `OracleMatroid`, are code and cannot be stored; pass them to `load`.
        """
        matroid, policy = self._matroid, self._policy
        is_ours = POLICIES.get(type(policy).__name__) is type(policy)
        params = policy._params() if is_ours else {}
        arrays = {f"policy/{key}": value for key, value in params.items() if isinstance(value, np.ndarray)}
        try:
            stored = matroid.to_dict()
        except SerializationError:
            stored = None
        header = {
            "matroid": stored,
            "n_items": matroid.n_items,
            "policy": type(policy).__name__,
            "params": {key: v for key, v in params.items() if not isinstance(v, np.ndarray)} if is_ours else None,
            "minimize": self.minimize,
            "start": self._start,
            "seed": self.seed,
            "episode": self._episode,
            "open": [
                [id, items.tolist(), None if told is None else told.tolist()]
                for id, (items, told) in self._open.items()
            ],
        }
        arrays |= {"counts": self._state.counts[0], "sums": self._state.sums[0]}
        arrays |= {f"extra/{key}": value for key, value in self._state.extra.items()}
        _files.save(path, _FORMAT, _VERSION, header, arrays)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        matroid: Matroid | None = None,
        policy: Policy | None = None,
        engine: str = "auto",
    ) -> Learner:
        """The learner that `save` wrote, which goes on with exactly the decisions it would have made.

        Parameters
        ----------
        path : path
            The file.
        matroid, policy : optional
            Needed when they could not be stored: an `OracleMatroid`, a policy of one's own.
        """
        header, arrays = _files.load(path, _FORMAT, _VERSION)
        try:
            if matroid is None:
                if header["matroid"] is None:
                    raise SerializationError(f"{path}: the matroid could not be stored; pass it as matroid=...")
                matroid = matroid_from_dict(header["matroid"])
            elif header["matroid"] is not None and matroid != matroid_from_dict(header["matroid"]):
                raise SerializationError(
                    f"{path}: expected the matroid that the learner was saved with, got {matroid!r}"
                )
            if policy is None:
                if header["params"] is None or header["policy"] not in POLICIES:
                    raise SerializationError(
                        f"{path}: {header['policy']} is not a built-in policy; pass it as policy=..."
                    )
                params = header["params"] | _unprefixed(arrays, "policy/")
                policy = POLICIES[header["policy"]](**params)
            if matroid.n_items != header["n_items"] or type(policy).__name__ != header["policy"]:
                raise SerializationError(
                    f"{path}: expected a matroid of {header['n_items']} items and a {header['policy']}, "
                    f"got {matroid.n_items} items and {policy!r}"
                )
            learner = cls(
                matroid,
                policy,
                minimize=header["minimize"],
                start=header["start"],
                seed=header["seed"],
                engine=engine,
            )
            learner._restore(header, arrays)
        except (KeyError, TypeError, ValueError, MemoryError) as error:
            if isinstance(error, SerializationError):
                raise
            raise SerializationError(f"{path}: malformed learner: {error}") from error
        return learner

    def _restore(self, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
        state = self._state
        counts, sums = arrays["counts"], arrays["sums"]
        if (
            _layout(counts) != _layout(state.counts[0])
            or _layout(sums) != _layout(state.sums[0])
            or (counts < 0).any()
            or not np.isfinite(sums).all()
        ):
            raise ValueError("counts and sums do not fit the matroid")
        state.counts[0], state.sums[0] = counts, sums
        is_seen = counts > 0
        state.means[0, is_seen] = state.sums[0, is_seen] / counts[is_seen]
        state.radii[0, is_seen] = 1.0 / np.sqrt(counts[is_seen].astype(np.float64))
        extra = _unprefixed(arrays, "extra/")
        if {key: _layout(value) for key, value in extra.items()} != {k: _layout(v) for k, v in state.extra.items()}:
            raise ValueError("the policy's arrays do not fit the matroid")
        state.extra.update(extra)
        self._episode = operator.index(header["episode"])
        if not 0 <= self._episode < _FURTHER_LOOKS:
            raise ValueError(f"a learner cannot have made {self._episode} decisions")
        for id, items, told in header["open"]:
            if (
                not 1 <= operator.index(id) <= self._episode
                or len(items) != self._matroid.rank
                or (told is not None and len(told) != len(items))
            ):
                raise ValueError("an outstanding decision was never made")
            self._open[int(id)] = (self._matroid.as_items(items), None if told is None else np.array(told, bool))
        self._engine = make_engine(self._engine_name, self._matroid, self._policy, state)

    def _absorb(self, t: int, items: IntArray, weights: FloatArray) -> None:
        state, policy = self._state, self._policy
        if type(policy).observe is Policy.observe:
            state.absorb(items, weights)
        else:
            arrays = (state.counts, state.sums, state.means, state.radii)
            before = [array[0, items[0]] for array in arrays]
            state.absorb(items, weights)
            try:
                policy.observe(state, t, items, weights, self._stream)
            except BaseException:  # what a policy of the user's own cannot take is not counted
                for array, values in zip(arrays, before, strict=True):
                    array[0, items[0]] = values
                raise
        self._engine.refresh(items)

    def _indices(self) -> FloatArray:
        """Gains: larger is better."""
        U: FloatArray = policy_indices(self._policy, self._state, self._episode + 1, self._stream)[0]
        return U

    def _refuse(self, id: Any) -> NoReturn:
        try:
            number = operator.index(id)
        except TypeError:
            number = 0
        if 1 <= number <= self._episode:
            raise DecisionClosedError(f"decision {number} was told all its weights already")
        raise UnknownDecisionError(f"expected a decision or its id, 1..{self._episode}; got {id!r}")

    def _read_array(self, items: IntArray, weights: ArrayLike) -> FloatArray:
        try:
            values = np.asarray(weights)
            if values.dtype.kind not in "fiub":
                raise TypeError
            values = values.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise FeedbackError(f"expected {items.size} numbers, got {weights!r}") from None
        if values.shape != items.shape:
            given = f"{values.size}" if values.ndim == 1 else f"shape {values.shape}"
            raise FeedbackError(f"expected {items.size} weights, one per item of the basis; got {given}")
        return values

    def _read_mapping(self, id: int, items: IntArray, weights: Mapping[Any, float]) -> tuple[IntArray, FloatArray]:
        keys = np.array([self._item(key) for key in weights], np.int64)
        places = np.searchsorted(items, keys)
        is_stray = np.append(items, -1)[places] != keys
        if is_stray.any():
            raise FeedbackError(f"expected items of decision {id}, got {self._name(keys[is_stray][0])}")
        if np.unique(places).size < places.size:
            raise FeedbackError("expected each item once, got one by its label and by its number")
        values = np.array([_as_weight(key, value) for key, value in weights.items()], np.float64)
        return places, values

    def _check_values(self, items: IntArray, values: FloatArray) -> None:
        low, high = self._policy.support
        wrong = statistics.first_outside(values, max(low, _LOWEST), min(high, _HIGHEST))
        if wrong >= 0:
            given = f"got {values[wrong]} for item {self._name(items[wrong])}"
            if np.isfinite(values[wrong]):
                raise FeedbackError(f"{self._policy!r} needs weights in [{low:g}, {high:g}], {given}")
            raise FeedbackError(f"expected finite weights, {given}")

    def _item(self, key: Any) -> int:
        """An item by its label, or by its number where no label is equal to it."""
        try:
            return self._matroid.item(key)
        except ItemError:
            try:
                return self._matroid.as_item(key)
            except ItemError:
                raise ItemError(f"expected an item or its label, got {key!r}") from None

    def _name(self, item: int) -> str:
        item = int(item)  # labels may be tuples, which NumPy's integers compare element by element
        label = self._matroid.labels[item]
        return f"{item}" if label == item else f"{item} ({label!r})"

    def __repr__(self) -> str:
        return (
            f"Learner({self._matroid!r}, {self._policy!r}, {self._episode} decisions, {len(self._open)} outstanding)"
        )


def _as_weight(key: Any, value: Any) -> float:
    if isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
        with suppress(OverflowError):  # of an integer with hundreds of digits
            return float(value)
    raise FeedbackError(f"expected a number for {key!r}, got {value!r}")


def _layout(array: AnyArray) -> tuple[tuple[int, ...], np.dtype[Any]]:
    return array.shape, array.dtype


def _unprefixed(arrays: Mapping[str, AnyArray], prefix: str) -> dict[str, AnyArray]:
    return {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}


def _is_same(given: IntArray, own: IntArray) -> bool:
    """Whether a decision's items are those on record; mostly they are a view of them."""
    return given.base is own or np.array_equal(given, own)
