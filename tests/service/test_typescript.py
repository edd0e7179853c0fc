"""The client in TypeScript: compiled strictly, and run against a server."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from matroid_bandits.service import Database, api_document, create_key, typescript
from service_kit import serving

pytestmark = pytest.mark.compiled

PROGRAM = """
import { Bandits, BanditsError, type AskedEvent, type CampaignSpec, type LoggedEvent } from "./matroid-bandits";

declare const process: { argv: string[]; exit(code: number): never };
const [, , address, key] = process.argv;

function check(holds: boolean, words: string): asserts holds {
  if (!holds) throw new Error(words);
}

async function main(): Promise<void> {
  const bandits = new Bandits(address, { key, timeout: 240_000 });
  check((await bandits.healthz()).status === "alive", "it lives");
  const spec: CampaignSpec = {
    name: "typed",
    matroid: { kind: "uniform", rows: ["a", "b", "c"], rank: 2 },
    policy: "OMM",
  };
  const campaign = await bandits.create(spec);
  check(campaign.rule === "at most 2 items", campaign.rule);
  const decision = await bandits.ask("typed", { exclude: ["a"], token: 60 });
  check(decision.items.length === 2 && decision.decision === 1, "two items");
  const browser = new Bandits(address, { key: decision.token! });
  const told = await browser.tell("typed", { decision: 1, weights: { b: 1.0, c: 0.5 } });
  check(told.told === 2 && !told.waiting, "all is told");
  const estimates = await bandits.estimatesOf("typed", { items: ["b"] });
  check(estimates.means[0] === 1.0, "what was told is known");
  const page = await bandits.events("typed", { after: 1 });
  const kinds = page.events.map((event: LoggedEvent) => event.event);
  check(kinds.join() === "asked,told", kinds.join());
  const asked = page.events[0] as AskedEvent;
  check(asked.decision === 1 && asked.exclude![0] === "a", "events have types");
  try {
    await bandits.ask("nothing");
    check(false, "there is no such campaign");
  } catch (error) {
    check(error instanceof BanditsError && error.status === 404, String(error));
    check(error.name === "UnknownCampaignError", error.name);
  }
  const seen: string[] = [];
  for await (const event of bandits.follow("typed")) {
    seen.push(event.event);
    if (seen.length === 3) break;
  }
  check(seen.join() === "created,asked,told", seen.join());
  await bandits.create({ ...spec, name: "listed", answers: "first-click" });
  const list = await bandits.ask("listed", { order: "explore" });
  check(list.order!.join() === "b,a", list.order!.join());
  const stopped = await bandits.tell("listed", { decision: list.decision!, clicked: "b" });
  check(stopped.told === 1 && !stopped.waiting, "nothing is told of what was not looked at");
  const next = await bandits.ask("listed");
  check((await bandits.tell("listed", { decision: next.decision!, clicked: null })).told === 2, "none was clicked");
  const third = await bandits.ask("listed");
  await bandits.tell("listed", { decision: third.decision!, examined: [third.order![0]] });
  check((await bandits.metrics()).includes("matroid_bandits_decisions_total"), "figures are text");
  console.log("all is well");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
"""


def test_a_client_made_from_the_document_asks_and_tells(tmp_path):
    tsc, node = shutil.which("tsc"), shutil.which("node")
    if tsc is None or node is None:
        pytest.skip("left out: needs node and tsc (apt-get install node-typescript)")
    (tmp_path / "matroid-bandits.ts").write_text(typescript(api_document()))
    (tmp_path / "program.ts").write_text(PROGRAM)
    options = ["--strict", "--target", "es2022", "--module", "commonjs", "--lib", "es2022,dom,dom.iterable"]
    options += ["--skipLibCheck", "--outDir", str(tmp_path / "out")]
    done = subprocess.run([tsc, *options, "program.ts"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout
    url = str(tmp_path / "campaigns.db")
    database = Database(url)
    database.open()
    key = create_key(database, "admin")
    database.close()
    with serving(url, key) as client:
        program = [node, str(Path("out") / "program.js"), str(client.base_url), key]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, "all is well\n"), done.stderr
