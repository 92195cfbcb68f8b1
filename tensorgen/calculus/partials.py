"""The derivative of a node by its operands: what both modes multiply by.

The theorems for products, general functions and elementwise functions differ only in
these factors; forward mode contracts them with tangents (Theorems 5, 6, 7), reverse
mode with cotangents (Theorems 8, 9, 10).
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence
from math import inf
from typing import assert_never

from tensorgen.calculus.external_rules import slopes
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Label,
    Map,
    Node,
    Product,
    Size,
    Sum,
    is_zero,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.conditions.bounds import may_be_infinite
from tensorgen.operators.conditions.still import slope
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.external_calls import is_external
from tensorgen.operators.scalar import apply
from tensorgen.operators.table import Partial, Transfer


def partials(
    graph: Graph, node: Node, varying: Container[Node], level: Container[Node] = ()
) -> list[Partial]:
    """All products in the derivative of `node` by operands that vary.

    The node's axes have the labels 0, 1, ... in each. In what `levels_off` names,
    infinite data have no slope.
    """
    found = _partials(graph, node, varying, node in level)
    return [p for p in found if p.operand in varying]


def levels_off(order: Sequence[Node]) -> set[Node]:
    """What functions are of that are numbers at infinity, as `ndtr(z)` is.

    With the terms of it, and with what it is a multiple of; operands come first.
    """
    found: set[Node] = set()
    for node in reversed(order):
        match node:
            case Map(function=function, args=refs):
                if ELEMENTWISE[function].ends[1] in (None, inf):
                    continue
            case Sum(terms=refs) if node in found:
                pass
            case Product(factors=factors) if node in found:
                refs = tuple(ref for ref in factors if not _is_number(ref.node))
                if len(refs) > 1:
                    continue
            case _:
                continue
        found.update(ref.node for ref in refs)
    return found


def _is_number(node: Node, depth: int = 4) -> bool:
    """Whether a node is a number like `sqrt(2)`, whatever is given."""
    match node:
        case Constant():
            return node.name != "inf"
        case Map(args=refs) | Product(factors=refs):
            return depth > 0 and all(_is_number(ref.node, depth - 1) for ref in refs)
    return False


def _partials(
    graph: Graph, node: Node, varying: Container[Node], level: bool
) -> list[Partial]:
    match node:
        case Product():
            return _product(graph, node, varying, level)
        case Sum():
            return [Partial(t.node, t.labels, t.coefficient) for t in node.terms]
        case Map():
            return _map(graph, node, varying)
        case Call() if is_external(node):
            return slopes(graph, node, varying)
        case Call():
            rule = OPERATORS[node.operator].derivative
            return [] if isinstance(rule, tuple) else rule(graph, node)
        case Input() | Constant() | Size() | Iota():
            return []
        case _:
            assert_never(node)


def transfers(node: Node) -> list[tuple[Call, Node, Transfer]]:
    """How a call carries tangents and cotangents of each argument, where by no product.

    The call, the argument and the rule.
    """
    if isinstance(node, Call):
        rules = OPERATORS[node.operator].derivative
        if isinstance(rules, tuple) and rules:
            pairs = zip(node.args, rules, strict=True)
            return [(node, arg, rule) for arg, rule in pairs if rule is not None]
    return []


def _product(
    graph: Graph, node: Product, varying: Container[Node], level: bool
) -> list[Partial]:
    """Theorems 5 and 8: the derivative by a factor is the product of the others.

    What is infinite stays what it is, whatever it is multiplied by: no slope. The
    factors of a matrix product are finite, or it is no number.
    """
    return [
        Partial(
            factor.node,
            factor.labels,
            node.coefficient,
            tuple(
                (
                    apply(graph, "finite", other)
                    if may_be_infinite(other.node, data=False)
                    or (
                        level
                        and not _differ(factor.labels, other.labels)
                        and _has_open_end(other.node, varying)
                    )
                    else other
                )
                for m, other in enumerate(node.factors)
                if m != k
            ),
            node.constraints,
        )
        for k, factor in enumerate(node.factors)
        if factor.node in varying
    ]


def _differ(one: Sequence[Label], other: Sequence[Label]) -> bool:
    """Whether each has a label that the other has not, as in a matrix product."""
    return not ({*one} <= {*other} or {*one} >= {*other})


def _has_open_end(node: Node, varying: Container[Node]) -> bool:
    """Whether a sum has data that may be infinite, as `hi - mu` has."""
    return isinstance(node, Sum) and any(
        term.node not in varying and may_be_infinite(term.node) for term in node.terms
    )


def _map(graph: Graph, node: Map, varying: Container[Node]) -> list[Partial]:
    """Theorems 7 and 10: an elementwise factor, aligned with the result."""
    found = []
    for k, arg in enumerate(node.args):
        if arg.node not in varying:
            continue
        factor = slope(graph, node, k, varying)
        if not is_zero(factor.node):
            found.append(Partial(arg.node, arg.labels, factors=(factor,)))
    return found


def sizes_of(node: Node) -> dict[Hashable, Dim]:
    """The dims of the labels that partials of `node` may mention."""
    found: dict[Hashable, Dim] = {}
    found.update(enumerate(node.sizes if isinstance(node, Product) else node.dims))
    return found
