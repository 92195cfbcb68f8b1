"""Widen late: functions of what is read in windows are windows of functions.

An entry that stands in seven windows is needed seven times, and computed once:
`exp(x[i + k])` is what is read of `exp(x)` at `i + k`. So reading moves the other way
than in `ir/at.py`, where it gives more entries than there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ZERO
from tensorgen.ir.nodes import Lookup, Map, Node, Product, Ref, Sum
from tensorgen.ir.rebuild import of_others, rebuild, refs_of
from tensorgen.passes.context import Context
from tensorgen.passes.readings.readings import Reading, reading


def widen_late(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with maps and sums of windows as windows of maps and sums.

    Fires where all other operands are numbers. Ends: what reads windows moves towards
    the roots.
    """
    graph = context.graph

    def visit(node: Node) -> Node:
        if not isinstance(node, Map | Sum):
            return node
        operands = refs_of(node)
        wide = [k for k, one in enumerate(operands) if one.node.order]
        if len(wide) != 1 or operands[wide[0]].labels != tuple(range(node.order)):
            return node
        found = _windows(operands[wide[0]].node)
        if found is None:
            return node
        whole, _ = found.factor
        axes = tuple(range(whole.order))
        inner = graph.product(axes, [(whole, axes)], coefficient=found.node.coefficient)
        uses = [(inner, axes) if x.node.order else (x.node, ()) for x in operands]
        made = of_others(graph, node, axes, uses, dict(enumerate(whole.dims)))
        return _read(context, found, made)

    return rebuild(graph, roots, visit)


def _windows(node: Node) -> Reading | None:
    """How a node reads windows of one array, where that is all that it does."""
    if not isinstance(node, Product) or len(node.factors) != 1:
        return None
    found = reading(node, 0)
    if found is None or len(found.ties) != len(node.constraints):
        return None
    whole, labels = found.factor
    atoms = [atom for form in found.forms for atom, _ in form.terms]
    if any(isinstance(atom, Lookup) for atom in atoms):
        return None
    if len({*labels}) != len(labels) or node.order <= whole.order:
        return None
    if set(found.sizes) != {*range(node.order)}:
        return None
    ranges = Ranges.of(found.sizes)
    inside = zip(found.forms, whole.dims, strict=True)
    if not all(ranges.contain(form, (ZERO, dim)) for form, dim in inside):
        return None
    return found


def _read(context: Context, found: Reading, made: Node) -> Node:
    node, (_, labels) = found.node, found.factor
    return context.graph.product(
        range(node.order),
        [Ref(made, labels)],
        constraints=node.constraints,
        sizes=dict(enumerate(node.sizes)),
    )
