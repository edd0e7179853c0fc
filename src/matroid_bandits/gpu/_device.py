"""Functions of `kernels/` compiled for the GPU: the same source, so the same bits."""

import hashlib
from functools import cache
from pathlib import Path
from types import FunctionType

import numpy as np

from matroid_bandits import kernels
from matroid_bandits.gpu._cuda import is_simulated, load
from matroid_bandits.kernels import compiling, discount, episodes, kinetic, linear, random, sparse, transversal

cuda = load()
types = cuda.types

#: As many as let 32 warps fit on a multiprocessor; what does not fit in them is needed by beta variates alone.
MOST_REGISTERS = 64


def on_device(function, **callees):
    """The plain function behind a compiled one, compiled for the GPU, where the names it calls stand for `callees`.

    The simulator takes it as it is.
    """
    copy = _copy(function, callees)
    return copy if is_simulated() else cuda.jit(device=True)(copy)


def by_block(function, **callees):
    """As `on_device`, of a function that uses `cuda` by itself, which the simulator has to know."""
    return cuda.jit(device=True)(_copy(function, callees))


def kernel(function, name, **callees):
    """As `on_device`, compiled as a kernel, and kept on disk where Numba finds a place for it.

    Numba does not notice edits of what a kernel calls, so the name under which it is kept says what all sources are.
    """
    copy = _copy(function, callees)
    copy.__name__ = copy.__qualname__ = name if is_simulated() else f"{name}_{_digest()}"
    if is_simulated():
        return cuda.jit(copy)
    try:
        return cuda.jit(cache=True, max_registers=MOST_REGISTERS)(copy)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return cuda.jit(max_registers=MOST_REGISTERS)(copy)


def _copy(function, callees):
    plain = getattr(function, "py_func", function)
    known = {**plain.__globals__, **callees}
    if not is_simulated():  # for which a compiled function is Numba's own
        known |= {name: known[name].dispatcher for name in plain.__code__.co_names if _is_kernel(known.get(name))}
    copy = FunctionType(plain.__code__, known, plain.__name__, plain.__defaults__)
    copy.__module__ = plain.__module__
    return copy


def _is_kernel(value):
    return isinstance(value, compiling.Kernel)


@cache
def _digest():
    """A word for all sources of the kernels."""
    digest = hashlib.sha256()
    for package in (kernels.__file__, __file__):
        for path in sorted(Path(package).parent.glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _rounded(x, y):
    """x y, rounded by itself: the compiler does not fuse this intrinsic with a sum."""
    return cuda.libdevice.dmul_rn(x, y)


# the simulator has no libdevice, and fuses nothing
times = on_device(compiling.times if is_simulated() else _rounded)
address = on_device(random.address)
_philox = on_device(random.philox4x32)
_uniform = on_device(random._uniform)
_log = on_device(random._log, times=times)
_exp = on_device(random._exp, times=times)
uniform_at = on_device(random.uniform_at, _philox=_philox, _uniform=_uniform)
exponential_at = on_device(random.exponential_at, uniform_at=uniform_at, _log=_log)
_normal_pair = on_device(random._normal_pair, times=times, _log=_log, _uniform=_uniform)
normal_at = on_device(random.normal_at, _philox=_philox, _normal_pair=_normal_pair)
_gamma_from = on_device(random._gamma_from, times=times, _log=_log)
_gamma_attempt = on_device(
    random._gamma_attempt, _philox=_philox, _normal_pair=_normal_pair, _gamma_from=_gamma_from, _uniform=_uniform
)
beta_at = on_device(
    random.beta_at, _philox=_philox, _gamma_attempt=_gamma_attempt, _log=_log, _exp=_exp, _uniform=_uniform
)
index = on_device(kinetic.index, times=times)
entry = on_device(sparse.entry)
sampled_mean = on_device(episodes.sampled_mean, times=times)
coin = on_device(episodes.coin)
place_of = on_device(episodes.place_of)
chance_of = on_device(episodes.chance_of)
radius_of = on_device(episodes.radius_of)
noisy = on_device(episodes.noisy, times=times)
catch_up = on_device(discount._catch_up)
faded_line = on_device(discount._line)
reduce = on_device(linear._reduce)


def _lowest(bits):
    """The number of the lowest bit of 64 that is set."""
    low = np.uint32(bits & np.uint64(0xFFFFFFFF))
    if low != np.uint32(0):
        return np.int64(cuda.ffs(low)) - 1
    return np.int64(cuda.ffs(np.uint32(bits >> np.uint64(32)))) + 31


lowest = by_block(_lowest)
augment_masks = on_device(transversal._augment_masks, _lowest=lowest)
#: The stamp of a vertex that is not entered again, which fits in the 32 bits of the work space.
augment = on_device(transversal._augment, _DEAD=np.int32(2**31 - 1))
