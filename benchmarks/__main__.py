"""``python -m benchmarks [names...] [--out FILE]``: run the suites, print their tables, keep the figures."""

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from rich.console import Console

from benchmarks import matroids
from benchmarks._harness import Case, machine, measure, show

#: Name on the command line, title, and the function that yields the cases. Add a suite here.
SUITES: dict[str, tuple[str, Callable[[], Iterable[Case]]]] = {
    "graphic": ("Spanning trees, time per weight vector", matroids.graphic),
    "linear": ("Independent vectors, time per weight vector", matroids.linear),
    "transversal": ("Matchings, time per weight vector", matroids.transversal),
    "uniform": ("The best K of L, time per weight vector", matroids.uniform),
    "partition": ("The best of every block, time per weight vector", matroids.partition),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(SUITES)}; default all")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results.json"), help="where figures go")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in SUITES]
    if unknown:
        parser.error(f"expected suites of {', '.join(SUITES)}; got {', '.join(unknown)}")

    console = Console(width=None if Console().is_terminal else 200, highlight=False)
    facts = machine()
    console.print("  ".join(f"{name}: {value}" for name, value in facts.items()) + "\n")
    start = time.perf_counter()
    suites = {}
    for name in arguments.names or SUITES:
        title, cases = SUITES[name]
        results = [measure(case) for case in cases()]
        show(console, title, results)
        console.print()
        suites[name] = [result.to_dict() for result in results]
    elapsed = time.perf_counter() - start
    arguments.out.write_text(json.dumps({"machine": facts, "elapsed_s": elapsed, "suites": suites}, indent=1) + "\n")
    n_missed = sum(not e["reached"] for results in suites.values() for r in results for e in r["expected"])
    console.print(f"{elapsed:.0f} s, {n_missed} expectations missed, figures in {arguments.out}")


if __name__ == "__main__":
    main()
