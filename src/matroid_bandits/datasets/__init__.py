"""The data of the paper's experiments as labelled problems: the real data where installed, otherwise synthetic
stand-ins.

Data is looked for in the folder named in the call alone, or without one in ``MATROID_BANDITS_DATA`` and the user's
cache folder; where there is none there, stand-ins with the paper's printed figures take its place and say so.
"""

from matroid_bandits.datasets import _printed as printed
from matroid_bandits.datasets._dataset import Dataset
from matroid_bandits.datasets._download import fetch
from matroid_bandits.datasets._folders import DatasetStatus, FileStatus, check, data_folders, list_datasets
from matroid_bandits.datasets._isp import DEFAULT_ISPS, isp, isp_names
from matroid_bandits.datasets._kiva import kiva
from matroid_bandits.datasets._movielens import movielens
from matroid_bandits.datasets._registry import SOURCES, DataFile, Source
from matroid_bandits.datasets._rocketfuel import ROCKETFUEL_ASNS, rocketfuel

__all__ = [
    "DEFAULT_ISPS",
    "ROCKETFUEL_ASNS",
    "SOURCES",
    "DataFile",
    "Dataset",
    "DatasetStatus",
    "FileStatus",
    "Source",
    "check",
    "data_folders",
    "fetch",
    "isp",
    "isp_names",
    "kiva",
    "list_datasets",
    "movielens",
    "printed",
    "rocketfuel",
]
