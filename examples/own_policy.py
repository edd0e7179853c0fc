"""A policy of one's own: one method over arrays with a row per run, raced against OMM.

    python examples/own_policy.py

UCB1-Tuned (Auer, Cesa-Bianchi and Fischer, 2002) explores an item less when its weights vary little. The array it
needs besides counts and means, the sums of squares, lives in `state.extra`.
"""

import numpy as np

import matroid_bandits as mb


class Tuned(mb.Policy):
    """UCB1-Tuned: mean + sqrt(log t / T * min(1/4, variance + sqrt(2 log t / T)))."""

    memory = (mb.Memory("squares"),)

    def observe(self, state, feedback):
        state.extra["squares"][feedback.runs, feedback.items] += feedback.gains**2

    def indices(self, state, request):
        n = np.maximum(state.counts, 1)
        variance = state.extra["squares"] / n - state.means**2
        share = np.log(request.episode) / n
        return state.means + np.sqrt(share * np.minimum(0.25, variance + np.sqrt(2 * share)))


def main(n_episodes=2_000, n_runs=100):
    """Learn the best spanning tree of a ladder whose edges are up for a share of the time."""
    ladder = [(i, i + 1) for i in range(9)] + [(10 + i, 11 + i) for i in range(9)] + [(i, 10 + i) for i in range(10)]
    uptime = np.linspace(0.55, 0.95, len(ladder))
    problem = mb.Problem(mb.GraphicMatroid(ladder), mb.BetaEnvironment(20 * uptime, 20 * (1 - uptime)))
    mb.testing.check_policy(Tuned())  # what every policy must keep
    result = mb.simulate(problem, {"Tuned": Tuned(), "OMM": mb.OMM()}, n_episodes=n_episodes, n_runs=n_runs, seed=0)
    print(result.summary())
    return result


if __name__ == "__main__":
    main()
