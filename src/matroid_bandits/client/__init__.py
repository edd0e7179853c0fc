"""HTTP clients for a campaign of the service, with the methods of `Learner`: blocking and async."""

from matroid_bandits.client._client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
