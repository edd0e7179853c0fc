"""Addressed randomness: published vectors, the address, independence from the batch, distributions."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import special

from matroid_bandits.exceptions import InvalidEnvironmentError, SeedError
from matroid_bandits.kernels import random as kernels
from matroid_bandits.stream import POLICY, START, USER, WEIGHTS, Stream, as_seed

WORD = 0xFFFFFFFF
# kat_vectors of Random123, philox4x32 with 10 rounds: counter, key, answer
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def philox(counter, key):
    """Philox-4x32-10 in Python's integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & WORD, (p >> 32) ^ c[3] ^ k[1], p & WORD]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


def draw_beta(stream, t, items):
    """Parameters that follow from the item, below 1 and above."""
    items = np.asarray(items)
    return stream.beta(t, items, 0.3 + items % 7, 0.6 + items % 3)


DRAWS = {
    "uniform": Stream.uniform,
    "exponential": Stream.exponential,
    "normal": Stream.normal,
    "beta": draw_beta,
}


@pytest.fixture(params=DRAWS.values(), ids=DRAWS.keys())
def draw(request):
    return request.param


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
@pytest.mark.parametrize("function", [kernels.philox4x32, kernels._philox], ids=["plain", "compiled"])
def test_philox_gives_the_published_answers(function, counter, key, answer):
    words = [np.uint64(int(word, 16)) for word in f"{counter} {key}".split()]
    assert [f"{int(word):08x}" for word in function(*words)] == answer.split()


@pytest.mark.parametrize("seed", [0, 2**32 + 5, 2**64 - 1])
@pytest.mark.parametrize("t", [0, 7, 2**32, 2**48 - 1])
def test_a_uniform_has_the_documented_address(seed, t):
    run, item, purpose = 2**32 - 1, 123_456, 255
    word = (purpose << 24) | (t >> 32)
    w = philox((item, t & WORD, word, seed >> 32), (seed & WORD, run))
    expected = ((w[0] << 32 | w[1]) >> 11) / 2**53
    assert Stream(seed, [run], purpose).uniform(t, [item]) == expected


def test_a_run_has_a_number_of_its_own():
    stream = Stream(3, range(5), START)
    assert np.array_equal(stream.run_uniform(9), stream.uniform(9, [2**32 - 1])[:, 0])


def test_values_have_the_same_bits_everywhere():
    stream = Stream(2014, [3, 2**31])
    assert {name: draw(stream, 5, [0, 4])[1, 1].hex() for name, draw in DRAWS.items()} == {
        "uniform": "0x1.f7e81cb65a0e0p-1",
        "exponential": "0x1.096d24c404bd0p+2",
        "normal": "0x1.58cbb87039099p+1",
        "beta": "0x1.ee67d4cf1b91dp-1",
    }


def test_numbers_do_not_depend_on_the_batch(draw):
    rng = np.random.default_rng(0)
    runs = rng.permutation(40)[:12]
    items = np.array([rng.permutation(200)[:9] for _ in runs])
    whole = draw(Stream(1, runs), 77, items)
    assert whole.shape == items.shape
    for chunk in (slice(0, 1), slice(1, 7), slice(7, 12)):
        assert np.array_equal(draw(Stream(1, runs[chunk]), 77, items[chunk]), whole[chunk])
    order = rng.permutation(9)
    assert np.array_equal(draw(Stream(1, runs[::-1]), 77, items[::-1, order]), whole[::-1, order])
    for r, k in ((0, 0), (5, 8), (11, 3)):
        assert draw(Stream(1, [runs[r]]), 77, [items[r, k]]) == whole[r, k]


def test_one_row_of_items_serves_all_runs(draw):
    stream, items = Stream(1, range(6)), np.array([4, 0, 2, 9, 11])
    assert np.array_equal(draw(stream, 3, items), draw(stream, 3, np.tile(items, (6, 1))))
    assert np.array_equal(draw(stream, 3, items), draw(stream, 3, np.asfortranarray(np.tile(items, (6, 1)))))


@pytest.mark.compiled
def test_numbers_do_not_depend_on_threads(draw):
    items = np.arange(501)
    whole = draw(Stream(8, range(400)), 2, items)
    with ThreadPoolExecutor(8) as pool:
        parts = pool.map(lambda i: draw(Stream(8, range(10 * i, 10 * i + 10)), 2, items), range(40))
        assert np.array_equal(np.concatenate(list(parts)), whole)


def test_every_part_of_the_address_matters(draw):
    base = {"seed": 0, "run": 0, "t": 1, "item": 5, "purpose": WEIGHTS}
    changes = [
        *({"seed": s} for s in (1, 2**32, 2**63)),
        *({"run": r} for r in (1, 2**31)),
        *({"t": t} for t in (0, 2, 2**32 + 1, 2**40)),
        *({"item": e} for e in (26, 47, 5 + 21 * 2**20)),  # beta's parameters are the same for these
        *({"purpose": p} for p in (START, POLICY, USER, 255)),
    ]
    addresses = [base | change for change in [{}, *changes]]
    values = {float(draw(Stream(a["seed"], [a["run"]], a["purpose"]), a["t"], [a["item"]])[0, 0]) for a in addresses}
    assert len(values) == len(addresses)


def test_a_stream_has_a_purpose():
    stream = Stream(4, [0, 1])
    policy = stream.with_purpose(POLICY)
    assert np.array_equal(stream.normal(1, [3]), Stream(4, [0, 1], WEIGHTS).normal(1, [3]))
    assert np.array_equal(policy.normal(1, [3]), Stream(4, [0, 1], POLICY).normal(1, [3]))
    assert np.array_equal(policy.run_uniform(1), Stream(4, [0, 1], POLICY).run_uniform(1))
    assert (policy.normal(1, [3]) != stream.normal(1, [3])).all()
    assert repr(policy) == "Stream(seed=4, n_runs=2, purpose=2)"


def test_rows_of_a_stream(draw):
    stream = Stream(4, [7, 3, 9], POLICY)
    assert np.array_equal(draw(stream.take([2, 0, 2]), 5, [1, 2]), draw(stream, 5, [1, 2])[[2, 0, 2]])
    assert np.array_equal(
        draw(stream.take(np.array([True, False, True])), 5, [1, 2]), draw(stream, 5, [1, 2])[[0, 2]]
    )
    assert stream.take([1]).runs.tolist() == [3]
    assert not stream.take([1]).runs.flags.writeable


def test_a_stream_survives_pickling():
    stream = pickle.loads(pickle.dumps(Stream(2**63, [5, 6])))
    assert np.array_equal(stream.uniform(1, [0]), Stream(2**63, [5, 6]).uniform(1, [0]))


@pytest.mark.parametrize("size", [(0, 3), (3, 0)])
def test_nothing_asked_nothing_drawn(draw, size):
    n_runs, n_items = size
    assert draw(Stream(0, range(n_runs)), 1, np.arange(n_items)).shape == size


def distance(sample, cdf):
    """Kolmogorov's distance between a sample and a continuous distribution."""
    x = np.sort(sample, axis=None)
    below, steps = cdf(x), np.arange(x.size + 1) / x.size
    return max((steps[1:] - below).max(), (below - steps[:-1]).max())


def dkw(n, delta=1e-6):
    """Massart's bound: Kolmogorov's distance exceeds it with probability delta at most."""
    return math.sqrt(math.log(2 / delta) / (2 * n))


SIZES = [pytest.param(40, 40), pytest.param(1000, 1000, marks=pytest.mark.compiled)]


@pytest.mark.parametrize(("n_runs", "n_items"), SIZES)
@pytest.mark.parametrize(
    ("name", "cdf"),
    [("uniform", lambda x: x), ("exponential", lambda x: -np.expm1(-x)), ("normal", special.ndtr)],
)
def test_distribution(name, cdf, n_runs, n_items):
    sample = DRAWS[name](Stream(11, range(n_runs)), 1, np.arange(n_items))
    assert distance(sample, cdf) < dkw(sample.size)


@pytest.mark.parametrize(("n_runs", "n_items"), SIZES)
@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (1, 6), (2.5, 1.5), (300, 200), (1e4, 3e4), (0.5, 0.5), (0.2, 4), (7, 0.4)]
)
def test_beta_distribution(a, b, n_runs, n_items):
    sample = Stream(12, range(n_runs)).beta(1, np.arange(n_items), np.full(n_items, a), np.full(n_items, b))
    assert distance(sample, lambda x: special.betainc(a, b, x)) < dkw(sample.size)


@pytest.mark.parametrize(("n_runs", "n_items"), SIZES)
def test_beta_with_tiny_parameters_falls_to_the_ends_as_it_should(n_runs, n_items):
    sample = Stream(13, range(n_runs)).beta(1, np.arange(n_items), np.full(n_items, 0.001), np.full(n_items, 0.003))
    p = special.betainc(0.001, 0.003, 0.5)
    assert abs((sample <= 0.5).mean() - p) < 5 * math.sqrt(p * (1 - p) / sample.size)
    assert ((sample < 1e-9) | (sample > 1 - 1e-9)).mean() > 0.9


def test_beta_at_the_limits_of_its_parameters():
    alpha = np.array([1e-300, 1e-300, 1e300, 1e300, 1.0])
    beta = np.array([1e-300, 1e300, 1e-300, 1e300, 1e300])
    sample = Stream(0, range(8)).beta(1, np.arange(5), alpha, beta)
    assert set(sample[:, 0]) == {0.0, 1.0}
    assert np.allclose(sample[:, 1:], [0.0, 1.0, 0.5, 0.0])


@pytest.mark.compiled
def test_normal_tails():
    n = 4_000_000
    z = Stream(5, range(2000)).normal(1, np.arange(n // 2000))
    for edge in (2.0, 3.0, 4.0, 4.5):
        for count in ((z > edge).sum(), (z < -edge).sum()):
            expected = n * special.ndtr(-edge)
            assert abs(count - expected) < 5 * math.sqrt(expected)


def test_the_largest_normal_comes_from_the_last_uniform():
    word, zero = np.uint64(WORD), np.uint64(0)
    z0, z1 = kernels._normal_pair(word, word, np.uint64(1 << 20), zero)  # radius of 1 - 2**-53 at angle 0
    assert z0 == pytest.approx(math.sqrt(2 * 53 * math.log(2)), rel=1e-15)
    assert z1 == 0.0


@pytest.mark.compiled
def test_neighbouring_addresses_are_uncorrelated(draw):
    n = 1000
    values = draw(Stream(6, range(n)), 1, 21 * np.arange(n))  # beta's parameters are the same for these
    later = draw(Stream(6, range(n)), 2, 21 * np.arange(n))
    z, y = ((v - v.mean()) / v.std() for v in (values, later))
    products = [z[1:] * z[:-1], z[:, 1:] * z[:, :-1], z * y, z[1:, 1:] * z[:-1, :-1]]
    assert all(abs(p.mean()) < 5 / math.sqrt(p.size) for p in products)


def test_logarithm_and_exponential_to_the_last_place():
    for i in range(400):
        x = 10.0 ** (i / 10 - 30) * (1 + i / 1000)
        assert abs(kernels._log(x) - math.log(x)) <= math.ulp(math.log(x))
        x = -(10.0 ** (i / 31 - 10)) % -708
        assert abs(kernels._exp(x) - math.exp(x)) <= math.ulp(math.exp(x))
    assert kernels._log(1.0) == 0.0
    assert kernels._exp(0.0) == 1.0
    assert kernels._exp(-1e300) == 0.0


@pytest.mark.parametrize("seed", [0, 2**64 - 1, np.int64(5), np.uint64(2**63)])
def test_seeds(seed):
    assert as_seed(seed) == int(seed)
    assert type(as_seed(seed)) is int


def test_a_fresh_seed_is_fresh():
    assert len({as_seed(None) for _ in range(10)}) == 10


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1", True, np.True_])
def test_bad_seeds(seed):
    with pytest.raises(SeedError, match=r"expected a seed that is None or an integer in \[0, 2\*\*64\); got"):
        as_seed(seed)
    with pytest.raises(SeedError, match="got"):
        Stream(seed, [0])


def test_a_stream_needs_a_seed():
    with pytest.raises(SeedError, match="got None"):
        Stream(None, [0])


@pytest.mark.parametrize(
    ("runs", "given"),
    [
        (5, "got 5"),
        ([-1], "got -1"),
        ([0, 2**32], "got 4294967296"),
        ([0.5], "type float64"),
        ([[1, 2]], r"shape \(1, 2\)"),
        ([[1], [1, 2]], r"got \[\[1\], \[1, 2\]\]"),
    ],
)
def test_bad_runs(runs, given):
    with pytest.raises(SeedError, match=r"expected an iterable of run ids in \[0, 2\*\*32\).*" + given):
        Stream(0, runs)


@pytest.mark.parametrize("t", [-1, 2**48, 1.5, "1"])
def test_bad_episodes(draw, t):
    with pytest.raises(SeedError, match=r"expected an episode t in \[0, 2\*\*48\); got"):
        draw(Stream(0, [0]), t, [0])


@pytest.mark.parametrize("purpose", [-1, 256, 1.0])
def test_bad_purposes(purpose):
    with pytest.raises(SeedError, match=r"expected a purpose in \[0, 256\); got"):
        Stream(0, [0]).with_purpose(purpose)
    with pytest.raises(SeedError, match="purpose"):
        Stream(0, [0], purpose)


@pytest.mark.parametrize("items", [0, [[0], [1], [2]], [[[0]]]])
def test_items_of_a_wrong_shape(draw, items):
    with pytest.raises(SeedError, match=r"expected \w+ of shape \(2, K\), a row per run, or \(K,\); got"):
        draw(Stream(0, [0, 1]), 1, items)


def test_items_of_a_wrong_type():
    with pytest.raises(SeedError, match="expected items of type int64; got float64"):
        Stream(0, [0]).uniform(1, [0.5])


def test_ragged_items():
    stream, ragged = Stream(0, [0, 1]), [[1], [1, 2]]
    for draw in (stream.uniform, stream.exponential, stream.normal):
        with pytest.raises(SeedError, match="expected items with rows of one length; got a ragged sequence"):
            draw(1, ragged)
    with pytest.raises(SeedError, match="expected alpha with rows of one length; got a ragged sequence"):
        stream.beta(1, [0, 1], ragged, [1.0, 1.0])


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_bad_beta_parameters(bad):
    stream = Stream(0, [7, 8])
    with pytest.raises(InvalidEnvironmentError, match=rf"got alpha = {bad}, beta = 2.0 for item 1 of run 8"):
        stream.beta(1, [0, 1], [3.0, bad], [2.0, 2.0])
    with pytest.raises(InvalidEnvironmentError, match=rf"got alpha = 2.0, beta = {bad} for item 9 of run 7"):
        stream.beta(1, [9, 5], [2.0, 2.0], [[bad, 3.0], [3.0, 3.0]])


def test_beta_shapes_must_agree():
    with pytest.raises(SeedError, match="as many columns each; got 2, 2 and 3"):
        Stream(0, [0]).beta(1, [0, 1], [1.0, 1.0], [1.0, 1.0, 1.0])
