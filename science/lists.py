"""Lists that are read from the top: cascades and clicks by place, with the shipped policies.

    python science/lists.py [--rows 12] [--worlds 24] [--only published|worlds|positions]

1. The setting of Table 1 of Kveton, Szepesvari, Wen and Ashkan (ICML 2015): of L items K have mean 0.2 and the others
   0.2 - gap; 100,000 lists of K items, 20 runs, each with its items in another random order. CascadeUCB1 is
   `OMM(sqrt(0.75))`, CascadeKL-UCB is `KLOSM(c=3)`; lists are shown best first and worst first. Regret is in expected
   first clicks. The printed table was not at hand, so nothing is compared. `--rows` plays the first rows alone.
2. What is learnt of a list: 24 worlds with w ~ Beta(1, 4), two runs each of 5,000 lists; four of 24 items, or one of
   six in each of four blocks. Either only what was read is learnt, or all others are told 0; lists are shown in the
   policy's order, by the number of the item, or worst first.
3. Clicks by place, attention 1, 1/2, 1/3, ...: known, learnt or ignored, over 8,000 lists.

Scales of OMM are those that did best on ten other worlds. Figures of 2 and 3 are compared with those that an
independent program found; the script exits with 1 where one is more than three standard errors of the difference
away, where learnt attention is off by more than 0.06 on average at some place, or where ignoring attention costs less
than twice what learning it costs. All seeds are fixed.
"""

import argparse
import statistics
import sys
import time
from functools import lru_cache

import numpy as np

import matroid_bandits as mb

#: L, K and the gap.
ROWS = [(16, 2, 0.15), (16, 4, 0.15), (16, 8, 0.15), (16, 2, 0.075), (16, 4, 0.075), (16, 8, 0.075),
        (32, 2, 0.15), (32, 4, 0.15), (32, 8, 0.15), (32, 2, 0.075), (32, 4, 0.075), (32, 8, 0.075)]  # fmt: skip

#: Regret and its error of OMM with its best scale, KLOSM(c=3) and Thompson sampling, by what is learnt and shown.
EXPECTED = {
    "partition": {
        "others told 0, by number": ((83.4, 5.6), (187.8, 7.0), (96.7, 4.4)),
        "others told 0, as a list": ((91.5, 12.8), (186.1, 7.1), (99.2, 4.1)),
        "what was read, by number": ((38.5, 5.8), (138.2, 7.8), (65.5, 4.3)),
        "what was read, as a list": ((43.3, 4.9), (139.8, 7.8), (64.7, 4.0)),
        "what was read, worst first": ((39.6, 8.0), (122.2, 7.8), (52.8, 3.8)),
    },
    "uniform": {
        "others told 0, by number": ((262.0, 29.0), (355.0, 27.0), (292.0, 26.0)),
        "others told 0, as a list": ((105.7, 9.4), (185.9, 8.2), (132.3, 6.6)),
        "what was read, by number": ((43.1, 5.9), (115.3, 9.4), (71.1, 5.9)),
        "what was read, as a list": ((56.2, 4.9), (147.7, 7.1), (75.8, 4.1)),
        "what was read, worst first": ((28.7, 2.7), (75.2, 7.0), (40.3, 3.0)),
    },
}

#: Regret of OMM with its best scale where attention is known, learnt and ignored.
EXPECTED_BY_PLACE = {
    "partition": {"known": (172.0, 27.0), "learnt": (156.0, 8.0), "ignored": (464.0, 65.0)},
    "uniform": {"known": (328.0, 8.0), "learnt": (298.0, 30.0), "ignored": (604.0, 53.0)},
}


class ByRun(mb.Environment):
    """Weights 0 or 1 with means of its own for each run: row i of a table for run i."""

    is_independent = True

    def __init__(self, table: np.ndarray) -> None:
        super().__init__(n_items=table.shape[1], support=(0.0, 1.0))
        self._table = table

    def means(self, t, stream):
        return rows(self._table.tobytes(), self._table.shape[1], tuple(stream.runs.tolist()))

    def draw(self, stream, t, items):
        means = np.take_along_axis(self.means(t, stream), np.broadcast_to(items, (stream.n_runs, items.shape[-1])), 1)
        return (stream.uniform(t, items) < means).astype(np.float64)


@lru_cache(maxsize=64)
def rows(table: bytes, n_items: int, runs: tuple[int, ...]) -> np.ndarray:
    """The same read-only array whenever it is asked for, so that its best sets are found once."""
    means = np.frombuffer(table).reshape(-1, n_items)[list(runs)]
    means.flags.writeable = False
    return means


class Shown(mb.CascadeEnvironment):
    """A cascade that may be shown by the number of the item, or tell 0 of what was not read."""

    def __init__(self, environment, order, by_number, tells_all):
        super().__init__(environment, order=order)
        self._by_number, self._tells_all = by_number, tells_all

    def look(self, stream, t, items, weights, places):
        if self._by_number:
            places = np.where(places >= 0, np.arange(items.shape[1]), -1)
        weights, is_read = super().look(stream, t, items, weights, places)
        return (np.where(is_read, weights, 0.0), None) if self._tells_all else (weights, is_read)

    def earned(self, weights, places):
        return self.worth(weights, places)


class Watched(mb.PositionBias):
    """`PositionBias` that hands out the attention of every run at the end."""

    def __init__(self, base, attention, n_places, found):
        super().__init__(base, attention, n_places)
        self._found = found

    def advance(self, state, request):
        super().advance(state, request)
        self._found |= dict(zip(request.stream.runs.tolist(), state.extra["attention"].copy(), strict=True))


def constraint_of(shape: str, n_items: int, size: int) -> mb.Matroid:
    if shape == "uniform":
        return mb.UniformMatroid(n_items, size)
    return mb.PartitionMatroid(np.repeat(np.arange(4), n_items // 4))


def table_of(n: int, seed: int, n_items: int) -> np.ndarray:
    """The means of n worlds, each for two runs."""
    rng = np.random.default_rng(seed)
    return np.repeat(np.stack([rng.beta(1.0, 4.0, n_items) for _ in range(n)]), 2, axis=0)


def regret_of(
    problem: mb.Problem, policy: mb.Policy, n_runs: int, n_episodes: int, seed: int, start: str
) -> np.ndarray:
    result = mb.simulate(
        problem, [policy], n_episodes=n_episodes, n_runs=n_runs, seed=seed, start=start, checkpoints=[n_episodes]
    )
    return result.final_regret[0]


def mean_of(values: np.ndarray) -> tuple[float, float]:
    """A mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def is_near(found: tuple[float, float], expected: tuple[float, float]) -> bool:
    return abs(found[0] - expected[0]) <= 3.0 * float(np.hypot(found[1], expected[1]))


def published(n_rows: int, n_episodes: int = 100_000, n_runs: int = 20) -> None:
    """Print the first table."""
    print(
        f"regret of {n_episodes:,} lists, {n_runs} runs; not compared with the printed table, which was not at hand"
    )
    for L, K, gap in ROWS[:n_rows]:
        start = time.perf_counter()
        means = np.where(np.arange(L) < K, 0.2, 0.2 - gap)
        table = np.stack([np.random.default_rng(run).permutation(means) for run in range(n_runs)])
        cells = []
        for order in ("best", "explore"):
            problem = mb.Problem(mb.UniformMatroid(L, K), mb.CascadeEnvironment(ByRun(table), order=order))
            for policy in (mb.OMM(0.75**0.5), mb.KLOSM(c=3.0)):
                mean, error = mean_of(regret_of(problem, policy, n_runs, n_episodes, 7000, "observe"))
                cells.append(f"{mean:8.1f} +- {error:4.1f}")
        print(
            f"L {L}, K {K}, gap {gap:5}: best first CascadeUCB1 {cells[0]}, CascadeKL-UCB {cells[1]}; worst first "
            f"{cells[2]}, {cells[3]}   {time.perf_counter() - start:.0f} s",
            flush=True,
        )


def tuned(scales: list[float], regret) -> float:
    """The scale of least mean regret."""
    return min(scales, key=lambda scale: regret(scale).mean())


def worlds(n: int) -> int:
    """Print the second table; return how many figures are not as expected."""
    n_missed = 0
    for shape, by_case in EXPECTED.items():
        constraint = constraint_of(shape, 24, 4)
        for case, expected in by_case.items():
            learnt, shown = case.split(", ")
            how = ("explore" if shown == "worst first" else "best", shown == "by number", learnt == "others told 0")

            def regret(policy, count, seed, runs_seed):
                problem = mb.Problem(constraint, Shown(ByRun(table_of(count, seed, 24)), *how))  # noqa: B023
                return regret_of(problem, policy, 2 * count, 5_000, runs_seed, "observe")

            scale = tuned([0.1, 0.2, 0.4], lambda s: regret(mb.OMM(s), 10, 1, 50))
            cells = []
            for policy, reference in zip(
                (mb.OMM(scale), mb.KLOSM(c=3.0), mb.ThompsonSampling()), expected, strict=True
            ):
                per_world = regret(policy, n, 2, 900).reshape(n, 2).mean(axis=1)
                found = mean_of(per_world)
                is_missed = not is_near(found, reference)
                n_missed += is_missed
                mark = f" MISSED, {reference[0]}" if is_missed else ""
                cells.append(f"{found[0]:6.1f} +- {found[1]:4.1f}; {statistics.median(per_world):6.1f}{mark}")
            print(
                f"{shape:9} {case:26} OMM({scale}) {cells[0]}   KLOSM(3) {cells[1]}   Thompson {cells[2]}", flush=True
            )
    return n_missed


def positions(n: int) -> int:
    """Print the third table; return how many figures are not as expected."""
    n_missed = 0
    for shape, n_items, size in (("partition", 24, 4), ("uniform", 30, 6)):
        attention, means = 1.0 / np.arange(1, size + 1), {}
        knowledge = {"known": attention, "learnt": None, "ignored": np.ones(1)}
        for name, known in knowledge.items():
            found_attention: dict[int, np.ndarray] = {}

            def regret(scale, count, seed, runs_seed):
                world = mb.PositionEnvironment(ByRun(table_of(count, seed, n_items)), attention)  # noqa: B023
                problem = mb.Problem(constraint_of(shape, n_items, size), world)  # noqa: B023
                policy = Watched(mb.OMM(scale), known, size, found_attention)  # noqa: B023
                return regret_of(problem, policy, 2 * count, 8_000, runs_seed, "explore")

            scale = tuned([0.1, 0.2, 0.4, 0.8], lambda s: regret(s, 10, 1, 50))
            found_attention.clear()
            per_world = regret(scale, n, 2, 900).reshape(n, 2).mean(axis=1)
            means[name] = found = mean_of(per_world)
            is_missed, learnt = not is_near(found, EXPECTED_BY_PLACE[shape][name]), ""
            if known is None:
                errors = np.abs(np.stack([found_attention[run] for run in sorted(found_attention)]) - attention)
                is_missed |= bool((errors.mean(axis=0) > 0.06).any())
                by_place = ", ".join(f"{each:.3f}" for each in errors.mean(axis=0))
                worst = errors.max(axis=1).mean()
                learnt = f"   attention is off by {by_place} at each place, {worst:.3f} at the worst of a run"
            n_missed += is_missed
            print(
                f"{shape:9} attention {name:8} OMM({scale}) {found[0]:6.1f} +- {found[1]:4.1f}; "
                f"{statistics.median(per_world):6.1f}{learnt}{'   MISSED' if is_missed else ''}",
                flush=True,
            )
        ratio = means["ignored"][0] / means["learnt"][0]
        n_missed += ratio < 2.0
        print(f"{shape:9} ignoring attention costs {ratio:.1f} times what learning it costs", flush=True)
    return n_missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=len(ROWS), help="rows of the first table")
    parser.add_argument("--worlds", type=int, default=24, help="worlds of each figure")
    parser.add_argument("--only", choices=("published", "worlds", "positions"), help="one of the tables")
    arguments = parser.parse_args()
    n_missed = 0
    if arguments.only in (None, "worlds"):
        n_missed += worlds(arguments.worlds)
    if arguments.only in (None, "positions"):
        n_missed += positions(arguments.worlds)
    if arguments.only in (None, "published"):
        published(arguments.rows)
    print(f"{n_missed} figures missed")
    return int(n_missed > 0)


if __name__ == "__main__":
    sys.exit(main())
