"""Slow, obvious oracles: every subset, every basis, exact fractions, the paper's pseudocode."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np

from matroid_bandits._util.sums import added
from matroid_bandits.environments import Environment
from matroid_bandits.stream import START, WEIGHTS, Stream


def subsets(n_items):
    return [frozenset(X) for size in range(n_items + 1) for X in combinations(range(n_items), size)]


class SetSystem:
    """A matroid as the plain collection of its independent sets."""

    def __init__(self, n_items, is_independent):
        self.n_items = n_items
        self.independent = {X for X in subsets(n_items) if is_independent(X)}
        self.rank = max(map(len, self.independent))
        self.bases = {X for X in self.independent if len(X) == self.rank}

    def rank_of(self, X):
        return max(len(Y) for Y in self.independent if Y <= X)

    def extension(self, X):
        return {e for e in range(self.n_items) if e not in X and X | {e} in self.independent}

    def closure(self, X):
        return {e for e in range(self.n_items) if self.rank_of(X | {e}) == self.rank_of(X)}

    def circuit(self, basis, e):
        return {e} | {f for f in basis if (basis - {f}) | {e} in self.independent}

    def best_basis(self, weights, minimize=False):
        """The optimal basis that comes first along the greedy order, found by looking at every basis."""
        order = sorted(range(self.n_items), key=lambda e: (weights[e] if minimize else -weights[e], e))
        place = {e: i for i, e in enumerate(order)}
        return sorted(min(self.bases, key=lambda B: sorted(place[e] for e in B)))

    def best_set(self, weights, available, pinned):
        """The first optimal basis of what is available or pinned that holds what is pinned, of all there are."""
        ground = frozenset(available) | frozenset(pinned)
        sets = [X for X in self.independent if frozenset(pinned) <= X <= ground]
        largest = max(map(len, sets))
        order = sorted(range(self.n_items), key=lambda e: (-weights[e], e))
        place = {e: i for i, e in enumerate(order)}
        return sorted(min((X for X in sets if len(X) == largest), key=lambda X: sorted(place[e] for e in X)))

    def total(self, basis, weights):
        return added(weights[e] for e in basis)


# Independence from first principles, one function per family.


def uniform(rank):
    return lambda X: len(X) <= rank


def quotas(groups):
    return lambda X: all(len(X & set(items)) <= capacity for items, capacity in groups)


def forest(edges):
    def is_forest(X):
        component = {v: {v} for edge in edges for v in edge}
        for e in X:
            u, v = edges[e]
            if component[u] is component[v]:
                return False
            union = component[u] | component[v]
            for w in union:
                component[w] = union
        return True

    return is_forest


def matchable(neighbors):
    def hall(X):
        return all(
            len(set().union(*(neighbors[e] for e in S))) >= len(S)
            for size in range(1, len(X) + 1)
            for S in combinations(X, size)
        )

    return hall


def rank_over(vectors, p=None):
    """Rank of integer vectors over the rationals, or modulo p, in exact arithmetic."""
    rows = [[Fraction(int(x)) if p is None else int(x) % p for x in row] for row in vectors]
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        head = rows[rank]
        inverse = 1 / head[column] if p is None else pow(head[column], -1, p)
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] * inverse
            rows[r] = [
                x - factor * y if p is None else (x - factor * y) % p for x, y in zip(rows[r], head, strict=True)
            ]
        rank += 1
    return rank


def linear(vectors, p=None):
    return lambda X: rank_over([vectors[e] for e in X], p) == len(X)


def greedy(order, is_independent):
    """The paper's Algorithm 1 along a given order."""
    return sorted(greedy_from((), order, is_independent))


def greedy_from(taken, order, is_independent):
    """Algorithm 1 from items already taken on: those, and what it accepts, in that order."""
    chosen = list(taken)
    for e in order:
        if e not in chosen and is_independent(frozenset(chosen) | {e}):
            chosen.append(e)
    return chosen


def greedy_order(weights, minimize=False):
    return np.lexsort((np.arange(len(weights)), weights if minimize else -np.asarray(weights)))


def omm(n_items, is_independent, draw, n_episodes, *, minimize=False, scale=1.0, observe=True):
    """The paper's Algorithm 2, line by line: the basis of every episode.

    `draw(t, items)` gives the weights of `items` in episode t, and the paper's w_0 for t = 0. Costs enter as gains
    of the other sign. Without `observe` an item never seen has an infinite index.
    """
    E, sign = range(n_items), -1.0 if minimize else 1.0
    T, total = dict.fromkeys(E, 0), dict.fromkeys(E, 0.0)

    def update(items, weights):
        for e, w in zip(items, weights, strict=True):
            T[e] += 1
            total[e] += sign * float(w)

    if observe:
        update(E, draw(0, E))
    bases = []
    for t in range(1, n_episodes + 1):
        c = scale * math.sqrt(2 * math.log(max(t - 1, 1)))
        U = {e: total[e] / T[e] + c * (1 / math.sqrt(T[e])) if T[e] else math.inf for e in E}
        order = sorted(E, key=lambda e: (-U[e], e))
        A = greedy(order, is_independent)
        update(A, draw(t, A))
        bases.append(A)
    return bases


def waiting_omm(n_items, is_independent, draw, n_episodes, *, available, delays, minimize, scale, observe):
    """OMM where not everything is available and answers are late, line by line: the set of every episode.

    `available(t)` gives the items of episode t; `delays(t, items)` how many episodes later the weights of `items`,
    chosen in t, are known: after the decision of that episode, never where negative. A play that waits narrows the
    radius at once; an item never answered has the mean of all gains known when it was last asked for.
    """
    E, sign = range(n_items), -1.0 if minimize else 1.0
    answered, waiting, asked = (dict.fromkeys(E, 0) for _ in range(3))
    total, guess = dict.fromkeys(E, 0.0), dict.fromkeys(E, 0.0)
    known, due, sets = [], [], []

    def index(e, c):
        if answered[e]:
            return total[e] / answered[e] + c * (1 / math.sqrt(answered[e] + waiting[e]))
        return guess[e] + c * (1 / math.sqrt(asked[e])) if asked[e] else math.inf

    def learn(e, gain):
        answered[e] += 1
        total[e] += gain
        known.append(gain)

    if observe:
        for e, w in zip(E, draw(0, E), strict=True):
            learn(e, sign * float(w))
    for t in range(1, n_episodes + 1):
        c = scale * math.sqrt(2 * math.log(max(t - 1, 1)))
        U = {e: index(e, c) for e in available(t)}
        A = greedy(sorted(U, key=lambda e: (-U[e], e)), is_independent)
        for e, w, d in zip(A, draw(t, A), delays(t, A), strict=True):
            asked[e], waiting[e] = asked[e] + 1, waiting[e] + 1
            guess[e] = math.fsum(known) / len(known) if known else 0.0
            due.append((t + int(d) if d >= 0 else math.inf, t, e, sign * float(w)))
        for _, _, e, gain in sorted(answer for answer in due if answer[0] == t):
            waiting[e] -= 1
            learn(e, gain)
        due = [answer for answer in due if answer[0] > t]
        sets.append(A)
    return sets


def remembered(is_independent):
    """The same test, each set looked at once."""
    known = {}

    def recall(X):
        X = frozenset(X)
        if X not in known:
            known[X] = is_independent(X)
        return known[X]

    return recall


class Watched(Environment):
    """Another environment's weights, and a note of every basis they were asked for: `bases[run]`."""

    def __init__(self, world):
        super().__init__(world.mean_weights, world.support)
        self.world, self.bases = world, {}

    def draw(self, stream, t, items):
        if stream.purpose == WEIGHTS:
            for run, basis in zip(stream.runs.tolist(), items.tolist(), strict=True):
                self.bases.setdefault(run, []).append(basis)
        return self.world.draw(stream, t, items)


class Diary(Environment):
    """Another environment's weights, and a note of every item they were asked for: `asked[run, t]`."""

    def __init__(self, world):
        super().__init__(world.mean_weights, world.support)
        self.world, self.asked = world, {}

    def draw(self, stream, t, items):
        if stream.purpose == WEIGHTS:
            for run, row in zip(stream.runs.tolist(), items.tolist(), strict=True):
                self.asked.setdefault((run, t), []).extend(row)
        return self.world.draw(stream, t, items)


def weights_of(world, seed, run):
    """`draw` for `omm`: the weights that run meets in a simulation."""

    def draw(t, items):
        stream = Stream(seed, [run], START if t == 0 else WEIGHTS)
        return world.draw(stream, t, np.array(items, np.int64))[0]

    return draw


def gap_dependent(problem, n):
    """Theorem 2, term by term."""
    sign = -1.0 if problem.minimize else 1.0
    w = [sign * float(mean) for mean in problem.environment.mean_weights]
    optimal = sorted(problem.optimal_basis.tolist(), key=lambda e: -w[e])
    total = 0.0
    for e in set(range(problem.n_items)) - set(optimal):
        gaps = [w[a] - w[e] for a in optimal if w[a] > w[e]]
        if gaps:
            total += 16 / gaps[-1] * math.log(n) + added(gap * 4 / 3 * math.pi**2 for gap in gaps)
    return total


def kl(p, q):
    """Kullback-Leibler divergence between Bernoulli variables, in 50 digits."""
    with localcontext(prec=50):
        p, q = Decimal(p), Decimal(q)
        left = p * (p / q).ln() if p > 0 else Decimal(0)
        right = (1 - p) * ((1 - p) / (1 - q)).ln() if p < 1 else Decimal(0)
        return left + right


def kl_index(p, target):
    """The largest q with kl(p, q) <= target, by bisection."""
    with localcontext(prec=50):
        lo, hi = Decimal(p), Decimal(1)
        for _ in range(60):
            q = (lo + hi) / 2
            lo, hi = (q, hi) if kl(p, q) <= Decimal(target) else (lo, q)
        return float(lo)


class LiveOMM:
    """A live learner with OMM, written out: dictionaries by label, exact totals, one item at a time.

    `independent(labels)` says which sets may be chosen; `labels` is the order in which ties go; `kinds` maps labels
    to tuples of categories.
    """

    def __init__(self, labels, independent, *, kinds=None, scale=1.0, minimize=False):
        self.labels, self.independent, self.scale = list(labels), independent, scale
        self.kinds, self.gains_seen = dict(kinds or {}), []
        self.sign = -1.0 if minimize else 1.0
        self.t, self.total, self.n_answers = 0, Fraction(0), 0
        self.known = {}  # label -> dict, of those who have left too
        self.open = {}  # episode -> {label: whether its answer counts}

    def item(self, label):
        fresh = {"N": 0, "S": 0.0, "waiting": 0, "lost": 0, "m": 0.0, "prior": None}
        return self.known.setdefault(label, fresh)

    def index(self, label):
        x = self.item(label)
        c = self.scale * math.sqrt(2 * math.log(max(self.t, 1)))  # of episode t + 1
        if x["prior"] is not None:
            mu, n0 = x["prior"]
            return (x["S"] + n0 * mu) / (x["N"] + n0) + c * (1 / math.sqrt(x["N"] + x["waiting"] + n0))
        if x["N"]:
            return x["S"] / x["N"] + c * (1 / math.sqrt(x["N"] + x["waiting"]))
        asked = x["waiting"] + x["lost"]
        return x["m"] + c * (1 / math.sqrt(asked)) if asked else math.inf

    def ask(self, available=None, exclude=(), pinned=()):
        order = sorted(self.labels, key=lambda label: (-self.index(label), self.labels.index(label)))
        chosen = set(pinned)
        for label in order:
            is_open = (available is None or label in available) and label not in exclude
            if is_open and label not in chosen and self.independent(chosen | {label}):
                chosen.add(label)
        self.t += 1
        typical = float(self.total) / self.n_answers if self.n_answers else 0.0
        for label in chosen:
            x = self.item(label)
            x["waiting"] += 1
            if not x["N"]:
                x["m"] = typical
        if chosen:
            self.open[self.t] = dict.fromkeys(chosen, True)
        return sorted(chosen, key=self.labels.index)

    def observe(self, weights):
        for label, w in weights.items():
            self.item(label)["waiting"] += 1
            self.count(label, w)

    def count(self, label, w):
        x = self.item(label)
        self.gains_seen.append(self.sign * w)
        x["waiting"] -= 1
        x["N"] += 1
        x["S"] += self.sign * w
        self.total += Fraction(self.sign * w)
        self.n_answers += 1

    def tell(self, t, weights):
        for label, w in weights.items():
            self.gains_seen.append(self.sign * w)
            if self.open[t].pop(label):
                self.count(label, w)
        if not self.open[t]:
            del self.open[t]

    def close(self, t, default=None):
        for label, counts in self.open.pop(t).items():
            if default is not None:
                self.gains_seen.append(self.sign * default)
            if counts and default is not None:
                self.count(label, default)
            elif counts:
                self.item(label)["waiting"] -= 1
                self.item(label)["lost"] += 1

    def forget(self, label):
        self.known.pop(label, None)
        for play in self.open.values():
            if label in play:
                play[label] = False

    def change(self, labels, independent, priors=(), forget=(), kinds=None):
        for label in forget:
            self.forget(label)
        newcomers = [label for label in labels if label not in self.known]
        answered = [label for label in self.labels if label in self.known and self.known[label]["N"]]
        self.kinds |= dict(kinds or {})
        if priors == "typical":
            priors = {label: self.typical(label, answered) for label in newcomers} if answered else {}
        for label, (mu, n0) in dict(priors).items():
            if n0 > 0:
                self.item(label)["prior"] = (self.sign * mu, n0)
        self.labels, self.independent = list(labels), independent
        for label in labels:
            self.item(label)

    def typical(self, label, answered):
        """The prior of a newcomer: mean of the items of its categories, of one of them, or of all; and its plays."""
        own = self.kinds.get(label, ())
        alike = [x for x in answered if own and self.kinds.get(x) == own]
        for place, kind in enumerate(own):
            if len(alike) < 2:
                alike = [x for x in answered if len(self.kinds.get(x, ())) > place and self.kinds[x][place] == kind]
        alike = alike if len(alike) >= 2 else answered
        means, plays = [self.mean(self.known[x]) for x in alike], [self.known[x]["N"] for x in alike]
        mu, most = math.fsum(means) / len(means), max(float(np.median(plays)), 1.0)
        variance = (mu - min(self.gains_seen)) * (max(self.gains_seen) - mu)
        spread = 0.0
        if len(means) > 1:
            spread = math.fsum((mean - mu) ** 2 for mean in means) / (len(means) - 1)
            spread -= variance * math.fsum(1.0 / n for n in plays) / len(plays)
        n0 = min(max(variance / spread, 1.0), most) if spread > 0.0 and variance > 0.0 else most
        return self.sign * mu, n0

    def mean(self, x):
        if x["prior"] is not None:
            mu, n0 = x["prior"]
            return (x["S"] + n0 * mu) / (x["N"] + n0)
        return x["S"] / x["N"]

    def restart(self, labels):
        for label in labels:
            self.forget(label)
        if set(labels) == set(self.labels):
            self.total, self.n_answers, self.gains_seen = Fraction(0), 0, []
