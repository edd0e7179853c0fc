"""Kiva's loans: the lending partners of the paper's Section 5.2."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.datasets import _printed
from matroid_bandits.datasets._dataset import Dataset
from matroid_bandits.datasets._folders import find
from matroid_bandits.datasets._lines import fail, is_whole, read_lines
from matroid_bandits.datasets._records import CLUSTERS, Lending
from matroid_bandits.datasets._registry import SOURCES
from matroid_bandits.datasets._standins import standin_lending
from matroid_bandits.environments import SampleEnvironment
from matroid_bandits.exceptions import DataError
from matroid_bandits.matroids import TransversalMatroid
from matroid_bandits.problem import Problem


def kiva(data: str | os.PathLike[str] | None = None, *, standin: bool | None = None) -> Dataset:
    """Load the loan assignment problem (Section 5.2): lending partners matched to clusters of lenders.

    Items are partners, labelled by their ids; a weight is the outcome of a random loan of the partner: 1
    paid, 0.7 in repayment, 0 otherwise. Right vertices are cluster numbers, 1 (AK) to 50 (WY) and 51 (XX,
    outside the US).

    Parameters
    ----------
    data : path, optional
        Data folder; the file is ``kiva/loans.csv.gz`` in it. See :func:`rocketfuel`.
    standin : bool, optional
        See :func:`rocketfuel`.

    Returns
    -------
    Dataset
        Facts: ``partners``, ``loans``, ``edges``, ``clusters``, and one entry for each cluster in
        ``cluster_names``, ``cluster_partners`` (how many are eligible) and ``cluster_rates`` (the mean of
        their rates; None without partners).

    Raises
    ------
    DataError
        The file is not where it was said to be, or is malformed.

    Examples
    --------
    >>> lending = kiva(standin=True)
    >>> lending.facts["partners"], lending.facts["loans"], lending.problem.optimal_basis.size
    (232, 194876, 46)
    """
    file = "kiva/loans.csv.gz"
    folder = find([file], data, standin, SOURCES["kiva"])
    if folder is None:
        lending = standin_lending()
        about = "A made-up lender graph with the sizes of the paper's and the rows of its Figure 2."
    else:
        lending = join_lenders(read_loans(folder / file, _printed.N_LOANS))
        about = (
            "The newest 194,876 loans of Kiva's snapshot of 25 January 2014; a partner is joined to the"
            " top half of the clusters that support it. The paper used another cut of the same source."
        )
    rates = np.array([outcomes.mean() for outcomes in lending.outcomes])
    return Dataset(
        name="kiva",
        title="Kiva lending partners",
        problem=Problem(
            TransversalMatroid(lending.clusters, labels=lending.partners), SampleEnvironment(lending.outcomes)
        ),
        description=about,
        source="stand-in" if folder is None else "real",
        path=None if folder is None else folder / file,
        facts={
            "partners": len(lending.partners),
            "loans": sum(len(outcomes) for outcomes in lending.outcomes),
            "edges": sum(len(clusters) for clusters in lending.clusters),
            **_cluster_facts(lending, rates),
        },
    )


def _cluster_facts(lending: Lending, rates: FloatArray) -> dict[str, Any]:
    """How many partners each cluster may get, and the mean of their rates."""
    is_joined = np.array([np.isin(np.arange(1, len(CLUSTERS) + 1), row) for row in lending.clusters])
    degrees, totals = is_joined.sum(axis=0).tolist(), (rates @ is_joined).tolist()
    return {
        "clusters": len(CLUSTERS),
        "cluster_names": CLUSTERS,
        "cluster_partners": tuple(degrees),
        "cluster_rates": tuple(total / d if d else None for total, d in zip(totals, degrees, strict=True)),
    }


_STATUSES = ("paid", "in_repayment", "defaulted", "expired", "fundraising", "funded", "refunded")
_OUTCOMES = {status: {"paid": 1.0, "in_repayment": 0.7}.get(status, 0.0) for status in _STATUSES}
_LOANS_HEADER = "loan_id,partner_id,status,posted_date,lenders,support"
_POSTED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Loans:
    """Outcomes of each partner's loans and, a row for each partner, its supporters by cluster."""

    partners: list[int]
    outcomes: list[FloatArray]
    support: IntArray


def read_loans(path: Path, n_loans: int) -> Loans:
    """Read the first `n_loans` rows, the newest, of Kiva's ``loans.csv.gz``; partners by ascending id."""
    column = {name: k for k, name in enumerate(CLUSTERS)}
    outcomes: dict[int, list[float]] = {}
    support: dict[int, list[int]] = {}
    before = ("9999", 0)
    lines = read_lines(path)
    line, text = next(lines)
    if text != _LOANS_HEADER:
        fail(path, line, f"expected the header {_LOANS_HEADER!r}, got {text!r}")
    for line, text in lines:
        if line > n_loans + 1:
            break
        fields = text.split(",")
        if len(fields) != 6:
            fail(path, line, f"expected 6 fields, got {len(fields)}")
        loan, partner, status, posted, lenders, places = fields
        if not (is_whole(loan) and is_whole(partner) and is_whole(lenders)):
            fail(path, line, f"expected whole numbers as loan, partner and lenders, got {text!r}")
        if status not in _OUTCOMES:
            fail(path, line, f"unknown status {status!r}; expected one of {', '.join(_STATUSES)}")
        if not _POSTED.fullmatch(posted):
            fail(path, line, f"expected a date such as 2014-01-25T09:00:02Z, got {posted!r}")
        if (posted, int(loan)) >= before and line > 2:
            fail(path, line, "loans must be listed newest first, and by descending id within a second")
        before = posted, int(loan)
        counts = support.setdefault(int(partner), [0] * len(CLUSTERS))
        outcomes.setdefault(int(partner), []).append(_OUTCOMES[status])
        for place in places.split(" ") if places else ():
            name, _, count = place.partition(":")
            if name not in column or not is_whole(count):
                fail(path, line, f"expected support such as 'CA:1 XX:8', got {places!r}")
            counts[column[name]] += int(count)
    if line < n_loans + 1:
        raise DataError(f"{path}: expected at least {n_loans:,} loans, got {line - 1:,}")
    partners = sorted(outcomes)
    return Loans(
        partners,
        [np.array(outcomes[partner]) for partner in partners],
        np.array([support[partner] for partner in partners], np.int64),
    )


def join_lenders(loans: Loans) -> Lending:
    """Join each partner to the top half of its supporters."""
    # Of the m clusters with any support, ranked by support and then by number, the first floor(m / 2) are kept.
    ranked = np.argsort(-loans.support, axis=1, kind="stable") + 1
    kept = np.count_nonzero(loans.support, axis=1) // 2
    clusters = [sorted(row[:m].tolist()) for row, m in zip(ranked, kept, strict=True)]
    return Lending(loans.partners, loans.outcomes, clusters)
