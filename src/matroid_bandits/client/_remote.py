"""Methods that are written once as generators of steps, and are what each client needs: blocking, or awaited."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from matroid_bandits.client._exchange import Steps

if TYPE_CHECKING:
    from matroid_bandits.client._client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")


class Remote(Generic[P, T]):
    """How type checkers see such a method: of `Client` it returns the value, of `AsyncClient` something to await."""

    @overload
    def __get__(self, client: Client, owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: Any = None) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        """The method, bound."""
        raise NotImplementedError


class RemoteProperty(Generic[T]):
    """How type checkers see such a property; that of an `AsyncClient` is awaited."""

    @overload
    def __get__(self, client: Client, owner: Any = None) -> T: ...
    @overload
    def __get__(self, client: AsyncClient, owner: Any = None) -> Awaitable[T]: ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        """The value."""
        raise NotImplementedError


def remote(steps: Callable[Concatenate[Any, P], Steps[T]]) -> Remote[P, T]:
    """A method that a client drives."""

    @functools.wraps(steps)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._drive(steps(self, *args, **kwargs))

    return cast("Remote[P, T]", method)


def remote_property(steps: Callable[[Any], Steps[T]]) -> RemoteProperty[T]:
    """A property that a client drives."""
    return cast("RemoteProperty[T]", property(lambda self: self._drive(steps(self)), doc=steps.__doc__))
