"""A policy with a detector beside it: items whose weights have changed start anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import forms
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._detectors import CUSUM, Detector
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback
from matroid_bandits.policies._state import State
from matroid_bandits.policies._wrapper import PolicyWrapper


class Restarting(PolicyWrapper):
    """Wrapper that adds change detection: an item whose weights have changed is reset to an unseen one.

    An alarm resets the item's statistics and its detector; other items keep their statistics, and pending plays stay
    pending. (On three problems with five changes in 50,000 episodes, clearing the item alone had a regret of 3,801,
    7,527 and 9,536; clearing all had 7,682, 8,913 and 27,521.) Everything else is delegated to the wrapped policy: an
    affine one uses the same engines.

    Parameters
    ----------
    base : Policy
        How to choose.
    detector : Detector, optional
        The change detector; by default `CUSUM()`, for weights in [0, 1].

    Notes
    -----
    The result of a simulation has the `alarms` of each policy, and so have a learner's `estimates`. Where a belief is
    shared by all items, as with `CombLinUCB`, an alarm makes the whole belief start anew; gains that differ with
    features that come with requests look like changes, so a detector is of little use there.

    A detector sees what is played, so a base that explores too little does not notice that another item has become
    better. For weights in [0, 1] a `scale` of 0.5 is a good start: on a uniform matroid, 6 of 30 items with five
    changes in 50,000 episodes, OMM beside a detector had a regret of about 6,200 with it, 7,600 with 1 and 14,200
    with 0.25.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Restarting(mb.OMM(0.5), mb.CUSUM())
    Restarting(base=OMM(scale=0.5), detector=CUSUM(n_first=200, tolerance=0.1, threshold=20.0, width=1.0))
    """

    def __init__(self, base: Policy, detector: Detector | None = None) -> None:
        if not isinstance(base, Policy) or isinstance(base, Restarting):
            raise PolicyError(f"expected base to be a policy that does not restart by itself, got {shown(base)}")
        if detector is None:
            detector = CUSUM()
        if not isinstance(detector, Detector):
            raise PolicyError(f"expected detector to be a Detector, such as CUSUM(), got {shown(detector)}")
        super().__init__(base)
        self._detector = detector
        self.forgets = True
        self.takes_all = False  # a detector may refuse a gain
        self.takes = base.takes - {"positions"}  # which it would take for changes
        self._own = tuple(
            Memory(f"detector_{name}", dtype=array.dtype, initial=array[0])
            for name, array in detector.prepare((1,)).items()
        ) + tuple(Memory(name, dtype=np.int64) for name in ("n_alarms", "last_alarm"))
        names = {each.name for each in base.memory}
        for each in self._own:
            if each.name in names:
                raise PolicyError(f"expected {base!r} to keep nothing called {each.name!r}, which is a detector's")

    @property
    def detector(self) -> Detector:
        """The change detector that watches every item."""
        return self._detector

    @property
    def memory(self) -> Sequence[Memory]:
        return *self._base.memory, *self._own

    def counted(self, minimize: bool) -> forms.CountForm | None:
        """Return the wrapped policy's form, which resets of items do not change."""
        return super().counted(minimize)

    def observe(self, state: State, feedback: Feedback) -> None:
        """Update the wrapped policy and the detector, and reset the items for which the detector raises an alarm."""
        self._base.observe(state, feedback)
        cells = feedback.runs, feedback.items
        arrays = self._kept(state)
        kept = {name: array[cells] for name, array in arrays.items()}
        is_alarm = self._detector.observe(kept, feedback.gains)
        self._check_alarms(is_alarm, feedback.gains.size)
        for name, values in kept.items():
            arrays[name][cells] = values
        if is_alarm.any():
            runs, items = feedback.runs[is_alarm], feedback.items[is_alarm]
            state.forget(runs, items)
            self._base.forget(state, runs, items)
            for each in self._own[:-2]:
                state.extra[each.name][runs, items] = each.initial
            state.extra["n_alarms"][runs, items] += 1
            state.extra["last_alarm"][runs, items] = 0 if feedback.is_early else feedback.episode

    def check_extra(self, state: State) -> None:
        self._base.check_extra(state)
        n, last = state.extra["n_alarms"], state.extra["last_alarm"]
        is_wrong = (n < 0) | (last < 0) | ((n == 0) & (last > 0))
        if is_wrong.any():
            e = int(is_wrong[0].argmax())
            raise PolicyError(f"expected a number of alarms for item {e} and when the last was, got {n[0, e]}")

    def _kept(self, state: State) -> dict[str, AnyArray]:
        """What the detector keeps, by its own names."""
        return {each.name.removeprefix("detector_"): state.extra[each.name] for each in self._own[:-2]}

    def _check_alarms(self, is_alarm: Any, n: int) -> None:
        is_mask = isinstance(is_alarm, np.ndarray) and is_alarm.dtype == np.bool_ and is_alarm.shape == (n,)
        if not is_mask:
            raise PolicyError(
                f"expected {type(self._detector).__name__}.observe to return a bool for each of {n} gains, got "
                f"{shown(is_alarm)}"
            )
