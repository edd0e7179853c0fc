"""The methods of both clients, written once as generators of steps that each client drives in its own way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from matroid_bandits._typing import ArrayLike
from matroid_bandits._util.checks import as_integer, as_number
from matroid_bandits._util.names import decode
from matroid_bandits.client import _wire as wire
from matroid_bandits.client._addresses import Addresses
from matroid_bandits.client._exchange import Limit, Steps, fresh_id, get, post, put, read
from matroid_bandits.client._later import AsyncLater, Later
from matroid_bandits.client._remote import remote, remote_property
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import (
    MalformedRequestError,
    RateLimitError,
    StoppingError,
    UnavailableError,
    UnknownDecisionError,
)
from matroid_bandits.identification import Confidence, as_delta
from matroid_bandits.learner import (
    UNSAID,
    Answers,
    BestSet,
    Decision,
    Default,
    Estimates,
    Explanation,
    Holdout,
    Order,
)
from matroid_bandits.policies import Policy

#: An answer of the server as it is, where a `Learner` has nothing like it.
Form: TypeAlias = Any

#: How many waiting decisions the server lists.
_MOST_LISTED = 10_000


#: Seconds for which the best set is taken as known, where there are fallbacks.
_BEST_FOR = 30.0


class Methods:
    """The methods of both clients: those of `Learner` by the same names, and what a service has besides."""

    _later: Later | AsyncLater

    def __init__(self, urls: list[str], campaign: str, timeout: float, fallback: float | None = None) -> None:
        self._addresses, self._name, self._fallback = Addresses(urls), campaign, fallback
        self._best: Form = None  # the best set, and when it is to be read again
        self._best_until = 0.0
        self._path = f"/v1/campaigns/{quote(campaign, safe='')}"
        self._timeout = timeout
        self._known: wire.Campaign | None = None
        self._learner: str | None = None  # the id that its decisions carry
        self._n_changes = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the campaign."""
        return self._name

    # As `Learner` has them

    @remote
    def ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tags: Mapping[str, Any] | None = None,
        unknown: Literal["raise", "ignore"] = "raise",
        order: Order | None = None,
    ) -> Steps[Decision]:
        """Choose a set for one request; see `Learner.ask`."""
        wanted = available, exclude, pinned, features, tags, unknown, order
        (decision,) = yield from self._asked([wanted], is_batch=False)
        return decision

    @remote
    def ask_batch(self, requests: Iterable[Mapping[str, Any]]) -> Steps[list[Decision]]:
        """Choose a set for each of several requests, each a mapping of arguments of `ask`; all or none."""
        listed = []
        for request in requests:
            if others := request.keys() - _NOTHING.keys():
                raise MalformedRequestError(f"expected arguments of ask, got {min(others)!r}")
            listed.append(tuple((_NOTHING | dict(request)).values()))
        return (yield from self._asked(listed, is_batch=True))

    @remote
    def tell(
        self,
        decision: Decision | int,
        weights: ArrayLike | Mapping[Any, float] | None = None,
        *,
        clicked: Any = UNSAID,
        failed: Any = UNSAID,
        examined: Iterable[Any] | None = None,
    ) -> Steps[None]:
        """Record the weights of a decision's items, or where people stopped in its list; see `Learner.tell`."""
        id = None if _is_fallback(decision) else (yield from self._id_of(decision))
        form = wire.answer_form(decision, weights, clicked, failed, examined)
        if id is not None:
            yield from self._post("tell", {"decision": id, **form})

    @remote
    def tell_batch(self, answers: Iterable[tuple[Decision | int, Any] | Mapping[str, Any]]) -> Steps[None]:
        """Record the answers to several decisions, each a pair of decision and weights, or a mapping of arguments of
        `tell`; all or none."""
        listed, has_fallbacks = [], False
        for answer in answers:
            given = answer if isinstance(answer, Mapping) else dict(zip(("decision", "weights"), answer, strict=True))
            if others := given.keys() - _ANSWER:
                raise MalformedRequestError(f"expected arguments of tell, got {min(others)!r}")
            decision, *said = (given.get(name, nothing) for name, nothing in _ANSWER.items())
            id = None if _is_fallback(decision) else (yield from self._id_of(decision))
            form = wire.answer_form(decision, *said)
            if id is not None:
                listed.append({"decision": id, **form})
            else:
                has_fallbacks = True
        if listed or not has_fallbacks:
            yield from self._post("tell/batch", {"answers": listed})

    @remote
    def close(self, decision: Decision | int, default: Default = "answers") -> Steps[None]:
        """Stop waiting for the missing weights of a decision; see `Learner.close`."""
        form = wire.closing_form(default)
        if not _is_fallback(decision):
            id = yield from self._id_of(decision)
            yield from self._post("close", {"decision": id, **form})

    @remote
    def close_before(self, episode: int, default: Default = "answers") -> Steps[int]:
        """Close every outstanding decision made before an episode, and return their number."""
        until = as_integer("episode", episode, error=UnknownDecisionError)
        form = yield from self._post("close", {"before": until, **wire.closing_form(default)})
        return read(lambda form: int(form["closed"]), form)

    @remote
    def observe(self, weights: ArrayLike | Mapping[Any, float]) -> Steps[None]:
        """Record weights observed before the first decision; see `Learner.observe`."""
        yield from self._post("observe", {"weights": wire.weights_form(weights)})

    @remote
    def change(
        self,
        constraint: Constraint | Mapping[str, Any],
        *,
        priors: Mapping[Any, tuple[float, float]] | str | tuple[str, float] | None = None,
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        forget: Iterable[Any] = (),
    ) -> Steps[None]:
        """Replace the constraint: items may be added or removed; see `Learner.change`."""
        body = {
            "constraint": wire.constraint_form(constraint),
            "priors": wire.priors_form(priors),
            "features": wire.features_form(features),
            "forget": wire.labels_form(forget),
        }
        yield from self._post("change", body)
        self._forget()

    @remote
    def configure(
        self,
        *,
        policy: Policy | str | Mapping[str, Any] | None = None,
        holdout: float | Holdout | None = None,
        answers: Answers | None = None,
        restart: bool = False,
    ) -> Steps[None]:
        """Change the policy, the hold-out or what answers tell of; see `Learner.configure`."""
        body: dict[str, Any] = {"restart": restart}
        if answers is not None:
            body["answers"] = answers
        if policy is not None:
            body["policy"] = wire.policy_form(policy)
        if holdout is not None:
            body["holdout"] = wire.holdout_form(holdout)
        yield from put(self._path, body)

    @remote
    def restart(self, items: Iterable[Any] | None = None) -> Steps[None]:
        """Discard the statistics of some items, or of all; see `Learner.restart`."""
        yield from self._post("restart", {"items": None if items is None else wire.labels_form(items)})

    @remote
    def estimates(self, *, features: ArrayLike | Mapping[Any, ArrayLike] | None = None) -> Steps[Estimates]:
        """Return the current estimates of each item; see `Learner.estimates`."""
        form = yield from self._post("estimates", {"features": wire.features_form(features)}, is_change=False)
        return read(Estimates.from_dict, form)

    @remote
    def best_basis(self, *, pessimism: float | None = None, deviation: float = 0.5) -> Steps[BestSet]:
        """Return the set of largest mean weights so far, without exploration; see `Learner.best_basis`."""
        query = f"best?deviation={as_number('deviation', deviation, 0.0)}"
        if pessimism is not None:
            query += f"&pessimism={as_delta(pessimism)}"
        return read(BestSet.from_dict, (yield from self._get(query)))

    @remote
    def confidence(
        self, *, deviation: float | None = None, tolerance: float = 0.0, delta: float = 0.05
    ) -> Steps[Confidence]:
        """Return how certain the best set is, for weights in [0, 1] unless a deviation is given; see
        `Learner.confidence`."""
        query = f"confidence?delta={as_delta(delta)}&tolerance={as_number('tolerance', tolerance, 0.0)}"
        if deviation is not None:
            query += f"&deviation={as_number('deviation', deviation, 0.0)}"
        reason, found = read(_confidence, (yield from self._get(query)))
        if found is None:
            raise StoppingError(reason)
        return found

    @remote
    def explain(
        self,
        item: Any,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        decision: Decision | int | None = None,
    ) -> Steps[Explanation]:
        """Explain why an item is in or out of the set for a request, or of a decision; see `Learner.explain`."""
        body = yield from self._request(available, exclude, pinned, features)
        (body["item"],) = wire.labels_form([item])
        if decision is not None:
            body["decision"] = yield from self._id_of(decision)
        form = yield from self._post("explain", body, is_change=False)
        return read(Explanation.from_dict, form)

    @remote_property
    def constraint(self) -> Steps[Constraint]:
        """The current constraint, which says which sets may be chosen."""
        return (yield from self._look()).constraint

    @remote_property
    def id(self) -> Steps[str]:
        """Identifier of the campaign's learner, which its decisions carry."""
        return (yield from self._campaign()).id

    @remote_property
    def minimize(self) -> Steps[bool]:
        """Whether weights are costs."""
        return (yield from self._campaign()).minimize

    @remote_property
    def seed(self) -> Steps[int]:
        """The seed of the policy's random choices."""
        return read(lambda form: int(form["seed"]), (yield from self._shown()))

    @remote_property
    def holdout(self) -> Steps[Holdout]:
        """Settings of the hold-out: the share of requests answered by a random set."""
        return read(wire.read_holdout, (yield from self._shown()))

    @remote_property
    def n_decisions(self) -> Steps[int]:
        """Number of decisions made."""
        return read(lambda form: int(form["decisions"]), (yield from self._shown()))

    @remote_property
    def n_outstanding(self) -> Steps[int]:
        """Number of decisions that still wait for weights."""
        return read(lambda form: int(form["waiting"]), (yield from self._shown()))

    @remote_property
    def outstanding(self) -> Steps[tuple[Decision, ...]]:
        """Decisions that still wait for weights, oldest first, at most 10,000 of them."""
        form = yield from self._get(f"waiting?limit={_MOST_LISTED}")
        return read(lambda form: tuple(Decision.from_dict(each) for each in form["decisions"]), form)

    # What a service has besides

    @remote
    def create(
        self,
        constraint: Constraint | Mapping[str, Any],
        policy: Policy | str | Mapping[str, Any],
        *,
        minimize: bool = False,
        seed: int | None = None,
        priors: Mapping[Any, tuple[float, float]] | None = None,
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        holdout: float | Holdout = 0.0,
        answers: Answers | None = None,
        title: str = "",
        about: str = "",
        answer_window: float | None = None,
        default: float | None = None,
    ) -> Steps[Form]:
        """Create the campaign on the server, with the arguments of `Learner`.

        Parameters
        ----------
        constraint : Matroid, or mapping
            Which sets may be chosen; also in the words of a problem file.
        policy : Policy, str, or mapping
            How to choose; also by its name, or in the words of a problem file.
        minimize, seed, priors, features, holdout
            As for `Learner`.
        title, about : str
            What people read of the campaign.
        answers : str, optional
            As for `Learner`; by default "clicks" with an `answer_window` and the `default` 0, otherwise "all".
        answer_window : float, optional
            Seconds after which what was not told counts as `default`, or is forgotten without one.
        default : float, optional
            The weight of what was not told in time; with clicks it is 0, and none where people stop in a list.

        Returns
        -------
        dict
            The campaign, as `show` gives it.
        """
        body = {
            "name": self._name,
            "title": title,
            "about": about,
            "constraint": wire.constraint_form(constraint),
            "policy": wire.policy_form(policy),
            "direction": "minimize" if minimize else "maximize",
            "seed": seed,
            "holdout": wire.holdout_form(holdout),
            "answer_window": answer_window,
            "default": wire.default_form(default),
            "priors": wire.priors_form(priors),
            "features": wire.features_form(features),
        }
        if answers is not None:
            body["answers"] = answers
        created: Form = yield from post("/v1/campaigns", body)
        self._forget()
        return created

    @remote
    def show(self) -> Steps[Form]:
        """Return the campaign's settings and state, without its constraint."""
        return (yield from self._shown())

    @remote
    def update(self, settings: Mapping[str, Any], *, dry_run: bool = False) -> Steps[list[Form]]:
        """Change the campaign's settings, given by the keys of a campaign file; others stay as they are.

        Parameters
        ----------
        settings : mapping
            Any of ``title``, ``about``, ``answer_window``, ``default``, ``policy``, ``holdout``, ``answers``,
            ``restart``, ``constraint``; or, instead of the last, what comes, goes and changes: ``add``, ``remove``,
            ``change``, ``capacities``, ``budget``, see `constraints.edited`.
        dry_run : bool, default False
            Change nothing.

        Returns
        -------
        list of dict
            What differs: each with its ``setting``, and what it was ``before`` and is ``after``.
        """
        path = f"{self._path}?dry_run=true" if dry_run else self._path
        form = yield from put(path, dict(settings), is_change=not dry_run)
        if not dry_run:
            self._forget()
        return read(lambda form: list(form["differences"]), form)

    @remote
    def campaigns(self) -> Steps[list[Form]]:
        """Return a summary of every campaign of the server that the key may read."""
        return read(lambda form: list(form["campaigns"]), (yield from get("/v1/campaigns")))

    @remote
    def preview(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tags: Mapping[str, Any] | None = None,
        unknown: Literal["raise", "ignore"] = "raise",
        order: Order | None = None,
    ) -> Steps[tuple[Any, ...]]:
        """Return the labels that the next `ask` would choose, in order where they are a list, without changing the
        campaign."""
        body = yield from self._request(available, exclude, pinned, features, tags, unknown, order)
        form = yield from self._post("preview", body, is_change=False)
        return read(lambda form: tuple(decode(label) for label in form.get("order") or form["items"]), form)

    @remote
    def pause(self) -> Steps[Form]:
        """Pause the campaign: asks are refused, feedback is still accepted."""
        return (yield from self._post("pause"))

    @remote
    def resume(self) -> Steps[Form]:
        """Resume a paused campaign."""
        return (yield from self._post("resume"))

    @remote
    def archive(self) -> Steps[Form]:
        """End the campaign permanently; it can still be read."""
        return (yield from self._post("archive"))

    @remote
    def alarms(self) -> Steps[list[Form]]:
        """Return the alarms that were not acknowledged, oldest first."""
        return read(lambda form: list(form["alarms"]), (yield from self._get("alarms")))

    @remote
    def acknowledge(self, until: int | None = None) -> Steps[list[Form]]:
        """Acknowledge alarms, up to an event or all, and return the remaining ones."""
        last = None if until is None else as_integer("until", until, 1, error=MalformedRequestError)
        return read(lambda form: list(form["alarms"]), (yield from self._post("acknowledge", {"until": last})))

    @remote
    def events(self, after: int = 0, limit: int = 1000) -> Steps[list[Form]]:
        """Return at most `limit` events of the campaign's log after a given event."""
        after = as_integer("after", after, error=MalformedRequestError)
        limit = as_integer("limit", limit, error=MalformedRequestError)
        return read(lambda form: list(form["events"]), (yield from self._get(f"events?after={after}&limit={limit}")))

    @remote
    def sizes(self) -> Steps[Form]:
        """Return the number of events and bytes of the campaign in the database and in the archive, and the
        database's size."""
        return (yield from self._get("sizes"))

    @remote
    def uplift(self) -> Steps[Form]:
        """Return how much better the learner is than its control: in one sentence, by window, and day by day."""
        return (yield from self._get("uplift"))

    @remote
    def history(self, resolution: int = 60, after: float = 0.0) -> Steps[Form]:
        """Return the campaign's counts and average weights over time, in steps of 1, 60, 3600 or 86400 seconds."""
        resolution = as_integer("resolution", resolution, error=MalformedRequestError)
        after = as_number("after", after, error=MalformedRequestError)
        return (yield from self._get(f"history?resolution={resolution}&after={after}"))

    # Steps of the methods

    def _asked(self, requests: list[Any], *, is_batch: bool) -> Steps[list[Decision]]:
        if self._fallback is not None:
            yield Limit(self._fallback)
            if self._best is None:
                yield from self._look_for_best()
        bodies = []
        for request in requests:
            bodies.append((yield from self._request(*request)))
        path, body = ("ask/batch", {"requests": bodies}) if is_batch else ("ask", bodies[0] or None)
        request_id = fresh_id()
        try:
            form = yield from post(f"{self._path}/{path}", body, request_id=request_id)
        except (UnavailableError, RateLimitError):
            found = self._fallbacks(bodies)
            if found is None:
                raise
            self._later.put((lambda: self._settle(path, body, request_id), True))
            return found
        if self._fallback is not None and time.monotonic() > self._best_until:
            self._best_until = time.monotonic() + _BEST_FOR
            self._later.put((self._look_for_best, False))
        decisions = read(lambda form: [Decision.from_dict(each) for each in _listed(form, is_batch)], form)
        for decision in decisions:
            self._learner = decision.learner
        known = self._known
        if known is not None and not all(map(known.agrees, decisions)):
            self._forget()  # the items have changed: what needs their numbers looks again
        return decisions

    def _look_for_best(self) -> Steps[None]:
        """Read the best set, for asks that the server does not answer in time."""
        form = yield from self._get("best")
        learner = self._learner or (yield from self._campaign()).id
        labels, numbers = read(lambda form: (list(form["items"]), list(form["numbers"])), form)
        self._best = {"learner": learner, "items": labels, "numbers": numbers, "order": form.get("order", labels)}
        self._best_until = time.monotonic() + _BEST_FOR

    def _fallbacks(self, bodies: list[Any]) -> list[Decision] | None:
        """The last known best set for each request; None where there is none that does."""
        best = self._best if self._fallback is not None else None
        if best is None:
            return None
        found = []
        for body in bodies:
            pairs = [
                (label, number)
                for label, number in zip(best["items"], best["numbers"], strict=True)
                if label not in body.get("exclude", ()) and label in body.get("available", (label,))
            ]
            labels, pinned = [label for label, _ in pairs], body.get("pinned", [])
            if any(label not in labels for label in pinned):
                return None
            form = {"decision": None, "learner": best["learner"], "items": labels, "pinned": pinned}
            form |= {"numbers": [number for _, number in pairs], "full": len(pairs) == len(best["items"])}
            order = [label for label in best["order"] if label in labels and label not in pinned]
            order = [*pinned, *(order[::-1] if body.get("order") == "explore" else order)]
            form |= {"held_out": False, "fallback": True, "tags": body.get("tags"), "order": order}
            found.append(Decision.from_dict(form))
        return found

    def _settle(self, path: str, body: Any, request_id: str) -> Steps[None]:
        """Close what an ask has decided whose answer did not come in time: sent again, it gets the same answer."""
        form = yield from post(f"{self._path}/{path}", body, request_id=request_id)
        for each in _listed(form, path == "ask/batch"):
            id = read(lambda form: int(form["decision"]), each)
            yield from self._post("close", {"decision": id, "default": None})

    def _request(self, *wanted: Any) -> Steps[dict[str, Any]]:
        """The arguments of `ask` as the server takes them; the campaign is looked at where numbers name items."""
        read_once = wire.Wanted.of(*wanted)
        campaign = (yield from self._campaign()) if read_once.has_numbers else None
        return read_once.to_dict(campaign)

    def _campaign(self) -> Steps[wire.Campaign]:
        """What is remembered of the campaign; asked for where nothing is."""
        known = self._known  # another thread may replace it at any time
        return (yield from self._look()) if known is None else known

    def _look(self) -> Steps[wire.Campaign]:
        """The campaign as the server describes it now, which is remembered unless it was changed meanwhile."""
        n_changes = self._n_changes
        found = read(wire.Campaign.of, (yield from get(self._path)))
        with self._lock:
            if n_changes == self._n_changes:
                self._known = found
        return found

    def _forget(self) -> None:
        """Forget what is remembered of the campaign's items, since they have changed."""
        with self._lock:
            self._n_changes += 1
            self._known = None

    def _id_of(self, decision: Decision | int) -> Steps[int]:
        if not isinstance(decision, Decision):
            return as_integer("decision", decision, error=UnknownDecisionError)
        own = self._learner
        if own is None:
            own = self._learner = (yield from self._campaign()).id
        if decision.learner != own:
            raise UnknownDecisionError(
                f"expected a decision of learner {own}, got {decision!r} of learner {decision.learner}"
            )
        return decision.id

    def _shown(self) -> Steps[Form]:
        return (yield from self._get("?constraint=false"))

    def _get(self, what: str) -> Steps[Any]:
        return get(self._path + ("" if what.startswith("?") else "/") + what)

    def _post(self, what: str, body: Any = None, *, is_change: bool = True) -> Steps[Any]:
        return post(f"{self._path}/{what}", body, is_change=is_change)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._addresses.words!r}, {self._name!r})"


def _is_fallback(decision: Any) -> bool:
    """Whether a decision was made here, without the server, so that nothing can be learnt from it."""
    return isinstance(decision, Decision) and decision.is_fallback


def _listed(form: Form, is_batch: bool) -> list[Form]:
    """The decisions in an answer."""
    return read(lambda form: list(form["decisions"]) if is_batch else [form], form)


#: The arguments of `ask`, and what they are where they are not given.
_NOTHING: dict[str, Any] = {
    "available": None, "exclude": (), "pinned": (), "features": None, "tags": None, "unknown": "raise",
    "order": None,
}  # fmt: skip

#: The arguments of `tell`, likewise.
_ANSWER: dict[str, Any] = {"decision": None, "weights": None, "clicked": UNSAID, "failed": UNSAID, "examined": None}


def _confidence(form: Mapping[str, Any]) -> tuple[str, Confidence | None]:
    """Why it cannot be said how sure the best set is, or how sure it is."""
    found = form["confidence"]
    return str(form["reason"]), None if found is None else Confidence.from_dict(found)
