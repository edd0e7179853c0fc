"""What the race found where weights change, as recorded: the chapter beyond the paper says it too."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from matroid_bandits.paper._race_tables import CLAIMS, losses_in_words
from matroid_bandits.reporting import Block, Cell, Claim, Column, Estimate, Table, Text

#: The heats in which weights do not keep their means.
_HEATS = ("changes", "wandering", "phases")


def recorded() -> dict[str, Any]:
    """The tables and claims of ``matroid-bandits reproduce race`` at its default size, stored with the package."""
    found: dict[str, Any] = json.loads(files("matroid_bandits.paper").joinpath("race.json").read_text("utf-8"))
    return found


def race_blocks() -> list[Block]:
    """What the race found of weights that change: a table, the claims with their verdicts, and where OMM loses."""
    race = recorded()
    texts = {text for heats, text, *_ in CLAIMS if set(heats) <= set(_HEATS)}
    return [
        Text(
            "What the race found. The networks above are one problem of each kind; the race plays many random"
            f" problems. The following was recorded from {race['command']} (version {race['package']}, seed"
            f" {race['seed']}); that command plays the race again."
        ),
        *(_table(race, heat) for heat in _HEATS),
        *(
            Claim(each["claim"], each["verdict"], f"{each['evidence']} Recorded from the race.")
            for each in race["claims"]
            if each["claim"] in texts
        ),
        Text(losses_in_words(race["losses"])),
    ]


def _table(race: dict[str, Any], heat: str) -> Table:
    records = race["tables"][heat]
    keys = [key for key in records[0] if key.endswith(" mean")]
    rows: list[tuple[Cell, ...]] = [
        (record["policy"], *(None if record[key] is None else Estimate(*record[key]) for key in keys))
        for record in records
    ]
    over = " over worlds" if "world" in race["runs"][heat] else ""
    return Table(
        name=f"race-{heat}",
        title=f"The race, recorded: {heat}, dynamic regret",
        columns=(Column("policy", is_text=True), *(Column(key.removesuffix(" mean"), ",.0f") for key in keys)),
        rows=tuple(rows),
        note=f"{race['runs'][heat]} of {race['episodes'][heat]:,} episodes; ± is one standard error{over}.",
    )
