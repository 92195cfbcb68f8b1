"""Promised values are opened, and what is promised moves to where it is used.

`spd(A + B) @ x` becomes `(A + B) @ x`, whose structure everybody sees. A function of
matrices keeps what is known of its argument: `inv(spd(A) + X.T @ X)` becomes
`inv(spd(A + X.T @ X))`, so that lowering knows that it has a Cholesky factor.
It ends: a promise that stays stands right below a function of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Call, Node, children, topological
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.promise_calls import is_promise, kept_promise
from tensorgen.passes.context import Context


def open_promises(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with promises below functions of matrices alone."""
    graph = context.graph
    order = topological(roots)
    if not any(map(is_promise, order)):
        return list(roots)
    new: dict[Node, Node] = {}
    for node in order:
        if is_promise(node):
            new[node] = new[children(node)[0]]
        elif isinstance(node, Call) and OPERATORS[node.operator].work:
            known = {x: kept_promise(graph, x, new[x]) for x in node.args}
            new[node] = with_operands(graph, node, known)
        else:
            new[node] = with_operands(graph, node, new)
        carry_names(graph, node, new[node])
    return [new[root] for root in roots]
