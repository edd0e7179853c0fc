"""The paper's claims, held against curves that are given."""

import pytest

from matroid_bandits.paper._claims import approaches, consistently_outperforms, outperforms
from matroid_bandits.reporting import Claim
from trials import trial_with


def outperforms_claim(ours, theirs, **options) -> Claim:
    trial = trial_with([1, 1000, 2000, 3000], {"OMM": ours, "ε-greedy": theirs})
    return outperforms([trial], "OMM", "ε-greedy", **{"needs": 3000, **options})


def test_outperforms():
    claim = outperforms_claim([0, 5, 6, 7], [0, 4, 8, 12])
    assert claim == Claim("OMM outperforms ε-greedy.", "holds", claim.evidence)
    assert claim.evidence.startswith("Ahead for good from episode 2,000 on, of 3,000 (within two standard errors: ")
    assert outperforms_claim([0, 5, 6, 7], [0, 4, 8, 12], within=1000).verdict == "does not hold"
    assert outperforms_claim([0, 5, 6, 7], [0, 4, 8, 12], within=1000, needs=9999).verdict == "undecided"
    behind = outperforms_claim([0, 600, 700, 800], [0, 100, 400, 700])
    assert behind.verdict == "does not hold"
    assert "regret 0.267 per step against 0.233. But by now it is the better" in behind.evidence
    assert "0.1 against 0.3 per step in the last third; at that pace" in behind.evidence
    assert behind.evidence.endswith("after some 500 episodes more.")
    assert outperforms_claim([0, 600, 700, 800], [0, 1, 2, 3]).evidence.endswith("against 0.001.")


def test_several_trials_are_listed():
    first = trial_with([1, 10], {"OMM": [1, 1], "ε-greedy": [2, 2]})
    second = trial_with([1, 10], {"OMM": [1, 3], "ε-greedy": [2, 2]}, source="stand-in")
    claim = outperforms([first, second], "OMM", "ε-greedy", within=9, needs=10)
    assert claim.verdict == "does not hold"
    assert claim.is_standin
    assert claim.evidence == "Ahead for good from episode 1 (data); still behind at the end: data; of 10 episodes."
    assert outperforms([second, second], "OMM", "ε-greedy", needs=10).evidence.startswith("Still behind at the end: ")


@pytest.mark.parametrize(
    ("ours", "needs", "verdict"),
    [
        ([1, 5], 10, "holds"),  # half of them by twice
        ([1, 5], 11, "undecided"),
        ([6, 7], 10, "does not hold"),  # better, but by no large margin
        ([1, 11], 10, "does not hold"),
        ([0, 0], 10, "holds"),
    ],
)
def test_consistently_outperforms(ours, needs, verdict):
    trials = [trial_with([1, 10], {"OMM": [1, regret], "ε-greedy": [2, 10]}) for regret in ours]
    claim = consistently_outperforms(trials, "OMM", "ε-greedy", needs=needs)
    assert claim.verdict == verdict
    if ours == [1, 5]:
        assert claim.evidence == (
            "ε-greedy's regret is larger on 2 of 2, and at least 2 times as large on 2 (half of them would do):"
            " 2.0 to 10 times."
        )


def test_approaches():
    points = [1, 10, 100, 1000]
    near = trial_with(points, {"OMM": [0, 5, 20, 40]})
    claim = approaches([near], "OMM", needs=1000)
    assert claim.verdict == "holds"
    assert (
        claim.evidence == "Distance from the optimum: 50.0% after 10, 20.0% after 100 and 4.0% after 1,000 episodes."
    )
    far = trial_with(points, {"OMM": [0, 5, 20, 90]})
    assert approaches([far], "OMM", needs=1000).verdict == "does not hold"
    assert approaches([far], "OMM", needs=1001).verdict == "undecided"
    assert approaches([near], "OMM", needs=1001).verdict == "undecided"
    short = approaches([trial_with([1, 2, 3], {"OMM": [0.2, 0.2, 0.3]})], "OMM", needs=9)
    assert short.evidence == "Distance from the optimum: 20.0% after 1 and 10.0% after 3 episodes."
    once = approaches([trial_with([1], {"OMM": [0.2]})], "OMM", needs=9)
    assert once.evidence == "Distance from the optimum: 20.0% after 1 episode."
