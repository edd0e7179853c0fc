"""What a process counts as it goes: read by `_metrics.page` when Prometheus asks."""

from __future__ import annotations

import platform
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector

from matroid_bandits._util.versions import versions

PREFIX = "matroid_bandits"

#: Upper ends of the buckets of operations in one transaction, and of those of seconds.
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

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


class Figures:
    """Counts of a process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        build = {name.replace("-", "_"): version for name, version in versions().items()}
        words = "Versions that this server runs."
        Info(f"{PREFIX}_build", words, registry=registry).info(build | {"machine": platform.machine()})
        words = "Requests in one transaction."
        self.batches = Histogram(f"{PREFIX}_batch_size", words, buckets=SIZES, registry=registry)
        words = "Requests by route and status."
        self._requests = Counter(f"{PREFIX}_requests", words, ["endpoint", "status"], registry=registry)
        name = f"{PREFIX}_request_seconds"
        self._seconds = Histogram(name, "Time to answer.", ["endpoint"], buckets=SECONDS, registry=registry)
        self._served: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._kinds: dict[tuple[str, str], Counter] = {}
        self._counts = {
            name: Counter(f"{PREFIX}_{name}", words, [label] if label else [], registry=registry)
            for name, (words, label) in _COUNTS.items()
        }

    def served(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request."""
        try:
            counter, timer = self._served[endpoint, status]
        except KeyError:
            found = self._requests.labels(endpoint, str(status)), self._seconds.labels(endpoint)
            self._served[endpoint, status] = counter, timer = found
        counter.inc()
        timer.observe(seconds)

    def count(self, name: str, kind: str = "", amount: float = 1) -> None:
        """Count something that is rare."""
        try:
            counter = self._kinds[name, kind]
        except KeyError:
            counter = self._counts[name]
            counter = self._kinds[name, kind] = counter.labels(kind) if kind else counter
        counter.inc(amount)
