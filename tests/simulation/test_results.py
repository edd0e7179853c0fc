"""What a result says of itself: short forms, one policy's share, runs, tables and plots."""

import io
import re
import typing

import numpy as np
import pytest
from scipy import stats

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError, PolicyError, SimulationError

PROBLEM = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
COSTS = mb.Problem(mb.UniformMatroid(3, 1), mb.ExponentialEnvironment([2.0, 3.0, 4.0]), minimize=True)
NAMES = ["OMM", "_eps $0.001$", "bell\a", "\ufffe"]


def simulate(policies, problem=PROBLEM, **settings):
    return mb.simulate(problem, policies, **{"n_episodes": 40, "n_runs": 6, "seed": 3, **settings})


@pytest.fixture(scope="module")
def race():
    return simulate(dict(zip(NAMES, [mb.OMM(), *(mb.EpsilonGreedy(e / 10) for e in range(3))], strict=True)))


def test_reprs_are_one_short_line(race):
    assert repr(simulate(mb.OMM())) == 'SimulationResult(OMM; 6 runs of 40 episodes, seed 3, start "observe")'
    assert repr(race).startswith("SimulationResult('OMM', '_eps $0.001$', 'bell\\x07', '\\ufffe'; 6 runs")
    many = simulate({f"p{i}": mb.OMM() for i in range(9)}, n_episodes=2)
    assert repr(many) == 'SimulationResult(p0, p1, p2, p3 and 5 more; 6 runs of 2 episodes, seed 3, start "observe")'
    assert re.fullmatch(r"PolicyResult\('OMM': regret .* ± .* after 40 episodes\)", repr(race["OMM"]))


def test_notebooks_show_a_table(race):
    page = simulate({"<b>": mb.OMM(), "eps": mb.EpsilonGreedy()})._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert page.count("<tr>") == 3
    assert "\a" not in race._repr_html_()


def test_one_policys_share(race):
    assert list(race) == list(race.policies) == NAMES
    for p, name in enumerate(race):
        own = race[name]
        assert own.name == name
        for field in ("regret", "regret_se", "returns", "per_step_return", "realised_per_step_return_se", "choices"):
            assert np.array_equal(getattr(own, field), getattr(race, field)[p])
        assert own.final_regret.shape == (6,)
        assert own.run_regret is None
    for unknown in ("UCB", 0):
        with pytest.raises(SimulationError, match="expected a policy, one of 'OMM'"):
            race[unknown]


def test_names_that_hold_commas_are_quoted_and_near_ones_are_hinted_at():
    result = simulate({"OMM, scale=1": mb.OMM(), "Thompson": mb.ThompsonSampling()})
    expected = "expected a policy, one of 'OMM, scale=1', 'Thompson'; got 'thomson'; did you mean 'Thompson'\\?$"
    for ask in (lambda: result["thomson"], lambda: result.differences("thomson"), lambda: result.index("thomson")):
        with pytest.raises(SimulationError, match=expected):
            ask()
    with pytest.raises(SimulationError, match=expected):
        result.plot(policies=["thomson"])
    with pytest.raises(SimulationError, match="expected policies to be a list of names, got 'Thompson' alone"):
        result.plot(policies="Thompson")
    assert repr(result).startswith("SimulationResult('OMM, scale=1', 'Thompson'; 6 runs")


def test_summary_and_repr_say_which_start_was_used(race):
    explored = simulate(mb.OMM(), start="explore")
    for result, start in ((race, '"observe"'), (explored, '"explore"')):
        assert f"seed 3, start {start}" in repr(result)
        assert f"6 runs of 40 episodes, seed 3, start {start}, " in result.summary().splitlines()[0]
        assert f"seed 3, start {start}" in result._repr_html_()


def test_differences_at_checkpoints():
    policies = {"OMM": mb.OMM(), "eps": mb.EpsilonGreedy()}
    kept = simulate(policies, keep_runs=True, checkpoints=[5, 20])
    short = simulate(policies, n_episodes=20)
    assert kept.differences("OMM", episode=20) == short.differences("OMM")
    assert kept.differences("OMM", episode=40) == kept.differences("OMM") == simulate(policies).differences("OMM")
    with pytest.raises(SimulationError, match="expected episode to be a checkpoint, got 7; the nearest are 5 and 20"):
        kept.differences("OMM", episode=7)
    with pytest.raises(SimulationError, match=r"curves of every run, for regret after episode 1; .* keep_runs=True"):
        simulate(policies).differences("OMM", episode=1)
    with pytest.raises(SimulationError, match=r"expected episode to be an integer from 1 to 40, got 41"):
        kept.differences("OMM", episode=41)


@pytest.mark.parametrize(
    ("policy", "alternative"),
    [
        (mb.ThompsonSampling(), r'ThompsonSampling\("normal"\) takes any$'),
        (mb.Restarting(mb.ThompsonSampling()), r'ThompsonSampling\("normal"\) takes any$'),
        (mb.DiscountedThompson(0.9), r"DiscountedOMM\(gamma, scale\) takes any$"),
        (mb.KLOSM(), r"OMM\(scale=...\) takes any$"),
    ],
    ids=["beta", "restarting", "discounted", "KLOSM"],
)
def test_weights_that_do_not_fit_name_a_policy_that_takes_them(policy, alternative):
    with pytest.raises(PolicyError, match=rf"lie in \[-inf, inf\]; {alternative}"):
        mb.simulate(
            mb.Problem(mb.UniformMatroid(2, 1), mb.GaussianEnvironment([0.0, 1.0])), policy, n_episodes=2, n_runs=1
        )
    learner = mb.Learner(mb.UniformMatroid(2, 1), policy)
    with pytest.raises(FeedbackError, match=alternative):
        learner.tell(learner.ask(), [2.0])


def test_runs_are_kept_on_request(tmp_path):
    kept = simulate({"OMM": mb.OMM(), "eps": mb.EpsilonGreedy()}, keep_runs=True)
    plain = simulate({"OMM": mb.OMM(), "eps": mb.EpsilonGreedy()})
    assert plain.run_returns is plain.run_regret is None
    assert kept.run_regret.shape == kept.run_returns.shape == (2, 6, kept.checkpoints.size)
    assert np.array_equal(kept.run_regret.mean(axis=1), plain.regret)
    assert np.array_equal(kept.run_returns[:, :, -1], plain.final_returns)
    assert np.array_equal(kept["eps"].run_regret, kept.run_regret[1])
    for result in (kept, plain):
        result.save(tmp_path / "result")
        again = mb.SimulationResult.load(tmp_path / "result")
        assert again == result
        assert (again.run_regret is None) == (result is plain)


def test_policies_without_names():
    assert simulate(mb.OMM()).policies == ("OMM",)
    assert simulate(mb.OMM() for _ in range(1)).policies == ("OMM",)
    several = simulate([mb.OMM(1), mb.OMM(2), mb.UniformRandom()])
    assert several.policies == ("OMM(scale=1.0)", "OMM(scale=2.0)", "UniformRandom")
    assert mb.Policy in typing.get_args(
        typing.get_type_hints(mb.simulate)["policies"]
    )  # so that one alone type-checks


def test_the_per_step_return_is_the_expected_one():
    for problem, sign in ((PROBLEM, -1.0), (COSTS, 1.0)):
        result = simulate([mb.EpsilonGreedy(0.5)], problem, checkpoints=[40])
        expected = problem.environment.mean_weights @ result.choices[0] / (6 * 40)
        assert result.per_step_return[0, -1] == pytest.approx(expected)
        assert sign * (result.per_step_return[0, -1] - result.optimal_value) > 0.0
        assert result.realised_per_step_return[0, -1] == result.returns[0, -1] / 40
        assert f"{expected:.4f}" in result.summary()


def test_bands_are_students_t(race):
    figure = race.plot(policies=["OMM"])
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    half = stats.t.ppf(0.975, 5) * race.regret_se[0, -1]
    at_the_end = band[band[:, 0] == 40][:, 1]
    assert (at_the_end.min(), at_the_end.max()) == pytest.approx(
        (race.regret[0, -1] - half, race.regret[0, -1] + half)
    )


def test_plots_go_where_they_are_asked_to(race):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, pair = pyplot.subplots(1, 2)
    assert race.plot(ax=pair, policies=["bell\a", "OMM"]) is pair
    assert [line.get_label() for line in pair[0].lines] == ["bell\a", "OMM"]
    assert [line.get_label() for line in pair[1].lines] == ["bell\a", "OMM", "optimum"]
    alone, axes = pyplot.subplots()
    assert race.plot(ax=axes) is axes
    assert axes.get_title() == "Cumulative regret"
    assert len(pyplot.get_fignums()) == 2  # plots of their own do not touch pyplot
    race.plot()
    assert len(pyplot.get_fignums()) == 2
    pyplot.close(figure)
    pyplot.close(alone)
    with pytest.raises(SimulationError, match="one or two matplotlib axes, got 3"):
        race.plot(ax=[axes, axes, axes])
    with pytest.raises(SimulationError, match="expected a policy, one of 'OMM'"):
        race.plot(policies=["UCB"])


def test_notebooks_show_plots_without_pyplot(race):
    assert race.plot()._repr_png_().startswith(b"\x89PNG")


def test_axes_say_what_they_measure():
    left, right = simulate([mb.OMM()], COSTS).plot(unit="ms").axes
    assert left.get_ylabel() == "cumulative regret, ms"
    assert right.get_ylabel() == "expected per-step cost, ms\n(running average)"
    assert simulate([mb.OMM()]).plot().axes[1].get_ylabel() == "expected per-step return\n(running average)"


def test_legends_show_every_name(race):
    figure = race.plot()
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(shown) == sorted(["OMM", "_eps $0.001$", "bell\\x07", "\\ufffe", "optimum"])
    for kind in ("svg", "pdf", "png"):
        figure.savefig(io.BytesIO(), format=kind)


def look(line):
    """What tells a line from others in grey."""
    return line._unscaled_dash_pattern[1] or (), line.get_marker()


def test_curves_are_told_apart_in_grey_and_look_the_same_in_every_figure():
    policies = {f"policy {i}": mb.OMM(0.1 + i) for i in range(14)} | {"OMM, 1": mb.OMM(30), "OMM, 2": mb.OMM(31)}
    result = simulate(policies, n_episodes=9)
    bounds = dict.fromkeys(("Theorem 1", "Theorem 2"), result.checkpoints * 1.0)
    whole = result.plot(bounds=bounds)
    left, right = whole.axes
    lines = {line.get_label(): line for line in (*left.lines, *right.lines)}
    assert len({look(line) for line in lines.values()}) == len(lines) == 19
    for line in result.plot(policies=["OMM, 2", "policy 11", "policy 3"]).axes[0].lines:
        assert (look(line), line.get_color()) == (look(lines[line.get_label()]), lines[line.get_label()].get_color())


def test_legends_keep_families_together_row_by_row():
    result = simulate({"OMM, 1": mb.OMM(1), "eps": mb.EpsilonGreedy(), "OMM, 2": mb.OMM(2), "OMM, 3": mb.OMM(3)})
    legend = result.plot(width="column").legends[0]
    shown, n_columns = [text.get_text() for text in legend.get_texts()], legend._ncols
    ends = np.cumsum([len(shown[column::n_columns]) for column in range(n_columns)])
    columns = np.split(np.array(shown), ends[:-1])
    read = [column[row] for row in range(len(columns[0])) for column in columns if row < len(column)]
    assert read == ["OMM, 1", "OMM, 2", "OMM, 3", "eps", "optimum"]
    assert n_columns > 1


def test_sizes_log_axes_and_one_panel(race):
    figure = race.plot(width="column", measure="regret", log_y=True)
    assert figure.get_figwidth() == 3.25
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] > 0.0
    assert len(race.plot(width="column").axes) == 2  # one below the other
    both = race.plot(width=7, height=2, log_y=True)
    assert tuple(both.get_size_inches()) == (7.0, 2.0)
    assert [axes.get_yscale() for axes in both.axes] == ["log", "linear"]
    bound = {"bound": np.arange(1.0, 41.0)[race.checkpoints - 1]}
    with_bound = race.plot(bounds=bound)
    assert with_bound.axes[0].get_yscale() == "log"
    with_bound.draw_without_rendering()
    assert not any("$" in tick.get_text() for tick in with_bound.axes[0].get_yticklabels())
    assert race.plot(bounds=bound, log_y=False).axes[0].get_yscale() == "linear"
    still = simulate({"best": mb.FixedSet([0])}, mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([1, 0])))
    assert still.plot(log_y=True).axes[0].get_yscale() == "linear"  # nothing positive to show
    for options, message in (
        ({"width": "wide"}, r'expected width to be "column", "page" or a number of inches, got \'wide\''),
        ({"height": 0}, r"expected height \(in inches\) to be a number in \[1, 100\], got 0"),
        ({"ax": axes, "width": 3}, "expected a width or a height without ax"),
        ({"measure": "cost"}, 'expected measure to be "regret" or "returns", got \'cost\''),
        ({"bands": "sd"}, 'expected bands to be "mean" or "quantiles", got \'sd\''),
        ({"bands": "quantiles"}, "the curves of runs were not kept"),
    ):
        with pytest.raises(SimulationError, match=message):
            race.plot(**options)


def test_bands_of_quantiles():
    result = simulate([mb.EpsilonGreedy(0.5)], keep_runs=True)
    axes = result.plot(bands="quantiles", measure="regret").axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), np.median(result.run_regret[0], axis=0))
    band = axes.collections[0].get_paths()[0].vertices
    at_the_end = band[band[:, 0] == 40][:, 1]
    expected = np.quantile(result.final_regret[0], (0.05, 0.95))
    assert (at_the_end.min(), at_the_end.max()) == pytest.approx(tuple(expected))
    assert "median" in axes.get_ylabel()


def test_files_keep_their_text_and_repeat(race, tmp_path):
    for kind in ("pdf", "svg", "png"):
        for name in ("a", "b"):
            race.plot(width="column", policies=["OMM"]).savefig(tmp_path / f"{name}.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert "cumulative regret</text>" in (tmp_path / "a.svg").read_text()
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()  # fonts that journals refuse
    assert 'width="234pt"' in (tmp_path / "a.svg").read_text()  # 3.25 inches


def test_latex_tables_mark_the_best_and_those_not_clearly_worse():
    policies = {"best": mb.FixedSet([0, 1]), "same_1": mb.FixedSet([1, 0]), "worst": mb.FixedSet([2, 3])}
    result = simulate({**policies, "OMM": mb.OMM()})
    text = result.to_latex(quantiles=[0.05, 0.5])
    rows = {line.split(" & ")[0]: line for line in text.splitlines() if line.endswith(r"\\")}
    assert [r"\textbf" in rows[name] for name in ("best", r"same\_1", "worst", "OMM")] == [True, True, False, False]
    assert r"5\% & 50\%" in text
    assert "6 runs of 40 episodes, seed 3; " in text
    differences = result.to_latex(baseline="best", label="tab:d")
    assert r"\label{tab:d}" in differences
    assert r"same\_1 & 0.0" in differences
    assert r"\textbf" not in simulate(mb.OMM()).to_latex()  # alone


def test_provenance_says_seed_start_and_versions(race):
    text = race.provenance
    assert text.startswith(
        "6 runs of 40 episodes, seed 3, every item observed once before episode 1; matroid-bandits "
    )
    assert f"NumPy {np.__version__}" in text
    assert "no item observed before episode 1" in simulate(mb.OMM(), start="explore").provenance
