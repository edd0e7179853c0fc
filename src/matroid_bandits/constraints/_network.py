"""Networks whose flows of least cost are best sets: the part that matchings, paths and quotas have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen, offsets
from matroid_bandits.constraints._exact import ExactConstraint
from matroid_bandits.kernels import flow


class Network(NamedTuple):
    """A directed graph of unit capacities; its first arcs are the items, the others cost nothing."""

    tails: IntArray
    heads: IntArray
    starts: IntArray
    codes: IntArray
    order: IntArray
    source: int
    sink: int
    wanted: int

    @classmethod
    def of(
        cls,
        n_nodes: int,
        tails: IntArray,
        heads: IntArray,
        ends: tuple[int, int],
        wanted: int,
        places: IntArray | None,
    ) -> Network:
        """A network from its arcs and the places (n,) of nodes in a topological order; None where it has cycles."""
        m = tails.size
        touched = np.concatenate([tails, heads])
        codes = np.concatenate([2 * np.arange(m), 2 * np.arange(m) + 1])[np.argsort(touched, kind="stable")]
        starts = offsets(np.bincount(touched, minlength=n_nodes))
        order = np.empty(0, np.int64) if places is None else np.argsort(places[tails], kind="stable")
        # contiguous and read-only, so that kernels are compiled once
        us, vs, starts, codes, order = (
            frozen(np.ascontiguousarray(array)) for array in (tails, heads, starts, codes, order)
        )
        return cls(us, vs, starts, codes, order, ends[0], ends[1], wanted)

    def best(self, gains: IntArray, is_open: BoolArray, is_closed: BoolArray) -> Flows:
        """The canonical flow for each row of gains; `is_closed` are other arcs that cannot be used."""
        R, m, n_nodes = gains.shape[0], self.tails.size, self.starts.size - 1
        state = np.empty(m, np.int64), np.empty(n_nodes, np.int64), np.empty(m, bool), np.empty(m, bool)
        chosen, sent = np.empty(gains.shape, bool), np.empty(R, np.int64)
        flow.best_flows(*self, gains, is_open, is_closed, *state, chosen, sent)
        return Flows(chosen, sent, *state)

    def change(self, flows: Flows, item: int) -> BoolArray | None:
        """Turn the last row's flow into the canonical best one that differs in an item; None where there is none."""
        n_items = flows.chosen.shape[1]
        graph = self.tails, self.heads, self.starts, self.codes
        state = flows.cost, flows.is_closed, flows.used, flows.potentials
        return flows.used[:n_items] if flow.change(*graph, n_items, *state, item) else None


class Flows(NamedTuple):
    """Flows as masks of items, a row per run, how many units each has; and the kernel's state after the last row."""

    chosen: BoolArray
    sent: IntArray
    cost: IntArray
    potentials: IntArray
    used: BoolArray
    is_closed: BoolArray


class Pinned(NamedTuple):
    """A network in which pinned items are taken already, and its other arcs that are closed by that."""

    network: Network
    is_closed: BoolArray


class NetworkConstraint(ExactConstraint):
    """A constraint whose best sets are flows of least cost."""

    @abstractmethod
    def _around(self, pinned: IntArray | None, is_open: BoolArray) -> Pinned:
        """The network beside what is pinned; closes pinned items in `is_open` (R, L), and those that they exclude."""

    def _choose(self, gains: IntArray, is_open: BoolArray, pinned: IntArray | None) -> BoolArray:
        network, is_closed = self._around(pinned, is_open)
        flows = network.best(gains, is_open, is_closed)
        if pinned is not None:
            flows.chosen[:, pinned] = True
        if not self.is_hereditary:
            flows.chosen[flows.sent < network.wanted] = False
        return flows.chosen

    def force(
        self,
        weights: FloatArray,
        item: int,
        is_in: bool,
        *,
        available: BoolArray | None = None,
        pinned: IntArray | None = None,
    ) -> IntArray | None:
        """Return the best set with an item, or without it, by one shortest path; see `Constraint.force`."""
        is_open = self._opened(available)
        network, is_closed = self._around(pinned, is_open)
        flows = network.best(self._snap(weights[None]), is_open, is_closed)
        chosen: BoolArray | None = flows.chosen[0]
        assert chosen is not None
        if chosen[item] != is_in and (self.is_hereditary or flows.sent[0] == network.wanted):
            chosen = network.change(flows, item)
            if chosen is not None:
                if pinned is not None:
                    chosen[pinned] = True
                return np.flatnonzero(chosen)
        return super().force(weights, item, is_in, available=available, pinned=pinned)
