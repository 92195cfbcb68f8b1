"""Elementwise functions and calls: the rows of the operator table as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.arrays import operations
from tensorgen.arrays import operations as ops
from tensorgen.ir.dims import ZERO
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Label,
    Map,
    Node,
    Product,
    Ref,
    Size,
    constant_value,
    topological,
)
from tensorgen.lower.axes import aligned, natural_order, ordered
from tensorgen.lower.elementwise_products import Factor, multiply
from tensorgen.lower.matrix_objects import (
    lower_selected,
    lower_solution,
    lower_system,
    lower_told,
)
from tensorgen.lower.operands import Operand, as_float, literal, made, number
from tensorgen.lower.values import Values
from tensorgen.operators.calls import OPERATORS, is_guarded
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.external_calls import external_of, is_external
from tensorgen.operators.helpers.shares import helper_of
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.matrices.systems import is_system
from tensorgen.operators.solved_arrays import equation_of, is_unknown


def lower_map(known: Values, node: Map, want: Sequence[Label] | None = None) -> Operand:
    """An elementwise function of aligned arguments."""
    name = node.function
    arguments = [
        _argument(name, k, known.operand(ref)) for k, ref in enumerate(node.args)
    ]
    exponent = constant_value(node.args[-1].node)
    if name == "pow" and exponent is not None:
        if may_be_complex(node.args[0].node, exponent):
            power = made(ops.FloatPower(), (), arguments[0], number(exponent))
            return made(ops.Python("float"), (), power)
        return multiply([Factor(arguments[0], exponent)], want=want)
    if ELEMENTWISE[name].has("even") and not arguments[0].weak:
        arguments = [_without_minus(arguments[0])]
    target = natural_order(arguments, want)
    placed = [aligned(argument, target) for argument in arguments]
    found = made(ops.Elementwise(name), target, *placed)
    if found.kind == "bool":
        return found
    if not all(argument.weak for argument in arguments):
        return as_float(found)  # a selection of numbers has no dtype yet
    # Python's own functions leave no NumPy scalar to strip of its dtype, and no
    # computation on a device to wait for.
    if ELEMENTWISE[name].has("math") and _positive(node.args[0].node):
        return made(ops.Python(f"math.{name}"), (), *arguments)
    if name == "pow":
        found = made(ops.FloatPower(), (), *arguments)
    # NumPy's own scalars are not weak: they would widen a float32 array.
    return made(ops.Python("float"), (), found)


def _without_minus(operand: Operand) -> Operand:
    """The argument of a function to which its sign is all one."""
    op, args = operand.array.op, operand.array.args
    if op == ops.Multiply(Fraction(-1), 1) and len(args) == 1:  # others stand below
        return Operand(args[0], operand.labels)
    return operand


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


def _argument(function: str, position: int, operand: Operand) -> Operand:
    """An argument as the function wants it: a condition or a number."""
    condition = position in ELEMENTWISE[function].conditions
    return _as_condition(operand) if condition else as_float(operand)


def _as_condition(operand: Operand) -> Operand:
    if operand.kind == "bool":
        return operand
    value = literal(operand)
    if value is not None:
        return made(ops.Truth(value != 0), ())
    return made(ops.Compare("!="), operand.labels, operand, number(0))


def _condition(known: Values, node: Node) -> Operand:
    """A condition with all of its axes, in their order."""
    axes = tuple(range(node.order))
    operand = known.operand(Ref(node, axes))
    if operand.kind == "bool" and {*operand.labels} == {*axes}:
        return ordered(operand, axes)
    return _as_condition(known.whole(node))


def _entries(known: Values, node: Node) -> Operand:
    """The entries of an index array, or places, which stay integers."""
    axes = tuple(range(node.order))
    if isinstance(node, Iota):
        return made(operations.Range(ZERO, node.dims[0]), axes)
    operand = known.operand(Ref(node, axes))
    if {*operand.labels} == {*axes}:
        return ordered(operand, axes)
    return made(operations.Broadcast(node.dims), axes, aligned(operand, axes))


def lower_call(known: Values, node: Call) -> Operand:
    """A function of whole arrays."""
    if is_system(node):
        return lower_system(known, node)
    if node.operator == "solution":
        return lower_solution(known, node)
    if node.operator == "selected":
        return lower_selected(known, node)
    if node.args and is_system(node.args[0]):
        return lower_told(known, node)
    if OPERATORS[node.operator].boolean:
        arguments = [_condition(known, arg) for arg in node.args]
    elif OPERATORS[node.operator].keyed:
        x, *keys = node.args
        arguments = [known.whole(x), *(_entries(known, arg) for arg in keys)]
    else:
        arguments = [known.whole(arg) for arg in node.args]
    params = dict(node.params)
    text = equation_of(node).solver if is_unknown(node) else ""
    if OPERATORS[node.operator].helped:
        text = f"{helper_of([node.operator], is_guarded(node))}({{0}}{{axis}})"
    if is_external(node):
        text, arguments = external_of(node).template, [*map(as_float, arguments)]
    axes = params.get("axes", params.get("along"))
    along = axes if isinstance(axes, tuple) else None
    if along is not None and len(arguments) == 1:
        arguments[0], along = _unturned(arguments[0], along, node.order)
    op = operations.Call(node.operator, node.dims, along, "shape" in params, text)
    return made(op, tuple(range(node.order)), *arguments)


def _unturned(
    x: Operand, along: tuple[int, ...], left: int
) -> tuple[Operand, tuple[int, ...]]:
    """What is reduced and its axes, without a transpose if these are all it moves.

    So the largest of `A.T` along its last axis is that of A along its first.
    """
    op = x.array.op
    if not isinstance(op, operations.Permute) or left + len(along) != x.array.order:
        return x, along
    rest = [axis for k, axis in enumerate(op.axes) if k not in along]
    if rest != sorted(rest):
        return x, along
    (inner,) = x.array.args
    axes = tuple(range(inner.order))
    return Operand(inner, axes), tuple(sorted(op.axes[k] for k in along))
