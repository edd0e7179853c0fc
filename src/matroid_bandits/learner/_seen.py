"""Answers that say what people looked at: where they stopped in a list, or which items they saw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.text import shown
from matroid_bandits.agent import Play
from matroid_bandits.exceptions import FeedbackError
from matroid_bandits.learner._answers import KINDS, Answers

if TYPE_CHECKING:
    from matroid_bandits.learner._feedback import Reader

#: Stands for an argument of `tell` that was not given, where None says that people stopped at no item.
UNSAID: Final = object()


class Said(NamedTuple):
    """The arguments of `Learner.tell` besides the decision and the weights."""

    clicked: Any = UNSAID
    failed: Any = UNSAID
    examined: Any = None

    @property
    def closes(self) -> bool:
        """Whether the answer says what was looked at, so that no more comes."""
        return self.clicked is not UNSAID or self.failed is not UNSAID or self.examined is not None

    def stop(self, name: str | None) -> Any:
        """What is said of the item at which people stopped; `UNSAID` where nothing is."""
        return UNSAID if name is None else getattr(self, name)


#: What `tell` is given where weights are all that is said.
WEIGHTS_ALONE: Final = Said()


def check_said(answers: Answers | None, weights: Any, said: Said) -> None:
    """Raise unless an answer is of a kind of answers; the error says what to send."""
    kind = KINDS[answers or "all"]
    given = [name for name in ("clicked", "failed") if said.stop(name) is not UNSAID]
    given += [name for name, each in (("weights", weights), ("examined", said.examined)) if each is not None]
    if kind.stop in given:
        is_right = len(given) == 1
    elif said.examined is not None:
        is_right = kind.seen is not None and given in (["weights", "examined"], ["examined"])
    else:
        is_right = kind.stop is None and given == ["weights"]
    if not is_right:
        got = " and ".join(given) or "nothing"
        raise FeedbackError(f'expected {kind.asks_for} with answers="{answers or "all"}", got {got}')


def read_said(
    reader: Reader,
    answers: Answers | None,
    weights: Any,
    said: Said,
    numbering: tuple[Play, Any, bool, bool],
) -> tuple[IntArray | None, FloatArray, Sequence[Any] | None]:
    """The positions of an open play that were looked at, None for all of them; a weight for each; and their labels.

    Raises as `Reader.read` does.
    """
    play, kind = numbering[0], KINDS[answers or "all"]
    values = np.full(play.items.size, np.nan)
    looked = np.zeros(play.items.size, bool)
    names = [*play.note.names]
    if said.examined is None:
        label = said.stop(kind.stop)
        if label is None:
            looked[:] = True
        else:
            if play.places is None:
                raise FeedbackError(
                    f"expected examined= for decision {play.request.episode}, which was made without an order, so "
                    f"that it is not known what was above {shown(label)}; got {kind.stop}="
                )
            assert kind.seen is not None
            position = _read(reader, {label: 1.0 - kind.seen}, numbering, values, names)
            looked = play.places <= play.places[position]
    else:
        if weights is not None:
            _read(reader, _by_item(weights), numbering, values, names)
        looked = ~np.isnan(values)
        seen = np.full(play.items.size, np.nan)
        _read(reader, dict.fromkeys(_listed(said.examined), kind.seen), numbering, seen, names)
        looked |= ~np.isnan(seen)
    is_new = looked if play.told is None else looked & ~(play.told & np.isnan(values))  # what is told stays as it is
    values[is_new & np.isnan(values)] = kind.seen
    values = values[is_new]
    if kind.stop is not None:
        _check_stops(values, kind.seen, answers)
    labels = [name for name, new in zip(names, is_new.tolist(), strict=True) if new]
    return (None if is_new.all() else np.flatnonzero(is_new)), values, labels


def _read(
    reader: Reader,
    weights: Mapping[Any, Any],
    numbering: tuple[Play, Any, bool, bool],
    values: FloatArray,
    names: list[Any],
) -> IntArray:
    """Write weights by item where their items are in a play, with the labels they are called by; their positions."""
    positions, found, labels = reader.read(weights, *numbering)
    positions = np.arange(values.size) if positions is None else positions
    values[positions] = found
    for position, label in zip(positions.tolist(), labels or (), strict=bool(labels)):
        names[position] = label
    return positions


def _by_item(weights: Any) -> Mapping[Any, Any]:
    if isinstance(weights, Mapping):
        return weights
    raise FeedbackError(f"expected weights by item beside examined=, got {shown(weights)}")


def _listed(items: Any) -> list[Any]:
    if isinstance(items, Iterable) and not isinstance(items, (str, bytes, Mapping)):
        return np.asarray(items).tolist() if isinstance(items, np.ndarray) else [*items]
    raise FeedbackError(f"expected examined to be items or labels, got {shown(items)}")


def _check_stops(values: FloatArray, seen: float | None, answers: Answers | None) -> None:
    """Raise unless weights are 0 or 1, and people stopped at one item at most."""
    wrong = values[(values != 0.0) & (values != 1.0)]
    if wrong.size:
        raise FeedbackError(f'expected weights of 0 or 1 with answers="{answers}", got {wrong[0]:g}')
    if (values != seen).sum() > 1:
        raise FeedbackError(f'expected at most one item at which people stopped with answers="{answers}", got more')
