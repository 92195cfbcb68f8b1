"""Means of polynomials in expressions: `gaussian_mean(f, x, S)`.

It is the mean of f where x is normal about its value: so x may be any variable that
derivatives are taken by, and its value is the mean of it.
"""

from __future__ import annotations

import ast

from tensorgen.calculus.gaussian_means import HIGHEST, NoPolynomial
from tensorgen.ir.dims import tuple_text
from tensorgen.ir.nodes import Call, Map, Node
from tensorgen.lang.derivatives import at_value, of_variable, variable
from tensorgen.lang.statement import Statement
from tensorgen.operators.functions.array import Array

SIGNATURE = "gaussian_mean(f, x, S)"


def gaussian_mean(e: Statement, tree: ast.Call) -> Array | None:
    """Return the mean that a call means."""
    if tree.keywords or len(tree.args) != 3:
        e.fault("this is not how 'gaussian_mean' is called", tree, hint=SIGNATURE)
        return None
    text, by, spread = tree.args
    x = variable(e, by)
    f = of_variable(e, text, by, x)
    covariance = e.value(spread)
    if f is None or x is None or covariance is None:
        return None
    if x.array.batch or covariance.batch:
        message = "a mean is over one variable, not over one for each index"
        hint = "of independent entries, S is the array of their variances"
        e.fault(message, by if x.array.batch else spread, hint=hint)
        return None
    wanted = x.array.shape
    if covariance.shape not in (wanted, (*wanted, *wanted)):
        shown = e.expression.source(spread)
        either = f"{tuple_text((*wanted, *wanted))}, or {tuple_text(wanted)}"
        message = f"the covariance {shown} must have shape {either}"
        marks = [(e.expression.span(spread), tuple_text(covariance.shape))]
        hint = "a covariance for each two entries, or the variances of independent ones"
        e.fault(message, spread, marks, hint)
        return None
    calculus = e.session.differentiate
    try:
        found = calculus.gaussian_mean(f.node, x.array.node, covariance.node)
    except NoPolynomial as no:
        _no_polynomial(e, tree, no)
        return None
    return at_value(e, Array(found, f.batch), x)


def _no_polynomial(e: Statement, tree: ast.Call, no: NoPolynomial) -> None:
    shown, by = (e.expression.source(part) for part in tree.args[:2])
    if no.degree is not None:
        message = f"'{shown}' has degree {no.degree} in {by}"
        hint = f"means are taken of polynomials up to degree {HIGHEST}"
    else:
        message = f"'{shown}' is no polynomial in {by}: {_told(no.node)}"
        hint = (
            f"'gaussian_mean' is of sums, products and whole powers of {by}; of other "
        )
        hint += "functions add up values at quadrature points: sum(w[k] * f[k], k)"
    e.fault(message, tree.args[0], hint=hint)


def _told(node: Node) -> str:
    """Say what a node does with what it depends on."""
    if isinstance(node, Map) and node.function == "pow":
        return "it has a power that is not whole"
    assert isinstance(node, Map | Call)
    name = node.function if isinstance(node, Map) else node.operator
    return f"it takes '{name}' of it"
