"""Assignments of rows to columns at least cost where all pairs exist, in int64: the same answers on every machine."""

import numpy as np

from matroid_bandits.kernels.compiling import kernel

#: Beyond every distance.
FAR = np.int64(2**63 - 1)


@kernel
def _match_rows(costs, row_duals, column_duals, column_of, row_of):
    """Match every row of `costs` (n, m), n <= m, to a column of its own at least cost, by shortest augmenting paths.

    ``costs[r, c] - row_duals[r] - column_duals[c]`` is at least 0, and 0 for matched pairs; duals of columns are at
    most 0, and 0 for those that are left. `row_of` is -1 for these.
    """
    n, m = costs.shape
    way = np.empty(m + 1, np.int64)
    least, left = np.empty(m, np.int64), np.empty(m, np.int64)
    path_rows, path_columns, at = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    for j in range(m):
        column_duals[j] = 0
        row_of[j] = -1
    # rows whose cheapest column is free take it
    for i in range(n):
        nearest, column = FAR, -1
        for j in range(m):
            if costs[i, j] < nearest or (costs[i, j] == nearest and row_of[column] >= 0 and row_of[j] < 0):
                nearest, column = costs[i, j], j
        row_duals[i] = nearest
        column_of[i] = -1
        if row_of[column] < 0:
            row_of[column] = i
            column_of[i] = column
    for i in range(n):
        if column_of[i] >= 0:
            continue
        # columns that are not in the tree yet come first in `left`
        for j in range(m):
            least[j] = FAR
            left[j] = j
        n_left, depth, total = m, 0, np.int64(0)
        row, came = i, m
        while True:
            path_rows[depth], path_columns[depth], at[depth] = row, came, total
            depth += 1
            own = total - row_duals[row]
            nearest, place = FAR, -1
            for p in range(n_left):
                j = left[p]
                value = own + costs[row, j] - column_duals[j]
                if value < least[j]:
                    least[j] = value
                    way[j] = came
                if least[j] < nearest or (least[j] == nearest and row_of[j] < 0):
                    nearest, place = least[j], p
            column = left[place]
            total = nearest
            n_left -= 1
            left[place] = left[n_left]
            if row_of[column] < 0:
                break
            row, came = row_of[column], column
        for d in range(depth):
            row_duals[path_rows[d]] += total - at[d]
            if path_columns[d] < m:
                column_duals[path_columns[d]] -= total - at[d]
        while column != m:
            came = way[column]
            row = row_of[came] if came != m else i
            row_of[column], column_of[row] = row, column
            column = came


@kernel
def _settle(rows, columns, is_tight, column_of, owner):
    """Make an assignment of least cost the canonical one, which holds the smallest item in which two of them differ.

    `rows` and `columns` (L,) are those of each item, `is_tight` (n + 1, m) the pairs of reduced cost 0. Row n stands
    for what is left: it owns the free columns, and its tight ones are those that may be free. Changes `column_of`
    (n,) and `owner` (m,).

    An item is taken in if its row, which gives up its column then, can have that column taken by a chain of other
    rows that change theirs. A search for such a chain that fails has found rows that no cycle connects with others:
    these get a label of their own, so at most n searches fail, and at most n succeed.
    """
    n, m = is_tight.shape[0] - 1, is_tight.shape[1]
    label, n_labels = np.zeros(n + 1, np.int64), 1
    is_seen, is_left = np.zeros(n + 1, np.bool_), np.ones(m, np.bool_)
    queue, came, by, around = (
        np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(m, np.int64), np.empty(m, np.int64),
    )  # fmt: skip
    is_done = np.zeros(n, np.bool_)
    n_open = n
    for e in range(rows.shape[0]):
        r, c = rows[e], columns[e]
        if is_done[r] or not is_left[c] or not is_tight[r, c]:
            continue
        old = column_of[r]
        if c != old:
            first = owner[c]
            if label[first] != label[r]:
                continue
            n_around = 0
            for j in range(m):
                if is_left[j] and label[owner[j]] == label[r] and owner[j] != first:
                    around[n_around] = j
                    n_around += 1
            queue[0], came[first], is_seen[first] = first, c, True
            low, high, found = 0, 1, -1
            while low < high and found < 0:
                x = queue[low]
                low += 1
                if is_tight[x, old]:
                    found = x
                    break
                p = 0
                while p < n_around:
                    j = around[p]
                    if not is_tight[x, j]:
                        p += 1
                        continue
                    n_around -= 1
                    around[p] = around[n_around]
                    if not is_seen[owner[j]]:
                        queue[high], came[owner[j]], is_seen[owner[j]] = owner[j], j, True
                        by[j] = x
                        high += 1
            for i in range(high):
                is_seen[queue[i]] = False
            if found < 0:
                for i in range(high):
                    label[queue[i]] = n_labels
                n_labels += 1
                continue
            j, x = old, found
            while True:
                owner[j] = x
                if x < n:
                    column_of[x] = j
                j = came[x]
                if j == c:
                    break
                x = by[j]
            owner[c], column_of[r] = r, c
        is_done[r], is_left[c] = True, False
        n_open -= 1
        if n_open == 0:
            break


@kernel(work=lambda rows, columns, n, m, gains, chosen: gains.shape[0] * n * n * m)
def best_assignments(rows, columns, n, m, gains, chosen):
    """The canonical best assignment of all n rows to m >= n columns for each row of `gains` (R, n m).

    `rows` and `columns` (n m,) are those of each item; all pairs exist. Fills `chosen` (R, n m).
    """
    n_items = rows.shape[0]
    costs = np.empty((n, m), np.int64)
    row_duals, column_duals = np.empty(n, np.int64), np.empty(m, np.int64)
    column_of, owner = np.empty(n, np.int64), np.empty(m, np.int64)
    is_tight = np.empty((n + 1, m), np.bool_)
    for run in range(gains.shape[0]):
        for e in range(n_items):
            costs[rows[e], columns[e]] = -gains[run, e]
        _match_rows(costs, row_duals, column_duals, column_of, owner)
        n_tight = 0
        for r in range(n):
            for c in range(m):
                is_tight[r, c] = costs[r, c] - row_duals[r] - column_duals[c] == 0
                n_tight += is_tight[r, c]
        for c in range(m):
            is_tight[n, c] = column_duals[c] == 0
            if owner[c] < 0:
                owner[c] = n
        if n_tight > n:
            _settle(rows, columns, is_tight, column_of, owner)
        for e in range(n_items):
            chosen[run, e] = column_of[rows[e]] == columns[e]
