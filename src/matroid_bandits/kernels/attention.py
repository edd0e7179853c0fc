"""Clicks by item and place: how much each place is looked at, and what clicks say of an item."""

import numpy as np

from matroid_bandits.kernels.compiling import kernel


@kernel
def balance(clicks, shown, n_rounds, attention):
    """Improve the `attention` (R, K) of places from clicks and shows (R, L, K) by item and place, the first being 1.

    Alternates the most likely rates w_e = sum_l clicks / sum_l attention_l shows and attentions sum_e clicks / sum_e
    w_e shows of Poisson clicks, each with half a click in one show more, which keeps both in range.
    """
    n_runs, n_items, n_places = clicks.shape
    for run in range(n_runs):
        w = np.empty(n_items)
        for _ in range(n_rounds):
            for e in range(n_items):
                a, b = 0.5, 1.0
                for k in range(n_places):
                    a += clicks[run, e, k]
                    b += attention[run, k] * shown[run, e, k]
                w[e] = a / b
            for k in range(1, n_places):
                a, b = 0.5, 1.0
                for e in range(n_items):
                    a += clicks[run, e, k]
                    b += w[e] * shown[run, e, k]
                attention[run, k] = min(1.0, a / b)


@kernel
def evidence(clicks, shown, attention, n, looks, total, plays):
    """What clicks and shows (R, L, K) by item and place say of each item (R, L), where places have an `attention`.

    Gives the shows n, the looks to be expected of them, the clicks in total, and the plays: the number of looks that
    would say as much of the rate w, its Fisher information sum_l n_l attention_l / (w (1 - attention_l w)) over that
    of one look, 1 / (w (1 - w)).
    """
    n_runs, n_items, n_places = clicks.shape
    for run in range(n_runs):
        for e in range(n_items):
            count, m, c = 0.0, 0.0, 0.0
            for k in range(n_places):
                count += shown[run, e, k]
                m += attention[run, k] * shown[run, e, k]
                c += clicks[run, e, k]
            w = min(c + 0.5, m + 0.5) / (m + 1.0)
            x = 0.0
            for k in range(n_places):
                if shown[run, e, k] > 0.0:
                    x += attention[run, k] * shown[run, e, k] * ((1.0 - w) / (1.0 - attention[run, k] * w))
            n[run, e], looks[run, e], total[run, e], plays[run, e] = count, m, c, x
