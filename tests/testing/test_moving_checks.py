"""What `check_environment` finds in means that change and in features."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ContractError
from matroid_bandits.testing import check_environment


class Rising(mb.Environment):
    """Coins that turn up more and more often: from half of the time to always, over some episodes."""

    over = 1000

    def __init__(self):
        super().__init__(support=(0.0, 1.0), n_items=3)

    def means(self, t, stream):
        return np.full(3, min(0.5 + 0.5 * t / self.over, 1.0))

    def draw(self, stream, t, items):
        return (stream.uniform(t, items) < Rising.means(self, t, stream)[items]).astype(float)


def world(**hooks):
    return type("Broken", (Rising,), hooks)()


def test_sound_worlds_pass():
    check_environment(Rising())
    check_environment(world(n_features=1, features=lambda self, stream, t: np.full((3, 1), float(t))), n_draws=200)
    check_environment(world(means=lambda self, t, stream: None), n_draws=200)  # says that it does not know


def wrong_later(self, t, stream):
    """Right at first, then as if nothing had changed."""
    return np.full(3, min(0.5 + 0.5 * min(t, 20) / self.over, 1.0))


def made_with_means(self):
    mb.Environment.__init__(self, [0.5] * 3, (0.0, 1.0))


@pytest.mark.parametrize("how", ["stationary", "says so"])
def test_weights_that_leave_their_means_over_time_are_caught(how):
    """A drifting world made with constant means, and one whose means stop too early."""
    hooks = {"over": 10_000, "__init__": made_with_means, "means": mb.Environment.means}
    broken = world(**hooks) if how == "stationary" else world(means=wrong_later)
    name = "mean_weights" if how == "stationary" else "means"
    with pytest.raises(ContractError, match=rf"item \d in episode 3000 to average to {name}, 0.5.*; got"):
        check_environment(broken)


@pytest.mark.compiled
def test_a_drift_that_simulations_would_take_for_skill_is_caught():
    """Made with constant means, its returns pass the optimum in a simulation; the check says so before."""
    hooks = {"over": 10_000, "__init__": made_with_means, "means": mb.Environment.means}
    problem = mb.Problem(mb.UniformMatroid(3, 1), world(**hooks))
    result = mb.simulate(problem, mb.UniformRandom(), n_episodes=5000, n_runs=2, seed=0)
    assert result.realised_per_step_return[0, -1] > result.optimal_value + 0.05
    with pytest.raises(ContractError):
        check_environment(problem.environment)


def by_batch(self, t, stream):
    return np.full(3, 0.5 + 0.1 * (stream.n_runs > 1))


def by_chance(self, t, stream):
    return np.random.default_rng().random(3)


def sometimes(self, t, stream):
    return None if t == 3000 else Rising.means(self, t, stream)


def features_by_row(self, stream, t):
    return np.broadcast_to(np.arange(stream.n_runs)[:, None, None], (stream.n_runs, 3, 2)) * 1.0


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"means": lambda self, t, stream: [0.5] * 3}, r"Broken\.means to give float64 .* got list"),
        ({"means": lambda self, t, stream: np.full(3, np.nan)}, r"Broken\.means to be finite"),
        ({"means": lambda self, t, stream: np.full(3, 2.0)}, r"means within support \[0, 1\], got 2.0 for item 0"),
        ({"means": sometimes}, "expected means to be None in every episode or in none, got both"),
        ({"means": by_chance}, r"means to depend on \(seed, run, t, item\) alone; asked again"),
        ({"means": by_batch}, r"means to depend on .* alone; asked for run 0 alone, item 0 has 0.5 instead of 0.6"),
        (
            {"__init__": made_with_means},
            "expected no mean_weights, but n_items, of an environment whose means change",
        ),
        ({"n_features": 0}, "n_features to be a positive integer or None, got 0"),
        ({"n_features": 1.0}, "n_features to be a positive integer or None, got 1.0"),
        ({"n_features": 1}, "n_features and features, or neither; got n_features = 1 and no features"),
        ({"features": lambda self, stream, t: np.ones((3, 1))}, "got n_features = None and features"),
        ({"n_features": 2, "features": lambda self, stream, t: np.ones((3, 1))}, r"Broken\.features to give float64"),
        ({"n_features": 2, "features": features_by_row}, "a feature to depend on .* asked for run 1 alone, item 0"),
    ],
)
def test_broken_means_and_features_are_caught(hooks, message):
    with pytest.raises(ContractError, match=message):
        check_environment(world(**hooks), n_draws=200)


@pytest.mark.compiled
def test_large_worlds_are_checked_a_few_runs_at_a_time():
    """Means of each run are as many as runs times items: never for more than some of both."""
    asked = []

    class Wide(mb.ContextualEnvironment):
        def means(self, t, stream):
            asked.append(stream.n_runs)
            return super().means(t, stream)

    check_environment(Wide(np.zeros((40_000, 1)), [1.0]), n_draws=432)
    assert max(asked) <= 2**20 // 40_000
