"""Large arrays that are made again, or used up, instead of being held beside others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array, below, bound, replacing
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import memory
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.statements import (
    Let,
    Statement,
    Store,
    bindings,
    changed,
    everything,
    operands,
    reads,
    rebuilt,
)

Asked = Callable[[Array], bool]


def made_again(
    code: Code, is_large: Asked, again: Callable[[str], str], kept: Collection[str]
) -> Code:
    """Return code that makes large arrays anew for each statement that reads them.

    These are sums and products of small arrays, which cost little more to make than
    to read, under names that are not `kept`. `again` gives another name for one.
    """
    unsteady = frozenset[str]().union(*map(changed, code.statements))
    values: dict[Array, Array] = {}
    asked: set[Array] = set()
    lines: list[Statement] = []
    for line in code.statements:
        own: dict[Array, Array] = {}
        for one in _variables(operands(line)):
            if one in values and one in asked:
                made = Let(again(_name(one)), values[one])
                lines.append(made)
                own[one] = bound(made.name, made.value)
            asked.add(one)
        lines.append(rebuilt(line, replacing(own)))
        if isinstance(line, Let) and line.name not in kept and is_large(line.value):
            value = replacing(dict(values))(line.value)
            plain = all(isinstance(x.op, _PASSES) for x in below([value]))
            steady = unsteady.isdisjoint([line.name, *reads([value])])
            if plain and steady and not any(map(is_large, _variables([value]))):
                values[bound(line.name, value)] = value
    return Code(tuple(lines), code.returns, code.refusals)


_PASSES = (ops.Add, ops.Multiply, ops.Outer, ops.View, ops.Leaf)


def used_up(code: Code, is_large: Asked, kept: Collection[str]) -> Code:
    """Return code that scales a large term of a sum in place where it is last read.

    `T *= s; total += T` holds an array less than `total += s * T`.
    """
    shown = {
        memory(value)
        for line in everything(code.statements)
        for _, value in bindings(line)
    }
    free = {
        bound(line.name, line.value)
        for line in code.statements
        if isinstance(line, Let) and line.name not in kept
        if memory(line.value) is line.value
    } - {*shown, *_variables(code.returns)}
    lines: list[Statement] = []
    for line in reversed(code.statements):
        used = _variables(operands(line))
        if isinstance(line, Store) and line.how in ("+=", "-="):
            term, scale = _scaled(line.value, is_large)
            alike = term.dims == line.value.dims
            if alike and term in free and term not in below([scale]):
                whole = ops.Index((WHOLE,) * term.order, term.dims)
                lines.append(replace(line, value=term))
                line = Store(term, whole, (), "*=", scale)
        lines.append(line)
        free.difference_update(used)
    return Code(tuple(reversed(lines)), code.returns, code.refusals)


def _scaled(one: Array, is_large: Asked) -> tuple[Array, Array]:
    """The one large factor of a product and all others; twice the same if none is."""
    op, parts = one.op, one.args
    if not isinstance(op, ops.Multiply) or len(parts) > op.above:
        return one, one
    large = [part for part in parts if is_large(part)]
    rest = [part for part in parts if not is_large(part)]
    if len(large) != 1:
        return one, one
    term, inner = _scaled(large[0], is_large)
    rest += [inner] * (inner is not term)
    return term, array(ops.Multiply(op.coefficient, len(rest)), *rest)


def _variables(arrays: Sequence[Array]) -> list[Array]:
    return [one for one in below(arrays) if isinstance(one.op, ops.Variable)]


def _name(one: Array) -> str:
    return one.op.name if isinstance(one.op, ops.Variable) else ""
