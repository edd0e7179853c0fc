"""The chapter on a sweep."""

import matroid_bandits as mb
from matroid_bandits.reporting import Estimate, Report, sweep_chapter


def test_a_sweep_of_one_policy_and_odd_names(tmp_path):
    problems = {"<a> & $b": mb.lower_bound_problem(4, 2, 0.2)}
    sweep = mb.sweep(problems, {"<i>": mb.OMM()}, n_episodes=5, n_runs=1, seed=0)
    chapter = sweep_chapter(sweep, name="odd", title="Odd", description="One problem.")
    assert [table.name for table in chapter.tables] == ["regret"]
    report = Report(tmp_path / "report", "Odd", "", "make")
    report.add(chapter)
    assert "&lt;a&gt; &amp; $b" in (tmp_path / "report/index.html").read_text()


def test_tables_are_what_the_sweep_says():
    problems = {f"gap {gap}": mb.lower_bound_problem(6, 2, gap) for gap in (0.1, 0.3)}
    policies = {"//": [mb.OMM(0.1), mb.OMM(1)], "T": [mb.ThompsonSampling(p) for p in ("beta", "normal")]}
    sweep = mb.sweep(problems, policies, n_episodes=50, n_runs=6, seed=0)
    chapter = sweep_chapter(sweep, name="s", title="S", description="Two problems.", baseline="T, prior=beta")
    regret, best, differences = chapter.tables
    assert [row[0] for row in regret.rows] == list(sweep.policies)
    assert regret.rows[1][2].mean == sweep["gap 0.3"].regret[1, -1]
    assert [row[:3] for row in best.rows] == [
        (family, each.problem, each.policy) for family in policies for each in sweep.best(family)
    ]
    found = sweep.differences("T, prior=beta")
    assert differences.title == "Regret minus that of T, prior=beta"
    assert [row[0] for row in differences.rows] == [name for name in sweep.policies if name != "T, prior=beta"]
    assert differences.rows[0][1:3] == (Estimate(found[0].mean, found[0].se), found[0].p_holm)
    notes = " ".join(table.note for table in chapter.tables)
    assert notes.count("±") == notes.count("± is one standard error") > 0  # one meaning in the whole document
    assert [plot.name for plot in chapter.plots] == ["s", "s-family-1"]  # words have no axis
    assert chapter.plots[0].groups == sweep.groups
