"""The files of each data set: checksums, publishers and terms."""

import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DataFile:
    """A file of a data set: its path in a data folder and in the publisher's archive, its size and sha256.

    Examples
    --------
    >>> from matroid_bandits.datasets import SOURCES
    >>> file = SOURCES["movielens"].files[0]
    >>> file.path, file.size
    ('movielens-1m/movies.dat', 171308)
    """

    path: str
    size: int
    sha256: str
    member: str = ""
    is_needed: bool = True


@dataclass(frozen=True)
class Source:
    """Origin of a data set: its files, the publisher's archive (None if not published), how to get it, its terms.

    Examples
    --------
    >>> from matroid_bandits.datasets import SOURCES
    >>> SOURCES["movielens"].title
    'MovieLens 1M (GroupLens Research, University of Minnesota)'
    """

    name: str
    title: str
    url: str | None
    how: str
    terms: str
    files: tuple[DataFile, ...]

    def how_into(self, folder: Path, *, is_named: bool) -> str:
        """Return instructions for getting the data into a data folder, for the user."""
        option = f" --data {shlex.quote(str(folder))}" if is_named else ""
        return self.how.format(folder=folder, option=option)


_LATENCIES = (
    (1221, 15_172, "f94b0e6324f82a9e64f75838d855bddc65a6884068e4c845df0ec02ba403eef9"),
    (1239, 68_272, "a084360c144b3ba2c3ed6e9fd34452e938952e532e9a1f6f6eafb955bf7ccd4d"),
    (1755, 14_840, "fdee72ed6ba0025c8fb0fbaace30b94b35a45ff611f235d50293ec1ffc406088"),
    (3257, 24_066, "7e8075f06fd6abed304016ba54eb590077274c787f86301e1f8852a8c269bc73"),
    (3967, 10_350, "3887faf4b71d1049d453cf4b29d598312d117a9a1eb86a8d7c913d59af6bb386"),
    (6461, 21_896, "3aed3e90f4a91cd8baab753b048f222359a92a548e274591493ac96c0c9619a3"),
)

#: The paper's three data sets by name.
SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            name="rocketfuel",
            title="RocketFuel ISP maps with link latencies (University of Washington)",
            url="http://research.cs.washington.edu/networking/rocketfuel/maps/weights-dist.tar.gz",
            how="matroid-bandits data fetch rocketfuel{option}",
            terms=(
                "No licence file is known to come with the maps; their authors released them to the"
                " community. Cite Mahajan, Spring, Wetherall, Anderson, 'Inferring Link Weights using"
                " End-to-End Measurements' (IMW 2002) and Spring, Mahajan, Wetherall, 'Measuring ISP"
                " Topologies with Rocketfuel' (SIGCOMM 2002)."
            ),
            files=tuple(
                DataFile(f"rocketfuel/{asn}/latencies.intra", size, sha256, f"{asn}/latencies.intra")
                for asn, size, sha256 in _LATENCIES
            ),
        ),
        Source(
            name="movielens",
            title="MovieLens 1M (GroupLens Research, University of Minnesota)",
            url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
            how="matroid-bandits data fetch movielens{option}",
            terms=(
                "GroupLens's own terms (in the data set's README): research use; acknowledge the data set;"
                " imply no endorsement; no commercial use without permission; no redistribution without"
                " separate permission. Cite Harper, Konstan, 'The MovieLens Datasets: History and Context'"
                " (ACM TiiS 5(4), 2015)."
            ),
            files=(
                DataFile(
                    "movielens-1m/movies.dat",
                    171_308,
                    "0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9",
                    "ml-1m/movies.dat",
                ),
                DataFile(
                    "movielens-1m/ratings.dat",
                    24_594_131,
                    "506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f",
                    "ml-1m/ratings.dat",
                ),
                DataFile(
                    "movielens-1m/users.dat",
                    134_368,
                    "1dc3a95300cb19f7c10e027daf29b8cdf1d908dab65b5edfb45950aa389a10a3",
                    "ml-1m/users.dat",
                    is_needed=False,
                ),
                DataFile(
                    "movielens-1m/README",
                    5_577,
                    "2d5ddce86ccbd247207456165827b4b9ddf27282bca93807d4c763e28414f133",
                    "ml-1m/README",
                    is_needed=False,
                ),
            ),
        ),
        Source(
            name="kiva",
            title="Kiva loans, an extract of the snapshot of 25 January 2014",
            url=None,
            how=(
                "place the extract by hand as {folder}/kiva/loans.csv.gz: a header, then the loans"
                " that have lenders, newest first, with loan_id, partner_id, status, posted_date,"
                " lenders and support (lenders by US state, XX abroad, such as 'CA:1 XX:8')"
            ),
            terms=(
                "Kiva publishes snapshots for developers and researchers under its API terms of service; no"
                " open licence is known for this one. Check before publishing anything that contains it."
            ),
            files=(
                DataFile(
                    "kiva/loans.csv.gz",
                    3_572_111,
                    "ddb2ccc829c86ee873c25872e9188ed852fac5bd9c14fafa3b8ec3f06ed7c73b",
                ),
                DataFile(
                    "kiva/partners.csv",
                    41_628,
                    "1c944895469be57c6d99d2cdfcb2ee74b664825364eeecccd9efc0c83f1bb967",
                    is_needed=False,
                ),
            ),
        ),
    )
}
