"""What Prometheus is told: requests, campaigns, the database, snapshots and replays, the process and its build."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from matroid_bandits._util.versions import versions
from matroid_bandits.service._figures import SECONDS, SIZES, Figures, Timer
from matroid_bandits.service._history import (
    ASKED,
    CLOSED,
    EXPIRED,
    HELD_OUT,
    HELD_SHARE,
    HELD_WEIGHT,
    SETTLED,
    SHARE,
    TOLD,
    WEIGHT,
)

PREFIX = "matroid_bandits"

#: What is counted by name alone or by kind, see `Figures.count`.
_COUNTS = {
    "database_errors": ("Statements and transactions that the database did not take.", "kind"),
    "snapshots": ("Snapshots of campaigns that were written, or could not be.", "result"),
    "replayed_events": ("Events of logs that were read and applied: at the start, and those of other servers.", ""),
    "replay_seconds": ("Seconds that took.", ""),
    "loaded_campaigns": ("Campaigns that were loaded.", ""),
    "unknown_items": ("Names in exclude and available of items that are not there, which were ignored.", "campaign"),
    "slow_requests": ("Requests that took longer than --slow.", ""),
    "wrong_keys": ("Requests and logins with a key that is not known here, or without one.", "kind"),
    "passed_on_requests": ("Requests that were passed on to the holder of a lease, or could not be.", "result"),
    "refused_connections": ("Connections and requests that were refused before any key was read.", "status"),
}


@dataclass(frozen=True)
class CampaignFigures:
    """What is told of one campaign."""

    name: str
    gauges: dict[str, float]
    totals: list[float]


#: What is told of each campaign.
GAUGES = {
    "events": "The number of the last event.",
    "leased": "1 where this server has the campaign's lease: it keeps the learner, and requests go to it.",
    "lag_events": "Events in the log that the replica has not read.",
    "waiting_decisions": "Pending decisions.",
    "unsaved_events": "Events since the last snapshot.",
    "kept_events": "Events in the database; earlier ones are in archives.",
    "archive_bytes": "Bytes of the files in the archive.",
    "stopped": "1 where the campaign is stopped, since its log does not replay.",
    "alarms": "Alarms of any kind that were not acknowledged.",
    "drift_alarms": "Changes that a detector found, and that were not acknowledged.",
    "scale_warnings": "1 where the policy's scale is too small for the weights, until acknowledged.",
    "replay_alarms": "Differences between a log and its replay by another build that were not acknowledged.",
    "spent": "What decisions have cost, of a campaign with a budget per decision.",
    "spent_decisions": "How many decisions that is.",
    "budget_per_decision": "What a decision may cost on average.",
    "uplift_earned": "The uplift per decision since the start, times the learner's decisions.",
    "uplift_holdout_cost": "The uplift per decision since the start, times the control's decisions.",
}

#: The gauges of what was spent, in the order of `Spending`.
SPENDING = ("spent", "spent_decisions", "budget_per_decision")

#: What is told of each campaign by window: 7d and 28d up to today, start, and policy since its last change; and
#: headline, which is that of the sentence.
BY_WINDOW = {
    "uplift_learner_decisions": "Settled decisions of the learner that were asked in the window.",
    "uplift_control_decisions": "Settled decisions of the control that were asked in the window.",
    "uplift_lost_decisions": "Decisions asked in the window that were closed without an answer, which do not count.",
    "uplift_per_decision": "Average value of the learner's decisions less that of the control's, in gains.",
    "uplift_per_decision_low": "The lower end of its 95% interval.",
    "uplift_per_decision_high": "The upper end of its 95% interval.",
    "uplift_ratio": "The uplift per decision as a share of the control's average.",
    "uplift_ratio_low": "The lower end of its 95% interval.",
    "uplift_ratio_high": "The upper end of its 95% interval.",
}


class Metrics:
    """The figures of one process."""

    def __init__(self) -> None:
        self.figures = Figures()

    def committed(self, n: int) -> None:
        """Count a batch."""
        if n:
            self.figures.batches.add(n)


def page(campaigns: list[CampaignFigures], states: dict[str, tuple[str, float]], figures: Figures) -> bytes:
    """The page that Prometheus reads; `states` are gauges of the process with what they say."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(
        _Collected(
            [
                _build(),
                _histogram(figures.batches),
                *_requests(figures),
                *_counts(figures),
                *(GaugeMetricFamily(f"{PREFIX}_{name}", text, value) for name, (text, value) in states.items()),
                *_campaigns(campaigns),
            ]
        )
    )
    return generate_latest(registry)


def _histogram(batches: Timer) -> Metric:
    family = HistogramMetricFamily(f"{PREFIX}_batch_size", "Requests in one transaction.")
    ends = [*(str(float(size)) for size in SIZES), "+Inf"]
    family.add_metric([], [*zip(ends, map(float, accumulate(batches.counts)), strict=True)], batches.total)
    return family


class _Collected(Collector):
    """Families that are made when a page is asked for."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def _build() -> Metric:
    found = {name.replace("-", "_"): version for name, version in versions().items()}
    return InfoMetricFamily(
        f"{PREFIX}_build", "Versions that this server runs.", found | {"machine": platform.machine()}
    )


def _requests(figures: Figures) -> Iterator[Metric]:
    answered = CounterMetricFamily(
        f"{PREFIX}_requests", "Requests by route and status.", labels=["endpoint", "status"]
    )
    for (endpoint, status), n in [*figures.requests.items()]:
        answered.add_metric([endpoint, str(status)], n)
    yield answered
    seconds = HistogramMetricFamily(f"{PREFIX}_request_seconds", "Time to answer.", labels=["endpoint"])
    ends = [*map(str, SECONDS), "+Inf"]
    for endpoint, timer in [*figures.timers.items()]:
        buckets = [*zip(ends, map(float, accumulate(timer.counts)), strict=True)]
        seconds.add_metric([endpoint], buckets, timer.total)
    yield seconds


def _counts(figures: Figures) -> Iterator[Metric]:
    counted = dict(figures.counts)
    for name, (text, label) in _COUNTS.items():
        family = CounterMetricFamily(f"{PREFIX}_{name}", text, labels=[label] if label else [])
        for kind in sorted(kind for given, kind in counted if given == name) or ([""] if not label else []):
            family.add_metric([kind] if label else [], counted.get((name, kind), 0))
        yield family


def _campaigns(campaigns: list[CampaignFigures]) -> Iterator[Metric]:
    """Figures of campaigns, each from the server that has its lease."""

    for name, text in GAUGES.items():
        family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=["campaign"])
        for each in campaigns:
            if name in each.gauges:
                family.add_metric([each.name], each.gauges[name])
        yield family
    for name, text in BY_WINDOW.items():
        family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=["campaign", "window"])
        for each in campaigns:
            for key, value in each.gauges.items():
                if key.startswith(f"{name}/"):
                    family.add_metric([each.name, key.removeprefix(f"{name}/")], value)
        yield family
    loaded = [(each.name, each.totals) for each in campaigns if each.totals]

    decisions = CounterMetricFamily(f"{PREFIX}_decisions", "Decisions made.", labels=["campaign", "held_out"])
    answered = CounterMetricFamily(
        f"{PREFIX}_answered_decisions", "Decisions answered; a part of one counts as that part.",
        labels=["campaign", "held_out"],
    )  # fmt: skip
    # Weights may be negative, so this is no counter; its increase over that of answered decisions is the average.
    weight = GaugeMetricFamily(
        f"{PREFIX}_weight_sum", "Sum of the weights that were learnt.", labels=["campaign", "held_out"]
    )
    both: list[tuple[CounterMetricFamily | GaugeMetricFamily, int, int]] = [
        (decisions, ASKED, HELD_OUT),
        (answered, SHARE, HELD_SHARE),
        (weight, WEIGHT, HELD_WEIGHT),
    ]
    for told, total, held in both:
        for campaign, totals in loaded:
            told.add_metric([campaign, "false"], totals[total] - totals[held])
            told.add_metric([campaign, "true"], totals[held])
        yield told
    for name, text, place in (
        ("items_told", "Items whose weights were told.", TOLD),
        ("expired_decisions", "Decisions that were not answered in time, where answers are of all items.", EXPIRED),
        ("settled_decisions", "Decisions whose window has ended, where answers are of clicks.", SETTLED),
        ("closed_decisions", "Decisions that were closed before all of their answers came.", CLOSED),
    ):
        counter = CounterMetricFamily(f"{PREFIX}_{name}", text, labels=["campaign"])
        for campaign, totals in loaded:
            counter.add_metric([campaign], totals[place])
        yield counter
