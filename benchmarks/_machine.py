"""What figures depend on; needs nothing but the package."""

import os
import platform
from typing import Any


def machine() -> dict[str, Any]:
    """The processor, how many of its cores may be used, how busy it was, and the versions."""
    import numba
    import numpy

    import matroid_bandits

    return {
        "cpu": _cpu_model(),
        "cores": n_cores(),
        "load before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else "unknown",
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "matroid_bandits": getattr(matroid_bandits, "__version__", "unknown"),
    }


def n_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
