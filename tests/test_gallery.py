"""Each script of the gallery runs, finds what its text says, and draws one figure; three are notebooks, too."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
NOTEBOOKS = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))


def regret(names, policy, start=0, end=None):
    """The regret of a policy of a script between two episodes, `end` the last by default."""
    result = names["result"]
    at = [start, result.checkpoints[-1] if end is None else end]
    before, after = np.interp(at, [0, *result.checkpoints], [0.0, *result[policy].regret])
    return after - before


def lost_late(names, policy, half):
    """The regret of a policy in a half of the run, by problem, of the script on delays."""
    found = [names["sweep"][name] for name in names["problems"]]
    values = np.array([np.interp([600, 1_200], it.checkpoints, it[policy].regret) for it in found])
    return values[:, 0] if half == 1 else values[:, 1] - values[:, 0]


#: What the text of a script says of its numbers.
CLAIMS = {
    "ads_in_slots": lambda x: (
        regret(x, "KLOSM") < regret(x, "OMM") / 2 and regret(x, "Thompson") < regret(x, "OMM") / 2 < 400
    ),
    "provider_network": lambda x: (
        x["last"] < 0.01 < x["first"]
        and len(x["shared"]) >= 34
        and max(regret(x, "OMM"), regret(x, "Thompson")) < regret(x, "ε-greedy") / 2
    ),
    "diverse_movies": lambda x: (
        len(x["covered"]) == 18
        and all(regret(x, name, 500) / 500 < 0.25 * regret(x, name, 0, 100) / 100 for name in x["policies"])
    ),
    "lenders_and_loans": lambda x: (
        regret(x, "OMM, scale 0.25") < regret(x, "OMM") / 2 and (x["bound"] > 10 * x["result"]["OMM"].regret).all()
    ),
    "sensor_placement": lambda x: (
        sum(x["computable"](x["reliable"])) == 8
        and sum(x["computable"](x["learnt"])) == 16
        and 0.8 < x["uptime"][x["reliable"]].sum() - x["uptime"][x["learnt"]].sum() < 1.4
    ),
    "crawl_schedule": lambda x: (
        regret(x, "OMM, scale 0.3") < regret(x, "Thompson") < regret(x, "random") and len(x["quotas"]) == 206
    ),
    "couriers": lambda x: (
        x["found"] == tuple((c, o) for c, o in zip(x["couriers"], x["orders"], strict=True))
        and x["first"] < x["start"] < x["end"]
    ),
    "reliable_routes": lambda x: (
        len(x["results"]) == 6
        and all(it.regret[1, -1] < it.regret[0, -1] for it in x["results"].values())
        and all(it.policies[:2] == ("OMM, scale 0.1", "Thompson") for it in x["results"].values())
    ),
    "colourful_trees": lambda x: (
        len(x["links"]) == 56
        and np.bincount(x["supplier"][x["problem"].optimal_basis]).max() == 8
        and np.bincount(x["supplier"][x["cheapest"].optimal_basis]).max() > 8
    ),
    "drifting_prices": lambda x: (
        regret(x, "OMM", 0, 500) < min(regret(x, name, 0, 500) for name in ("window", "discounted"))
        and regret(x, "OMM", 500) > max(regret(x, name, 500) for name in ("window", "discounted", "restarts"))
    ),
    "visitors_with_features": lambda x: (
        # without features the second half is no cheaper than the first
        regret(x, "Thompson, no features", 500) > 0.8 * regret(x, "Thompson, no features", 0, 500)
        and all(regret(x, name, 500) < 0.4 * regret(x, name, 0, 500) for name in ("CombLinUCB", "CombLinTS"))
    ),
    "late_conversions": lambda x: all(
        np.all(np.diff(lost_late(x, name, 1)) > 0)
        and np.ptp(lost_late(x, name, 2)) < np.ptp(lost_late(x, name, 1)) / 2
        for name in x["policies"]
    ),
    "news_list": lambda x: (
        x["lost"]["first click, worst first"][-1]
        < 0.8 * x["lost"]["first click, best first"][-1]
        < 0.8 * x["lost"]["all others count as 0"][-1]
    ),
    "stopping_when_sure": lambda x: (
        all(it.n_errors == 0 for it in x["found"].values())
        and x["found"][0.001].endings.mean_rounds < 1.6 * x["found"][0.1].endings.mean_rounds
        and x["wrong"] == sorted(x["wrong"], reverse=True)
    ),
}


def text_of(printed):
    """What was printed, but for the seconds that simulations took and space at the ends of lines."""
    lines, is_timed = [], False
    for line in re.sub(r", [\d.]+ s;", ";", printed).split("\n"):
        is_timed = line.endswith(" seconds") or (is_timed and bool(re.search(r"[\d.-]+$", line)))
        lines.append((line.rsplit(None, 1)[0] if is_timed else line).rstrip())
    return "\n".join(lines).strip()


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:.*Geant2012:ResourceWarning")  # topohub leaves its file open
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_find_what_they_say(script, capsys, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    names = runpy.run_path(str(script))
    plt.close("all")
    (figure,) = shown
    assert all(axes.get_title() for axes in figure.axes if axes.get_label() != "<colorbar>")
    assert CLAIMS[script.stem](names)
    printed = capsys.readouterr().out
    if script.stem in NOTEBOOKS["NAMES"]:
        assert text_of(printed) == text_of("".join(outputs(script.stem)))


def outputs(name):
    book = json.loads((ROOT / "examples" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    for cell in book["cells"]:
        for output in cell.get("outputs", ()):
            assert output["output_type"] in ("stream", "display_data"), output
            if output["output_type"] == "stream":
                yield "".join(output["text"])


@pytest.mark.parametrize("name", NOTEBOOKS["NAMES"])
def test_notebooks_are_their_scripts_and_hold_a_figure(name):
    book = json.loads((ROOT / "examples" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    script = (ROOT / "examples" / "gallery" / f"{name}.py").read_text(encoding="utf-8")
    stored = [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]]
    assert stored == NOTEBOOKS["split"](script), "run python docs/notebooks.py"
    kinds = [kind for cell in book["cells"] for output in cell.get("outputs", ()) for kind in output.get("data", ())]
    assert kinds.count("image/png") == 1


def test_every_script_makes_claims_and_says_what_to_read_next():
    assert set(CLAIMS) == {script.stem for script in SCRIPTS}
    for script in SCRIPTS:
        text = script.read_text(encoding="utf-8")
        assert "# **Read next:** :doc:`" in text.rsplit("# %%", 1)[1], script.name
        for target in re.findall(r":doc:`(/?)([\w-]+)`", text):
            is_page, page = target
            file = ROOT / "docs" / f"{page}.md" if is_page else script.with_name(f"{page}.py")
            assert file.exists(), f"{script.name}: {page}"
