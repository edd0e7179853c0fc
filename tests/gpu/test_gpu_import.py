"""What the import of numba-cuda leaves behind."""

import numpy as np

from matroid_bandits.gpu import _cuda


def test_numpy_is_as_it_was(monkeypatch):
    """NumPy 2.5 has no `row_stack`, with which numba-cuda is imported: it is there during that import alone."""
    before = dict(vars(np))
    if "row_stack" in before:
        monkeypatch.delattr(np, "row_stack")
    assert not hasattr(np, "row_stack")
    with _cuda._row_stack():
        assert vars(np)["row_stack"] is np.vstack
    assert not hasattr(np, "row_stack")
    monkeypatch.undo()
    assert vars(np) == before
