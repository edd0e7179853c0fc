"""What Prometheus is told: requests, latencies, batch sizes, lag, waiting decisions, alarms."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


#: What is told of each campaign.
GAUGES = {
    "events": "The number of the last event.",
    "lag_events": "Events in the log that the replica has not read.",
    "waiting_decisions": "Decisions that wait for answers.",
    "stopped": "1 where the campaign is stopped, since its log does not replay.",
    "alarms": "Alarms of any kind that were not acknowledged.",
    "drift_alarms": "Changes that a detector found, and that were not acknowledged.",
    "scale_warnings": "1 where weights are wider than the policy's scale, until acknowledged.",
    "replay_alarms": "Differences between a log and its replay by another build that were not acknowledged.",
}


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        prefix = "matroid_bandits"
        self._requests = Counter(
            f"{prefix}_requests", "Requests by endpoint and status.", ["endpoint", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            f"{prefix}_request_seconds",
            "Time to answer.",
            ["endpoint"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._batches = Histogram(
            f"{prefix}_batch_size", "Requests in one transaction.", buckets=_SIZES, registry=self._registry
        )
        self._gauges = {
            name: Gauge(f"{prefix}_{name}", text, ["campaign"], registry=self._registry)
            for name, text in GAUGES.items()
        }
        self._counters: dict[tuple[str, int], Counter] = {}
        self._timers: dict[str, Histogram] = {}

    def served(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request."""
        counter = self._counters.get((endpoint, status))
        if counter is None:
            counter = self._counters[endpoint, status] = self._requests.labels(endpoint, str(status))
            self._timers.setdefault(endpoint, self._seconds.labels(endpoint))
        counter.inc()
        self._timers[endpoint].observe(seconds)

    def committed(self, n: int) -> None:
        """Count a batch."""
        if n:
            self._batches.observe(n)

    def page(self, campaigns: Iterator[tuple[str, dict[str, float]]]) -> bytes:
        """The page that Prometheus reads; campaigns come with the values of `GAUGES`."""
        for gauge in self._gauges.values():
            gauge.clear()
        for campaign, values in campaigns:
            for name, value in values.items():
                self._gauges[name].labels(campaign).set(value)
        return generate_latest(self._registry)
