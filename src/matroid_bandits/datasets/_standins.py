"""Stand-ins: made-up data with the figures the paper prints, used where no data was downloaded.

The printed figures hold by construction. Seeds are fixed, so that the problems are the same everywhere.
"""

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.datasets import _printed
from matroid_bandits.datasets._records import (
    CLUSTERS,
    GENRES,
    Audience,
    Lending,
    Network,
)

# The paper does not print the number of components; these two of its networks are known to be forests.
_COMPONENTS = {1221: 3, 6461: 2}


def standin_network(asn: int) -> Network:
    """A network with a row of Table 1: nodes, edges, least, largest and mean latency, and optimal cost."""
    # A random forest is given the optimal cost, to the nearest whole millisecond as all latencies are whole, and
    # every further link at least the largest latency of the path that it closes, so the forest is optimal.
    printed = _printed.NETWORKS[asn]
    rng = np.random.default_rng(asn)
    n_roots = _COMPONENTS.get(asn, 1)
    n_tree = printed.n_nodes - n_roots
    cost = round(printed.optimal)
    rest_total = round(printed.mean_latency * printed.n_edges) - cost - printed.max_latency
    n_rest = printed.n_edges - n_tree - 1

    # All but the last nodes hang on a random earlier node; the last ones pair up as small components.
    n_core = printed.n_nodes - 2 * (n_roots - 1)
    tree = [(int(rng.integers(node)), node) for node in range(1, n_core)]
    tree += [(node, node + 1) for node in range(n_core, printed.n_nodes, 2)]
    # Short links first, roughly: the old nodes form dense cores, where cheap alternatives exist.
    lengths = np.sort(_whole_numbers(rng, n_tree, cost, printed.max_latency // 2))
    lengths = lengths[np.argsort(np.arange(n_tree) + n_tree / 3 * rng.random(n_tree))]
    bottleneck = _bottleneck(printed.n_nodes, tree, lengths)

    rest = np.sort(_whole_numbers(rng, n_rest, rest_total, printed.max_latency))
    latencies = np.concatenate((lengths, rest, [printed.max_latency])).astype(np.float64)
    links = list(tree)
    for latency in latencies[n_tree:]:
        free = np.flatnonzero(bottleneck <= latency)
        u, v = divmod(int(free[rng.integers(free.size)]), printed.n_nodes)
        bottleneck[u, v] = np.inf
        links.append((u, v))

    order = rng.permutation(printed.n_edges)
    names = [f"{asn}-{node:03d}" for node in rng.permutation(printed.n_nodes) + 1]
    return Network([(names[links[e][0]], names[links[e][1]]) for e in order], latencies[order])


def standin_lending() -> Lending:
    """Partners 1 to 232 and 51 clusters with the printed rates, degrees and mean rates of Figure 2 (c)."""
    rng = np.random.default_rng(194_876)
    n = _printed.N_PARTNERS
    printed = {row.partner - 1: row.rate for row in _printed.PARTNERS}

    # The others stay below the printed twelve: a slow decline, and a few partners that nearly always fail.
    u = (rng.permutation(n) + 0.5) / n
    target = 0.915 - 0.27 * u - 0.6 * u**8
    share = np.exp(1.2 * rng.standard_normal(n))
    for partner, rate in printed.items():
        target[partner], share[partner] = rate, 0.0
    # 2,000 loans carry a rate to its third decimal.
    n_loans = 20 + (share / share.sum() * (_printed.N_LOANS - 2000 * len(printed) - 20 * n)).astype(np.int64)
    n_loans[list(printed)] = 2000
    n_loans[np.argmax(share)] += _printed.N_LOANS - n_loans.sum()
    outcomes = [_outcomes(rng, rate, size) for rate, size in zip(target, n_loans.tolist(), strict=True)]
    rates = np.array([x.mean() for x in outcomes])

    clusters: list[list[int]] = [[] for _ in range(n)]
    for row in _printed.PARTNERS:
        partners = _subset_with_mean(rng, rates, row.cluster_partners, row.partner - 1, row.cluster_rate)
        for partner in partners.tolist():
            clusters[partner].append(row.cluster)
    for name, degree in zip(_BUSY.split(), _busy_degrees(), strict=True):
        for partner in rng.permutation(n)[:degree].tolist():
            clusters[partner].append(CLUSTERS.index(name) + 1)
    return Lending(list(range(1, n + 1)), outcomes, [sorted(numbers) for numbers in clusters])


def standin_audience() -> Audience:
    """100 movies around the printed twelve of Figure 3, and 6,040 people who rated them."""
    # Each printed movie has a slightly less popular double of the same genres, which can never enter the basis beside
    # it. Film-Noir and Mystery only come together, so that the 18 genres have rank 17.
    rng = np.random.default_rng(1_000_209)
    n_people = 6040
    titles = [movie.title for movie in _printed.MOVIES]
    genres = [movie.genres for movie in _printed.MOVIES]
    counts = [round(movie.weight * n_people) for movie in _printed.MOVIES]
    for movie in _printed.MOVIES:
        titles.append(f"A movie like {movie.title}")
        genres.append(movie.genres)
        counts.append(round((movie.weight - 0.011) * n_people))
    titles.append("An animated movie")
    genres.append(("Animation", "Children's", "Comedy"))
    counts.append(round(0.344 * n_people))

    share = np.array([_GENRE_SHARES.get(genre, 0) for genre in GENRES]) / sum(_GENRE_SHARES.values())
    for k in range(_printed.N_OBSCURE):
        # A first round through the genres, so that none is missing; then by how common they are.
        first, second = rng.choice(len(GENRES), size=2, p=share)
        if k < np.count_nonzero(share):
            first = np.flatnonzero(share)[k]
        names = {GENRES[first], GENRES[second]} if k % 3 == 0 else {GENRES[first]}
        titles.append(f"A little known movie {k + 1}")
        genres.append(tuple(sorted(names)))
        counts.append(int(rng.integers(1, 41)))
    by_count = np.argsort(-np.array(counts), kind="stable").tolist()

    # People differ in how much they watch, so ratings of different movies are mildly dependent.
    activity = 0.8 * rng.standard_normal(n_people)
    keys = activity[:, None] + rng.gumbel(size=(n_people, len(counts)))
    ranks = np.argsort(np.argsort(-keys, axis=0), axis=0)
    rated = (ranks < np.array(counts)[by_count]).astype(np.uint8)
    users = np.arange(1, n_people + 1)
    return Audience([titles[e] for e in by_count], [genres[e] for e in by_count], rated, users)


# The clusters that the paper does not print, busiest first; five more small states have no assignments, which
# leaves the printed 46 assignments.
_BUSY = "XX CA NY WA TX IL MA PA FL OR CO OH VA MI NC AZ IN NV IA KS KY ID ME NH OK LA HI MT NE VT RI AK AR MS"

_GENRE_SHARES = {
    "Drama": 30,
    "Comedy": 20,
    "Documentary": 8,
    "Romance": 8,
    "Horror": 7,
    "Thriller": 7,
    "Action": 6,
    "Children's": 4,
    "Crime": 4,
    "Adventure": 3,
    "Sci-Fi": 3,
    "War": 3,
    "Western": 3,
    "Animation": 2,
    "Fantasy": 2,
    "Musical": 2,
}


def _busy_degrees() -> list[int]:
    """Numbers of partners of the clusters that are not printed; about 5,000 edges in all."""
    n = len(_BUSY.split())
    return [round(228 * (1 - k / n) ** 1.2 + 1) for k in range(n)]


def _whole_numbers(rng: np.random.Generator, n: int, total: int, largest: int) -> IntArray:
    """n whole numbers from 1 to `largest` with the given sum, most of them small."""
    numbers = np.ones(n, np.int64)
    shares = rng.exponential(size=n) ** 3
    while (left := total - numbers.sum()) > 0:
        room = numbers < largest
        numbers += rng.multinomial(left, np.where(room, shares, 0.0) / shares[room].sum())
        numbers = np.minimum(numbers, largest)
    return numbers


def _bottleneck(n_nodes: int, tree: list[tuple[int, int]], lengths: IntArray) -> FloatArray:
    """The largest length on the path from u to v > u; infinite where there is no path, or the link itself."""
    largest = np.full((n_nodes, n_nodes), np.inf)
    component = np.arange(n_nodes)
    for e in np.argsort(lengths, kind="stable").tolist():
        left = component == component[tree[e][0]]
        right = component == component[tree[e][1]]
        largest[np.ix_(left, right)] = largest[np.ix_(right, left)] = lengths[e]
        component[right] = component[tree[e][0]]
    largest[np.tril_indices(n_nodes)] = np.inf
    largest[tuple(np.transpose(tree))] = np.inf
    return largest


def _outcomes(rng: np.random.Generator, rate: float, n_loans: int) -> FloatArray:
    """Outcomes 1, 0.7 and 0 of n loans whose mean is the rate, up to rounding to whole loans."""
    n_repaying = int(0.8 * n_loans * min((1 - rate) / 0.3, rate / 0.7))
    n_paid = round(rate * n_loans - 0.7 * n_repaying)
    outcomes = np.zeros(n_loans)
    outcomes[:n_paid] = 1.0
    outcomes[n_paid : n_paid + n_repaying] = 0.7
    return rng.permutation(outcomes)


def _subset_with_mean(rng: np.random.Generator, rates: FloatArray, size: int, member: int, mean: float) -> IntArray:
    """A random set of `size` partners with the given member and mean rate, to the third decimal."""
    order = rng.permutation(rates.size)
    order = np.concatenate(([member], order[order != member]))
    inside, outside = order[:size].copy(), order[size:].copy()
    for _ in range(10_000):
        excess = rates[inside].sum() - mean * size
        if abs(excess) < 0.0004 * size:
            return inside
        # The swap that comes closest among all with one random insider, never the given member.
        i = int(rng.integers(1, size))
        after = np.abs(excess - rates[inside[i]] + rates[outside])
        j = int(np.argmin(after))
        if after[j] < abs(excess):
            inside[i], outside[j] = outside[j], inside[i]
    raise AssertionError(f"no {size} partners with mean rate {mean}")  # pragma: no cover
