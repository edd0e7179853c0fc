"""The race, shortened: what is tuned and raced, words and claims on given figures, a store that it goes on from."""

from dataclasses import replace

import numpy as np
import pytest
from science.beyond import race
from science.beyond.race import N_CHANGES, Heat, HeatOutcome, Lap, Size, change_times
from science.beyond.race_chapter import claims, in_words, winner, write

import matroid_bandits as mb
from beyond_the_paper import silent
from matroid_bandits.reporting import Report
from matroid_bandits.testing import check_environment

HEATS = {heat.name: heat for heat in race.HEATS}


def outcomes_of(*names, store=None, **sizes):
    """What some heats have found, played short."""
    heats = [(HEATS[name], HEATS[name].size("quick", **sizes), HEATS[name].load(None)) for name in names]
    return race.play(heats, 2014, silent, store=store)


@pytest.fixture(scope="module")
def tiny():
    return outcomes_of("stationary", "changes", n_episodes=12, n_runs=4)


def test_constants_are_tuned_on_other_seeds_and_other_worlds(tiny):
    stationary, changes = tiny
    lap = stationary.laps[0]
    assert lap.tuned.keys() == {name for name, each in _players(stationary).items() if isinstance(each, list)}
    # the same tuning by hand: a quarter of the worlds and runs, the next seed
    law = HEATS["stationary"].tracks((), 1, 12)["partition"]
    members = _players(stationary)["OMM, tuned"]
    tuning = mb.sweep({"partition": law}, members, n_episodes=12, n_runs=1, seed=2015)["partition"]
    best = members[int(tuning.regret[:, -1].argmin())]
    assert lap.sweep.players["partition"]["OMM, tuned"] == best
    assert lap.tuned["OMM, tuned"] == f"scale={best.params()['scale']:g}"
    assert lap.result.world_runs == 4
    assert {lap.result.seed for lap in stationary.laps} == {2014}
    # policies for changes play as they are where nothing changes
    quiet, loud = changes.laps[3], changes.laps[1]
    assert (quiet.name, loud.name) == ("uniform, no changes", "uniform")
    assert quiet.sweep.players[quiet.name] == loud.sweep.players[loud.name]


def _players(outcome):
    problem = outcome.laps[0].sweep.problems[outcome.laps[0].name]
    return outcome.heat.players(problem, outcome.size.n_episodes)


def test_the_chapter(tiny, tmp_path):
    chapter = write(2014, tiny)
    tables = [table.name for table in chapter.tables]
    assert tables == [f"{heat}{what}" for heat in ("stationary", "changes") for what in ("", "-tuned", "-worlds")]
    assert {claim.verdict for claim in chapter.claims} == {"undecided"}  # shorter than by default
    assert len(chapter.claims) == 5
    notes = " ".join(table.note for table in chapter.tables)
    assert notes.count("±") == notes.count("± is one standard error over worlds") == 2
    assert chapter.run.size == (
        "stationary: 4 worlds × 4 runs of 12 episodes; changes: 4 worlds × 4 runs of 12 episodes; seed 2014"
    )
    report = Report(tmp_path / "report", "Race", "", "make")
    report.add(chapter)
    assert (tmp_path / "report/figures/race-changes.svg").exists()
    assert "Where OMM loses." in (tmp_path / "report/index.html").read_text()
    long = [replace(outcome, size=outcome.heat.usual) for outcome in tiny]
    full = write(2014, long)
    assert {claim.verdict for claim in full.claims} <= {"holds", "does not hold"}


def test_a_race_goes_on_from_its_store(tmp_path):
    first, again = (
        outcomes_of("context", n_episodes=8, n_runs=1, store=tmp_path / "store")[0].laps[0].sweep for _ in range(2)
    )
    assert (again.n_played, again.n_stored) == (0, first.n_played)
    assert again == first


def test_the_paper_s_problems_are_one_world_each(no_data):
    outcome = outcomes_of("partners", n_episodes=5, n_runs=2)[0]
    lap = outcome.laps[0]
    assert lap.result.world_runs is None
    assert not lap.sweep.worlds
    assert write(2014, [outcome]).tables[0].is_standin


def test_sizes():
    assert HEATS["stationary"].size() == Size(20, 20, 5_000)
    assert HEATS["wandering"].size("full") == Size(20, 100, 20_000)
    assert HEATS["movies"].size(n_runs=7) == Size(1, 7, 50_000)
    assert change_times(60) == [11, 21, 31, 41, 51]
    assert len(change_times(2)) == N_CHANGES


@pytest.mark.parametrize("name", ["stationary", "changes", "wandering", "delayed", "context"])
def test_drawn_worlds_keep_the_contract(name):
    for law in HEATS[name].tracks((), 2, 100).values():
        first, second = law.drawn(0)
        check_environment(first.environment, n_draws=100)
        assert first.environment.content() is not second.environment.content()


def given(finals, n_worlds=20):
    """A heat with one problem whose final regrets are given, by policy."""
    names = list(finals)
    problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.5, 0.5]))
    policies = {name: mb.OMM(1.0 + place) for place, name in enumerate(names)}
    sweep = mb.sweep({"law": problem}, policies, n_episodes=1, n_runs=n_worlds, seed=0)
    result, values = sweep["law"], np.array([finals[name] for name in names], float)
    object.__setattr__(result, "final_regret", values)
    object.__setattr__(result, "regret", values.mean(axis=1)[:, None])
    lap = Lap("law", {}, sweep)
    heat = Heat("stationary", "", HEATS["stationary"].tracks, HEATS["stationary"].players, *[Size(1, 1, 1)] * 3)
    return HeatOutcome(heat, Size(1, 1, 1), (), (lap,))


def test_words_and_verdicts_follow_the_figures():
    noise = np.random.default_rng(0).normal(size=(4, 20))
    finals = {"OMM": 100 + noise[0], "OMM, tuned": 20 + noise[1], "MOSS": 20.1 + noise[2], "Thompson": 50 + noise[3]}
    outcome = given(finals)
    best, behind = winner(outcome.laps[0])
    assert best in ("OMM, tuned", "MOSS")
    assert len(behind) == 3
    words = in_words(outcome.laps[0], "ms")
    assert words.startswith(f"law: {best} (20 ms); not clearly behind: ")
    assert words.endswith("OMM has 5.0 times as much, place 4 of 4.") or words.endswith("place 4 of 4.")
    verdicts = {claim.text: claim for claim in claims([outcome])}
    tuned = verdicts["Where means stay, a tuned radius has less regret than the paper's."]
    assert tuned.verdict == "holds"
    assert tuned.evidence == "Clearly so in 1 of 1 comparisons; regret is 5.0 to 5.0 times as large."
    other = given({"OMM": finals["OMM, tuned"], "OMM, tuned": finals["MOSS"]})
    (claim,) = claims([other])
    assert claim.verdict == "does not hold"
    assert "Not clear, or the other way: OMM, tuned against OMM (law)." in claim.evidence
    assert next(claims([replace(other, size=Size(1, 1, 0))])).verdict == "undecided"
    alone = given({"OMM": finals["OMM"], "MOSS": 200 + noise[1]})
    assert in_words(alone.laps[0]) == "law: OMM (100); all others are clearly behind."
