"""Inverses and determinants of matrices that are known by their few entries."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Call, Input, Node, topological
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.matrices.capacitance import is_capacitance
from tensorgen.operators.matrices.systems import is_system
from tensorgen.passes.context import Context


def solve_by_structure(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with matrices that are inverted as objects that solve."""
    if context.system is None:
        return list(roots)
    order = topological(roots)
    if not any(isinstance(n, Call) and OPERATORS[n.operator].by_parts for n in order):
        return list(roots)
    graph, new = context.graph, dict[Node, Node]()
    found: dict[Node, Node | None] = {}
    # What stable forms would recognise has been recognised.
    with graph.without_rewrites():
        for node in order:
            made = with_operands(graph, node, new)
            carry_names(graph, node, made)
            new[node] = made
            if not isinstance(made, Call):
                continue
            place = int(is_capacitance(made))
            if not (place or OPERATORS[made.operator].by_parts):
                continue
            matrix = made.args[place]
            if matrix.order != 2 or isinstance(matrix, Input) or is_system(matrix):
                continue
            if matrix not in found:
                found[matrix] = context.system(graph, matrix, context.cost)
            system = found[matrix]
            if system is not None:
                carry_names(graph, matrix, system)
                args = [*made.args[:place], system, *made.args[place + 1 :]]
                new[node] = graph.call(made.operator, args, made.dims)
    return [new[root] for root in roots]
