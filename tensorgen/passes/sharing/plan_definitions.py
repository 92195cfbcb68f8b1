"""Definitions that are called, computed as a plan of their own says.

Of what calls several results of is asked, they compute no more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tensorgen.ir.nodes import Node, topological
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.defined_calls import (
    Defined,
    defined_of,
    is_defined,
    is_planned,
    only,
    planned,
    result_of,
)
from tensorgen.passes.context import Context

Plan = Callable[[Context, Sequence[Node]], Sequence[Node]]


def plan_definitions(
    context: Context, roots: Sequence[Node], plan: Plan
) -> Sequence[Node]:
    """Return `roots` with planned definitions; `plan` says how to compute some nodes.

    Ends: what is planned is not planned again.
    """
    asked: dict[Defined, set[int]] = {}
    for node in filter(is_defined, topological(roots)):
        asked.setdefault(defined_of(node), set()).add(result_of(node))
    if not asked:
        return roots
    results = {own: sorted(numbers) for own, numbers in asked.items()}
    inner = replace(context, rates=None, compressed={}, readings={}, doubtful=0)

    def visit(node: Node) -> Node:
        if not is_defined(node) or is_planned(defined_of(node)):
            return node
        whole = defined_of(node)
        made = only(whole, results[whole])
        made = made._replace(defined=planned(made.defined, partial(plan, inner)))
        number = results[whole].index(result_of(node))
        return made.of(context.graph, node.args, number)

    return rebuild(context.graph, roots, visit)
