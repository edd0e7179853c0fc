"""Array aliases used in signatures."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]
#: A label is hashable. Any, so that the labels of a set are keys of the caller's dictionaries without a cast.
Label = Any
#: A number for each item: in the order of items, or by label.
ItemValues = ArrayLike | Mapping[Any, float]

__all__ = ["AnyArray", "ArrayLike", "BoolArray", "FloatArray", "IntArray", "ItemValues", "Label"]
