"""The problem files on paths and two quotas."""

from pathlib import Path

import pytest

import matroid_bandits as mb
from matroid_bandits.specs import read_simulation

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "kind", "size"), [("two_quotas", mb.QuotaIntersection, 5), ("routes", mb.PathConstraint, 3)]
)
def test_problem_files(name, kind, size):
    plan = read_simulation(EXAMPLES / f"{name}.toml")
    assert type(plan.problem.constraint) is kind
    assert plan.problem.optimal_basis.size == size
    result = mb.simulate(plan.problem, plan.policies, n_episodes=20, n_runs=2, seed=0)
    assert (result.regret >= -1e-9).all()
