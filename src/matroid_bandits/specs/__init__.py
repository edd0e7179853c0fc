"""The vocabulary of TOML files and JSON bodies, as pydantic models: every mistake is told with its key or line.

A model of one's own that speaks the same language derives from `Spec` and uses the others as its fields; `parse`
turns plain data into it. Files are read and code is imported only where `parse` is told that it may.
"""

try:
    import pydantic  # noqa: F401 - the files below need it, and a person without it a sentence
except ImportError as error:  # pragma: no cover - installed wherever the tests run
    from matroid_bandits.exceptions import MissingDependencyError

    raise MissingDependencyError("specs need pydantic: pip install 'matroid-bandits[specs]'") from error

from matroid_bandits.specs._campaign import AnyMatroid, CampaignSpec, StoredSpec, read_campaign
from matroid_bandits.specs._constraint import (
    GraphicSpec,
    GroupSpec,
    LaminarSpec,
    LinearSpec,
    PartitionSpec,
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
    WeightsSpec,
)
from matroid_bandits.specs._file import SimulationPlan, json_schema, read_file, read_simulation
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._labels import Features, Label, Priors, Weights
from matroid_bandits.specs._limits import out_of_range
from matroid_bandits.specs._operations import (
    ConstraintSpec,
    ContractSpec,
    DirectSumSpec,
    DualSpec,
    OperationSpec,
    RestrictSpec,
    TruncateSpec,
)
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._policy import PolicySpec
from matroid_bandits.specs._problem import ProblemSpec, SimulationSpec
from matroid_bandits.specs._spec import Spec, parse, parse_json

__all__ = [
    "AnyMatroid",
    "BernoulliSpec",
    "BetaSpec",
    "CampaignSpec",
    "ConstraintSpec",
    "ContractSpec",
    "DirectSumSpec",
    "DualSpec",
    "EnvironmentSpec",
    "ExponentialSpec",
    "Features",
    "GaussianSpec",
    "GraphicSpec",
    "Ground",
    "GroupSpec",
    "Label",
    "LaminarSpec",
    "LinearSpec",
    "LinearWeightsSpec",
    "ObservationsSpec",
    "OperationSpec",
    "PartitionSpec",
    "Place",
    "PolicySpec",
    "Priors",
    "ProblemSpec",
    "RestrictSpec",
    "RowsSpec",
    "SamplesSpec",
    "SimulationPlan",
    "SimulationSpec",
    "Spec",
    "StoredSpec",
    "TableSpec",
    "TransversalSpec",
    "TruncateSpec",
    "UniformSpec",
    "Weights",
    "WeightsSpec",
    "json_schema",
    "out_of_range",
    "parse",
    "parse_json",
    "read_campaign",
    "read_file",
    "read_simulation",
]
