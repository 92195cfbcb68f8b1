"""What a compressed derivative is: stored arrays, and deltas between axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.passes.views import Factor, Name, Triple


def is_axis(label: Name) -> bool:
    """Whether a label is an axis of the tensor, and not summed."""
    return isinstance(label, int)


@dataclass(frozen=True)
class Tie:
    """The delta `axis `second` == axis `first` + offset`."""

    first: int
    second: int
    offset: Dim


@dataclass(frozen=True)
class StoredTerm:
    """`coefficient * prod(factors) * prod(ties)`, each factor an array that is kept.

    Labels that are integers are axes of the tensor; others are summed. No factor has
    the second axis of a tie. `scale` are numbers made of sizes, which nobody keeps.
    """

    coefficient: Fraction
    factors: tuple[Factor, ...]
    ties: tuple[Tie, ...]
    scale: tuple[Node, ...] = ()

    @property
    def summed(self) -> tuple[Name, ...]:
        """The summed labels, in order."""
        labels = (x for _, xs in self.factors for x in xs if not is_axis(x))
        return tuple(dict.fromkeys(labels))


@dataclass(frozen=True)
class Compressed:
    """A derivative tensor of dims `dims` as a sum of stored terms."""

    dims: tuple[Dim, ...]
    terms: tuple[StoredTerm, ...]

    @property
    def arrays(self) -> tuple[Node, ...]:
        """The stored arrays, each once, in order."""
        return tuple({node: None for term in self.terms for node, _ in term.factors})

    @property
    def vanishes(self) -> bool:
        """Whether the tensor is zero, whatever the arguments."""
        return not any(term.coefficient for term in self.terms)

    @property
    def is_dense(self) -> bool:
        """Whether one array with all axes is all there is."""
        first, *rest = self.terms
        axes = tuple(range(len(self.dims)))
        return not rest and [xs for _, xs in first.factors] == [axes]

    def node(self, graph: Graph, stored: Mapping[Node, Node]) -> Node:
        """The whole tensor over other nodes in place of the stored arrays."""
        return self.contracted(graph, stored, range(len(self.dims)), ())

    def contracted(
        self,
        graph: Graph,
        stored: Mapping[Node, Node],
        out: Sequence[Name],
        others: Sequence[Factor],
        rename: Mapping[int, Name] | None = None,
    ) -> Node:
        """The tensor times `others`, with the labels `out` kept.

        The tensor's axes have the labels 0, 1, ..., or what `rename` makes of them.
        """
        names: dict[Name, Name] = {k: name for k, name in (rename or {}).items()}
        sizes: dict[Name, Dim] = {names.get(k, k): d for k, d in enumerate(self.dims)}
        for node, labels in others:
            sizes.update(zip(labels, node.dims, strict=True))
        terms = []
        for term in self.terms:
            factors: list[Factor] = [
                (stored[node], tuple(names.get(x, x) for x in labels))
                for node, labels in term.factors
            ]
            factors += [(node, ()) for node in term.scale]
            constraints: list[Triple] = []
            for tie in term.ties:
                first, second = (names.get(x, x) for x in (tie.first, tie.second))
                # Tied axes may have been given one label: then the tie holds or not.
                both: dict[Name, int] = {first: 1}
                both[second] = both.get(second, 0) - 1
                constraints.append(("eq", both, tie.offset))
            node = graph.product(
                out,
                [*factors, *others],
                coefficient=term.coefficient,
                constraints=constraints,
                sizes=sizes,
            )
            terms.append((1, node, out))
        return graph.sum(out, terms, {x: sizes[x] for x in out})
