"""The state of a live learner, and what happens to it; `Learner` is its face, with a lock."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_flag, as_integer
from matroid_bandits._util.names import plain, rows_of
from matroid_bandits._util.text import shown
from matroid_bandits.agent import Agent, Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import EngineChoice
from matroid_bandits.exceptions import (
    DecisionClosedError,
    FeedbackError,
    ItemError,
    PolicyError,
    ReplayError,
    UnknownDecisionError,
)
from matroid_bandits.learner import _configure, _events, _items
from matroid_bandits.learner._asked import Asked
from matroid_bandits.learner._decision import Decision
from matroid_bandits.learner._feedback import Reader
from matroid_bandits.learner._holdout import Holdout, read_tags
from matroid_bandits.learner._items import Departed
from matroid_bandits.learner._validate import MOST_DECISIONS
from matroid_bandits.learner._wanted import (
    IGNORE,
    RAISE,
    Wanted,
    read_features,
    read_rows,
    read_wanted,
    without_unknown,
)
from matroid_bandits.policies import Feedback, Policy, Request, as_policy, choose_sets
from matroid_bandits.stream import HOLDOUT, POLICY, Stream, as_seed

#: The run of the first redraw: run 0 is the learner's own, and departed items have the next ones.
_FIRST_REDRAW = 2**31

#: What tells the random numbers of a control from those of its learner.
_CONTROL_SEED = 0x9E3779B97F4A7C15

#: Called with every event that happens to a learner, as a plain JSON form.
Record = Callable[[dict[str, Any]], None]


_NOWHERE: IntArray = np.empty(0, np.int64)


class Core:
    """A learner without its lock: snapshots, events and explanations read it and write to it.

    Its arguments and its methods are those of `Learner`.

    Attributes
    ----------
    constraint, policy, id, holdout, max_departed, engine
        What the learner was made of; the first two as they are now.
    stream : Stream
        The policy's random numbers.
    agent : Agent
        What was seen, and the open plays by episode: the book of decisions that wait. A play's note is an `Asked`.
    features : float64 array (L, d), or None
        Features of requests that bring none.
    departed : Departed
        What was known of items when they left.
    control : Core, or None
        A learner that answers what is held out, and learns from that alone; None where random sets do.
    reader : Reader
        Reads weights that are told.
    episode : int
        How many decisions were asked for.
    n_changes, changed_at : int
        How often items changed or started anew, and the last decision before items changed.
    n_steps : int
        How often the state has begun to change.
    n_known : int
        How many items have ever arrived.
    has_forgotten : bool
        Whether something was learnt by a policy that forgets, so that what is counted is not all that was seen.
    is_evidence_whole : bool
        Whether it is known which weights were told and how many items there were: not in files of earlier versions.
    n_unknown : int
        How often requests have named items that were not there, and were served.
    is_replaying : bool
        Whether an event of a log is happening, in which items go by their labels alone.
    record : callable, or None
        Called with every event before it happens.
    """

    n_steps = n_unknown = 0
    is_evidence_whole = True

    def __init__(
        self,
        constraint: Constraint,
        policy: Policy,
        *,
        minimize: bool = False,
        seed: int | None = None,
        id: str | None = None,
        priors: Any = None,
        features: Any = None,
        holdout: Any = 0.0,
        max_departed: int = 100_000,
        engine: EngineChoice = "auto",
        record: Record | None = None,
    ) -> None:
        if not isinstance(constraint, Constraint):
            raise PolicyError(f"expected a Constraint, such as a Matroid; got {type(constraint).__name__}")
        if id is not None and not (isinstance(id, str) and id):
            raise PolicyError(f"expected id to be a string, got {id!r}")
        self.constraint, self.policy = constraint, as_policy(policy)
        is_cost = as_flag("minimize", minimize, error=PolicyError)
        self.holdout = Holdout.of(holdout)
        self.max_departed = as_integer("max_departed", max_departed, error=PolicyError)
        self.stream = Stream(as_seed(seed), range(1), POLICY)
        self.id = secrets.token_hex(16) if id is None else id
        self.engine = engine
        self.agent = Agent(constraint, policy, minimize=is_cost, engine=engine)
        self.features = None if features is None else read_features(constraint, policy, features)
        if priors is not None and isinstance(priors, str):
            raise FeedbackError(f"expected priors by item before anything is known, got {priors!r}")
        self.is_replaying = False
        self._set_priors(priors, np.ones(constraint.n_items, bool), None)
        self.departed = Departed()
        self.reader = Reader(self)
        self.episode = self.n_changes = self.changed_at = 0
        self.n_known, self.has_forgotten = constraint.n_items, policy.forgets
        self.control = self._made_control(self.holdout, priors)
        self.record: Record | None = None
        if record is not None:
            created = _events.created(self, priors, self.features)
            self.record = record
            record(created)

    @property
    def minimize(self) -> bool:
        """Whether weights are costs."""
        return self.agent.state.minimize

    @property
    def seed(self) -> int:
        """The seed of the policy's random choices."""
        return self.stream.seed

    def alarms(self) -> tuple[IntArray, IntArray] | None:
        """How often each item has started anew by itself, and after which decision last."""
        alarms = self.agent.state.alarms
        return None if alarms is None else (alarms[0][0].copy(), alarms[1][0].copy())

    def outstanding(self) -> tuple[Decision, ...]:
        """Decisions that still wait for weights, oldest first; of items that are still there."""
        return tuple(self.decision(id, play) for id, play in self.agent.open.items())

    def ask(
        self,
        wanted: Mapping[str, Any],
        features: Any,
        tags: Any = None,
        *,
        expected: list[Label] | None = None,
        instead: list[Label] | None = None,
        taken: tuple[list[Label], bool] | None = None,
    ) -> Decision:
        """Choose a set; one that must be `expected`, or that is `taken` as given.

        Where a set drawn at random is expected, the learner would have chosen another `instead`.
        """
        if not wanted and features is None and tags is None and expected is None and taken is None:
            is_plain = self.record is None and self.features is None and self.policy.n_features is None
            if is_plain and self.holdout.share <= 0.0:
                return self._ask_plainly()
        n_unknown = 0
        if wanted.get("unknown") == IGNORE:
            wanted, n_unknown = without_unknown(self.constraint, wanted)
        asked, tags = self.read_wanted(wanted, features), read_tags(tags)
        self.n_steps += 1
        self.n_unknown += n_unknown
        request, items, sizes, is_held_out = self._choose(asked, tags, taken)
        t = request.episode
        own = None
        if items.shape[1] != sizes[0]:
            items = items[:, : sizes[0]]
        if is_held_out and (self.record is not None or instead is not None) and taken is None:
            chosen, n_chosen = self.agent.choose(request)
            own = chosen[0, : n_chosen[0]]
        if expected is not None:
            for said, decided in ((expected, items[0]), (instead, own)):
                found = None if decided is None else [self.constraint.labels[e] for e in decided.tolist()]
                if said is not None and found != said:
                    raise ReplayError(f"decision {t}: the log says {said}, this learner decides {found}")
        if self.record is not None:
            self.record(_events.asked(t, items[0], asked, self.constraint, is_held_out, own, tags))
        play = self.agent.play(request, items, sizes, is_own=not is_held_out)
        chosen = play.items[0]
        self.episode = t
        if asked is not None:
            play.request = Request(t, self.stream)  # without its masks, which may be large
        play.note = Asked(self.constraint.labels, chosen, asked, is_held_out, tags=tags)
        if is_held_out:
            if self.control is not None:
                play.note.control = self.control.follow(self._for_control(asked), items, sizes)
            if not self.holdout.learns:
                self.agent.keep_apart(play)
        return Decision(t, chosen, self.constraint, self.id, request.pinned, is_held_out, tags=tags)

    def _ask_plainly(self) -> Decision:
        """`ask` where nothing is wanted, known of items, held out or recorded, in fewer steps."""
        self.n_steps += 1
        t, constraint = self.episode + 1, self.constraint
        _check_number(t)
        play = self.agent.decide(Request(t, self.stream))
        chosen = play.items[0]
        self.episode = t
        play.note = Asked(constraint.labels, chosen, None)
        return Decision(t, chosen, constraint, self.id)

    def preview(self, wanted: Mapping[str, Any], features: Any, tags: Any = None) -> Decision:
        """The decision that `ask` would make now."""
        asked, tags = self.read_wanted(wanted, features), read_tags(tags)
        request, items, sizes, is_held_out = self._choose(asked, tags)
        return Decision(0, items[0, : sizes[0]], self.constraint, self.id, request.pinned, is_held_out, tags=tags)

    def request_of(self, asked: Wanted | None) -> Request:
        """The next request, for which this is wanted."""
        t, stream = self.episode + 1, self.stream
        return Request(t, stream) if asked is None else asked.request(t, stream, self.constraint.n_items)

    def follow(self, asked: Wanted | None, items: IntArray, sizes: IntArray) -> int:
        """Let an episode pass in which a control's set was chosen; its number."""
        request = self.request_of(asked)
        play = self.agent.play(request, items, sizes)
        self.episode = t = request.episode
        play.request = Request(t, self.stream)
        play.note = Asked(self.constraint.labels, play.items[0], None)
        return t

    def _made_control(self, holdout: Holdout, priors: Any = None) -> Core | None:
        """The learner that answers what is held out, before it has seen anything."""
        policy = holdout.control
        if policy is None:
            return None
        _check_control(holdout, self.policy)
        return Core(
            self.constraint,
            policy,
            minimize=self.minimize,
            seed=self.seed ^ _CONTROL_SEED,
            id=self.id,
            priors=priors if policy.takes_priors else None,
            features=self.features if policy.n_features is not None else None,
            max_departed=self.max_departed,
            engine=self.engine,
        )

    def _for_control(self, asked: Wanted | None) -> Wanted | None:
        """A request as the control's policy takes it."""
        assert self.control is not None
        is_plain = asked is None or asked.features is None or self.control.policy.n_features is not None
        return asked if is_plain or asked is None else replace(asked, features=None)

    def redraws(
        self, wanted: Mapping[str, Any], features: Any, n: int, is_control: bool = False
    ) -> tuple[IntArray, IntArray]:
        """The sets that the policy, or the control, would choose now at other random numbers, and their sizes."""
        asked = self.read_wanted(wanted, features)
        if is_control:
            if self.control is None:
                raise PolicyError("expected a learner whose hold-out has a control, got one with random sets")
            return self.control.redraws_of(self._for_control(asked), n)
        return self.redraws_of(asked, n)

    def redraws_of(self, asked: Wanted | None, n: int) -> tuple[IntArray, IntArray]:
        """The same for a request that has been read."""
        t = self.episode + 1
        stream = Stream(self.seed, _FIRST_REDRAW + np.arange(n), POLICY)
        request = Request(t, stream) if asked is None else asked.request(t, stream, self.constraint.n_items)
        return choose_sets(self.policy, self.agent.state.repeated(n), request)

    def tell(self, decision: Decision | int, weights: Any) -> None:
        """Count what the items of a decision were worth."""
        play = self.find(decision)
        if self.record is None and play.told is None and not self.n_changes and type(weights) is np.ndarray:
            # a whole answer to items that have the numbers they had, in fewer steps
            self._learn(play, self.reader.read_whole(weights, play.items[0]), None)
            return
        id = play.request.episode
        numbering = *self._numbering(decision, id), self._free(play)
        places, values, labels = self.reader.read(weights, play.items[0], id, *numbering)
        self._check_once(play, places)
        if self.record is not None:
            if self.agent.may_refuse:
                self._check_taken(play, values, places)
            labels = self.reader.labels(play.items[0], places) if labels is None else labels
            self.record(_events.told(id, labels, values, is_whole=places is None))
        self._learn(play, values, places)

    def check_tell(self, decision: Decision | int, weights: Any) -> None:
        """Raise what `tell` would raise."""
        play = self.find(decision)
        id = play.request.episode
        numbering = *self._numbering(decision, id), self._free(play)
        places, _, _ = self.reader.read(weights, play.items[0], id, *numbering)
        self._check_once(play, places)

    def _free(self, play: Play) -> IntArray:
        """The places of a play that wait for answers which do not count, since their items were forgotten."""
        if not self.n_changes:
            return _NOWHERE
        is_free = play.items[0] == _items.NOWHERE
        return np.flatnonzero(is_free if play.told is None else is_free & ~play.told)

    def close(self, decision: Decision | int, default: float | None = None) -> None:
        """Stop waiting for what a decision has not been told."""
        play = self.find(decision)
        value = self.reader.default(default)
        self._log(_events.closed(play.request.episode, value))
        self._close([play], value)

    def close_before(self, episode: int, default: float | None = None) -> int:
        """Close every open decision made before an episode; how many they are."""
        until = as_integer("episode", episode, error=UnknownDecisionError)
        value = self.reader.default(default)
        plays = [play for _, play in takewhile(lambda entry: entry[0] < until, self.agent.open.items())]
        self._log(_events.closed_before(until, value))
        self._close(plays, value)
        return len(plays)

    def observe(self, weights: Any) -> None:
        """Count weights seen before the first decision."""
        if self.episode:
            raise DecisionClosedError("expected observe() before the first ask(); use tell() after it")
        if self.policy.n_features is not None:
            read_features(self.constraint, self.policy, self.features)  # a policy refuses looks without features
        items = self.reader.all_items
        places, values, _ = self.reader.read(weights, items, 0)
        seen = items if places is None else places
        # The first look at an item belongs to episode 0, as in a simulation. Further ones have addresses past all
        # episodes, so that what a policy draws for them is drawn anew.
        looks = self.agent.state.counts[0, seen]
        parts = []
        for n in np.unique(looks).tolist():
            is_now = looks == n
            request = Request(MOST_DECISIONS + n if n else 0, self.stream, features=self.features)
            parts.append((request, seen[None, is_now], values[None, is_now]))
        if self.record is not None:
            for part in parts:
                self.agent.check_observe(*part)
            self.record(_events.observed(self.reader.labels(items, places), values))
        self.n_steps += 1
        self.reader.count(values)
        for part in parts:
            self.agent.observe(*part)

    def change(self, constraint: Constraint, *, priors: Any = None, features: Any = None, forget: Any = ()) -> None:
        """Go on with other items."""
        if not isinstance(constraint, Constraint):
            raise PolicyError(f"expected a Constraint, such as a Matroid; got {type(constraint).__name__}")
        if isinstance(forget, Mapping):
            raise ItemError(f"expected items or labels to forget, got the mapping {shown(forget)}")
        self.departed.recognise(constraint.labels)
        listed = _items.labels_of(forget, self.constraint, self.item, self.departed_item)
        known = _items.typical(self.agent.state, self.policy, self.departed, set(listed))
        rows, newcomers = self._read_rows(constraint, features, set(listed))
        agent, policy, turnover, is_new = _items.changed(
            self.agent,
            self.policy,
            self.departed,
            constraint,
            rows if self.policy.n_features is None else None,
            set(listed),
            self.engine,
            self.max_departed,
        )
        rest = self.constraint, self.policy, self.agent, self.features
        control = self._changed_control(constraint, priors, features, forget)
        self.constraint, self.policy, self.agent = constraint, policy, agent
        self.features = rows if policy.n_features is not None else None
        try:
            self._set_priors(priors, is_new, known)
            if self.record is not None:
                self.record(_events.changed(constraint, priors, self.features, rows, newcomers, listed))
        except BaseException:
            self.constraint, self.policy, self.agent, self.features = rest
            raise
        self.n_steps += 1
        self.control = control
        self.n_known += int(is_new.sum())
        self.departed.turn_over(turnover)
        self.reader = self.reader.renewed(self)
        self.n_changes += 1
        self.changed_at = self.episode  # decisions up to here were made with other numbers

    def _changed_control(self, constraint: Constraint, priors: Any, features: Any, forget: Any) -> Core | None:
        """The control with other items; the one that there is stays as it is."""
        if self.control is None:
            return None
        control = copy.deepcopy(self.control)
        policy = control.policy
        takes_features = policy.n_features is not None or policy.item_features is not None
        control.is_replaying = self.is_replaying
        control.change(
            constraint,
            priors=priors if policy.takes_priors else None,
            features=features if takes_features else None,
            forget=forget,
        )
        control.is_replaying = False
        return control

    def change_form(self, constraint: Constraint, *, priors: Any, features: Any, forget: Any) -> dict[str, Any]:
        """The event that `change` of the same arguments would record; nothing is changed.

        A service applies it as it will be read from a log, so that what was written can be read.
        """
        listed = _items.labels_of(forget, self.constraint, self.item, self.departed_item)
        rows, newcomers = self._read_rows(constraint, features, set(listed))
        own = rows if self.policy.n_features is not None else None
        return _events.changed(constraint, priors, own, rows, newcomers, listed)

    def configure(self, policy: Any = None, holdout: Any = None, restart: bool = False) -> None:
        """Go on with another policy or hold-out."""
        new, share, is_anew = self._read_settings(policy, holdout, restart)
        if not is_anew and new == self.policy:
            if share == self.holdout:
                return
            control = self._control_for(share)
            self._log(_events.configured(new, share, is_anew))
            self.n_steps += 1
            self._set_holdout(share, control)
            return
        control = self._control_for(share, new)
        made = (_configure.restarted if is_anew else _configure.configured)(self, new)
        self._log(_events.configured(new, share, is_anew))
        self.n_steps += 1
        self.policy = new
        self.agent, self.departed = made
        self._set_holdout(share, control)
        if self.features is not None and self.features.shape[1] != new.n_features:
            self.features = None
        extremes = self.reader.extremes
        self.reader = Reader(self)  # whose range is the new policy's
        if not is_anew:
            self.reader.extremes = extremes
        self.has_forgotten = new.forgets or (self.has_forgotten and not is_anew)
        self.n_changes += is_anew

    def _control_for(self, holdout: Holdout, policy: Policy | None = None) -> Core | None:
        """The control of a hold-out: that of today where it is the same, otherwise one that has seen nothing."""
        _check_control(holdout, self.policy if policy is None else policy)
        return self.control if holdout.control == self.holdout.control else self._made_control(holdout)

    def _set_holdout(self, holdout: Holdout, control: Core | None) -> None:
        if control is not self.control:
            for play in self.agent.open.values():
                if play.note is not None:
                    play.note.control = 0
        self.holdout, self.control = holdout, control

    def configure_form(self, policy: Any, holdout: Any, restart: bool) -> dict[str, Any]:
        """The event that `configure` of the same arguments would record; nothing is changed."""
        return _events.configured(*self._read_settings(policy, holdout, restart))

    def _read_settings(self, policy: Any, holdout: Any, restart: Any) -> tuple[Policy, Holdout, bool]:
        new = self.policy if policy is None else as_policy(policy)
        share = self.holdout if holdout is None else Holdout.of(holdout)
        return new, share, as_flag("restart", restart, error=PolicyError)

    def restart(self, items: Iterable[Any] | None = None) -> None:
        """Forget what is known of some items, or of all."""
        which = None if items is None else self.constraint.as_items(items)
        if self.record is not None:
            labels = None if which is None else [self.constraint.labels[e] for e in which.tolist()]
            self.record(_events.restarted(labels))
        self.n_steps += 1
        if self.control is not None:
            self.control.restart(which)
        _items.restart(self.agent, which)
        if which is None:
            self.departed.restart(self.policy, self.episode)
            self.reader.forget()
            self.has_forgotten = self.policy.forgets
        self.n_changes += 1

    def apply(self, event: Mapping[str, Any], trust: bool) -> Any:
        """Let a recorded event happen again."""
        self.is_replaying = True
        try:
            return _events.apply(self, event, as_flag("trust", trust, error=ReplayError))
        finally:
            self.is_replaying = False

    def _choose(
        self,
        asked: Wanted | None,
        tags: dict[str, Any] | None = None,
        taken: tuple[list[Label], bool] | None = None,
    ) -> tuple[Request, IntArray, IntArray, bool]:
        """The next request, the set chosen for it with its size, and whether it was drawn at random."""
        t, constraint = self.episode + 1, self.constraint
        _check_number(t)
        request = self.request_of(asked)
        if taken is not None:
            items = constraint.as_items([constraint.item(label) for label in taken[0]])[None]
            return request, items, np.array([items.shape[1]]), taken[1]
        if self.holdout.draws(self.stream, t, tags):
            if self.control is not None:
                return request, *self.control.agent.choose(self.control.request_of(self._for_control(asked))), True
            u = self.stream.with_purpose(HOLDOUT).uniform(t, np.arange(constraint.n_items))
            u = u - 1.0 if constraint.cost_reason else u  # gains above 0 would all be alike
            mask = None if asked is None else asked.mask(constraint.n_items)
            items, sizes = constraint.solve(u, available=mask, pinned=request.pinned)
            return request, items[:, : sizes[0]], sizes, True
        return request, *self.agent.choose(request), False

    def _numbering(self, decision: Decision | int, id: int) -> tuple[Decision | None, bool]:
        """Whose numbers an answer may go by besides labels, None for those of today; and whether by labels alone."""
        is_older = id <= self.changed_at
        return decision if is_older and isinstance(decision, Decision) else None, is_older

    def _check_once(self, play: Play, places: IntArray | None) -> None:
        """Raise when one of some places of a play, or of all for None, was told before."""
        told = play.told
        if told is not None and (told.any() if places is None else told[places].any()):
            again = np.flatnonzero(told)[0] if places is None else places[told[places]][0]
            raise DecisionClosedError(
                f"expected a weight once per item; item {self.reader.name(play.items[0, again])} of decision "
                f"{play.request.episode} was told before"
            )

    def _check_taken(self, play: Play, values: Any, places: IntArray | None) -> None:
        """Raise what a policy that may refuse answers raises, before anything is recorded."""
        told = np.arange(play.items.size) if places is None else places
        is_here = play.items[0, told] >= 0
        if is_here.any() and play.is_counted:
            self.agent.check_learn(play, values[is_here], told[is_here])

    def _control_play(self, play: Play) -> Play | None:
        """The same decision as the control has it; None of the learner's own."""
        if self.control is None or play.note is None or not play.note.control:
            return None
        return self.control.agent.open.get(play.note.control)

    def _learn(self, play: Play, values: Any, places: IntArray | None) -> None:
        """Count weights, those of items that have left where they are kept."""
        items = play.items[0]
        self.n_steps += 1
        self.reader.count(values)
        if self.control is not None and (of_control := self._control_play(play)) is not None:
            self.control._learn(of_control, values, places)
        if not play.is_counted:
            self.agent.dismiss(play, np.arange(items.size) if places is None else places)
            return
        if self.n_changes:  # before the first change no item can have left
            told = np.arange(items.size) if places is None else places
            is_here = items[told] >= 0
            if not is_here.all():
                self._learn_departed(play, values[~is_here], told[~is_here])
                places, values = told[is_here], values[is_here]
        if places is None or places.size:
            self.agent.learn(play, values, places)

    def _learn_departed(self, play: Play, values: Any, places: IntArray) -> None:
        sign = -1.0 if self.minimize else 1.0
        state, episode, one = self.agent.state, play.request.episode, np.zeros(1, np.int64)
        self.agent.dismiss(play, places)
        for place, value in zip(places.tolist(), values.tolist(), strict=True):
            code = int(play.items[0, place])
            if self.departed.knows(code):
                features = None if play.features is None else play.features[place : place + 1]
                # no number addresses its random numbers: it has those of a run of its own, as run 0 is all others'
                stream = Stream(self.stream.seed, [1 + place], POLICY)
                kept = None if play.kept is None else play.kept[place : place + 1]
                if kept is None and self.policy.n_kept:
                    kept = self.agent.nothing_kept(1)
                told = Feedback(one, one, np.array([sign * value]), episode, stream, features, kept=kept)
                self.departed.answer(code, told, state, self.policy)

    def _close(self, plays: list[Play], default: float | None) -> None:
        dropped = []
        self.n_steps += 1
        for play in plays:
            places = play.untold()
            if default is not None:
                self._learn(play, np.full(places.size, default), places)
                continue
            if (of_control := self._control_play(play)) is not None:
                self.control._close([of_control], None)  # type: ignore[union-attr]
            if not play.is_counted:
                self.agent.dismiss(play, places)
                continue
            items = play.items[0, places]
            is_here = items >= 0
            for code in items[~is_here].tolist():
                if self.departed.knows(code):
                    self.departed.drop(code, play.request.episode, self.agent.state, self.policy)
            if is_here.all():
                dropped.append((play, places))
            else:
                self.agent.dismiss(play, places[~is_here])
                dropped.append((play, places[is_here]))
        self.agent.close(dropped)
        for play in plays:
            self.agent.open.pop(play.request.episode, None)

    def find(self, decision: Decision | int) -> Play:
        """The open play of a decision."""
        if isinstance(decision, Decision):
            if decision._learner != self.id:
                raise UnknownDecisionError(
                    f"expected a decision of learner {self.id}, got {decision!r} of learner {decision.learner}"
                )
            id: Any = decision._id
        else:
            id = decision
        play = self.agent.open.get(id) if type(id) is int else None
        return self._find_otherwise(id) if play is None else play

    def _find_otherwise(self, id: Any) -> Play:
        try:
            number = as_integer("decision", id, 1, self.episode, error=UnknownDecisionError)
        except UnknownDecisionError:
            raise UnknownDecisionError(f"expected a decision or its id, 1..{self.episode}; got {id!r}") from None
        if number in self.agent.open:
            return self.agent.open[number]
        raise DecisionClosedError(f"decision {number} was told all its weights already, or closed")

    def decision(self, id: int, play: Play) -> Decision:
        """An open play as a decision, of items that are still there."""
        asked: Asked | None = play.note
        pinned = None
        if asked is not None and asked.wanted is not None and asked.wanted.pinned.size:
            pinned = asked.now(asked.wanted.pinned, self.constraint)
        is_held_out = asked is not None and asked.is_held_out
        items, places = play.items[0], None
        if self.n_changes:
            places = np.flatnonzero(items >= 0)
            places = places[np.argsort(items[places])]
            items = items[places]
        tags = None if asked is None else asked.tags
        return Decision(id, items, self.constraint, self.id, pinned, is_held_out, places, tags)

    def read_wanted(self, wanted: Mapping[str, Any], features: Any) -> Wanted | None:
        unknown = wanted.get("unknown", RAISE)
        if unknown == IGNORE:
            wanted, _ = without_unknown(self.constraint, wanted)
        elif unknown != RAISE:
            raise ItemError(f'expected unknown to be "raise" or "ignore", got {shown(unknown)}')
        if features is None:
            features = self.features
        if not wanted and features is None and self.policy.n_features is None:
            return None
        return read_wanted(
            self.constraint,
            self.policy,
            wanted.get("available"),
            wanted.get("exclude", ()),
            wanted.get("pinned", ()),
            features,
        )

    def next_request(self, features: Any) -> Request:
        rows = features if features is not None else self.features
        described = None if rows is None else read_features(self.constraint, self.policy, rows)
        return Request(self.episode + 1, self.stream, features=described)

    def _read_rows(self, constraint: Constraint, features: Any, forgotten: set[Label]) -> tuple[Any, list[int]]:
        """The features that come with a change, (L, d), or None; and the items that nothing is known of."""
        policy, before, left = self.policy, {*self.constraint.labels}, self.departed
        newcomers = [
            e
            for e, label in enumerate(constraint.labels)
            if label in forgotten or (label not in before and left.code(label) is None)
        ]
        if policy.n_features is None:
            if features is None:
                return None, newcomers
            width = None if policy.item_features is None else policy.item_features.shape[1]
            rows = read_rows(constraint, features, width, newcomers, is_strict=not self.is_replaying)
            if policy.item_features is not None and not self.is_replaying:  # in early logs they were ignored
                self._check_kept(constraint, features, rows, newcomers)
            return rows, newcomers
        if self.features is not None:
            return read_features(constraint, policy, features), newcomers
        if features is not None and not self.is_replaying:  # early versions dropped them
            raise PolicyError(f"expected no features, since requests bring those that {policy!r} needs; got some")
        return None, newcomers

    def _check_kept(self, constraint: Constraint, features: Any, rows: FloatArray, newcomers: list[int]) -> None:
        """Raise when rows of items that the learner knows are others than the policy has of them."""
        named = rows_of(features)
        given = range(constraint.n_items) if named is None else [constraint.as_item(key) for key in named[0]]
        before = {label: e for e, label in enumerate(self.constraint.labels)}
        own = self.policy.item_features
        assert own is not None
        for e in sorted({*given}.difference(newcomers)):
            label = constraint.labels[e]
            code = self.departed.code(label)
            kept = own[before[label]] if label in before else self.departed.rows("features", np.array([code]))[0, 0]
            if not np.array_equal(rows[e], kept):
                raise PolicyError(
                    f"expected features of new items, since items keep those that they came with; got "
                    f"{rows[e].tolist()} for {label!r}, which has {kept.tolist()}"
                )

    def _set_priors(self, priors: Any, newcomers: Any, known: tuple[float, float] | None) -> None:
        if priors is not None and not self.policy.takes_priors:
            raise PolicyError(f"expected no priors, since {self.policy!r} has beliefs of its own; got some")
        items, means, counts = _items.as_priors(priors, self.agent.state, newcomers, known, self.item)
        low, high = self.policy.support
        weights = -means if self.minimize else means
        is_wrong = ~((low <= weights) & (weights <= high)) & (counts > 0.0)
        if is_wrong.any():
            e = int(is_wrong.argmax())
            raise FeedbackError(
                f"{self.policy!r} needs weights in [{low:g}, {high:g}], got a prior mean of {weights[e]:g} for "
                f"{self.constraint.labels[items[e]]!r}"
            )
        if items.size:
            self.agent.set_priors(items, means, counts)

    def item(self, key: Any) -> int:
        """An item by its label or number; in a log by its label alone."""
        try:
            return self.constraint.item(key) if self.is_replaying else self.constraint.as_item(key)
        except ItemError:
            if self.constraint.has_labels:
                raise
            raise ItemError(f"expected an item or its label, got {shown(key)}") from None

    def departed_item(self, key: Any) -> int | None:
        """The code of the departed item that a key names; None where it names none."""
        code, key = self.departed.code(key), plain(key)
        is_number = code is not None and type(key) is int and 0 <= key < self.constraint.n_items
        if is_number and not self.is_replaying:
            raise ItemError(
                f"expected one item, got {key}, which is the label of an item that has left and the number of item "
                f"{self.constraint.labels[key]!r}"
            )
        return code

    def _log(self, event: dict[str, Any]) -> None:
        if self.record is not None:
            self.record(event)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"record": None}


def _check_number(episode: int) -> None:
    """Raise where a learner would make more decisions than its random numbers have addresses for."""
    if episode >= MOST_DECISIONS:
        raise DecisionClosedError(f"expected fewer than {MOST_DECISIONS} decisions of one learner")


def _check_control(holdout: Holdout, policy: Policy) -> None:
    """Raise unless requests bring the features that a control needs."""
    control = holdout.control
    if control is not None and control.n_features not in (None, policy.n_features):
        raise PolicyError(f"expected a control that needs no features beyond those of {policy!r}, got {control!r}")
