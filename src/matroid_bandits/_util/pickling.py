"""What is sent to other processes of ours."""

import pickle
from typing import Any


def pickler() -> Any:
    """The module that pickles: cloudpickle, which takes classes of notebooks and scripts, where it is installed."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        try:
            return __import__(name, fromlist=["dumps"])
        except ImportError:
            continue
    return pickle
