"""Functions of `kernels/` compiled for the GPU: the same source, so the same bits."""

from types import FunctionType

from matroid_bandits.gpu._cuda import is_simulated, load
from matroid_bandits.kernels import compiling, episodes, kinetic, random, sparse

cuda = load()
types = cuda.types

#: So many that 32 warps fit on a multiprocessor; what does not fit in them is needed by beta variates alone.
MOST_REGISTERS = 64


def on_device(function, **callees):
    """The plain function behind a compiled one, compiled for the GPU, where the names it calls stand for `callees`.

    The simulator takes it as it is.
    """
    plain = getattr(function, "py_func", function)
    copy = FunctionType(plain.__code__, {**plain.__globals__, **callees}, plain.__name__, plain.__defaults__)
    return copy if is_simulated() else cuda.jit(device=True)(copy)


def kernel(function):
    """A function compiled as a kernel, and kept on disk where Numba finds a place for it."""
    if is_simulated():
        return cuda.jit(function)
    try:
        return cuda.jit(cache=True, max_registers=MOST_REGISTERS)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return cuda.jit(max_registers=MOST_REGISTERS)(function)


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
