"""Names that the literature uses for policies, constraints and environments of this package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matroid_bandits._util.text import did_you_mean, shown


class Entry(NamedTuple):
    """One thing of this package, and what papers and other packages call it.

    Attributes
    ----------
    names : tuple of str
        The other names; case, spaces and hyphens do not matter.
    ours : str
        The name here, with the arguments that make it the same.
    note : str
        What differs or is needed beside, to be read after a comma; empty where there is nothing to say.
    source : str
        The papers, where a paper gave the name.
    words : tuple of str
        What it is called in problem files and constraint forms: the value of ``kind`` or ``family``.

    Examples
    --------
    >>> ENTRIES[0].ours
    'OMM'
    """

    names: tuple[str, ...]
    ours: str
    note: str = ""
    source: str = ""
    words: tuple[str, ...] = ()


POLICIES = (
    Entry(("Optimistic Matroid Maximization",), "OMM", "", "Kveton et al., UAI 2014"),
    Entry(("CombUCB1",), "OMM(scale=sqrt(0.75))", "", "Kveton, Wen, Ashkan and Szepesvari, AISTATS 2015"),
    Entry(("CUCB", "CombUCB", "combinatorial UCB"), "OMM(scale=sqrt(0.75))",
          "whose radius has log(t - 1) for CUCB's log t", "Chen, Wang and Yuan, ICML 2013"),
    Entry(("LLR", "Learning with Linear Rewards"), "OMM(scale=sqrt((K + 1) / 2))", "for sets of K items",
          "Gai, Krishnamachari and Jain, 2012"),
    Entry(("UCB1", "UCB"), "OMM", 'which is UCB1 on sets of one item with start="explore"',
          "Auer, Cesa-Bianchi and Fischer, 2002"),
    Entry(("Greedy", "FTL", "Follow the leader"), "OMM(scale=0)"),
    Entry(("epsilon-greedy", "eps-greedy", "e-greedy"), "EpsilonGreedy"),
    Entry(("Random", "RandomPolicy"), "UniformRandom"),
    Entry(("KL-OSM", "OSM"), "KLOSM", "", "Talebi and Proutiere, AAMAS 2016"),
    Entry(("KL-UCB",), "KLOSM", "for sets of any size", "Garivier and Cappe, COLT 2011"),
    Entry(("CascadeUCB1", "CombCascade"), "OMM(scale=sqrt(0.75))", "in a CascadeEnvironment",
          "Kveton, Szepesvari, Wen and Ashkan, ICML 2015; Kveton, Wen, Ashkan and Szepesvari, NIPS 2015"),
    Entry(("CascadeKL-UCB",), "KLOSM(c=3)", "in a CascadeEnvironment",
          "Kveton, Szepesvari, Wen and Ashkan, ICML 2015"),
    Entry(("PBM-UCB", "position bias", "position-based model"), "PositionBias",
          "around a policy, with attention= where it is known", "Lagree, Vernade and Cappe, NIPS 2016"),
    Entry(("KL-UCB++",), "KLUCBPlusPlus", "without a horizon", "Menard and Garivier, ALT 2017"),
    Entry(("UCB-V",), "UCBV", "for sets", "Audibert, Munos and Szepesvari, 2009"),
    Entry(("MOSS-anytime",), "MOSS", "for sets", "Degenne and Perchet, ICML 2016"),
    Entry(("CTS", "CTS-Beta", "TS", "Thompson", "combinatorial Thompson sampling", "MP-TS"), "ThompsonSampling", "",
          "Wang and Chen, ICML 2018; Komiyama, Honda and Nakagawa, ICML 2015"),
    Entry(("CTS-Gaussian", "CTS-normal", "Gaussian Thompson sampling"), 'ThompsonSampling("normal")',
          "with noise= for the standard deviation of a weight", "Perrault et al., NeurIPS 2020"),
    Entry(("CTS3",), "SingleSeedThompson", "after the abstract of its paper", "Jin et al., COLT 2026"),
    Entry(("BG-CTS",), "BGCTS", "", "Zhang and Combes, 2024"),
    Entry(("CL-SG",), "CLSG", "", "Hu, Pan and Huang, 2026"),
    Entry(("Efficient Sampling for Combinatorial Bandits", "ESCB-2"), "ESCB", "", "Combes et al., NeurIPS 2015"),
    Entry(("SW-UCB", "SW-CUCB", "CUCB-SW", "sliding-window UCB"), "SlidingWindowOMM", "",
          "Garivier and Moulines, 2008; Chen, Wang, Zhao and Zheng, UAI 2021"),
    Entry(("D-UCB", "discounted UCB"), "DiscountedOMM", "for sets", "Garivier and Moulines, 2008"),
    Entry(("dTS", "discounted TS", "discounted Thompson sampling"), "DiscountedThompson", "for sets",
          "Raj and Kalyani, 2017"),
    Entry(("CUSUM-UCB",), "Restarting(OMM())", "whose default detector is CUSUM()", "Liu, Lee and Shroff, AAAI 2018"),
    Entry(("bandits with knapsacks", "BwK", "budgeted bandit"), "Budget",
          "around a policy, for an average cost per decision", "Sankararaman and Slivkins, AISTATS 2018"),
    Entry(("hysteresis", "switching costs"), "Steady",
          "around a policy, which changes its set where that gains enough"),
    Entry(("C2UCB", "contextual combinatorial UCB"), "CombLinUCB(n_features=d)", "",
          "Qin, Chen and Zhu, SDM 2014"),
    Entry(("LinUCB",), "CombLinUCB(n_features=d)", "with one theta for all items",
          "Li, Chu, Langford and Schapire, WWW 2010"),
    Entry(("LinTS", "linear Thompson sampling"), "CombLinTS(n_features=d)", "",
          "Agrawal and Goyal, ICML 2013"),
    Entry(("FPL+GR", "FPL-GR", "Follow the perturbed leader"), "FPL", "", "Neu and Bartok, JMLR 2016"),
    Entry(("HYBRID", "best of both worlds"), "Hybrid", "on quotas", "Zimmert, Luo and Wei, ICML 2019"),
    Entry(("LFG", "TSCSF-B", "fairness constraints"), "ExposureFloors", "around a policy", "Li, Liu and Ji, 2019"),
    Entry(("CLCB", "pessimistic set"), "Learner.best_basis(pessimism=)", "", "Liu et al., ICML 2025"),
)  # fmt: skip

CONSTRAINTS = (
    Entry(("top-k", "top-m", "m-set", "k-set", "cardinality constraint", "multiple plays"), "UniformMatroid",
          words=("uniform",)),
    Entry(("quota", "quotas", "category quotas", "slots"), "PartitionMatroid", words=("partition",)),
    Entry(("nested quotas", "hierarchical quotas"), "LaminarMatroid", words=("laminar",)),
    Entry(("spanning tree", "minimum spanning tree", "MST", "spanning forest", "forest", "cycle matroid"),
          "GraphicMatroid", words=("graphic",)),
    Entry(("vector matroid", "vectorial matroid", "matric matroid", "representable matroid"), "LinearMatroid",
          "over the real numbers", words=("linear",)),
    Entry(("matching", "bipartite matching", "perfect matching"), "AssignmentConstraint",
          "whose items are pairs; TransversalMatroid has the vertices of one side as items", words=("assignment",)),
    Entry(("matching matroid",), "TransversalMatroid", words=("transversal",)),
    Entry(("shortest path", "s-t path", "online routing", "routing"), "PathConstraint",
          "in a Problem with minimize=True for shortest paths", words=("path",)),
    Entry(("branching", "directed spanning tree"), "ArborescenceConstraint", words=("arborescence",)),
    Entry(("knapsack", "token budget", "budgeted top-k", "0/1 knapsack", "multiple-choice knapsack"),
          "KnapsackConstraint", "where costs are whole; Budget keeps an average over decisions", words=("knapsack",)),
    Entry(("two quotas", "quotas in two dimensions", "per category and per seller"), "QuotaIntersection",
          words=("quotas", "quota-intersection")),
    Entry(("list of sets", "set family", "enumerated sets"), "ExplicitSets", words=("sets", "explicit-sets")),
    Entry(("custom matroid", "independence oracle"), "OracleMatroid"),
    Entry(("direct sum", "disjoint union"), "direct_sum", words=("direct_sum", "direct-sum")),
)  # fmt: skip

ENVIRONMENTS = (
    Entry(("normal environment", "normal"), "GaussianEnvironment", words=("gaussian",)),
    Entry(("binary environment", "binary", "binomial"), "BernoulliEnvironment", words=("bernoulli",)),
    Entry(("piecewise-stationary environment", "piecewise stationary", "abrupt changes", "switching environment"),
          "PiecewiseEnvironment", words=("piecewise",)),
    Entry(("slowly varying environment", "gradual drift", "nonstationary environment"), "DriftingEnvironment"),
    Entry(("Brownian environment", "Brownian motion", "Brownian"), "RandomWalkEnvironment"),
    Entry(("AR(1)", "AR1 environment"), "AutoregressiveEnvironment"),
    Entry(("sleeping bandit", "sleeping environment", "volatile arms"), "AvailabilityEnvironment",
          "around another environment", "Kleinberg, Niculescu-Mizil and Sharma, 2010"),
    Entry(("empirical environment", "empirical", "bootstrap"), "SampleEnvironment", words=("samples",)),
    Entry(("dataset environment",), "RowEnvironment", words=("rows",)),
    Entry(("replay", "adversarial environment", "adversarial"), "TraceEnvironment", words=("trace",)),
    Entry(("delayed feedback",), "DelayedEnvironment", "around another environment"),
    Entry(("cascading bandits", "cascade model", "cascade"), "CascadeEnvironment", "around another environment",
          "Kveton, Szepesvari, Wen and Ashkan, ICML 2015"),
    Entry(("position-based click model", "PBM"), "PositionEnvironment", "around another environment",
          "Lagree, Vernade and Cappe, NIPS 2016"),
    Entry(("contextual bandit",), "ContextualEnvironment", words=("contextual",)),
)  # fmt: skip

ENTRIES = POLICIES + CONSTRAINTS + ENVIRONMENTS


def known_as(name: object, entries: Sequence[Entry] = ENTRIES) -> str:
    """A sentence that says what a name of the literature is called here; empty where there is nothing to say."""
    found = _find(name, entries)
    if found is None:
        return ""
    other, entry = found
    return f"{other} is {entry.ours} here{', ' if entry.note else ''}{entry.note}"


def other_word(name: object, words: Iterable[str]) -> str:
    """A hint at the word of a file that a name of the literature stands for, or at the closest word there is."""
    listed, found = list(words), _find(name, ENTRIES)
    word = next((word for word in found[1].words if word in listed), None) if found else None
    return did_you_mean(name, listed) if found is None or word is None else f"; {found[0]} is {shown(word)} here"


def _find(name: object, entries: Sequence[Entry]) -> tuple[str, Entry] | None:
    """The entry of a name, and the name as the literature writes it."""
    given = _plain(name)
    return next(((other, entry) for entry in entries for other in entry.names if given in _forms(other)), None)


def _forms(name: str) -> tuple[str, str, str]:
    """A name as it may be given in code: alone, or with the last word of its classes."""
    plain = _plain(name)
    return plain, f"{plain}matroid", f"{plain}constraint"


def _plain(name: object) -> str:
    """The letters, digits and plus signs of a name, which are all that is compared."""
    return "".join(c for c in name.lower() if c.isalnum() or c == "+") if isinstance(name, str) else ""
