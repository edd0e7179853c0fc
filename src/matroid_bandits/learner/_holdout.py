"""Which requests are answered by a control, and what a request says of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from matroid_bandits._util.checks import as_flag, as_number
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import MalformedRequestError, PolicyError
from matroid_bandits.policies import Policy, UniformRandom, as_policy, policy_from_dict, policy_to_dict
from matroid_bandits.stream import HOLDOUT, UNIT, Stream

#: Characters of a request's tags as JSON.
MOST_TAGS: Final = 1024


@dataclass(frozen=True)
class Holdout:
    """Settings of a hold-out: the share of requests answered by a control policy, for later evaluation.

    Parameters
    ----------
    share : float, default 0.0
        The probability with which a request is held out.
    by : str, optional
        The name of a tag: either all requests with the same value are held out, or none. When the share is increased,
        held-out values stay so. A request without the tag is drawn independently.
    control : Policy, optional
        The policy that answers held-out requests: by default a random set; `FixedSet` for an editor's set, or for the
        current best set, ``FixedSet(learner.best_basis().labels)``; or another policy, which learns from its own
        decisions alone.
    learns : bool, default True
        Whether the learner's own policy learns from the control's decisions, too.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> shoes = mb.UniformMatroid(3, 1, labels=["boots", "heels", "mocs"])
    >>> learner = mb.Learner(shoes, mb.OMM(), seed=0, holdout=mb.Holdout(0.5, by="visitor"))
    >>> [learner.ask(tags={"visitor": name}).is_held_out for name in ("ann", "bob", "ann", "bob")]
    [False, True, False, True]
    """

    share: float = 0.0
    by: str | None = None
    control: Policy | None = None
    learns: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", as_number("holdout", self.share, 0.0, 1.0, error=PolicyError))
        if self.by is not None and not (isinstance(self.by, str) and self.by):
            raise PolicyError(f"expected the name of a tag, got {shown(self.by)}")
        if isinstance(self.control, UniformRandom):
            object.__setattr__(self, "control", None)  # whose law is known
        elif self.control is not None:
            as_policy(self.control)
        as_flag("learns", self.learns, error=PolicyError)

    def to_dict(self) -> float | dict[str, Any]:
        """Return a plain JSON form: a number where only the share is set."""
        form: dict[str, Any] = {"share": self.share}
        form |= {} if self.by is None else {"by": self.by}
        form |= {} if self.control is None else {"control": policy_to_dict(self.control)}
        form |= {} if self.learns else {"learns": False}
        return form if len(form) > 1 else self.share

    @classmethod
    def of(cls, form: Any) -> Holdout:
        """Make a hold-out from a share, a plain form or another hold-out.

        Examples
        --------
        >>> Holdout.of(0.1) == Holdout.of({"share": 0.1})
        True
        """
        if isinstance(form, Holdout):
            return form
        if not isinstance(form, Mapping):
            return cls(form)
        if not {"share"} <= form.keys() <= {"share", "by", "control", "learns"}:
            raise PolicyError(f"expected a hold-out with its share, by, control and learns; got {shown(form)}")
        control = form.get("control")
        if control is not None and not isinstance(control, Policy):
            control = policy_from_dict(control)
        return cls(form["share"], form.get("by"), control, form.get("learns", True))

    def draws(self, stream: Stream, episode: int, tags: Mapping[str, Any] | None) -> bool:
        """Return whether the request of an episode is held out."""
        if self.share <= 0.0:
            return False
        value = None if self.by is None or tags is None else tags.get(self.by)
        if value is None:
            return bool(stream.with_purpose(HOLDOUT).run_uniform(episode)[0] < self.share)
        return bool(stream.with_purpose(UNIT).run_uniform(_address(value))[0] < self.share)


def _address(value: Any) -> int:
    """Where the random number of a tag's value is found: 48 bits of a hash of its JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")


def read_tags(tags: Any) -> dict[str, Any] | None:
    """What a request says of itself, as it will be read from a log; None for nothing.

    Raises
    ------
    MalformedRequestError
        It is no small JSON object.
    """
    if tags is None or tags == {}:
        return None
    if not isinstance(tags, Mapping) or not all(type(key) is str for key in tags):
        raise MalformedRequestError(f"expected tags as an object of names and values, got {shown(tags)}")
    try:
        text = json.dumps(dict(tags), allow_nan=False, separators=(",", ":"))
        found: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedRequestError(f"expected tags that JSON can hold, got {shown(tags)} ({error})") from None
    if len(text) > MOST_TAGS:
        raise MalformedRequestError(f"expected tags of at most {MOST_TAGS} characters as JSON, got {len(text)}")
    return found
