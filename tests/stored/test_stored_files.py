"""Files, logs and databases of earlier versions load, and go on as the version that wrote them would have."""

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.service import Archive, Database, restore, verify_campaign
from matroid_bandits.specs import read_simulation
from service_kit import serving
from write_samples import CONSTRAINTS, POLICIES, ahead, endings, evaluated

HERE = Path(__file__).parent
VERSIONS = sorted(folder.name for folder in HERE.glob("*.*.*/"))

#: Their covariances are factorised in another way since 0.2.0, so the last digits of the indices are others.
REFACTORED = "comb-lin"


def test_every_release_has_its_samples():
    assert ".dev" in mb.__version__ or mb.__version__ in VERSIONS


@pytest.fixture(params=VERSIONS)
def folder(request):
    """The samples of a version."""
    return HERE / request.param


def since(version, folder):
    """Skip the samples of versions that had no such form."""
    if folder.name < version:
        pytest.skip(f"since {version}")


def check_same(found, expected, tolerance):
    assert found["waiting"] == expected["waiting"]
    assert found["next"] == expected["next"]
    for key, values in expected["estimates"].items():
        np.testing.assert_allclose(found["estimates"][key], values, rtol=tolerance, err_msg=key)


LEARNERS = [(path.parent.name, path.stem) for path in sorted(HERE.glob("*.*.*/*.learner"))]


def test_there_is_a_learner_for_every_policy():
    assert {name for version, name in LEARNERS if version == VERSIONS[-1]} == set(POLICIES)


@pytest.mark.parametrize(("version", "name"), LEARNERS)
def test_learners_and_logs_go_on(version, name):
    folder = HERE / version
    expected = json.loads((folder / f"{name}.json").read_text())
    # interpreted, the logarithm may differ in the last bit
    tolerance = 1e-9 if name.startswith(REFACTORED) and version == "0.1.0" else 1e-14
    loaded = mb.Learner.load(folder / f"{name}.learner")
    assert loaded.policy == POLICIES[name]() or name.startswith(REFACTORED)  # whose features went with the items
    check_same(ahead(loaded), expected, tolerance)
    log = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    check_same(ahead(mb.Learner.replay(log)), expected, tolerance)


def test_results_and_stores_of_sweeps_are_found(folder, tmp_path):
    expected = json.loads((folder / "simulations.json").read_text())
    result = mb.SimulationResult.load(folder / "simulation.npz")
    assert {name: result[name].regret.tolist() for name in expected["regret"]} == expected["regret"]
    store = shutil.copytree(folder / "sweep", tmp_path / "sweep")
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*.npz")}
    assert before
    problem = mb.Problem(mb.UniformMatroid(5, 2), mb.BernoulliEnvironment([0.1, 0.3, 0.5, 0.7, 0.9]))
    policies = {"OMM": mb.OMM(), "Thompson": mb.ThompsonSampling(), "restarting": mb.Restarting(mb.OMM(1.0))}
    sweep = mb.sweep({"small": problem}, policies, n_episodes=40, n_runs=3, seed=5, store=store, progress=False)
    frame = json.loads(sweep.to_frame().to_json(orient="split", double_precision=15))
    assert frame["columns"] == expected["sweep"]["columns"]
    assert frame["data"] == expected["sweep"]["data"]
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*.npz")} == before  # nothing was played again
    again = mb.sweep({"small": problem}, policies, n_episodes=40, n_runs=3, seed=5, progress=False)
    assert again == sweep  # or the version must say that its numbers are others: _SAME_NUMBERS_SINCE


def test_databases_are_upgraded(folder, tmp_path):
    database = shutil.copy(folder / "campaigns.db", tmp_path / "campaigns.db")
    check_campaigns(folder, f"sqlite:///{database}")


def test_backups_are_restored(folder, tmp_path):
    path = tmp_path / "restored.db"
    with contextlib.closing(Database(str(path))) as database:
        database.open()
        assert restore(database, (folder / "campaigns.jsonl").read_text().splitlines()) == ["ads", "window"]
    check_campaigns(folder, f"sqlite:///{path}")


def check_campaigns(folder, url):
    expected = json.loads((folder / "campaigns.json").read_text())
    with serving(url) as client:
        for base, known in expected.items():
            assert client.get(base).json()["decisions"] == known["decisions"]
            assert client.post(f"{base}/preview", json={}).json()["items"] == known["preview"]
            decision = client.post(f"{base}/ask", json={}).json()
            weights = dict.fromkeys(decision["items"], 1.0)
            told = client.post(f"{base}/tell", json={"decision": decision["decision"], "weights": weights})
            assert told.status_code == 200, told.text


def test_archives_are_verified(folder, tmp_path):
    since("0.2.0", folder)
    expected = json.loads((folder / "archive.json").read_text())
    database = shutil.copy(folder / "archived.db", tmp_path / "archived.db")
    with contextlib.closing(Database(str(database))) as opened:
        opened.open()
        found = verify_campaign(opened, expected["name"], Archive(folder / "archive"))
        assert found.n_decisions == expected["decisions"]
    with serving(f"sqlite:///{database}") as client:
        at = f"/v1/campaigns/{expected['name']}"
        assert client.get(at).json()["decisions"] == expected["decisions"]
        assert client.post(f"{at}/preview", json={}).json()["items"] == expected["preview"]


def test_forms_are_read(folder):
    forms = json.loads((folder / "forms.json").read_text())
    for name, form in forms["constraints"].items():
        assert mb.constraint_from_dict(form) == CONSTRAINTS[name](), name
    for name, form in forms.get("policies", {}).items():
        assert mb.policy_from_dict(form) == POLICIES[name](), name
    for name, form in forms.get("said", {}).items():
        kind = getattr(mb, name)
        again = kind.from_dict(form)
        assert form.items() <= again.to_dict().items(), name


def test_problem_files_are_read(folder):
    plan = read_simulation(folder / "problem.toml")
    assert plan.problem.optimal_value == json.loads((folder / "problem.json").read_text())["optimum"]


def test_logs_are_evaluated(folder):
    since("0.2.0", folder)
    expected, found = json.loads((folder / "evaluation.json").read_text()), evaluated(folder)
    assert found["table"] == expected["table"]
    assert (found["played"], found["fixed"]) == pytest.approx((expected["played"], expected["fixed"]), rel=1e-9)


def test_identifications_are_read(folder):
    since("0.2.0", folder)
    result = mb.SimulationResult.load(folder / "identification.npz")
    assert endings(result) == json.loads((folder / "identification.json").read_text())
