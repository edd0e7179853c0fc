"""Environments: means, addresses, the dependence within a row, and what they refuse."""

import math
import pickle

import numpy as np
import pytest
from scipy import sparse

from matroid_bandits.environments import (
    BernoulliEnvironment,
    BetaEnvironment,
    Environment,
    ExponentialEnvironment,
    GaussianEnvironment,
    LinearEnvironment,
    RowEnvironment,
    SampleEnvironment,
)
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import START, WEIGHTS, Stream
from matroid_bandits.testing import check_environment
from samples import DATA, RECORDS, WORLDS


@pytest.fixture(params=WORLDS.values(), ids=WORLDS.keys())
def world(request):
    return request.param


@pytest.mark.parametrize("n_runs", [100, pytest.param(100_000, marks=pytest.mark.compiled)])
def test_weights_average_to_their_means(world, n_runs):
    environment, deviations = world
    weights = environment.draw(Stream(1, range(n_runs)), 1, np.arange(8))
    errors = np.abs(weights.mean(axis=0) - environment.mean_weights)
    assert (errors <= 5 * deviations / math.sqrt(n_runs) + 1e-12).all()
    # relative error of a standard deviation: sqrt((kurtosis - 1) / 4n), and no kurtosis here is above 20
    if n_runs >= 1000:
        assert np.allclose(weights.std(axis=0), deviations, rtol=5 * math.sqrt(19 / (4 * n_runs)))


def test_a_weight_depends_on_its_address_alone(world):
    environment, _ = world
    stream, items = Stream(2, range(6)), np.arange(8)
    weights = environment.draw(stream, 3, items)
    assert weights.shape == (6, 8)
    assert weights.dtype == np.float64
    assert np.array_equal(environment.draw(stream, 3, items), weights)
    chosen = np.array([[7, 1], [0, 2], [3, 4], [5, 6], [6, 5], [1, 1]])
    assert np.array_equal(environment.draw(stream, 3, chosen), np.take_along_axis(weights, chosen, axis=1))
    assert np.array_equal(environment.draw(Stream(2, [4]), 3, items[::-1])[0, ::-1], weights[4])


@pytest.mark.parametrize("other", [(2, 4, WEIGHTS), (2, 3, START), (3, 3, WEIGHTS)], ids=["t", "purpose", "seed"])
def test_other_addresses_have_other_weights(world, other):
    environment, _ = world
    seed, t, purpose = other
    weights = environment.draw(Stream(2, range(20)), 3, np.arange(8))
    assert not np.array_equal(environment.draw(Stream(seed, range(20), purpose), t, np.arange(8)), weights)


def test_weights_stay_in_the_support(world):
    environment, _ = world
    weights = environment.draw(Stream(3, range(50)), 1, np.arange(8))
    low, high = environment.support
    assert low <= weights.min()
    assert weights.max() <= high


def test_environments_are_immutable_and_survive_pickling(world):
    environment, _ = world
    copy = pickle.loads(pickle.dumps(environment))
    stream, items = Stream(2, range(3)), np.arange(8)
    assert np.array_equal(copy.draw(stream, 1, items), environment.draw(stream, 1, items))
    for each in (environment, copy):
        with pytest.raises(ValueError, match="read-only"):
            each.mean_weights[0] = 1.0
        assert all(not v.flags.writeable for v in vars(each).values() if isinstance(v, np.ndarray))


def test_arguments_are_copied_where_they_are_small():
    means = np.array([0.5, 0.5])
    environment = BernoulliEnvironment(means)
    means[0] = 0.0
    assert environment.mean_weights[0] == 0.5


def test_repr():
    assert repr(BernoulliEnvironment([0.25, 1.0])) == "<BernoulliEnvironment: 2 items, means 0.25 to 1>"
    assert repr(BernoulliEnvironment([])) == "<BernoulliEnvironment: 0 items>"


@pytest.mark.parametrize(
    "environment",
    [
        BernoulliEnvironment([]),
        ExponentialEnvironment([]),
        BetaEnvironment([], []),
        GaussianEnvironment([]),
        LinearEnvironment(np.empty((0, 2)), [1.0, 1.0]),
        RowEnvironment(np.empty((3, 0))),
        RowEnvironment(sparse.csr_array((3, 0))),
        SampleEnvironment([]),
    ],
    ids=lambda environment: type(environment).__name__,
)
def test_no_items(environment):
    assert environment.n_items == 0
    assert environment.draw(Stream(0, range(2)), 1, np.empty(0, dtype=np.int64)).shape == (2, 0)


def test_a_user_writes_an_environment_in_a_few_lines():
    class Shifted(Environment):
        def draw(self, stream, t, items):
            return self.mean_weights[items] + stream.uniform(t, items) - 0.5

    environment = Shifted([1.0, 2.0])
    assert environment.support == (-math.inf, math.inf)
    assert environment.draw(Stream(0, [0]), 1, np.array([1])).shape == (1, 1)


def test_gaussian_noise_of_each_item():
    noise = np.array([0.0, 1.0, 3.0])
    stream, items = Stream(4, range(3)), np.array([2, 0, 1])
    plain = GaussianEnvironment([0.0, 0.0, 0.0]).draw(stream, 5, items)
    assert np.array_equal(GaussianEnvironment([0.0, 0.0, 0.0], noise).draw(stream, 5, items), noise[items] * plain)
    rows = np.array([[0, 2], [1, 2], [2, 0]])
    one_by_one = GaussianEnvironment([1.0, 2.0, 3.0], noise).draw(stream, 5, rows)
    assert (one_by_one[0, 0], one_by_one[2, 1]) == (1.0, 1.0)
    check_environment(GaussianEnvironment([1.0, 2.0, 3.0], noise))


def test_noise_free_gaussian():
    weights = GaussianEnvironment([1.0, 2.0], noise=0.0).draw(Stream(0, range(2)), 1, np.array([0, 1]))
    assert np.array_equal(weights, [[1.0, 2.0], [1.0, 2.0]])


# rows


def test_a_row_is_drawn_as_a_whole():
    weights = RowEnvironment(DATA).draw(Stream(4, range(200)), 1, np.arange(8))
    rows = {tuple(row) for row in DATA}
    drawn = {tuple(row) for row in weights}
    assert drawn <= rows
    # each of 60 rows is missed by 200 draws with probability (59/60)**200 = 0.035: two misses on average
    assert len(drawn) >= len(rows) - 12


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float32, np.float64])
def test_dense_data_of_any_type_is_not_copied(dtype):
    data = (DATA > 0).astype(dtype)
    environment = RowEnvironment(data)
    assert np.shares_memory(environment._dense, data)
    assert data.flags.writeable
    assert environment.support == (0.0, 1.0)
    expected = RowEnvironment(data.astype(np.float64))
    stream, items = Stream(0, range(5)), np.arange(8)
    assert np.array_equal(environment.mean_weights, expected.mean_weights)
    weights = environment.draw(stream, 1, items)
    assert weights.dtype == np.float64
    assert np.array_equal(weights, expected.draw(stream, 1, items))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_sparse_data_draws_as_dense(kind, dtype):
    for data in (sparse.csr_matrix(DATA), sparse.coo_array(DATA)):
        environment = RowEnvironment(data.astype(dtype).asformat(kind))
        expected = RowEnvironment(DATA)
        stream = Stream(0, range(30))
        for items in (np.arange(8), np.tile(np.arange(8)[::-1], (30, 1))):
            assert np.array_equal(environment.draw(stream, 1, items), expected.draw(stream, 1, items))
        assert np.allclose(environment.mean_weights, expected.mean_weights, rtol=0, atol=1e-15)
        assert environment.support == expected.support == (-3.0, 3.0)


def test_canonical_sparse_data_is_not_copied_and_other_is_not_changed():
    data = sparse.csr_array(DATA)
    assert np.shares_memory(RowEnvironment(data)._data, data.data)
    messy = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    environment = RowEnvironment(messy)
    assert environment.n_rows == 1
    assert np.array_equal(environment.draw(Stream(0, [0]), 1, np.arange(3)), [[2.0, 0.0, 4.0]])
    assert list(messy.indices) == [2, 0, 2]
    assert environment.support == (0.0, 4.0)


def test_sparse_data_counts_its_zeros_in_the_support():
    assert RowEnvironment(sparse.csr_array(np.array([[5.0, 0.0]]))).support == (0.0, 5.0)
    assert RowEnvironment(sparse.csr_array(np.array([[5.0, 4.0]]))).support == (4.0, 5.0)


def test_records_come_from_their_item():
    weights = SampleEnvironment(RECORDS).draw(Stream(5, range(100)), 1, np.arange(8))
    assert all(set(weights[:, e]) <= set(RECORDS[e]) for e in range(8))
    assert len(set(weights[:, 3])) == 4


# what they refuse


class Silent(Environment):
    def draw(self, stream, t, items):
        return np.zeros((stream.n_runs, items.shape[-1]))


def csr(indices, indptr, shape=(2, 3)):
    """A matrix with arrays that SciPy would refuse, or not look at."""
    matrix = sparse.csr_array(shape)
    matrix.data, matrix.indices, matrix.indptr = np.ones(len(indices)), np.array(indices), np.array(indptr)
    return matrix


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: BernoulliEnvironment([0.5, 1.2]), r"expected means in \[0, 1\]; got 1.2 for item 1"),
        (lambda: BernoulliEnvironment([NAN]), r"expected means in \[0, 1\]; got nan for item 0"),
        (lambda: BernoulliEnvironment(0.5), r"expected means in a 1-D array; got shape \(\)"),
        (lambda: BernoulliEnvironment([[0.5]]), r"1-D array; got shape \(1, 1\)"),
        (lambda: BernoulliEnvironment(["a"]), "expected means to be real numbers; got type <U1"),
        (lambda: BernoulliEnvironment([1j]), "real numbers; got type complex128"),
        (lambda: BernoulliEnvironment([[0.5], [0.5, 0.5]]), "1-D array; got a ragged sequence"),
        (lambda: ExponentialEnvironment([1.0, INF]), "expected means finite; got inf for item 1"),
        (lambda: ExponentialEnvironment([1.0, -1e101]), r"expected means in \[-1e\+100, 1e\+100\]; got -1e\+101"),
        (lambda: GaussianEnvironment([1e308]), r"expected mean weights in \[-1e\+100, 1e\+100\]; got 1e\+308"),
        (lambda: Silent([-1e308]), r"expected mean weights in \[-1e\+100, 1e\+100\]; got -1e\+308 for item 0"),
        (lambda: LinearEnvironment([[1e300, 1.0]], [1e50, 1.0]), "expected mean weights finite; got inf for item 0"),
        (lambda: LinearEnvironment([[2.0]], [1e100]), r"expected mean weights in .*; got 2e\+100 for item 0"),
        (lambda: RowEnvironment([[1.0, 1e308]]), r"expected weights of at most 1e\+100 in size; got 1e\+308"),
        (
            lambda: RowEnvironment(sparse.csr_array([[0, -1e101]])),
            r"of at most 1e\+100 in size; got -1e\+101",
        ),
        (lambda: SampleEnvironment([[1.0], [2.0, -1e308]]), r"samples of at most 1e\+100 in size; got -1e\+308"),
        (lambda: SampleEnvironment([[1e308, 1e308]]), r"samples of at most 1e\+100 in size; got 1e\+308"),
        (lambda: BetaEnvironment([1, -2], [1, 1]), "expected alpha in .*; got -2.0 for item 1"),
        (lambda: BetaEnvironment([1, 2], [1, 0]), "expected beta in .*; got 0.0 for item 1"),
        (lambda: BetaEnvironment([1, 2], [1]), "alpha and beta of one size; got 2 and 1"),
        (lambda: GaussianEnvironment([NAN]), "expected mean weights finite; got nan for item 0"),
        (lambda: GaussianEnvironment([1.0], noise=-1.0), "expected noise .* at least 0, got -1.0"),
        (
            lambda: GaussianEnvironment([1.0], noise=[1.0, 2.0]),
            "expected one noise, or one for each of 1 items; got 2",
        ),
        (
            lambda: GaussianEnvironment([1.0, 2.0], noise=[1.0, -1.0]),
            "noise finite and at least 0; got -1.0 for item 1",
        ),
        (lambda: GaussianEnvironment([1.0], noise=[[1.0]]), r"expected noise in a 1-D array; got shape \(1, 1\)"),
        (lambda: GaussianEnvironment([1.0], noise=[np.inf]), "noise finite and at least 0; got inf for item 0"),
        (lambda: GaussianEnvironment([1.0], noise=10**400), "expected noise .*, got an integer of more"),
        (lambda: GaussianEnvironment([1.0], noise=np.complex128(1)), "expected noise .*, got "),
        (lambda: Silent([0.5], support=5), "expected support to be a lower and an upper bound; got 5"),
        (lambda: Silent([0.5], support=(1, 0)), r"a lower and an upper bound; got \(1, 0\)"),
        (lambda: Silent([0.5], support=(0, NAN)), r"a lower and an upper bound; got \(0, nan\)"),
        (lambda: Silent([0.5], support=(0, 1, 2)), r"a lower and an upper bound; got \(0, 1, 2\)"),
        (lambda: Silent([0.5], support=([0], [1, 2])), "a lower and an upper bound; got "),
        (lambda: Silent([0.5], support="01"), "a lower and an upper bound; got '01'"),
        (lambda: Silent([0.5], support=(0, 10**400)), "a lower and an upper bound; got "),
        (lambda: LinearEnvironment([[1.0]], [1.0], noise=NAN), "got nan"),
        (lambda: LinearEnvironment([1.0], [1.0]), r"expected features in a 2-D array; got shape \(1,\)"),
        (lambda: LinearEnvironment([[1.0, 2.0]], [1.0]), "expected a theta of 2, one per feature; got 1"),
        (lambda: LinearEnvironment([[1.0], [NAN]], [1.0]), "expected finite features; .* for item 1"),
        (lambda: LinearEnvironment([[1.0]], [INF]), "expected theta finite; got inf"),
        (lambda: RowEnvironment([1.0]), r"expected rows of weights in a 2-D array; got shape \(1,\)"),
        (lambda: RowEnvironment(np.empty((0, 3))), "expected at least one row; got none"),
        (lambda: RowEnvironment([[1.0, NAN]]), "expected finite weights; .* for item 1"),
        (lambda: RowEnvironment([[1.0, INF], [1.0, -INF]]), "expected finite weights; .* for item 1"),
        (lambda: RowEnvironment(sparse.csr_array([[1.0, NAN]])), "expected finite weights; .* for item 1"),
        (
            lambda: RowEnvironment(
                sparse.csr_array((np.ones(2), np.array([0, 7]), np.array([0, 1, 2])), shape=(2, 3))
            ),
            r"expected column indices in 0\.\.2, as the sparse matrix is of shape \(2, 3\); got 7",
        ),
        (lambda: RowEnvironment(csr([0, -1], [0, 1, 2])), r"expected column indices in 0\.\.2, .*; got -1"),
        (lambda: RowEnvironment(csr([0, 3], [0, 1, 2])), r"expected column indices in 0\.\.2, .*; got 3"),
        (lambda: RowEnvironment(csr([0, 1], [0, 2])), "indptr ascends from 0 to 2, .* in 2 steps, one per row"),
        (lambda: RowEnvironment(csr([0, 1], [0, 5, 2])), "indptr ascends from 0 to 2"),
        (lambda: RowEnvironment(csr([0, 1], [0, 1, 1])), "indptr ascends from 0 to 2"),
        (lambda: RowEnvironment(csr([0, 1], [1, 1, 2])), "indptr ascends from 0 to 2"),
        (lambda: RowEnvironment(sparse.coo_array(np.ones(3))), r"in a 2-D array; got shape \(3,\)"),
        (lambda: RowEnvironment([["a"]]), "real numbers; got type <U1"),
        (lambda: SampleEnvironment(5), "expected a sequence of samples, one array per item; got 5"),
        (lambda: SampleEnvironment([[1.0], []]), "expected a sample or more per item; got none for item 1"),
        (lambda: SampleEnvironment([[1.0], [2.0, INF]]), "expected finite samples; got inf for item 1"),
        (lambda: SampleEnvironment([[1.0], 2.0]), r"samples of item 1 in a 1-D array; got shape \(\)"),
    ],
)
def test_bad_input(build, message):
    with pytest.raises(InvalidEnvironmentError, match=message):
        build()
