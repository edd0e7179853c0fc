"""Logs of other systems: the same numbers from every form, by hand, and what is refused."""

import json

import numpy as np
import pytest

from matroid_bandits.evaluation import estimate, read_table
from matroid_bandits.exceptions import EvaluationError

SETS = [["a", "b"], ["b", "c"], ["a", "c"]]
CHANCES = [[0.5, 0.6], [0.8, 0.9], [0.5, 0.4]]
REWARDS = [[1.0, 0.0], [1.0, 0.5], [0.0, 2.0]]
NAMES = {"set": "items", "propensity": "p", "reward": "r"}
BY_DECISION = {"items": SETS, "p": CHANCES, "r": REWARDS, "who": ["x", "y", "x"], "drawn": [False, True, False]}
BY_ITEM = {
    "page": [7, 7, 3, 3, 9, 9],
    "items": [item for row in SETS for item in row],
    "p": [p for row in CHANCES for p in row],
    "r": [r for row in REWARDS for r in row],
    "who": ["x", "x", "y", "y", "x", "x"],
    "drawn": [False, False, True, True, False, False],
}


def check(log):
    assert log.items == ("a", "b", "b", "c", "a", "c")
    assert log.decision.tolist() == [0, 0, 1, 1, 2, 2]
    assert log.propensities.tolist() == [0.5, 0.6, 0.8, 0.9, 0.5, 0.4]
    # before the first 0.5; then a 1, b 0, all 1/2; then a 1, b 1/2, c 1/2
    assert log.predictions.tolist() == [0.5, 0.5, 0.0, 0.5, 1.0, 0.5]
    target = log.target(["a", "c"])
    assert target.predicted.tolist() == [1.0, 1.5, 1.5]
    assert estimate(log, target, "iips").value == pytest.approx((1 / 0.5 + 0.5 / 0.9 + 0.0 + 2.0 / 0.4) / 3)
    z = [1.0 + 0.5 / 0.5, 1.5 + 0.0, 1.5 - 1.0 / 0.5 + 1.5 / 0.4]
    found = estimate(log, target)
    assert found.value == pytest.approx(np.mean(z))
    half = log.target({"b": 0.5})
    assert (half.inclusions.tolist(), half.sizes.tolist()) == ([0, 0.5, 0.5, 0, 0, 0], [0.5, 0.5, 0.5])
    return found


def test_rows_of_decisions_and_rows_of_items_are_the_same():
    check(read_table(BY_DECISION, **NAMES))
    check(read_table(BY_ITEM, **NAMES, decision="page"))
    for given, more in ((BY_DECISION, {}), (BY_ITEM, {"decision": "page"})):
        log = read_table(given, **NAMES, **more, unit="who", held_out="drawn")
        assert log.units.tolist() == [0, 1, 0]
        assert check(log).n_held_out == 1


def test_frames_and_files(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for given, more in ((BY_DECISION, {}), (BY_ITEM, {"decision": "page"})):
        frame = pd.DataFrame(given)
        check(read_table(frame, **NAMES, **more))
        frame.to_parquet(tmp_path / "log.parquet")
        check(read_table(tmp_path / "log.parquet", **NAMES, **more))
        texts = {
            name: [json.dumps(x) if isinstance(x, list) else x for x in column] for name, column in given.items()
        }
        pd.DataFrame(texts).to_csv(tmp_path / "log.csv", index=False)
        found = read_table(str(tmp_path / "log.csv"), **NAMES, **more, unit="who", held_out="drawn")
        assert check(found).n_held_out == 1


def test_single_items_need_no_lists():
    log = read_table({"items": ["a", "b"], "p": [0.5, 0.5], "r": [1, 0]}, **NAMES)
    assert estimate(log, log.target(["a"]), "iips").value == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"p": [[0.5, 0.0], *CHANCES[1:]]}, "propensities above 0 and at most 1 in 'p', got 0"),
        ({"p": [[0.5, 1.5], *CHANCES[1:]]}, "got 1.5"),
        ({"p": [[0.5], *CHANCES[1:]]}, "row 1: expected as many items as propensities and rewards.* got 2, 1, 2"),
        ({"r": [[1.0, float("nan")], *REWARDS[1:]]}, "finite numbers in 'r', got nan"),
        ({"r": [["much", 1.0], *REWARDS[1:]]}, "numbers in 'r'"),
        ({"items": ["[1", *SETS[1:]]}, "a list of JSON"),
        ({"items": [["a", "a"], *SETS[1:]]}, "row 1: expected each item once in a decision, got 'a' again"),
        ({"r": REWARDS[:2]}, "columns of one length, got 3 in items, 3 in p, 2 in r"),
        ({"items": [], "p": [], "r": []}, "at least one decision"),
    ],
)
def test_what_is_no_log_is_refused(changes, message):
    with pytest.raises(EvaluationError, match=message):
        read_table(BY_DECISION | changes, **NAMES)


def test_mistakes(tmp_path):
    with pytest.raises(EvaluationError, match="a column 'items', got shown, p, r"):
        read_table({"shown": SETS, "p": CHANCES, "r": REWARDS}, **NAMES)
    with pytest.raises(EvaluationError, match="expected a DataFrame, columns by name, or a file; got int"):
        read_table(3, **NAMES)
    with pytest.raises(EvaluationError, match="row 4: expected each item once in a decision, got 'b' again"):
        read_table(BY_ITEM | {"page": [7, 7, 3, 7, 9, 9], "items": list("abcbac")}, **NAMES, decision="page")
    with pytest.raises(EvaluationError, match="row 3: expected a decision in 'page', got nan"):
        read_table(BY_ITEM | {"page": [7, 7, float("nan"), 3, 9, 9]}, **NAMES, decision="page")
    with pytest.raises(EvaluationError, match="expected a Parquet or CSV file"):
        read_table(tmp_path / "none.csv", **NAMES)
    log = read_table(BY_DECISION, **NAMES)
    with pytest.raises(EvaluationError, match="items of the table, got 'z'"):
        log.target(["a", "z"])
    with pytest.raises(EvaluationError, match="chances from 0 to 1"):
        log.target({"a": 2.0})
