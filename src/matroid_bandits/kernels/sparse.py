"""Lookups in compressed sparse rows."""

from matroid_bandits.kernels.compiling import inlined, kernel


@inlined
def entry(indptr, indices, data, row, item):
    """Entry (row, item) of a CSR matrix whose rows have ascending, distinct columns."""
    lo, end = indptr[row], indptr[row + 1]
    hi = end
    while lo < hi:
        middle = (lo + hi) // 2
        if indices[middle] < item:
            lo = middle + 1
        else:
            hi = middle
    return data[lo] if lo < end and indices[lo] == item else 0.0


@kernel
def lookup(indptr, indices, data, rows, items, out):
    """out[r, k] = entry (rows[r], items[r, k]).

    rows (R,) int64; items (R, K) int64, or (1, K) for all rows alike; out (R, K) float64.
    """
    shared = items.shape[0] == 1
    for r in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[r, k] = entry(indptr, indices, data, rows[r], items[0 if shared else r, k])
