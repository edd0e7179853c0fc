"""Files, logs and databases of earlier versions load, and go on as the version that wrote them would have."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from service_kit import serving
from write_samples import POLICIES, ahead

FOLDER = Path(__file__).parent / "45f5556"

#: Their covariances are factorised in another way since, so the last digits of the indices are others.
REFACTORED = "comb-lin"


def check_same(found, expected, tolerance):
    assert found["waiting"] == expected["waiting"]
    assert found["next"] == expected["next"]
    for key, values in expected["estimates"].items():
        np.testing.assert_allclose(found["estimates"][key], values, rtol=tolerance, err_msg=key)


@pytest.mark.parametrize("name", POLICIES)
def test_learners_and_logs_go_on(name):
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    tolerance = (
        1e-9 if name.startswith(REFACTORED) else 1e-15
    )  # interpreted, the logarithm may differ in the last bit
    loaded = mb.Learner.load(FOLDER / f"{name}.learner")
    assert loaded.policy == POLICIES[name]() or name.startswith(REFACTORED)  # whose features went with the items
    check_same(ahead(loaded), expected, tolerance)
    log = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]
    check_same(ahead(mb.Learner.replay(log)), expected, tolerance)


def test_results_and_stores_of_sweeps_are_found(tmp_path):
    expected = json.loads((FOLDER / "simulations.json").read_text())
    result = mb.SimulationResult.load(FOLDER / "simulation.npz")
    assert {name: result[name].regret.tolist() for name in expected["regret"]} == expected["regret"]
    store = shutil.copytree(FOLDER / "sweep", tmp_path / "sweep")
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*.npz")}
    assert before
    problem = mb.Problem(mb.UniformMatroid(5, 2), mb.BernoulliEnvironment([0.1, 0.3, 0.5, 0.7, 0.9]))
    policies = {"OMM": mb.OMM(), "Thompson": mb.ThompsonSampling(), "restarting": mb.Restarting(mb.OMM(1.0))}
    sweep = mb.sweep({"small": problem}, policies, n_episodes=40, n_runs=3, seed=5, store=store, progress=False)
    frame = json.loads(sweep.to_frame().to_json(orient="split", double_precision=15))
    assert frame["columns"] == expected["sweep"]["columns"]
    assert frame["data"] == expected["sweep"]["data"]
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*.npz")} == before  # nothing was played again


def test_databases_are_upgraded(tmp_path):
    database = shutil.copy(FOLDER / "campaigns.db", tmp_path / "campaigns.db")
    check_campaigns(f"sqlite:///{database}")


def test_backups_are_restored(tmp_path):
    database = tmp_path / "restored.db"
    command = [sys.executable, "-c", "from matroid_bandits.cli import main; main()", "campaign", "restore"]
    subprocess.run([*command, FOLDER / "campaigns.jsonl", "--db", database, "--new"], check=True)
    check_campaigns(f"sqlite:///{database}")


def check_campaigns(url):
    expected = json.loads((FOLDER / "campaigns.json").read_text())
    with serving(url) as client:
        for base, known in expected.items():
            assert client.get(base).json()["decisions"] == known["decisions"]
            assert client.post(f"{base}/preview", json={}).json()["items"] == known["preview"]
            decision = client.post(f"{base}/ask", json={}).json()
            weights = dict.fromkeys(decision["items"], 1.0)
            told = client.post(f"{base}/tell", json={"decision": decision["decision"], "weights": weights})
            assert told.status_code == 200, told.text
