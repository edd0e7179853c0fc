"""``matroid-bandits evaluate``: what other sets would have earned at the decisions of a log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matroid_bandits.cli._app import app
from matroid_bandits.cli._campaign import ArchiveOption, opened
from matroid_bandits.cli._running import typed_command
from matroid_bandits.cli._serve import ConfigOption, DbOption, read_settings
from matroid_bandits.exceptions import EvaluationError, MatroidBanditsError

if TYPE_CHECKING:
    from matroid_bandits.evaluation import Evaluation, Log
    from matroid_bandits.reporting import Chapter

_LEAD = "What was earned by the decisions of a log, and what other sets would have earned."


class MethodName(StrEnum):
    """An estimator."""

    DR = "dr"
    SNIPS = "snips"
    IIPS = "iips"


@app.command(epilog="Example: matroid-bandits evaluate news.jsonl --policy random --policy set:a,b,c --policy best")
def evaluate(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG", help="A file of events, a folder of archives, or a campaign of the database --db."
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET",
            help="Target to evaluate: random, set:a,b,c, best (the best set at the end), learner (frozen at the end)"
            " or learner@EVENT; may be given several times. By default random, unless the hold-out has a control, and"
            " best.",
        ),
    ] = None,
    method: Annotated[
        MethodName,
        typer.Option(help="Estimator: doubly robust, self-normalised, or plain inverse propensity per item."),
    ] = MethodName.DR,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="TAG", help="Tag of the units of randomisation, e.g. a visitor; by default the hold-out's tag."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Estimate also for each value of this tag; may be given several times."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed for inclusion probabilities that must be sampled.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print JSON instead of tables.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="DIR", help="Write an HTML report to this folder.")
    ] = None,
    details: Annotated[
        bool,
        typer.Option("--details", metavar="", help="Show all windows of the uplift, other intervals and p values."),
    ] = False,
    archive: ArchiveOption = None,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Estimate the value of other policies from a log with a hold-out, and compare the learner with its control.

    Prints a table, or JSON; --report writes a page. Estimates are unbiased if the weight of an item does not depend
    on the other items of its set. A target that the log cannot value has a row without a value, and a sentence that
    says why.
    """
    from matroid_bandits.evaluation import evaluate as valued
    from matroid_bandits.evaluation import read_log
    from matroid_bandits.reporting import Report

    page = None if report is None else Report(report, "Was it worth it?", _LEAD, typed_command())
    began = time.perf_counter()
    with _source(log, archive, db, config) as (source, earlier):
        table = read_log(source, earlier)
    usual = ["random", "best"] if all(each.control is None for each in table.decisions) else ["best"]
    targets = {text: _target(table, text) for text in dict.fromkeys(policy or usual)}
    found = valued(
        table, targets, method=method.value, unit=unit, by=by or (), categories=True, seed=seed, strict=False
    )
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=1))
    if page is None and as_json:
        return
    chapter = _chapter(found, log, targets, details, time.perf_counter() - began)
    if not as_json:
        from matroid_bandits.reporting import open_console, print_chapter

        print_chapter(open_console(), chapter)
    if page is not None:
        page.add(chapter)
        typer.echo(f"The report is {page.folder / 'index.html'}.", err=as_json)


@contextmanager
def _source(log: str, archive: str | None, db: str | None, config: Path | None) -> Iterator[tuple[Any, str | None]]:
    """What `read_log` reads: a path and the archive before it, or the lines of a campaign."""
    if Path(log).exists():
        yield log, archive
        return
    from matroid_bandits.service import Archive, export_campaign

    try:
        with opened(db, config) as database:
            settings = read_settings(config, {"archive": archive})
            yield export_campaign(database, log, Archive(settings.archive) if settings.archive else None), None
    except EvaluationError:
        raise
    except MatroidBanditsError as error:
        raise EvaluationError(f"{log!r} is no file, and as a campaign: {error}") from error


def _target(log: Log, text: str) -> Any:
    """What one --policy names."""
    from matroid_bandits.policies import FixedSet, UniformRandom

    if text == "random":
        return UniformRandom()
    if text == "best":
        return FixedSet((), log.learner().best_basis().labels)
    if text == "learner":
        return log.learner()
    kind, _, rest = text.partition("@")
    if kind == "learner" and rest.isdecimal():
        return log.learner(int(rest))
    kind, _, rest = text.partition(":")
    if kind == "set":
        return FixedSet((), _labels(log, rest))
    raise EvaluationError(f"expected --policy to be random, set:a,b,c, best, learner or learner@EVENT; got {text!r}")


def _labels(log: Log, text: str) -> list[Any]:
    """Labels between commas, or a list of JSON."""
    from matroid_bandits._util.names import decode

    constraints = {id(each.constraint): each.constraint for each in log.decisions} | {0: log.constraint}
    known = {label for constraint in constraints.values() for label in constraint.labels}
    if text.startswith("["):
        try:
            wanted = [decode(label) for label in json.loads(text)]
        except ValueError as error:
            raise EvaluationError(f"expected a set as labels between commas or a list of JSON: {error}") from None
    else:
        by_text = {str(label): label for label in known}
        wanted = [by_text.get(part, part) for part in text.split(",") if part]
    unknown = [label for label in wanted if label not in known]
    if unknown or not wanted:
        raise EvaluationError(f"expected items of the log after set:, got {unknown[0] if unknown else text!r}")
    return wanted


def _chapter(found: Evaluation, log: str, targets: dict[str, Any], details: bool, seconds: float) -> Chapter:
    from matroid_bandits.reporting import evaluation_chapter

    name = "".join(letter if letter.isalnum() else "-" for letter in Path(log).name.split(".")[0]).strip("-") or "log"
    return evaluation_chapter(
        found,
        {text: repr(target) for text, target in targets.items()},
        name=name,
        title=Path(log).name,
        source=f"The log {log}.",
        best="best" if "best" in targets else None,
        details=details,
        wall_time=seconds,
    )
