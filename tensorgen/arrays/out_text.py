"""Operations that the array module does in memory that it is given: `out=`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.printer import Printer, row_template
from tensorgen.arrays.templates import Text, template

Last = tuple[str, tuple[Array, ...]]


def last_operation(one: Array) -> Last | None:
    """What is done last to make an array, and to what, if memory can be given for it.

    It is a template whose last place is the memory.
    """
    op = one.op
    if isinstance(op, ops.Entrywise):
        return _entrywise(op, one.args)
    return _contraction(op, one.args) if isinstance(op, ops.Contraction) else None


def filling(printer: Printer, one: Array, memory: str) -> str:
    """The text that computes an array in given memory.

    Raises ValueError where that cannot be said; `last_operation` tells.
    """
    last = last_operation(one)
    if last is None:
        raise ValueError(f"{type(one.op).__name__} takes no memory")
    text, operands = last
    written = [*map(printer.written, operands), Text(memory)]
    return template(text).fill(printer.alias, written).text


def _entrywise(op: ops.Entrywise, args: tuple[Array, ...]) -> Last | None:
    match op:
        case ops.Multiply(above=above) if len(args) > 1:
            over = above < len(args)  # what stands below comes last
            rest = replace(op, above=above if over else above - 1)
            return _pair("divide" if over else "multiply", rest, args)
        case ops.Multiply(coefficient=coefficient, above=above):
            number = array(ops.Number(coefficient))
            return _two("multiply" if above else "divide", number, *args)
        case ops.Add(signs=signs):
            name = "add" if signs[-1] > 0 else "subtract"
            return _pair(name, ops.Add(signs[:-1]), args)
        case ops.Power(exponent=Fraction(numerator=2, denominator=1)):
            return "np.square({0}, out={1})", args
        case ops.Power(exponent=exponent):
            return _two("power", *args, array(ops.Number(exponent)))
        case ops.Elementwise(function=name):
            row = row_template(op, 0)
            fits = row.is_call and name != "where"
            return (f"{row.text[:-1]}, out={{{len(args)}}})", args) if fits else None
        case (
            ops.Bundle()
            | ops.Conjunction()
            | ops.Compare()
            | ops.AsFloat()
            | ops.Python()
            | ops.FloatPower()
        ):
            return None
        case _:
            assert_never(op)


def _pair(name: str, rest: ops.Operation, args: tuple[Array, ...]) -> Last:
    """An operation with the last operand, of all others put together."""
    # `x / y` has the operation of `x` alone: numbers of operands tell them apart.
    alone = len(args) == 2 and rest in _ALONE
    first = args[0] if alone else array(rest, *args[:-1])
    return _two(name, first, args[-1])


_ALONE = (ops.Multiply(Fraction(1), 1), ops.Add((1,)))


def _two(name: str, *operands: Array) -> Last:
    return f"np.{name}({{0}}, {{1}}, out={{2}})", operands


def _contraction(op: ops.Contraction, args: tuple[Array, ...]) -> Last | None:
    match op:
        case ops.MatMul():
            return _two("matmul", *args)
        case ops.Outer():
            return _two("outer", *args)
        case (
            ops.InnerProduct()
            | ops.TensorDot()
            | ops.Einsum()
            | ops.Trace()
            | ops.Reduce()
        ):
            return None
        case ops.Accumulate() | ops.MovingSum() | ops.Correlate() | ops.SumByKey():
            return None
        case ops.Solve() | ops.Call():
            return None
        case _:
            assert_never(op)
