"""What a learner believes, and why it chooses what it chooses."""

from __future__ import annotations

from dataclasses import dataclass

from matroid_bandits._typing import FloatArray, IntArray, Label


@dataclass(frozen=True)
class Estimates:
    """What a learner believes of each item, in the units of the weights.

    Attributes
    ----------
    counts : int64 array (L,)
        How often each item's weight was told.
    means : float64 array (L,)
        Mean weight, NaN for items never seen.
    indices : float64 array (L,)
        The optimistic (or sampled) weight that the next decision goes by; infinite for items to be tried first.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM())
    >>> learner.tell(learner.ask(), [0.5])
    >>> learner.estimates().means
    array([0.5, nan, nan])
    """

    counts: IntArray
    means: FloatArray
    indices: FloatArray


@dataclass(frozen=True)
class Explanation:
    """Why an item is in or out of the next basis.

    Attributes
    ----------
    item, label
        The item asked about.
    is_chosen : bool
        Whether the next basis has it.
    index : float
        Its index.
    rivals : int64 array
        The members of its fundamental circuit: the chosen items it could replace. Empty for a chosen item, and for a
        loop, which no basis can have.
    margins : float64 array
        By how much each rival's index is better; an item enters when one of them turns negative.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM())
    >>> learner.observe([0.1, 0.4, 0.2])
    >>> print(learner.explain("c"))
    c is out (index 0.2): it could only replace b (by 0.2)
    """

    item: int
    label: Label
    is_chosen: bool
    index: float
    rivals: IntArray
    rival_labels: tuple[Label, ...]
    margins: FloatArray

    def __str__(self) -> str:
        if self.is_chosen:
            return f"{self.label} is chosen (index {self.index:.4g})"
        if self.rivals.size == 0:
            return f"{self.label} can never be chosen: it is dependent by itself"
        shown = ", ".join(
            f"{label} (by {margin:.4g})" for label, margin in zip(self.rival_labels, self.margins, strict=True)
        )
        return f"{self.label} is out (index {self.index:.4g}): it could only replace {shown}"
