"""Real maps of Internet providers from topohub."""

import json
from importlib import resources

import numpy as np
import pytest

from matroid_bandits.datasets import DEFAULT_ISPS, isp, isp_names
from matroid_bandits.exceptions import DataError


@pytest.mark.parametrize("name", DEFAULT_ISPS)
def test_default_isps(name):
    network = isp(name)
    assert network.source == "real"
    assert network.problem.minimize
    assert network.facts["min_latency"] >= 1
    assert network.problem.constraint.rank == network.facts["nodes"] - network.facts["components"]
    assert len(set(network.problem.constraint.labels)) == network.facts["edges"]


def test_isp_latency_is_length_at_200_km_per_ms_and_the_noise():
    file = resources.files("topohub") / "data/topozoo/Abilene.json"
    lengths = [edge["dist"] for edge in json.loads(file.read_text())["edges"]]
    assert min(lengths) == 263.4  # kilometres
    means = isp("topozoo/Abilene").problem.environment.mean_weights
    np.testing.assert_allclose(means, 1 + np.array(lengths) / 200)


def test_unknown_isp():
    with pytest.raises(DataError, match=r"unknown ISP 'abilen'; did you mean topozoo/Abilene"):
        isp("abilen")
    with pytest.raises(DataError, match=r"unknown ISP '~'; see isp_names"):
        isp("~")
    assert set(DEFAULT_ISPS) <= set(isp_names())
