"""The learner against its control, kept up as the log is followed: the same by snapshots, replays and off line."""

import json
from statistics import NormalDist

import numpy as np
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import matroid_bandits as mb
from matroid_bandits.cli import app
from matroid_bandits.client import Client
from matroid_bandits.evaluation import UpliftSequence, evaluate, read_log, unit_hash
from matroid_bandits.service import Database, _store, _uplift, campaign_uplift, export_campaign
from matroid_bandits.service._reads import uplift_form
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._uplift import Uplift
from service_kit import create, serving

WORTH = {"boots": 0.8, "heels": 0.2, "fedora": 0.3, "beret": 0.7}


def visits(client, at, n, rng, tags=None, answer=True):
    """Decisions in batches, answered by chance, or left open."""
    found = []
    for first in range(0, n, 100):
        count = min(100, n - first)
        asks = [{"tags": tags(first + k)} if tags else {} for k in range(count)]
        decisions = client.post(f"{at}/ask/batch", json={"requests": asks}).json()["decisions"]
        answers = [
            {
                "decision": each["decision"],
                "weights": {label: float(rng.random() < WORTH[label]) for label in each["items"]},
            }
            for each in decisions
        ]
        if answer:
            assert client.post(f"{at}/tell/batch", json={"answers": answers}).status_code == 200
        found += decisions
    return found


def set_clock(database, day):
    """Let a database's clock stand still, at a time of a day."""
    now, plain = f"({(20_000.4 + day) * 86_400.0})", _store._SQLITE_NOW
    database.clock = sa.literal_column(now)
    database._statements()
    database._sql = {name: text.replace(plain, now) for name, text in database._sql.items()}


def by_hand(log):
    """The sequence of a log by its definition: settled decisions, in order of settlement."""
    sequence = UpliftSequence(0.0, 2.0)
    for each in sorted(log.decisions, key=lambda each: each.settled_by):
        if each.settled_by and not np.isnan(each.weights).all():
            sequence.add([np.nansum(each.weights)], [each.is_held_out], each.share)
    return sequence.look()


def test_kept_up_saved_read_and_told(tmp_path, monkeypatch):
    url, rng = str(tmp_path / "c.db"), np.random.default_rng(1)
    with serving(url, snapshot_every=300, lease=1e12) as client:
        set_clock(client.service.database, 0)
        at = create(client, holdout=0.2, answers="all", answer_window=3600.0, default=0.0)
        empty = client.get(f"{at}/uplift").json()
        assert empty["windows"]["7d"]["value"] is None
        assert empty["sequence"] is None
        assert empty["sentence"] == "Not known yet in the last 7 days: 30 more decisions of the control are missing."
        assert "matroid_bandits_uplift_per_decision{" not in client.get("/metrics").text
        visits(client, at, 700, rng)
        for each in visits(client, at, 40, rng, answer=False)[:30]:  # parts, closed with and without a default
            first = each["items"][0]
            client.post(f"{at}/tell", json={"decision": each["decision"], "weights": {first: 1.0}})
            if each["decision"] % 3:
                default = 0.5 if each["decision"] % 3 == 1 else None
                client.post(f"{at}/close", json={"decision": each["decision"], "default": default})
        found = client.get(f"{at}/uplift").json()
        metrics = client.get("/metrics").text
        with Client(str(client.base_url), "ads") as remote:
            assert remote.uplift() == found
            assert read_log(remote).frame().equals(read_log(export_campaign(client.service.database, "ads")).frame())
    window = found["windows"]["7d"]
    for name, value in (("", "value"), ("_low", "low"), ("_high", "high")):
        line = f'matroid_bandits_uplift_per_decision{name}{{campaign="ads",window="7d"}} {window[value]}'
        assert line in metrics.splitlines()
    database = Database(url)
    set_clock(database, 0)
    log = read_log(export_campaign(database, "ads"))
    look = by_hand(log)
    sequence = found["sequence"]
    assert sequence["n_decisions"] == look.n_decisions == 700 + 20
    assert sequence["value"] == pytest.approx(look.value, rel=1e-12)
    assert sequence["sequence"] == pytest.approx(look.sequence)
    assert sequence["exact"] == pytest.approx(look.exact)
    evaluated = evaluate(log, [mb.UniformRandom()])
    assert evaluated.looks[-1] == look
    assert evaluated.uplift.sentence == found["sentence"]
    assert sequence["p_better"] == look.p_better < 0.05
    assert sequence["sequence"][0] > 0.0
    assert found["excludes_zero_since"] >= found["since"]
    assert found["shown"].startswith("Shown to be better since 20")
    assert evaluated.uplift.shown == found["shown"]
    assert campaign_uplift(database, "ads") == found  # from a snapshot and what follows it
    replica = Replica(1, "ads", {})
    for line in [*export_campaign(database, "ads")][1:-1]:
        event = json.loads(line)
        seq, when = event.pop("seq"), event.pop("at")
        replica.follow(seq, when, json.dumps(event), seq)
    now = database.now()
    assert uplift_form(replica, now) == found  # from the first event
    database.close()
    monkeypatch.setattr(Database, "now", lambda self, connection=None: now)

    def call(*arguments):
        return CliRunner().invoke(app, ["campaign", "uplift", "ads", "--db", url, *arguments]).output

    assert call().splitlines() == [found["sentence"], found["shown"]]
    assert json.loads(call("--json")) == found


class Week:
    """A week of returning visitors with a sticky hold-out and a learner that improves; and its books."""

    def __init__(self, client, n_days=9, unit="visitor"):
        rng = np.random.default_rng(11)
        set_clock(client.service.database, 0)
        self.at = create(client, holdout={"share": 0.15, "by": unit})
        self.days, self.first = [], int(client.service.database.now() // 86_400)
        for day in range(n_days):
            set_clock(client.service.database, day)
            people = [f"visitor {k}" for k in rng.choice(400, 150)]
            found = visits(client, self.at, 150, rng, tags=lambda k, people=people: {unit: people[k]}, answer=False)
            answers, lost = [], 0
            for each, who in zip(found, people, strict=True):
                weights = {label: float(rng.random() < WORTH[label]) for label in each["items"]}
                part = dict([*weights.items()][: 1 + (each["decision"] % 4 > 0)])  # some are read in part
                is_lost = each["decision"] % 50 == 0
                if not is_lost:
                    answers.append({"decision": each["decision"], "weights": part})
                    self.days.append((day, who, each["held_out"], sum(part.values())))
                lost += is_lost
            assert client.post(f"{self.at}/tell/batch", json={"answers": answers}).status_code == 200
            for each in found:
                if each["decision"] % 4 == 0 or each["decision"] % 50 == 0:
                    closed = client.post(f"{self.at}/close", json={"decision": each["decision"]})
                    assert closed.status_code == 200
        self.n_days = n_days

    def difference(self, first, last):
        """The difference of averages per decision, its interval, and the relative one, by their definitions."""
        rows = [(who, held_out, value) for day, who, held_out, value in self.days if first <= day <= last]
        groups = np.array([unit_hash("visitor", who) % 256 for who, *_ in rows])
        is_control, values = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])

        def means(chosen):
            return values[chosen & ~is_control].mean(), values[chosen & is_control].mean()

        learner, control = means(np.ones(len(rows), bool))
        without = np.array([means(groups != group) for group in range(256)])
        z = NormalDist().inv_cdf(0.975)

        def error(figures):
            return np.sqrt(255 / 256 * ((figures - figures.mean()) ** 2).sum())

        value, half = learner - control, z * error(without[:, 0] - without[:, 1])
        ratio, wide = learner / control, np.exp(z * error(np.log(without[:, 0] / without[:, 1])))
        counts = (~is_control).sum(), is_control.sum()
        return (value, value - half, value + half), (ratio - 1, ratio / wide - 1, ratio * wide - 1), counts


def test_a_week_of_returning_visitors_reads_the_same_everywhere(tmp_path, monkeypatch):
    url = str(tmp_path / "c.db")
    with serving(url, snapshot_every=500, lease=1e12) as client:
        week = Week(client)
        found = client.get(f"{week.at}/uplift").json()
        metrics = client.get("/metrics").text.splitlines()
        with Client(str(client.base_url), "ads") as remote:
            assert remote.uplift() == found
        now = client.service.database.now()
    last = week.n_days - 1
    (value, low, high), (ratio, ratio_low, ratio_high), _ = week.difference(last - 6, last)
    start, _, (n_learner, n_control) = week.difference(0, last)
    window = found["windows"]["7d"]
    assert found["headline"] == "7d"
    assert window["since"] == (week.first + last - 6) * 86_400
    expected = {"value": value, "low": low, "high": high,
                "relative": ratio, "relative_low": ratio_low, "relative_high": ratio_high}  # fmt: skip
    for name, each in expected.items():
        assert window[name] == pytest.approx(each, rel=1e-9), name
    assert found["earned"] == pytest.approx(start[0] * n_learner)
    assert found["cost"] == pytest.approx(start[0] * n_control)
    earned, cost = (float(f"{x:.3g}") for x in (start[0] * n_learner, start[0] * n_control))
    assert found["sentence"] == (
        f"{100 * ratio:+.0f}% (95%: {100 * ratio_low:+.0f}% to {100 * ratio_high:+.0f}%) in the last 7 days: "
        f"{value:.3g} more per decision; about {earned:,.0f} earned so far; the hold-out cost about {cost:,.0f}."
    )
    n_lost = 150 * week.n_days // 50
    assert found["notes"][0].startswith(f"{n_lost} decisions were closed without an answer and are not counted (")
    first, _, _ = week.difference(0, 6)
    points = {point["at"]: point for point in found["points"]}
    assert points[(week.first + 6) * 86_400]["value"] == pytest.approx(first[0])
    assert points[(week.first + last) * 86_400] == {"at": (week.first + last) * 86_400.0} | {
        name: window[name] for name in ("value", "low", "high")
    }
    gauges = {"per_decision": "value", "per_decision_low": "low", "per_decision_high": "high",
              "ratio": "relative", "ratio_low": "relative_low", "ratio_high": "relative_high",
              "learner_decisions": "n_learner", "control_decisions": "n_control"}  # fmt: skip
    for gauge, name in gauges.items():
        for label in ("7d", "headline"):
            line = f'matroid_bandits_uplift_{gauge}{{campaign="ads",window="{label}"}} {float(window[name])}'
            assert line in metrics, gauge
    assert f'matroid_bandits_uplift_earned{{campaign="ads"}} {found["earned"]}' in metrics
    database = Database(url)
    log = read_log(export_campaign(database, "ads"))
    set_clock(database, last)
    assert campaign_uplift(database, "ads") == found
    evaluated = evaluate(log, {}).uplift
    assert evaluated.windows["7d"].value == pytest.approx(value)
    assert evaluated.sentence == found["sentence"]
    assert [*evaluated.notes] == found["notes"]
    assert evaluated.shown == found["shown"]
    replica = Replica(1, "ads", {})
    for event in log.events:
        form = {key: value for key, value in event.form.items() if key not in ("seq", "at")}
        replica.follow(event.number, event.at, json.dumps(form), event.number)
    assert uplift_form(replica, now) == found
    database.close()
    monkeypatch.setattr(Database, "now", lambda self, connection=None: now)
    said = CliRunner().invoke(app, ["campaign", "uplift", "ads", "--db", url]).output
    assert said.splitlines()[0] == found["sentence"]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(dict(event.form)) for event in log.events))
    command = ["evaluate", str(path), "--policy", "random", "--report", str(tmp_path / "worth")]
    said = CliRunner().invoke(app, command).output
    assert found["sentence"] in " ".join(said.split())
    assert found["sentence"] in (tmp_path / "worth" / "index.html").read_text()


def test_the_window_of_a_policy_begins_with_its_first_full_day():
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.OMM(), seed=0, holdout=0.5)
    uplift, rng, books = Uplift(), np.random.default_rng(3), {}
    uplift.configure({"event": "created", "policy": {"policy": "OMM", "scale": 1.0}}, 0.0, learner)

    def visit(id, day, settled):
        is_held_out, value = bool(rng.random() < 0.5), float(rng.random() < 0.5)
        asked = {"decision": id, "items": ["a"]} | ({"held_out": True} if is_held_out else {})
        uplift.ask(asked, day * 86_400.0 + 5.0, learner)
        uplift.tell(id, [value], settled * 86_400.0, learner)
        books.setdefault(day, []).append((is_held_out, value))

    def difference(first, last):
        rows = np.array([row for day, rows in books.items() if first <= day <= last for row in rows])
        held = rows[:, 0] == 1.0
        return rows[~held, 1].mean() - rows[held, 1].mean()

    for id in range(1000):
        visit(id, id // 100, id // 100 + 1.0)  # the answer comes a day later
    changed = {"event": "configured", "policy": {"policy": "OMM", "scale": 0.5}}
    assert "policy" not in uplift.form(learner, 10.0 * 86_400)["windows"]
    uplift.configure(changed, 9.5 * 86_400.0, learner)
    visit(1000, 9, 11.0)  # asked on the day of the change
    for id in range(1001, 5000):
        visit(id, 10 + (id - 1001) // 80, 11 + (id - 1001) // 80)
    last = 10 + 3998 // 80
    windows = uplift.form(learner, last * 86_400.0 + 1.0)["windows"]
    assert windows["policy"]["since"] == 10 * 86_400.0
    assert windows["policy"]["value"] == pytest.approx(difference(10, last), rel=1e-9)
    assert "since 1970-01-11, the first full day after the last change of policy" in windows["policy"]["sentence"]
    assert windows["start"]["value"] == pytest.approx(difference(0, last), rel=1e-9)
    assert windows["28d"]["value"] == pytest.approx(difference(last - 27, last), rel=1e-9)
    again = Uplift.from_dict(json.loads(json.dumps(uplift.to_dict())))
    assert again.form(learner, last * 86_400.0) == uplift.form(learner, last * 86_400.0)
    visit(6000, 0, float(last))  # a late answer to an early decision
    assert uplift.form(learner, last * 86_400.0)["windows"]["start"]["value"] == pytest.approx(difference(0, last))


def test_words_before_anything_is_known(tmp_path):
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.OMM(), seed=0, holdout=0.5)
    uplift = Uplift()
    for id in range(400):
        asked = {"decision": id, "items": ["a"]} | ({"held_out": True} if id % 4 == 0 else {})
        uplift.ask(asked, 5.0, learner)
        uplift.tell(id, [float(id % 8 == 0 if id % 4 == 0 else id % 3 == 0)], 6.0, learner)
    # of 100 control decisions 50 were clicked: kurtosis 1, so that 100 / 1 are enough
    assert uplift.form(learner, 10.0)["windows"]["7d"]["missing"] == 0
    # a week later the sentence is of 28 days, and so is the headline of the metrics
    later = uplift.gauges(8 * 86_400.0)
    assert "uplift_per_decision/7d" not in later
    assert later["uplift_per_decision/headline"] == later["uplift_per_decision/28d"]
    few = Uplift()
    for id in range(400):
        asked = {"decision": id, "items": ["a"]} | ({"held_out": True} if id % 4 == 0 else {})
        few.ask(asked, 5.0, learner)
        few.tell(id, [float(id % 40 == 0 if id % 4 == 0 else id % 3 == 0)], 6.0, learner)
    p = 0.1  # of the control
    kurtosis = (1 - 3 * p * (1 - p)) / (p * (1 - p))
    missing = int(np.ceil(p * (30 * kurtosis - 100)))
    found = few.form(learner, 10.0)
    assert found["windows"]["7d"]["missing"] == missing
    assert found["sentence"] == (
        f"Not known yet in the last 7 days: {missing} more clicks of the control are missing."
    )
    assert found["windows"]["7d"]["value"] is None
    assert found["earned"] is None
    assert "uplift_per_decision/7d" not in few.gauges(10.0)
    assert few.gauges(10.0)["uplift_control_decisions/7d"] == 100


def test_a_control_of_another_size_is_named(tmp_path):
    constraint = mb.UniformMatroid(12, 12, labels="abcdefghijkl")
    one = mb.Holdout(0.5, control=mb.FixedSet(["c"]))
    learner = mb.Learner(mb.UniformMatroid(12, 3, labels="abcdefghijkl"), mb.OMM(), seed=0, holdout=one)
    uplift = Uplift()
    assert uplift.form(learner, 0.0)["notes"] == [
        "The control names 1 item and its sets have 3: the others are the first that fit."
    ]
    learner = mb.Learner(constraint, mb.OMM(), seed=0, holdout=0.5)
    for id in range(2):
        items = ["a"] if id else [*"abcdefghijkl"]
        uplift.ask({"decision": id, "items": items} | ({"held_out": True} if id else {}), 5.0, learner)
        uplift.tell(id, [1.0] * len(items), 6.0, learner)
    assert uplift.form(learner, 7.0)["notes"] == [
        "On average the control's sets have 1 item and the learner's 12: the difference is that of the number of "
        "items, too."
    ]
    with serving(str(tmp_path / "c.db")) as client:
        at = create(client, holdout={"share": 0.2, "control": {"policy": "FixedSet", "items": ["heels", "beret"]}})
        assert client.get(at).json()["control_set"] == ["heels", "beret"]
        assert client.get(f"{at}/uplift").json()["notes"] == []
        client.put(at, json={"holdout": 0})
        assert client.get(f"{at}/uplift").json()["notes"] == [
            "There is no hold-out now: new decisions are not compared with a control."
        ]


def test_the_first_decision_of_each_value_counts_in_the_sequence_and_memory_is_bounded(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    with serving(str(tmp_path / "c.db")) as client:
        at = create(client, holdout={"share": 0.3, "by": "visitor"})
        visits(client, at, 400, rng, tags=lambda n: {"visitor": n // 4})
        found = client.get(f"{at}/uplift").json()
        log = read_log(export_campaign(client.service.database, "ads"))
    assert (found["sequence"]["n_decisions"], found["unit"], found["counted"]) == (100, "visitor", 1.0)
    assert sum(found["windows"]["start"][name] for name in ("n_learner", "n_control")) == 400
    assert found["sequence"]["value"] == pytest.approx(evaluate(log, [mb.UniformRandom()]).looks[-1].value)
    monkeypatch.setattr(_uplift, "MOST_UNITS", 32)
    replica = Replica(1, "ads", {})
    for event in log.events:
        form = {key: value for key, value in event.form.items() if key not in ("seq", "at")}
        replica.follow(event.number, event.at, json.dumps(form), event.number)
    thinned = replica.uplift
    assert len(thinned._units) <= 32
    assert thinned.counted <= 0.25
    assert 32 < thinned.sequence.n_decisions < 100
    again = Uplift.from_dict(json.loads(json.dumps(thinned.to_dict())))
    assert again.form(replica.learner, 0.0) == thinned.form(replica.learner, 0.0)
    assert again._units == thinned._units


def test_costs_are_gains_and_a_new_control_begins_anew():
    uplift, rng = Uplift(), np.random.default_rng(3)
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.OMM(), seed=0, minimize=True, holdout=0.5)
    uplift.configure({"event": "created", "policy": "OMM"}, 0.0, learner)
    for n in range(300):
        is_held_out = bool(rng.random() < 0.5)
        uplift.ask({"decision": n, "items": [0]} | ({"held_out": True} if is_held_out else {}), 61.0 * n, learner)
        uplift.tell(n, [float(rng.random() < (0.8 if is_held_out else 0.2))], 61.0 * n, learner)
    assert uplift.sequence.look().value > 0.5  # a gain, although weights are costs
    assert uplift.excludes_zero_since is not None
    form = uplift.form(learner, 61.0 * 300)
    window = form["windows"]["7d"]
    assert window["value"] == pytest.approx(window["control"] - window["learner"])
    assert window["relative"] == pytest.approx(1 - window["learner"] / window["control"])
    assert window["relative_low"] < window["relative"] < window["relative_high"] < 1.0
    assert f": costs {window['value']:.3g} less per decision; about" in form["sentence"]
    assert " saved so far; the hold-out cost about" in form["sentence"]
    uplift.ask({"decision": 300, "items": [0]}, 0.0, learner)
    uplift.tell(300, [7.0], 61.0 * 300, learner)  # beyond the scale
    assert (uplift.sequence.low, uplift.sequence.high) == (-7.0, 0.0)
    learner.configure(holdout=mb.Holdout(0.5, control=mb.FixedSet(["a"])))
    uplift.configure({"event": "configured", "policy": "OMM"}, 0.0, learner)
    assert uplift.sequence is None
    assert uplift.sums is None
    uplift.ask({"decision": 301, "items": [0]}, 0.0, learner)
    learner.change(mb.UniformMatroid(3, 1, labels="bac"))
    uplift.configure({"event": "changed"}, 0.0, learner)
    uplift.configure({"event": "configured", "policy": "OMM"}, 0.0, learner)
    assert uplift.sums is not None  # the set is the same, although its items have other numbers


def test_a_snapshot_of_an_earlier_version_is_made_good(tmp_path):
    assert not Uplift.from_dict(None).is_complete
    assert not Uplift.from_dict({"sequence": None}).is_complete  # of version 1, which knew no days
    with pytest.raises(ValueError, match="uplift sequence"):
        Uplift.from_dict(Uplift().to_dict() | {"sequence": {}})
