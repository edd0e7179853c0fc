"""The chapters beyond the paper: what is played, what is said of it, and what is marked as made up."""

import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from science.beyond import visitors
from science.beyond.visitors import VisitorEnvironment

from beyond_the_paper import played, science
from matroid_bandits import UniformMatroid, sweep
from matroid_bandits._util.pickling import pickler
from matroid_bandits.datasets import movielens
from matroid_bandits.exceptions import DataError
from matroid_bandits.paper import EXPERIMENTS, run
from matroid_bandits.problem import Problem
from matroid_bandits.reporting import Report
from matroid_bandits.stream import FEATURES, START, Stream
from matroid_bandits.testing import check_environment

TABLES = {
    "networks": ["networks", "networks-scales"],
    "delays": ["delays"],
    "visitors": ["visitors"],
    "constraints": ["constraints"],
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", science.PARTS)
def test_chapters(no_data, name):
    chapter, _ = played(name, n_episodes=6, n_runs=2)
    assert [table.name for table in chapter.tables] == TABLES[name]
    assert all(table.is_standin for table in chapter.tables)
    assert all(plot.is_standin for plot in chapter.plots)
    assert chapter.is_standin
    notes = " ".join(table.note for table in chapter.tables)
    assert notes.count("±") == notes.count("± is one standard error") > 0
    assert chapter.run.size == "2 runs of 6 episodes, seed 2014"


def test_a_report_has_them_after_the_paper(no_data, tmp_path):
    report = Report(tmp_path / "report", "Title", "lead", "command")
    report.add(played("delays", n_episodes=3, n_runs=2)[0])
    linear = EXPERIMENTS["linear"].resized(n_episodes=2, n_runs=1)
    report.add(linear.write(run(linear)))
    assert report.to_json().index('"linear"') < report.to_json().index('"delays"')
    assert report.to_html().index('id="linear"') < report.to_html().index('id="delays"')


def test_sizes(no_data):
    _, quick = played("networks", length="quick", n_episodes=4, seed=3)
    assert (quick["swings"].n_runs, quick["swings"].n_episodes, quick["swings"].seed) == (3, 4, 3)
    assert set(science.PARTS).isdisjoint(EXPERIMENTS)


def test_data_is_loaded_before_anything_is_run(tmp_path):
    with pytest.raises(DataError, match=r"expected the file .*latencies\.intra"):
        science.prepare("networks", tmp_path)


def test_progress(no_data):
    seen = []
    science.prepare("networks", n_episodes=3, n_runs=2)[1](lambda *event: seen.append(event))
    assert seen[-1] == ("networks", 3 * 2 * 21 * 2, 3 * 2 * 21 * 2)


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
    assert environment.overall_means() == pytest.approx(rows.mean(axis=0))


def test_visitors_are_played_in_processes_too(no_data):
    here, there = (played("visitors", n_episodes=3, n_runs=2, executor=n)[1] for n in (None, 2))
    assert here == there


def test_workers_need_no_clone():
    raw = pickler().dumps(world()[0])
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).n_features)"
    done = subprocess.run([sys.executable, "-c", code], input=raw, capture_output=True, check=True, cwd="/")
    assert done.stdout == b"2\n"


def test_movies_for_visitors(no_data):
    dataset = visitors.load(None)[0]
    ((_, problem),) = visitors.problems([dataset], 1).items()
    environment = problem.environment
    assert environment.n_features == 3 * (1 + 18)
    rated, (is_woman, ages) = dataset.facts["rated"], visitors.people_of(dataset)
    kinds = set(zip(is_woman[1::2].tolist(), ages[1::2].tolist(), strict=True))  # of every second person
    assert len(environment.group_means) == len(kinds) == 14
    for person in (1, 3, 5):
        like = (is_woman == is_woman[person]) & (ages == ages[person])
        mean = rated[like & (np.arange(len(rated)) % 2 == 1)].mean(axis=0)
        assert np.isclose(environment.group_means, mean).all(axis=1).sum() == 1
    # of a movie, popularity among the others times 1, woman and age; and the same for each of its genres
    first = environment._features[0, 0].reshape(19, 3)
    assert first[0, 0] == rated[0::2, 0].mean()
    has = [name in dataset.facts["genres"][0] for name in dataset.facts["genre_names"]]
    assert (first[1:, 0] == np.where(has, first[0, 0], 0.0)).all()
    policies = visitors.policies(problem, 1)
    everybody = problem.constraint.max_weight_basis(environment.overall_means())
    assert sorted(policies["best single set"].params()["items"]) == everybody.tolist()


def test_made_up_people():
    is_woman, ages = visitors.people_of(movielens(standin=True))
    assert is_woman.mean() == pytest.approx(0.3, abs=0.001)
    assert set(ages.tolist()) == {1, 18, 25, 35, 45, 50, 56}


def known_by(folder, lines):
    """The movies, with the people of a file of this content."""
    (folder / "users.dat").write_text(lines)
    made_up = movielens(standin=True)
    return replace(made_up, path=folder, facts={**made_up.facts, "users": np.array([3, 9])})


def test_people_of_a_file(tmp_path):
    is_woman, ages = visitors.people_of(known_by(tmp_path, "9::F::25::4::1\n3::M::1::0::2\n7::F::56::0::3\n"))
    assert is_woman.tolist() == [False, True]
    assert ages.tolist() == [1, 25]
    with pytest.raises(DataError, match=r"users\.dat: expected a line for user 9, who has ratings; got none"):
        visitors.people_of(known_by(tmp_path, "3::M::1::0::2\n"))


@pytest.mark.parametrize("line", ["1::F::25::4", "1::W::25::4::5", "1::F::26::4::5", "1::F::old::4::5", "1"])
def test_malformed_people(tmp_path, line):
    with pytest.raises(DataError, match=r"users\.dat:2: expected 'user::gender::age::occupation::zip', got '1"):
        visitors.people_of(known_by(tmp_path, f"3::M::1::0::2\n{line}\n"))


def test_people_are_known_where_their_file_is(real_data):
    (dataset,) = visitors.load(real_data)
    is_woman, _ = visitors.people_of(dataset)
    assert (is_woman.size, is_woman.sum()) == (6040, 1709)


def test_without_users_nobody_is_known(monkeypatch, tmp_path):
    made_up = movielens(standin=True)
    nameless = replace(made_up, path=tmp_path, source="real")
    load = lambda data=None, standin=None: made_up if standin else nameless  # noqa: E731
    monkeypatch.setattr("matroid_bandits.datasets.movielens", load)
    assert visitors.load("somewhere")[0].source == "stand-in"


def test_policies_for_visitors_play():
    problem = Problem(UniformMatroid(3, 1), world()[0])
    found = sweep({"tiny": problem}, partial(visitors.policies, n_episodes=5), n_episodes=5, n_runs=2, seed=0)
    assert {"CombLinUCB", "CombLinTS", "best single set"} <= set(found.policies)
