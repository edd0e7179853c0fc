"""What Prometheus is told: requests, campaigns, the database, snapshots and replays, the process and its build."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

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
    "refused_connections": ("Connections and requests that were refused before any key was read.", "status"),
}


@dataclass(frozen=True)
class CampaignFigures:
    """What is told of one campaign.

    Attributes
    ----------
    gauges : dict of str to float
        Values of `GAUGES`, those that are known.
    totals : list of float
        Sums since it was created, by the places of a bucket of its history; empty where it is not loaded.
    """

    name: str
    gauges: dict[str, float]
    totals: list[float]


#: What is told of each campaign.
GAUGES = {
    "events": "The number of the last event.",
    "home": "1 where the campaign is at home: its learner is kept, and its log is written, by this server.",
    "lag_events": "Events in the log that the replica has not read.",
    "waiting_decisions": "Pending decisions.",
    "unsaved_events": "Events since the last snapshot.",
    "kept_events": "Events in the database; earlier ones are in archives.",
    "archive_bytes": "Bytes of the files in the archive.",
    "stopped": "1 where the campaign is stopped, since its log does not replay.",
    "alarms": "Alarms of any kind that were not acknowledged.",
    "drift_alarms": "Changes that a detector found, and that were not acknowledged.",
    "scale_warnings": "1 where weights are wider than the policy's scale, until acknowledged.",
    "uplift": "What a set of the learner is worth beyond one of its control, per decision, in gains.",
    "uplift_low": "The lower end of the interval of it that is valid at every look, at 95%.",
    "uplift_high": "Its upper end.",
    "uplift_decisions": "Settled decisions, or values of the hold-out's tag, that it rests on.",
    "replay_alarms": "Differences between a log and its replay by another build that were not acknowledged.",
}


class Metrics:
    """The figures of one process."""

    def __init__(self) -> None:
        self.figures = Figures()

    def committed(self, n: int) -> None:
        """Count a batch."""
        if n:
            self.figures.batches.add(n)

    def form(self, campaigns: Iterable[CampaignFigures], states: dict[str, tuple[str, float]]) -> dict[str, Any]:
        """All figures as JSON; `states` are gauges of the process with what they say."""
        told = [[each.name, each.gauges, each.totals] for each in campaigns]
        return {"pid": os.getpid(), "campaigns": told, "states": states, **self.figures.form()}


def page(forms: list[dict[str, Any]]) -> bytes:
    """The page that Prometheus reads: the sums over the workers of a command; of campaigns, what their homes say."""
    figures, states, campaigns = Figures(), dict[str, tuple[str, float]](), dict[str, CampaignFigures]()
    for form in forms:
        figures.join(form)
        for name, (text, value) in form["states"].items():
            before = states.get(name, (text, value if name in _OF_ALL else 0.0))[1]
            states[name] = text, min(before, value) if name in _OF_ALL else before + value
        for name, gauges, totals in form["campaigns"]:
            known = campaigns.get(name)
            merged = gauges if known is None else _largest(known.gauges, gauges)
            campaigns[name] = CampaignFigures(name, merged, totals or ([] if known is None else known.totals))
    registry = CollectorRegistry()
    registry.register(
        _Collected(
            [
                *_processes([form["pid"] for form in forms]),
                _build(),
                _histogram(figures.batches),
                *_requests(figures),
                *_counts(figures),
                *(GaugeMetricFamily(f"{PREFIX}_{name}", text, value) for name, (text, value) in states.items()),
                *_campaigns([*campaigns.values()]),
            ]
        )
    )
    return generate_latest(registry)


#: What a command is only if all of its workers are; other gauges of workers are summed. Of the database's size each
#: says the same.
_OF_ALL = ("ready", "database_bytes", "database_free_bytes")


def _largest(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return one | {name: max(value, one.get(name, value)) for name, value in other.items()}


def _processes(pids: list[int]) -> Iterator[Metric]:
    """What is told of the processes together: the earliest start, and the sums of the rest."""
    found: dict[str, tuple[Metric, list[float]]] = {}
    for pid in pids:
        for family in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
            found.setdefault(family.name, (family, []))[1].append(family.samples[0].value)
    for name, (family, values) in found.items():
        kind = CounterMetricFamily if family.type == "counter" else GaugeMetricFamily
        yield kind(name, family.documentation, min(values) if name.endswith("start_time_seconds") else sum(values))


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
    """Figures of campaigns, the same on every server that has read the same events: take the largest, not the sum."""

    for name, text in GAUGES.items():
        family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=["campaign"])
        for each in campaigns:
            if name in each.gauges:
                family.add_metric([each.name], each.gauges[name])
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
        ("expired_decisions", "Decisions that were not answered in time.", EXPIRED),
        ("closed_decisions", "Decisions that were closed before all of their answers came.", CLOSED),
    ):
        counter = CounterMetricFamily(f"{PREFIX}_{name}", text, labels=["campaign"])
        for campaign, totals in loaded:
            counter.add_metric([campaign], totals[place])
        yield counter
