"""Everything that ever happened to a learner, written down play by play, and what plain policies make of it."""

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.learner._items import restart
from matroid_bandits.policies import evaluate

#: How far a gain may be from the first one that was seen before `Jumpy` raises an alarm.
JUMP = 0.75


class Jumpy(mb.Detector):
    """Raises an alarm at a gain that is far from the first one."""

    def prepare(self, shape):
        return {"first": np.full(shape, np.nan)}

    def observe(self, kept, gains):
        kept["first"][:] = np.where(np.isnan(kept["first"]), gains, kept["first"])
        return np.abs(gains - kept["first"]) > JUMP


@dataclass
class Play:
    """One item of one decision; `life` tells the lives of an item apart that was forgotten in between."""

    t: int
    label: str
    life: int
    row: list
    what: str = "waits"  # or "answered", "lost", "void"
    gain: float = 0.0
    is_open: bool = True  # nothing was told or closed, not even of an item that is forgotten


@dataclass
class Ledger:
    """The history of a learner, by label."""

    labels: list
    sign: float
    has_alarms: bool = False
    t: int = 0
    plays: list = field(default_factory=list)
    lives: Counter = field(default_factory=Counter)
    known: set = field(default_factory=set)  # here or departed
    priors: dict = field(default_factory=dict)  # label -> (mean gain, plays, when it came)
    typical: list = field(default_factory=list)  # all gains answered since everything was forgotten
    meant: dict = field(default_factory=dict)  # what an item was believed to be worth when it was last asked for
    first: dict = field(default_factory=dict)  # the first gain, for alarms
    seen: list = field(default_factory=list)  # (features, gain) of all answers in a belief that the items share
    events: list = field(default_factory=list)

    def __post_init__(self):
        self.known |= set(self.labels)

    def of(self, label, what):
        """The plays of an item's present life that are of one kind."""
        return [x for x in self.plays if (x.label, x.life, x.what) == (label, self.lives[label], what)]

    def open(self, t):
        return [x for x in self.plays if x.t == t and x.is_open]

    @property
    def mean_of_all(self):
        return math.fsum(self.typical) / len(self.typical) if self.typical else 0.0

    # What happens

    def prior(self, priors):
        for label, (mean, n) in priors.items():
            if n > 0:
                self.priors[label] = (self.sign * mean, n, self.t)
            self.events.append(("prior", self.name(label), self.sign * mean, n))

    def observe(self, weights):
        for label, w in weights.items():
            self.plays.append(Play(0, label, self.lives[label], None))
            self.events.append(("observe", self.name(label), w))
            self._answer([self.plays[-1]], w, event=False)

    def ask(self, labels, table):
        self.t += 1
        for label in labels:
            row = None if table is None else table[label]
            self.plays.append(Play(self.t, label, self.lives[label], row))
            if not self.of(label, "answered"):
                self.meant[label] = self.mean_of_all
        self.events.append(("ask", self.t, [self.name(label) for label in labels], table))

    def tell(self, t, weights):
        """Answers of items that have left come first, one by one."""
        plays = [x for x in self.open(t) if x.label in weights]
        for x in plays:
            if x.label not in self.labels:
                self._answer([x], weights[x.label])
        here = [x for x in plays if x.label in self.labels]
        if here:
            self._answer(here, *(weights[x.label] for x in here))

    def close(self, t, default):
        if default is not None:
            self.tell(t, {x.label: default for x in self.open(t)})
        for x in self.open(t):
            x.is_open = False
            if x.what == "waits":
                x.what = "lost"
                self.events.append(("close", t, [self.name_of(x)]))

    def change(self, labels, priors, forget):
        self.forget(forget)
        self.known -= set(forget)
        newcomers = [label for label in labels if label not in self.known]
        for label in newcomers:
            self.events.append(("came", self.name(label)))
        self.labels = list(labels)
        self.known |= set(labels)
        self.prior(priors)

    def forget(self, labels):
        """Begin another life of some items."""
        for label in labels:
            waiting = [x for x in self.plays if x.label == label and x.what == "waits"]
            for x in waiting:
                self.events.append(("close", x.t, [self.name_of(x)]))
            for x in self.plays:
                if x.label == label:
                    x.what = "void"
            self.lives[label] += 1
            for kept in (self.priors, self.meant, self.first):
                kept.pop(label, None)

    def restart(self):
        """Forget everything; time goes on."""
        self.forget(sorted(self.known))
        self.typical, self.seen = [], []
        self.events = [(*event[:2], [], None) for event in self.events if event[0] == "ask"]

    def _answer(self, plays, *weights, event=True):
        if event:
            counted = [(self.name_of(x), w) for x, w in zip(plays, weights, strict=True) if x.what == "waits"]
            if counted:
                self.events.append(("tell", plays[0].t, counted))
        alarmed = []
        for x, w in zip(plays, weights, strict=True):
            x.is_open = False
            if x.what != "waits":
                continue
            x.what, x.gain = "answered", self.sign * w
            self.typical.append(x.gain)
            self.seen.append((x.row, x.gain))
            if self.has_alarms and abs(x.gain - self.first.setdefault(x.label, x.gain)) > JUMP:
                alarmed.append(x.label)
        for label in alarmed:
            for x in self.plays:
                if (x.label, x.life) == (label, self.lives[label]) and x.what in ("answered", "lost"):
                    x.what = "void"
            for kept in (self.priors, self.first):
                kept.pop(label, None)
            self.meant[label] = self.mean_of_all
            self.seen = []

    # A name for each life of an item

    def name(self, label):
        return (label, self.lives[label])

    def name_of(self, play):
        return (play.label, play.life)


# What plain policies make of it: the index of an item in the next episode


def omm(ledger, label, scale):
    c = scale * math.sqrt(2 * math.log(max(ledger.t, 1)))
    gains = [x.gain for x in ledger.of(label, "answered")]
    waiting, lost = len(ledger.of(label, "waits")), len(ledger.of(label, "lost"))
    mu, n0, _ = ledger.priors.get(label, (0.0, 0.0, 0))
    n = len(gains) + n0
    if n:
        return (math.fsum(gains) + n0 * mu) / n + c / math.sqrt(n + waiting)
    return ledger.meant[label] + c / math.sqrt(waiting + lost) if waiting + lost else math.inf


def windowed(ledger, label, window, scale):
    """NaN where the mean is of answers that have left."""
    c = scale * math.sqrt(2 * math.log(max(min(ledger.t, window), 1)))
    gains, waiting, lost = (
        [x.gain for x in ledger.of(label, what) if x.t > ledger.t - window] for what in ("answered", "waits", "lost")
    )
    mu, n0, came = ledger.priors.get(label, (0.0, 0.0, 0))
    n0 = n0 if came > ledger.t - window else 0.0
    n = len(gains) + n0
    if n:
        return (math.fsum(gains) + n0 * mu) / n + c / math.sqrt(n + len(waiting))
    return math.nan if waiting or lost else math.inf


def discounted(ledger, label, gamma, scale):
    tau = math.fsum(gamma**i for i in range(ledger.t))
    c = scale * math.sqrt(2 * math.log(max(tau, 1.0)))

    def total(what, gain=lambda x: 1.0):
        return math.fsum(gain(x) * gamma ** (ledger.t - x.t) for x in ledger.of(label, what))

    mu, n0, came = ledger.priors.get(label, (0.0, 0.0, 0))
    n0 *= gamma ** (ledger.t - came)
    n = total("answered") + n0
    if n:
        return (total("answered", lambda x: x.gain) + n0 * mu) / n + c / math.sqrt(n + total("waits"))
    asked = total("waits") + total("lost")
    return ledger.meant[label] + c / math.sqrt(asked) if asked else math.inf


def linear(ledger, row, scale, noise):
    """The index of CombLinUCB with c = 1: all that was answered, and what waits of the items that are here."""
    precision, moment = np.eye(len(row)) / scale**2, np.zeros(len(row))
    for x, gain in ledger.seen:
        precision += np.outer(x, x) / noise**2
        moment += np.multiply(x, gain) / noise**2
    theta = np.linalg.solve(precision, moment)
    for label in ledger.labels:
        for play in ledger.of(label, "waits"):
            precision += np.outer(play.row, play.row) / noise**2
    return row @ theta + math.sqrt(row @ np.linalg.solve(precision, row))


def survivor(ledger, policy, minimize, stream, table):
    """The indices of the items that are here, by an agent to which only what survives has happened, in its order.

    It has the items that are here first, so that they have the same numbers, and a further item for each life that
    was forgotten; nothing ever leaves it. `policy` is made for the names in that order.
    """
    here = [ledger.name(label) for label in ledger.labels]
    listed = (name for event in ledger.events for name in _names(event))
    names = list(dict.fromkeys([*here, *listed]))
    labels = [label if ledger.lives[label] == life else f"{label}, life {life}" for label, life in names]
    place = {name: e for e, name in enumerate(names)}
    agent = Agent(mb.UniformMatroid(len(names), len(names), labels=labels), policy(labels), minimize=minimize)
    agent_policy, state = agent._policy, agent.state

    def request(t, table):
        if agent_policy.n_features is None:
            return mb.Request(t, stream)
        rows = np.zeros((len(names), agent_policy.n_features))
        for (label, _), e in place.items():
            rows[e] = (table or {}).get(label, 0.0)
        return mb.Request(t, stream, features=rows)

    def places(play, some):
        return np.array([np.flatnonzero(play.items[0] == place[name])[0] for name in some])

    for what, *rest in ledger.events:
        if what == "ask":
            t, some, rows = rest
            items = np.sort(np.array([place[name] for name in some], np.int64))[None]
            agent.play(request(t, rows), items, np.array([items.size]))
        elif what == "tell":
            play, (some, weights) = agent.open[rest[0]], zip(*rest[1], strict=True)
            agent.learn(play, np.array(weights), places(play, some))
        elif what == "close":
            play = agent.open[rest[0]]
            agent.close([(play, places(play, rest[1]))])
        elif what == "observe":
            agent.observe(request(0, None), np.array([[place[rest[0]]]]), np.array([[rest[1]]]))
        elif what == "came" and agent_policy.takes_priors:
            restart(agent, np.array([place[rest[0]]]))  # for policies that know when an item came
        elif what == "prior":
            agent.set_priors(np.array([place[rest[0]]]), np.array([rest[1]]), np.array([rest[2]]))
    for t, play in list(agent.open.items()):  # of items that have left nothing is expected
        away = [names[e] for e in play.items[0, play.untold()].tolist() if names[e] not in here]
        if away:
            agent.close([(agent.open[t], places(play, away))])
    agent.settle()
    return evaluate(agent_policy, state, request(ledger.t + 1, table))[0, : len(here)]


def _names(event):
    what, *rest = event
    if what in ("ask", "close"):
        return rest[1]
    return [name for name, _ in rest[1]] if what == "tell" else [rest[0]]
