"""Several addresses of one service: which is asked first, for how long, and which one is asked next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Seconds that a server has to answer where there are others, and by how much that grows with every round.
_PATIENCE_S, _GROWTH = 0.7, 4.0

#: Answers that say that this server, or the proxy before it, cannot serve now.
_NOT_HERE = (502, 503, 504)


class Addresses:
    """The addresses of servers that share their campaigns; the one that answered last is asked first.

    Requests that change something have ids, so that a server may be asked what another one has executed.

    Examples
    --------
    >>> addresses = Addresses(["http://a", "http://b"])
    >>> [url for url, _ in addresses.round(0)]
    ['http://a', 'http://b']
    >>> addresses.answered("http://b")
    >>> list(addresses.round(1))
    [('http://b', 2.8), ('http://a', 2.8)]
    """

    def __init__(self, urls: list[str]) -> None:
        self._urls = urls
        self.words = urls[0] if len(urls) == 1 else urls  #: as they were given
        self._first = 0

    def round(self, number: int) -> Iterator[tuple[str, float | None]]:
        """All addresses, once, and the seconds that each has; None where there is no other one."""
        first = self._first
        patience = _PATIENCE_S * _GROWTH**number if len(self._urls) > 1 else None
        for url in (*self._urls[first:], *self._urls[:first]):
            yield url, patience

    def answered(self, url: str) -> None:
        """Ask this server first from now on."""
        self._first = self._urls.index(url)

    @staticmethod
    def is_elsewhere(outcome: Any) -> bool:
        """Whether another server may do better: there was no answer, or one that says: not here."""
        return isinstance(outcome, Exception) or outcome.status_code in _NOT_HERE
