"""Which operations a kernel does entry by entry, and how many launches they are alone.

Kernels know numbers of one type, and conditions. Integers and Python's numbers are
given to them as they are. All that reads other entries is left to the array module.
"""

from __future__ import annotations

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array
from tensorgen.arrays.device_functions import launches_of
from tensorgen.operators.elementwise import ELEMENTWISE

QUICK = ops.Add | ops.AsFloat | ops.Compare | ops.Conjunction | ops.Multiply
"""What takes no longer than to read a number."""


def launches(one: Array) -> int:
    """How many operations an array takes of its operands; 0 if no kernel does them."""
    if one.weak or one.kind == "int" or not one.args:
        return 0
    op, args = one.op, one.args
    kinds = {arg.kind for arg in args if not arg.weak}
    match op:
        case ops.AsFloat():
            return 1
        case ops.Compare():
            # Integers are compared with integers, written out or in arrays.
            numbers = all(isinstance(arg.op, ops.Number) for arg in args if arg.weak)
            return int("int" not in kinds or (kinds == {"int"} and numbers))
        case ops.Conjunction():
            return int(kinds == {"bool"} and not any(arg.weak for arg in args))
        case ops.Multiply(coefficient=coefficient) if _are_numbers(one):
            return max(len(args) - (coefficient == 1) * bool(op.above), 1)
        case ops.Add(signs=signs) if _are_numbers(one):
            return len(signs) - (signs[0] > 0)
        case ops.Power() if kinds == {"float"}:
            return 1
        case ops.Elementwise(function=name):
            return launches_of(name) if _is_of_numbers(name, args) else 0
        case _:
            return 0


def _are_numbers(one: Array) -> bool:
    """Whether what is added or multiplied is numbers, perhaps with conditions."""
    kinds = {arg.kind for arg in one.args if not arg.weak}
    return "float" in kinds and "int" not in kinds


def _is_of_numbers(name: str, args: tuple[Array, ...]) -> bool:
    """Whether a function is given conditions where it asks for them, else numbers."""
    row = ELEMENTWISE[name]
    return all(
        (
            (arg.kind == "bool" and not arg.weak)
            if k in row.conditions
            else arg.kind == "float"
        )
        for k, arg in enumerate(args)
    )


def is_cheap(one: Array) -> bool:
    """Whether to do it again for every row takes no longer than to read what it is."""
    if not one.order:
        return True
    square = isinstance(one.op, ops.Power) and one.op.exponent in (2, 3)
    return square or isinstance(one.op, QUICK)
