"""Plays and gains that fade by a factor an episode, in scaled form: what comes later counts more, nothing shrinks.

Per run and item a cell (7,) float64 holds the weight of the answered plays, the total of their gains, the weights of
the plays that wait and of those closed without an answer, the weight of a prior, how many plays wait in it, and by
which power of two all weights have been divided so far. An item's line is its mean, gains / plays, and its radius,
1 / sqrt(plays).
"""

import math

import numpy as np

from matroid_bandits.kernels.compiling import kernel

PLAYS, SUMS, WAITING, LOST, PRIOR, N_WAITING, SHIFT = range(7)
#: How many numbers a cell has.
WIDTH = 7
#: Weights below this have faded altogether.
LEAST = 2.0**-900


@kernel
def _catch_up(cell, shift):
    """Divide the weights of a cell by powers of two until they have been divided by 2^shift since the start."""
    if cell[SHIFT] != shift:
        factor = math.ldexp(1.0, int(cell[SHIFT] - shift))
        cell[PLAYS] *= factor
        cell[SUMS] *= factor
        cell[WAITING] *= factor
        cell[LOST] *= factor
        cell[PRIOR] *= factor
        cell[SHIFT] = shift


@kernel
def _release(cell, weight):
    """Take one waiting play out of a cell."""
    cell[N_WAITING] -= 1.0
    cell[WAITING] = max(cell[WAITING] - weight, 0.0) if cell[N_WAITING] > 0.0 else 0.0


@kernel
def _line(run, e, cell, prior_means, means, radii):
    """Bring the mean and the radius of one item up to date with its cell.

    An item whose answers have faded altogether counts as never answered. Such a one keeps its mean, which was set
    when it was asked for.
    """
    n0 = cell[PRIOR]
    if cell[PLAYS] + n0 >= LEAST:
        if n0 > 0.0:
            means[run, e] = (cell[SUMS] + n0 * prior_means[run, e]) / (cell[PLAYS] + n0)
            radii[run, e] = 1.0 / math.sqrt(cell[PLAYS] + cell[WAITING] + n0)
        else:
            means[run, e] = cell[SUMS] / cell[PLAYS]
            radii[run, e] = 1.0 / math.sqrt(cell[PLAYS] + cell[WAITING])
        return
    cell[PLAYS] = cell[SUMS] = cell[PRIOR] = 0.0
    asked = cell[WAITING] + cell[LOST]
    if asked >= LEAST:
        radii[run, e] = 1.0 / math.sqrt(asked)
    else:
        means[run, e], radii[run, e] = 0.0, np.inf


@kernel
def answer(runs, items, gains, g, shift, waiting, cells, prior_means, means, radii):
    """Count the gain (n,) of each of `items` (n,) in its run (n,), of plays that weigh 1/g.

    `waiting` (R, L) says how many plays still wait; where a cell has more, the play that is answered was one of them.
    """
    weight = 1.0 / g
    for i in range(items.shape[0]):
        run, e = runs[i], items[i]
        cell = cells[run, e]
        _catch_up(cell, shift)
        if cell[N_WAITING] > 0.0 and cell[N_WAITING] > waiting[run, e]:
            _release(cell, weight)
        cell[PLAYS] += weight
        cell[SUMS] += gains[i] / g
        _line(run, e, cell, prior_means, means, radii)


@kernel
def wait(runs, items, g, shift, typical, cells, prior_means, means, radii):
    """Count a play of each of `items` (n,) in its run (n,) that weighs 1/g and waits for an answer.

    An item without answers takes the mean of its run, `typical` (R,).
    """
    for i in range(items.shape[0]):
        run, e = runs[i], items[i]
        cell = cells[run, e]
        _catch_up(cell, shift)
        if cell[PLAYS] < LEAST:
            means[run, e] = typical[run]
        cell[WAITING] += 1.0 / g
        cell[N_WAITING] += 1.0
        _line(run, e, cell, prior_means, means, radii)


@kernel
def drop(runs, items, g, shift, cells, prior_means, means, radii):
    """Take back a waiting play of each of `items` (n,) in its run (n,) that weighs 1/g and gets no answer."""
    for i in range(items.shape[0]):
        run, e = runs[i], items[i]
        cell = cells[run, e]
        _catch_up(cell, shift)
        _release(cell, 1.0 / g)
        cell[LOST] += 1.0 / g
        _line(run, e, cell, prior_means, means, radii)


@kernel
def update(shift, cells, prior_means, means, radii):
    """Bring every cell to the present power of two, and every line up to date with its cell."""
    for run in range(means.shape[0]):
        for e in range(means.shape[1]):
            cell = cells[run, e]
            _catch_up(cell, shift)
            _line(run, e, cell, prior_means, means, radii)


@kernel
def powers(gamma, g, exponent, mantissas, exponents):
    """Fill in g 2^exponent and its products with gamma, gamma^2, ..., each rounded; returns the next of them."""
    for i in range(mantissas.shape[0]):
        mantissas[i], exponents[i] = g, exponent
        g *= gamma
        while g < 2.0**-60:
            g *= 2.0**60
            exponent -= 60
    return g, exponent
