"""The paper's experiments: on its data our figures stand beside its; without it stand-ins, marked everywhere."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

from matroid_bandits import OMM, EpsilonGreedy
from matroid_bandits.datasets import ROCKETFUEL_ASNS, printed, rocketfuel
from matroid_bandits.exceptions import DataError
from matroid_bandits.paper import EXPERIMENTS, FIT, Outcome, run
from matroid_bandits.paper._network_tables import FITTED, FITTED_SCALE, misfit, paper_regret
from matroid_bandits.reporting import Report, Table, Text
from trials import trial_with

graphic = EXPERIMENTS["graphic"]


@pytest.fixture(scope="module")
def six_networks(real_data) -> Outcome:
    """Section 5.1 at the paper's length, with fewer runs and without the extra maps."""
    alone = replace(graphic, load=lambda data: [rocketfuel(asn, data) for asn in ROCKETFUEL_ASNS], n_runs=20)
    return run(alone, real_data)


@pytest.mark.compiled
class TestGraphic:
    def test_exact_optima(self, six_networks):
        assert [trial.result.optimal_value for trial in six_networks.trials] == [305, 632, 193, 551, 307, 377]

    @pytest.mark.parametrize("place", range(6))
    def test_epsilon_greedy_is_where_the_paper_has_it(self, six_networks, place):
        trial, row = six_networks.trials[place], printed.NETWORKS[ROCKETFUEL_ASNS[place]]
        own = trial.result["ε-greedy"]
        ours, error = own.per_step_return[-1], own.per_step_return_se[-1]
        tolerance = max(3 * math.hypot(error, row.epsilon_greedy_error), 0.01 * row.epsilon_greedy)
        assert abs(ours - row.epsilon_greedy) <= tolerance

    @pytest.mark.parametrize("place", range(6))
    def test_omm_is_near_the_optimum_and_below_epsilon_greedy(self, six_networks, place):
        trial = six_networks.trials[place]
        ours, other = (trial.result[policy].per_step_return[-1] for policy in ("OMM", "ε-greedy"))
        assert ours <= 1.005 * trial.result.optimal_value
        assert ours < other

    @pytest.mark.parametrize("place", range(6))
    def test_omm_with_the_fitted_scale_has_the_regret_of_the_paper(self, six_networks, place):
        trial = six_networks.trials[place]
        regret = trial.result[FITTED].per_step_return[-1] - trial.result.optimal_value
        assert regret == pytest.approx(paper_regret(ROCKETFUEL_ASNS[place]), rel=0.25)

    def test_claims(self, six_networks):
        found = {claim.text: claim for claim in graphic.write(six_networks).claims}
        fast = found["OMM outperforms ε-greedy within 9 episodes."]
        assert fast.verdict == "holds"
        assert found["OMM with scale 6.8 outperforms ε-greedy within 9 episodes."].verdict == "does not hold"
        assert found["OMM consistently outperforms ε-greedy, often by a large margin."].verdict == "holds"

    def test_the_recorded_fit_has_its_least_misfit_at_the_scale_used(self):
        assert min(FIT, key=lambda scale: misfit(np.array(FIT[scale]))) == FITTED_SCALE
        assert max(abs(ratio - 1) for ratio in FIT[FITTED_SCALE]) < 0.15


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


def tiny(name: str):
    return EXPERIMENTS[name].resized(n_episodes=4, n_runs=2)


@pytest.mark.long
def test_standins_run_and_are_marked(no_data, tmp_path):
    report = Report(tmp_path / "report", "Title", "lead", "command <&>")
    for name in EXPERIMENTS:
        chapter = EXPERIMENTS[name].write(run(tiny(name)))
        report.add(chapter)
        for table in chapter.tables:
            assert table.is_standin == (table.name not in ("fit", "more-networks"))
        assert all(plot.is_standin for plot in chapter.plots)
        assert all(claim.is_standin for claim in chapter.claims)
        page = (tmp_path / "report/index.html").read_text()
        for table in chapter.tables:
            assert escape(table.title) in page
        for plot in chapter.plots:
            for kind in ("svg", "png", "pdf"):
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


def test_progress_covers_all_data_sets(no_data):
    seen = []
    run(tiny("linear"), progress=lambda title, done, total: seen.append((title, done, total)))
    assert seen[-1] == ("MovieLens movies", 4 * 2 * 4, 4 * 2 * 4)


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


def test_regret_rate_with_few_checkpoints():
    assert trial_with([10], {"OMM": [5.0]}).regret_rate("OMM") == 0.5
    assert trial_with([5, 10], {"OMM": [5.0, 6.0]}).regret_rate("OMM") == pytest.approx(0.2)


def write_report(folder: Path) -> Report:
    report = Report(folder, "Title", "lead", "matroid-bandits reproduce")
    for name in EXPERIMENTS:
        report.add(EXPERIMENTS[name].write(run(tiny(name))))
    return report


@pytest.mark.compiled
@pytest.mark.long
def test_results_do_not_depend_on_the_number_of_cores(no_data, tmp_path, monkeypatch):
    written = []
    for n in (1, 2):
        for module in ("_util.threads", "simulation._executors"):
            monkeypatch.setattr(f"matroid_bandits.{module}.n_threads", lambda n=n: n)
        write_report(tmp_path / str(n))
        written.append((tmp_path / str(n) / "results.json").read_bytes())
    assert written[0] == written[1]
