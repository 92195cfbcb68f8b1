"""Reshapes of deltas as deltas, where strides are numbers.

What was `x` of length 2*n is, as rows of two, `x[2*i + j]`: the delta between an axis
and its parts is affine. Where a stride is a dim, as in two rows of n, `x[n*i + j]`, the
axis `i` has few values, and each gives a term. Other reshapes stay: `part_axes.py`
sees to them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import product

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Constraint, Node, delta, topological
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.reshape import Segment, segments
from tensorgen.passes.views import is_sparse
from tensorgen.prices.limits import ROWS_OF_A_STACK

Label = Hashable


def open_reshapes(graph: Graph, node: Node) -> Node:
    """Return a derivative with reshapes of what is sparse as sums over deltas."""

    def visit(node: Node) -> Node:
        if not isinstance(node, Call) or node.operator != "reshape":
            return node
        (before,) = node.args
        if not any(map(is_sparse, topological([before]))):
            return node
        return _opened(graph, before, node.dims) or node

    (found,) = rebuild(graph, [node], visit)
    return found


def _opened(graph: Graph, node: Node, dims: Sequence[Dim]) -> Node | None:
    """An array with other axes as a sum over deltas; None where strides are dims."""
    ways: list[list[list[Constraint]]] = []
    source: dict[Label, Dim] = {("in", k): dim for k, dim in enumerate(node.dims)}
    target: dict[Label, Dim] = {("out", k): dim for k, dim in enumerate(dims)}
    for segment in segments(node.dims, dims):
        found = _linked(segment, node.dims, dims)
        if found is None:
            return None
        ways.append(found)
    terms = [
        graph.product(
            tuple(target),
            [(node, tuple(source))],
            constraints=[c for constraints in chosen for c in constraints],
            sizes=source | target,
        )
        for chosen in product(*ways)
    ]
    return graph.add(*terms)


def _linked(
    segment: Segment, before: Sequence[Dim], after: Sequence[Dim]
) -> list[list[Constraint]] | None:
    """What ties axes to those they become: constraints, of which each set is a term."""
    terms: dict[Label, int] = {}
    counted: list[tuple[Label, Dim, int]] = []
    sides = ("in", segment.source, before, 1), ("out", segment.target, after, -1)
    for side, axes, dims, sign in sides:
        stride = Dim.of(1)
        for axis in reversed(axes):
            label, step, length = (side, axis), stride.constant, dims[axis].constant
            if length is not None and length <= ROWS_OF_A_STACK:
                counted.append((label, stride * sign, length))
            elif step is not None:
                terms[label] = sign * step
            else:
                return None
            stride = stride * dims[axis]
    return list(_counted(terms, counted))


def _counted(
    terms: dict[Label, int], counted: Sequence[tuple[Label, Dim, int]]
) -> Iterator[list[Constraint]]:
    """One set of constraints for each choice of the axes that have few values."""
    for values in product(*(range(length) for _, _, length in counted)):
        fixed, const = list[Constraint](), Dim()
        for (label, stride, _), value in zip(counted, values, strict=True):
            fixed.append(delta({label: 1}, -value))
            const = const + stride * value
        yield [*fixed, delta(terms, const)]
