"""Measure: sums of squared differences of rows are distances, all of them at once.

`sum_k (X[i, k] - Y[j, k])**2` is no table of differences i by j by k, nor a loop over
blocks of one: `squared_distances` multiplies rows, and keeps digits as differences do.
Weighted sums of squares, `sum_j W[i, j] * (X[i, k] - Y[j, k])**2`, are three products
of rows less their mean, as slopes of distances are two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Label,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    constant_value,
)
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.definite import Sign, sign
from tensorgen.operators.distances import NAME
from tensorgen.passes.centre_differences import less_mean
from tensorgen.passes.context import Context
from tensorgen.passes.views import is_sparse

FEW = 8
"""So many rows need no rule: a table of all differences is small."""


@dataclass(frozen=True)
class _Square:
    """What is squared in a product, `scale * (x - y)`, and what else it multiplies."""

    scale: Fraction
    x: Ref
    y: Ref
    entry: Label
    others: Sequence[Ref]

    @property
    def rows(self) -> tuple[Label, ...]:
        """The labels of the rows of both."""
        return tuple(
            label
            for ref in (self.x, self.y)
            for label in ref.labels
            if label != self.entry
        )

    def instead(
        self,
        graph: Graph,
        node: Product,
        factors: Sequence[tuple[Node, Sequence[Label]]],
        by: int,
    ) -> Node:
        """The product of other factors, times a number."""
        asked = {x for _, labels in factors for x in labels} | {*range(node.order)}
        return graph.product(
            range(node.order),
            factors,
            coefficient=node.coefficient * self.scale**2 * by,
            constraints=node.constraints,
            sizes={x: dim for x, dim in enumerate(node.sizes) if x in asked},
        )


def measure_distances(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums of squared differences of rows as calls.

    Ends: each product has fewer factors that are summed.
    """
    graph = context.graph

    def visit(node: Node) -> Node:
        if not (isinstance(node, Product) and node.inner):
            return node
        found = (_measured(graph, node, one) for one in _squares(node))
        return next((new for new in found if new is not None), node)

    return rebuild(graph, roots, visit)


def _measured(graph: Graph, node: Product, one: _Square) -> Node | None:
    """The product with something else in the place of a square, if that is less."""
    found = _distances(graph, node, one) if one.entry >= node.order else None
    if found is None and any(row >= node.order for row in one.rows):
        return _weighted(graph, node, one)
    return found


def _distances(graph: Graph, node: Product, one: _Square) -> Node | None:
    """The product with distances of rows, if what weighs their entries is a square."""
    weights = [ref for ref in one.others if one.entry in ref.labels]
    if any(ref.labels != (one.entry,) for ref in weights):
        return None
    roots = [_root(graph, ref) for ref in weights]
    scales = [(root, (0,)) for root in roots if root is not None]
    if len(scales) < len(weights):
        return None
    args = [
        graph.product((row, one.entry), [ref])
        for row, ref in zip(one.rows, (one.x, one.y), strict=True)
    ]
    name = NAME
    if scales:
        args.append(graph.product((0,), scales))
        name = f"scaled_{NAME}"
    call = graph.call(name, args, (args[0].dims[0], args[1].dims[0]))
    rest = [ref for ref in one.others if ref not in weights]
    return one.instead(graph, node, [*rest, (call, one.rows)], 1)


def _weighted(graph: Graph, node: Product, one: _Square) -> Node:
    """Weighted sums of squares of `x - y` as those of `x**2 - 2 * x * y + y**2`."""
    x, y = (less_mean(graph, ref, one.x, one.entry) for ref in (one.x, one.y))
    axes = range(node.order)
    terms = [
        one.instead(graph, node, [*one.others, *pair], by)
        for by, pair in ((1, (x, x)), (-2, (x, y)), (1, (y, y)))
    ]
    return graph.sum(axes, [(1, term, axes) for term in terms])


def _is_table(node: Product, one: _Square) -> bool:
    """Whether all pairs of rows are asked for, and are many."""
    if any(_is_few(node.sizes[row]) for row in one.rows):
        return False
    if any(is_sparse(ref.node) for ref in (one.x, one.y, *one.others)):
        return False
    return not any(_ties(constraint, one.rows) for constraint in node.constraints)


def _is_few(dim: Dim) -> bool:
    return dim.constant is not None and dim.constant <= FEW


def _ties(constraint: Constraint, rows: Sequence[Label]) -> bool:
    """Whether few pairs of rows are left."""
    return constraint.kind == "eq" and any(x in constraint.form.labels for x in rows)


def _squares(node: Product) -> Iterator[_Square]:
    """Yield the squares of differences of rows that a product sums over entries."""
    tied = {x for one in node.constraints for x in one.form.labels}
    for k, ref in enumerate(node.factors):
        rest = [*node.factors[:k], *node.factors[k + 1 :]]
        base = _base(ref)
        if base is None and ref in rest:
            rest.remove(ref)
            base = ref
        if base is None or not isinstance(base.node, Sum) or len(base.node.terms) != 2:
            continue
        one, other = base.node.terms
        if one.coefficient + other.coefficient != 0:
            continue
        x, y = (
            Ref(term.node, tuple(base.labels[axis] for axis in term.labels))
            for term in (one, other)
        )
        if (
            not len({*x.labels})
            == len({*y.labels})
            == 2
            == x.node.order
            == y.node.order
        ):
            continue
        common = {*x.labels} & {*y.labels}
        for entry in common - tied if len(common) == 1 else ():
            found = _Square(one.coefficient, x, y, entry, rest)
            if node.sizes[entry].constant != 1 and _is_table(node, found):
                yield found


def _base(ref: Ref) -> Ref | None:
    """What a factor is the square of, in the labels of a product."""
    node = ref.node
    if not isinstance(node, Map) or node.function != "pow":
        return None
    base, power = node.args
    if constant_value(power.node) != 2:
        return None
    return Ref(base.node, tuple(ref.labels[axis] for axis in base.labels))


def _root(graph: Graph, ref: Ref) -> Node | None:
    """What weights are the squares of, up to signs; None if some may be negative."""
    node, half = ref.node, Fraction(1, 2)
    if isinstance(node, Map) and node.function == "pow":
        exponent = constant_value(node.args[1].node)
        if exponent is not None and exponent.denominator == 1 and exponent % 2 == 0:
            node, half = node.args[0].node, exponent / 2
            return graph.map("pow", (0,), [(node, (0,)), (graph.constant(half), ())])
    if sign(node) == Sign.UNKNOWN:
        return None
    return graph.map("pow", (0,), [(node, (0,)), (graph.constant(half), ())])
