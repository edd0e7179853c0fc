"""The suite of engines passes ours and catches those that decide otherwise than the greedy."""

import numpy as np
import pytest

from matroid_bandits.engines import ENGINES, Engine, GreedyEngine, KineticEngine
from matroid_bandits.exceptions import ContractError, PolicyError
from matroid_bandits.testing import EngineSuite, EnvironmentSuite, check_engine
from samples import WORLDS


class TestEngines(EngineSuite):
    @pytest.fixture(autouse=True, params=[*ENGINES, "auto"])
    def _given(self, request):
        self.engine = request.param


class TestEnvironments(EnvironmentSuite):
    n_draws, latest = 400, 1000

    @pytest.fixture(autouse=True, params=[world for world, _ in WORLDS.values()], ids=WORLDS)
    def _given(self, request):
        self.environment = request.param


class Deaf(GreedyEngine):
    """Forgets what a request excludes."""

    def decide(self, request):
        return super().decide(request._replace(excluded=None))


class Unpinned(GreedyEngine):
    def decide(self, request):
        return super().decide(request._replace(pinned=None))


class Everything(GreedyEngine):
    def decide(self, request):
        return super().decide(request._replace(available=None))


class Thrifty(GreedyEngine):
    """Returns the same array every time."""

    def decide(self, request):
        items, sizes = super().decide(request)
        self._kept = getattr(self, "_kept", np.empty_like(items))
        self._kept[:] = items
        return self._kept, sizes


class Meddling(GreedyEngine):
    def decide(self, request):
        self.state.means += 0.0 if request.episode < 5 else 1.0
        return super().decide(request)


class Forgetful(KineticEngine):
    """Is not told which items have changed."""

    def refresh(self, runs, items):
        pass


class Refusing(Engine):
    def __init__(self, *parts):
        raise PolicyError("expected another case")

    def decide(self, request):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("engine", "match"),
    [
        (Deaf, r"got \{.*\} instead of \{.*\} for run \d in episode"),
        (Unpinned, "expected the decisions of the greedy engine"),
        (Everything, "expected the decisions of the greedy engine"),
        (Forgetful, r"expected the decisions of the greedy engine with OMM\(scale=1.0\) on"),
        (Refusing, "to take one of 20 cases, got none"),
    ],
)
def test_engines_that_decide_otherwise_are_caught(engine, match):
    with pytest.raises(ContractError, match=match):
        check_engine(engine)


@pytest.mark.parametrize(("engine", "match"), [(Thrifty, "written to later"), (Meddling, "leave the state as it is")])
def test_engines_that_write_where_they_may_not_are_caught(engine, match):
    suite = EngineSuite()
    suite.engine = engine
    with pytest.raises(ContractError, match=match):
        suite.test_what_is_returned_may_be_kept()
