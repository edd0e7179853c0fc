"""Quantiles of Student's t distribution against SciPy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from matroid_bandits._util.student import t_quantile


@given(st.floats(0.5, 0.9999), st.integers(1, 10**5))
def test_quantiles(p, df):
    assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("df", [10**6, 10**9, 2**32])
def test_many_degrees_of_freedom_are_nearly_normal(df):
    assert t_quantile(0.975, df) == pytest.approx(stats.norm.ppf(0.975), rel=1e-5)
