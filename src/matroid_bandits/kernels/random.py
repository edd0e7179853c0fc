"""Random numbers with an address: each is a function of (seed, run, t, item, purpose) alone.

Philox-4x32-10 (Salmon et al., SC 2011) turns a counter of four 32-bit words under a key of two into four
random words. The 192 bits are spent as

    key      seed's low half | run
    counter  item | t's low half | purpose (8 bits), block (8 bits), t's high 16 bits | seed's high half

A block holds two uniforms of 53 bits; a variate that needs more takes further blocks of its own address.

Past the integers there are only ``+ - * / sqrt``, which IEEE 754 rounds alike everywhere: logarithm,
exponential, sine and cosine are written out below, so a variate has the same bits on every machine. They have
no branches either, so that loops over items run in SIMD registers, eight or so variates at a time.
Words are kept in uint64 and masked: nothing overflows, compiled or not. A product that is added to something is
written `times`, so that a GPU, for which these functions are compiled too, does not round the two steps as one.
"""

import math

import numpy as np

from matroid_bandits.kernels.compiling import called, inlined, kernel, times

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_PURPOSE_SHIFT = np.uint64(24)
_BLOCK_SHIFT = np.uint64(16)
_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)

_ULP = 2.0**-53  # a float64 in [0, 1) holds 53 of 64 random bits
_SPARE_BITS = np.uint64(11)
_53_BITS = np.uint64((1 << 53) - 1)
_TOP_BIT, _NEXT_BIT = np.uint64(1 << 63), np.uint64(1 << 62)

_FRACTION_BITS = np.uint64(52)
_FRACTION = np.uint64((1 << 52) - 1)
_SQRT_HALF = np.uint64(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
_ONE_LESS_SQRT_HALF = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG2_E = 1.44269504088896338700e00
_HALF_PI = 1.57079632679489655800e00

_BOOST_BLOCK = np.uint64(254)
_MAX_ATTEMPTS = 127  # in the blocks below that one; an attempt fails with probability under 0.05
_FIRST_ATTEMPT = np.int64(0)  # no literal, for which what takes it would be compiled again
_SMALLEST, _LARGEST = 1e-300, 1e300  # beta parameters for which nothing on the way overflows


def philox4x32(c0, c1, c2, c3, k0, k1):
    """Philox-4x32-10: the counter's four words under the key's two, all uint64 below 2**32.

    A plain function: compiled below for the CPU, and fit to be compiled for a GPU as it stands.
    """
    for _ in range(10):
        p0 = _MULTIPLIER_0 * c0
        p1 = _MULTIPLIER_1 * c2
        c0, c2 = (p1 >> _HALF) ^ c1 ^ k0, (p0 >> _HALF) ^ c3 ^ k1
        c1, c3 = p1 & _WORD, p0 & _WORD
        k0 = (k0 + _WEYL_0) & _WORD
        k1 = (k1 + _WEYL_1) & _WORD
    return c0, c1, c2, c3


# Without forceinline LLVM finds the ten rounds too long to inline, and a call in a loop rules SIMD out.

_philox = inlined(philox4x32)


def _uniforms_plainly(seed, runs, t, items, purpose, out):
    c1, c2, c3, k0 = address(seed, t, purpose)
    out[:] = uniform_at(items.astype(np.uint64) & _WORD, c1, c2, c3, k0, runs.astype(np.uint64)[:, None])


def _exponentials_plainly(seed, runs, t, items, purpose, out):
    c1, c2, c3, k0 = address(seed, t, purpose)
    out[:] = exponential_at(items.astype(np.uint64) & _WORD, c1, c2, c3, k0, runs.astype(np.uint64)[:, None])


@kernel(plain=_uniforms_plainly)
def uniforms(seed, runs, t, items, purpose, out):
    """Fill `out` (R, K) float64 with uniforms in [0, 1).

    seed uint64; runs (R,) int64; items (R, K) int64, or (1, K) for all runs alike; all C-contiguous.
    """
    c1, c2, c3, k0 = address(seed, t, purpose)
    shared = items.shape[0] == 1
    for r in range(out.shape[0]):
        k1 = np.uint64(runs[r])
        row, out_row = items[0 if shared else r], out[r]
        for k in range(row.size):
            out_row[k] = uniform_at(np.uint64(row[k]) & _WORD, c1, c2, c3, k0, k1)


@kernel(plain=_exponentials_plainly)
def exponentials(seed, runs, t, items, purpose, out):
    """Fill `out` with standard exponentials, -log(1 - u) of the `uniforms` u; arguments as there."""
    c1, c2, c3, k0 = address(seed, t, purpose)
    shared = items.shape[0] == 1
    for r in range(out.shape[0]):
        k1 = np.uint64(runs[r])
        row, out_row = items[0 if shared else r], out[r]
        for k in range(row.size):
            out_row[k] = exponential_at(np.uint64(row[k]) & _WORD, c1, c2, c3, k0, k1)


@kernel
def normals(seed, runs, t, items, purpose, out):
    """Fill `out` with standard normals, up to 8.57 in size; arguments as in `uniforms`."""
    c1, c2, c3, k0 = address(seed, t, purpose)
    shared = items.shape[0] == 1
    for r in range(out.shape[0]):
        k1 = np.uint64(runs[r])
        row, out_row = items[0 if shared else r], out[r]
        for k in range(row.size):
            out_row[k] = normal_at(np.uint64(row[k]) & _WORD, c1, c2, c3, k0, k1)


@kernel
def betas(seed, runs, t, items, purpose, alpha, beta, out):
    """Fill `out` with beta variates; `alpha` and `beta` are (R, K) or (1, K), the rest as in `uniforms`.

    Returns -1, or the flat index of an entry whose parameters are not in [1e-300, 1e300] and which is NaN.
    """
    c1, c2, c3, k0 = address(seed, t, purpose)
    shared, same_alpha, same_beta = items.shape[0] == 1, alpha.shape[0] == 1, beta.shape[0] == 1
    bad = -1
    for r in range(out.shape[0]):
        a, b = alpha[0 if same_alpha else r], beta[0 if same_beta else r]
        place = fill_betas(a, b, items[0 if shared else r], c1, c2, c3, k0, np.uint64(runs[r]), out[r])
        bad = r * out.shape[1] + place if place >= 0 else bad
    return bad


@called
def fill_betas(alpha, beta, items, c1, c2, c3, k0, k1, out):
    """`betas` of one run k1 at an `address`; returns -1, or where the last NaN is."""
    # The first attempt for all in SIMD; -1 where it fails or a parameter is below 1, for the second loop.
    for k in range(items.shape[0]):
        a, b = alpha[k], beta[k]
        x, y, x_fits, y_fits = _gamma_attempt(a, b, _FIRST_ATTEMPT, np.uint64(items[k]) & _WORD, c1, c2, c3, k0, k1)
        fits = x_fits & y_fits & (a >= 1.0) & (b >= 1.0) & (a <= _LARGEST) & (b <= _LARGEST)
        out[k] = x / (x + y) if fits else -1.0
    bad = -1
    for k in range(items.shape[0]):
        if out[k] < 0.0:
            a, b = alpha[k], beta[k]
            if _SMALLEST <= a <= _LARGEST and _SMALLEST <= b <= _LARGEST:
                out[k] = beta_at(a, b, np.uint64(items[k]) & _WORD, c1, c2, c3, k0, k1)
            else:
                out[k] = np.nan
                bad = k
    return bad


@kernel
def geometrics(u, items, never, rate, out):
    """Fill `out` (R, K) int64 with `geometric` numbers of the uniforms u (R, K) of `items` (R, K), or (1, K) for all
    runs alike; `never` and `rate` are (L,)."""
    shared = items.shape[0] == 1
    for r in range(out.shape[0]):
        row = items[0 if shared else r]
        for k in range(row.size):
            out[r, k] = geometric(u[r, k], never[row[k]], rate[row[k]])


@inlined
def geometric(u, never, rate):
    """A geometric number of a uniform u, k or more with probability exp(-rate k); a share `never` of them is -1."""
    if u < never:
        return np.int64(-1)
    return np.int64(max(-_log((1.0 - u) / (1.0 - never)), 0.0) / rate)


@inlined
def uniform_at(c0, c1, c2, c3, k0, k1):
    """The uniform in [0, 1) of one address: the item's word and those of `address`."""
    w0, w1, _, _ = _philox(c0, c1, c2, c3, k0, k1)
    return _uniform(w0, w1)


@inlined
def exponential_at(c0, c1, c2, c3, k0, k1):
    """The standard exponential of one address."""
    return -_log(1.0 - uniform_at(c0, c1, c2, c3, k0, k1))


@inlined
def normal_at(c0, c1, c2, c3, k0, k1):
    """The standard normal of one address."""
    w0, w1, w2, w3 = _philox(c0, c1, c2, c3, k0, k1)
    return _normal_pair(w0, w1, w2, w3)[0]


@kernel
def beta_at(a, b, c0, c1, c2, c3, k0, k1):
    """One beta variate: x / (x + y) of gammas x and y, each the first attempt of its own that fits."""
    x, y, x_found, y_found = 1.0, 1.0, False, False
    for attempt in range(_MAX_ATTEMPTS):
        x_next, y_next, x_fits, y_fits = _gamma_attempt(a, b, attempt, c0, c1, c2, c3, k0, k1)
        if x_fits and not x_found:
            x, x_found = x_next, True
        if y_fits and not y_found:
            y, y_found = y_next, True
        if x_found and y_found:
            break
    if a >= 1.0 and b >= 1.0:
        return x / (x + y)
    # gamma(a) is gamma(a + 1) u**(1/a), which may be smaller than any float: compare logarithms
    w0, w1, w2, w3 = _philox(c0, c1, c2 + (_BOOST_BLOCK << _BLOCK_SHIFT), c3, k0, k1)
    log_x = _log(x) + (_log(1.0 - _uniform(w0, w1)) / a if a < 1.0 else 0.0)
    log_y = _log(y) + (_log(1.0 - _uniform(w2, w3)) / b if b < 1.0 else 0.0)
    ratio = _exp(-abs(log_x - log_y))
    return (1.0 if log_x >= log_y else ratio) / (1.0 + ratio)


@inlined
def _gamma_attempt(a, b, attempt, c0, c1, c2, c3, k0, k1):
    """Gammas of shapes a and b, a shape below 1 raised by 1, and whether each passed the rejection step.

    Marsaglia and Tsang (2000). An attempt takes two blocks: one for the normals, one for the uniforms.
    """
    c2 = c2 + (np.uint64(2 * attempt) << _BLOCK_SHIFT)
    w0, w1, w2, w3 = _philox(c0, c1, c2, c3, k0, k1)
    z0, z1 = _normal_pair(w0, w1, w2, w3)
    w0, w1, w2, w3 = _philox(c0, c1, c2 + (np.uint64(1) << _BLOCK_SHIFT), c3, k0, k1)
    x, x_fits = _gamma_from(a, z0, 1.0 - _uniform(w0, w1))
    y, y_fits = _gamma_from(b, z1, 1.0 - _uniform(w2, w3))
    return x, y, x_fits, y_fits


@inlined
def _gamma_from(shape, z, u):
    """The candidate that a normal z proposes and whether u in (0, 1] accepts it."""
    shape = shape if shape >= 1.0 else shape + 1.0
    d = min(max(shape, 1.0), _LARGEST) - 1.0 / 3.0  # of what is no shape the caller disposes
    root = max(1.0 + z / math.sqrt(9.0 * d), 1e-100)  # instead of a negative one: refused for certain
    v = root * root * root
    q = z * z
    bound = times(0.5, q) + times(d, 1.0 - v + times(3.0, _log(root)))
    fits = (u < 1.0 - times(0.0331 * q, q)) | (_log(u) < bound)
    return d * v, fits


@inlined
def address(seed, t, purpose):
    """The words that all items and runs of a call share: counter words 1 to 3, key word 0."""
    t = np.uint64(t)
    return t & _WORD, (np.uint64(purpose) << _PURPOSE_SHIFT) | (t >> _HALF), seed >> _HALF, seed & _WORD


@inlined
def _uniform(high, low):
    """Two words as a float64 in [0, 1), a multiple of 2**-53: 1 less it is exact."""
    return np.float64(((high << _HALF) | low) >> _SPARE_BITS) * _ULP


@inlined
def _normal_pair(w0, w1, w2, w3):
    """Two independent standard normals by Box and Muller, sqrt(2 E) (cos, sin) of a uniform angle."""
    radius = math.sqrt(-2.0 * _log(1.0 - _uniform(w0, w1)))
    # Low bits turn within the quarter around angle 0, the top two then choose the quarter.
    bits = (w2 << _HALF) | w3
    x = (times(np.float64(bits & _53_BITS), _ULP) - 0.5) * _HALF_PI
    z = x * x
    sin = x + times(x * z, -1.66666666666666324348e-01 + times(z, 8.33333333332248946124e-03
        + times(z, -1.98412698298579493134e-04 + times(z, 2.75573137070700676789e-06
        + times(z, -2.50507602534068634195e-08 + times(z, 1.58969099521155010221e-10))))))  # fmt: skip
    cos = 1.0 - (times(0.5, z) - times(z * z, 4.16666666666666019037e-02 + times(z, -1.38888888888741095749e-03
        + times(z, 2.48015872894767294178e-05 + times(z, -2.75573143513906633035e-07
        + times(z, 2.08757232129817482790e-09 - times(z, 1.13596475577881948265e-11)))))))  # fmt: skip
    turned = (bits & _TOP_BIT) != 0
    radius = -radius if (bits & _NEXT_BIT) != 0 else radius
    return radius * (-sin if turned else cos), radius * (cos if turned else sin)


@inlined
def _log(x):
    """Natural logarithm of a positive, normal x, to one unit in the last place (after fdlibm)."""
    # x = 2**k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2))
    i = np.uint64(np.float64(x).view(np.uint64) + _ONE_LESS_SQRT_HALF)
    k = np.float64(np.int64(i >> _FRACTION_BITS) - 1023)
    f = np.uint64((i & _FRACTION) + _SQRT_HALF).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = times(z, 6.666666666666735130e-01 + times(w, 2.857142874366239149e-01
        + times(w, 1.818357216161805012e-01 + times(w, 1.479819860511658591e-01))))  # fmt: skip
    even = times(
        w, 3.999999999940941908e-01 + times(w, 2.222219843214978396e-01 + times(w, 1.531383769920937332e-01))
    )
    h = times(0.5 * f, f)
    return times(k, _LN2_HIGH) - ((h - (times(s, h + (odd + even)) + times(k, _LN2_LOW))) - f)


@inlined
def _exp(x):
    """Exponential of x <= 0, to one unit in the last place (after fdlibm); 0 from -708 down."""
    if x < -708.0:
        return 0.0
    k = np.float64(math.floor(times(x, _LOG2_E) + 0.5))
    high, low = x - times(k, _LN2_HIGH), times(k, _LN2_LOW)
    r = high - low
    z = r * r
    c = r - times(z, 1.66666666666666019037e-01 + times(z, -2.77777777770155933842e-03
        + times(z, 6.61375632143793436117e-05 + times(z, -1.65339022054652515390e-06
        + times(z, 4.13813679705723846039e-08)))))  # fmt: skip
    y = 1.0 - ((low - r * c / (2.0 - c)) - high)
    return y * np.uint64(np.uint64(np.int64(k) + 1023) << _FRACTION_BITS).view(np.float64)
