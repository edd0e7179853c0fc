"""Every policy on every problem: the numbers of `simulate`, families, frames, differences, plots."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import matroid_bandits as mb
from matroid_bandits.exceptions import MatroidBanditsError, PolicyError, SimulationError
from sweep_worlds import POLICIES, PROBLEMS, SIZE, play

NAMES = ["OMM, scale=0.1", "OMM, scale=0.2", "OMM, scale=0.5", "OMM, scale=1", "KLOSM", "eps"]


@pytest.fixture(scope="module")
def found():
    return play(None, 12)


def flat():
    return dict(zip(NAMES, [*POLICIES["OMM"], POLICIES["KLOSM"], POLICIES["eps"]], strict=True))


def test_a_sweep_is_what_simulate_finds_on_every_problem(found):
    assert list(found) == list(found.problems) == list(PROBLEMS)
    assert found.policies == tuple(NAMES)
    assert len(found) == 3
    assert (found.n_played, found.n_stored) == (3 * 6 * 12, 0)
    for name, problem in PROBLEMS.items():
        assert found[name] == mb.simulate(problem, flat(), n_runs=12, **SIZE)
        assert found.players[name] == flat()


def test_a_sweep_on_an_executor(found, tmp_path):
    with ThreadPoolExecutor(3) as pool:
        assert play(None, 12, executor=pool) == found
        assert play(tmp_path / "store", 12, executor=pool) == found


@pytest.mark.long
@pytest.mark.compiled
def test_a_sweep_on_processes(found, tmp_path):
    assert play(None, 12, executor=2) == found
    assert play(tmp_path / "store", 12, executor=2) == found


def test_progress_counts_every_episode(tmp_path):
    for store in (None, tmp_path / "store"):
        calls = []
        play(store, 4, progress=lambda done, total: calls.append((done, total)))  # noqa: B023 - called at once
        assert calls[-1] == (3 * 6 * 4 * 60,) * 2
        assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    calls = []
    play(store, 5, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (3 * 6 * 60,) * 2  # what was stored is not waited for
    calls = []
    play(store, 5, progress=lambda done, total: calls.append((done, total)))
    assert calls == []


def test_the_frame_is_tidy(found):
    frame = found.to_frame()
    assert list(frame.columns[:6]) == ["problem", "policy", "family", "parameter", "value", "episode"]
    assert len(frame) == 3 * 6 * 3
    end = frame[(frame.problem == "gap 0.2") & (frame.episode == 60)].set_index("policy")
    assert list(end.index) == NAMES
    assert list(end.family) == ["OMM"] * 4 + ["KLOSM", "eps"]
    assert list(end.parameter[:4]) == ["scale"] * 4
    assert list(end.value[:4]) == [0.1, 0.2, 0.5, 1.0]
    assert end.value[4:].isna().all()
    np.testing.assert_array_equal(end.regret, found["gap 0.2"].regret[:, -1])


def test_families_are_named_by_what_varies():
    def named(policies):
        sweep = mb.sweep(PROBLEMS["gap 0.2"], policies, n_episodes=1, n_runs=1, seed=0)
        return sweep.policies, sweep.families

    def normal(noise):
        return mb.ThompsonSampling("normal", noise=noise)

    names, families = named({"T": [mb.ThompsonSampling("beta"), normal(0.5), normal(1.0)]})
    assert names == ("T, prior=beta, noise=1", "T, prior=normal, noise=0.5", "T, prior=normal, noise=1")
    assert (families["T"].parameter, families["T"].values) == (None, ())
    names, families = named({"T": (normal(noise) for noise in (0.25, 1.0)), "mine": mb.OMM()})
    assert names == ("T, noise=0.25", "T, noise=1", "mine")
    assert families == {"T": mb.simulation.Family("T", names[:2], "noise", (0.25, 1.0))}
    names, families = named({"all": [mb.OMM(), mb.KLOSM()]})
    assert names == ("all, 1", "all, 2")
    assert families["all"].parameter is None
    restarting = [mb.Restarting(mb.OMM(s)) for s in (0.5, 1.0)]
    names, families = named({"R": restarting})
    assert names == ("R, base.scale=0.5", "R, base.scale=1")
    assert (families["R"].parameter, families["R"].values) == ("base.scale", (0.5, 1.0))
    names, _ = named({"R": [restarting[0], mb.Restarting(mb.OMM(1.0), mb.CUSUM(threshold=9))]})
    assert names == (
        "R, base.scale=0.5, detector.threshold=20",
        "R, base.scale=1, detector.threshold=9",
    )
    assert named({"R": [restarting[0], mb.Restarting(mb.ThompsonSampling())]})[0] == ("R, 1", "R, 2")
    rows = np.eye(12)
    names, _ = named({"C": [mb.CombLinUCB(rows), mb.CombLinUCB(2 * rows)]})
    assert names == ("C, 1", "C, 2")
    assert named({"OMM": [mb.OMM(2)]})[0] == ("OMM",)
    assert named([mb.OMM(), mb.OMM(2)])[0] == ("OMM(scale=1.0)", "OMM(scale=2.0)")
    assert named(mb.OMM()) == (("OMM",), {})


def test_generators_last_for_all_problems():
    families = mb.sweep(PROBLEMS, {"OMM": (mb.OMM(s) for s in (1, 2))}, n_episodes=1, n_runs=1, seed=0)
    assert families.policies == ("OMM, scale=1", "OMM, scale=2")
    listed = mb.sweep(PROBLEMS.values(), (p for p in (mb.OMM(), mb.KLOSM())), n_episodes=1, n_runs=1, seed=0)
    assert listed.policies == ("OMM", "KLOSM")
    assert list(listed) == ["problem 1", "problem 2", "problem 3"]


def test_policies_of_a_problem():
    def best(problem):
        return {"best": mb.FixedSet(problem.optimal_basis), "OMM": [mb.OMM(s) for s in (1, 2)]}

    sweep = mb.sweep(PROBLEMS, best, n_episodes=20, n_runs=2, seed=0)
    assert not any(result["best"].regret.any() for result in sweep.results.values())
    with pytest.raises(SimulationError, match=r"the same names for every problem, got others for 'gap 0\.2'"):
        mb.sweep(PROBLEMS, lambda p: {str(p.gaps().min()): mb.OMM()}, n_episodes=1, n_runs=1)


def test_differences_are_paired(found):
    wide = found.differences("KLOSM", level=0.99)
    assert [(each.problem, each.policy) for each in wide] == [
        (problem, policy) for problem in PROBLEMS for policy in NAMES if policy != "KLOSM"
    ]
    for each in wide:
        ours, theirs = (found[each.problem][name].final_regret for name in (each.policy, "KLOSM"))
        paired = stats.ttest_rel(ours, theirs)
        low, high = paired.confidence_interval(0.99)
        np.testing.assert_allclose((each.mean, each.low, each.high), ((ours - theirs).mean(), low, high), rtol=1e-8)
        assert each.is_clear == (paired.pvalue < 0.01)
    assert all(d.high - d.low < w.high - w.low for d, w in zip(found.differences("KLOSM"), wide, strict=True))
    alone = mb.sweep(PROBLEMS, POLICIES, n_episodes=5, n_runs=1, seed=0).differences("eps")[0]
    assert math.isnan(alone.low)
    assert not alone.is_clear


def test_the_best_of_a_family(found):
    for best in found.best("OMM"):
        result = found[best.problem]
        ends = {name: result[name].final_regret[:6].mean() for name in NAMES[:4]}  # one half chooses
        assert best.policy == min(ends, key=ends.get)
        assert best.policy == f"OMM, scale={best.value:g}"
        own = result[best.policy].final_regret[6:]  # the other half tells
        np.testing.assert_allclose((best.regret, best.regret_se), (own.mean(), stats.sem(own)))
        doubtful = {
            n for n in ends if n != best.policy and stats.ttest_rel(result[n].final_regret[6:], own).pvalue > 0.05
        }
        assert set(best.rivals) == doubtful


def test_words_and_tables(found):
    assert repr(found) == 'Sweep(3 problems × 6 policies; 12 runs of 60 episodes, seed 3, start "observe")'
    assert repr(mb.sweep(PROBLEMS["gap 0.2"], mb.OMM(), n_episodes=1, n_runs=1, seed=0)) == (
        'Sweep(1 problem × 1 policy; 1 run of 1 episode, seed 0, start "observe")'
    )
    lines = found.summary().splitlines()
    assert len({len(line) for line in lines[3:11]}) == 1
    assert lines[12:] == [*found.tail_warnings(), *found.edge_warnings()]
    assert lines[3].split("  ")[0] == "policy"
    html = found._repr_html_()
    assert html.count("<tr>") == 7
    odd = mb.sweep({"a<b": PROBLEMS["gap 0.2"]}, {"<i>": mb.OMM()}, n_episodes=1, n_runs=1, seed=0)
    assert "&lt;i&gt;" in odd._repr_html_()
    assert "a&lt;b" in odd._repr_html_()


def test_plots(found):
    figure = found.plot(bounds={"Theorem 2": mb.bounds.gap_dependent}, unit="clicks")
    assert [axes.get_title() for axes in figure.axes] == list(PROBLEMS)
    for axes, name in zip(figure.axes, PROBLEMS, strict=True):
        lines = {line.get_label(): line.get_ydata() for line in axes.lines}
        assert list(lines) == [*NAMES, "Theorem 2"]
        np.testing.assert_array_equal(lines["KLOSM"], found[name]["KLOSM"].regret)
        np.testing.assert_array_equal(lines["Theorem 2"], mb.bounds.gap_dependent(PROBLEMS[name], [10, 30, 60]))
        assert len(axes.collections) == 6  # a band for each policy
        assert axes.get_ylabel() == "cumulative regret, clicks"
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {*NAMES, "Theorem 2"}
    some = found.plot(problems=["gap 0.4"], policies=["eps", "OMM"], log_x=False)
    assert [line.get_label() for line in some.axes[0].lines] == ["eps", *NAMES[:4]]
    colors = [line.get_color() for line in some.axes[0].lines]
    assert len(set(colors)) == 5
    assert figure._repr_png_().startswith(b"\x89PNG")
    again = {line.get_label(): line for line in figure.axes[0].lines}
    for line in some.axes[0].lines:  # the same in every figure of a sweep
        assert (line.get_color(), line.get_marker()) == (
            again[line.get_label()].get_color(),
            again[line.get_label()].get_marker(),
        )


def test_plots_of_the_best_of_each_family(found):
    figure = found.plot(best=True, width="page", log_y=True)
    assert figure.get_figwidth() == 6.75
    for axes, best in zip(figure.axes, found.best("OMM"), strict=True):
        lines = {line.get_label(): line.get_ydata() for line in axes.lines}
        assert list(lines) == list(found.groups)
        np.testing.assert_array_equal(lines["OMM"], found[best.problem][best.policy].regret)
        assert axes.get_yscale() == "log"
    one = found.plot(best=True, policies=["KLOSM"], problems=["gap 0.4"])
    assert [line.get_label() for line in one.axes[0].lines] == ["KLOSM"]


def test_a_parameter_on_an_axis(found):
    axes = found.plot_parameter("OMM", problems=["gap 0.4"]).axes[0]
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_xdata(), [0.1, 0.2, 0.5, 1.0])
    np.testing.assert_array_equal(line.get_ydata(), found["gap 0.4"].regret[:4, -1])
    assert (axes.get_xscale(), axes.get_xlabel()) == ("log", "scale")
    assert axes.get_ylabel() == "regret after 60 episodes"
    assert found.plot_parameter("OMM", log_x=False).axes[0].get_xscale() == "linear"
    policies = {"eps": [mb.EpsilonGreedy(e) for e in (0.5, 0.0)]}
    sweep = mb.sweep(PROBLEMS["gap 0.2"], policies, n_episodes=5, n_runs=1, seed=0)
    axes = sweep.plot_parameter("eps").axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0.0, 0.5])  # in order
    assert axes.get_xscale() == "linear"
    assert not axes.collections  # one run has no band
    with pytest.raises(SimulationError, match="expected positive values of epsilon for a log axis, got 0"):
        sweep.plot_parameter("eps", log_x=True)


BAD = [
    ({"problems": {}}, "expected at least one problem, got none"),
    ({"problems": "ads"}, "expected problems by name in a dict, or a list of them, got 'ads'"),
    ({"problems": 3}, "expected problems by name in a dict, or a list of them, got 3"),
    ({"problems": {"a": 3}}, "expected 'a' to be a Problem, got 3"),
    ({"problems": {3: PROBLEMS["gap 0.2"]}}, "expected a problem's name to be a string, got 3"),
    ({"policies": {}}, "gap 0.1: expected at least one policy, got none"),
    ({"policies": {"OMM": []}}, "gap 0.1: expected a policy or more in the family 'OMM', got none"),
    ({"policies": {"OMM": [mb.OMM(), mb.OMM(1.0)]}}, r"differ in the family 'OMM', got OMM\(scale=1.0\) twice"),
    ({"policies": {"OMM": [mb.OMM]}}, r"policies in the family 'OMM', got .* \(the class; an instance is needed\)"),
    ({"policies": {"OMM": mb.OMM}}, r"expected 'OMM' to be a Policy, got .* \(the class; an instance is needed\)"),
    ({"policies": mb.OMM}, "expected policies by name in a dict, or a list of them, got"),
    ({"policies": {"OMM": {"a": mb.OMM()}}}, "expected 'OMM' to be a Policy, got"),
    ({"policies": {1: mb.OMM()}}, "expected a policy's name to be a string, got 1"),
    (
        {"policies": {"OMM": [mb.OMM(1), mb.OMM(2)], "OMM, scale=2": mb.OMM()}},
        "policies of different names, got 'OMM, scale=2' more than once",
    ),
    ({"n_episodes": 0}, "expected n_episodes to be an integer from 1"),
    ({"n_runs": 0}, "expected n_runs to be an integer from 1"),
    ({"n_runs": True}, "expected n_runs to be an integer from 1"),
    ({"seed": -1}, "seed"),
    ({"start": "later"}, 'expected start to be "observe" or "explore", got \'later\''),
    ({"checkpoints": [0]}, "expected checkpoints in 1..5, got 0"),
    ({"executor": "dask"}, "expected executor to be"),
    ({"store": "s", "seed": None}, "expected a seed with a store"),
    ({"store": 3}, "expected store to be a folder, got 3"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD)
def test_mistakes(wrong, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"problems": PROBLEMS, "policies": POLICIES, "n_episodes": 5, "n_runs": 2, "seed": 0} | wrong
    with pytest.raises(MatroidBanditsError, match=message):
        mb.sweep(settings.pop("problems"), settings.pop("policies"), **settings)
    assert list(tmp_path.iterdir()) == []


def test_a_policy_that_does_not_fit_is_told_with_the_problem():
    latencies = mb.Problem(mb.UniformMatroid(3, 1), mb.ExponentialEnvironment([5.0, 2.0, 3.0]), minimize=True)
    with pytest.raises(PolicyError, match=r"^network: KLOSM.* needs weights in \[0, 1\]"):
        mb.sweep({**PROBLEMS, "network": latencies}, mb.KLOSM(), n_episodes=5, n_runs=1, seed=0)


def test_an_error_in_a_run_says_where():
    class Broken(mb.Policy):
        def indices(self, state, request):
            raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea") as caught:
        mb.sweep(PROBLEMS, {"mine": Broken()}, n_episodes=5, n_runs=2, seed=0)
    where = [f"'mine on {name}', run" for name in PROBLEMS]  # whichever is played first
    assert any(words in note for note in caught.value.__notes__ for words in where)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: found["gap"], "expected a problem, one of gap 0.1, gap 0.2, gap 0.4; got 'gap'"),
        (lambda found: found["gap 0.3"], r"got 'gap 0.3'; did you mean 'gap 0..'\?$"),
        (lambda found: found.differences("epss"), r"got 'epss'; did you mean 'eps'\?$"),
        (lambda found: found.plot(policies="eps"), "expected policies to be a list of names, got 'eps' alone"),
        (lambda found: found[0], "expected a problem, one of gap 0.1, gap 0.2, gap 0.4; got 0"),
        (
            lambda found: found.differences("OMM"),
            "expected a policy, got 'OMM', which is the family of 'OMM, scale=0.1', ",
        ),
        (lambda found: found.differences("eps", level=1.0), "expected level to be a number in"),
        (lambda found: found.best("KLOSM"), "expected a family, one of OMM; got 'KLOSM'"),
        (lambda found: found.best(3), "expected a family, one of OMM; got 3"),
        (lambda found: found.plot(problems=["x"]), "expected a problem, one of gap 0.1"),
        (lambda found: found.plot(problems=[]), "expected a problem or more to draw, got none"),
        (lambda found: found.plot(policies=["x"]), "expected a policy, one of 'OMM, scale=0.1', .* got 'x'"),
        (lambda found: found.plot(bounds={"b": [1.0]}), r"bound 'b' to be a function of \(problem, episodes\)"),
        (lambda found: found.plot(bounds={"b": lambda p, n: [1.0]}), "expected bound 'b' at the 3 checkpoints"),
        (lambda found: found.plot_parameter("eps"), "expected a family, one of OMM; got 'eps'"),
    ],
)
def test_questions_that_have_no_answer(found, call, message):
    with pytest.raises(SimulationError, match=message):
        call(found)


@pytest.mark.parametrize("is_stored", [False, True], ids=["played", "stored"])
def test_differences_at_checkpoints(tmp_path, is_stored):
    law = mb.Worlds(lambda rng: mb.lower_bound_problem(6, 2, rng.uniform(0.1, 0.3)), 3)
    problems, policies = {"gap": PROBLEMS["gap 0.2"], "law": law}, [mb.OMM(), mb.KLOSM()]
    settings = {"n_runs": 4, "seed": 1, "store": tmp_path if is_stored else None}
    kept = mb.sweep(problems, policies, n_episodes=30, checkpoints=[10], keep_runs=True, **settings)
    if is_stored:
        settings["store"] = tmp_path / "other"
    short = mb.sweep(problems, policies, n_episodes=10, **settings)
    for at_ten, ended in zip(kept.differences("OMM", episode=10), short.differences("OMM"), strict=True):
        assert np.allclose(at_ten[3:], ended[3:], rtol=1e-9)
    kept["law"].save(tmp_path / "law.npz")
    assert mb.SimulationResult.load(tmp_path / "law.npz") == kept["law"]
    with pytest.raises(SimulationError, match=r"they were not kept: play with keep_runs=True"):
        short.differences("OMM", episode=1)


def test_families_without_numbers_have_no_axis():
    policies = {"T": [mb.ThompsonSampling("beta"), mb.ThompsonSampling("normal")]}
    sweep = mb.sweep(PROBLEMS["gap 0.2"], policies, n_episodes=5, n_runs=2, seed=0)
    assert [best.value in ("beta", "normal") for best in sweep.best("T")] == [True]
    with pytest.raises(SimulationError, match="a family with one parameter that is a number; got prior of"):
        sweep.plot_parameter("T")
    alone = mb.sweep(PROBLEMS["gap 0.2"], mb.OMM(), n_episodes=5, n_runs=2, seed=0)
    with pytest.raises(SimulationError, match="expected none, since there are no families; got 'OMM'"):
        alone.best("OMM")


def test_equality():
    def two(problems, n_runs=2):
        return mb.sweep({name: PROBLEMS[name] for name in problems}, mb.OMM(), n_episodes=5, n_runs=n_runs, seed=0)

    found = two(["gap 0.1", "gap 0.2"])
    assert found == two(["gap 0.1", "gap 0.2"])
    assert found != two(["gap 0.1", "gap 0.2"], 3)
    assert found != 3
    backwards = two(["gap 0.2", "gap 0.1"])
    assert backwards != found
    assert all(backwards[name] == found[name] for name in found)


def test_the_edge_of_a_grid_is_said():
    problems = {f"gap {gap}": mb.lower_bound_problem(6, 2, gap) for gap in (0.1, 0.2, 0.3, 0.4)}
    settings = {"n_episodes": 200, "n_runs": 6, "seed": 0}
    sweep = mb.sweep(problems, {"OMM": [mb.OMM(s) for s in (8.0, 0.5, 2.0)], "KLOSM": mb.KLOSM()}, **settings)
    assert [best.edge for best in sweep.best("OMM")] == ["least"] * 4
    warning = (
        "OMM: the best scale is the least that was tried, 0.5, on gap 0.1, gap 0.2, gap 0.3 and 1 more; smaller"
        " values may be better."
    )
    assert sweep.edge_warnings() == [warning]
    assert warning in sweep.summary().splitlines()
    for policies in (
        {"OMM": [mb.OMM(s) for s in (0.5, 8.0)]},  # no grid
        {"OMM": [mb.OMM(s) for s in (0.0, 4.0, 8.0)]},  # nothing is below 0
        {"T": [mb.ThompsonSampling(prior) for prior in ("beta", "normal")]},
    ):
        assert mb.sweep({"x": problems["gap 0.4"]}, policies, **settings).edge_warnings() == []
    high = mb.sweep({"x": problems["gap 0.1"]}, {"OMM": [mb.OMM(s) for s in (0.0, 0.001, 0.002)]}, **settings)
    assert {best.edge for best in high.best("OMM")} <= {"", "largest"}


def test_latex_tables(found):
    regret = found.to_latex()
    assert regret.count(r"\\") == 7
    assert r"OMM, scale=0.1 &" in regret
    for place, result in enumerate(found.results.values(), 1):
        best = found.policies[result.regret[:, -1].argmin()]
        row = next(line for line in regret.splitlines() if line.startswith(f"{best} &"))
        assert row.split("&")[place].strip().startswith(r"\textbf{")
    assert "the least tried" in found.to_latex(best=True)
    differences = found.to_latex(baseline="KLOSM", caption="Mine", label="tab:mine")
    assert r"\multicolumn{2}{c}{gap 0.1}" in differences
    assert r"\caption{Mine}" in differences
    assert found.provenance == found["gap 0.1"].provenance
    with pytest.raises(SimulationError, match="expected best or a baseline"):
        found.to_latex(best=True, baseline="KLOSM")
    with pytest.raises(SimulationError, match="this sweep has none"):
        mb.sweep(PROBLEMS["gap 0.2"], mb.OMM(), n_episodes=1, n_runs=1, seed=0).to_latex(best=True)
