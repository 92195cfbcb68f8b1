"""Patterns: what arrays have in common that are transposes of one another.

A pattern numbers labels by what reads them, whatever they are called and whichever axes
they are. Arrays of one pattern are equal up to the order of their axes, products up to
their coefficients as well; the numbers of the axes say how one is read as the other.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from tensorgen.ir.canonical import canonical_labels, constraint_key
from tensorgen.ir.constraints import normal
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Constraint, Map, Node, Product, Ref, Sum, once

Name = Hashable
Factor = tuple[Node, tuple[Name, ...]]


class Pattern(NamedTuple):
    """What is equal for all transposes, and labels in the order of their numbers."""

    key: Hashable
    names: tuple[Name, ...]

    def axes_of(self, other: Pattern, order: int) -> tuple[Any, ...]:
        """Return the labels at which another array of the pattern is read as this."""
        return tuple(self.names[other.names.index(axis)] for axis in range(order))


def pattern_of(node: Product | Sum | Map) -> Pattern:
    """Return the pattern of a node over its labels, found once."""
    return once(node, pattern_of, lambda: _of_node(node))


def core_of(node: Node) -> tuple[Fraction, Hashable]:
    """Return what multiples of a node have in common, and the number of this one."""
    match node:
        case Product(factors=(ref,), inner=(), constraints=()) if ref.labels == tuple(
            range(node.order)
        ):
            coefficient, core = core_of(ref.node)
            return node.coefficient * coefficient, core
        case Product(coefficient=coefficient) if coefficient:
            return coefficient, pattern_of(node)
    return Fraction(1), node


def product_pattern(
    factors: Sequence[Factor],
    kept: Collection[Name],
    constraints: Sequence[Constraint] = (),
    sizes: Mapping[Any, Dim] = MappingProxyType({}),
) -> Pattern:
    """Return the pattern of a product that keeps some labels.

    `sizes` gives the dims of labels that stand in no factor.
    """
    parts = [(n.serial, n, tuple(xs)) for n, xs in factors]
    return _numbered("product", sorted(parts, key=_rank), kept, constraints, sizes)


def _of_node(node: Product | Sum | Map) -> Pattern:
    axes, sizes = range(node.order), dict(enumerate(node.dims))
    match node:
        case Product(factors=factors, constraints=constraints):
            every = dict(enumerate(node.sizes))
            return product_pattern(factors, axes, constraints, every)
        case Sum(terms=terms):
            parts = [((t.node.serial, t.coefficient), t.node, t.labels) for t in terms]
            return _numbered("sum", sorted(parts, key=_rank), axes, (), sizes)
        case Map(function=function, args=args):
            own = [((k, x.serial), x, labels) for k, (x, labels) in enumerate(args)]
            return _numbered(function, own, axes, (), sizes)


Part = tuple[Any, Node, tuple[Name, ...]]


def _rank(part: Part) -> Any:
    return part[0]


def _numbered(
    what: str,
    parts: Sequence[Part],
    kept: Collection[Name],
    constraints: Sequence[Constraint],
    sizes: Mapping[Any, Dim],
) -> Pattern:
    """The pattern of operands in order, each with what tells it from others."""
    read = dict.fromkeys(x for _, _, xs in parts for x in xs)
    tied = (x for c in constraints for x in c.form.labels)
    number = {x: k for k, x in enumerate(dict.fromkeys([*read, *tied, *kept]))}
    if constraints or len({rank for rank, _, _ in parts}) < len(parts):
        refs = [Ref(n, tuple(number[x] for x in xs)) for _, n, xs in parts]
        forms = [c.renamed(number.__getitem__) for c in constraints]
        stay = [number[x] for x in kept]
        names = canonical_labels(0, range(len(number)), refs, forms, stay)
        number = {x: names[k] for x, k in number.items()}
    key = (
        what,
        tuple(sorted((rank, *(number[x] for x in xs)) for rank, _, xs in parts)),
        frozenset(number[x] for x in kept),
        tuple(
            sorted(
                (normal(c.renamed(number.__getitem__)) for c in constraints),
                key=constraint_key,
            )
        ),
        frozenset((k, sizes[x]) for x, k in number.items() if x not in read),
    )
    return Pattern(key, tuple(sorted(number, key=number.__getitem__)))
