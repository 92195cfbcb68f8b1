"""What a graph asks while it makes nodes: whether there are better ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from tensorgen.ir.nodes import Node, Ref, Term

# Of the graph itself nothing is asked but to make nodes.
Graph = Any


class Rewrites(Protocol):
    """Stable forms, recognised while nodes are built; None means: nothing to do."""

    def map(self, graph: Graph, function: str, args: tuple[Ref, ...]) -> Node | None:
        """Return a better node for a map whose labels are its axes."""

    def product(self, graph: Graph, factors: tuple[Ref, ...]) -> list[Ref] | None:
        """Return a better list of factors with the same product."""

    def contraction(
        self,
        graph: Graph,
        factors: tuple[Ref, ...],
        summed: Collection[int],
        fresh: int,
    ) -> list[Ref] | None:
        """Return factors that are summed over fewer or smaller labels than `summed`.

        These stand in factors alone; labels from `fresh` on are free.
        """

    def sum(self, graph: Graph, terms: list[Term]) -> list[Term] | None:
        """Return a better list of terms with the same sum."""
