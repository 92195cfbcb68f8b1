"""What products and sums are like, as passes ask: how large, how sparse, of what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from tensorgen.ir.constraints import is_scattered
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Call, Map, Node, Product, Sum, Term, constant_value, once
from tensorgen.passes.cost import CostModel


def grows(node: Node, cost: CostModel) -> bool:
    """Whether a product or sum is larger than what it is made of.

    Either it has more dims than its largest operand, as an outer product has, or
    more entries than all operands together.
    """
    return cost.once((grows, node), lambda: _grows(node, cost))


def _grows(node: Node, cost: CostModel) -> bool:
    match node:
        case Product(factors=refs) if len(refs) > 1:
            dims = [ref.node.dims for ref in refs]
        case Sum(terms=terms):
            dims = [d for term in terms for d in _made_of(term.node, cost)]
        case _:
            return False
    return is_larger(node, dims, cost)


def is_larger(node: Node, dims: Sequence[tuple[Dim, ...]], cost: CostModel) -> bool:
    """Whether an array has more dims than each of others, or more entries than all."""
    if degree(node.dims) > max(map(degree, dims)):
        return True
    return cost.size(node.dims) > sum(map(cost.size, dims))


def is_entries(node: Node) -> bool:
    """Whether a product multiplies single entries of its factors.

    Nothing is summed but what a delta takes the place of, as in slices.
    """
    if not isinstance(node, Product):
        return False
    return len(node.inner) <= sum(c.kind == "eq" for c in node.constraints)


def _made_of(term: Node, cost: CostModel) -> list[tuple[Dim, ...]]:
    """The dims of a term, or of its factors where these are smaller.

    A sum that is multiplied by fewer numbers is made of what it adds.
    """
    if not isinstance(term, Product):
        return [term.dims]
    factors = [f for f, _ in term.factors]
    whole = [f for f in factors if f.order == term.order]
    if len(whole) == 1 and isinstance(whole[0], Sum) and not term.inner:
        parts = [t.node for t in whole[0].terms]
        parts += [f for f in factors if f is not whole[0]]
        return [d for part in parts for d in _made_of(part, cost)]
    if len(factors) == 1 or grows(term, cost):
        return [d for part in factors for d in _made_of(part, cost)]
    return [term.dims]


def degree(dims: Iterable[Dim]) -> int:
    """The degree of the number of entries as a polynomial in dim symbols."""
    return sum(dim.degree for dim in dims)


def is_sparse(node: Node) -> bool:
    """Whether a node is a product with a delta, or a sum with such a term.

    Or one that spreads a list of entries over an array.
    """
    return once(node, is_sparse, lambda: _is_sparse(node))


def _is_sparse(node: Node) -> bool:
    match node:
        case Product():
            return is_scattered(node) or any(
                c.kind == "eq" and max(c.form.labels, default=0) < node.order
                for c in node.constraints
            )
        case Sum():
            return any(is_sparse(term.node) for term in node.terms)
        case _:
            return False


def reshapes_sparse(node: Node) -> bool:
    """Whether a node is a reshape of what is sparse, which shows no delta itself."""
    return (
        isinstance(node, Call)
        and node.operator == "reshape"
        and is_sparse(node.args[0])
    )


def compares(node: Sum) -> bool:
    """Whether a sum is a difference of arrays that broadcast.

    Its parts lose digits, and it does not, where all of these are large and alike.
    """
    return any(t.node.order < node.order for t in node.terms) and (
        len({term.coefficient > 0 for term in node.terms}) == 2 and not is_sparse(node)
    )


def is_spread(node: Sum) -> bool:
    """Whether all terms of a sum have fewer axes, or are made of such.

    Besides, no two of fewer axes are compared: those along the same ones are added up
    first, and outer products are made of what is rarely large and alike.
    """
    outer = [_is_outer(term.node) for term in node.terms]
    if not all(
        o or t.node.order < node.order for o, t in zip(outer, node.terms, strict=True)
    ):
        return False
    plain = [t for o, t in zip(outer, node.terms, strict=True) if not o]
    return not compares_parts(node, plain)


def compares_parts(node: Sum, terms: Sequence[Term]) -> bool:
    """Whether some terms that have fewer axes than a sum, and not the same, differ."""
    plain = [term for term in terms if term.node.order < node.order]
    parts = {(term.coefficient > 0, frozenset(term.labels)) for term in plain}
    return any(up and not down and x != y for up, x in parts for down, y in parts)


def _is_outer(node: Node) -> bool:
    """Whether a product multiplies arrays of fewer axes than it has."""
    return (
        isinstance(node, Product)
        and not node.inner
        and len(node.factors) > 1
        and (all(ref.node.order < node.order for ref in node.factors))
    )


def is_square(node: Node) -> TypeGuard[Map]:
    """Whether a node has the squares of what it is of."""
    if not isinstance(node, Map) or node.function != "pow":
        return False
    return constant_value(node.args[1].node) == 2


def is_elementwise(node: Product) -> bool:
    """Whether a product multiplies arrays of its own shape entry by entry."""
    full = set(range(node.order))
    return (
        not node.inner
        and not node.constraints
        and all(set(labels) == full for _, labels in node.factors)
    )
