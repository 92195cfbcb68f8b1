"""Derivatives as vectors, in an inner product that a function names for a variable.

In the inner product `u' W v` the gradient of f is the g with `g' W u = df[u]` for all
u (Riesz), which solves `W g = df`; the adjoint of a map to arrays with the inner
product of G, the Euclidean one without, takes c to the solution of `W v = J' G c`. Maps
and forms themselves, Jacobians, tangents and Hessians, are what they are in any inner
product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.operators.calls import apply
from tensorgen.operators.promise_calls import promise
from tensorgen.operators.reshape import reshape


@dataclass(frozen=True, slots=True)
class Metric:
    """The inverse of W, a matrix over the first axes of a variable, in C order."""

    inverse: Node
    axes: int

    def solved(self, graph: Graph, derivative: Node) -> Node:
        """Return the vector that a derivative by the variable stands for."""
        return _times(graph, self.inverse, derivative, self.axes)


def lowered(graph: Graph, matrix: Node, vector: Node) -> Node:
    """Return the form that a vector of values stands for in the product of a matrix."""
    axes = axes_of(matrix, vector.dims)
    assert axes is not None
    return _times(graph, matrix, vector, axes)


def _times(graph: Graph, matrix: Node, node: Node, axes: int) -> Node:
    """A matrix times an array, of which it is over the first axes."""
    side, _ = matrix.dims
    flat = reshape(graph, node, (side, *node.dims[axes:]))
    rest = range(2, flat.order + 1)
    found = graph.product((0, *rest), [(matrix, (0, 1)), (flat, (1, *rest))])
    return reshape(graph, found, node.dims)


def metrics(
    graph: Graph, inputs: Mapping[str, Node], matrices: Mapping[str, Node]
) -> dict[Node, Metric]:
    """Return the metrics of `inputs` that have a symmetric matrix under their name.

    That it is there promises that the matrix is positive definite.
    """
    found = {}
    for name, matrix in matrices.items():
        if name not in inputs:
            continue  # that of the values
        axes = axes_of(matrix, inputs[name].dims)
        assert axes is not None
        definite = promise(graph, "spd", matrix)
        found[inputs[name]] = Metric(apply(graph, "inv", [definite]), axes)
    return found


def axes_of(matrix: Node, dims: tuple[Dim, ...]) -> int | None:
    """Return how many of the first axes the matrix is for; None where it fits none."""
    sides = {prod(dims[:k], start=ONE): k for k in range(len(dims), 0, -1)}
    if matrix.order != 2 or matrix.dims[0] != matrix.dims[1]:
        return None
    return sides.get(matrix.dims[0])
