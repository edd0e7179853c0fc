"""Problems in files: what a TOML file and its CSV files say, read strictly, every mistake with its key or line."""

from matroid_bandits.specs._limits import out_of_range
from matroid_bandits.specs._problem import SimulationSpec, read_simulation

__all__ = ["SimulationSpec", "out_of_range", "read_simulation"]
