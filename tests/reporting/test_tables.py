"""Tables of a simulation: shares of the optimum, small means, odd names."""

from html.parser import HTMLParser

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.reporting import Report, policy_table, simulation_chapter


def simulate(means, policies, **options):
    problem = mb.Problem(mb.UniformMatroid(len(means), 1), mb.GaussianEnvironment(means, 0.0), **options)
    return problem, mb.simulate(problem, policies, n_episodes=50, n_runs=4, seed=0)


@pytest.mark.parametrize("means", [[-6.0, -7.0], [0.0, -1.0]])
def test_losses_have_no_shares(means):
    _, result = simulate(means, {"worse": mb.FixedSet([1])})
    assert [row[2] for row in policy_table(result, "t", "T").texts()] == ["–", "–"]


def test_gains_and_costs_have_shares():
    for options, share in (({}, "75.0%"), ({"minimize": True}, "133.3%")):
        means = [4.0, 3.0] if not options else [3.0, 4.0]
        _, result = simulate(means, {"worse": mb.FixedSet([1])}, **options)
        assert [row[2] for row in policy_table(result, "t", "T").texts()] == ["100.0%", share]


def test_small_means_are_readable():
    _, result = simulate([0.00041, 0.00012], {"best": mb.FixedSet([0]), "worse": mb.FixedSet([1])})
    shown = [row[1].split()[0] for row in policy_table(result, "t", "T").texts()]
    assert shown == ["0.00041", "0.00041", "0.00012"]
    assert "optimum 0.00041 per step" in result.summary()


def test_tables_and_summaries_write_errors_alike():
    problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    result = mb.simulate(problem, [mb.EpsilonGreedy(0.5)], n_episodes=50, n_runs=4, seed=0)
    table = policy_table(result, "t", "T")
    mean, error = result.regret[0, -1], result.regret_se[0, -1]
    assert table.texts()[1][3] == f"{mean:,.1f} ±\u00a0{error:,.1f}"
    assert f"{mean:.2f} ± {error:.2f}" in result.summary()


def test_pages_hold_odd_names(tmp_path):
    names = ["$", "_x", "a\a", "\ufffe", "<i>", "x" * 80]
    policies = {name: mb.OMM(scale) for scale, name in enumerate(names)}
    problem, result = simulate(np.arange(3.0), policies)
    report = Report(tmp_path, "T\a", "", "do")
    report.add(simulation_chapter(problem, policies, result, name="odd", title="Odd \ufffe", description="\x00"))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not any(c in page for c in "\a\ufffe\x00")
    assert r"a\x07" in page
    words: list[str] = []
    parser = HTMLParser()
    parser.handle_data = words.append
    parser.feed(page)
    for name in ("$", "_x", r"a\x07", r"\ufffe", "<i>"):
        assert name in [word.strip() for word in words]
