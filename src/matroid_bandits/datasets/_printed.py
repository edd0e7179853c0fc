"""What the paper prints: Table 1, the partners of Figure 2 and the movies of Figure 3.

Reports lay these figures beside ours; the stand-ins are generated to match them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedNetwork:
    """A row of Table 1: latencies and per-step costs in milliseconds, the errors as printed."""

    asn: int
    n_nodes: int
    n_edges: int
    min_latency: int
    max_latency: int
    mean_latency: float
    optimal: float
    epsilon_greedy: float
    epsilon_greedy_error: float
    omm: float
    omm_error: float


@dataclass(frozen=True)
class PrintedPartner:
    """A row of Figure 2 (c): a partner of the optimal transversal and its lender cluster."""

    partner: int
    rate: float
    cluster: int
    cluster_partners: int
    cluster_rate: float


@dataclass(frozen=True)
class PrintedMovie:
    """A row of Figure 3: a movie of the optimal basis."""

    title: str
    weight: float
    genres: tuple[str, ...]


NETWORKS: dict[int, PrintedNetwork] = {
    row.asn: row
    for row in (
        PrintedNetwork(1221, 108, 153, 1, 17, 2.78, 305.00, 307.42, 0.08, 305.49, 0.10),
        PrintedNetwork(1239, 315, 972, 1, 64, 3.20, 629.88, 676.74, 2.03, 641.17, 0.18),
        PrintedNetwork(1755, 87, 161, 1, 31, 2.91, 192.81, 199.49, 0.16, 194.88, 0.11),
        PrintedNetwork(3257, 161, 328, 1, 47, 4.30, 550.85, 570.35, 0.63, 559.80, 0.10),
        PrintedNetwork(3967, 79, 147, 1, 44, 5.19, 306.80, 320.30, 0.52, 308.54, 0.08),
        PrintedNetwork(6461, 141, 374, 1, 45, 6.32, 376.27, 424.78, 1.54, 381.48, 0.07),
    )
}

N_LOANS = 194_876
N_PARTNERS = 232
N_CLUSTERS = 51
TRANSVERSAL_SIZE = 46
PARTNERS: tuple[PrintedPartner, ...] = (
    PrintedPartner(46, 1.0, 31, 200, 0.728),
    PrintedPartner(70, 1.0, 2, 2, 0.924),
    PrintedPartner(72, 1.0, 20, 195, 0.725),
    PrintedPartner(88, 1.0, 23, 207, 0.724),
    PrintedPartner(168, 0.983, 44, 49, 0.712),
    PrintedPartner(231, 0.981, 48, 186, 0.723),
    PrintedPartner(179, 0.970, 24, 149, 0.743),
    PrintedPartner(157, 0.951, 10, 180, 0.735),
    PrintedPartner(232, 0.940, 40, 10, 0.718),
    PrintedPartner(123, 0.934, 42, 113, 0.721),
    PrintedPartner(142, 0.925, 7, 168, 0.745),
    PrintedPartner(130, 0.919, 32, 23, 0.690),
)

N_POPULAR = 25
N_OBSCURE = 75
MOVIE_BASIS_SIZE = 17
MOVIES: tuple[PrintedMovie, ...] = (
    PrintedMovie("American Beauty", 0.568, ("Comedy", "Drama")),
    PrintedMovie("Jurassic Park", 0.442, ("Action", "Adventure", "Sci-Fi")),
    PrintedMovie("Saving Private Ryan", 0.439, ("Action", "Drama", "War")),
    PrintedMovie("Matrix", 0.429, ("Action", "Sci-Fi", "Thriller")),
    PrintedMovie("Back to the Future", 0.428, ("Comedy", "Sci-Fi")),
    PrintedMovie("Silence of the Lambs", 0.427, ("Drama", "Thriller")),
    PrintedMovie("Men in Black", 0.420, ("Action", "Adventure", "Comedy", "Sci-Fi")),
    PrintedMovie("Fargo", 0.416, ("Crime", "Drama", "Thriller")),
    PrintedMovie("Shakespeare in Love", 0.392, ("Comedy", "Romance")),
    PrintedMovie("L.A. Confidential", 0.379, ("Crime", "Film-Noir", "Mystery", "Thriller")),
    PrintedMovie("E.T. the Extra-Terrestrial", 0.376, ("Children's", "Drama", "Fantasy", "Sci-Fi")),
    PrintedMovie("Ghostbusters", 0.361, ("Comedy", "Horror")),
)
