"""Lookups in compressed sparse rows."""

from matroid_bandits.kernels.compiling import njit


@njit(cache=True, nogil=True)
def lookup(indptr, indices, data, rows, items, out):
    """out[r, k] = entry (rows[r], items[r, k]) of a CSR matrix whose rows have ascending, distinct columns.

    rows (R,) int64; items (R, K) int64, or (1, K) for all rows alike; out (R, K) float64.
    """
    shared = items.shape[0] == 1
    for r in range(out.shape[0]):
        start, end = indptr[rows[r]], indptr[rows[r] + 1]
        for k in range(out.shape[1]):
            item = items[0 if shared else r, k]
            lo, hi = start, end
            while lo < hi:
                middle = (lo + hi) // 2
                if indices[middle] < item:
                    lo = middle + 1
                else:
                    hi = middle
            out[r, k] = data[lo] if lo < end and indices[lo] == item else 0.0
