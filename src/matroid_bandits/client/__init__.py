"""HTTP clients for a campaign of the service, with the methods of `Learner`: blocking and async."""

try:
    import httpx  # noqa: F401 - the files below need it, and a person without it a sentence
except ImportError as error:  # pragma: no cover - installed wherever the tests run
    from matroid_bandits._util.extras import missing

    raise missing("the client needs httpx", "client") from error

from matroid_bandits.client._client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
