"""Greedy orders kept from one episode to the next: nearly sorted, so repaired rather than sorted."""

import numpy as np

from matroid_bandits.kernels.compiling import inlined, kernel


@inlined
def repair_row(classes, starts, members, U, budget, values, order):
    """Bring an order of classes up to date by insertion, and name each class's best item in `order`.

    Class c has the items members[starts[c]:starts[c + 1]], ascending; of several only the best can be chosen, so
    it stands for all. `classes` (C,) is last episode's order, `U` (L,) the indices, `order` (C,) gets items; larger
    index first, ties by smaller item. False where that needs more than `budget` moves: it is given up, and both stay
    permutations, in step with each other. `values` (C,) float64 is room.
    """
    n = classes.shape[0]
    for i in range(n):
        c = np.uint64(classes[i])
        best = members[starts[c]]
        value = U[np.uint64(best)]
        for j in range(starts[c] + 1, starts[c + np.uint64(1)]):
            if U[np.uint64(members[j])] > value:
                best = members[j]
                value = U[np.uint64(best)]
        order[i], values[i] = best, value
    left = budget
    for i in range(1, n):
        value, item, c = values[i], order[i], classes[i]
        j = i - 1
        while j >= 0 and (values[j] < value or (values[j] == value and order[j] > item)):
            values[j + 1], order[j + 1], classes[j + 1] = values[j], order[j], classes[j]
            j -= 1
        values[j + 1], order[j + 1], classes[j + 1] = value, item, c
        left -= i - 1 - j
        if left < 0:
            return False
    return True


@kernel
def repair(class_orders, starts, members, indices, budget, orders, is_spent):
    """`repair_row` for each row of `class_orders` (R, C), `indices` (R, L) and `orders` (R, C).

    A row that was given up is marked in `is_spent` (R,).
    """
    values = np.empty(class_orders.shape[1], np.float64)
    for run in range(class_orders.shape[0]):
        classes, order = class_orders[run], orders[run]
        is_spent[run] = not repair_row(classes, starts, members, indices[run], budget, values, order)
