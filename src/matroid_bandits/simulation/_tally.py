"""The parts of a simulation put together."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.versions import versions
from matroid_bandits.compiled import Part, Settings
from matroid_bandits.identification import Endings
from matroid_bandits.simulation._result import SimulationResult

#: The digests of a problem and of its policies; None for what has none.
Keys = tuple[str | None, tuple[str | None, ...] | None]


class Tally:
    """What is known of a simulation so far; parts are added in whatever order they come."""

    def __init__(self, names: tuple[str, ...], settings: Settings, first_run: int = 0) -> None:
        n_items, n_runs, n_points = settings.problem.n_items, settings.n_runs, settings.checkpoints.size
        self._names, self._settings = names, settings
        self._curves = np.empty((2, len(names), n_runs, n_points))
        self._choices, self._surplus = np.zeros((len(names), n_items), np.int64), np.zeros(n_runs)
        self._optimum: FloatArray | None = None
        self._alarms, self._item_alarms = (np.zeros((len(names), n), np.int64) for n in (n_points, n_items))
        self._has_alarms = False
        self._engines: list[set[str]] = [set() for _ in names]
        self._endings: Endings | None = None
        self._seconds, self._first = np.zeros(len(names)), first_run

    def add(self, name: str, part: Part) -> None:
        """Take what the policy of this name did in some runs."""
        p, rows = self._names.index(name), slice(part.first - self._first, part.last - self._first)
        self._curves[0, p, rows], self._curves[1, p, rows] = part.returns, part.regret
        self._choices[p] += part.choices
        self._seconds[p] += part.seconds
        self._engines[p].add(part.engine)
        self._surplus[rows] = part.surplus  # of the world, so of every policy; the optimum too
        if part.optimum is not None:
            if self._optimum is None:
                self._optimum = np.empty(self._curves.shape[2:])
            self._optimum[rows] = part.optimum
        if part.endings is not None:
            self._add_endings(p, rows, part.endings)
        if part.alarms is not None and part.item_alarms is not None:
            self._has_alarms = True
            self._alarms[p] += part.alarms.sum(axis=0)
            self._item_alarms[p] += part.item_alarms

    def _add_endings(self, p: int, rows: slice, endings: Endings) -> None:
        """Take when some runs of a policy ended, and with what."""
        if self._endings is None:
            shape, found = self._curves.shape[1:3], vars(endings).values()
            self._endings = Endings(*(np.zeros((*shape, *array.shape[1:]), array.dtype) for array in found))
        for name, array in vars(endings).items():
            getattr(self._endings, name)[p, rows] = array

    def result(
        self, wall_time: float, keep_runs: bool, device: str = "cpu", keys: Keys = (None, None)
    ) -> SimulationResult:
        """The whole, once all runs of all policies were added."""
        curves, settings, n_runs = self._curves, self._settings, self._settings.n_runs
        means = curves.mean(axis=2)
        errors = curves.std(axis=2, ddof=1) / np.sqrt(n_runs) if n_runs > 1 else np.full(means.shape, np.nan)
        optimal_value, optimum = self._optima()
        return SimulationResult(
            policies=self._names,
            checkpoints=settings.checkpoints,
            returns=means[0],
            returns_se=errors[0],
            regret=means[1],
            regret_se=errors[1],
            final_returns=curves[0, :, :, -1].copy(),
            final_regret=curves[1, :, :, -1].copy(),
            choices=self._choices,
            n_episodes=settings.n_episodes,
            n_runs=n_runs,
            seed=settings.seed,
            start=settings.start,
            minimize=settings.problem.minimize,
            optimal_value=optimal_value,
            wall_time=wall_time,
            versions=versions(*(["numba-cuda"] if device == "gpu" else [])),
            run_returns=curves[0] if keep_runs else None,
            run_regret=curves[1] if keep_runs else None,
            optimum=optimum,
            alarms=self._alarms / n_runs if self._has_alarms else None,
            item_alarms=self._item_alarms if self._has_alarms else None,
            device=device,
            no_bounds=settings.problem.no_bounds,
            no_regret=settings.problem.no_regret,
            engine=tuple(" and ".join(sorted(engines)) for engines in self._engines),
            endings=self._endings,
            until=None if settings.until is None else settings.until.to_dict(),
            seconds=self._seconds,
            run_ranges=((settings.seed, self._first, n_runs),),
            problem_key=keys[0],
            policy_keys=keys[1],
        )

    def _optima(self) -> tuple[float, FloatArray | None]:
        """What the optimum is worth per step, on average, and at each checkpoint so far where means change.

        It is the world's, so every policy met the same. NaN where they are not known.
        """
        settings = self._settings
        if settings.problem.no_regret:
            return np.nan, None
        if settings.problem.environment.is_stationary:
            return settings.problem.optimal_value + float(self._surplus.mean()) / settings.n_episodes, None
        if self._optimum is None:
            return np.nan, None
        per_step: FloatArray = self._optimum.mean(axis=0) / settings.checkpoints
        return float(per_step[-1]), per_step
