"""Taylor coefficients of functions of matrices, by the equations that these satisfy.

Each takes the coefficients of its argument up to an order, and its own of lower orders.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, is_zero
from tensorgen.operators.matrices.matrix_functions import expm_coefficient
from tensorgen.operators.matrices.symmetry import even


def inverse(graph: Graph, x: Sequence[Node], lower: Sequence[Node]) -> Node:
    """C = inv(A), of which A_0 C_j = -sum_i A_i C_(j - i)."""
    pairs = [(x[i], lower[len(lower) - i]) for i in range(1, len(x))]
    total = _products(graph, lower[0], pairs)
    return graph.scale(_products(graph, total, [(lower[0], total)]), -1)


def logarithm(graph: Graph, x: Sequence[Node], lower: Sequence[Node]) -> Node:
    """L = logm(A), of which the exponential has the series of A."""
    left = even(graph, x[0], x[-1], x[-1].order)
    if len(lower) > 1:
        without = [*lower, graph.zeros(left.dims)]
        known = expm_coefficient(graph, without)
        left = graph.add(left, graph.scale(known, -1))
    return graph.call("log_slope", [lower[0], left], left.dims)


def square_root(graph: Graph, x: Sequence[Node], lower: Sequence[Node]) -> Node:
    """S = sqrtm(A), of which S_0 S_j + S_j S_0 = A_j - sum_i S_i S_(j - i)."""
    pairs = [(lower[i], lower[len(lower) - i]) for i in range(1, len(lower))]
    known = _products(graph, x[-1], pairs)
    own = even(graph, x[0], x[-1], x[-1].order)
    left = graph.add(own, graph.scale(known, -1))
    return graph.call("lyapunov", [lower[0], left], left.dims)


def _products(graph: Graph, like: Node, pairs: Sequence[tuple[Node, Node]]) -> Node:
    """The sum of the products of matrices, of the shape of another."""
    *batch, row, column = out = range(like.order)
    left, right = (*batch, row, "k"), (*batch, "k", column)
    terms = [
        (1, graph.product(out, [(a, left), (b, right)]), out)
        for a, b in pairs
        if not (is_zero(a) or is_zero(b))
    ]
    return graph.sum(out, terms, dict(enumerate(like.dims)))
