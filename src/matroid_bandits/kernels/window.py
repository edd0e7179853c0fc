"""The plays of the last episodes, kept in a ring: a row for each episode, whose plays leave when it is used again.

An entry of a row is a number of `codes` (R, C, W) and one of `values` (R, C, W). An item is called by its mark, one
more than its number in `ids` (R, L), which it keeps when the items are renumbered. The code is the mark where the
play was answered (its value is the gain) or closed without an answer (its value is NaN), minus the mark where it
still waits, and 0 where there is no entry; entries fill a row from the left. `order` (R, L) has the items by their
ids. `counts`, `waiting`, `lost` and `sums` (R, L) are the totals of the entries.
"""

import numpy as np

from matroid_bandits.kernels.compiling import kernel

WAITING, ANSWERED, LOST = 0, 1, 2

#: The mark of entries whose item has started anew.
_NO_ITEM = 2**62


@kernel
def _item(mark, ids, order):
    """The item with a mark, -1 where there is none; of one run."""
    id = mark - 1
    if id < ids.shape[0] and ids[id] == id:  # before the items change for the first time
        return id
    low, high = 0, ids.shape[0]
    while low < high:
        middle = (low + high) // 2
        if ids[order[middle]] < id:
            low = middle + 1
        else:
            high = middle
    return order[low] if low < ids.shape[0] and ids[order[low]] == id else -1


@kernel
def enter(runs, items, gains, kind, row, ids, codes, values, counts, waiting, lost, sums, start):
    """Write plays of `items` (n,), each in its run (n,), into a row: those from `start` on.

    A play that waits there already becomes what it is now. Returns the first play that finds no room, or n.
    """
    for i in range(start, items.shape[0]):
        run, e = runs[i], items[i]
        mark = ids[run, e] + 1
        k = 0
        while k < codes.shape[2] and codes[run, row, k] != -mark and codes[run, row, k] != 0:
            k += 1
        if k == codes.shape[2]:
            return i
        if codes[run, row, k] == -mark:
            waiting[run, e] -= 1
        codes[run, row, k] = -mark if kind == WAITING else mark
        if kind == WAITING:
            waiting[run, e] += 1
        elif kind == LOST:
            values[run, row, k] = np.nan
            lost[run, e] += 1
        else:
            values[run, row, k] = gains[i]
            counts[run, e] += 1
            sums[run, e] += gains[i]
    return items.shape[0]


@kernel
def leave(row, ids, order, codes, values, counts, waiting, lost, sums, runs, items):
    """Take the plays of a row out of the totals, and note whose they were in `runs` and `items` (R * W,).

    Returns how many were noted. A sum of no plays is 0, whatever rounding has left of it.
    """
    n = 0
    for run in range(codes.shape[0]):
        for k in range(codes.shape[2]):
            code = codes[run, row, k]
            if code == 0:
                break
            codes[run, row, k] = 0
            e = _item(abs(code), ids[run], order[run])
            if e < 0:
                continue
            if code < 0:
                waiting[run, e] -= 1
            elif np.isnan(values[run, row, k]):
                lost[run, e] -= 1
            else:
                counts[run, e] -= 1
                sums[run, e] -= values[run, row, k]
                if counts[run, e] == 0:
                    sums[run, e] = 0.0
            runs[n], items[n] = run, e
            n += 1
    return n


@kernel
def recount(rows, ids, order, codes, values, first_counts, first_sums, counts, waiting, lost, sums):
    """Add the totals up anew, from what was seen before the first episode and the ring's `rows` (C,) in order."""
    for run in range(codes.shape[0]):
        for e in range(ids.shape[1]):
            counts[run, e] = first_counts[run, e]
            sums[run, e] = first_sums[run, e]
            waiting[run, e] = 0
            lost[run, e] = 0
        for row in rows:
            for k in range(codes.shape[2]):
                code = codes[run, row, k]
                if code == 0:
                    break
                e = _item(abs(code), ids[run], order[run])
                if e < 0:
                    continue
                if code < 0:
                    waiting[run, e] += 1
                elif np.isnan(values[run, row, k]):
                    lost[run, e] += 1
                else:
                    counts[run, e] += 1
                    sums[run, e] += values[run, row, k]


@kernel
def close_all(ids, order, codes, values):
    """Count every waiting play of the items that are there as closed without an answer."""
    for run in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            for k in range(codes.shape[2]):
                if codes[run, row, k] < 0 and _item(-codes[run, row, k], ids[run], order[run]) >= 0:
                    codes[run, row, k] = -codes[run, row, k]
                    values[run, row, k] = np.nan


@kernel
def reopen(runs, items, row, ids, codes, values):
    """Let plays of `items` (n,), each in its run (n,), that count as closed wait again."""
    for i in range(items.shape[0]):
        mark = ids[runs[i], items[i]] + 1
        for k in range(codes.shape[2]):
            if codes[runs[i], row, k] == mark and np.isnan(values[runs[i], row, k]):
                codes[runs[i], row, k] = -mark


@kernel
def disown(runs, items, ids, codes):
    """Let the plays of `items` (n,), each in its run (n,), that do not wait belong to no item."""
    for i in range(items.shape[0]):
        mark = ids[runs[i], items[i]] + 1
        for row in range(codes.shape[1]):
            for k in range(codes.shape[2]):
                if codes[runs[i], row, k] == mark:
                    codes[runs[i], row, k] = _NO_ITEM
