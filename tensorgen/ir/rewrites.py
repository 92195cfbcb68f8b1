"""What a graph asks of whoever knows stable forms."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, TypeVar

from tensorgen.ir.nodes import Node, Ref, Term

G = TypeVar("G", contravariant=True)


class Rewrites(Protocol[G]):
    """Stable forms, recognised while nodes are built; None means: nothing to do."""

    def map(self, graph: G, function: str, args: tuple[Ref, ...]) -> Node | None:
        """Return a better node for a map whose labels are its axes."""

    def product(self, graph: G, factors: tuple[Ref, ...]) -> list[Ref] | None:
        """Return a better list of factors with the same product."""

    def contraction(
        self,
        graph: G,
        factors: tuple[Ref, ...],
        summed: Collection[int],
        fresh: int,
    ) -> list[Ref] | None:
        """Return factors that are summed over fewer or smaller labels than `summed`.

        These stand in factors alone; labels from `fresh` on are free.
        """

    def sum(self, graph: G, terms: list[Term]) -> list[Term] | None:
        """Return a better list of terms with the same sum."""
