"""Elementwise functions and calls: the rows of the operator table as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Label,
    Map,
    Node,
    Product,
    Size,
    constant_value,
    topological,
)
from tensorgen.lower.elementwise import Factor, multiply
from tensorgen.lower.layout import aligned, axis_argument, natural_order
from tensorgen.lower.templates import template
from tensorgen.lower.text import Expr, Level, literal, number
from tensorgen.lower.writer import Writer
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.definite import Sign, sign
from tensorgen.operators.elementwise import ELEMENTWISE

if TYPE_CHECKING:
    from tensorgen.lower.lowering import Lowering


def lower_map(
    lowering: Lowering, node: Map, want: Sequence[Label] | None = None
) -> Expr:
    """The text of an elementwise function of aligned arguments."""
    writer = lowering.writer
    row = ELEMENTWISE[node.function]
    arguments = [
        _argument(writer, node.function, k, lowering.operand(ref))
        for k, ref in enumerate(node.args)
    ]
    exponent = constant_value(node.args[-1].node)
    if node.function == "pow" and exponent is not None:
        if may_be_complex(node.args[0].node, exponent):
            text = writer.np("float_power", arguments[0].text, number(exponent).text)
            return Expr(f"float({text})", weak=True)
        return multiply(writer, [Factor(arguments[0], exponent)], want=want)
    target = natural_order(arguments, want)
    placed = [aligned(argument, target) for argument in arguments]
    if row.requires:
        writer.modules[row.requires] = None
    if node.function == "pow":
        text = f"{placed[0].at(Level.ATOM)} ** {placed[1].at(Level.ATOM)}"
        expr = Expr(text, Level.POWER, target)
    else:
        expr = template(row.numpy).fill(writer, placed, target)
        expr = replace(expr, boxed=row.numpy.startswith("np.where("))
    if row.boolean:
        return replace(expr, kind="bool", weak=all(a.weak for a in arguments))
    if all(argument.weak for argument in arguments):
        if node.function == "pow" and _positive(node.args[0].node):
            return replace(expr, weak=True)
        if node.function == "pow":
            texts = [argument.text for argument in arguments]
            return Expr(f"float({writer.np('float_power', *texts)})", weak=True)
        # Python's own functions leave no NumPy scalar to strip of its dtype, and no
        # computation on a device to wait for.
        if row.has("math") and _positive(node.args[0].node):
            return Expr(f"math.{node.function}({arguments[0].text})", weak=True)
        # NumPy's own scalars are not weak: they would widen a float32 array.
        return Expr(f"float({expr.text})", weak=True)
    values = arguments[1:] if node.function == "where" else arguments
    if all(value.weak for value in values):
        return writer.as_float(replace(expr, kind="int"))
    return expr


def may_be_complex(base: Node, exponent: Fraction) -> bool:
    """Whether Python might make a complex number of a power that is NaN in NumPy."""
    if exponent.denominator == 1 or base.order or sign(base) == Sign.POSITIVE:
        return False
    return not any(isinstance(n, Input | Call) for n in topological([base]))


def _positive(number: Node) -> bool:
    """Whether a number is positive whatever the dims are, none of which is 0."""
    match number:
        case Constant():
            return number.name != "inf"
        case Size():
            return number.value.is_positive()
        case Product():
            return number.coefficient > 0 and all(
                _positive(factor.node) for factor in number.factors
            )
        case _:
            return False


def _argument(writer: Writer, function: str, position: int, expr: Expr) -> Expr:
    """An argument as the function wants it: a condition or a number."""
    if position not in ELEMENTWISE[function].conditions:
        return writer.as_float(expr)
    if expr.kind == "bool":
        return expr
    value = literal(expr)
    if value is not None:
        return Expr(str(value != 0), kind="bool", weak=True)
    return Expr(f"{expr.at(Level.SUM)} != 0", Level.COMPARE, expr.labels, kind="bool")


def lower_call(lowering: Lowering, node: Call) -> Expr:
    """The text of a function of whole arrays."""
    writer = lowering.writer
    row = OPERATORS[node.operator]
    arguments = [lowering.whole(arg) for arg in node.args]
    if row.requires:
        writer.modules[row.requires] = None
    text = row.numpy
    params = dict(node.params)
    axes = params.get("axes", params.get("along"))
    if isinstance(axes, tuple):
        argument = axis_argument(axes, node.args[0].order)
        text = text.replace("{axis}", f", {argument}" if argument else "")
    if "shape" in params:
        sizes = [writer.size(dim).text for dim in node.dims]
        text = text.replace("{shape}", ", ".join(sizes) if len(sizes) != 1 else "-1")
    expr = template(text).fill(writer, arguments, tuple(range(node.order)))
    return replace(expr, base=arguments[0].base) if row.view else expr
