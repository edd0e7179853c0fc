"""Numbers that the GPU's kernels and their callers share; those of policies and worlds are in `kernels.forms`."""

from typing import Final

# what a launch begins with: what the last one left, a look at every item, nothing seen
GO_ON: Final = 0
OBSERVE: Final = 1
EXPLORE: Final = 2

#: As many undecided items are ranked one by one where quotas are filled.
ZONE: Final = 64

# how quotas are filled: the best few of one cell, the best of each cell, any numbers of each
FEW: Final = 0
ONE_EACH: Final = 1
MANY: Final = 2

#: The most that are the best few; threads are at least as many as are chosen.
MOST_FEW: Final = 64
