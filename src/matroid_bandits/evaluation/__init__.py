"""Off-policy evaluation from a learner's log: inclusion probabilities, estimators and uplift."""

from matroid_bandits.evaluation._companions import CompanionEffect, companion_effect
from matroid_bandits.evaluation._estimators import Decisions, Estimate, Target, estimate
from matroid_bandits.evaluation._evaluate import Evaluation, evaluate
from matroid_bandits.evaluation._inclusion import Inclusion, inclusion_probabilities
from matroid_bandits.evaluation._log import Event, Log, LoggedDecision, read_log
from matroid_bandits.evaluation._matching import matching_replay
from matroid_bandits.evaluation._table import LoggedTable, read_table
from matroid_bandits.evaluation._uplift import Look, Trace, UpliftSequence
from matroid_bandits.evaluation._windows import (
    UpliftSummary,
    UpliftSums,
    UpliftWindow,
    control_key,
    fixed_set,
    holdout_notes,
    shown_words,
    unit_hash,
)

__all__ = [
    "CompanionEffect",
    "Decisions",
    "Estimate",
    "Evaluation",
    "Event",
    "Inclusion",
    "Log",
    "LoggedDecision",
    "LoggedTable",
    "Look",
    "Target",
    "Trace",
    "UpliftSequence",
    "UpliftSummary",
    "UpliftSums",
    "UpliftWindow",
    "companion_effect",
    "control_key",
    "estimate",
    "evaluate",
    "fixed_set",
    "holdout_notes",
    "inclusion_probabilities",
    "matching_replay",
    "read_log",
    "read_table",
    "shown_words",
    "unit_hash",
]
