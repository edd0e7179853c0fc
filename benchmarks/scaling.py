"""Episodes a second by number of threads, one to all cores, and by default; beside another checkout if one is named.

    python -m benchmarks.scaling [series ...] [--tree CHECKOUT] [--fixed] [--machine NAME] [--seconds S] [--out FILE]

A number is the most threads that there may be, as on a machine with that number of cores; with ``--fixed`` it is a
pool of that many threads, all of which are used: then the last column shows whether the default is the best number.
``make bench scaling`` runs it without options. It needs nothing but the package, NumPy and Numba, so that it runs on
any machine with ``PYTHONPATH=src``. Every tree is measured in a process of its own, all of them in turns; what is
compared was measured within seconds of each other, and the best of some rounds counts. All choose the same sets.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(_HERE))

import matroid_bandits as mb  # noqa: E402
from benchmarks._machine import machine, n_cores  # noqa: E402
from benchmarks._trees import answer_all, worker  # noqa: E402

#: Seconds that a sample should take, samples of every figure, and the fewest episodes of one.
_SECONDS, _ROUNDS, _FEWEST = 1.0, 2, 50
_MOST_EPISODES = 200_000

#: Items, set size, and episodes before the clock starts, of the case that has converged; and expected of it.
_MANY, _RANK, _BEFORE, _LEAST_OF_SCAN = 1_000_000, 100, 4_000, 300.0


@dataclass(frozen=True)
class Series:
    """One job at several numbers of threads. `at_least` is expected of all 16 cores: times one thread, and in
    millions of episodes a second; `once` of one thread, times the other tree's."""

    make: Callable[[], tuple[mb.Problem, dict[str, mb.Policy]]]
    n_runs: int
    at_least: tuple[float, float] = (0.0, 0.0)
    once: float = 1.0


class Optimist(mb.Policy):
    """A policy in NumPy, which no compiled loop can play."""

    def indices(self, state: mb.State, request: mb.Request) -> np.ndarray:
        """A mean and a radius, in array operations."""
        counts = np.maximum(state.counts, 1)
        radius = np.sqrt(1.5 * np.log(request.episode) / counts)
        return np.minimum(state.means + radius, 1.0) + 1e-3 * radius


def _graph(n_vertices: int, n_edges: int) -> mb.Problem:
    """Routing trees of a random connected graph; latencies of 1 to 64 ms, most of them small."""
    rng = np.random.default_rng(10)
    edges = {(int(rng.integers(i)), i) for i in range(1, n_vertices)}
    while len(edges) < n_edges:
        u, v = sorted(rng.integers(n_vertices, size=2).tolist())
        if u != v:
            edges.add((u, v))
    latency = np.clip(np.rint(rng.lognormal(1.0, 0.9, n_edges)), 1.0, 64.0)
    return mb.Problem(mb.GraphicMatroid(np.array(sorted(edges))), mb.ExponentialEnvironment(latency), minimize=True)


def _coins(matroid: mb.Matroid) -> mb.Problem:
    return mb.Problem(matroid, mb.BernoulliEnvironment(np.random.default_rng(1).beta(2, 6, matroid.n_items)))


def _late(problem: mb.Problem) -> mb.Problem:
    """The same with answers that come 10 episodes late and more, 30 on average; one in twenty never does."""
    world = mb.DelayedEnvironment(problem.environment, 10, mean=20, never=0.05)
    return mb.Problem(problem.constraint, world, problem.minimize)


def _loans() -> mb.Problem:
    allowed = np.random.default_rng(12).random((232, 51)) < 0.42
    return _coins(mb.TransversalMatroid([np.flatnonzero(row).tolist() for row in allowed]))


def _movies() -> mb.Problem:
    rng = np.random.default_rng(11)
    vectors = (rng.random((100, 18)) < 1 / 18).astype(np.int64)
    vectors[np.arange(100), rng.integers(18, size=100)] = 1
    return _coins(mb.LinearMatroid(vectors))


_PROBLEMS: dict[str, Callable[[], mb.Problem]] = {
    "graph 315/972": lambda: _graph(315, 972),
    "graph 108/153": lambda: _graph(108, 153),
    "uniform 1,000/10": lambda: _coins(mb.UniformMatroid(1000, 10)),
    "partition 1,000/10": lambda: _coins(mb.PartitionMatroid(np.arange(1000) // 100)),
}
_ONCE = {"graph 108/153": 1.1, "uniform 1,000/10": 1.4, "partition 1,000/10": 1.4}
_IN_MILLIONS = {"graph 315/972": 0.3, "graph 108/153": 1.8}


def _with(make: Callable[[], mb.Problem], **policies: mb.Policy) -> Callable[[], tuple[mb.Problem, dict[str, Any]]]:
    return lambda: (make(), policies)


SERIES: dict[str, Series] = {
    f"{name}, {n_runs:,} runs": Series(
        _with(make, OMM=mb.OMM()),
        n_runs,
        (10.0, 0.0) if n_runs > 100 else (8.0 if "graph" in name else 4.5, _IN_MILLIONS.get(name, 0.0)),
        _ONCE.get(name, 1.0) if n_runs == 100 else 1.0,
    )
    for name, make in _PROBLEMS.items()
    for n_runs in (100, 2_000)
} | {
    "late answers, uniform 1,000/10, 100 runs": Series(
        _with(lambda: _late(_PROBLEMS["uniform 1,000/10"]()), OMM=mb.OMM()), 100
    ),
    "late answers, graph 108/153, 100 runs": Series(
        _with(lambda: _late(_PROBLEMS["graph 108/153"]()), OMM=mb.OMM()), 100
    ),
    "transversal 232/51, 100 runs": Series(_with(_loans, OMM=mb.OMM()), 100),
    "linear 100 x 18, 100 runs": Series(_with(_movies, OMM=mb.OMM()), 100),
    "NumPy policy, uniform 1,000/10, 100 runs": Series(
        _with(_PROBLEMS["uniform 1,000/10"], own=Optimist()), 100
    ),
    "NumPy policy, graph 108/153, 2,000 runs": Series(_with(_PROBLEMS["graph 108/153"], own=Optimist()), 2_000),
    "five policies, partition 1,000/10, 20 runs": Series(
        _with(
            _PROBLEMS["partition 1,000/10"],
            OMM=mb.OMM(),
            half=mb.OMM(0.5),
            chance=mb.UniformRandom(),
            epsilon=mb.EpsilonGreedy(0.1),
            own=Optimist(),
        ),
        20,
    ),
}  # fmt: skip


def run(console: Any = None, **options: Any) -> dict[str, Any]:
    """Measure and show what `main` says; gives the figures and what was expected of them."""
    write: Callable[[str], None] = _write if console is None else console.print
    chosen = options.get("series") or list(SERIES)
    seconds, rounds = options.get("seconds") or _SECONDS, options.get("rounds") or _ROUNDS
    counts = options.get("threads") or _doublings(n_cores())
    columns: list[int | None] = [*counts, None]
    write("millions of episodes a second by number of threads, " + " / ".join(map(str, counts)) + " / default")
    kept: dict[str, Any] = {"threads": counts, "series": {}, "expected": []}
    trees = {"this": _HERE} | ({"other": Path(options["tree"]).resolve()} if options.get("tree") else {})
    with ExitStack() as stack:
        workers = {name: stack.enter_context(worker(tree, __file__)) for name, tree in trees.items()}
        for name in chosen:
            rates, engines = _rates(workers, name, columns, seconds, rounds, bool(options.get("fixed")))
            write(f"{name}: kernels compiled or loaded in {engines.pop('seconds')} s")
            kept["series"][name] = rates
            write(f"{name:44} " + _row(rates["this"]) + _ratios(rates["this"], counts) + f"   {engines['this']}")
            if "other" in rates:
                write(f"{'  the other tree':44} " + _row(rates["other"]) + _ratios(rates["other"], counts))
                write(f"{'  this / other':44} " + " ".join(f"{a / b:7.2f}" for a, b in _pairs(rates)))
            for text, is_reached in _expected(name, rates, counts):
                kept["expected"].append({"series": name, "what": text, "reached": is_reached})
                write(f"    {text}: {'reached' if is_reached else 'MISSED'}")
        if not options.get("series"):
            kept |= _converged(workers, write, kept["expected"])
    return kept


def _write(text: str) -> None:
    print(text, flush=True)


def _doublings(n: int) -> list[int]:
    return [*(2**i for i in range(n.bit_length()) if 2**i < n), n]


def _rates(
    workers: dict[str, Callable[..., Any]],
    name: str,
    columns: Sequence[int | None],
    seconds: float,
    rounds: int,
    is_fixed: bool,
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Millions of episodes a second of every tree by number of threads, the best of some rounds, in turns; and what
    plays them (see `SimulationResult.engine`)."""
    n_each = SERIES[name].n_runs * len(SERIES[name].make()[1])
    first = {tree: ask(series=name, n_episodes=_FEWEST) for tree, ask in workers.items()}
    if len({answer["digest"] for answer in first.values()}) > 1:
        raise AssertionError(f"{name}: the trees choose different sets")
    rates = {tree: [0.0] * len(columns) for tree in workers}
    for i, n_threads in enumerate(columns):
        n_episodes = dict.fromkeys(workers, _FEWEST)
        asked = {"series": name, "n_threads": n_threads, "is_fixed": is_fixed}
        for _ in range(rounds + 2):  # the first two find out how many episodes a sample has
            for tree, ask in workers.items():
                took = ask(**asked, n_episodes=n_episodes[tree])["seconds"]
                rate = n_episodes[tree] / took
                if took >= seconds / 2:
                    rates[tree][i] = max(rates[tree][i], rate * n_each / 1e6)
                wanted = int(rate * seconds)
                n_episodes[tree] = min(max(wanted, _FEWEST), 20 * n_episodes[tree], _MOST_EPISODES)
        for tree, ask in workers.items():
            if not rates[tree][i]:  # as many episodes as there may be, in less time
                took = ask(**asked, n_episodes=n_episodes[tree])["seconds"]
                rates[tree][i] = n_episodes[tree] / took * n_each / 1e6
    engines = {tree: answer["engine"] for tree, answer in first.items()}
    return rates, engines | {"seconds": f"{first['this']['warmed']:.1f}"}


def _converged(
    workers: dict[str, Callable[..., Any]], write: Callable[[str], None], expected: list[dict[str, Any]]
) -> dict[str, Any]:
    """A million items that have been sorted out: an episode against a compiled scan of all of them."""
    found = {}
    for tree, ask in workers.items():
        ours, scan = ask(converged=True)["seconds"]
        found[tree] = {"us": ours * 1e6, "scan_us": scan * 1e6, "ratio": scan / ours}
        what = f"L = {_MANY:,}, K = {_RANK}, converged, one run, {tree} tree"
        write(f"{what}: {ours * 1e6:.2f} us an episode, a compiled scan {scan * 1e6:,.0f} us, {scan / ours:.0f}x")
    is_reached = found["this"]["ratio"] >= _LEAST_OF_SCAN
    text = f"at least {_LEAST_OF_SCAN:g}x a compiled scan"
    expected.append({"series": "converged", "what": text, "reached": is_reached})
    write(f"    {text}: {'reached' if is_reached else 'MISSED'}")
    return {"converged": found}


def _expected(name: str, rates: dict[str, list[float]], counts: list[int]) -> Iterator[tuple[str, bool]]:
    """What is expected of a series on machines of 16 and of two cores, and beside another tree."""
    series, ours = SERIES[name], rates["this"]
    times, millions = series.at_least
    one, default = ours[0], ours[-1]
    if counts[0] == 1 and counts[-1] == 16 and times:
        yield f"default at least {times:g}x one thread ({default / one:.1f})", default >= times * one
        if millions:
            yield f"default at least {millions:g} M/s ({default:.3f})", default >= millions
    if counts == [1, 2] and times:
        yield f"default at least 1.8x one thread ({default / one:.2f})", default >= 1.8 * one
    best = max(ours[:-1])
    yield f"default at least 0.9 of the best number of threads ({default / best:.2f})", default >= 0.9 * best
    if "other" in rates and counts[0] == 1:
        ratio = one / rates["other"][0]
        yield f"one thread at least {series.once:g}x the other tree's ({ratio:.2f})", ratio >= 0.97 * series.once


def _pairs(rates: dict[str, list[float]]) -> list[tuple[float, float]]:
    return list(zip(rates["this"], rates["other"], strict=True))


def _row(rates: list[float]) -> str:
    return " ".join(f"{rate:7.3f}" for rate in rates)


def _ratios(rates: list[float], counts: list[int]) -> str:
    return f"   {rates[-1] / rates[0]:6.2f}x one thread" if counts[0] == 1 else ""


def _work() -> None:
    """Answer the questions of the process that compares."""
    made: dict[str, tuple[mb.Problem, dict[str, mb.Policy]]] = {}
    warmed: dict[str, float] = {}

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        if question.get("converged"):
            return {"seconds": _time_converged()}
        name = question["series"]
        if name not in made:
            made.clear()
            made[name] = SERIES[name].make()
            warmed[name] = mb.warm_up(*made[name])
        n_threads, is_fixed = question.get("n_threads"), question.get("is_fixed", False)
        found = _time(*made[name], SERIES[name].n_runs, question["n_episodes"], n_threads, is_fixed)
        return found | {"warmed": warmed[name]}

    answer_all(answer)


def _time(
    problem: mb.Problem,
    policies: dict[str, mb.Policy],
    n_runs: int,
    n_episodes: int,
    n_threads: int | None,
    is_fixed: bool,
) -> dict[str, Any]:
    pool = ThreadPoolExecutor(n_threads) if n_threads is not None and is_fixed else None
    if n_threads is None or is_fixed:
        os.environ.pop("NUMBA_NUM_THREADS", None)
    else:
        os.environ["NUMBA_NUM_THREADS"] = str(n_threads)
    began = time.perf_counter()
    result = mb.simulate(
        problem, policies, n_episodes=n_episodes, n_runs=n_runs, seed=0, checkpoints=[n_episodes], executor=pool
    )
    seconds = time.perf_counter() - began
    if pool is not None:
        pool.shutdown()
    digest = zlib.crc32(np.ascontiguousarray(result.choices).tobytes())
    engines = sorted(set(getattr(result, "engine", ("agent",))))
    return {"seconds": seconds, "digest": digest, "engine": " and ".join(engines)}


def _time_converged() -> tuple[float, float]:
    """Seconds of an episode, and of one that scans all items, once the best items are known.

    An optimism that is small beside the gaps sorts a million items out in some thousand episodes; what went before
    is played again, and taken off.
    """
    means = np.full(_MANY, 0.4)
    means[np.arange(_RANK) * _MANY // _RANK] = 0.5
    problem = mb.Problem(mb.UniformMatroid(_MANY, _RANK), mb.GaussianEnvironment(means, 0.01))

    def seconds(n_episodes: int, engine: str) -> float:
        settings: dict[str, Any] = {"n_runs": 1, "seed": 0, "checkpoints": [n_episodes], "engine": engine}
        began = time.thread_time() if engine == "greedy" else time.process_time()
        mb.simulate(problem, [mb.OMM(0.01)], n_episodes=n_episodes, **settings)
        return (time.thread_time() if engine == "greedy" else time.process_time()) - began

    mb.warm_up(problem, {"OMM": mb.OMM(0.01)})
    seconds(10, "auto")
    seconds(2, "greedy")
    n = 20_000
    before = min(seconds(_BEFORE, "auto") for _ in range(2))
    ours = (min(seconds(_BEFORE + n, "auto") for _ in range(2)) - before) / n
    scan = (min(seconds(22, "greedy") for _ in range(2)) - min(seconds(2, "greedy") for _ in range(2))) / 20
    return ours, scan


def main() -> None:
    """Measure, show, and write the figures to a file where one is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("series", nargs="*", help="parts of names; by default all: " + "; ".join(SERIES))
    parser.add_argument("--tree", help="another checkout, measured in turns with this one")
    parser.add_argument("--machine", help="what to call this machine; by default its processor")
    parser.add_argument("--threads", help="numbers of threads, as 1,4,16; by default doublings up to all cores")
    parser.add_argument("--fixed", action="store_true", help="numbers are pools of threads, not the most threads")
    parser.add_argument("--seconds", type=float, help=f"how long a sample takes, {_SECONDS:g} by default")
    parser.add_argument("--rounds", type=int, help=f"samples of every figure, {_ROUNDS} by default")
    parser.add_argument("--converged", action="store_true", help="the case of a million items alone")
    parser.add_argument("--out", type=Path, help="where figures go, as JSON")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _work()
        return
    names = [name for name in SERIES if any(part in name for part in arguments.series)]
    if arguments.series and not names:
        parser.error(f"expected parts of the names of series; got {', '.join(arguments.series)}")
    facts = machine() | ({"machine": arguments.machine} if arguments.machine else {})
    _write("  ".join(f"{name}: {value}" for name, value in facts.items()))
    threads = [int(n) for n in arguments.threads.split(",")] if arguments.threads else None
    if arguments.converged:
        with worker(_HERE, __file__) as ask:
            kept = _converged({"this": ask}, _write, [])
    else:
        kept = run(
            series=names,
            tree=arguments.tree,
            threads=threads,
            seconds=arguments.seconds,
            rounds=arguments.rounds,
            fixed=arguments.fixed,
        )
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"machine": facts, **kept}, indent=1) + "\n")


if __name__ == "__main__":
    main()
