"""The chapter on the race: regret of every policy, what won where in words, and claims with verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from matroid_bandits._util.sums import added
from matroid_bandits._util.text import counted, number
from matroid_bandits.paper._chapter import where_from
from matroid_bandits.paper._race_run import HeatOutcome, Lap, Race
from matroid_bandits.reporting import (
    Block,
    Cell,
    Chapter,
    Claim,
    Column,
    DataSource,
    Estimate,
    Panel,
    Plot,
    RunFacts,
    Table,
    Text,
    plain,
    regret_panel,
    size_note,
)
from matroid_bandits.simulation import Difference, holm

#: How many curves a panel has at most, those of the least regret, and OMM's.
_MOST_CURVES = 7

_ABOUT_CURVES = (
    "Bands are 95% confidence intervals. Policies that are not in a panel have more regret than those in it."
)

#: How many comparisons that went otherwise a claim names.
_MOST_NAMED = 4

_LEAD = (
    "Rivals in the same worlds. Where worlds are drawn, means and errors are over worlds, each the mean of its runs,"
    " and policies are compared world by world. What has a constant was tuned before, on other worlds or other runs."
    " Heavy tails are named, and medians stand beside means. None of this is in the paper."
)

#: What is held against the figures: of which heats, in which words, and who must have clearly less regret than whom.
CLAIMS: tuple[tuple[tuple[str, ...], str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("stationary",),
        "Where means stay, a tuned radius has less regret than the paper's.",
        ("OMM, tuned",),
        ("OMM",),
    ),
    (
        ("stationary",),
        "Where means stay, KL-UCB++, MOSS and Thompson sampling, with nothing to tune, have less regret than OMM.",
        ("KL-UCB++", "MOSS", "Thompson"),
        ("OMM",),
    ),
    (("stationary",), "Where means stay, KL-UCB++ has less regret than KL-OSM.", ("KL-UCB++",), ("KLOSM",)),
    (
        ("costly",),
        "Where means stay, policies made for an adversary have more regret than a tuned radius.",
        ("OMM, tuned",),
        ("FPL", "HYBRID"),
    ),
    (
        ("phases",),
        "Against averages, HYBRID has less regret than policies for means that stay.",
        ("HYBRID",),
        ("OMM", "OMM, tuned", "KLOSM", "MOSS", "Thompson", "CL-SG"),
    ),
    (
        ("changes",),
        "Where means change at once, policies that forget have less regret than those that do not.",
        ("discounted OMM", "windowed OMM", "discounted Thompson"),
        ("OMM", "OMM, tuned", "Thompson"),
    ),
    (
        ("changes",),
        "Where means change at once, restarts have less regret than policies that do not forget.",
        ("restarting OMM",),
        ("OMM", "OMM, tuned", "Thompson"),
    ),
    (
        ("wandering",),
        "Where means wander, discounted OMM has less regret than OMM and Thompson sampling.",
        ("discounted OMM",),
        ("OMM", "OMM, tuned", "Thompson"),
    ),
    (("delayed",), "With late answers, Thompson sampling has less regret than OMM.", ("Thompson",), ("OMM",)),
    (
        ("context",),
        "Where features decide, policies that see them have less regret than those that do not.",
        ("CombLinUCB", "CombLinTS"),
        ("OMM", "Thompson"),
    ),
    (
        ("networks",),
        "On the paper's networks, Thompson sampling has less regret than OMM as it stands.",
        ("Thompson",),
        ("OMM",),
    ),
    (
        ("partners", "movies"),
        "On the paper's partners and movies, a tuned radius has less regret than the paper's.",
        ("OMM, tuned",),
        ("OMM",),
    ),
)


def write_race(race: Race, outcomes: Sequence[HeatOutcome]) -> Chapter:
    """Write the report chapter on the race: text, tables, figures and claims.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from matroid_bandits.paper import RACE, run_race, write_race
    >>> context = tuple(heat for heat in RACE.heats if heat.name == "context")
    >>> short = replace(RACE, heats=context).resized(length="quick", n_episodes=5, n_runs=1)
    >>> [table.name for table in write_race(short, run_race(short)).tables]
    ['context', 'context-tuned', 'context-worlds']
    """
    blocks = [block for outcome in outcomes for block in _heat_blocks(outcome)]
    return Chapter(
        name=race.name,
        title=race.title,
        lead=_LEAD,
        run=RunFacts(
            n_episodes={outcome.heat.name: outcome.size.n_episodes for outcome in outcomes},
            n_runs={outcome.heat.name: _runs(outcome) for outcome in outcomes},
            seed=race.seed,
            start="observe",
            policies={
                f"{outcome.heat.name}: {lap.name}: {name}": repr(policy)
                for outcome in outcomes
                for lap in outcome.laps
                for name, policy in lap.sweep.players[lap.name].items()
            },
            data=tuple(source for outcome in outcomes for source in _sources(outcome)),
            wall_time=added(lap.sweep.wall_time for outcome in outcomes for lap in outcome.laps),
        ),
        blocks=(*blocks, *claims(outcomes), Text(losses_in_words(_losses(outcomes)))),
        records={
            "laps": [_record(outcome, lap) for outcome in outcomes for lap in outcome.laps],
            "winners": [_winner_record(outcome, lap) for outcome in outcomes for lap in outcome.laps],
            "losses": _losses(outcomes),
        },
    )


def _heat_blocks(outcome: HeatOutcome) -> list[Block]:
    heat = outcome.heat
    warned = [f"{lap.name}: {warning}" for lap in outcome.laps for warning in lap.result.tail_warnings()]
    words = " ".join(in_words(lap, heat.unit) for lap in outcome.laps)
    blocks: list[Block] = [Text(heat.about), race_table(outcome), Text(f"What won. {words}")]
    if any(lap.tuned for lap in outcome.laps):
        blocks.append(_tuned_table(outcome))
    if warned:
        blocks.append(Text(f"Heavy tails. {' '.join(warned)}"))
    if any(lap.sweep.worlds for lap in outcome.laps):
        blocks.append(_parts_table(outcome))
    panels = tuple(_panel(outcome, lap) for lap in outcome.laps)
    title = f"Regret: {heat.name}, the six policies with the least of it and OMM"
    return [*blocks, Plot(f"race-{heat.name}", title, panels, _ABOUT_CURVES)]


def race_table(outcome: HeatOutcome) -> Table:
    """The regret of every policy on every problem of a heat: its mean, and its median over worlds or runs."""
    names = dict.fromkeys(policy for lap in outcome.laps for policy in lap.result.policies)
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        row: list[Cell] = [name]
        for lap in outcome.laps:
            row += list(_regret(lap, name)) if name in lap.result.policies else [None, None]
        rows.append(tuple(row))
    return Table(
        name=outcome.heat.name,
        title=f"Regret: {outcome.heat.name}" + (f", {outcome.heat.unit}" if outcome.heat.unit else ""),
        columns=(
            Column("policy", is_text=True),
            *(
                column
                for lap in outcome.laps
                for column in (Column("mean", ",.0f", lap.name), Column("median", ",.0f", lap.name))
            ),
        ),
        rows=tuple(rows),
        note=size_note(outcome.laps[0].result),
        is_standin=outcome.is_standin,
    )


def _regret(lap: Lap, policy: str) -> tuple[Estimate, float]:
    own = lap.result[policy]
    return Estimate(float(own.regret[-1]), float(own.regret_se[-1])), float(np.median(own.final_regret))


def winner(lap: Lap) -> tuple[str, list[Difference]]:
    """Who has the least regret on one half of the worlds (or runs), and how others compare on the other half."""
    finals, n = lap.result.final_regret, lap.result.n_runs
    half = n // 2 if n >= 4 else 0
    best = lap.result.policies[int(finals[:, : half or n].mean(axis=1).argmin())]
    told = lap.result.part(slice(half, n))
    return best, told.differences(best)


def in_words(lap: Lap, unit: str = "") -> str:
    """Who won on a problem, who may be as good, and where OMM is."""
    best, behind = winner(lap)
    regret = {policy: float(lap.result[policy].regret[-1]) for policy in lap.result.policies}
    close = [each.policy for each in behind if not each.p_holm < 0.05]
    order = sorted(regret, key=regret.__getitem__)
    text = f"{lap.name}: {best} ({number(regret[best], ',.0f')}{f' {unit}' if unit else ''})"
    text += f"; not clearly behind: {', '.join(close)}" if close else "; all others are clearly behind"
    if best == "OMM" or "OMM" in close:
        return f"{text}."
    times = regret["OMM"] / regret[best] if regret[best] > 0.0 else np.inf
    return f"{text}; OMM has {times:.1f} times as much, place {order.index('OMM') + 1} of {len(order)}."


def claims(outcomes: Sequence[HeatOutcome]) -> list[Claim]:
    """The claims whose heats were played, each with all of its paired tests in mind (Holm)."""
    found = []
    for heats, text, better, worse in CLAIMS:
        own = [outcome for outcome in outcomes if outcome.heat.name in heats]
        pairs = [
            (lap, ours, theirs)
            for outcome in own
            for lap in outcome.laps
            if lap.name not in outcome.heat.tuned_on
            for ours in better
            for theirs in worse
            if {ours, theirs} <= set(lap.result.policies)
        ]
        if pairs:
            is_full = all(outcome.is_full for outcome in own) and len(own) == len(heats)
            found.append(_claim(text, pairs, is_full, any(outcome.is_standin for outcome in own)))
    return found


def _claim(text: str, pairs: Sequence[tuple[Lap, str, str]], is_full: bool, is_standin: bool) -> Claim:
    tests = [
        next(each for each in lap.result.differences(theirs) if each.policy == ours) for lap, ours, theirs in pairs
    ]
    clear = [p < 0.05 and each.mean < 0.0 for p, each in zip(holm([t.p_value for t in tests]), tests, strict=True)]
    ratios = [
        float(lap.result[theirs].regret[-1] / lap.result[ours].regret[-1])
        for lap, ours, theirs in pairs
        if lap.result[ours].regret[-1] > 0.0
    ]
    evidence = f"Clearly so in {sum(clear)} of {len(clear)} comparisons"
    evidence += f"; regret is {min(ratios):.1f} to {max(ratios):.1f} times as large" if ratios else ""
    wrong = [
        f"{ours} against {theirs} ({lap.name})"
        for (lap, ours, theirs), ok in zip(pairs, clear, strict=True)
        if not ok
    ]
    more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
    evidence += f". Not clear, or the other way: {', '.join(wrong[:_MOST_NAMED])}{more}." if wrong else "."
    return Claim(
        text, "undecided" if not is_full else "holds" if all(clear) else "does not hold", evidence, is_standin
    )


def _losses(outcomes: Sequence[HeatOutcome]) -> dict[str, list[int]]:
    """On how many problems OMM, as the paper has it and with a tuned radius, is clearly behind the best, and of how
    many."""
    found = {}
    for policy in ("OMM", "OMM, tuned"):
        played = [
            (lap, policy if policy in lap.result.policies else "OMM")  # tuned to the paper's radius, it is OMM
            for outcome in outcomes
            for lap in outcome.laps
            if policy in lap.result.policies or policy in lap.tuned
        ]
        lost = [lap for lap, name in played if any(d.policy == name and d.p_holm < 0.05 for d in winner(lap)[1])]
        if played:
            found[policy] = [len(lost), len(played)]
    return found


def losses_in_words(losses: Mapping[str, Sequence[int]]) -> str:
    """On how many problems OMM is clearly behind the best policy, as a sentence.

    Examples
    --------
    >>> losses_in_words({"OMM": [2, 3]})
    'Where OMM loses. OMM is clearly behind the best on 2 of 3 problems.'
    """
    parts = (
        f"{policy} is clearly behind the best on {n} of {total} problems" for policy, (n, total) in losses.items()
    )
    return f"Where OMM loses. {'; '.join(parts)}."


def _tuned_table(outcome: HeatOutcome) -> Table:
    """What was tuned, and to what."""
    families = dict.fromkeys(family for lap in outcome.laps for family in lap.tuned)
    return Table(
        name=f"{outcome.heat.name}-tuned",
        title="Constants that were tuned",
        columns=(Column("policy", is_text=True), *(Column(lap.name, is_text=True) for lap in outcome.laps)),
        rows=tuple((family, *(lap.tuned.get(family) for lap in outcome.laps)) for family in families),
        note="On a quarter of the worlds and runs, with another seed: in other worlds, or in other runs of the one.",
    )


def _parts_table(outcome: HeatOutcome) -> Table:
    """What regret varies with, for each problem: the world, and the run in it."""
    rows: list[tuple[Cell, ...]] = [
        (part.problem, part.policy, part.worlds, part.runs, part.share)
        for lap in outcome.laps
        for part in lap.sweep.variance_parts()
        if part.policy in ("OMM", "OMM, tuned", "Thompson", winner(lap)[0])
    ]
    return Table(
        name=f"{outcome.heat.name}-worlds",
        title="What regret varies with: the world, and the run in a world",
        columns=(
            Column("problem", is_text=True),
            Column("policy", is_text=True),
            Column("worlds", ",.0f", "standard deviation"),
            Column("runs", ",.0f", "standard deviation"),
            Column("share of the worlds", ".0%"),
        ),
        rows=tuple(rows),
    )


def _panel(outcome: HeatOutcome, lap: Lap) -> Panel:
    regret = {policy: float(lap.result[policy].regret[-1]) for policy in lap.result.policies}
    others = sorted(regret.keys() - {"OMM"}, key=regret.__getitem__)
    shown = [policy for policy in lap.result.policies if policy == "OMM" or policy in others[: _MOST_CURVES - 1]]
    return regret_panel(lap.result, lap.name, policies=shown, unit=outcome.heat.unit, is_standin=outcome.is_standin)


def _runs(outcome: HeatOutcome) -> str:
    worlds = "" if outcome.laps[0].result.world_runs is None else f"{counted(outcome.size.n_worlds, 'world')} × "
    return worlds + counted(outcome.size.n_runs, "run")


def _sources(outcome: HeatOutcome) -> list[DataSource]:
    if outcome.datasets:
        return [DataSource(d.title, where_from(d), d.source == "stand-in") for d in outcome.datasets]
    return [
        DataSource(f"{outcome.heat.name}: {lap.name}", f"Worlds such as {lap.sweep.problems[lap.name]!r}.")
        for lap in outcome.laps
    ]


def _winner_record(outcome: HeatOutcome, lap: Lap) -> dict[str, object]:
    """Which policy won on a problem, and which are not clearly behind, for ``results.json``."""
    best, behind = winner(lap)
    close = [each.policy for each in behind if not each.p_holm < 0.05]
    return {"heat": outcome.heat.name, "problem": lap.name, "best": best, "not clearly behind": close}


def _record(outcome: HeatOutcome, lap: Lap) -> dict[str, object]:
    """What ``results.json`` keeps of a problem."""
    result = lap.result
    return {
        "heat": outcome.heat.name,
        "problem": lap.name,
        "worlds": None if result.world_runs is None else result.n_runs,
        "runs": result.n_runs if result.world_runs is None else result.world_runs,
        "optimum": plain(result.optimal_value),
        "episodes": plain(result.checkpoints),
        "policies": {
            policy: {
                "policy": repr(lap.sweep.players[lap.name][policy]),
                "regret": plain(result[policy].regret),
                "regret_error": plain(result[policy].regret_se),
                "final": plain(result[policy].final_regret),
            }
            for policy in result.policies
        },
    }
