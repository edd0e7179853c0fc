"""How compiled episodes know policies, worlds and matroids: small integers, and tuples of numbers and arrays.

Policies, environments and matroids declare their compiled form in a method `compiled`, beside the formula that it
stands for; `compiled/` plays it on the CPU, `gpu/` on a GPU.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

# The index: of the state's lines, epsilon-greedy, pure chance, Thompson sampling with a beta or a normal belief,
# Kullback-Leibler bounds, lines that fade, lines of a window, beta beliefs that fade; bounds that go by an item's
# share of the plays, their Kullback-Leibler form; one normal or one uniform number for all items.
AFFINE = 0
EPSILON = 1
CHANCE = 2
BETA = 3
NORMAL = 4
KL = 5
DISCOUNTED = 6
WINDOW = 7
FADING = 8
SHARE = 9
KL_SHARE = 10
ONE_NORMAL = 11
ONE_QUANTILE = 12

#: Whose index is that of weights in [0, 1]: their number is 1 where gains are negated costs, and 0 otherwise.
UNIT = (KL, KL_SHARE, ONE_NORMAL, ONE_QUANTILE)

# The weights: 0 or 1, exponential above a floor, normal, beta, an item's own records; from DENSE on rows of a table,
# all entries or those other than 0.
BERNOULLI = 0
EXPONENTIAL = 1
GAUSSIAN = 2
BETA_WEIGHTS = 3
RECORDS = 4
DENSE = 5
SPARSE = 6

#: Indices that are found by iteration.
ITERATED = (KL, KL_SHARE, ONE_QUANTILE)


class PolicyForm(NamedTuple):
    """A policy: the number of its kind, its parameter, the length of its window, and what changes by episode.

    `episodes` is called with a state that knows the problem alone and yields for episode 1, 2, ... what the index
    needs of it: c_t, the budget of a Kullback-Leibler bound, an item's share of the plays, or what one number for all
    items is multiplied by; for lines that fade g and its power of two as well.
    """

    kind: int
    number: float = 0.0
    window: int = 0
    episodes: Callable[[Any, Any], Iterator[tuple[float, ...]]] | None = None


class CountForm(NamedTuple):
    """An index of an item's mean gain and its number of plays, which at equal plays never falls with the mean.

    `kind` is AFFINE, KL, SHARE, KL_SHARE, ONE_NORMAL or ONE_QUANTILE, `number` what `kernels.classes.index` takes
    besides. `numbers` is called with the state and a request, and gives what the index needs of the episode: a finite
    number for all runs, or one for each (R,).
    """

    kind: int
    number: float
    numbers: Callable[[Any, Any], Any]


class WorldForm(NamedTuple):
    """An environment: the number of its kind, two numbers for each item, and a table.

    `values` and `spread` are float64 (L,): means, floors or alpha; noise or beta. The table is numbers of any type:
    dense rows, the entries of a sparse matrix with its `indptr` and `indices`, or the records of item after item,
    which begin at `indptr`. `n_rows` is how many rows there are.
    """

    kind: int
    values: Any
    spread: Any
    n_rows: int = 0
    table: Any = None
    indptr: Any = None
    indices: Any = None


class MovingForm(NamedTuple):
    """An environment whose means move: the world at any means, and those of an episode.

    `around` turns means (n, L) into `values` and `spread` of the world, each (n, L) or (L,); `means` gives those (L,)
    of an episode.
    """

    kind: int
    around: Callable[[Any], tuple[Any, Any]]
    means: Callable[[int], Any]


class PiecesForm(NamedTuple):
    """Environments that take turns: each, and the episode with which it begins."""

    environments: tuple[Any, ...]
    begins: tuple[int, ...]


class DelayedForm(NamedTuple):
    """An environment whose answers come late: the environment, and the delay of each item's answers.

    A delay is the number `fixed` (L,) int64 and `kernels.random.geometric` of `never` and `rate` (L,) with the
    uniform of an item whose number is `first` larger. `fixed` is None where delays are a function, `rate` is None
    where nothing is random.
    """

    environment: Any
    fixed: Any
    never: Any
    rate: Any
    first: int

    @property
    def is_late(self) -> bool:
        """Whether any answer may be late."""
        return self.fixed is None or self.rate is not None or bool(self.fixed.any())


class QuotaForm(NamedTuple):
    """Nested quotas, as `Matroid.quotas` has them."""

    group: Any
    parent: Any
    capacities: Any


class GraphForm(NamedTuple):
    """A graph: the two ends of each item, int64 (L,), and the number of vertices."""

    tails: Any
    heads: Any
    n_vertices: int


class MatchingForm(NamedTuple):
    """Items that are matched: item e to one of ``rights[starts[e]:starts[e + 1]]``, numbers below `n_rights`."""

    starts: Any
    rights: Any
    n_rights: int


class ResidueForm(NamedTuple):
    """Vectors modulo primes: uint64 (P, L, n_columns) and (P,)."""

    residues: Any
    primes: Any


class FloatForm(NamedTuple):
    """Scaled vectors, float64 (L, n_columns), that are dependent within a tolerance."""

    vectors: Any
    tolerance: float


MatroidForm: TypeAlias = QuotaForm | GraphForm | MatchingForm | ResidueForm | FloatForm
EnvironmentForm: TypeAlias = WorldForm | MovingForm | PiecesForm | DelayedForm
