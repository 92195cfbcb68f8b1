"""Taylor coefficients in expressions: `taylor(f, x, v, k)`.

They are those of f along the line x + s v, or along x + s v[0] + s**2 v[1] + ..., a
curve, where v has an axis more than x.
"""

from __future__ import annotations

import ast

from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import Node, Sum
from tensorgen.lang.derivatives import at_value, of_variable, variable
from tensorgen.lang.statement import Statement
from tensorgen.operators.functions.array import Array
from tensorgen.operators.functions.making import stack
from tensorgen.operators.recurrences.recurrence import row

SIGNATURE = "taylor(f, x, v, k)"
HIGHEST = 100


def taylor(e: Statement, tree: ast.Call) -> Array | None:
    """Return the coefficients that a call means, along a new first axis."""
    if tree.keywords or len(tree.args) != 4:
        e.fault("this is not how 'taylor' is called", tree, hint=SIGNATURE)
        return None
    order = _order(e, tree.args[3])
    by = tree.args[1]
    x = variable(e, by)
    f = of_variable(e, tree.args[0], by, x)
    v = e.value(tree.args[2])
    if f is None or x is None or v is None or order is None:
        return None
    own = x.array
    curve = _curve(e, own, v, tree.args[2])
    if curve is None:
        return None
    found = e.session.differentiate.taylor(f.node, own.node, curve, order)
    rows = [at_value(e, Array(node, f.batch), x) for node in found]
    return stack(e.build, rows)


def _order(e: Statement, tree: ast.expr) -> int | None:
    match tree:
        case ast.Constant(value=int(order)) if not isinstance(order, bool):
            if order <= HIGHEST:
                return order
    shown = e.expression.source(tree)
    message = f"the order of a series is an integer from 0 to {HIGHEST}"
    e.fault(f"{message}, not '{shown}'", tree, hint=SIGNATURE)
    return None


def _curve(e: Statement, x: Array, v: Array, tree: ast.expr) -> list[Node] | None:
    """The coefficients of x from 1 on."""
    count = v.shape[0].constant if v.order else None
    is_line = v.shape == x.shape
    if v.batch or x.batch:
        message = "a series is along one direction, not along one for each index"
        hint = "of elements, all at once: taylor(u, t, ones(n), k)"
        e.fault(message, tree, hint=hint)
        return None
    if is_line:
        return [v.node]
    if v.shape[1:] == x.shape and count is not None:
        return [_row(e, v.node, k) for k in range(int(count))]
    shown, wanted = e.expression.source(tree), tuple_text(x.shape)
    marks = [(e.expression.span(tree), tuple_text(v.shape))]
    hint = "a curve, of higher order, is a list of such arrays: [v, w]"
    e.fault(f"{shown} must have shape {wanted}", tree, marks, hint)
    return None


def _row(e: Statement, rows: Node, k: int) -> Node:
    """A row of an array; of rows that were stacked, what it is made of."""
    graph, at = e.build.graph, Dim.of(k)
    if not isinstance(rows, Sum):
        return row(graph, rows, at)
    dims = dict(enumerate(rows.dims))
    axes = range(rows.order)
    terms = []
    for c, node, labels in rows.terms:
        whole = graph.product(axes, [(node, labels)], sizes=dims)
        terms.append((c, row(graph, whole, at), range(rows.order - 1)))
    return graph.sum(range(rows.order - 1), terms, dict(enumerate(rows.dims[1:])))
