"""Alarms that a person has seen, and those of earlier versions."""

import json

import pytest
import sqlalchemy as sa

from matroid_bandits.exceptions import CampaignStateError, UnknownCampaignError
from matroid_bandits.service import Database, _snapshots, move_campaign
from matroid_bandits.service._replica import alarm_kind
from matroid_bandits.service._tables import campaigns, snapshots
from service_kit import create, serving, until

pytestmark = pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")


def raise_alarm(client, at, decision):
    client.post(f"{at}/ask")
    client.post(f"{at}/tell", json={"decision": decision, "weights": [190.0, 0.0]})


def test_a_command_acknowledges_alarms_and_servers_notice(url):
    database = Database(url)
    with serving(url) as client:
        at = create(client)
        raise_alarm(client, at, 1)
        assert client.get(at).json()["alarms"] == 1
        move_campaign(database, "ads", "acknowledge")
        until(lambda: client.get(f"{at}/alarms").json()["alarms"] == [])
        with pytest.raises(UnknownCampaignError):
            move_campaign(database, "nobody", "acknowledge")
        client.post(f"{at}/archive")
        with pytest.raises(CampaignStateError, match="not archived"):
            move_campaign(database, "ads", "acknowledge")
    database.close()


def test_alarms_of_earlier_versions_can_be_acknowledged(url):
    """They have no kind, rows do not count them, and snapshots have them as marks alone."""
    with serving(url, snapshot_every=2) as client:
        at = create(client)
        raise_alarm(client, at, 1)
        (alarm,) = client.get(f"{at}/alarms").json()["alarms"]
    database = Database(url)
    with database.writing() as connection:
        (row,) = connection.execute(sa.select(snapshots)).all()[-1:]
        extra = json.loads(row.extra)
        del extra["open_alarms"]
        early = dict(row._mapping) | {"extra": json.dumps(extra)}
        early["checksum"] = _snapshots.checksum(early)
        connection.execute(sa.delete(snapshots))
        connection.execute(sa.insert(snapshots).values(early))
        connection.execute(sa.update(campaigns).values(alarms=0))
    with serving(url) as client:
        assert client.get(f"{at}/alarms").json()["alarms"] == [alarm]
        assert client.service.writer.replicas.by_id[1].saved
    database.close()
    assert alarm_kind({"event": "alarm", "text": "wide"}) == "scale"
    assert alarm_kind({"event": "alarm", "text": "weights have changed", "n_alarms": 2}) == "drift"
