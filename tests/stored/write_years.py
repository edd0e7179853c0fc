"""Write the rows of a database of the service, with snapshots: `python write_years.py FILE`, with a version of it.

Two campaigns: one whose answers are clicks alone, so that the rest expires with a default, and one whose detector
found a change. Beside the rows lies what that version did next.
"""

import base64
import json
import sqlite3
import sys
import tempfile
import time

from matroid_bandits.service import Service, Settings
from matroid_bandits.service import _actions as act
from matroid_bandits.service._operation import Operation
from matroid_bandits.service._schemas import TellBody
from matroid_bandits.specs import CampaignSpec, parse

ROWS = [{"item": f"art-{k}", "topic": f"topic-{k % 3}"} for k in range(9)]
MATROID = {"kind": "partition", "category": "topic", "rows": ROWS}
DETECTOR = {"kind": "CUSUM", "n_first": 5, "tolerance": 0.1, "threshold": 1.0}
CAMPAIGNS = {
    "clicks": {"policy": "OMM", "answer_window": 0.4, "default": 0.0},
    "drift": {"policy": {"policy": "Restarting", "base": {"policy": "OMM"}, "detector": DETECTOR}, "holdout": 0.1},
}
TABLES = ("campaigns", "events", "requests", "snapshots")


def ask(service, name, n):
    answer = service.call(Operation(act.ask({}), name, "ask", f"{name} ask {n}", f"{n:032}"))
    return json.loads(answer.body)


def tell(service, name, decision, weights):
    body = TellBody(decision=decision, weights=weights)
    service.call(Operation(act.tell(body), name, "change", f"{name} tell {decision}", f"{decision:032}"))


def write(file):
    database = tempfile.mkdtemp() + "/campaigns.db"
    service = Service(Settings(db=database, tick=0.1, snapshot_every=25))
    service.start()
    for name, more in CAMPAIGNS.items():
        service.create(parse(CampaignSpec, {"name": name, "matroid": MATROID, "seed": 3, **more}))
    for n in range(1, 41):
        decision = ask(service, "clicks", n)
        if n % 4 == 0:
            tell(service, "clicks", decision["decision"], {decision["items"][n % 3]: 1.0})
        decision = ask(service, "drift", n)
        late = float(n > 20)
        tell(service, "drift", decision["decision"], {item: late * (item < "art-5") for item in decision["items"]})
    time.sleep(1.5)
    for n in range(41, 46):
        ask(service, "drift", n)
    service.stop()
    tables = dump(database)
    service = Service(Settings(db=database, tick=0.1))
    service.start()
    after = {name: [ask(service, name, 100 + n)["items"] for n in range(3)] for name in CAMPAIGNS}
    service.stop()
    with open(file, "w") as target:
        json.dump({"tables": tables, "next": after}, target)


def dump(database):
    connection = sqlite3.connect(database)
    connection.row_factory = sqlite3.Row
    tables = {}
    for name in TABLES:
        rows = [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]
        for row in rows:
            row |= {key: {"base64": base64.b64encode(v).decode()} for key, v in row.items() if isinstance(v, bytes)}
        tables[name] = rows
    connection.close()
    return tables


if __name__ == "__main__":
    write(sys.argv[1])
