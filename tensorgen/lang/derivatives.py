"""Derivatives in expressions: `grad(f, x)`, `jac`, `hess`, `hvp`, `jvp`, `vjp`, series.

With index notation on the right side, `grad(f, t[i])` is the derivative by that one
entry: the brackets apply to the axes that the derivative by t has. So `u[i]` by `t[i]`
is the diagonal of the Jacobian, in general and not only where it is diagonal.

By a name of `where`, a derivative is the partial one: that name is a variable. So it is
by an unknown, as the variable of what it solves.

`taylor(f, x, v, k)` has the coefficients of f along the line x + s v, or, where v has
an axis more than x, along the curve x + s v[0] + s**2 v[1] + ...
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import partial

from tensorgen.calculus.kinds import GRADIENT, HESSIAN, HVP, JACOBIAN, JVP, VJP, Kind
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import Input, Node, Sum
from tensorgen.ir.rebuild import rebuild, substituted
from tensorgen.ir.ties import along
from tensorgen.lang.statement import Statement
from tensorgen.lang.subscripts import select
from tensorgen.operators.functions.array import Array, Label, product
from tensorgen.operators.functions.making import stack
from tensorgen.operators.recurrences.recurrence import row
from tensorgen.operators.solved_arrays import is_given

SPOKEN = {
    "grad": GRADIENT,
    "jac": JACOBIAN,
    "hess": HESSIAN,
    "hvp": HVP,
    "jvp": JVP,
    "vjp": VJP,
}
FACTORS = {"": "", "direction": ", v", "cotangent": ", ct"}


def signature(name: str) -> str:
    """Return how a derivative is called."""
    return f"{name}(f, x{FACTORS[SPOKEN[name].argument]})"


def derivative(name: str, e: Statement, tree: ast.Call) -> Array | None:
    """Return the derivative that a call means."""
    kind = SPOKEN[name]
    called = signature(name)
    if tree.keywords or len(tree.args) != called.count(",") + 1:
        e.fault(f"this is not how '{name}' is called", tree, hint=called)
        return None
    lifted = None if e.steps is None else e.steps.by_entry(e, tree)
    if lifted is None:
        return _derivative(kind, e, tree)
    tree, names = lifted
    before, e.names = e.names, names
    used = dict(e.record.names)
    try:
        return _derivative(kind, e, tree)
    finally:
        e.names = before
        # Its variable is no name of the spec.
        for own in names.local.keys() - before.local.keys():
            if own not in used:
                e.record.names.pop(own, None)


def _derivative(kind: Kind, e: Statement, tree: ast.Call) -> Array | None:
    by = tree.args[1]
    first = kind.by == "each" and not kind.argument
    entry = by if isinstance(by, ast.Subscript) and first else None
    of = by if entry is None else entry.value
    x = variable(e, of)
    f = of_variable(e, tree.args[0], of, x)
    extra = e.values(tree.args[2:])
    if f is None or x is None or extra is None:
        return None
    if kind.scalar and f.order:
        shown = e.expression.source(tree.args[0])
        hint = "jac(f, x) is the derivative of a function with axes"
        marks = [(e.expression.span(tree.args[0]), tuple_text(f.shape))]
        message = (
            f"'{e.expression.source(tree.func)}' needs a scalar, and {shown} has axes"
        )
        e.fault(message, tree.args[0], marks, None if kind.argument else hint)
        return None
    if extra:
        found = _along(e, kind, tree, f, x, extra[0])
        return None if found is None else at_value(e, found, x)
    result = at_value(e, _whole(e, f, x.array, not first), x)
    if entry is None:
        return result
    if any(isinstance(part, ast.Slice) for part in ast.walk(entry.slice)):
        e.fault("a derivative is by an input or by one entry of it", entry)
        return None
    return _at(e, result, f.order, entry)


FORMS = {name: partial(derivative, name) for name in SPOKEN}


def _at(e: Statement, x: Array, order: int, entry: ast.Subscript) -> Array | None:
    """Apply brackets to the axes behind the first `order` ones."""
    if not order:
        return select(e, x, entry, distribute=True)
    # The axes of f step aside as named ones while the brackets apply to the others.
    labels: tuple[Label, ...] = tuple(("f", k) for k in range(order))
    found = select(e, Array(x.node, (*x.batch, *labels)), entry, distribute=True)
    if found is None:
        return None
    batch = tuple(label for label in found.batch if label not in labels)
    axes = range(found.order)
    node = e.build.graph.product(
        (*batch, *labels, *axes), [(found.node, found.labels(axes))]
    )
    return Array(node, batch)


@dataclass(frozen=True)
class Variable:
    """What is differentiated by; it stands for a `value`, unless it is an input.

    One with indices is as many variables, one for each of their values.
    """

    array: Array
    value: Node | None = None


def variable(e: Statement, tree: ast.expr) -> Variable | None:
    """The variable by which to differentiate.

    A name of `where` is a variable of its own: what is defined below it follows, and
    nothing else. That is told by the text, not by the nodes, in which its value may
    have been joined with others. An unknown is one node, whatever mentions it.
    """
    value = e.value(tree)
    if value is None:
        return None
    node = value.node
    is_real = not isinstance(node, Input) or node.index is None
    is_own = isinstance(tree, ast.Name) and tree.id in e.names.again and is_real
    if is_own or (is_given(node) and not value.batch):
        # Within what is differentiated by another one, this is one more.
        places = e.session.variables.setdefault(node, [])
        while len(places) <= e.session.within:
            places.append(e.build.graph.fresh(node.dims, (), None))
        return Variable(Array(places[e.session.within], value.batch), node)
    if isinstance(node, Input) and is_real and not value.batch:
        return Variable(value)
    shown = e.expression.source(tree)
    hint = "derivatives are by inputs, unknowns, and names defined under 'where'"
    e.fault(f"'{shown}' is not an input to differentiate by", tree, hint=hint)
    return None


def of_variable(
    e: Statement, tree: ast.expr, by: ast.expr, x: Variable | None
) -> Array | None:
    """What is differentiated, as a function of its variable."""
    before = e.names
    is_local = isinstance(by, ast.Name) and by.id in before.again
    if x is not None and x.value is not None and isinstance(by, ast.Name) and is_local:
        e.names = before.varied(by.id, x.array)
    e.session.within += 1
    try:
        f = e.value(tree)
    finally:
        e.names = before
        e.session.within -= 1
    if f is None or x is None or x.value is None or is_local:
        return f
    (node,) = substituted(e.build.graph, [f.node], {x.value: x.array.node})
    return Array(node, f.batch)


def at_value(e: Statement, found: Array, x: Variable) -> Array:
    """A derivative with the value of its variable in place of that."""
    if x.value is None:
        return found
    known = {x.array.node: x.value}
    (node,) = rebuild(e.build.graph, [found.node], lambda node: node, known)
    return Array(node, found.batch)


def _whole(e: Statement, f: Array, x: Array, second: bool) -> Array:
    """The first or second derivative: for each index that x has, by its own entry."""
    graph, calculus = e.build.graph, e.session.differentiate
    if not x.batch:
        if second:
            return Array(calculus.hessian(f.node, x.node), f.batch)
        first = calculus.jacobian if f.node.dims else calculus.gradient
        return Array(first(f.node, x.node), f.batch)
    if not f.order and {*f.batch} == {*x.batch}:
        # Each value depends on its own variable: that is the slope of their sum.
        total = graph.product((), [(f.node, f.batch)])
        f = Array(calculus.gradient(total, x.node), x.batch)
        if not second:
            return f
        second = False
    axes = range(f.order)
    batch = tuple(dict.fromkeys((*f.batch, *x.batch)))
    sizes = dict(zip(x.batch, x.node.dims, strict=False))
    node = graph.product((*batch, *axes), [(f.node, f.labels(axes))], sizes=sizes)
    found = (calculus.hessian if second else calculus.jacobian)(node, x.node)
    own = {
        start + k: batch.index(label)
        for start in range(node.order, found.order, x.node.order)
        for k, label in enumerate(x.batch)
    }
    return Array(along(graph, found, own), batch)


def _along(
    e: Statement, kind: Kind, tree: ast.Call, f: Array, by: Variable, v: Array
) -> Array | None:
    """Return a product with a direction or a cotangent."""
    x, weighted = by.array, kind.argument == "cotangent"
    wanted = f.shape if weighted else x.shape
    if v.shape != wanted:
        shown = e.expression.source(tree.args[2])
        message = f"{shown} must have shape {tuple_text(wanted)}"
        marks = [(e.expression.span(tree.args[2]), tuple_text(v.shape))]
        e.fault(message, tree.args[2], marks)
        return None
    calculus = e.session.differentiate
    if not (f.batch or v.batch or x.batch):
        method = {HVP: calculus.hvp, JVP: calculus.jvp, VJP: calculus.vjp}[kind]
        return Array(method(f.node, x.node, v.node))
    # Several functions or directions at once: a product with the whole derivative.
    whole = _whole(e, f, x, kind is HVP)
    axes = range(whole.order)
    if weighted:
        return product(e.build, axes[f.order :], [(whole, axes), (v, axes[: f.order])])
    kept = whole.order - x.order
    return product(e.build, axes[:kept], [(whole, axes), (v, axes[kept:])])


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
