"""Stand-ins keep what the paper prints."""

import numpy as np
import pytest

from matroid_bandits.datasets import ROCKETFUEL_ASNS, kiva, movielens, printed, rocketfuel
from matroid_bandits.datasets._records import GENRES
from printed_figures import check_movies, check_network


@pytest.mark.parametrize("asn", ROCKETFUEL_ASNS)
def test_standin_network(asn):
    network = rocketfuel(asn, standin=True)
    check_network(network, printed.NETWORKS[asn])
    links = {frozenset(link) for link in network.problem.constraint.labels}
    assert len(links) == network.facts["edges"]
    assert all(len(link) == 2 for link in links)
    assert network.problem.optimal_value == round(printed.NETWORKS[asn].optimal)


def test_standin_lending():
    lending = kiva(standin=True)
    facts, problem = lending.facts, lending.problem
    assert (facts["partners"], facts["clusters"], facts["loans"]) == (232, 51, 194_876)
    assert 4_900 <= facts["edges"] <= 5_300
    best = problem.optimal_basis
    assert best.size == printed.TRANSVERSAL_SIZE
    means = problem.environment.mean_weights
    top = best[np.argsort(-means[best], kind="stable")][:12]
    assert [problem.constraint.labels[e] for e in top] == [row.partner for row in printed.PARTNERS]
    for e, row in zip(top, printed.PARTNERS, strict=True):
        assert f"{means[e]:.3f}" == f"{row.rate:.3f}"
        assert row.cluster in problem.constraint.neighbors[e]
        assert facts["cluster_partners"][row.cluster - 1] == row.cluster_partners
        assert f"{facts['cluster_rates'][row.cluster - 1]:.3f}" == f"{row.cluster_rate:.3f}"
    assert sum(facts["cluster_partners"]) == facts["edges"]
    assert facts["cluster_rates"].count(None) == 5


def test_standin_audience():
    audience = movielens(standin=True)
    check_movies(audience)
    assert {name for names in audience.facts["genres"] for name in names} == set(GENRES)
    assert len(set(audience.problem.constraint.labels)) == 100


def test_standins_are_the_same_every_time():
    one, two = rocketfuel(3967, standin=True).problem, rocketfuel(3967, standin=True).problem
    assert one.constraint.labels == two.constraint.labels
    np.testing.assert_array_equal(one.environment.mean_weights, two.environment.mean_weights)
