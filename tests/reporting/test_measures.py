"""What a report says of a simulation."""

import numpy as np
import pytest

from matroid_bandits.reporting import report_checkpoints


@pytest.mark.parametrize("n", [1, 2, 50, 51, 1_000, 50_000])
def test_report_checkpoints(n):
    points = report_checkpoints(n)
    assert points[0] == 1
    assert points[-1] == n
    assert (np.diff(points) > 0).all()
    assert set(range(1, min(n, 50) + 1)) <= set(points.tolist())
