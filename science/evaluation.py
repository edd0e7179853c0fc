"""Estimators and confidence sequences at full size: how often intervals cover the truth, and how often looks mislead.

    python science/evaluation.py [--logs 400] [--sequences 1000] [--decisions 10000]

Prints six tables: coverage of 95% intervals on logs of OMM with a hold-out; the same where visitors come fifty times
each; logs of Thompson sampling with and without a hold-out; intervals for the uplift that are looked at after every
decision; the same with rare clicks and small hold-outs; and intervals of a window with returning visitors.
Exits with 1 where a figure is not within the bounds beside it. All seeds are fixed.
"""

import argparse
import base64
import sys
import time

import numpy as np

from matroid_bandits.evaluation import Decisions, Target, UpliftSequence, UpliftSums, UpliftWindow, estimate

K, L = 5, 20
MEANS, EVEN = np.linspace(0.6, 0.1, L), np.full(L, 0.35)
TARGETS = {
    "best five": (np.arange(L) < 5) * 1.0,
    "middle five": ((np.arange(L) >= 8) & (np.arange(L) < 13)) * 1.0,
    "worst five": (np.arange(L) >= 15) * 1.0,
    "random set": np.full(L, K / L),
}
AT_ONCE = 50  # logs that are played side by side
BUCKETS = 256  # groups of visitors
failures: list[str] = []


def check(what: str, value: float, low: float, high: float) -> str:
    """A figure with its bounds, which must hold it."""
    if not low <= value <= high:
        failures.append(f"{what}: {value:.4g} is not from {low:g} to {high:g}")
    return f"{value:.3f} [{low:g}, {high:g}]"


class Logs:
    """Decisions of R learners side by side: OMM with scale 0.3 on a uniform matroid, 0/1 weights."""

    def __init__(
        self, means: np.ndarray, share: float, n: int, runs: int, seed: int, keeps_items: bool = True
    ) -> None:
        rng, rows, q = np.random.default_rng(seed), np.arange(runs)[:, None], K / L
        counts, sums = np.zeros((runs, L)), np.zeros((runs, L))
        self.values, self.is_held_out = np.empty((n, runs)), np.empty((n, runs), bool)
        self.uplift = np.empty((n, runs))
        if keeps_items:
            self.items, self.weights = np.empty((n, runs, K), np.int8), np.empty((n, runs, K), np.float32)
            self.propensities = np.empty((n, runs, K))
            self.predictions = np.empty((n, runs, L), np.float32)
        for t in range(n):
            with np.errstate(divide="ignore", invalid="ignore"):
                indices = np.where(counts > 0, sums / counts + 0.3 * np.sqrt(2 * np.log(max(t, 1)) / counts), np.inf)
            learner = np.argsort(-indices, axis=1, kind="stable")[:, :K]
            held_out = rng.random(runs) < share
            drawn = rng.random((runs, L)).argpartition(K, axis=1)[:, :K]
            played = np.where(held_out[:, None], drawn, learner)
            x = (rng.random((runs, K)) < means[played]).astype(float)
            if keeps_items:
                is_in = np.zeros((runs, L), bool)
                is_in[rows, learner] = True
                self.items[t], self.weights[t] = played, x
                self.propensities[t] = share * q + (1 - share) * is_in[rows, played]
                self.predictions[t] = np.where(counts > 0, sums / np.maximum(counts, 1), 0.5)
            self.values[t], self.is_held_out[t] = x.sum(axis=1), held_out
            self.uplift[t] = means[learner].sum(axis=1) - q * means.sum()
            counts[rows, played] += 1
            sums[rows, played] += x

    def decisions(self, run: int) -> Decisions:
        n = self.items.shape[0]
        items = self.items[:, run].astype(np.int64)
        predictions = self.predictions[np.arange(n)[:, None], run, items].ravel().astype(float)
        weights = self.weights[:, run].ravel().astype(float)
        place = np.repeat(np.arange(n), K)
        return Decisions(place, weights, self.propensities[:, run].ravel(), predictions, self.is_held_out[:, run])

    def target(self, run: int, inclusions: np.ndarray) -> Target:
        n, items = self.items.shape[0], self.items[:, run].astype(np.int64)
        predicted = self.predictions[:, run].astype(float) @ inclusions
        return Target(inclusions[items].ravel(), np.full(n, inclusions.sum()), predicted)


def coverage(n_logs: int, n_decisions: int) -> None:
    """How often 95% intervals hold the truth."""
    print(f"\nOMM(0.3), uniform {L} choose {K}, hold-out 0.05, {n_logs} logs of {n_decisions:,} decisions")
    print(f"{'target':12} {'method':6} {'truth':>6} {'bias':>8} {'sd':>6} {'mean se':>7}  covered [bounds]")
    methods = ("iips", "snips", "dr")
    found = {(name, method): [] for name in TARGETS for method in methods}
    for first in range(0, n_logs, AT_ONCE):
        logs = Logs(MEANS, 0.05, n_decisions, min(AT_ONCE, n_logs - first), seed=11_000 + first)
        for run in range(logs.values.shape[1]):
            settled = logs.decisions(run)
            for name, inclusions in TARGETS.items():
                target = logs.target(run, inclusions)
                for method in methods:
                    each = estimate(settled, target, method)
                    found[name, method].append((each.value, each.error))
    pooled = {method: [] for method in methods}
    for (name, method), rows in found.items():
        truth, (values, errors) = float(TARGETS[name] @ MEANS), np.array(rows).T
        covered = np.abs(values - truth) <= 1.959964 * errors
        pooled[method].append(covered)
        bias = values.mean() - truth
        shown = check(f"coverage of {name} by {method}", covered.mean(), 0.915, 0.98)
        print(
            f"{name:12} {method:6} {truth:6.3f} {bias:+8.4f} {values.std(ddof=1):6.4f} {errors.mean():7.4f}  {shown}"
        )
        check(f"bias of {name} by {method}, in standard errors", bias / values.std(ddof=1) * n_logs**0.5, -4.0, 4.0)
    for method in ("snips", "dr"):
        shown = check(f"pooled coverage by {method}", float(np.mean(pooled[method])), 0.93, 0.975)
        print(f"{'pooled':12} {method:6} {'':31} {shown}")


def visitors(n_logs: int) -> None:
    """Fifty visits of each visitor in one mood: errors by visitor cover, errors by decision do not."""
    n_visitors, n_visits, rng = 200, 50, np.random.default_rng(5)
    hits = {"by visitor": 0, "by decision": 0}
    is_control = np.repeat(rng.random((n_logs, n_visitors)) < 0.2, n_visits, axis=1)
    for run in range(n_logs):
        mood = np.repeat(rng.normal(0.0, 0.2, n_visitors), n_visits)
        n, ones = mood.size, np.ones(mood.size)
        x = 0.5 + mood + rng.normal(0.0, 0.2, n)
        place, p = np.arange(n), np.where(is_control[run], 0.2, 0.8)
        target = Target(is_control[run] * 1.0, ones, np.full(n, 0.5))  # what the control would have earned
        for name, units in (("by visitor", np.repeat(np.arange(n_visitors), n_visits)), ("by decision", None)):
            log = Decisions(place, x, p, np.full(n, 0.5), is_control[run], units)
            low, high = estimate(log, target).interval()
            hits[name] += low <= 0.5 <= high
    print(f"\n{n_visitors} visitors, {n_visits} visits each, sticky hold-out 0.2, {n_logs} logs: share covered")
    print(f"errors by visitor   {check('coverage by visitor', hits['by visitor'] / n_logs, 0.915, 0.98)}")
    print(f"errors by decision  {check('coverage by decision', hits['by decision'] / n_logs, 0.0, 0.6)}")


def thompson(n_decisions: int = 1500, runs: int = 40, redraws: int = 200) -> None:
    """Logs of Thompson sampling whose propensities are estimated by redraws, without and with a hold-out."""
    print(f"\nThompson sampling, uniform {L} choose {K}, {runs} logs of {n_decisions:,} decisions, {redraws} redraws")
    print(f"{'hold-out':8} {'target':12} {'truth':>6} {'bias':>8} {'sd':>6}  covered [bounds]")
    q, rng, rows = K / L, np.random.default_rng(8), np.arange(runs)[:, None]
    for share in (0.0, 0.1):
        a, b = np.ones((runs, L)), np.ones((runs, L))
        items = np.empty((n_decisions, runs, K), np.int64)
        weights, p = np.empty(items.shape), np.empty(items.shape)
        for t in range(n_decisions):
            draws = rng.beta(a[:, None], b[:, None], (runs, redraws + 1, L))
            top = np.argpartition(-draws, K, axis=2)[:, :, :K]
            hits = np.zeros((runs, redraws + 1, L))
            np.put_along_axis(hits, top, 1.0, 2)
            held_out = rng.random(runs) < share
            drawn = rng.random((runs, L)).argpartition(K, axis=1)[:, :K]
            items[t] = np.where(held_out[:, None], drawn, top[:, 0])
            count = hits[:, 1:].sum(axis=1)
            chances = (count + 1) / (redraws + 1) if share == 0 else share * q + (1 - share) * count / redraws
            p[t] = chances[rows, items[t]]
            weights[t] = rng.random((runs, K)) < MEANS[items[t]]
            a[rows, items[t]] += weights[t]
            b[rows, items[t]] += 1 - weights[t]
        for name in ("best five", "random set", "worst five"):
            inclusions, found = TARGETS[name], []
            for run in range(runs):
                flat, nothing = items[:, run].ravel(), np.zeros(n_decisions)
                place = np.repeat(np.arange(n_decisions), K)
                log = Decisions(place, weights[:, run].ravel(), p[:, run].ravel(), np.zeros(flat.size), nothing > 0)
                target = Target(inclusions[flat], np.full(n_decisions, inclusions.sum()), nothing)
                each = estimate(log, target, "iips")
                found.append((each.value, each.error))
            truth, (values, errors) = float(inclusions @ MEANS), np.array(found).T
            covered = (np.abs(values - truth) <= 1.959964 * errors).mean()
            bounds = (0.0, 1.0) if name == "best five" else (0.8, 1.0) if share else (0.2, 0.7)
            shown = check(f"Thompson, hold-out {share}, {name}", covered, *bounds)
            bias, sd = values.mean() - truth, values.std(ddof=1)
            print(f"{share:8.2f} {name:12} {truth:6.3f} {bias:+8.3f} {sd:6.3f}  {shown}")


def sequences(n_logs: int, n_decisions: int) -> None:
    """How often an interval that is looked at after every decision misses the truth at least once."""
    print(f"\nLooked at after every decision, hold-out 0.05, {n_logs} logs of {n_decisions:,} decisions")
    print(f"{'interval':24} {'learner':14} {'missed once [bounds]':22} {'half-width at the end':>21} {'found at':>9}")
    bounds = {"sequence": (0.0, 0.05), "exact": (0.0, 0.05), "single": (0.2, 1.0)}
    words = {"sequence": "asymptotic sequence", "exact": "empirical Bernstein", "single": "ordinary (Wald)"}
    for word, means, seed in (("learns", MEANS, 21_000), ("no difference", EVEN, 22_000)):
        missed, widths = dict.fromkeys(bounds, 0), dict.fromkeys(bounds, 0.0)
        first_found, alarms, bets = {name: [] for name in bounds}, 0, []
        for first in range(0, n_logs, 5 * AT_ONCE):
            logs = Logs(means, 0.05, n_decisions, min(5 * AT_ONCE, n_logs - first), seed + first, keeps_items=False)
            truth = np.cumsum(logs.uplift, axis=0) / np.arange(1, n_decisions + 1)[:, None]
            for run in range(logs.values.shape[1]):
                seen = UpliftSequence(0.0, K).trace(logs.values[:, run], logs.is_held_out[:, run], 0.05)
                for name in bounds:
                    low, high = getattr(seen, name).T
                    missed[name] += bool(((truth[:, run] < low) | (truth[:, run] > high)).any())
                    widths[name] += (high[-1] - low[-1]) / 2
                    first_found[name].append(int(np.argmax(low > 0)) + 1 if (low > 0).any() else n_decisions + 1)
                alarms += seen.p_better[-1] < 0.025 if word != "learns" else seen.p_worse[-1] < 0.025
                bets.append(
                    int(np.argmax(seen.p_better < 0.025)) + 1 if seen.p_better[-1] < 0.025 else n_decisions + 1
                )
        for name in bounds:
            shown = check(f"{words[name]} where the learner {word}", missed[name] / n_logs, *bounds[name])
            at = f"{np.median(first_found[name]):9,.0f}" if word == "learns" else ""
            print(f"{words[name]:24} {word:14} {shown:22} {widths[name] / n_logs:21.3f} {at}")
        at = f"{np.median(bets):9,.0f}" if word == "learns" else ""
        shown = check(f"false alarms where the learner {word}", alarms / n_logs, 0.0, 0.025)
        print(f"{'bet (false alarms)':24} {word:14} {shown:22} {'':21} {at}")


def rare_clicks(n_logs: int, n_decisions: int = 20_000) -> None:
    """How often the sequence ever excludes 0 in logs without any difference, and when it begins."""
    print(f"\nNo difference, {n_logs} logs of {n_decisions:,} decisions, looked at after every one")
    print(f"{'hold-out':>8} {'rate':>5}  {'ever excluded 0 [bounds]':24} {'first band, median':>18}")
    most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_logs)
    for share in (0.02, 0.05, 0.1, 0.5):
        for rate in (0.03, 0.1, 0.4):
            rng, missed, firsts = np.random.default_rng([5, int(1000 * share), int(1000 * rate)]), 0, []
            for _ in range(n_logs):
                values, arms = (rng.random(n_decisions) < rate) * 1.0, rng.random(n_decisions) < share
                low, high = UpliftSequence(0.0, 1.0).trace(values, arms, share).sequence.T
                missed += bool(((low > 0.0) | (high < 0.0)).any())
                known = np.isfinite(low)
                firsts.append(int(known.argmax()) + 1 if known.any() else n_decisions + 1)
            shown = check(f"no difference, hold-out {share}, rate {rate}", missed / n_logs, 0.0, most)
            first = np.median(firsts)
            at = f"{first:18,.0f}" if first <= n_decisions else f"{'none':>18}"
            print(f"{share:8.0%} {rate:5.0%}  {shown:24} {at}")


def returning(n_logs: int = 600) -> None:
    """Coverage of the interval of a window where visitors return with lasting tastes: kept together, and not."""
    print(f"\nReturning visitors, {n_logs} logs: coverage of 95% intervals")
    print(f"{'visitors':>8} {'hold-out':>8}  {'by visitor [bounds]':24} {'by decision':>11}")
    wide = 3 * np.sqrt(0.05 * 0.95 / n_logs)
    for n, share in ((2_000, 0.15), (20_000, 0.05), (20_000, 0.15)):
        rng, covered = np.random.default_rng([3, n, int(100 * share)]), np.zeros((2, n_logs))
        for run in range(n_logs):
            visits = rng.poisson(rng.gamma(0.7, 6.0, n))
            arm = rng.random(n) < share
            rate = np.where(arm, 0.04, 0.06) * rng.gamma(1.0, 1.0, n)
            clicks, bucket = rng.binomial(visits, np.minimum(rate, 1.0)), rng.integers(0, BUCKETS, n)
            for k, (unit, groups) in enumerate((("visitor", bucket), (None, None))):
                window = window_of(visits, clicks, arm, unit, groups)
                covered[k, run] = np.nan if window.low is None else window.low <= 0.02 <= window.high
        by_visitor, by_decision = np.nanmean(covered, axis=1)
        shown = check(f"{n} returning visitors, hold-out {share}", by_visitor, 0.95 - wide, 0.95 + wide)
        print(f"{n:8,} {share:8.0%}  {shown:24} {by_decision:11.3f}")


def window_of(
    visits: np.ndarray, clicks: np.ndarray, arm: np.ndarray, unit: str | None, groups: np.ndarray | None
) -> UpliftWindow:
    """The window of one day with clicks by visitor, from sums as a campaign keeps them."""
    arms, buckets = [], np.zeros((2, 2, BUCKETS))
    for k, own in enumerate((~arm, arm)):
        n, s = float(visits[own].sum()), float(clicks[own].sum())
        p = s / n
        spread = n * p * (1 - p)
        arms.append([n, s, spread, spread * (1 - 2 * p), spread * (1 - 3 * p * (1 - p)), n, 0.0])
        if groups is not None:
            buckets[k] = [np.bincount(groups[own], each[own], BUCKETS) for each in (visits, clicks)]
    packed = None if groups is None else base64.b64encode(buckets.astype("<f8").tobytes()).decode()
    form = UpliftSums(unit).to_dict() | {"days": [[0, *arms, packed]]}
    return UpliftSums.from_dict(form).summary(0).windows["7d"]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--decisions", type=int, default=10_000)
    given = parser.parse_args()
    began = time.perf_counter()
    coverage(given.logs, given.decisions)
    visitors(given.logs)
    thompson()
    sequences(given.sequences, given.decisions)
    rare_clicks(given.logs)
    returning()
    print(f"\n{time.perf_counter() - began:.0f} seconds")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
