"""Write the tables and figures of the documentation from stored results.

    python docs/tables.py                          write them into the pages
    python docs/tables.py --check                  compare instead, and name the pages that differ
    python docs/tables.py --take report/results.json [--machine "two cores of ..."]
                                                   store the results of `matroid-bandits reproduce`
    python docs/tables.py --take benchmarks/results.json --machine "two cores of ..."
                                                   store the results of `make bench`, suite by suite

A result is stored once, in ``docs/results/NAME.json``, with the command that printed it, the date, the version and
the machine. A page shows it between two comments,

    <!-- table: NAME/TABLE -->
    <!-- end -->

and a number in a sentence is followed by a comment that says where it is from:
``642 ± 8<!-- =race/changes/discounted OMM/uniform, no changes mean -->``. Comments, unlike directives of Sphinx,
leave pages readable where Markdown is shown without it. ``tests/test_figures.py`` runs the comparison.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matroid_bandits._util.text import number, with_error

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGES = [ROOT / "README.md", *sorted(HERE.glob("*.md"))]
RESULTS = HERE / "results"

TABLE = re.compile(r"<!-- table: (?P<name>[^>]+?) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)
VALUE = re.compile(r"(?P<text>[\d,.]+(?: ± [\d,.]+| of \d+|x| [µm]?s)?)(?P<mark><!-- =(?P<path>[^>]+?) -->)")

#: What of a report's chapter is stored; curves and the runs behind them are not.
_KEPT = ("episodes", "runs", "seed", "start", "tables", "claims", "winners", "losses")

#: How policies of the race are written in the pages.
_POLICIES = {
    "OMM": "`OMM()`",
    "OMM, tuned": "`OMM`, tuned",
    "CombUCB1": "CombUCB1, `OMM(sqrt(0.75))`",
    "KLOSM": "`KLOSM()`",
    "KL-UCB++": "`KLUCBPlusPlus()`",
    "MOSS": "`MOSS()`",
    "Thompson": "`ThompsonSampling()`",
    "single-seed Thompson": "`SingleSeedThompson()`",
    "CL-SG": "`CLSG()`",
    "ε-greedy": "`EpsilonGreedy(0.1)`",
    "UCB-V": "`UCBV`, tuned",
    "BG-CTS": "`BGCTS()`",
    "ESCB": "`ESCB()`",
    "AROQ": "`AROQ(n)`",
    "FPL": "`FPL(n)`",
    "HYBRID": "`Hybrid()`",
    "discounted OMM": "`DiscountedOMM`, tuned",
    "windowed OMM": "`SlidingWindowOMM`, tuned",
    "discounted Thompson": "`DiscountedThompson`, tuned",
    "restarting OMM": "`Restarting(OMM(...))`, tuned",
    "CombLinUCB": "`CombLinUCB`, tuned",
    "CombLinTS": "`CombLinTS`, tuned",
}


def read(name: str) -> dict[str, Any]:
    """Read a stored result by its name."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def filled(text: str) -> str:
    """The text of a page with its tables and figures as the stored results give them."""
    text = TABLE.sub(lambda found: f"<!-- table: {found['name']} -->\n{table(found['name'])}<!-- end -->", text)
    return VALUE.sub(lambda found: value(found["path"]) + found["mark"], text)


def table(name: str) -> str:
    """A stored table as Markdown, between blank lines."""
    file, _, which = name.partition("/")
    stored = read(file)
    own = _OWN.get(name) or _OWN.get(file)
    is_printed = isinstance(stored.get("tables", {}).get(which), Mapping)
    head, rows = _as_stored(stored, which) if own is None or is_printed else own(stored, which)
    lines = [head, ["---"] * len(head), *rows]
    return "\n" + "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n\n"


def value(path: str) -> str:
    """A stored figure as text: FILE/TABLE/ROW/COLUMN, where ROW is the first cell of its row.

    Of a suite of `make bench` the row is a case, and the column an alternative (the ratio is given) or "ours" (the
    time is given).
    """
    file, which, row, *column = path.split("/", 3)
    stored = read(file)
    if which == "losses":
        return " of ".join(map(str, stored["losses"][row]))
    if "suites" in stored:
        case, _, against = path.split("/", 2)[2].rpartition("/")
        (result,) = (each for each in stored["suites"][which] if each["case"] == case)
        return _seconds(result["ours_s"]) if against == "ours" else _times(result["others"][against]["ratio"])
    records = stored["tables"][which]
    (record,) = (each for each in records if str(next(iter(each.values()))) == row)
    return cell(record[column[0]])


Rows = tuple[list[str], list[list[str]]]


def _as_stored(stored: Mapping[str, Any], which: str) -> Rows:
    """Records as they are, a column for each of their keys; or what was written down as printed, row by row."""
    records = stored["tables"][which]
    if isinstance(records, Mapping):
        return records["head"], records["rows"]
    head = list(dict.fromkeys(key for record in records for key in record))
    return head, [[cell(record.get(key)) for key in head] for record in records]


def cell(entry: Any, spec: str = ",.0f") -> str:
    """An entry of a stored table as text; a pair is a mean and its standard error."""
    if entry is None:
        return ""
    if isinstance(entry, list):
        return with_error(entry[0], entry[1], spec).replace("\u00a0", " ")
    return entry if isinstance(entry, str) else number(entry, spec)


def _race(stored: Mapping[str, Any], which: str) -> Rows:
    """Regret of every policy on the problems of a heat, or of several heats side by side: a mean and a median."""
    if which == "claims":
        return _claims(stored, which)
    if which == "winners":
        return _winners(stored)
    heats = which.split(" and ")
    problems = {
        (heat, key.removesuffix(" mean")): None
        for heat in heats
        for record in stored["tables"][heat]
        for key in record
        if key.endswith(" mean")
    }
    by_policy: dict[str, dict[tuple[str, str], Any]] = {}
    for heat in heats:
        for record in stored["tables"][heat]:
            by_policy.setdefault(record["policy"], {}).update({(heat, key): entry for key, entry in record.items()})
    rows = []
    for policy, entries in by_policy.items():
        cells = []
        for heat, problem in problems:
            mean, median = entries.get((heat, f"{problem} mean")), entries.get((heat, f"{problem} median"))
            cells.append("" if mean is None else f"{cell(mean)}; {cell(median)}")
        rows.append([_POLICIES[policy], *cells])
    return ["policy", *(problem for _, problem in problems)], rows


def _tuned(stored: Mapping[str, Any], which: str) -> Rows:
    head, rows = _as_stored(stored, which)
    return head, [[_POLICIES[row[0]], *(f"`{each}`" if each else "" for each in row[1:])] for row in rows]


def _winners(stored: Mapping[str, Any]) -> Rows:
    rows = []
    for each in stored["winners"]:
        close = "; ".join(_POLICIES[policy] for policy in each["not clearly behind"])
        regret = {
            record["policy"]: record.get(f"{each['problem']} mean") for record in stored["tables"][each["heat"]]
        }
        times = regret["OMM"][0] / regret[each["best"]][0]
        rows.append([each["heat"], each["problem"], _POLICIES[each["best"]], close, f"{times:.1f}"])
    return ["heat", "problem", "least regret", "not clearly behind", "regret of `OMM()` over the least"], rows


def _claims(stored: Mapping[str, Any], _: str) -> Rows:
    return ["claim", "verdict", "evidence"], [
        [each["claim"], each["verdict"], each["evidence"]] for each in stored["claims"]
    ]


def _costs(stored: Mapping[str, Any], _: str) -> Rows:
    """The paper's Table 1: sizes, the optimum, and the cost of each policy beside the paper's."""
    tables = stored["tables"]
    rows = []
    for size, cost in zip(tables["networks"], tables["costs"], strict=True):
        rows.append(
            [
                size["ISP"],
                cell(size["nodes ours"]),
                cell(size["edges ours"]),
                *(cell(cost[key], spec) for key, spec in _COSTS),
            ]
        )
    return ["ISP", "nodes", "edges", "optimal", "paper", "ε-greedy", "paper", "OMM", "OMM, scale 6.8", "paper"], rows


_COSTS = (
    ("optimal exact", ".0f"),
    ("optimal paper", ".2f"),
    ("ε-greedy ours", ".2f"),
    ("ε-greedy paper", ".2f"),
    ("OMM scale 1", ".2f"),
    ("OMM fitted", ".2f"),
    ("OMM paper", ".2f"),
)


def _beyond(stored: Mapping[str, Any], which: str) -> Rows:
    """A table of an experiment beyond the paper; the median of a delay joins its mean."""
    rows = []
    for record in stored["tables"][which]:
        row: dict[str, str] = {}
        for key, entry in record.items():
            name, _, kind = key.rpartition(" ")
            if kind == "median" and name in row:
                row[name] += f"; {cell(entry)}"
            elif kind == "scale" and name:
                row[key] = cell(entry, "g")
            else:
                row[name if kind in ("mean", "regret") and name else key] = cell(entry)
        rows.append(row)
    head = list(rows[0])
    return head, [[row[key] for key in head] for row in rows]


def _policies_table(stored: Mapping[str, Any], which: str) -> Rows:
    """Return and regret of every policy on the lenders or the movies."""
    rows = [
        [
            record["policy"],
            cell(record["return per step"], ".3f"),
            cell(record["of the optimum"], ".1%"),
            cell(record["regret"]),
        ]
        for record in stored["tables"][which]
    ]
    return ["policy", "return per step", "of the optimum", "regret"], rows


def _suite(stored: Mapping[str, Any], which: str) -> Rows:
    """A suite of `make bench`: a column for each alternative, with its time and the ratio to ours."""
    results = stored["suites"][which]
    names = list(dict.fromkeys(name for result in results for name in result["others"]))
    rows = []
    for result in results:
        others = [result["others"].get(name) for name in names]
        rows.append(
            [
                result["case"],
                _seconds(result["ours_s"]),
                *("" if other is None else f"{_seconds(other['s'])}, {_times(other['ratio'])}" for other in others),
                ", ".join(f"{each['at_least']:.3g}x {_verdict(each)}" for each in result["expected"]),
            ]
        )
    return ["case", "ours", *names, "target"], rows


#: What a reader would write instead, for the README: the task, its suite and case, and the alternative.
_ALTERNATIVES = (
    ("race OMM on a graph of 315 nodes and 972 links", "episodes", "graphic 315/972, 100 runs x 1,000", "SciPy"),
    ("the same", "episodes", "graphic 315/972, 100 runs x 1,000", "networkx"),
    ("race OMM on a graph of 108 nodes and 153 links", "episodes", "graphic 108/153, 100 runs x 1,000", "rustworkx"),
    ("best independent 18 of 100 feature vectors", "linear", "100 x 18 x 64", "NumPy rank loop"),
    ("ask and tell, 10 of 1,000 items", "learner", "L = 1,000, K = 10", "NumPy argpartition loop"),
    ("ask and tell, 10 of 1,000,000 items", "learner", "L = 1,000,000, K = 10", "NumPy argpartition loop"),
    ("best assignment, 300 x 300", "constraints", "assignment 300 x 300", "SciPy"),
)


def _alternatives(stored: Mapping[str, Any], _: str) -> Rows:
    """A few results of `make bench` beside what a reader would write by hand."""
    rows = []
    for task, suite, case, name in _ALTERNATIVES:
        (result,) = (each for each in stored["suites"][suite] if each["case"] == case)
        other = result["others"][name]
        here, there = _seconds(result["ours_s"]), _seconds(other["s"])
        rows.append([task, here, f"{name}, {there}", _times(other["ratio"]), f"`{suite}`"])
    return ["task", "here", "by hand", "ratio", "`make bench`"], rows


#: What people say of their rule: the sentence, the class, whether it is a matroid, the case of `make bench rules`.
_RULES = (
    ("Any ten of them.", "`UniformMatroid`", "yes", "any 10 of 200"),
    ("At most two of each section.", "`PartitionMatroid`", "yes", "200 items, 2 of each of 20 sections"),
    ("At most two of each section, and ten in all.", "`PartitionMatroid(...).truncate(10)`; deeper nesting: "
     "`LaminarMatroid`", "yes", "200 items, 2 of each of 20 sections, 10 in all"),
    ("At most two of each section and one of each brand, ten in all.", "[`QuotaIntersection`](#two-quotas-at-once)",
     "no", "200 items, 2 of each of 20 sections, 1 of each of 40 brands, 10 in all"),
    ("At most 2,000 tokens (cents, bytes, minutes) together.", "[`KnapsackConstraint`](#budgets)", "no",
     "200 items, budget of 2,000"),
    ("At most 2,000 tokens, and one passage of each source.", "[`KnapsackConstraint(groups=)`](#budgets)", "no",
     "200 items, budget of 2,000, 1 of each of 40 brands"),
    ("At most 500 per request on average.", "[`Budget`](#a-budget-on-average), a policy, on any of these", "", ""),
    ("Each into a slot that accepts it.", "`TransversalMatroid`", "yes", "200 items, 12 slots that accept some"),
    ("Each courier one order, each order one courier.", "[`AssignmentConstraint`](#couriers-and-orders)", "no",
     "20 couriers, 20 orders"),
    ("Links that connect everything, without a cycle.", "`GraphicMatroid`", "yes", "180 links without a cycle"),
    ("A route from here to there, or several that share no link.", "[`PathConstraint`](#routes)", "no",
     "360 arcs, a route"),
    ("From one source to everyone.", "`ArborescenceConstraint`", "no", "360 arcs, a tree from a root"),
    ("No redundant features.", "`LinearMatroid`", "yes", "200 vectors of 10 numbers, independent"),
    ("This rule and that rule, both matroids.", "`MatroidIntersection`", "no",
     "180 links without a cycle, 1 of each of 40 owners"),
    ("These parts, each by its own rule.", "`direct_sum`", "yes", ""),
    ("One of these bundles.", "`ExplicitSets`", "no", "1,000 listed sets of 40 items"),
    ("The page should not flicker.", "[`Steady`](#sets-that-should-not-flicker), a policy, on any of these", "", ""),
    ("Each is in at least 5% of the decisions.",
     "[`ExposureFloors`](stopping.md#pessimistic-sets-and-exposure-floors), a policy", "", ""),
)  # fmt: skip


def _rules(stored: Mapping[str, Any], _: str) -> Rows:
    """The sentence, the class, whether it is a matroid, and the time of one best set."""
    times = {result["case"]: _seconds(result["ours_s"]) for result in stored["suites"]["rules"]}
    rows = []
    for sentence, ours, is_matroid, case in _RULES:
        rows.append([f"\u201c{sentence}\u201d", ours, is_matroid, f"{times[case]} ({case})" if case else ""])
    return ["what you say", "class", "a matroid?", "time of a best set"], rows


def _verdict(target: Mapping[str, Any]) -> str:
    return "reached" if target["reached"] else "**missed**"


def _seconds(seconds: float) -> str:
    unit, size = ("s", 1.0) if seconds >= 1.0 else ("ms", 1e-3) if seconds >= 1e-3 else ("µs", 1e-6)
    return f"{_digits(seconds / size)} {unit}"


def _times(ratio: float) -> str:
    return f"{_digits(ratio)}x"


def _digits(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


#: How tables are made that are not shown as they are stored, by file, or by file and table.
_OWN: dict[str, Callable[[Mapping[str, Any], str], Rows]] = {
    "race": _race,
    "race/changes-tuned": _tuned,
    "networks": _beyond,
    "delays": _beyond,
    "visitors": _beyond,
    "constraints": _beyond,
    "graphic/costs": _costs,
    "graphic/claims": _claims,
    "transversal/claims": _claims,
    "linear/claims": _claims,
    "transversal/transversal-policies": _policies_table,
    "linear/linear-policies": _policies_table,
    "bench": _suite,
    "bench/alternatives": _alternatives,
    "rules": _rules,
}


def take(path: Path, machine: str) -> list[str]:
    """Store what a report or a run of the benchmarks has found; return the names under which it was stored."""
    found = json.loads(path.read_text(encoding="utf-8"))
    facts = {"date": datetime.date.today().isoformat(), "machine": machine}
    if found.get("format") == "matroid-bandits/report":
        for name, chapter in found["experiments"].items():
            own = {key: chapter[key] for key in _KEPT if key in chapter}
            command = f"matroid-bandits reproduce {name}"
            _store(name, {"command": command, "package": found["package"], **facts, **own})
        return list(found["experiments"])
    facts |= {"package": found["machine"]["matroid_bandits"]}
    taken = found["suites"]
    stored = []
    if "rules" in taken:  # shown on a page of its own
        _store("rules", {"command": "make bench rules", **facts, "suites": {"rules": taken.pop("rules")}})
        stored.append("rules")
    if taken:
        suites = read("bench")["suites"] if (RESULTS / "bench.json").exists() else {}
        _store("bench", {"command": "make bench", **facts, "suites": {**suites, **taken}})
        stored.append("bench")
    return stored


def _store(name: str, result: Mapping[str, Any]) -> None:
    text = json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1)
    text = re.sub(r"\[\s+(-?[\d.e-]+),\s+(-?[\d.e-]+)\s+\]", r"[\1, \2]", text)  # a mean and its error in one line
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, compare them, or store results; return 1 where a page differs."""
    parser = argparse.ArgumentParser(prog="python docs/tables.py", description="Tables of the pages.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--take", type=Path, metavar="FILE", help="store results.json of a report or of make bench")
    parser.add_argument("--machine", default="any: the same numbers everywhere", help="where it was measured")
    options = parser.parse_args(arguments)
    if options.take is not None:
        print("stored", *take(options.take, options.machine))
    differing = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            differing.append(page.name)
            if not options.check:
                page.write_text(filled(text), encoding="utf-8")
    print(*(differing or ["nothing"]), "to change" if options.check else "changed")
    return int(bool(differing) and options.check)


if __name__ == "__main__":
    sys.exit(main())
