"""Logs from archives, with what followed them, and as Parquet."""

import gzip
import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.evaluation import read_log
from matroid_bandits.exceptions import ArchivedEventsError, EvaluationError, MissingDependencyError
from matroid_bandits.service import Archive


@pytest.fixture(scope="module")
def events():
    """A log of 61 events with their numbers and times."""
    forms, rng = [], np.random.default_rng(0)
    learner = mb.Learner(mb.UniformMatroid(4, 2, labels="abcd"), mb.OMM(), seed=0, holdout=0.3, record=forms.append)
    for n in range(30):
        decision = learner.ask(tags={"page": n % 3})
        learner.tell(decision, rng.random(2))
    return [{"seq": seq, "at": float(seq), **form} for seq, form in enumerate(forms, 1)]


def archived(folder, events, cuts, name="ads", learner="a" * 32, before=""):
    """Write stretches of a log that end at the cuts; the digest after the last."""
    archive, first = Archive(folder), 1
    archive.open()
    for last in cuts:
        rows = (
            (event["seq"], event["at"], json.dumps({k: v for k, v in event.items() if k not in ("seq", "at")}))
            for event in events[first - 1 : last]
        )
        _, before = archive.write(name, learner, before, first, last, rows)
        first = last + 1
    return before


def test_archives_and_what_follows_them(tmp_path, events):
    whole = read_log(events).frame()
    archived(tmp_path, events, [7, 30, 61])
    archived(tmp_path, events, [40], name="other", learner="b" * 32)
    with pytest.raises(EvaluationError, match="archive of one campaign, got 2: ads-aaaaaaaaaaaa, other-"):
        read_log(tmp_path)
    assert read_log(tmp_path / "ads-aaaaaaaaaaaa").frame().equals(whole)
    lines = [json.dumps(event) for event in events]
    for first in (31, 41):  # some of the source's events are in the archive, too
        assert read_log(lines[first - 1 :], tmp_path / "other-bbbbbbbbbbbb").frame().equals(whole)
    header = [json.dumps({"format": "x", "name": "other"})]
    header += [json.dumps({"snapshot": {"extra": json.dumps({"id": "b" * 32})}})]
    (tmp_path / "tail.jsonl").write_text("\n".join(header + lines[40:]))
    assert read_log(tmp_path / "tail.jsonl", tmp_path).frame().equals(whole)
    with pytest.raises(EvaluationError, match="expected event 41 after those of the archive, got 43"):
        read_log(lines[42:], tmp_path / "other-bbbbbbbbbbbb")
    with pytest.raises(EvaluationError, match="got 'asked'; earlier ones may be in an archive"):
        read_log(lines[1:])


class Remote:
    """What `read_log` uses of a client whose server has the last events only."""

    name, id = "other", "b" * 32

    def __init__(self, events, first):
        self._events, self._first = events, first

    def events(self, after, limit):
        if after < self._first - 1:
            raise ArchivedEventsError(f"expected events after {self._first - 1}")
        return self._events[after : after + min(limit, 5)]


def test_a_client_whose_server_has_the_last_events(tmp_path, events):
    archived(tmp_path, events, [40], name="other", learner="b" * 32)
    client = Remote(events, 41)
    assert read_log(client, tmp_path).frame().equals(read_log(events).frame())
    with pytest.raises(EvaluationError, match="give the folder of archives"):
        read_log(client)


def test_damaged_archives_are_named(tmp_path, events):
    archived(tmp_path, events, [7, 30])
    folder = tmp_path / "ads-aaaaaaaaaaaa"
    path = folder / "000000000008-000000000030.jsonl.gz"
    good = gzip.decompress(path.read_bytes())
    for wrong, message in (
        (good.replace(b'"told"', b'"tolt"', 1), "got a damaged one"),
        (good[:-30], "got a damaged one"),
        (good.replace(b'"before": "', b'"before": "0', 1), "expected what follows event 7 of this log"),
        (b"no", "got something else"),
    ):
        path.write_bytes(gzip.compress(wrong))
        with pytest.raises(EvaluationError, match=message):
            read_log(folder)
    path.unlink()
    assert len(read_log(folder).events) == 7
    (folder / "none").mkdir()
    with pytest.raises(EvaluationError, match="from the first one on"):
        read_log([], tmp_path / "ads-aaaaaaaaaaaa" / "none")
    with pytest.raises(EvaluationError, match="expected the folder of an archive, got '/nowhere'"):
        read_log([], "/nowhere")


def test_propensities_are_a_column(events):
    frame = read_log(events).frame()
    chances = np.unique(np.round(frame["propensity"], 10))
    assert chances.tolist() == [0.15, 0.85]  # drawn at random alone, or the learner's
    assert frame.loc[~frame["held_out"], "propensity"].eq(0.85).all()
    assert "propensity" not in read_log(events).frame(propensity=False)


def test_parquet(tmp_path, events):
    log = read_log(events)
    try:
        import pyarrow.parquet
    except ImportError:
        with pytest.raises(MissingDependencyError, match=r"matroid-bandits\[parquet\]"):
            log.to_parquet(tmp_path / "log.parquet")
        pytest.skip("without pyarrow")
    log.to_parquet(tmp_path / "log.parquet")
    back = pyarrow.parquet.read_table(tmp_path / "log.parquet").to_pandas()
    frame = log.frame()
    assert back.columns.tolist() == frame.columns.tolist()
    assert back["tags"].map(json.loads).tolist() == frame["tags"].tolist()
    for column in ("item", "asked_at", "weight", "propensity", "held_out"):
        assert (back[column] == frame[column]).all()
