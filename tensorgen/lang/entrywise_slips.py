"""What the language can read, but hardly anybody means: matrices entry by entry.

In other languages `A^-1 * x` multiplies by an inverse matrix, and `A * x` is the
product of a matrix and a vector. Here both go entry by entry, as in NumPy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from tensorgen.errors import Remark
from tensorgen.ir.nodes import Node, Product, Ref, constant_value
from tensorgen.lang.statement import Statement
from tensorgen.operators.functions.array import Array

# Functions of one matrix, for which a product of matrices is what people mean.
_OF_MATRICES = ("trace", "tr", "det", "logdet", "inv", "cholesky")


# Functions that multiply their two arguments as matrices.
PRODUCTS = ("dot", "matmul")


def reciprocal_matrix(e: Statement, tree: ast.BinOp) -> str | None:
    """What to write for `A^-1`, if that is the reciprocal of a square matrix."""
    base = e.value(tree.left) if _is_minus_one(_first(tree.right)) else None
    if base is not None and _is_square(base):
        return _instead(e, tree.left, Fraction(-1))
    return None


def keep_power(
    e: Statement, base: ast.expr, values: Sequence[Array], result: Array
) -> None:
    """Remember of `A**-1`, a square matrix, what is to be written in its place."""
    matrix, exponent = values
    power = constant_value(exponent.node)
    if power is not None and power < 0 and _is_square(matrix):
        hint = _instead(e, base, power)
        e.session.reciprocals.setdefault(result.node, hint)


def _instead(e: Statement, base: ast.expr, power: Fraction) -> str:
    a = e.expression.source(base)
    if power == -1:
        return f"the inverse is inv({a}); inv({a}) @ x is solve({a}, x)"
    if power.denominator == 1:
        return f"the power of a matrix is matrix_power({a}, {power})"
    return f"the power of a matrix is expm({float(power):g} * logm({a}))"


def _first(tree: ast.expr) -> ast.expr:
    """The first operand: all operators bind more tightly than `^`."""
    while isinstance(tree, ast.BinOp):
        tree = tree.left
    return tree


def _is_minus_one(tree: ast.expr) -> bool:
    match tree:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
    return False


def is_refused(e: Statement, factors: Iterable[tuple[ast.expr, object]]) -> bool:
    """Report factors of a matrix product that are reciprocals of square matrices.

    They may have names, be turned, or be multiplied by numbers.
    """
    found = False
    for tree, value in factors:
        known = e.session.reciprocals
        hint = _reciprocal(known, value.node) if isinstance(value, Array) else None
        if hint is not None:
            shown = e.expression.source(tree)
            message = f"'{shown}' is one over each entry, and no inverse"
            e.fault(message, tree, hint=hint)
            found = True
    return found


def _reciprocal(known: Mapping[Node, str], node: Node) -> str | None:
    while node not in known:
        match node:
            case Product(factors=(Ref(node=inner),), constraints=(), inner=()):
                node = inner
            case _:
                return None
    return known[node]


def note_product(e: Statement, step: ast.BinOp, left: Array, right: Array) -> None:
    """Remark on `A * x`, a matrix and a vector by their names."""
    parts = (step.left, step.right)
    if {left.order, right.order} == {1, 2} and all(map(_is_name, parts)):
        a, b = map(e.expression.source, parts)
        row, column = (b, a) if left.order == 2 else (a, b)
        _note(
            e,
            step,
            f"multiplies each row of {column} by {row}, entry by entry",
            f"the product of matrix and vector is {column} @ {row}",
        )


LARGER = {
    "max": "maximum(x, y) is the larger of two, entry by entry",
    "min": "minimum(x, y) is the smaller of two, entry by entry",
}
"""What may be meant by the largest and the smallest entry of an array."""


def of_two(name: str, tree: ast.Call) -> str | None:
    """What may be meant by `max(x, 0)`, if that is a call like it."""
    return LARGER.get(name) if len(tree.args) == 2 and not tree.keywords else None


def note_argument(
    e: Statement, name: str, tree: ast.Call, values: Mapping[str, object]
) -> None:
    """Remark on `trace(A * B)`, a function of two matrices multiplied by entries.

    And on `max(v, 0)`, which is the largest entry of a vector.
    """
    x = values.get("x")
    if of_two(name, tree) and isinstance(x, Array) and x.order == 1:
        does = "is one entry of a vector: 0 is its axis"
        _note(e, tree, does, LARGER[name], "axis")
    if name not in _OF_MATRICES or not tree.args:
        return
    match tree.args[0]:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            factors = e.value(left), e.value(right)
            if all(value is not None and value.order == 2 for value in factors):
                a, b = map(e.expression.source, (left, right))
                _note(
                    e,
                    tree.args[0],
                    "multiplies matrices entry by entry",
                    f"their product is {a} @ {b}",
                )


def _note(
    e: Statement, tree: ast.expr, does: str, instead: str, code: str = "matrices"
) -> None:
    if e.callers and e.callers[-1][0].shipped:
        return
    message = f"'{e.expression.source(tree)}' {does}; {instead}"
    e.session.remarks.setdefault(Remark(message, e.expression.span(tree), code))


def _is_name(tree: ast.expr) -> bool:
    if isinstance(tree, ast.Attribute):
        return tree.attr == "T" and _is_name(tree.value)
    return isinstance(tree, ast.Name)


def _is_square(value: Array) -> bool:
    return value.order >= 2 and value.shape[-1] == value.shape[-2]
