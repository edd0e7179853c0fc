"""``python -m benchmarks [names...] [--out FILE]``: run the suites, print and keep what they show."""

import argparse
import json
import time
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks._harness import measure, show
from benchmarks._machine import machine

#: Expected of the first `simulate` of a fresh process whose kernels were compiled before.
_MOST_START_S = 2.0
_FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "time-per-episode.svg"

#: Name on the command line, title, file and the function in it that yields the cases. Add a suite here. A file is
#: imported when its suite is asked for: not every machine has all that others are compared with.
SUITES: dict[str, tuple[str, str, str]] = {
    "graphic": ("Spanning trees, time per weight vector", "matroids", "graphic"),
    "linear": ("Independent vectors, time per weight vector", "matroids", "linear"),
    "transversal": ("Matchings, time per weight vector", "matroids", "transversal"),
    "uniform": ("The best K of L, time per weight vector", "matroids", "uniform"),
    "partition": ("The best of every block, time per weight vector", "matroids", "partition"),
    "episodes": ("Whole episodes of OMM, time per episode of one run", "episodes", "episodes"),
    "engines": ("Whole episodes of OMM, one run, time per episode", "engines", "engines"),
    "discount": ("Whole episodes of DiscountedOMM, one run, time per episode", "discount", "discount"),
    "choice": ("Choosing an engine, fresh matroids, time per choice", "choice", "choice"),
    "constraints": ("Constraints that are no matroids, time per weight vector", "constraints", "constraints"),
    "rules": ("One best set for each rule that people state", "rules", "rules"),
    "learner": ("Learner, time per ask and tell", "learner", "learner"),
    "startup": ("A fresh process, to its end", "startup", "startup"),
    "stopping": ("Search for the best basis, time per round", "stopping", "stopping"),
}

#: Files with a function `run` that shows and judges its figures itself; they need servers, clusters, a GPU or
#: all cores, and are run by name alone.
OWN = ("executors", "service", "gpu", "scaling", "sizes")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"of {', '.join(SUITES)} (default: all of these), {', '.join(OWN)}"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results.json"), help="where times go")
    parser.add_argument("--figure", type=Path, default=_FIGURE, help="what the engines suite draws")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in SUITES and name not in OWN]
    if unknown:
        parser.error(f"expected suites of {', '.join([*SUITES, *OWN])}; got {', '.join(unknown)}")

    console = Console(width=None if Console().is_terminal else 200, highlight=False)
    facts = machine()
    console.print("  ".join(f"{name}: {value}" for name, value in facts.items()) + "\n")
    start = time.perf_counter()
    suites: dict[str, list[dict]] = {}
    own: dict[str, dict] = {}
    starts = None
    for name in arguments.names or SUITES:
        began = time.perf_counter()
        if name in OWN:
            own[name] = import_module(f"benchmarks.{name}").run(console)
        else:
            title, file, function = SUITES[name]
            suite = import_module(f"benchmarks.{file}")
            results = [measure(case) for case in getattr(suite, function)()]
            show(console, title, results)
            suites[name] = [result.to_dict() for result in results]
            if name == "engines":
                import_module("benchmarks._figure").draw(results, arguments.figure)
                starts = suite.first_simulate()
                console.print(_describe_start(*starts))
        console.print(f"{time.perf_counter() - began:.0f} s\n")
    elapsed = time.perf_counter() - start
    kept = {"machine": facts, "elapsed_s": elapsed, "suites": suites, **own}
    if starts is not None:
        kept["first_simulate_s"] = starts[0]
    arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
    n_missed = sum(not e["reached"] for results in suites.values() for r in results for e in r["expected"])
    n_missed += sum(not e["reached"] for figures in own.values() for e in figures["expected"])
    n_missed += starts is not None and starts[0] > _MOST_START_S
    console.print(f"{elapsed:.0f} s, {n_missed} expectations missed, times in {arguments.out}")


def _describe_start(total: float, imports: float) -> str:
    verdict = "[green]reached[/]" if total <= _MOST_START_S else "[red]missed[/]"
    return (
        f"first simulate of a fresh process, kernels in the cache: done after {total:.2f} s, {imports:.2f} s of them "
        f"imports; expected within {_MOST_START_S:g} s {verdict}"
    )


if __name__ == "__main__":
    main()
