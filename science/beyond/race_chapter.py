"""The chapter on the race: regret of every policy, what won where in words, and claims with verdicts."""

import numpy as np

from matroid_bandits.reporting import (
    Chapter,
    Claim,
    Column,
    DataSource,
    Plot,
    RunFacts,
    Table,
    Text,
    plain,
    regret_panel,
    size_note,
)
from matroid_bandits.simulation import holm

from .blocks import final, is_standin, source_of

#: How many curves a panel has at most, those of the least regret, and OMM's.
MOST_CURVES = 7

ABOUT_CURVES = (
    "Bands are 95% confidence intervals. Policies that are not in a panel have more regret than those in it."
)

#: How many comparisons that went otherwise a claim names.
MOST_NAMED = 4

LEAD = (
    "Rivals in the same worlds. Where worlds are drawn, means and errors are over worlds, each the mean of its runs,"
    " and policies are compared world by world. What has a constant was tuned before, on other worlds or other runs."
    " Heavy tails are named, and medians stand beside means. None of this is in the paper."
)

#: What is held against the figures: of which heats, in which words, and who must have clearly less regret than whom.
CLAIMS = (
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


def write(seed, outcomes) -> Chapter:
    """The chapter on the heats that were played."""
    laps = [(outcome, lap) for outcome in outcomes for lap in outcome.laps]
    losses = lost(outcomes)
    return Chapter(
        name="race",
        title="The race",
        lead=LEAD,
        run=RunFacts(
            n_episodes={outcome.heat.name: outcome.size.n_episodes for outcome in outcomes},
            n_runs={outcome.heat.name: runs(outcome) for outcome in outcomes},
            seed=seed,
            start="observe",
            policies={
                f"{outcome.heat.name}: {lap.name}: {name}": repr(policy)
                for outcome, lap in laps
                for name, policy in lap.sweep.players[lap.name].items()
            },
            data=tuple(source for outcome in outcomes for source in sources(outcome)),
            wall_time=sum(lap.sweep.wall_time for _, lap in laps),
        ),
        blocks=(
            *(block for outcome in outcomes for block in heat_blocks(outcome)),
            *claims(outcomes),
            Text(losses_in_words(losses)),
        ),
        records={
            "laps": [record(outcome, lap) for outcome, lap in laps],
            "winners": [winner_record(outcome, lap) for outcome, lap in laps],
            "losses": losses,
        },
    )


def heat_blocks(outcome):
    heat, laps = outcome.heat, outcome.laps
    yield Text(heat.about)
    yield race_table(outcome)
    yield Text(f"What won. {' '.join(in_words(lap, heat.unit) for lap in laps)}")
    if any(lap.tuned for lap in laps):
        yield tuned_table(outcome)
    if warned := [f"{lap.name}: {warning}" for lap in laps for warning in lap.result.tail_warnings()]:
        yield Text(f"Heavy tails. {' '.join(warned)}")
    if any(lap.sweep.worlds for lap in laps):
        yield parts_table(outcome)
    title = f"Regret: {heat.name}, the six policies with the least of it and OMM"
    yield Plot(f"race-{heat.name}", title, tuple(panel(outcome, lap) for lap in laps), ABOUT_CURVES)


def race_table(outcome):
    """The regret of every policy on every problem of a heat: its mean, and its median over worlds or runs."""
    heat, rows = outcome.heat, []
    for name in dict.fromkeys(policy for lap in outcome.laps for policy in lap.result.policies):
        row = [name]
        for lap in outcome.laps:
            is_in = name in lap.result.policies
            row += [final(lap.result, name), float(np.median(lap.result[name].final_regret))] if is_in else [None] * 2
        rows.append(tuple(row))
    columns = (Column(name, ",.0f", lap.name) for lap in outcome.laps for name in ("mean", "median"))
    return Table(
        heat.name,
        f"Regret: {heat.name}" + (f", {heat.unit}" if heat.unit else ""),
        (Column("policy", is_text=True), *columns),
        tuple(rows),
        size_note(outcome.laps[0].result),
        is_standin=is_standin(outcome.datasets),
    )


def regrets(lap):
    return {policy: float(lap.result[policy].regret[-1]) for policy in lap.result.policies}


def winner(lap):
    """Who has the least regret on one half of the worlds (or runs), and how others compare on the other half."""
    finals, n = lap.result.final_regret, lap.result.n_runs
    half = n // 2 if n >= 4 else 0
    best = lap.result.policies[int(finals[:, : half or n].mean(axis=1).argmin())]
    return best, lap.result.part(slice(half, n)).differences(best)


def in_words(lap, unit=""):
    """Who won on a problem, who may be as good, and where OMM is."""
    (best, behind), regret = winner(lap), regrets(lap)
    close = [each.policy for each in behind if not each.p_holm < 0.05]
    text = f"{lap.name}: {best} ({regret[best]:,.0f}{f' {unit}' if unit else ''})"
    text += f"; not clearly behind: {', '.join(close)}" if close else "; all others are clearly behind"
    if best == "OMM" or "OMM" in close:
        return f"{text}."
    times = regret["OMM"] / regret[best] if regret[best] > 0.0 else np.inf
    place = sorted(regret, key=regret.__getitem__).index("OMM") + 1
    return f"{text}; OMM has {times:.1f} times as much, place {place} of {len(regret)}."


def claims(outcomes):
    """The claims whose heats were played, each with all of its paired tests in mind (Holm)."""
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
            is_true, evidence = judged(pairs)
            is_full = all(outcome.is_full for outcome in own) and len(own) == len(heats)
            verdict = "undecided" if not is_full else "holds" if is_true else "does not hold"
            yield Claim(text, verdict, evidence, any(is_standin(outcome.datasets) for outcome in own))


def judged(pairs):
    """Whether every policy is clearly better than the other of its pair, and in how many comparisons it is."""
    tests = [
        next(each for each in lap.result.differences(theirs) if each.policy == ours) for lap, ours, theirs in pairs
    ]
    clear = [p < 0.05 and each.mean < 0.0 for p, each in zip(holm([t.p_value for t in tests]), tests, strict=True)]
    both = [(regrets(lap)[theirs], regrets(lap)[ours]) for lap, ours, theirs in pairs]
    ratios = [theirs / ours for theirs, ours in both if ours > 0.0]
    evidence = f"Clearly so in {sum(clear)} of {len(clear)} comparisons"
    evidence += f"; regret is {min(ratios):.1f} to {max(ratios):.1f} times as large" if ratios else ""
    wrong = [
        f"{ours} against {theirs} ({lap.name})"
        for (lap, ours, theirs), is_clear in zip(pairs, clear, strict=True)
        if not is_clear
    ]
    more = f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
    evidence += f". Not clear, or the other way: {', '.join(wrong[:MOST_NAMED])}{more}." if wrong else "."
    return all(clear), evidence


def lost(outcomes):
    """On how many problems OMM, as in the paper and tuned, is clearly behind the best, and of how many."""
    found = {}
    for policy in ("OMM", "OMM, tuned"):
        played = [
            (lap, policy if policy in lap.result.policies else "OMM")  # tuned to the paper's radius, it is OMM
            for outcome in outcomes
            for lap in outcome.laps
            if policy in lap.result.policies or policy in lap.tuned
        ]
        behind = [lap for lap, name in played if any(d.policy == name and d.p_holm < 0.05 for d in winner(lap)[1])]
        if played:
            found[policy] = [len(behind), len(played)]
    return found


def losses_in_words(losses):
    parts = (f"{policy} is clearly behind the best on {n} of {of} problems" for policy, (n, of) in losses.items())
    return f"Where OMM loses. {'; '.join(parts)}."


def tuned_table(outcome):
    """What was tuned, and to what."""
    families = dict.fromkeys(family for lap in outcome.laps for family in lap.tuned)
    return Table(
        f"{outcome.heat.name}-tuned",
        "Constants that were tuned",
        (Column("policy", is_text=True), *(Column(lap.name, is_text=True) for lap in outcome.laps)),
        tuple((family, *(lap.tuned.get(family) for lap in outcome.laps)) for family in families),
        "On a quarter of the worlds and runs, with another seed: in other worlds, or in other runs of the one.",
    )


def parts_table(outcome):
    """What regret varies with, for each problem: the world, and the run in it."""
    rows = (
        (part.problem, part.policy, part.worlds, part.runs, part.share)
        for lap in outcome.laps
        for part in lap.sweep.variance_parts()
        if part.policy in ("OMM", "OMM, tuned", "Thompson", winner(lap)[0])
    )
    return Table(
        f"{outcome.heat.name}-worlds",
        "What regret varies with: the world, and the run in a world",
        (
            Column("problem", is_text=True),
            Column("policy", is_text=True),
            Column("worlds", ",.0f", "standard deviation"),
            Column("runs", ",.0f", "standard deviation"),
            Column("share of the worlds", ".0%"),
        ),
        tuple(rows),
    )


def panel(outcome, lap):
    regret = regrets(lap)
    others = sorted(regret.keys() - {"OMM"}, key=regret.__getitem__)
    shown = [policy for policy in lap.result.policies if policy == "OMM" or policy in others[: MOST_CURVES - 1]]
    made_up = is_standin(outcome.datasets)
    return regret_panel(lap.result, lap.name, policies=shown, unit=outcome.heat.unit, is_standin=made_up)


def runs(outcome):
    """How often each policy is played, in words."""
    size, is_drawn = outcome.size, outcome.laps[0].result.world_runs is not None
    worlds = f"{size.n_worlds} world{'s' if size.n_worlds > 1 else ''} × " if is_drawn else ""
    return f"{worlds}{size.n_runs} run{'s' if size.n_runs > 1 else ''}"


def sources(outcome):
    if outcome.datasets:
        return [source_of(dataset) for dataset in outcome.datasets]
    return [
        DataSource(f"{outcome.heat.name}: {lap.name}", f"Worlds such as {lap.sweep.problems[lap.name]!r}.")
        for lap in outcome.laps
    ]


def winner_record(outcome, lap):
    """Which policy won on a problem, and which are not clearly behind, for ``results.json``."""
    best, behind = winner(lap)
    close = [each.policy for each in behind if not each.p_holm < 0.05]
    return {"heat": outcome.heat.name, "problem": lap.name, "best": best, "not clearly behind": close}


def record(outcome, lap):
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
