"""Numba's CUDA, found and looked over once: no other file imports it, and this one only when a GPU is asked for."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from matroid_bandits._util.extras import how_to_install
from matroid_bandits.exceptions import DeviceError

#: The first version of numba-cuda, and the first generation of GPUs, that have all the kernels need.
_LEAST_VERSION = (0, 23)
_LEAST_CAPABILITY = (6, 0)

#: The shared memory that a block of threads gets without asking.
PLAIN_BLOCK_BYTES = 48 * 1024


@dataclass(frozen=True)
class Device:
    """Description of the GPU, or of Numba's CUDA simulator.

    Examples
    --------
    >>> from matroid_bandits.gpu import Device
    >>> Device("NVIDIA H200", n_processors=132, free_bytes=2**37, block_bytes=49152).name
    'NVIDIA H200'
    """

    name: str
    n_processors: int
    free_bytes: int
    block_bytes: int
    is_simulated: bool = False


def is_simulated() -> bool:
    """Whether kernels are interpreted on the CPU by Numba's simulator, for tests."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


@cache
def load() -> Any:
    """The module `numba.cuda` of the package numba-cuda.

    Raises
    ------
    DeviceError
        It is not installed, or too old.
    """
    how = how_to_install("gpu")
    try:
        found = version("numba-cuda")
    except PackageNotFoundError:
        raise DeviceError(f"a GPU needs the package numba-cuda, which is not installed: {how}") from None
    if tuple(int(part) for part in found.split(".")[:2]) < _LEAST_VERSION:
        least = ".".join(map(str, _LEAST_VERSION))
        raise DeviceError(f"a GPU needs numba-cuda {least} or newer, got {found}: {how}")
    try:
        with warnings.catch_warnings(), _row_stack():
            warnings.simplefilter("ignore")  # of what numba-cuda itself uses, which is no concern of a user's
            cuda = importlib.import_module("numba.cuda")
            if not is_simulated():
                importlib.import_module("numba.cuda.cudaimpl")  # otherwise imported with the first kernel
            return cuda
    except Exception as error:  # whatever a library of CUDA's own raises where it does not fit
        raise DeviceError(f"numba-cuda {found} cannot be imported: {_first_line(error)}") from error


@contextmanager
def _row_stack() -> Iterator[None]:
    """Give NumPy its old name of `vstack` for a while: 2.5 dropped it, and numba-cuda 0.30 is imported with it."""
    is_missing = not hasattr(np, "row_stack")
    if is_missing:
        vars(np)["row_stack"] = np.vstack
    try:
        yield
    finally:
        if is_missing:
            del vars(np)["row_stack"]


def find_device() -> Device:
    """Return the GPU in use.

    Raises
    ------
    DeviceError
        There is none, its driver is missing, or it is too old.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> try:
    ...     where = mb.gpu.find_device().name
    ... except mb.exceptions.DeviceError:
    ...     where = "no GPU here"
    """
    cuda = load()
    if is_simulated():
        return Device("Numba's CUDA simulator", 1, 2**30, 48 * 1024, is_simulated=True)
    try:
        if not cuda.is_available():
            raise DeviceError(f"no GPU can be used: {_absence(cuda)}")
        device = cuda.get_current_device()
        capability, name = device.compute_capability, device.name
        free = int(cuda.current_context().get_memory_info()[0])
        n_processors, block_bytes = device.MULTIPROCESSOR_COUNT, device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    except DeviceError:
        raise
    except Exception as error:  # of the driver
        raise DeviceError(f"the GPU cannot be used: {_first_line(error)}") from error
    name = name.decode() if isinstance(name, bytes) else str(name)
    if tuple(capability) < _LEAST_CAPABILITY:
        raise DeviceError(
            f"expected a GPU of compute capability {_LEAST_CAPABILITY[0]}.{_LEAST_CAPABILITY[1]} or newer, "
            f"got {name} of {capability[0]}.{capability[1]}"
        )
    return Device(name, int(n_processors), free, int(block_bytes))


def widen(kernel: Any, arguments: tuple[Any, ...], n_bytes: int) -> None:
    """Let the blocks of a kernel with these arguments use more shared memory than `PLAIN_BLOCK_BYTES`."""
    driver = importlib.import_module("cuda.bindings.driver")
    compiled = kernel.compile(tuple(kernel.typeof_pyval(argument) for argument in arguments))
    function = compiled.library.get_cufunc()
    name = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    (status,) = driver.cuKernelSetAttribute(name, n_bytes, function.handle, function.device.id)
    if int(status) != 0:
        raise DeviceError(f"the GPU refused {n_bytes:,} bytes of shared memory for a block of threads: {status.name}")


def _absence(cuda: Any) -> str:
    """Why no GPU was found, in the driver's words where it has any."""
    error = cuda.cuda_error()
    return _first_line(error) if error else "there is none"


def _first_line(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" :\n")]
    return " ".join(lines[:2]) or type(error).__name__
