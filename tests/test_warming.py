"""Compiling in advance: what `warm_up` takes, and that later calls compile nothing."""

import subprocess
import sys

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import PolicyError, SimulationError

SLOTS = mb.UniformMatroid(4, 2)
PROBLEM = mb.Problem(SLOTS, mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))


@pytest.mark.compiled
def test_what_was_warmed_up_compiles_and_loads_nothing_more():
    code = """
import numba
import matroid_bandits as mb
from numba.core import dispatcher

slots = mb.UniformMatroid(4, 2)
problem = mb.Problem(slots, mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
policies = {"OMM": mb.OMM(), "Thompson": mb.ThompsonSampling()}
learner = mb.Learner(slots, mb.OMM())
calls = []
compile = dispatcher.Dispatcher.compile
dispatcher.Dispatcher.compile = lambda *arguments: calls.append(arguments) or compile(*arguments)
for target in ((problem, policies), (slots, policies), (learner,)):
    assert mb.warm_up(*target) > 0.0
assert calls
calls.clear()
for target in ((problem, policies), (slots, policies), (learner,)):
    mb.warm_up(*target)
decision = learner.ask()
learner.tell(decision, [1.0, 0.0])
result = mb.simulate(problem, policies, n_episodes=50, n_runs=3, seed=1)
print(learner.n_decisions, result.engine, calls)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "1 ('compiled', 'compiled') []\n"


def test_what_it_takes():
    assert mb.warm_up(PROBLEM, [mb.FixedSet([0, 1])]) > 0.0
    assert mb.warm_up(SLOTS, {"it": mb.FixedSet([0, 1])}) > 0.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((mb.OMM(),), SimulationError, "expected a Learner, a Problem or a Constraint; got OMM"),
        ((PROBLEM,), SimulationError, "expected policies beside a Problem, got none"),
        ((SLOTS,), SimulationError, "expected policies beside a UniformMatroid, got none"),
        ((mb.Learner(SLOTS, mb.OMM()), mb.OMM()), SimulationError, "expected no policies beside a learner"),
        ((PROBLEM, mb.OMM), SimulationError, "expected policies by name in a dict, or a list of them"),
        ((SLOTS, "OMM"), PolicyError, "expected a Policy"),
    ],
)
def test_what_it_does_not_take(arguments, error, message):
    with pytest.raises(error, match=message):
        mb.warm_up(*arguments)
