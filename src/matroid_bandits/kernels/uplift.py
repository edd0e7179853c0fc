"""Running sums of the difference between a learner's sets and its control's, one decision after the other."""

import math

from matroid_bandits.kernels.compiling import kernel

#: Places in a state: decisions; number and sum of the values of either arm; sums of the increments, of their squares
#: and of their squared distances from the mean before; log wealth of the bets on "better" and "worse", now and at
#: its largest; the least share of either arm; sums of the second, third and fourth powers of the distances of the
#: values of either arm from their mean.
SIZE = 19
N, N_LEARNER, S_LEARNER, N_CONTROL, S_CONTROL, SUM, SQUARES, VARIATION, BETTER, MOST_BETTER, WORSE, MOST_WORSE = (
    range(12)
)
SHARE = 12
SECOND_LEARNER, THIRD_LEARNER, FOURTH_LEARNER, SECOND_CONTROL, THIRD_CONTROL, FOURTH_CONTROL = range(13, 19)


@kernel
def spread(state, n, total, second, y):
    """Take a value into account in the sums of powers at `second` and behind it; `n` and `total` are before it."""
    mean = total / n if n else y
    step = (y - mean) / (n + 1.0)
    grown = (y - mean) * step * n
    state[second + 2] += grown * step * step * (n * n - n + 1.0) + 6.0 * step * step * state[second]
    state[second + 2] -= 4.0 * step * state[second + 1]
    state[second + 1] += grown * step * (n - 1.0) - 3.0 * step * state[second]
    state[second] += grown


@kernel
def advance(state, values, is_control, shares, low, span, trace):
    """Take decisions with values in [low, low + span] into account; `trace` keeps the state after each.

    With h the control's share, m the mean of either arm so far and y the value, the increment is
    ``m_learner - m_control + (y - m_learner) / (1 - h)``, or ``- (y - m_control) / h`` for a control decision. Its
    expectation given the past is what the learner's set is worth beyond the control's. Either mean starts from one
    value at the mean of both arms, so that an arm without decisions is not taken for a difference.
    """
    zero = min(max(-low, 0.0), span)
    for i in range(values.size):
        h = shares[i]
        y = values[i] - low
        n = state[N]
        pooled = (state[S_LEARNER] + state[S_CONTROL]) / n if n else zero
        learner = (state[S_LEARNER] + pooled) / (state[N_LEARNER] + 1.0)
        control = (state[S_CONTROL] + pooled) / (state[N_CONTROL] + 1.0)
        if is_control[i]:
            d = learner - control - (y - control) / h
            spread(state, state[N_CONTROL], state[S_CONTROL], SECOND_CONTROL, y)
            state[N_CONTROL] += 1.0
            state[S_CONTROL] += y
        else:
            d = learner - control + (y - learner) / (1.0 - h)
            spread(state, state[N_LEARNER], state[S_LEARNER], SECOND_LEARNER, y)
            state[N_LEARNER] += 1.0
            state[S_LEARNER] += y
        mean = state[SUM] / n if n else 0.0
        least = min(h, 1.0 - h)
        # Both bets look at the past alone and risk at most half of what a single increment could lose.
        widest = span / least
        variance = max(state[SQUARES] / n - mean * mean, 1e-9) if n else widest * widest
        bet = mean / (variance + mean * mean)
        most = 0.5 * least / span if span > 0.0 else 0.0
        state[BETTER] += math.log1p(min(max(bet, 0.0), most) * d)
        state[WORSE] += math.log1p(-min(max(-bet, 0.0), most) * d)
        state[MOST_BETTER] = max(state[MOST_BETTER], state[BETTER])
        state[MOST_WORSE] = max(state[MOST_WORSE], state[WORSE])
        state[VARIATION] += (d - mean) * (d - mean)
        state[SHARE] = least if n == 0.0 else min(state[SHARE], least)
        state[N] = n + 1.0
        state[SUM] += d
        state[SQUARES] += d * d
        if trace.shape[0]:
            for j in range(SIZE):
                trace[i, j] = state[j]
