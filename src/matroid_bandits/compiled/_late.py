"""Answers that come late: how late each is, what a run knows of plays that wait, and what it learns in the end.

The order of steps is that of `agent.py` and `simulation/_answers.py`: an episode's plays wait, then all answers that
are due are learnt, in the order of their decisions, then of their items.

A run's `queue` is a row of totals of all its gains, as in `kernels.statistics`; the first and the last answer due in
each episode (D, 2), an episode's number taken modulo D; the answers (P, 3), each an item, the episode of its decision
and the next answer due in the same episode; their gains (P,); and how many answers there is a place for so far, and
the first place that is free.
"""

import math

import numpy as np

from matroid_bandits.compiled._frame import COUNTS, believe, enter_plays
from matroid_bandits.kernels import discount, episodes, random, statistics, window
from matroid_bandits.kernels.compiling import called
from matroid_bandits.kernels.forms import BETA, DISCOUNTED, FADING, WINDOW
from matroid_bandits.stream import DELAY

_WORD = np.uint64(0xFFFFFFFF)
_FIRST, _LAST = range(2)
_ITEM, _EPISODE, _NEXT = range(3)
_N_PLACES, _FREE = range(2)
_WAITING, _ANSWERED = window.WAITING, window.ANSWERED

address, uniform_at, geometric = random.address, random.uniform_at, random.geometric
add_gain, exact_mean, radius = statistics.add_gain, statistics.exact_mean, episodes.radius
discounted_wait, discounted_answer = discount.wait, discount.answer


@called
def begin_waiting(queue, weights, is_seen, is_cost):
    """Empty a run's queue; `weights` (L,) are those seen before the first episode."""
    total, due, _, _, places = queue
    for i in range(total.shape[0]):
        total[i] = 0.0
    for i in range(due.shape[0]):
        due[i, _FIRST] = -1
    places[_N_PLACES], places[_FREE] = 0, -1
    if is_seen:
        for e in range(weights.shape[0]):
            add_gain(-weights[e] if is_cost else weights[e], total)


@called
def learn_late(
    policy, row, past, state, queue, delays, everything, items, weights, items_room, gains_room, is_cost, seed, t,
    run, last, is_seen,
):  # fmt: skip
    """Let the plays of an episode wait, and learn all answers that are due in it.

    `past` has the rows of the schedule from episode 1 on, `last` is the last episode, and there is room for the
    answers to a play. Where everything `is_seen` before the first episode, a mean of all gains is not needed, but by
    policies that forget.
    """
    total, due, answers, gains, places = queue
    wait(policy, row, state, total, everything, items, t)
    expect(queue, delays, items, weights, is_cost, seed, t, run, last)
    now = t % due.shape[0]
    place = due[now, _FIRST]
    due[now, _FIRST] = -1
    if policy[0] not in (BETA, FADING, DISCOUNTED, WINDOW):  # the episode of a play does not matter
        sums, counts, means, radii, waiting = state[0], state[1], state[2], state[3], state[5]
        while place >= 0:
            e = answers[place, _ITEM]
            waiting[e] -= 1
            counts[e] += 1
            sums[e] += gains[place]
            means[e] = sums[e] / counts[e]
            radii[e] = radius(counts[e] + waiting[e])
            if not is_seen:
                add_gain(gains[place], total)
            following = answers[place, _NEXT]
            answers[place, _NEXT] = places[_FREE]
            places[_FREE] = place
            place = following
    while place >= 0:
        then, n = answers[place, _EPISODE], 0
        while place >= 0 and answers[place, _EPISODE] == then:
            items_room[n], gains_room[n] = answers[place, _ITEM], gains[place]
            n += 1
            following = answers[place, _NEXT]
            answers[place, _NEXT] = places[_FREE]
            places[_FREE] = place
            place = following
        answer(
            policy, row, past, state, total, everything, items_room[:n], gains_room[:n], is_cost, seed, then, t, run
        )


@called
def expect(queue, delays, items, weights, is_cost, seed, t, run, last):
    """Put the answers to some plays into the queue, but for those that will not come before the end."""
    _, due, answers, gains, places = queue
    fixed, never, rate, firsts = delays
    c1, c2, c3, k0 = address(seed, t, DELAY)
    for k in range(items.shape[0]):
        e = items[k]
        delay = fixed[e]
        for j in range(firsts.shape[0]):
            more = geometric(
                uniform_at(np.uint64(e + firsts[j]) & _WORD, c1, c2, c3, k0, run), never[j, e], rate[j, e]
            )
            delay = -1 if delay < 0 or more < 0 else delay + more
        if delay < 0 or delay > last - t:
            continue
        place = places[_FREE]
        if place >= 0:
            places[_FREE] = answers[place, _NEXT]
        else:
            place = places[_N_PLACES]
            places[_N_PLACES] += 1
        answers[place, _ITEM], answers[place, _EPISODE], answers[place, _NEXT] = e, t, -1
        gains[place] = -weights[k] if is_cost else weights[k]
        then = (t + delay) % due.shape[0]
        if due[then, _FIRST] < 0:
            due[then, _FIRST] = place
        else:
            answers[due[then, _LAST], _NEXT] = place
        due[then, _LAST] = place


@called
def wait(policy, row, state, total, everything, items, t):
    """Count plays that wait, as `kernels.statistics.wait` and the policy's `wait` do: radii narrow at once."""
    kind, n = policy[0], items.shape[0]
    _, counts, means, radii, _, waiting, whole, cells, _, _ = state
    for k in range(n):
        waiting[items[k]] += 1
    if kind == DISCOUNTED:
        n_items = means.shape[0]
        runs, typical, none = np.zeros(n, np.int64), np.full(1, exact_mean(total)), np.empty((0, 0))
        a, b, cell = means.reshape(1, n_items), radii.reshape(1, n_items), cells.reshape(1, n_items, cells.shape[1])
        discounted_wait(runs, items, row[1], row[2], typical, cell, none, a, b)
    elif kind == WINDOW:
        for k in range(n):
            if whole[COUNTS, items[k]] == 0:
                means[items[k]] = exact_mean(total)
        enter_plays(state, everything, items, np.zeros(n), np.int64(_WAITING), t)
    else:
        for k in range(n):
            e = items[k]
            if counts[e] == 0:
                means[e] = exact_mean(total)
            radii[e] = radius(counts[e] + waiting[e])


@called
def answer(policy, row, past, state, total, everything, items, gains, is_cost, seed, then, t, run):
    """Count the gains of plays of episode `then` that waited, as `kernels.statistics.answer` and `observe` do."""
    kind, length, n = policy[0], policy[2], items.shape[0]
    sums, counts, means, radii, _, waiting, _, cells, _, _ = state
    for k in range(n):
        waiting[items[k]] -= 1
        counts[items[k]] += 1
        add_gain(gains[k], total)
    if kind == DISCOUNTED:
        n_items = means.shape[0]
        runs, none = np.zeros(n, np.int64), np.empty((0, 0))
        a, b, cell = means.reshape(1, n_items), radii.reshape(1, n_items), cells.reshape(1, n_items, cells.shape[1])
        shift = row[2] - past[then - 1, 2]
        g = math.ldexp(past[then - 1, 1], int(shift)) if shift < 1000.0 else np.inf
        discounted_answer(runs, items, gains, g, row[2], waiting.reshape(1, n_items), cell, none, a, b)
    elif kind == WINDOW:
        if t - then < length:
            enter_plays(state, everything, items, gains, np.int64(_ANSWERED), then)
    else:
        for k in range(n):
            e = items[k]
            sums[e] += gains[k]
            means[e] = sums[e] / counts[e]
            radii[e] = radius(counts[e] + waiting[e])
        believe(policy, state, items, gains, is_cost, seed, then, t, run)
