"""Looking at products n-ary: opening factors that are products themselves."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Label, Node, Product

Name = Hashable
Factor = tuple[Node, tuple[Name, ...]]


@dataclass
class View:
    """The inside of a product over labels of any names, to be rearranged."""

    coefficient: Fraction = Fraction(1)
    factors: list[Factor] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    sizes: dict[Name, Dim] = field(default_factory=dict)

    @classmethod
    def of(cls, node: Product, without: int = -1) -> View:
        """Return a product as it stands, without one of its factors."""
        others = [f for k, f in enumerate(node.factors) if k != without]
        sizes = dict[Name, Dim](enumerate(node.sizes))
        return cls(node.coefficient, [*others], [*node.constraints], sizes)

    def add(self, node: Node, labels: Sequence[Name], tag: Name = None) -> None:
        """Add a factor; with a tag, its inside, summed labels named by the tag.

        A delta's one factor, which the normal form keeps apart, is looked into too.
        """
        self.sizes.update(zip(labels, node.dims, strict=True))
        if tag is None or not isinstance(node, Product):
            self.factors.append((node, tuple(labels)))
            return
        if node.constraints and len(node.factors) == 1 and not node.inner:
            self._scale(node.coefficient)
            at = labels.__getitem__
            self.constraints += [c.renamed(at) for c in node.constraints]
            inner, axes = node.factors[0]
            self.add(inner, [labels[a] for a in axes], (tag, "core"))
            return
        names: dict[Label, Name] = dict(enumerate(labels))
        for k, dim in enumerate(node.inner):
            names[node.order + k] = (tag, k)
            self.sizes[tag, k] = dim
        self._scale(node.coefficient)
        self.factors += [(n, tuple(names[x] for x in xs)) for n, xs in node.factors]
        self.constraints += [c.renamed(names.__getitem__) for c in node.constraints]

    def labels(self, without: int = -1) -> set[Name]:
        """All labels of factors, but for one of these, and of constraints."""
        found = {
            x for k, (_, xs) in enumerate(self.factors) if k != without for x in xs
        }
        return found.union(*(c.form.labels for c in self.constraints))

    def renamed(self, names: Mapping[Name, Name], without: int = -1) -> View:
        """Return the same over other labels, without one of the factors."""

        def name(label: Name) -> Name:
            return names.get(label, label)

        # Some labels stand in constraints alone.
        left = self.labels(without)
        factors = [f for k, f in enumerate(self.factors) if k != without]
        return View(
            self.coefficient,
            [(node, tuple(map(name, xs))) for node, xs in factors],
            [c.renamed(name) for c in self.constraints],
            {name(x): dim for x, dim in self.sizes.items() if x in left},
        )

    def _scale(self, coefficient: Fraction) -> None:
        if coefficient != 1:  # few do
            self.coefficient *= coefficient

    def product(self, graph: Graph, out: Sequence[Name]) -> Node:
        """Return the product with the labels `out` kept."""
        return graph.product(
            out,
            self.factors,
            coefficient=self.coefficient,
            constraints=self.constraints,
            sizes=self.sizes,
        )


def opened(graph: Graph, node: Product, chosen: Collection[int]) -> Node:
    """Return `node` with the chosen factors, where they are products, inlined."""
    view = View(node.coefficient, sizes=dict(enumerate(node.sizes)))
    for k, (inner, labels) in enumerate(node.factors):
        view.add(inner, labels, ("factor", k) if k in chosen else None)
    view.constraints += node.constraints
    return view.product(graph, range(node.order))
