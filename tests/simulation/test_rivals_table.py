"""The script that prints the table of rivals, at a small size: claims, verdicts as data, and that it can fail."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "science" / "rivals.py"), run_name="rivals")
SMALL = ["--runs", "6", "--episodes", "1000", "--workers", "1"]


@pytest.mark.compiled
def test_claims_of_the_table_at_a_small_size(tmp_path, capsys):
    names = ["OMM", "LLR", "CombUCB1", "KL-OSM", "UCB-V(1/6)", "UCB-V(1)", "FPL+GR", "HYBRID", "CTS-normal(.5)"]
    file = tmp_path / "verdicts.json"
    assert SCRIPT["main"]([*SMALL, "--only", "uniform", "two sets", "--policies", *names, "--json", str(file)]) == 0
    verdicts = json.loads(file.read_text())
    assert len(verdicts["claims"]) == 5
    assert all(claim["holds"] for claim in verdicts["claims"])
    assert all(row["holds"] is None for row in verdicts["figures"])  # of 20,000 episodes
    assert "OMM below LLR" in capsys.readouterr().out


def test_a_figure_far_from_the_expected_one_is_missed():
    mean, error = SCRIPT["MEANS"]["uniform"]["OMM"]
    rng = np.random.default_rng(0)
    near = SCRIPT["row_of"]("uniform", "OMM", rng.normal(mean, 10 * error, 100), 20_000)
    far = SCRIPT["row_of"]("uniform", "OMM", rng.normal(mean + 6 * error, 10 * error, 100), 20_000)
    assert (near.holds, far.holds) == (True, False)
    assert "MISSED" in str(far)
    flat = {("uniform", name): np.ones(4) + np.arange(4) for name in ("OMM", "LLR")}
    (claim,) = SCRIPT["claims_of"](flat, 1_000)
    assert not claim.holds
