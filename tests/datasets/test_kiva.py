"""Kiva's loans: the reader on small files, the real loans where they are there."""

import csv
import gzip

import numpy as np
import pytest

from data_files import LOAN, LOANS_HEADER, write
from matroid_bandits.datasets import kiva, printed
from matroid_bandits.datasets._kiva import Loans, join_lenders, read_loans
from matroid_bandits.datasets._records import CLUSTERS
from matroid_bandits.exceptions import DataError


def test_loans(tmp_path):
    text = (
        LOANS_HEADER + LOAN + "6,9,in_repayment,2014-01-25T09:00:02Z,1,\n5,20,expired,2014-01-24T09:00:02Z,2,AK:2\n"
    )
    path = write(tmp_path / "loans.csv.gz", text)
    loans = read_loans(path, 3)
    assert loans.partners == [9, 20]
    assert [x.tolist() for x in loans.outcomes] == [[0.7], [1.0, 0.0]]
    assert loans.support.sum(axis=1).tolist() == [0, 7]
    assert dict(zip(CLUSTERS, loans.support[1].tolist(), strict=True))["XX"] == 4
    assert read_loans(path, 1).partners == [20]
    with pytest.raises(DataError, match="expected at least 4 loans, got 3"):
        read_loans(path, 4)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("loan_id,partner_id\n" + LOAN, "line 1: expected the header"),
        (LOANS_HEADER + LOAN + "6,20,paid\n", "line 3: expected 6 fields, got 3"),
        (LOANS_HEADER + LOAN.replace("7,20", "7,x"), "line 2: expected whole numbers"),
        (LOANS_HEADER + LOAN.replace("paid", "lost"), "line 2: unknown status 'lost'"),
        (LOANS_HEADER + LOAN.replace("T09", " 09"), "line 2: expected a date"),
        (LOANS_HEADER + LOAN.replace("CA:1", "DC:1"), "line 2: expected support"),
        (LOANS_HEADER + LOAN.replace("CA:1", "CA:"), "line 2: expected support"),
        (LOANS_HEADER + LOAN.replace("CA:1 ", "CA:1  "), "line 2: expected support"),
        (LOANS_HEADER + LOAN + LOAN.replace("2014", "2015"), "line 3: loans must be listed newest first"),
        (LOANS_HEADER + LOAN + LOAN, "line 3: loans must be listed newest first"),
        ("", "the file is empty"),
    ],
)
def test_malformed_loans(tmp_path, text, match):
    with pytest.raises(DataError, match=match):
        read_loans(write(tmp_path / "loans.csv.gz", text), 2)


def test_damaged_gzip(tmp_path):
    path = tmp_path / "loans.csv.gz"
    whole = gzip.compress((LOANS_HEADER + LOAN).encode())
    for raw in (b"not gzip", whole[:-12]):
        path.write_bytes(raw)
        with pytest.raises(DataError, match=r"loans\.csv\.gz: cannot be read"):
            read_loans(path, 1)


def test_partners_are_joined_to_the_top_half_of_their_supporters():
    support = np.zeros((3, 51), np.int64)
    support[0, [0, 3, 7, 50]] = 5, 1, 5, 9  # four supporters: XX, then AK before DE
    support[1, [2, 4, 6]] = 1, 2, 1  # three: one is kept
    support[2, 8] = 3  # one: none is kept
    lending = join_lenders(Loans([1, 2, 3], [np.ones(1)] * 3, support))
    assert lending.clusters == [[1, 51], [5], []]


def test_real_lending(real_data):
    lending = kiva(real_data)
    facts, problem = lending.facts, lending.problem
    assert (facts["partners"], facts["edges"], facts["loans"]) == (233, 5_237, 194_876)
    assert problem.optimal_basis.size == 45
    assert f"{problem.optimal_value:.3f}" == "39.920"
    new_jersey = CLUSTERS.index("NJ")
    assert new_jersey + 1 == 31
    assert facts["cluster_partners"][new_jersey] == 199
    assert f"{facts['cluster_rates'][new_jersey]:.3f}" == "0.736"


def test_real_loans_agree_with_the_table_of_partners(real_data):
    loans = read_loans(real_data / "kiva/loans.csv.gz", printed.N_LOANS)
    with (real_data / "kiva/partners.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert loans.partners == [int(row["partner_id"]) for row in rows]
    for outcomes, support, row in zip(loans.outcomes, loans.support, rows, strict=True):
        assert outcomes.size == int(row["loans"])
        assert np.count_nonzero(outcomes == 1.0) == int(row["paid"])
        assert np.count_nonzero(outcomes == 0.7) == int(row["in_repayment"])
        assert outcomes.mean() == pytest.approx(float(row["weight"]), abs=1e-6)
        assert support.tolist() == [int(row[name]) for name in CLUSTERS]
