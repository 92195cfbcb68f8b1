"""Subspaces of square matrices on which a function can be differentiated.

A derivative on a subspace is its orthogonal projection, in the inner product
`sum(A * B)`: the steepest direction among the matrices of that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Node, delta, indicator
from tensorgen.operators.matrices.symmetry import even_part

Project = Callable[[Graph, Node, int, int], Node]
"""From an array and the axes of rows and columns to the array on the subspace."""


@dataclass(frozen=True, slots=True)
class Subspace:
    """A kind of matrices: what they are, and the projection of G on them, as text."""

    words: str
    formula: str
    project: Project


def _diagonal(graph: Graph, node: Node, row: int, column: int) -> Node:
    return _where(graph, node, delta({row: 1, column: -1}))


def _lower(graph: Graph, node: Node, row: int, column: int) -> Node:
    return _where(graph, node, indicator({row: 1, column: -1}))


def _where(graph: Graph, node: Node, holds: Constraint) -> Node:
    axes = range(node.order)
    return graph.product(axes, [(node, axes)], constraints=[holds])


SUBSPACES: Mapping[str, Subspace] = {
    "symmetric": Subspace("symmetric", "(G + G.T) / 2", even_part),
    "skew": Subspace("skew-symmetric", "(G - G.T) / 2", partial(even_part, parity=-1)),
    "diagonal": Subspace("diagonal", "its diagonal", _diagonal),
    "lower": Subspace("lower triangular", "tril(G)", _lower),
}
