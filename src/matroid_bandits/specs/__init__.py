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
from matroid_bandits.specs._change import AutoregressiveSpec, DelaySpec, DriftSpec, ListSpec, WalkSpec
from matroid_bandits.specs._constraint import (
    GraphicSpec,
    GroupSpec,
    LaminarSpec,
    LinearSpec,
    OwnSpec,
    PartitionSpec,
    StoredSpec,
    TableSpec,
    TransversalSpec,
    UniformSpec,
)
from matroid_bandits.specs._environment import (
    BernoulliSpec,
    BetaSpec,
    EnvironmentSpec,
    ExponentialSpec,
    GaussianSpec,
    LinearWeightsSpec,
    ObservationsSpec,
    RowsSpec,
    SamplesSpec,
    TraceSpec,
)
from matroid_bandits.specs._file import SimulationPlan, json_schema, read_file, read_simulation
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._labels import LABEL_SCHEMA, Features, Label, Priors, Weights
from matroid_bandits.specs._numbers import out_of_range
from matroid_bandits.specs._operations import (
    ConstrainedSpec,
    ConstraintSpec,
    ContractSpec,
    DirectSumSpec,
    DualSpec,
    IntersectionSpec,
    OperationSpec,
    RestrictSpec,
    TruncateSpec,
)
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._policy import DetectorSpec, PolicySpec
from matroid_bandits.specs._problem import ProblemSpec, RunsSpec, SimulationSpec
from matroid_bandits.specs._settings import Plan, SettingsSpec, read_answers
from matroid_bandits.specs._shapes import (
    ArborescenceSpec,
    AssignmentSpec,
    KnapsackSpec,
    PathSpec,
    QuotasSpec,
    SetsSpec,
)
from matroid_bandits.specs._spec import Integer, Number, Spec, check_number, parse, parse_json, whole
from matroid_bandits.specs._sweep import DrawnSpec, FamilySpec, ProblemFileSpec, SweepPlan, SweepSpec, read_sweep
from matroid_bandits.specs._values import LawSpec
from matroid_bandits.specs._weights import ContextualSpec, PhasesSpec, PiecewiseSpec, WeightsSpec

__all__ = [
    "LABEL_SCHEMA",
    "LONGEST_ABOUT",
    "LONGEST_TITLE",
    "ArborescenceSpec",
    "AssignmentSpec",
    "AutoregressiveSpec",
    "BernoulliSpec",
    "BetaSpec",
    "CampaignSpec",
    "CampaignTerms",
    "ConstrainedSpec",
    "ConstraintSpec",
    "ContextualSpec",
    "ContractSpec",
    "DelaySpec",
    "DetectorSpec",
    "DirectSumSpec",
    "DrawnSpec",
    "DriftSpec",
    "DualSpec",
    "EnvironmentSpec",
    "ExponentialSpec",
    "FamilySpec",
    "Features",
    "GaussianSpec",
    "GraphicSpec",
    "Ground",
    "GroupSpec",
    "Integer",
    "IntersectionSpec",
    "KnapsackSpec",
    "Label",
    "LaminarSpec",
    "LawSpec",
    "LinearSpec",
    "LinearWeightsSpec",
    "ListSpec",
    "Number",
    "ObservationsSpec",
    "OperationSpec",
    "OwnSpec",
    "PartitionSpec",
    "PathSpec",
    "PhasesSpec",
    "PiecewiseSpec",
    "Place",
    "Plan",
    "PolicySpec",
    "Priors",
    "ProblemFileSpec",
    "ProblemSpec",
    "QuotasSpec",
    "RestrictSpec",
    "RowsSpec",
    "RunsSpec",
    "SamplesSpec",
    "SetsSpec",
    "SettingsSpec",
    "SimulationPlan",
    "SimulationSpec",
    "Spec",
    "StoredSpec",
    "SweepPlan",
    "SweepSpec",
    "TableSpec",
    "TraceSpec",
    "TransversalSpec",
    "TruncateSpec",
    "UniformSpec",
    "WalkSpec",
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
