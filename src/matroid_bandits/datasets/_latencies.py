"""Networks with link latencies as problems, whichever source the map comes from."""

from pathlib import Path

from matroid_bandits.datasets._dataset import Dataset
from matroid_bandits.datasets._records import Network
from matroid_bandits.environments import ExponentialEnvironment
from matroid_bandits.matroids import GraphicMatroid
from matroid_bandits.problem import Problem


def network_dataset(
    name: str, title: str, network: Network, about: str, path: Path | None, *, is_real: bool
) -> Dataset:
    """The problem of routing over a network at the least latency: the paper's Section 5.1."""
    matroid = GraphicMatroid(network.links)
    n_nodes = len({node for link in network.links for node in link})
    return Dataset(
        name=name,
        title=title,
        problem=Problem(matroid, ExponentialEnvironment(network.latencies), minimize=True),
        description=about,
        source="real" if is_real else "stand-in",
        path=path,
        facts={
            "nodes": n_nodes,
            "edges": len(network.links),
            "components": n_nodes - matroid.rank,
            "min_latency": float(network.latencies.min()),
            "max_latency": float(network.latencies.max()),
            "mean_latency": float(network.latencies.mean()),
        },
    )
