"""Running sums of the difference between a learner's sets and its control's, one decision after the other."""

import numpy as np

from matroid_bandits.kernels.compiling import njit

#: Places in a state: decisions; number and sum of the values of either arm; sums of the increments, of their squares
#: and of their squared distances from the mean before; log wealth of the bets on "better" and "worse", now and at
#: its largest; the least share of either arm.
SIZE = 13
N, N_LEARNER, S_LEARNER, N_CONTROL, S_CONTROL, SUM, SQUARES, VARIATION, BETTER, MOST_BETTER, WORSE, MOST_WORSE = (
    range(12)
)
SHARE = 12


@njit(cache=True, nogil=True)
def advance(state, values, is_control, shares, low, span, trace):
    """Take decisions with values in [low, low + span] into account; `trace` keeps the state after each.

    With h the control's share, m the mean of either arm so far and y the value, the increment is
    ``m_learner - m_control + (y - m_learner) / (1 - h)``, or ``- (y - m_control) / h`` for a control decision. Its
    expectation given the past is what the learner's set is worth beyond the control's.
    """
    for i in range(values.size):
        h = shares[i]
        y = values[i] - low
        learner = (state[S_LEARNER] + span / 2.0) / (state[N_LEARNER] + 1.0)
        control = (state[S_CONTROL] + span / 2.0) / (state[N_CONTROL] + 1.0)
        if is_control[i]:
            d = learner - control - (y - control) / h
            state[N_CONTROL] += 1.0
            state[S_CONTROL] += y
        else:
            d = learner - control + (y - learner) / (1.0 - h)
            state[N_LEARNER] += 1.0
            state[S_LEARNER] += y
        n = state[N]
        mean = state[SUM] / n if n else 0.0
        least = min(h, 1.0 - h)
        # Both bets look at the past alone and risk at most half of what a single increment could lose.
        variance = max(state[SQUARES] / n - mean * mean, 1e-9) if n else (span / least) ** 2
        bet = mean / (variance + mean * mean)
        most = 0.5 * least / span if span > 0.0 else 0.0
        state[BETTER] += np.log1p(min(max(bet, 0.0), most) * d)
        state[WORSE] += np.log1p(-min(max(-bet, 0.0), most) * d)
        state[MOST_BETTER] = max(state[MOST_BETTER], state[BETTER])
        state[MOST_WORSE] = max(state[MOST_WORSE], state[WORSE])
        state[VARIATION] += (d - mean) ** 2
        state[SHARE] = least if n == 0.0 else min(state[SHARE], least)
        state[N] = n + 1.0
        state[SUM] += d
        state[SQUARES] += d * d
        if trace.shape[0]:
            trace[i] = state
