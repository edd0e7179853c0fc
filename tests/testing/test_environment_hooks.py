"""What `check_environment` finds in availability and delays."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ContractError
from matroid_bandits.testing import check_environment


class Fair(mb.Environment):
    """Fair coins."""

    def __init__(self):
        super().__init__([0.5] * 6, (0.0, 1.0))

    def draw(self, stream, t, items):
        return np.round(stream.uniform(t, items))


def world(**hooks):
    return type("Broken", (Fair,), hooks)()


def wide(values, stream, n_columns):
    return np.broadcast_to(values, (stream.n_runs, n_columns)).copy()


def test_sound_hooks_pass():
    check_environment(
        world(
            availability=lambda self, stream, t: None if t == 1 else stream.uniform(t, np.arange(6)) < 0.5,
            delays=lambda self, stream, t, items: np.floor(3 * stream.uniform(t, items)).astype(np.int64) - 1,
        ),
        n_draws=200,
    )


def by_batch(self, stream, t):
    return wide(stream.n_runs > 1, stream, 6)


def by_chance(self, stream, t):
    return np.random.default_rng().random((stream.n_runs, 6)) < 0.5


def by_place(self, stream, t, items):
    return wide(np.arange(items.shape[-1]), stream, items.shape[-1])


def by_row(self, stream, t, items):
    return wide(np.arange(stream.n_runs)[:, None], stream, items.shape[-1])


def by_width(self, stream, t, items):
    return wide(items.shape[-1], stream, items.shape[-1])


def now_and_then(self, stream, t, items):
    return None if t == 3 else by_place(self, stream, t, items)


def sorts(self, stream, t, items):
    items[...] = 0
    return wide(0, stream, items.shape[-1])


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"availability": lambda self, stream, t: [True] * 6}, r"Broken\.availability to give bool .* got list"),
        ({"availability": lambda self, stream, t: np.ones(6, bool)}, r"availability .* got bool of shape \(6,\)"),
        ({"availability": by_chance}, r"availability to depend on \(seed, run, t, item\) alone; asked again, item"),
        ({"availability": by_batch}, r"availability to depend on .* alone; asked for run 0 alone, item 0 has False"),
        ({"delays": lambda self, stream, t, items: 3}, r"Broken\.delays to give int64 .* got int"),
        ({"delays": lambda self, stream, t, items: stream.uniform(t, items)}, "delays .* got float64 of shape"),
        ({"delays": by_place}, r"a delay to depend on \(seed, run, t, item\) alone; asked in another order"),
        ({"delays": by_row}, r"a delay to depend on \(seed, run, t, item\) alone; asked for run 1 alone"),
        ({"delays": by_width}, r"a delay to depend on \(seed, run, t, item\) alone; asked with some of the items"),
        ({"delays": now_and_then}, "expected delays to be None in every episode or in none, got both"),
        ({"delays": sorts}, "expected delays to leave the items it is given"),
    ],
)
def test_broken_hooks_are_caught(hooks, message):
    with pytest.raises(ContractError, match=message):
        check_environment(world(**hooks), n_draws=200)
