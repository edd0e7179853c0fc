"""A learner as one file: arrays with a JSON header, never code. `_validate` says what such a file may hold."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from matroid_bandits._typing import AnyArray, IntArray, Label
from matroid_bandits._util import archives
from matroid_bandits._util.archives import PLAIN_KINDS, Layout
from matroid_bandits._util.arrays import frozen, offsets
from matroid_bandits._util.names import decode_any, encode, encode_any
from matroid_bandits._util.text import shown
from matroid_bandits.agent import Play
from matroid_bandits.constraint import Constraint, constraint_from_dict
from matroid_bandits.engines import EngineChoice
from matroid_bandits.exceptions import PolicyError, SerializationError
from matroid_bandits.learner import _validate
from matroid_bandits.learner._asked import UNNAMED, Asked
from matroid_bandits.learner._feedback import Reader
from matroid_bandits.learner._items import NOWHERE, Departed
from matroid_bandits.learner._wanted import Wanted
from matroid_bandits.policies import POLICIES, Policy, Request, policy_from_dict, policy_to_dict
from matroid_bandits.stream import Stream

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner

Kind = TypeVar("Kind", bound="Learner")

_FORMAT = "matroid-bandits/learner"
_VERSION = 1

#: How the names of a control's arrays begin.
_CONTROL = "control/"


def save(learner: Learner, path: str | PathLike[str]) -> None:
    """Write a learner to one file, atomically, unless it is one that `load` would refuse."""
    archives.save(path, _FORMAT, _VERSION, *_parts(learner))


def _parts(learner: Learner) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """What a file of the learner holds: a header and arrays."""
    learner._agent.settle()
    constraint, policy, state = learner.constraint, learner.policy, learner._agent.state
    arrays: dict[str, AnyArray] = {}
    header: dict[str, Any] = {
        "constraint": _form(constraint),
        "n_items": constraint.n_items,
        "policy": _policy_form(policy, arrays),
        "minimize": learner.minimize,
        "seed": learner.seed,
        "id": learner.id,
        "holdout": learner.holdout.to_dict(),
        "max_departed": learner.max_departed,
        "episode": learner._episode,
        "n_changes": learner._n_changes,
        "changed_at": learner._changed_at,
        "departed": encode_any(learner._departed.labels),
    }
    if header["constraint"] is None:
        header["fingerprint"] = _fingerprint(constraint)
    header["evidence"] = {
        "weights": None
        if learner._reader.extremes[0] > learner._reader.extremes[1]
        else _finite(learner._reader.extremes),
        "n_known": learner._n_known,
        "has_forgotten": learner._has_forgotten,
        "is_whole": learner._is_evidence_whole,
    }
    if learner._knows_forgotten:
        header["knows_forgotten"] = True
    if learner.answers is not None:
        header["answers"] = learner.answers
    if learner._departed.restarted_at:
        header["restarted_at"] = learner._departed.restarted_at
    arrays |= {name: getattr(state, name)[0] for name in _validate.PLAYS}
    if state.has_priors:
        arrays |= {f"priors/{name}": getattr(state, f"prior_{name}")[0] for name in ("means", "counts")}
    forgotten = state.asked[0] - state.counts[0] - state.waiting[0] - state.lost[0]
    if forgotten.any():
        arrays["forgotten"] = forgotten
    arrays |= {f"totals/{key}": value[0] for key, value in state.totals().items()}
    arrays |= {f"extra/{key}": value for key, value in state.extra.items()}
    arrays |= {f"departed/{key}": value for key, value in learner._departed.columns.items()}
    arrays |= _open_arrays(learner)
    if learner._features is not None:
        arrays["features"] = learner._features
    with archives.malformed("learner"):
        _validate.check_statistics(state.counts[0], state.sums[0], policy, learner.minimize)
        layouts = {name: Layout.of(array) for name, array in arrays.items()}
        _validate.check_extra(layouts, policy, constraint.n_items)
        policy.check_extra(state)
    if learner._control is not None:
        header["control"], of_control = _parts(learner._control)
        arrays |= {f"{_CONTROL}{name}": array for name, array in of_control.items()}
    return header, arrays


def is_same_state(one: Learner, other: Learner) -> bool:
    """Whether files of two learners would hold the same; see `Learner.has_state_of`."""
    (header, arrays), (other_header, other_arrays) = _parts(one), _parts(other)
    if not (one._is_evidence_whole and other._is_evidence_whole):
        for each in (header, other_header):
            each["evidence"] = each.get("control", {})["evidence"] = None
    if not (one._knows_forgotten and other._knows_forgotten):
        for each in (header, other_header):
            each["knows_forgotten"] = each.get("control", {})["knows_forgotten"] = None
        for each in (arrays, other_arrays):
            for prefix in ("", _CONTROL):
                each.pop(f"{prefix}forgotten", None)
    for prefix in ("", _CONTROL):
        if {*arrays, *other_arrays} >= {f"{prefix}open/names"} and not (
            _is_named(arrays, prefix) and _is_named(other_arrays, prefix)
        ):
            _forget_names(arrays, prefix)
            _forget_names(other_arrays, prefix)
    return (
        header == other_header
        and arrays.keys() == other_arrays.keys()
        and all(_is_same_array(array, other_arrays[name]) for name, array in arrays.items())
    )


def _is_named(arrays: Mapping[str, AnyArray], prefix: str) -> bool:
    """Whether the labels of all forgotten items of plays that wait are known: not in files of version 0.2.0."""
    n_lost = int((arrays[f"{prefix}open/items"] == NOWHERE).sum())
    names = (
        json.loads(arrays[f"{prefix}open/names"].tobytes()) if f"{prefix}open/names" in arrays else [None] * n_lost
    )
    return None not in names


def _forget_names(arrays: dict[str, AnyArray], prefix: str) -> None:
    """Leave of forgotten items what version 0.2.0 knew of them: how many of each play wait."""
    arrays.pop(f"{prefix}open/names", None)
    items, told = arrays[f"{prefix}open/items"], arrays[f"{prefix}open/told"].copy()
    cells = np.flatnonzero(items == NOWHERE)
    owner = np.repeat(np.arange(arrays[f"{prefix}open/sizes"].size), arrays[f"{prefix}open/sizes"])[cells]
    told[cells] = told[cells][np.lexsort((~told[cells], owner))]
    arrays[f"{prefix}open/told"] = told


def _is_same_array(one: AnyArray, other: AnyArray) -> bool:
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()


def load(
    kind: type[Kind],
    path: str | PathLike[str],
    constraint: Constraint | None,
    policy: Policy | None,
    engine: EngineChoice,
) -> Kind:
    """The learner that `save` wrote."""
    with archives.reading(path, _FORMAT, _VERSION) as archive:
        header = archive.header
        if "matroid" in header and "constraint" not in header:  # as it was called when every constraint was one
            header = {"constraint": header["matroid"], **{k: v for k, v in header.items() if k != "matroid"}}
        if "params" in header:  # as policies were written then; null of one that could not be
            own = header["params"]
            header = {key: value for key, value in header.items() if key != "params"}
            if isinstance(own, dict) and isinstance(header.get("policy"), str):
                header["policy"] = {"policy": header["policy"], **own}
        learner = _made(kind, header, archive.layouts, archive.read, constraint, policy, engine)
        with archives.malformed("learner"):
            if (learner._control is None) != ("control" not in header):
                raise ValueError("expected the control that the hold-out names, got another")
            if not isinstance(header.get("control", {}), dict):
                raise ValueError(f"expected control to be of type dict, got {shown(header['control'])}")
        if learner._control is not None:
            n = len(_CONTROL)
            learner._control = _made(
                kind,
                header["control"],
                {name[n:]: layout for name, layout in archive.layouts.items() if name.startswith(_CONTROL)},
                lambda prefix="": archive.read(_CONTROL + prefix),
                learner.constraint,
                None,
                engine,
            )
    return learner


def _made(
    kind: type[Kind],
    header: Mapping[str, Any],
    layouts: Mapping[str, Layout],
    read: Callable[..., dict[str, AnyArray]],
    constraint: Constraint | None,
    policy: Policy | None,
    engine: EngineChoice,
) -> Kind:
    """A learner from the parts of a file, without its control."""
    layouts = {name: layout for name, layout in layouts.items() if not name.startswith(_CONTROL)}
    with archives.malformed("learner"):
        _validate.check_header(header)
        _validate.check_layouts(layouts, header["n_items"], len(header["departed"]))
        constraint = _constraint(header, constraint)
        policy = _policy(header, read, constraint, policy)
        policy.prepare(constraint)
        former = {f"extra/{each.former}": each for each in policy.memory if each.former}
        layouts = {f"extra/{former[name].name}" if name in former else name: layouts[name] for name in layouts}
        _validate.check_extra(layouts, policy, constraint.n_items)
        arrays = {name: array for name, array in read().items() if not name.startswith(_CONTROL)}
        for old in former.keys() & arrays.keys():
            arrays[f"extra/{former[old].name}"] = former[old].converted(arrays.pop(old))
        _validate.check_statistics(arrays["counts"], arrays["sums"], policy, header["minimize"])
        _validate.check_plays(arrays, header, constraint)
        _validate.check_kept(arrays, policy)
    learner = kind._made(
        constraint,
        policy,
        minimize=header["minimize"],
        seed=header["seed"],
        id=header["id"],
        holdout=header["holdout"],
        answers=header.get("answers"),
        max_departed=header["max_departed"],
        engine=engine,
    )
    _restore(learner, header, arrays)
    learner._bind()
    with archives.malformed("learner"):
        policy.check_extra(learner._agent.state)
    return learner


def _restore(learner: Learner, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Give a fresh learner what was read and found sound."""
    state = learner._agent.state
    for name in _validate.PLAYS:
        getattr(state, name)[0] = arrays[name]
    if "priors/means" in arrays:
        state.prior_means, state.prior_counts = arrays["priors/means"][None], arrays["priors/counts"][None]
    learner._knows_forgotten = header.get("knows_forgotten", False)
    if "forgotten" in arrays:
        state.restore_forgotten(arrays["forgotten"][None].copy())
    state.restore_totals(**{key: arrays[f"totals/{key}"] for key in state.totals()})
    state.n_waiting[:] = state.waiting.sum(axis=1)
    state.update(np.arange(state.n_items))
    state.episode = header["episode"]
    for each in state.memory:
        if each.kind == "growing":
            state.extra[each.name] = arrays[f"extra/{each.name}"]
        else:
            state.extra[each.name][:] = arrays[f"extra/{each.name}"]
    columns = {
        name.removeprefix("departed/"): array for name, array in arrays.items() if name.startswith("departed/")
    }
    labels = decode_any(header["departed"])
    learner._departed = Departed(labels, columns, header.get("restarted_at", 0))
    learner._reader = Reader(learner)
    _restore_evidence(learner, header.get("evidence"), int(arrays["totals/n_answers"]))
    learner._episode, learner._n_changes = header["episode"], header["n_changes"]
    learner._changed_at = header.get("changed_at", learner._episode if learner._n_changes else 0)
    learner._features = arrays.get("features")
    _restore_open(learner, arrays)


def _restore_evidence(learner: Learner, form: Mapping[str, Any] | None, n_answers: int) -> None:
    """What a learner needs to say how sure it is. Files of earlier versions do not say which weights were told."""
    if form is None:
        learner._is_evidence_whole = False
        learner._n_known += len(learner._departed.labels)
        if n_answers or len(learner._departed.labels):
            learner._reader.extremes = learner.policy.support
        return
    learner._n_known, learner._has_forgotten = form["n_known"], form["has_forgotten"]
    learner._is_evidence_whole = form["is_whole"]
    if form["weights"] is not None:
        low, high = form["weights"]
        learner._reader.extremes = -np.inf if low is None else low, np.inf if high is None else high


def _finite(extremes: tuple[float, float]) -> list[float | None]:
    """The least and the largest weight, None where they are not known."""
    return [end if np.isfinite(end) else None for end in extremes]


def _open_arrays(learner: Learner) -> dict[str, AnyArray]:
    """The plays that wait, laid end to end, and what their requests asked for."""
    plays, none = learner._agent.open, np.empty(0, np.int64)
    told = [np.zeros(play.items.size, bool) if play.told is None else play.told for play in plays.values()]
    arrays: dict[str, AnyArray] = {
        "open/ids": np.fromiter(plays, np.int64, len(plays)),
        "open/sizes": np.array([play.items.size for play in plays.values()], np.int64),
        "open/items": learner._departed.ranked(np.concatenate([none, *(play.items[0] for play in plays.values())])),
        "open/told": np.concatenate([np.empty(0, bool), *told]),
        "open/held_out": np.array([play.note.is_held_out for play in plays.values()], bool),
    }
    lost = [
        name
        for play in (plays.values() if learner._n_changes else ())
        for name, item in zip(play.note.names, play.items[0].tolist(), strict=True)
        if item == NOWHERE
    ]
    if any(name is not UNNAMED for name in lost):
        arrays["open/names"] = _json_array([None if name is UNNAMED else encode_any([name]) for name in lost])
    if any(play.places is not None for play in plays.values()):
        unordered = (np.full(play.items.size, -1) for play in plays.values())
        shown_at = (play.places for play in plays.values())
        rows_of = [none if own is None else own for own, none in zip(shown_at, unordered, strict=True)]
        arrays["open/places"] = np.concatenate(rows_of)
    controls = [play.note.control for play in plays.values()]
    if any(controls):
        arrays["open/control"] = np.array(controls, np.int64)
    is_apart = [not play.is_counted for play in plays.values()]
    if any(is_apart):
        arrays["open/apart"] = np.array(is_apart, bool)
    rows = [play.features for play in plays.values() if play.features is not None]
    if rows:
        arrays["open/features"] = np.concatenate(rows)
    if learner.policy.n_kept and plays:
        nothing = learner._agent.nothing_kept
        kept = [nothing(play.items.size) if play.kept is None else play.kept for play in plays.values()]
        arrays["open/kept"] = np.concatenate(kept)
    times = [play.note.time for play in plays.values()]
    if any(time is not None for time in times):
        arrays["open/times"] = np.array(times, np.float64)  # NaN for None
    tags = [play.note.tags for play in plays.values()]
    if any(tags):
        arrays["open/tags"] = _json_array(tags)
    notes = {id: play.note for id, play in plays.items() if play.note.wanted is not None}
    if notes:
        codes = _Codes(learner)
        arrays["wanted/ids"] = np.fromiter(notes, np.int64, len(notes))
        for name in _validate.WANTED:
            lists = [codes.of(getattr(note.wanted, name), note.labels) for note in notes.values()]
            sizes = [-1 if items is None else items.size for items in lists]
            arrays[f"wanted/{name}/sizes"] = np.array(sizes, np.int64)
            given = [items for items in lists if items is not None]
            arrays[f"wanted/{name}/items"] = np.concatenate([none, *given])
    return arrays


def _json_array(form: Any) -> AnyArray:
    return np.frombuffer(json.dumps(form, separators=(",", ":")).encode(), np.uint8)


class _Codes:
    """Finds what the items of requests are today: numbers, -1, -2, ... for those that have left."""

    def __init__(self, learner: Learner) -> None:
        constraint = learner.constraint
        self._labels = constraint.labels if constraint.has_labels else None
        self._today = {label: -1 - i for i, label in enumerate(learner._departed.labels)}
        self._today |= {label: e for e, label in enumerate(constraint.labels)}
        self._found: dict[int, IntArray] = {}

    def of(self, items: IntArray | None, labels: Sequence[Label]) -> IntArray | None:
        """The codes of items whose numbers stand for some labels."""
        if items is None or self._labels is None or labels is self._labels:
            return items
        if id(labels) not in self._found:
            self._found[id(labels)] = np.array([self._today.get(label, NOWHERE) for label in labels], np.int64)
        codes = self._found[id(labels)][items]
        kept: IntArray = codes[codes != NOWHERE]  # as the file's reader leaves the others out
        return kept


def _restore_open(learner: Learner, arrays: Mapping[str, AnyArray]) -> None:
    edges = offsets(arrays["open/sizes"]).tolist()
    items, told, rows = arrays["open/items"], arrays["open/told"], arrays.get("open/features")
    kept, places = arrays.get("open/kept"), arrays.get("open/places")
    stream, plays = learner._stream, learner._agent.open
    sizes = {size: frozen(np.array([size])) for size in set(arrays["open/sizes"].tolist())}
    is_partly = np.add.reduceat(told, edges[:-1]) > 0 if told.size and min(sizes) > 0 else None
    for k, (id, lo, hi) in enumerate(zip(arrays["open/ids"].tolist(), edges[:-1], edges[1:], strict=True)):
        part = told[lo:hi].copy() if (is_partly[k] if is_partly is not None else told[lo:hi].any()) else None
        features = None if rows is None else rows[lo:hi]
        plays[id] = Play(Request(id, stream), items[None, lo:hi], sizes[hi - lo], part, features)
        plays[id].kept = None if kept is None else kept[lo:hi]
        plays[id].places = None if places is None or (places[lo:hi] < 0).any() else places[lo:hi]
    _restore_notes(learner, arrays)
    if "wanted/ids" in arrays:
        lists = [
            _split(arrays[f"wanted/{name}/sizes"], arrays[f"wanted/{name}/items"], learner.constraint.n_items)
            for name in _validate.WANTED
        ]
        for id, available, exclude, pinned in zip(arrays["wanted/ids"].tolist(), *lists, strict=True):
            none = np.empty(0, np.int64)
            plays[id].note.wanted = Wanted(
                available, none if exclude is None else exclude, none if pinned is None else pinned
            )
    nothing = np.empty(0)
    given: dict[str, list[Any]] = {
        "control": arrays.get("open/control", nothing).tolist(),
        "time": [None if time != time else time for time in arrays.get("open/times", nothing).tolist()],
        "tags": [tags or None for tags in json.loads(arrays.get("open/tags", _json_array([])).tobytes())],
    }
    for name, values in given.items():
        for play, value in zip(plays.values(), values, strict=bool(values)):
            setattr(play.note, name, value)
    is_apart = arrays.get("open/apart", nothing).tolist()
    for play, apart in zip(plays.values(), is_apart, strict=bool(is_apart)):
        play.is_counted = not apart


def _restore_notes(learner: Learner, arrays: Mapping[str, AnyArray]) -> None:
    """Give the plays that wait their labels, those of items that have left and were forgotten too."""
    labels, n_items = learner.constraint.labels, learner.constraint.n_items
    if learner.constraint.has_labels and len(learner._departed.labels):
        labels = (*labels, *learner._departed.labels)
    n_lost = int((arrays["open/items"] == NOWHERE).sum())
    forms = json.loads(arrays["open/names"].tobytes()) if "open/names" in arrays else [None] * n_lost
    lost = (UNNAMED if form is None else decode_any(form)[0] for form in forms)
    has_changed = bool((arrays["open/items"] < 0).any())
    for play, is_held_out in zip(learner._agent.open.values(), arrays["open/held_out"].tolist(), strict=True):
        items, names = play.items[0], None
        if has_changed and (items < 0).any():
            items = np.where(items < 0, n_items - 1 - items, items)
            is_lost = play.items[0] == NOWHERE
            names = [next(lost) if gone else labels[e] for e, gone in zip(items.tolist(), is_lost, strict=True)]
            items = items[~is_lost]
        play.note = Asked(labels, items, None, is_held_out, names=names)


def _split(sizes: IntArray, codes: IntArray, n_items: int) -> list[IntArray | None]:
    """Arrays that were laid end to end, None where a size is -1; departed items follow the present ones."""
    owner = np.repeat(np.arange(sizes.size), np.maximum(sizes, 0))[codes != NOWHERE]
    items = codes[codes != NOWHERE]
    items = np.where(items < 0, n_items - 1 - items, items)
    edges = offsets(np.bincount(owner, minlength=sizes.size)).tolist()
    return [
        None if size < 0 else items[lo:hi] for size, lo, hi in zip(sizes.tolist(), edges[:-1], edges[1:], strict=True)
    ]


def _policy_form(policy: Policy, arrays: dict[str, AnyArray]) -> dict[str, Any] | str:
    """What the policy can be made of again, and the arrays that belong to it; its name alone where it cannot."""
    found: dict[str, AnyArray] = {}
    try:
        form = policy_to_dict(policy, found)
    except (PolicyError, SerializationError):
        return type(policy).__name__
    if any(array.dtype.kind not in PLAIN_KINDS for array in found.values()):
        return type(policy).__name__
    arrays |= {f"policy/{name}": array for name, array in found.items()}
    return form


def _form(constraint: Constraint) -> dict[str, Any] | None:
    """The constraint as JSON; None where it is code."""
    try:
        return constraint.to_dict()
    except SerializationError:
        return None


def _fingerprint(constraint: Constraint) -> str:
    """What tells a constraint that cannot be stored from others: its labels, and the best sets for random weights."""
    items, sizes = constraint.best_sets(Stream(0, range(4)).uniform(0, np.arange(constraint.n_items)))
    sets = [row[:size] for row, size in zip(items.tolist(), sizes.tolist(), strict=True)]
    labels = []
    for label in constraint.labels if constraint.has_labels else ():
        try:
            labels.append(encode(label, "label"))
        except SerializationError:  # an object, which nothing is known of from one process to the next
            labels.append(None)
    return hashlib.sha256(json.dumps([constraint.n_items, labels, sets]).encode()).hexdigest()


def _constraint(header: Mapping[str, Any], given: Constraint | None) -> Constraint:
    form, n_items = header["constraint"], header["n_items"]
    stored = None if form is None else constraint_from_dict(form)
    if stored is not None and stored.n_items != n_items:
        raise SerializationError(f"expected a constraint on {n_items} items, got {stored!r}")
    if given is None:
        if stored is None:
            raise SerializationError("the constraint could not be stored; pass it as constraint=...")
        return stored
    mark = header.get("fingerprint")
    is_other = given != stored if stored is not None else mark is not None and mark != _fingerprint(given)
    if is_other and given.n_items == n_items:
        raise SerializationError(f"expected the constraint that the learner was saved with, got {given!r}")
    return given


def _policy(
    header: Mapping[str, Any], read: Callable[..., dict[str, AnyArray]], constraint: Constraint, given: Policy | None
) -> Policy:
    form, n_items = header["policy"], header["n_items"]
    name = form if isinstance(form, str) else form.get("policy")
    if isinstance(form, str) and given is None:
        raise SerializationError(f"the policy {name} could not be stored; pass it as policy=...")
    if name not in POLICIES and given is None:
        raise SerializationError(f"the policy {name} is not defined here: import it, or pass it as policy=...")
    if constraint.n_items != n_items or (given is not None and type(given).__name__ != name):
        raise SerializationError(
            f"expected a constraint on {n_items} items and a {name}, got {constraint.n_items} items and {given!r}"
        )
    if given is not None and (isinstance(form, str) or name not in POLICIES):
        return given
    stored = policy_from_dict(form, {k.removeprefix("policy/"): v for k, v in read("policy/").items()})
    if given is None:
        return stored
    with contextlib.suppress(PolicyError):  # of a policy that does not keep its arguments
        if not _is_same(given, stored):
            raise SerializationError(
                f"expected the {name} that the learner was saved with, {stored!r}, got {given!r}"
            )
    return given


def _is_same(given: Policy, stored: Policy) -> bool:
    """Whether two policies are equal, or at least have the same form."""
    if given == stored:
        return True
    arrays: tuple[dict[str, AnyArray], ...] = ({}, {})
    forms = [policy_to_dict(policy, own) for policy, own in zip((given, stored), arrays, strict=True)]
    is_same = forms[0] == forms[1] and arrays[0].keys() == arrays[1].keys()
    return is_same and all(np.array_equal(array, arrays[1][name]) for name, array in arrays[0].items())
