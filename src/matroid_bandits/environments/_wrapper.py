"""What environments around another environment share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.environments._base import Environment
from matroid_bandits.environments._hooks import availability_of, delays_of, features_of, means_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import Stream

if TYPE_CHECKING:
    from matroid_bandits.environments._lists import ListEnvironment


class Wrapper(Environment):
    """Another environment as it is; a subclass changes what it is about.

    Parameters
    ----------
    environment : Environment
        The other one.
    """

    def __init__(self, environment: Environment) -> None:
        if not isinstance(environment, Environment):
            hint = " (the class; an instance is needed)" if isinstance(environment, type) else ""
            raise InvalidEnvironmentError(f"expected an Environment to wrap; got {environment!r}{hint}")
        means = environment.mean_weights if environment.is_stationary else None
        super().__init__(means, environment.support, n_items=environment.n_items, labels=environment.labels)
        self._environment = environment
        self.n_features = environment.n_features
        # where the draws of the item numbers begin: wrappers of one kind inside each other share no random number
        self._first = _depth(environment, type(self)) * self.n_items

    @property
    def environment(self) -> Environment:
        """The wrapped environment."""
        return self._environment

    @property
    def inner(self) -> tuple[Environment, ...]:
        """The environments that this one is made of."""
        return (self._environment,)

    @property
    def lists(self) -> ListEnvironment | None:
        return self._environment.lists

    @property
    def is_stationary(self) -> bool:
        return self._environment.is_stationary and type(self).means is Wrapper.means

    def means(self, t: int, stream: Stream) -> FloatArray | None:
        return means_of(self._environment, t, stream)

    def features(self, stream: Stream, t: int) -> FloatArray | None:
        return features_of(self._environment, stream, t)

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        return self._environment.draw(stream, t, items)

    def availability(self, stream: Stream, t: int) -> BoolArray | None:
        return availability_of(self._environment, stream, t)

    def delays(self, stream: Stream, t: int, items: IntArray) -> IntArray | None:
        return delays_of(self._environment, stream, t, items)


def has_hook(environment: Environment, hook: Literal["availability", "delays"]) -> bool:
    """Return whether an environment, or one that it wraps, overrides `availability` or `delays`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.environments import has_hook
    >>> world = mb.DelayedEnvironment(mb.BernoulliEnvironment([0.5, 0.5]), 7)
    >>> has_hook(world, "delays"), has_hook(world, "availability")
    (True, False)
    """
    while isinstance(environment, Wrapper) and getattr(type(environment), hook) is getattr(Wrapper, hook):
        environment = environment.environment
    return getattr(type(environment), hook) is not getattr(Environment, hook)


def _depth(environment: Environment, kind: type[Wrapper]) -> int:
    """How many wrappers of a kind are around each other in an environment, at most."""
    inner: tuple[Environment, ...] = getattr(environment, "inner", ())
    return (type(environment) is kind) + max((_depth(each, kind) for each in inner), default=0)
