"""Campaign files and bodies: what they may say, and what is wrong with those that may not be."""

import json

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DataError, MalformedRequestError
from matroid_bandits.specs import CampaignSpec, Spec, json_schema, parse, parse_json, read_campaign

UNIFORM = {"kind": "uniform", "rows": ["boots", "hats", "bags"], "rank": 2}
SPEC = {"name": "ads", "matroid": UNIFORM, "policy": "OMM", "seed": 3}


def test_a_campaign_is_the_learner_it_describes():
    given = {
        **SPEC, "policy": {"policy": "OMM", "scale": 2.0}, "direction": "minimize", "holdout": 0.25,
        "priors": [["boots", [0.5, 3]], ["bags", [0.25, 1]]], "answer_window": 60, "default": 1,
    }  # fmt: skip
    spec = parse(CampaignSpec, given)
    learner = spec.learner()
    same = mb.Learner(
        mb.UniformMatroid(3, 2, labels=["boots", "hats", "bags"]), mb.OMM(scale=2.0), minimize=True, seed=3,
        holdout=0.25, priors={"boots": (0.5, 3.0), "bags": (0.25, 1.0)},
    )  # fmt: skip
    assert [learner.ask().labels for _ in range(20)] == [same.ask().labels for _ in range(20)]
    assert (spec.answer_window, spec.default) == (60.0, 1.0)


@pytest.mark.parametrize(
    "matroid",
    [
        mb.UniformMatroid(3, 1),
        mb.UniformMatroid(2, 1, labels=[2.5, 7]),
        mb.GraphicMatroid([("a", "b"), ("b", "c")]).truncate(1),
    ],
)
def test_stored_forms_are_matroids_too(matroid):
    form = json.loads(json.dumps(matroid.to_dict()))
    assert parse(CampaignSpec, {**SPEC, "matroid": form}).learner().constraint == matroid


def test_features_by_row_by_label_and_by_pairs():
    rows, labels = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], UNIFORM["rows"]
    named = dict(zip(labels, rows, strict=True))
    forms = (rows, named, [list(pair) for pair in named.items()])
    assert [parse(CampaignSpec, {**SPEC, "features": form}).features for form in forms] == [rows, named, named]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "name: expected letters"),
        ({"name": "-x"}, "name: expected letters"),
        ({"name": "x" * 65}, "name: expected letters"),
        ({"name": 3}, "name: expected a string, got 3"),
        ({"matroid": []}, "matroid: expected"),
        ({"matroid": {"format": "other"}}, "matroid.kind: expected a string, but the key is missing"),
        (
            {"matroid": {"format": "other", "kind": "uniform"}},
            "matroid.format: expected one of matroid-bandits/constraint",
        ),
        ({"policy": 3}, "policy: expected a table, got 3"),
        ({"policy": "KLOSMM"}, "did you mean 'KLOSM'?"),
        ({"policy": {"policy": "OMM", "scael": 1}}, "policy.scael: unknown key; did you mean 'scale'?"),
        ({"direction": "up"}, "direction: expected one of maximize, minimize; got 'up'"),
        ({"seed": 2**64}, "seed: expected an integer from 0"),
        ({"holdout": 1.5}, "expected holdout to be a number in [0, 1], got 1.5"),
        ({"answer_window": 2e9}, "answer_window: expected seconds"),
        ({"default": "none"}, "default: expected a number, got 'none'"),
        ({"policy": "KLOSM", "default": 2.0}, "default: expected a weight that KLOSM(c=0.0) can take, got 2"),
        ({"priors": "typical"}, "priors: expected priors by label before anything is known, got 'typical'"),
        ({"priors": {"boots": 1}}, "priors: expected a mean and how many plays it is worth, got 1"),
        ({"priors": [["boots", [1, 1]], ["boots", [1, 1]]]}, "priors: expected each label once, got 'boots' twice"),
        ({"priors": [[True, [1, 1]]]}, "priors: expected a label"),
        ({"priors": 3}, "priors: expected a prior by label"),
        ({"priors": ["boots"]}, "priors: expected pairs of a label and a prior, got 'boots'"),
        ({"features": [[1.0]]}, "takes none with a request"),
        ({"features": {"boots": 1}}, "features: expected a row of numbers, got 1"),
        ({"titel": "x"}, "titel: unknown key; did you mean 'title'?"),
    ],
)
def test_mistakes_are_told_with_their_key(change, words):
    with pytest.raises(DataError) as raised:
        parse(CampaignSpec, {**SPEC, **change}).learner()
    assert words in str(raised.value)


def test_files_may_name_files_and_bodies_may_not(tmp_path):
    (tmp_path / "items.csv").write_text("item\nboots\nhats\n")
    file = tmp_path / "ads.toml"
    file.write_text('policy = "OMM"\nmatroid = { kind = "uniform", file = "items.csv", rank = 1 }\n')
    spec, place = read_campaign(file)
    assert spec.name == "ads"
    assert spec.learner(place).constraint.labels == ("boots", "hats")
    with pytest.raises(DataError, match="expected no file"):
        parse(CampaignSpec, {"name": "ads", "policy": "OMM", "matroid": {"kind": "uniform", "file": "x", "rank": 1}})
    (tmp_path / "wrong.json").write_text("[1]")
    with pytest.raises(DataError, match=r"wrong\.json: expected a table"):
        read_campaign(tmp_path / "wrong.json")


def test_json_bodies():
    class Slot(Spec):
        name: str
        size: int = 1

    assert parse_json(Slot, b'{"name": "top"}') == Slot(name="top")
    for body, words in (
        (b'{"size": 1}', "name: expected a string, but the key is missing"),
        (b'{"name": "x", "size": 1.5}', "size: expected an integer"),
    ):
        with pytest.raises(DataError, match=words):
            parse_json(Slot, body)
    for body in (b"", b"{", b"\xff", b'{"name": "\\ud800"}', b"[" * 10_000):
        with pytest.raises(MalformedRequestError, match="expected JSON"):
            parse_json(Slot, body)


def test_the_schema_names_what_is_needed():
    schema = json_schema(CampaignSpec)
    assert set(schema["required"]) == {"name", "policy"}
    assert schema["oneOf"] == [{"required": ["constraint"]}, {"required": ["matroid"]}]
    assert schema["properties"]["answer_window"]["description"].startswith("Seconds")
