"""The best of every cell, found from last time's threshold, is what a full sort finds, whatever the threshold."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matroid_bandits.kernels import selection
from matroid_bandits.kernels.kinetic import lines


def by_sort(row, starts, members, capacities):
    """The best of every cell by sorting it: larger values first, of equals the smaller item."""
    chosen = []
    for b, capacity in enumerate(capacities):
        own = members[starts[b] : starts[b + 1]]
        chosen += sorted(own.tolist(), key=lambda e: (-row[e], e))[:capacity]
    return np.sort(np.array(chosen, np.int64))


def cells_of(sizes, capacities, order):
    """Cells: starts, members, capacities, and whether members ascend."""
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    members = np.array(order, np.int64)
    for lo, hi in pairwise(starts):
        members[lo:hi].sort()
    capacities = np.minimum(np.array(capacities, np.int64), sizes)
    return starts, members, capacities, bool((members == np.arange(members.size)).all())


def fresh_marks(n_runs, cells):
    marks = np.empty((n_runs, cells[2].size, 3))
    selection.clear_marks(marks)
    return marks


def packed(cells):
    """Cells as the kernels take them."""
    starts, members, capacities, is_sorted = cells
    return np.concatenate([[capacities.size, is_sorted], capacities, starts, members])


def room(n_items):
    return np.empty(selection.cell_room(n_items))


def chosen(weights, cells, marks):
    items = np.empty((weights.shape[0], int(cells[2].sum())), np.int64)
    selection.top_of_cells(weights, packed(cells), marks, room(weights.shape[1]), items)
    return np.sort(items)


@st.composite
def random_cells(draw):
    sizes = draw(st.lists(st.integers(1, 90), min_size=1, max_size=3))
    capacities = [draw(st.integers(0, size)) if draw(st.booleans()) else min(size // 9, 9) for size in sizes]
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = sum(sizes)
    return cells_of(sizes, capacities, np.arange(n) if draw(st.booleans()) else rng.permutation(n)), rng


def values(rng, n, kind):
    """Rows with many ties, infinities and both zeros, or with none."""
    if kind == "ties":
        return rng.integers(0, 3, n) / 2.0
    if kind == "odd":
        return rng.choice([np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 5e-324, 1.0], n)
    return rng.standard_normal(n) * 10.0 ** rng.integers(-200, 200)


@settings(max_examples=150, deadline=None)
@given(random_cells(), st.sampled_from(["ties", "odd", "plain"]))
def test_choices_one_after_the_other_are_those_of_a_sort(drawn, kind):
    cells, rng = drawn
    marks = fresh_marks(1, cells)
    row = values(rng, cells[1].size, kind)
    for step in range(12):
        assert np.array_equal(chosen(row[None], cells, marks)[0], by_sort(row, *cells[:3])), step
        moved = rng.random(row.size) < 0.2
        row = np.where(moved, values(rng, row.size, kind), row)
        if step == 8:
            row = values(rng, row.size, "plain")  # another world, where no mark is of any use


@settings(max_examples=150, deadline=None)
@given(random_cells(), st.sampled_from(["ties", "odd", "plain"]), st.data())
def test_no_mark_changes_a_choice(drawn, kind, data):
    cells, rng = drawn
    row = values(rng, cells[1].size, kind)
    marks = fresh_marks(1, cells)
    some = st.sampled_from([-np.inf, np.inf, 0.0, 1e300, *rng.choice(row, 3).tolist()])
    for b in range(marks.shape[1]):
        marks[0, b] = (
            data.draw(some),
            data.draw(st.sampled_from([0.0, 1e-300, 0.01, 1e300])),
            data.draw(st.integers(0, 2)),
        )
    for _ in range(3):
        assert np.array_equal(chosen(row[None], cells, marks)[0], by_sort(row, *cells[:3]))
        assert not np.isnan(marks).any()


def test_indices_of_lines_are_those_of_the_one_formula():
    rng = np.random.default_rng(0)
    for order in (np.arange(300), rng.permutation(300)):
        cells = cells_of([200, 100], [7, 1], order)
        marks, again = fresh_marks(3, cells), fresh_marks(3, cells)
        means, radii = rng.random((3, 300)).round(1), 1.0 / np.sqrt(rng.integers(1, 5, (3, 300)))
        radii[0, :20] = np.inf
        for c in (0.0, 0.5, 0.51, 3.0):
            items, indices = np.empty((3, 8), np.int64), np.empty((3, 300))
            selection.top_of_lines(means, radii, c, packed(cells), marks, room(300), items)
            items.sort()
            lines(means, radii, c, indices)
            assert np.array_equal(items, chosen(indices, cells, again))
            assert np.array_equal(items[0], by_sort(indices[0], *cells[:3]))


@pytest.mark.compiled
def test_a_threshold_that_fits_leaves_few_values_to_rank():
    """While values move slowly, the slack settles where some more than are wanted reach the threshold."""
    rng = np.random.default_rng(1)
    cells = cells_of([2000], [10], np.arange(2000))
    marks, row, found = fresh_marks(1, cells), rng.random(2000), []
    for _ in range(400):
        if np.isfinite(marks[0, 0, 0]):
            found.append(int((row >= marks[0, 0, 0]).sum()))
        items = chosen(row[None], cells, marks)[0]
        assert np.array_equal(items, by_sort(row, *cells[:3]))
        row[items] -= 0.001 * rng.random(10)
        row += 1e-5
    late = np.array(found[-200:])
    assert (late >= 10).mean() > 0.9
    assert np.median(late) <= 32


@pytest.mark.parametrize("kind", ["ties", "infinities", "tails", "ascending"])
def test_two_ways_to_search_find_what_five_do(kind):
    rng = np.random.default_rng(7)
    for n, k in ((40, 3), (40, 39), (700, 90), (3_000, 12)):
        gains = {
            "ties": rng.integers(0, 4, n) / 2,
            "infinities": np.where(rng.random(n) < 0.3, np.inf, rng.random(n)),
            "tails": np.exp(30.0 * rng.standard_normal(n)),
            "ascending": np.arange(n) / 1.0,
        }[kind]
        room = np.empty(1024), np.empty(n), np.empty(n), np.empty(n, np.int64)
        found = [np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)]
        selection._fill_top(gains, k, *room, found[0])
        selection._fill_soon(gains, k, *room, found[1])
        assert np.array_equal(found[0][:k], np.sort(np.argsort(-gains, kind="stable")[:k]))
        assert np.array_equal(found[0][:k], found[1][:k])
