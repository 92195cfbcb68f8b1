"""Scalar expressions over the rows of the table, as nodes: the derivatives of rows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import isinf

from tensorgen.errors import NoDerivative
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constant, Constraint, Map, Node, Product, Ref, Sum
from tensorgen.operators.elementwise import ELEMENTWISE

Add = Callable[[Graph, Sequence[tuple[int, Ref]]], Ref]

ARGUMENTS = ("x", "y", "z")

MOST_BITS = 1024
"""Longer powers of rationals are left to floating point, which ends there."""


def partial(graph: Graph, node: Map, argument: int, at: Ref | None = None) -> Ref:
    """The derivative of an elementwise node by one argument, as an aligned array.

    It is taken where this argument is `at`, if that is given.

    Its labels are axes of `node`; it may lack some, and then broadcasts. NoDerivative
    is raised where the row states none.
    """
    row = ELEMENTWISE[node.function]
    text = row.partials[argument]
    if not text:
        name = (row.arguments or ARGUMENTS)[argument]
        raise NoDerivative(f"'{row.name}' has no derivative by its argument '{name}'")
    args = list(node.args)
    args[argument] = args[argument] if at is None else at
    return evaluate(graph, text, args)


def evaluate(graph: Graph, text: str, args: Sequence[Ref]) -> Ref:
    """Evaluate a scalar expression in the names x, y, z of aligned arguments."""
    return build(graph, tree_of(text), dict(zip(ARGUMENTS, args, strict=False)))


@cache
def tree_of(text: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(text, mode="eval").body


def build(
    graph: Graph, tree: ast.expr, args: Mapping[str, Ref], add: Add | None = None
) -> Ref:
    """Evaluate a scalar expression in names of aligned arguments.

    Who says how to `add` gets all terms of a sum at once, and not two by two.
    """
    match tree:
        case ast.Constant(value=int(number)):
            return Ref(graph.constant(number), ())
        case ast.Name(id="pi" | "inf" as name):
            return Ref(graph.named_constant(name), ())
        case ast.Name(id=name):
            return args[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return total(graph, [(-1, build(graph, operand, args, add))])
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            c = 1 if isinstance(op, ast.Add) else -1
            parts = added(tree) if add else [(1, left), (c, right)]
            terms = [(c, build(graph, x, args, add)) for c, x in parts]
            return (add or total)(graph, terms)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return times(
                graph, build(graph, left, args, add), build(graph, right, args, add)
            )
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            inverse = power(graph, build(graph, right, args, add), -1)
            return times(graph, build(graph, left, args, add), inverse)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return apply(
                graph,
                "pow",
                build(graph, left, args, add),
                build(graph, right, args, add),
            )
        case ast.Call(func=ast.Name(id=name), args=operands):
            return apply(graph, name, *(build(graph, a, args, add) for a in operands))
    raise ValueError(f"not a scalar expression: {ast.unparse(tree)}")


def added(tree: ast.expr) -> list[tuple[int, ast.expr]]:
    """The terms of a sum, with their signs."""
    match tree:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            return [*added(left), (1 if isinstance(op, ast.Add) else -1, right)]
    return [(1, tree)]


def multiplied(tree: ast.expr) -> list[ast.expr]:
    """The factors of a product."""
    match tree:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*multiplied(left), right]
    return [tree]


def _union(refs: Sequence[Ref]) -> tuple[int, ...]:
    return tuple(sorted({label for ref in refs for label in ref.labels}))


def operands(ref: Ref) -> list[Ref] | None:
    """The operands of what is made entry by entry, in the labels of its use."""
    node = ref.node
    if isinstance(node, Sum):
        return [term.ref.under(ref) for term in node.terms]
    if isinstance(node, Product) and not (node.inner or node.constraints):
        return [factor.under(ref) for factor in node.factors]
    if isinstance(node, Map):
        return [arg.under(ref) for arg in node.args]
    return None


def apply(graph: Graph, function: str, *args: Ref) -> Ref:
    """Apply a row to aligned arguments."""
    labels = _union(args)
    return Ref(graph.map(function, labels, args), labels)


def power(graph: Graph, base: Ref, exponent: int | Fraction) -> Ref:
    """Raise an array to a rational power."""
    return apply(graph, "pow", base, Ref(graph.constant(exponent), ()))


def has_exact_power(value: Fraction, exponent: Fraction) -> bool:
    """Whether a rational to a power is a rational, and one of few digits."""
    longest = max(abs(value.numerator), value.denominator).bit_length()
    return exponent.denominator == 1 and longest * abs(exponent) <= MOST_BITS


def times(graph: Graph, *factors: Ref, coefficient: int | Fraction = 1) -> Ref:
    """Multiply aligned arrays elementwise."""
    labels = _union(factors)
    return Ref(graph.product(labels, factors, coefficient=coefficient), labels)


def total(graph: Graph, terms: Sequence[tuple[int | Fraction, Ref]]) -> Ref:
    """Add aligned arrays with coefficients."""
    labels = _union([ref for _, ref in terms])
    return Ref(graph.sum(labels, [(c, *ref) for c, ref in terms]), labels)


def infinity(graph: Graph, sign: int) -> Ref:
    """Infinity, or minus infinity."""
    return Ref(graph.scale(graph.named_constant("inf"), sign), ())


def holds(graph: Graph, constraint: Constraint, dims: Mapping[int, Dim]) -> Ref:
    """Where a constraint of labels with dims holds, over these in order."""
    labels = tuple(sorted({*constraint.form.labels}))
    sizes = {x: dims[x] for x in labels}
    return Ref(graph.product(labels, [], constraints=[constraint], sizes=sizes), labels)


def number(graph: Graph, value: float) -> Ref:
    """A whole number, or infinity of either sign."""
    if isinf(value):
        return infinity(graph, 1 if value > 0 else -1)
    return Ref(graph.constant(int(value)), ())


def infinite(node: Node) -> int:
    """The sign of a node that is infinity; 0 of all others."""
    if isinstance(node, Constant):
        return int(node.name == "inf")
    if not isinstance(node, Product) or node.constraints or node.inner:
        return 0
    if not node.factors or not all(infinite(ref.node) for ref in node.factors):
        return 0
    return 1 if node.coefficient > 0 else -1


def ref(node: Node) -> Ref:
    """A use of a node along its own axes."""
    return Ref(node, tuple(range(node.order)))
