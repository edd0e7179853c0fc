"""The largest a + sqrt(b) over many points that only linear problems can find, by the upper hull of the points.

A piece is a part of the hull between two of its corners, of which each was the best point for some slope: seven
numbers, (b, a, slope) of the left corner, of the right one, and a bound of a + sqrt(b) over all points between.
"""

import math

import numpy as np

from matroid_bandits.kernels.compiling import kernel

WIDTH = 7
_B0, _A0, _L0, _B1, _A1, _L1, _BOUND = range(WIDTH)

#: Differences that are rounding errors, relative to what is compared.
_TOLERANCE = 1e-12


@kernel
def points(rows, items, sizes, means, variances, b, a):
    """The sums of means and variances over the sets of some rows (n,), in a and b."""
    for k in range(rows.shape[0]):
        a[k], b[k] = 0.0, 0.0
        for j in range(sizes[k]):
            a[k] += means[rows[k], items[k, j]]
            b[k] += variances[rows[k], items[k, j]]


@kernel
def _bound(b0, a0, l0, b1, a1, l1):
    """The largest of the lower of two supporting lines, of slopes -l0 and -l1 in the corners, plus sqrt(b)."""
    best = -np.inf
    for i in range(5):
        if i == 0:
            b = b0
        elif i == 1:
            b = b1
        elif i == 2:
            b = 0.25 / (l0 * l0) if l0 > 0.0 else b0
        elif i == 3:
            b = 0.25 / (l1 * l1) if l1 > 0.0 else b1
        else:
            b = (a1 + l1 * b1 - a0 - l0 * b0) / (l1 - l0) if l1 > l0 else b0
        b = min(max(b, b0), b1)
        best = max(best, min(a0 - l0 * (b - b0), a1 - l1 * (b - b1)) + math.sqrt(b))
    return best


@kernel
def begin(b0, a0, b1, a1, slopes, pieces, n_pieces):
    """One piece for each run, from the corner of slope 0 to that of its largest slope."""
    for r in range(b0.shape[0]):
        n_pieces[r] = 1 if b1[r] > b0[r] else 0
        piece = pieces[r, 0]
        piece[_B0], piece[_A0], piece[_L0] = b0[r], a0[r], 0.0
        piece[_B1], piece[_A1], piece[_L1] = b1[r], a1[r], slopes[r]
        piece[_BOUND] = _bound(b0[r], a0[r], 0.0, b1[r], a1[r], slopes[r])


@kernel
def pick(pieces, n_pieces, values, known, is_open, which, slopes):
    """For each open run the piece with the largest bound and the slope between its corners; others are closed.

    `values` (R,) are the best found, `known` (R,) bounds of what needs no more looking at.
    """
    for r in range(n_pieces.shape[0]):
        if not is_open[r]:
            continue
        best = -1
        for i in range(n_pieces[r]):
            if best < 0 or pieces[r, i, _BOUND] > pieces[r, best, _BOUND]:
                best = i
        least = max(values[r], known[r])
        if best < 0 or pieces[r, best, _BOUND] <= least + _TOLERANCE * (1.0 + abs(least)):
            is_open[r] = False
            continue
        piece = pieces[r, best]
        which[r] = best
        slopes[r] = (piece[_A0] - piece[_A1]) / (piece[_B1] - piece[_B0])


@kernel
def split(rows, b, a, slopes, which, pieces, n_pieces, known, is_open):
    """Put the best points for the slopes of some runs (n,) between the corners of their pieces.

    Where there is nothing between them the piece is an edge of the hull, whose bound is `known`. A run without room
    for another piece is closed; the bounds of its pieces still hold.
    """
    for k in range(rows.shape[0]):
        r, slope = rows[k], slopes[rows[k]]
        piece, last = pieces[r, which[r]], n_pieces[r]
        b0, a0, b1, a1, l1 = piece[_B0], piece[_A0], piece[_B1], piece[_A1], piece[_L1]
        level = a0 + slope * b0
        is_edge = a[k] + slope * b[k] <= level + _TOLERANCE * (1.0 + abs(level)) or not b0 < b[k] < b1
        if is_edge:
            known[r] = max(known[r], _bound(b0, a0, slope, b1, a1, slope))
            for j in range(piece.shape[0]):
                piece[j] = pieces[r, last - 1, j]
            n_pieces[r] = last - 1
            continue
        if last == pieces.shape[1]:
            is_open[r] = False
            continue
        piece[_B1], piece[_A1], piece[_L1] = b[k], a[k], slope
        piece[_BOUND] = _bound(b0, a0, piece[_L0], b[k], a[k], slope)
        other = pieces[r, last]
        other[_B0], other[_A0], other[_L0] = b[k], a[k], slope
        other[_B1], other[_A1], other[_L1] = b1, a1, l1
        other[_BOUND] = _bound(b[k], a[k], slope, b1, a1, l1)
        n_pieces[r] = last + 1


@kernel
def bounds(pieces, n_pieces, values, known, out):
    """What no point exceeds, for each run."""
    for r in range(values.shape[0]):
        out[r] = max(values[r], known[r])
        for i in range(n_pieces[r]):
            out[r] = max(out[r], pieces[r, i, _BOUND])
