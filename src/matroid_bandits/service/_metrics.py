"""What Prometheus is told: requests, latencies, batch sizes, lag, waiting decisions, alarms."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


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
        self._events = Gauge(
            f"{prefix}_events", "The number of the last event.", ["campaign"], registry=self._registry
        )
        self._lag = Gauge(
            f"{prefix}_lag_events", "Events in the log that the replica has not read.", ["campaign"],
            registry=self._registry,
        )  # fmt: skip
        self._waiting = Gauge(
            f"{prefix}_waiting_decisions", "Decisions that wait for answers.", ["campaign"], registry=self._registry
        )
        self._alarms = Gauge(
            f"{prefix}_alarms", "1 where the campaign is stopped or has an alarm.", ["campaign"],
            registry=self._registry,
        )  # fmt: skip
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

    def page(self, campaigns: Iterator[tuple[str, int, int, int, bool]]) -> bytes:
        """The page that Prometheus reads; campaigns come with last event, lag, waiting decisions and alarm."""
        for gauge in (self._events, self._lag, self._waiting, self._alarms):
            gauge.clear()
        for name, seq, lag, waiting, has_alarm in campaigns:
            self._events.labels(name).set(seq)
            self._lag.labels(name).set(lag)
            self._waiting.labels(name).set(waiting)
            self._alarms.labels(name).set(int(has_alarm))
        return generate_latest(self._registry)
