"""The chapter beyond the paper: what is played, what is said of it, and what is marked as made up."""

from dataclasses import replace

import numpy as np
import pytest

from matroid_bandits import UniformMatroid
from matroid_bandits.datasets import movielens
from matroid_bandits.exceptions import DataError
from matroid_bandits.paper import BEYOND, EXPERIMENTS, run_beyond
from matroid_bandits.paper import _movies as movies
from matroid_bandits.paper._race import HEATS as ALL_HEATS
from matroid_bandits.paper._race_found import race_blocks, recorded
from matroid_bandits.paper._race_tables import CLAIMS
from matroid_bandits.paper._visitors import VisitorEnvironment
from matroid_bandits.problem import Problem
from matroid_bandits.reporting import Claim, Report, Table, Text
from matroid_bandits.stream import FEATURES, START, Stream
from matroid_bandits.testing import check_environment

HEATS = {heat.name: heat for heat in ALL_HEATS}


def only(name: str, n_episodes: int):
    """The chapter with one of its parts, short."""
    parts = tuple(part for part in BEYOND.parts if part.name == name)
    return replace(BEYOND, parts=parts).resized(n_episodes=n_episodes, n_runs=2)


@pytest.mark.compiled
def test_the_chapter(no_data, tmp_path):
    short = BEYOND.resized(n_episodes=6, n_runs=2)
    outcomes = run_beyond(short)
    chapter = short.write(outcomes)
    assert [table.name for table in chapter.tables] == [
        "networks", "networks-scales", "race-changes", "race-wandering", "race-phases", "delays", "visitors",
        "constraints",
    ]  # fmt: skip
    assert all(table.is_standin != table.name.startswith("race-") for table in chapter.tables)  # the race is recorded
    assert all(plot.is_standin for plot in chapter.plots)
    notes = " ".join(table.note for table in chapter.tables)
    assert notes.count("±") == notes.count("± is one standard error") > 0  # one meaning in the whole document
    assert chapter.run.size == (
        "networks: 2 runs of 6 episodes; delays: 2 runs of 6 episodes; visitors: 2 runs of 6 episodes; constraints: 2"
        " runs of 6 episodes; seed 2014"
    )
    assert chapter.run.summary.startswith(chapter.run.size)
    assert chapter.run.to_dict()["episodes"] == {
        "networks": 6,
        "delays": 6,
        "visitors": 6,
        "constraints": 6,
    }
    report = Report(tmp_path / "report", "Title", "lead", "command")
    report.add(only("delays", 3).write(outcomes[1:2]))
    linear = EXPERIMENTS["linear"].resized(n_episodes=2, n_runs=1)
    report.add(linear.write(_run(linear)))
    assert report.to_json().index('"linear"') < report.to_json().index('"beyond"')  # it comes after the paper
    assert report.to_html().index('id="linear"') < report.to_html().index('id="beyond"')


def test_drift_says_what_the_race_found():
    """What the chapter says of drift is what the race says: its claims, with its verdicts, and its tables."""
    texts = {claim for heats, claim, *_ in CLAIMS if set(heats) <= {"changes", "wandering", "phases"}}
    race = recorded()
    blocks = race_blocks()
    found = {block.text: block.verdict for block in blocks if isinstance(block, Claim)}
    assert found == {each["claim"]: each["verdict"] for each in race["claims"] if each["claim"] in texts}
    assert len(found) == len(texts) == 4
    table = next(block for block in blocks if isinstance(block, Table))
    assert [row[0] for row in table.rows] == [record["policy"] for record in race["tables"]["changes"]]
    assert race["episodes"]["changes"] == HEATS["changes"].usual.n_episodes  # the race at its default size
    players = [name for name in HEATS["changes"].players(None, 5_000) if name != "OMM, tuned"]  # it is OMM() there
    assert [record["policy"] for record in race["tables"]["changes"]] == players
    assert any("clearly behind the best on" in block.text for block in blocks if isinstance(block, Text))


def _run(experiment):
    from matroid_bandits.paper import run

    return run(experiment)


def test_sizes():
    quick = BEYOND.resized(quick=True, seed=3)
    assert [part.n_episodes for part in quick.parts] == [part.n_quick for part in BEYOND.parts]
    assert [part.n_runs for part in quick.parts] == [3] * 4
    assert quick.seed == 3
    assert [part.n_runs for part in BEYOND.parts] == [20, 100, 20, 20]
    assert {part.n_runs for part in BEYOND.resized(n_runs=2).parts} == {2}
    assert BEYOND.name not in EXPERIMENTS


def test_data_is_loaded_before_anything_is_run(tmp_path):
    with pytest.raises(DataError, match=r"expected the file .*latencies\.intra"):
        BEYOND.loaded(tmp_path)


def test_progress_and_data_in_memory(no_data):
    seen = []
    run_beyond(only("networks", 3).loaded(), progress=lambda *event: seen.append(event))
    assert seen[-1][0] == "networks"
    assert seen[-1][1] == seen[-1][2] == 3 * 2 * 21 * 2


# Visitors


def world() -> tuple[VisitorEnvironment, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows, groups = rng.random((40, 3)), np.arange(40) % 4
    return VisitorEnvironment(rows, groups, rng.random((4, 3, 2))), rows, groups


def test_visitors_keep_the_contract():
    check_environment(world()[0])


def test_means_are_those_of_the_group_that_is_seen():
    environment, rows, groups = world()
    stream = Stream(5, range(3000), FEATURES)
    features, means = environment.features(stream, 7), environment.means(7, stream)
    kinds, kind = np.unique(features.reshape(3000, -1), axis=0, return_inverse=True)
    assert len(kinds) == 4
    weights = environment.draw(Stream(5, range(3000)), 7, np.arange(3))
    for k in range(4):
        own = np.flatnonzero(kind.reshape(-1) == k)
        (group,) = {int(groups[np.flatnonzero((rows == row).all(axis=1))[0]]) for row in weights[own]}
        assert means[own] == pytest.approx(np.tile(rows[groups == group].mean(axis=0), (own.size, 1)))
    # who is seen before the first episode is the one whose features are shown for it
    start = environment.draw(Stream(5, range(50), START), 0, np.arange(3))
    people = [int(np.flatnonzero((rows == row).all(axis=1))[0]) for row in start]
    shown = environment.features(Stream(5, range(50), FEATURES), 0)
    assert (shown == environment._features[groups[people]]).all()
    assert environment.overall_means == pytest.approx(rows.mean(axis=0))


def test_movies_for_visitors(no_data):
    dataset = movies.load()[0]
    ((_, problem),) = movies.problems([dataset], 1).items()
    environment = problem.environment
    assert environment.n_features == 3 * (1 + 18)
    rated, visitors = dataset.facts["rated"], dataset.facts["visitors"]
    own = [1, 3, 5]  # every second person
    ages = sorted(set(zip(visitors.is_woman[1::2].tolist(), visitors.ages[1::2].tolist(), strict=True)))
    assert len(environment.group_means) == len(ages) == 14
    for person in own:
        like = (visitors.is_woman == visitors.is_woman[person]) & (visitors.ages == visitors.ages[person])
        mean = rated[like & (np.arange(len(rated)) % 2 == 1)].mean(axis=0)
        assert np.isclose(environment.group_means, mean).all(axis=1).sum() == 1
    # of a movie, popularity among the others times 1, woman and age; and the same for each of its genres
    first = environment._features[0, 0].reshape(19, 3)
    assert first[0, 0] == rated[0::2, 0].mean()
    has = [name in dataset.facts["genres"][0] for name in dataset.facts["genre_names"]]
    assert (first[1:, 0] == np.where(has, first[0, 0], 0.0)).all()
    policies = movies.policies(problem, 1)
    everybody = problem.constraint.max_weight_basis(environment.overall_means)
    assert sorted(policies["best single set"].params()["items"]) == everybody.tolist()


def test_without_users_nobody_is_known(monkeypatch):
    nameless = movielens(standin=True)
    nameless = replace(nameless, facts={**nameless.facts, "visitors": None}, source="real")
    monkeypatch.setattr(movies, "movielens", lambda data=None, standin=None: _standin() if standin else nameless)
    assert movies.load("somewhere")[0].source == "stand-in"


def _standin():
    return movielens(standin=True)


def test_policies_for_visitors_need_them():
    environment = world()[0]
    assert set(movies.policies(Problem(UniformMatroid(3, 1), environment), 5)) >= {"CombLinUCB", "CombLinTS", "OMM"}
