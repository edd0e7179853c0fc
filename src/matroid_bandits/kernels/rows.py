"""Rows of different length, in the form of `Matroid.greedy`: completed, split and filtered.

Everywhere `orders` is (R, M) int64, of which the first lengths[r] entries of row r count; no `lengths` (an empty
array) means whole rows. `taken` (P,) int64 are items that every row starts from.
"""

import numpy as np

from matroid_bandits.kernels.compiling import kernel


@kernel
def complete_backwards(orders, lengths, taken, full):
    """Each row of `full` (R, L), read backwards: the taken items, those the row lists, and the rest ascending."""
    n = full.shape[1]
    is_left = np.empty(n, np.bool_)
    for run in range(orders.shape[0]):
        is_left[:] = True
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        place = n - 1
        for i in range(taken.shape[0]):
            full[run, place] = taken[i]
            is_left[taken[i]] = False
            place -= 1
        for i in range(length):
            e = orders[run, i]
            if is_left[e]:
                full[run, place] = e
                is_left[e] = False
                place -= 1
        for e in range(n):
            if is_left[e]:
                full[run, place] = e
                place -= 1


@kernel
def split_rows(orders, lengths, part_of, starts, inside, inside_lengths):
    """What each row lists of every part, in order, numbered from the start of the part on.

    Part i has the items from starts[i] on. Its share of row r fills the first inside_lengths[i, r] cells of
    inside[r, starts[i]:starts[i + 1]].
    """
    inside_lengths[:] = 0
    for run in range(orders.shape[0]):
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        for j in range(length):
            e = orders[run, j]
            i = part_of[e]
            inside[run, starts[i] + inside_lengths[i, run]] = e - starts[i]
            inside_lengths[i, run] += 1


@kernel
def mark(items, sizes, first, start, is_marked):
    """Set is_marked[r, start + e] for the entries e of each row of `items` from `first` on, sizes[r] in all."""
    for run in range(items.shape[0]):
        for i in range(first, sizes[run]):
            is_marked[run, start + items[run, i]] = True


@kernel
def first_other(sizes, size):
    """The first row whose size is another; -1 where all are alike."""
    for run in range(sizes.shape[0]):
        if sizes[run] != size:
            return run
    return -1


@kernel
def keep_marked(orders, lengths, taken, is_marked, limit, items, sizes):
    """The taken items and what each row lists of the marked ones, `sizes[r]` in all and at most `limit`.

    `is_marked` (R, L) bool is False for the taken items.
    """
    n_taken = taken.shape[0]
    for run in range(orders.shape[0]):
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        for i in range(n_taken):
            items[run, i] = taken[i]
        k = n_taken
        for i in range(length):
            if k >= limit:
                break
            e = orders[run, i]
            if is_marked[run, e]:
                items[run, k] = e
                k += 1
        sizes[run] = k
