"""RocketFuel's maps: the reader on small files, the real maps where they are there."""

import pytest

from data_files import write
from matroid_bandits.datasets import printed, rocketfuel
from matroid_bandits.datasets._rocketfuel import read_network
from matroid_bandits.exceptions import DataError
from printed_figures import check_network


def test_network_links_in_order_of_first_appearance(tmp_path):
    network = read_network(write(tmp_path / "x", "b,+X1 a 3\na b,+X1 3\na c 1\nc a 1\n"))
    assert network.links == [("b,+X1", "a"), ("a", "c")]
    assert network.latencies.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a b 1\nb a 1\na b\n", r"line 3: expected 'node node latency'"),
        ("a b 1 1\n", r"line 1: expected 'node node latency'"),
        ("a b 1\n\nb a 1\n", r"line 2: expected 'node node latency'"),
        ("a  b 1\n", r"line 1: expected 'node node latency'"),
        ("a b 1\nb a 1.5\n", r"line 2: .* whole milliseconds, at least 1; got '1.5'"),
        ("a b 0\n", r"line 1: .* got '0'"),
        ("a b -1\n", r"line 1: .* got '-1'"),
        ("a b 1_0\n", r"line 1: .* got '1_0'"),
        ("a b 1\nb a 1\nc c 2\n", r"line 3: link from c to itself"),
        ("a b 1\nb a 1\na b 1\n", r"line 3: link a b is already on line 1"),
        ("a b 1\nb a 2\n", r"line 2: latency 2 differs from 1 in the other direction, line 1"),
        ("a b 1\nb a 1\na c 2\n", r"line 3: link a c is not listed in the other direction"),
        (b"a b 1\n\xff a 1\n", r"line 2: not utf-8 text"),
        ("", r"the file is empty"),
    ],
)
def test_malformed_network(tmp_path, text, match):
    path = write(tmp_path / "latencies.intra", text)
    with pytest.raises(DataError, match=match) as error:
        read_network(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("asn", [7, "abc", None])
def test_unknown_network(asn):
    with pytest.raises(DataError, match="expected one of the networks 1221, "):
        rocketfuel(asn)


@pytest.mark.parametrize(
    ("asn", "cost", "rank"),
    [
        (1221, 305, 105),
        (1239, 632, 314),
        (1755, 193, 86),
        (3257, 551, 160),
        (3967, 307, 78),
        (6461, 377, 139),
    ],
)
def test_real_network(real_data, asn, cost, rank):
    network = rocketfuel(asn, real_data)
    assert network.source == "real"
    check_network(network, printed.NETWORKS[asn])
    assert network.problem.optimal_value == cost
    assert network.problem.optimal_basis.size == rank
