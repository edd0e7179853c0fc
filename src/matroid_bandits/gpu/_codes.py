"""Numbers that kernels and those who call them share."""

from typing import Final

# the index: of lines, epsilon-greedy, pure chance, Thompson sampling with a beta or a normal belief
AFFINE: Final = 0
EPSILON: Final = 1
CHANCE: Final = 2
BETA: Final = 3
NORMAL: Final = 4

# the weights: 0 or 1, exponential above a floor; from DENSE on rows of a table, all entries or those other than 0
BERNOULLI: Final = 0
EXPONENTIAL: Final = 1
DENSE: Final = 2
SPARSE: Final = 3

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

#: The best few are at most so many, and threads at least as many.
MOST_FEW: Final = 64
