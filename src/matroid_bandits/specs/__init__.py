"""Models of problem files, campaign files and JSON bodies (pydantic); errors name the key or line of the mistake.

A user's model that speaks the same language derives from `Spec` and uses the others as its fields; `parse`
turns plain data into it. Files are read and code is imported only where `parse` is told that it may.
"""

try:
    import pydantic  # noqa: F401 - the files below need it, and a person without it a sentence
except ImportError as error:  # pragma: no cover - installed wherever the tests run
    from matroid_bandits._util.extras import missing

    raise missing("specs need pydantic", "specs") from error

from matroid_bandits.specs._campaign import (
    LONGEST_ABOUT,
    LONGEST_TITLE,
    CampaignSpec,
    CampaignTerms,
    check_default,
    read_campaign,
)
from matroid_bandits.specs._file import SimulationPlan, json_schema, read_file, read_simulation
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._labels import LABEL_SCHEMA, Features, Label, Priors, Weights
from matroid_bandits.specs._operations import ConstrainedSpec, ConstraintSpec
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._policy import PolicySpec
from matroid_bandits.specs._problem import ProblemSpec, SimulationSpec, out_of_range
from matroid_bandits.specs._settings import Plan, SettingsSpec, read_answers
from matroid_bandits.specs._spec import Integer, Number, Spec, check_number, parse, parse_json, whole
from matroid_bandits.specs._sweep import SweepPlan, SweepSpec, read_sweep
from matroid_bandits.specs._weights import WeightsSpec

__all__ = [
    "LABEL_SCHEMA",
    "LONGEST_ABOUT",
    "LONGEST_TITLE",
    "CampaignSpec",
    "CampaignTerms",
    "ConstrainedSpec",
    "ConstraintSpec",
    "Features",
    "Ground",
    "Integer",
    "Label",
    "Number",
    "Place",
    "Plan",
    "PolicySpec",
    "Priors",
    "ProblemSpec",
    "SettingsSpec",
    "SimulationPlan",
    "SimulationSpec",
    "Spec",
    "SweepPlan",
    "SweepSpec",
    "Weights",
    "WeightsSpec",
    "check_default",
    "check_number",
    "json_schema",
    "out_of_range",
    "parse",
    "parse_json",
    "read_answers",
    "read_campaign",
    "read_file",
    "read_simulation",
    "read_sweep",
    "whole",
]
