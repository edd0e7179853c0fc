"""Tables in terminals of any width."""

import pytest

from matroid_bandits.paper import EXPERIMENTS, run
from matroid_bandits.reporting import open_console
from matroid_bandits.reporting._terminal import table_parts


@pytest.mark.parametrize("width", [20, 60, 100, 300])
def test_narrow_terminals_lose_nothing(no_data, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    console = open_console()
    for name in EXPERIMENTS:
        outcome = run(EXPERIMENTS[name].resized(n_episodes=3, n_runs=2))
        for table in EXPERIMENTS[name].write(outcome).tables:
            parts = list(table_parts(table, width))
            with console.capture() as captured:
                console.print(*parts)
            lines = captured.get().splitlines()
            assert max(map(len, lines)) <= width
            assert (width < 300) or len(parts) == 1
            if width == 20:  # words are broken, columns are still there
                continue
            words = set(captured.get().split())
            for column, cells in zip(table.columns, zip(*table.texts(), strict=True), strict=True):
                for text in (column.group, column.name, *cells):
                    assert set(text.replace("\u00a0", "").split()) <= words
