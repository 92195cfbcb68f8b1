"""Derivatives in expressions: `grad(f, x)`, `jac`, `hess`, `hvp`, `jvp`, `vjp`.

With index notation on the right side, `grad(f, t[i])` is the derivative by that one
entry: the brackets apply to the axes that the derivative by t has. So `u[i]` by `t[i]`
is the diagonal of the Jacobian, in general and not only where it is diagonal.

By a name of `where`, a derivative is the partial one: that name is a variable. So it is
by an unknown, as the variable of what it solves.
"""

from __future__ import annotations

import ast
from functools import partial

from tensorgen.calculus.kinds import GRADIENT, HESSIAN, HVP, JACOBIAN, JVP, VJP, Kind
from tensorgen.ir.dims import tuple_text
from tensorgen.ir.nodes import Input, Node
from tensorgen.ir.rebuild import rebuild
from tensorgen.lang.statement import Statement
from tensorgen.lang.subscripts import select
from tensorgen.operators.functions.array import Array, Label, product
from tensorgen.operators.recurrences import substituted
from tensorgen.operators.unknowns import is_given

SPOKEN = {
    "grad": GRADIENT,
    "jac": JACOBIAN,
    "hess": HESSIAN,
    "hvp": HVP,
    "jvp": JVP,
    "vjp": VJP,
}
FACTORS = {"": "", "direction": ", v", "cotangent": ", ct"}


def derivative(name: str, e: Statement, tree: ast.Call) -> Array | None:
    """Return the derivative that a call means."""
    kind = SPOKEN[name]
    signature = f"{name}(f, x{FACTORS[kind.argument]})"
    if tree.keywords or len(tree.args) != signature.count(",") + 1:
        e.fault(f"this is not how '{name}' is called", tree, hint=signature)
        return None
    by = tree.args[1]
    first = kind.by == "each" and not kind.argument
    entry = by if isinstance(by, ast.Subscript) and first else None
    of = by if entry is None else entry.value
    x, value = variable(e, of)
    f = of_variable(e, tree.args[0], of, x, value)
    extra = e.values(tree.args[2:])
    if f is None or x is None or extra is None:
        return None
    if kind.scalar and f.order:
        shown = e.expression.source(tree.args[0])
        hint = "jac(f, x) is the derivative of a function with axes"
        marks = [(e.expression.span(tree.args[0]), tuple_text(f.shape))]
        message = f"'{name}' needs a scalar, and {shown} has axes"
        e.fault(message, tree.args[0], marks, None if kind.argument else hint)
        return None
    if extra:
        found = _along(e, kind, tree, f, x, extra[0])
        return None if found is None else at_value(e, found, x, value)
    calculus = e.session.differentiate
    if not first:
        return at_value(e, Array(calculus.hessian(f.node, x), f.batch), x, value)
    scalar = not f.node.dims
    node = (calculus.gradient if scalar else calculus.jacobian)(f.node, x)
    result = at_value(e, Array(node, f.batch), x, value)
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


def variable(e: Statement, tree: ast.expr) -> tuple[Node | None, Node | None]:
    """The variable by which to differentiate, and its value where it is no input.

    A name of `where` is a variable of its own: what is defined below it follows, and
    nothing else. That is told by the text, not by the nodes, in which its value may
    have been joined with others. An unknown is one node, whatever mentions it.
    """
    value = e.value(tree)
    if value is None:
        return None, None
    node = value.node
    is_real = not isinstance(node, Input) or node.index is None
    is_own = isinstance(tree, ast.Name) and tree.id in e.names.again and is_real
    if isinstance(tree, ast.Name) and (is_own or is_given(node)):
        return e.build.graph.input(f"the variable {tree.id}", node.dims), node
    if isinstance(node, Input) and is_real:
        return node, None
    shown = e.expression.source(tree)
    hint = "derivatives are by inputs, unknowns, and names defined under 'where'"
    e.fault(f"'{shown}' is not an input to differentiate by", tree, hint=hint)
    return None, None


def of_variable(
    e: Statement, tree: ast.expr, by: ast.expr, x: Node | None, value: Node | None
) -> Array | None:
    """What is differentiated, as a function of its variable."""
    if x is None or value is None:
        return e.value(tree)
    if is_given(value):
        f = e.value(tree)
        if f is None:
            return None
        (node,) = substituted(e.build.graph, [f.node], {value: x})
        return Array(node, f.batch)
    assert isinstance(by, ast.Name)
    before = e.names
    e.names = before.varied(by.id, Array(x))
    try:
        return e.value(tree)
    finally:
        e.names = before


def at_value(e: Statement, x: Array, variable: Node, value: Node | None) -> Array:
    """A derivative with the value of its variable in place of that."""
    if value is None:
        return x
    (node,) = rebuild(e.build.graph, [x.node], lambda node: node, {variable: value})
    return Array(node, x.batch)


def _along(
    e: Statement, kind: Kind, tree: ast.Call, f: Array, x: Node, v: Array
) -> Array | None:
    """Return a product with a direction or a cotangent."""
    weighted = kind.argument == "cotangent"
    wanted = f.shape if weighted else x.dims
    if v.shape != wanted:
        shown = e.expression.source(tree.args[2])
        message = f"{shown} must have shape {tuple_text(wanted)}"
        marks = [(e.expression.span(tree.args[2]), tuple_text(v.shape))]
        e.fault(message, tree.args[2], marks)
        return None
    calculus = e.session.differentiate
    if not f.batch and not v.batch:
        method = {HVP: calculus.hvp, JVP: calculus.jvp, VJP: calculus.vjp}[kind]
        return Array(method(f.node, x, v.node))
    # Several functions or directions at once: a product with the whole derivative.
    of = calculus.hessian if kind is HVP else calculus.jacobian
    whole = Array(of(f.node, x), f.batch)
    axes = range(whole.order)
    if weighted:
        return product(e.build, axes[f.order :], [(whole, axes), (v, axes[: f.order])])
    kept = whole.order - len(x.dims)
    return product(e.build, axes[:kept], [(whole, axes), (v, axes[kept:])])
