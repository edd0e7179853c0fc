"""The chapter on a search for the best basis, and the table of margins."""

from __future__ import annotations

from matroid_bandits._util.tables import Cell, Column, Estimate, Table
from matroid_bandits.identification import Confidence
from matroid_bandits.reporting._blocks import Block
from matroid_bandits.reporting._chapter import Chapter, DataSource, RunFacts
from matroid_bandits.simulation import Identification


def margins_table(confidence: Confidence, name: str = "margins", title: str = "Closest calls") -> Table:
    """Return a table of the exchanges farthest from being ruled out: statistic, threshold, plays still needed.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.OMM(), seed=0)
    >>> learner.observe([1.0, 0.0])
    >>> margins_table(learner.confidence(weights="unit")).texts()
    [['a', 'b', '1.386', '4.880', '4']]
    """
    rows: list[tuple[Cell, ...]] = [
        (
            _text(margin.inside),
            _text(margin.outside),
            margin.statistic,
            margin.threshold if margin.threshold < float("inf") else None,
            margin.plays,
        )
        for margin in confidence.margins
    ]
    left = confidence.n_exchanges - len(rows)
    return Table(
        name=name,
        title=title,
        columns=(
            Column("in the set", is_text=True),
            Column("could be replaced by", is_text=True),
            Column("statistic", ".3f"),
            Column(f"threshold at delta {confidence.at:g}", ".3f"),
            Column("plays of both still needed", ","),
        ),
        rows=tuple(rows),
        note=f"{confidence}." + (f" {left} more exchanges." if left > 0 else ""),
    )


def identification_chapter(found: Identification, *, name: str, title: str, description: str) -> Chapter:
    """Return the report chapter on an `identify` result: rounds, errors, lower bound, and the margins of a run.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> found = mb.identify(problem, delta=0.1, n_runs=5, seed=0)
    >>> chapter = identification_chapter(found, name="ads", title="Ads", description="Two ads.")
    >>> [table.name for table in chapter.tables]
    ['rounds', 'margins']
    """
    ended, rule = found.endings, found.rule
    low, high = found.error_interval()
    stop = "a fixed budget" if rule.delta is None else f"delta {rule.delta:g}, threshold {rule.threshold}"
    row: tuple[Cell, ...] = (
        repr(found.policy),
        stop,
        Estimate(ended.mean_rounds, ended.rounds_se) if ended.n_runs > 1 else ended.mean_rounds,
        None if found.bound is None else found.bound.rounds,
        f"{found.n_errors} of {ended.n_runs}",
        f"{low:.2%} to {high:.2%}",
    )
    rounds = Table(
        name="rounds",
        title="Rounds and errors",
        columns=(
            Column("policy", is_text=True),
            Column("stops at", is_text=True),
            Column("rounds", ",.1f"),
            Column("lower bound", ",.1f"),
            Column("errors", is_text=True),
            Column("chance of an error, 95% exact", is_text=True),
        ),
        rows=(row,),
        note=f"The first run ended with {', '.join(map(_text, found.basis()))}.",
    )
    blocks: list[Block] = [rounds, margins_table(found.confidence(), title="Closest calls of the first run")]
    result = found.result
    return Chapter(
        name=name,
        title=title,
        lead=description,
        run=RunFacts(
            n_episodes=result.n_episodes,
            n_runs=result.n_runs,
            seed=result.seed,
            start=result.start,
            policies={type(found.policy).__name__: repr(found.policy)},
            data=(DataSource(title, description),),
            wall_time=result.wall_time,
        ),
        blocks=tuple(blocks),
        records={"identification": [identification_record(found)]},
    )


def identification_record(found: Identification) -> dict[str, object]:
    """Return an `identify` result as plain JSON.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> identification_record(mb.identify(problem, delta=0.1, seed=0))["errors"]
    0
    """
    ended = found.endings
    return {
        "policy": repr(found.policy),
        "rule": found.rule.to_dict(),
        "runs": ended.n_runs,
        "rounds": ended.rounds.tolist(),
        "sure": int(ended.is_sure.sum()),
        "errors": found.n_errors,
        "error_interval": list(found.error_interval()),
        "lower_bound": None if found.bound is None else found.bound.rounds,
        "confidence": found.confidence().to_dict(),
        "seed": found.result.seed,
    }


def _text(label: object) -> str:
    return " – ".join(map(str, label)) if isinstance(label, tuple) else str(label)
