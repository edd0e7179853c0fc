"""The paper's experiments: on its data our figures stand beside its; without it stand-ins, marked everywhere."""

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from matroid_bandits import OMM, BernoulliEnvironment, EpsilonGreedy, Problem, UniformMatroid, simulate
from matroid_bandits.exceptions import DataError
from matroid_bandits.experiments import EXPERIMENTS, ROCKETFUEL_ASNS, Outcome, Report, Trial, graphic, rocketfuel, run
from matroid_bandits.experiments import _figures as figures
from matroid_bandits.experiments import _paper as paper
from matroid_bandits.experiments import _routing as routing
from matroid_bandits.experiments._blocks import Claim, Column, Curve, Estimate, Panel, Plot, Table, Text
from matroid_bandits.experiments._claims import approaches, consistently_outperforms, outperforms
from matroid_bandits.experiments._spec import checkpoints, plain
from matroid_bandits.experiments.datasets import Dataset

# ---------------------------------------------------------------------------------------------------------
# On the paper's data


@pytest.fixture(scope="module")
def real_data() -> Path:
    folder = os.environ.get("MATROID_BANDITS_DATA")
    if not folder or not all((Path(folder) / name).is_dir() for name in ("rocketfuel", "movielens-1m", "kiva")):
        pytest.skip("the paper's data is not here")
    return Path(folder)


@pytest.fixture(scope="module")
def six_networks(real_data) -> Outcome:
    """Section 5.1 at the paper's length, with fewer runs and without the extra maps."""
    alone = replace(
        graphic.EXPERIMENT, load=lambda data: [rocketfuel(asn, data) for asn in ROCKETFUEL_ASNS], n_runs=20
    )
    return run(alone, real_data)


@pytest.mark.compiled
class TestGraphic:
    def test_exact_optima(self, six_networks):
        assert [trial.result.optimal_value for trial in six_networks.trials] == [305, 632, 193, 551, 307, 377]

    @pytest.mark.parametrize("place", range(6))
    def test_epsilon_greedy_is_where_the_paper_has_it(self, six_networks, place):
        trial, printed = six_networks.trials[place], paper.NETWORKS[ROCKETFUEL_ASNS[place]]
        ours, error = trial.per_step("ε-greedy")[-1], trial.per_step_error("ε-greedy")[-1]
        tolerance = max(3 * math.hypot(error, printed.epsilon_greedy_error), 0.01 * printed.epsilon_greedy)
        assert abs(ours - printed.epsilon_greedy) <= tolerance

    @pytest.mark.parametrize("place", range(6))
    def test_omm_is_near_the_optimum_and_below_epsilon_greedy(self, six_networks, place):
        trial = six_networks.trials[place]
        assert trial.per_step("OMM")[-1] <= 1.005 * trial.result.optimal_value
        assert trial.per_step("OMM")[-1] < trial.per_step("ε-greedy")[-1]

    @pytest.mark.parametrize("place", range(6))
    def test_omm_with_the_fitted_scale_has_the_regret_of_the_paper(self, six_networks, place):
        trial = six_networks.trials[place]
        regret = trial.per_step(routing.FITTED)[-1] - trial.result.optimal_value
        assert regret == pytest.approx(routing.paper_regret(ROCKETFUEL_ASNS[place]), rel=0.25)

    def test_claims(self, six_networks):
        found = {claim.text: claim for claim in graphic.write(six_networks).claims}
        fast = found["OMM outperforms ε-greedy within 9 episodes."]
        assert fast.verdict == "holds"
        assert found["OMM with scale 6.8 outperforms ε-greedy within 9 episodes."].verdict == "does not hold"
        assert found["OMM consistently outperforms ε-greedy, often by a large margin."].verdict == "holds"

    def test_the_fit_can_be_made_again(self, real_data):
        fit = routing.fit_scale(real_data, scales=(6.0, 6.8, 7.5), n_runs=5)
        assert fit.best == pytest.approx(routing.FITTED_SCALE, abs=0.15)
        recorded = [routing.FIT[scale] for scale in fit.scales]
        np.testing.assert_allclose(fit.ratios, recorded, rtol=0.06)

    def test_the_recorded_fit_has_its_least_misfit_at_the_scale_used(self):
        assert (
            min(routing.FIT, key=lambda scale: routing.misfit(np.array(routing.FIT[scale]))) == routing.FITTED_SCALE
        )
        assert max(abs(ratio - 1) for ratio in routing.FIT[routing.FITTED_SCALE]) < 0.15


def tables_of(name: str, data: Path | None) -> dict[str, Table]:
    experiment = EXPERIMENTS[name].resized(n_episodes=20, n_runs=2)
    return {table.name: table for table in experiment.write(run(experiment, data)).tables}


@pytest.mark.compiled
def test_movies(real_data):
    table = tables_of("linear", real_data)["movies"]
    assert len(table.rows) == 12
    for ours in table.texts():
        assert ours[:2] == ours[2:4]  # titles and weights as printed
    assert "basis has 17 movies" in table.note
    assert "Toy Story" in table.note


@pytest.mark.compiled
def test_kiva(real_data):
    tables = tables_of("transversal", real_data)
    sizes = {row[0]: row[1:] for row in tables["transversal-sizes"].rows}
    assert sizes["partners"] == (233, 232)
    assert sizes["loans"] == (194_876, 194_876)
    assert sizes["edges"][0] == 5_237
    assert sizes["partners in the best transversal"] == (45, 46)
    assert tables["transversal-policies"].texts()[0][1] == "39.920"
    assert [row[1] for row in tables["partners"].rows][:5] == ["46", "70", "72", "88", "261"]
    theirs = {row[0]: row for row in tables["paper-partners"].texts()}
    assert theirs["46"][1:] == ["1.000", "1.000", "yes", "31 NJ", "199", "200", "0.736", "0.728"]
    assert theirs["231"][1:3] == ["0.850", "0.981"]
    assert theirs["232"][1:4] == ["–", "0.940", "absent"]


# ---------------------------------------------------------------------------------------------------------
# On stand-ins


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    monkeypatch.delenv("MATROID_BANDITS_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")


def tiny(name: str):
    return EXPERIMENTS[name].resized(n_episodes=4, n_runs=2)


def write_report(folder: Path) -> Report:
    report = Report(folder, "Title", "lead", "matroid-bandits reproduce")
    for name in EXPERIMENTS:
        report.add(run(tiny(name)))
    return report


def test_standins_run_and_are_marked(no_data, tmp_path):
    report = Report(tmp_path / "report", "Title", "lead", "command <&>")
    for name in EXPERIMENTS:
        chapter = report.add(run(tiny(name)))
        for table in chapter.tables:
            assert table.is_standin == (table.name not in ("fit", "more-networks"))
        assert all(plot.is_standin for plot in chapter.plots)
        assert all(claim.is_standin for claim in chapter.claims)
        page = (tmp_path / "report/index.html").read_text()
        for table in chapter.tables:
            assert table.title.replace("'", "&#x27;") in page
        for plot in chapter.plots:
            for kind in ("svg", "png"):
                assert (tmp_path / f"report/figures/{plot.name}.{kind}").stat().st_size > 5_000
            assert "(stand-in data)" in (tmp_path / f"report/figures/{plot.name}.svg").read_text()
    assert "command &lt;&amp;&gt;" in page
    assert "1221†" in page
    assert page.count("stand-in data") > 30
    assert not re.search(r"(src|href)=\"(?!#|https://arxiv|figures/|results\.json)", page.replace("xlink:", ""))
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    results = json.loads((tmp_path / "report/results.json").read_text())
    assert list(results["experiments"]) == ["graphic", "transversal", "linear"]
    trial = results["experiments"]["linear"]["trials"][0]
    assert trial["source"] == "stand-in"
    assert trial["episodes"] == [1, 2, 3, 4]
    assert len(trial["policies"]["OMM"]["per_step"]) == 4
    assert not list(tmp_path.rglob(".*"))


def test_real_maps_need_no_data(no_data):
    table = {table.name: table for table in graphic.write(run(tiny("graphic"))).tables}["more-networks"]
    assert table.rows[0][:3] == ("Abilene", 11, 14)
    assert not table.is_standin


@pytest.mark.compiled
def test_results_do_not_depend_on_the_number_of_cores(no_data, tmp_path, monkeypatch):
    written = []
    for n in (1, 2):
        for module in ("_util.threads", "simulation"):
            monkeypatch.setattr(f"matroid_bandits.{module}.n_threads", lambda n=n: n)
        write_report(tmp_path / str(n))
        written.append((tmp_path / str(n) / "results.json").read_bytes())
    assert written[0] == written[1]


def test_report_that_cannot_be_written(tmp_path, no_data, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write a report to"):
        Report(tmp_path / "file", "", "", "")
    with pytest.raises(DataError, match="file is not a folder"):
        Report(tmp_path / "file/below", "", "", "")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        with pytest.raises(DataError, match="no permission"):
            Report(tmp_path / "report", "", "", "")
    report = Report(tmp_path / "report", "", "", "")
    assert not (tmp_path / "report").exists()
    (tmp_path / "report/results.json").mkdir(parents=True)
    with pytest.raises(DataError, match="cannot write the report to"):
        report.add(run(tiny("linear")))
    assert not list(tmp_path.rglob(".results*"))


def test_figures_of_the_report_before_are_removed_and_nothing_else(tmp_path, no_data):
    Report(tmp_path, "", "", "").add(run(tiny("transversal")))
    (tmp_path / "figures/mine.svg").write_text("mine")
    Report(tmp_path, "", "", "").add(run(tiny("linear")))
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"linear.svg", "linear.png", "mine.svg"}


def test_results_are_written_before_the_figures(tmp_path, no_data, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(figures, "to_png", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Report(tmp_path, "", "", "").add(run(tiny("linear")))
    assert list(json.loads((tmp_path / "results.json").read_text())["experiments"]) == ["linear"]
    assert "Diverse movies" in (tmp_path / "index.html").read_text()


def test_the_fit_is_said_to_land_where_it_lands(no_data):
    outcome = run(tiny("graphic"))
    words = " ".join(block.text for block in graphic.write(outcome).blocks if isinstance(block, Text))
    assert "stand-ins, and the fit does not carry over" in words
    real = [replace(trial, dataset=replace(trial.dataset, source="real")) for trial in outcome.trials]
    words = " ".join(
        block.text for block in graphic.write(replace(outcome, trials=tuple(real))).blocks if isinstance(block, Text)
    )
    assert "With 6.8 times that radius it lands on the paper's column" in words
    assert "stand-in" not in words


def test_a_named_folder_must_hold_the_data(tmp_path):
    with pytest.raises(DataError, match=r"expected the file .*loans\.csv\.gz"):
        run(tiny("transversal"), tmp_path)


# ---------------------------------------------------------------------------------------------------------
# Pieces


def test_specs_are_the_paper_s():
    assert {name: (e.section, e.n_episodes) for name, e in EXPERIMENTS.items()} == {
        "graphic": ("5.1", 1_000),
        "transversal": ("5.2", 15_000),
        "linear": ("5.3", 50_000),
    }
    assert all(e.policies["ε-greedy"] == EpsilonGreedy(0.1) for e in EXPERIMENTS.values())
    assert all(e.policies["OMM"] == OMM() for e in EXPERIMENTS.values())


def test_resized():
    experiment = EXPERIMENTS["linear"]
    assert experiment.resized() == experiment
    quick = experiment.resized(quick=True, n_runs=3, seed=7)
    assert (quick.n_episodes, quick.n_runs, quick.seed) == (experiment.quick[0], 3, 7)


@pytest.mark.parametrize("n", [1, 2, 50, 51, 1_000, 50_000])
def test_checkpoints(n):
    points = checkpoints(n)
    assert points[0] == 1
    assert points[-1] == n
    assert (np.diff(points) > 0).all()
    assert set(range(1, min(n, 50) + 1)) <= set(points.tolist())


def test_progress_covers_all_data_sets(no_data):
    seen = []
    run(tiny("linear"), progress=lambda title, done, total: seen.append((title, done, total)))
    assert seen[-1] == ("MovieLens movies", 4 * 2 * 4, 4 * 2 * 4)


def trial_with(points, regret: dict[str, list[float]], source="real") -> Trial:
    """A trial whose curves are given."""
    problem = Problem(UniformMatroid(2, 1), BernoulliEnvironment([1.0, 0.0]))
    result = simulate(
        problem,
        {name: OMM() for name in regret},
        n_episodes=points[-1],
        n_runs=2,
        seed=0,
        checkpoints=points,
    )
    dataset = Dataset("data", "Data", problem, "", source, None, {})
    return Trial(dataset, replace(result, regret=np.array(list(regret.values()), float)))


@pytest.mark.parametrize(
    ("ours", "theirs", "when"),
    [
        ([1, 1, 1], [2, 3, 4], 1),
        ([3, 3, 3], [2, 3, 4], 20),
        ([1, 4, 3], [2, 3, 4], 20),
        ([1, 1, 5], [2, 3, 4], None),
        ([1, 1, 4], [2, 3, 4], None),
    ],
)
def test_overtakes(ours, theirs, when):
    trial = trial_with([1, 10, 20], {"OMM": ours, "other": theirs})
    assert trial.overtakes("OMM", "other") == when


def outperforms_claim(ours, theirs, **options) -> Claim:
    trial = trial_with([1, 1000, 2000, 3000], {"OMM": ours, "ε-greedy": theirs})
    return outperforms([trial], "OMM", "ε-greedy", **{"needs": 3000, **options})


def test_outperforms():
    claim = outperforms_claim([0, 5, 6, 7], [0, 4, 8, 12])
    assert claim == Claim("OMM outperforms ε-greedy.", "holds", claim.evidence)
    assert claim.evidence.startswith("Ahead for good from episode 2,000 on, of 3,000 (within two standard errors: ")
    assert outperforms_claim([0, 5, 6, 7], [0, 4, 8, 12], within=1000).verdict == "does not hold"
    assert outperforms_claim([0, 5, 6, 7], [0, 4, 8, 12], within=1000, needs=9999).verdict == "undecided"
    behind = outperforms_claim([0, 600, 700, 800], [0, 100, 400, 700])
    assert behind.verdict == "does not hold"
    assert "regret 0.267 per step against 0.233. But by now it is the better" in behind.evidence
    assert "0.1 against 0.3 per step in the last third; at that pace" in behind.evidence
    assert behind.evidence.endswith("after some 500 episodes more.")
    assert outperforms_claim([0, 600, 700, 800], [0, 1, 2, 3]).evidence.endswith("against 0.001.")


def test_several_trials_are_listed():
    first = trial_with([1, 10], {"OMM": [1, 1], "ε-greedy": [2, 2]})
    second = trial_with([1, 10], {"OMM": [1, 3], "ε-greedy": [2, 2]}, source="stand-in")
    claim = outperforms([first, second], "OMM", "ε-greedy", within=9, needs=10)
    assert claim.verdict == "does not hold"
    assert claim.is_standin
    assert claim.evidence == "Ahead for good from episode 1 (data); still behind at the end: data; of 10 episodes."
    assert outperforms([second, second], "OMM", "ε-greedy", needs=10).evidence.startswith("Still behind at the end: ")


@pytest.mark.parametrize(
    ("ours", "needs", "verdict"),
    [
        ([1, 5], 10, "holds"),  # half of them by twice
        ([1, 5], 11, "undecided"),
        ([6, 7], 10, "does not hold"),  # better, but by no large margin
        ([1, 11], 10, "does not hold"),
        ([0, 0], 10, "holds"),
    ],
)
def test_consistently_outperforms(ours, needs, verdict):
    trials = [trial_with([1, 10], {"OMM": [1, regret], "ε-greedy": [2, 10]}) for regret in ours]
    claim = consistently_outperforms(trials, "OMM", "ε-greedy", needs=needs)
    assert claim.verdict == verdict
    if ours == [1, 5]:
        assert claim.evidence == (
            "ε-greedy's regret is larger on 2 of 2, and at least 2 times as large on 2 (half of them would do):"
            " 2.0 to 10 times."
        )


def test_approaches():
    points = [1, 10, 100, 1000]
    near = trial_with(points, {"OMM": [0, 5, 20, 40]})
    claim = approaches([near], "OMM", needs=1000)
    assert claim.verdict == "holds"
    assert (
        claim.evidence == "Distance from the optimum: 50.0% after 10, 20.0% after 100 and 4.0% after 1,000 episodes."
    )
    far = trial_with(points, {"OMM": [0, 5, 20, 90]})
    assert approaches([far], "OMM", needs=1000).verdict == "does not hold"
    assert approaches([far], "OMM", needs=1001).verdict == "undecided"
    assert approaches([near], "OMM", needs=1001).verdict == "undecided"
    short = approaches([trial_with([1, 2, 3], {"OMM": [0.2, 0.2, 0.3]})], "OMM", needs=9)
    assert short.evidence == "Distance from the optimum: 20.0% after 1 and 10.0% after 3 episodes."
    once = approaches([trial_with([1], {"OMM": [0.2]})], "OMM", needs=9)
    assert once.evidence == "Distance from the optimum: 20.0% after 1 episode."


def test_regret_rate_with_few_checkpoints():
    assert trial_with([10], {"OMM": [5.0]}).regret_rate("OMM") == 0.5
    assert trial_with([5, 10], {"OMM": [5.0, 6.0]}).regret_rate("OMM") == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("cell", "spec", "text"),
    [
        (None, ".2f", "–"),
        (math.nan, ".2f", "–"),
        ("x", ".2f", "x"),
        (1234, ",", "1,234"),
        (0.125, ".1%", "12.5%"),
        (Estimate(1.0, 0.25), ".2f", "1.00 ±\u00a00.25"),
        (Estimate(1.0, math.nan), ".2f", "1.00"),
        (Estimate(1.0, 0.00123), ".2f", "1.00 ±\u00a00.0012"),
        (Estimate(1.0, 0.0), ".2f", "1.00 ±\u00a00.00"),
    ],
)
def test_cells(cell, spec, text):
    assert Column("c", spec).show(cell) == text


def test_records():
    table = Table("t", "T", (Column("ours", group="cost"), Column("name")), ((Estimate(1.0, 0.5), "a"),))
    assert table.records() == [{"cost ours": [1.0, 0.5], "name": "a"}]


def test_plain():
    assert plain({1: (np.float64(1 / 3), math.nan, None, True), "a": np.arange(2), "p": Path("x")}) == {
        "1": [0.3333333333, None, None, True],
        "a": [0, 1],
        "p": "x",
    }


def test_figures_are_repeatable_and_their_styles_differ():
    labels = ["ε-greedy", "OMM", "OMM, scale 2", r"OMM $\frac$", *"bcdefgh"]
    x = np.array([1, 2])
    panel = Panel("P", x, tuple(Curve(label, x * 1.0, x * 0.1) for label in labels), "y", optimum=2.0)
    plot = Plot("p", "P", (panel, replace(panel, is_log=False, is_standin=True)))
    styles = figures.styles(plot)
    assert list(styles) == ["optimal", *labels]
    assert len(set(list(styles.values())[:7])) == 7
    svgs = {figures.to_svg(figures.draw(plot), "p") for _ in range(2)}
    assert len(svgs) == 1
    assert "(stand-in data)" in svgs.pop()
