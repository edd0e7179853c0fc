"""Data held against the figures that the paper prints, whether it is real or made up."""

import numpy as np
import pytest

from matroid_bandits.datasets import Dataset, printed


def check_network(network: Dataset, row: printed.PrintedNetwork) -> None:
    facts = network.facts
    assert (facts["nodes"], facts["edges"]) == (row.n_nodes, row.n_edges)
    assert (facts["min_latency"], facts["max_latency"]) == (row.min_latency, row.max_latency)
    assert f"{facts['mean_latency']:.2f}" == f"{row.mean_latency:.2f}"
    assert network.problem.optimal_value == pytest.approx(row.optimal, rel=0.02)
    assert network.problem.minimize


def check_movies(audience: Dataset) -> None:
    problem, facts = audience.problem, audience.facts
    assert (facts["people"], facts["movies"], len(facts["genre_names"])) == (6040, 100, 18)
    means = problem.environment.mean_weights
    best = problem.optimal_basis
    assert best.size == printed.MOVIE_BASIS_SIZE
    top = best[np.argsort(-means[best], kind="stable")][:12]
    assert [
        printed.PrintedMovie(facts["titles"][e], round(float(means[e]), 3), facts["genres"][e]) for e in top
    ] == list(printed.MOVIES)
