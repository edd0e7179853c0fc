"""The locks of learners; in a forked process learners may be read and saved, but make no decisions."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar, cast
from weakref import WeakSet

from matroid_bandits.exceptions import ForkError

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner


class Refusal:
    """What takes the place of a lock, and raises where it is to be entered."""

    def __init__(self, text: str) -> None:
        self._text: Final = text

    def __enter__(self) -> NoReturn:
        raise ForkError(self._text)

    def __exit__(self, *_: object) -> None: ...


#: What is entered before a learner is read or changed.
Entrance: TypeAlias = "threading.RLock | Refusal"

_ADVICE: Final = "Make or load it in each child, or let the processes ask one service"
_NO_CHANGES: Final = Refusal(
    "expected a learner that was made or loaded in this process, got one from before the process was forked, which "
    f"would repeat its parent's decisions. {_ADVICE}"
)
_NO_READS: Final = Refusal(
    "expected a learner that was made or loaded in this process, got one that a thread was using when the process "
    f"was forked. {_ADVICE}"
)

_learners: WeakSet[Learner] = WeakSet()

Method = TypeVar("Method", bound=Callable[..., Any])


def _locked(entrance: str) -> Callable[[Method], Method]:
    """A decorator of a learner's methods that run inside one of its entrances."""
    enter = attrgetter(entrance)

    def decorate(method: Method) -> Method:
        @wraps(method)
        def locked(learner: Learner, *args: Any, **kwargs: Any) -> Any:
            with enter(learner):
                return method(learner, *args, **kwargs)

        return cast(Method, locked)

    return decorate


#: Decorators of methods that only read a learner, and of those that may change it, which a forked process is refused.
reading, changing = _locked("_lock"), _locked("_changes")


def give_locks(learner: Learner) -> None:
    """Give a learner its locks: one lock for reads and changes, until its process is forked."""
    learner._lock = learner._changes = threading.RLock()
    _learners.add(learner)


def _refuse_changes() -> None:
    """What a thread of the parent held is held for ever in a child, and may be half-changed."""
    for learner in list(_learners):
        learner._changes = _NO_CHANGES
        if not isinstance(learner._lock, Refusal):
            learner._lock = threading.RLock() if learner._lock.acquire(blocking=False) else _NO_READS


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_refuse_changes)
