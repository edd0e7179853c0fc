"""What Prometheus is told: requests, campaigns, the database, snapshots and replays, the process and its build."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from matroid_bandits.service._figures import PREFIX, Figures
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


def page(campaigns: list[CampaignFigures], states: dict[str, tuple[str, float]], figures: Figures) -> bytes:
    """The page that Prometheus reads; `states` are gauges of the process with what they say."""
    gauges = (GaugeMetricFamily(f"{PREFIX}_{name}", text, value) for name, (text, value) in states.items())
    families = [*figures.registry.collect(), *gauges, *_campaigns(campaigns)]
    for family in families:  # but for when each count began
        family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
    return generate_latest(_Collected(families))


class _Collected(CollectorRegistry):
    """Families that were made for a page."""

    def __init__(self, families: list[Metric]) -> None:
        super().__init__()
        self._families = families

    def collect(self) -> list[Metric]:
        """All of them."""
        return self._families


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
