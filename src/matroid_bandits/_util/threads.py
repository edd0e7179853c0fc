"""Rows over threads: kernels release the GIL, so plain Python threads use every core."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_NAME = "matroid-bandits-rows"
_local = threading.local()


def n_threads() -> int:
    """Cores this process may use; ``NUMBA_NUM_THREADS`` overrides it, as it does for Numba itself."""
    setting = os.environ.get("NUMBA_NUM_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_rows(work: Callable[[int, int], None], n_rows: int) -> None:
    """Call ``work(lo, hi)`` on slices that cover ``range(n_rows)``, one slice per thread; wait for all."""
    n_parts = min(n_threads(), n_rows)
    # a thread of the pool that waited for others of the pool could wait for ever
    if n_parts <= 1 or getattr(_local, "is_alone", False) or threading.current_thread().name.startswith(_NAME):
        work(0, n_rows)
        return
    edges = [n_rows * part // n_parts for part in range(n_parts + 1)]
    futures = [_threads().submit(work, lo, hi) for lo, hi in pairwise(edges[1:])]
    try:
        work(edges[0], edges[1])  # the caller's thread works too
    finally:
        errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None:
            raise error


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Let `over_rows` use the caller's thread alone, where other workers have the other cores."""
    former = getattr(_local, "is_alone", False)
    _local.is_alone = True
    try:
        yield
    finally:
        _local.is_alone = former


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(n_threads(), thread_name_prefix=_NAME)
        return _pool


def _forget_pool() -> None:
    """A forked child has none of its parent's threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
