"""Large sums term by term, in the memory of their result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array, below, replacing, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import memory
from tensorgen.arrays.operations import Add, Index, Leaf, Multiply, Permute, Variable
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.reading import LINE, is_long
from tensorgen.arrays.statements import (
    Let,
    Statement,
    Store,
    changed,
    operands,
    reads,
    rebuilt,
)

Term = tuple[int, Array]


def in_place(
    code: Code,
    is_large: Callable[[Array], bool],
    pick: Callable[[int], str],
    kept: Collection[str],
) -> Code:
    """Return code that adds terms to large sums one by one.

    What has a name because a sum was long then stands in its term again, unless its
    name is one of `kept`. `pick` names a result.
    """
    known = _Once(code, kept)
    lines: list[Statement] = []
    for line in code.statements:
        if isinstance(line, Let) and is_large(line.value):
            lines += known.added(line.name, line.value) or [line]
        else:
            lines.append(line)
    returns = list(code.returns)
    for k, value in enumerate(returns):
        if is_large(value) and known.terms(value):
            name = pick(k)
            lines += known.added(name, value)
            returns[k] = variable(name, value.dims, base=name)
    return Code(known.inlined(lines), tuple(returns), code.refusals)


class _Once:
    """What has a name that one statement mentions, once."""

    def __init__(self, code: Code, kept: Collection[str]) -> None:
        roots = [one for line in code.statements for one in operands(line)]
        uses = Counter(_mentions([*roots, *code.returns]))
        self.values = {
            line.name: line.value
            for line in code.statements
            if isinstance(line, Let) and line.name not in kept and uses[line.name] == 1
        }
        self.sums: dict[str, None] = {}

    def terms(self, whole: Array) -> list[Term]:
        """The terms of a sum, the first of which has memory for all of them."""
        if not isinstance(whole.op, Add) or whole.kind != "float":
            return []
        terms = list(zip(whole.op.signs, whole.args, strict=True))
        # First one whose axes stand as they are made, that uses up what is as large.
        ease = [
            (isinstance(one.op, Permute), not self._uses_up(one, whole.order))
            for _, one in terms
        ]
        for k in sorted(range(len(terms)), key=ease.__getitem__):
            sign, first = terms[k]
            value = first.args[0] if isinstance(first.op, Permute) else first
            if isinstance(value.op, Variable):
                value = self.values.get(value.op.name, value)
            fresh = not isinstance(value.op, Leaf | Add) and memory(value) is value
            alike = first.dims == whole.dims and value.kind == whole.kind
            if sign > 0 and fresh and alike:
                return [terms.pop(k), *terms]
        return []

    def _uses_up(self, term: Array, order: int) -> bool:
        """Whether what a term is made of has so many axes, and no other use."""
        made = [self.values[x] for x in reads([term]) if x in self.values]
        own = (self.values[x] for x in reads(made) if x in self.values)
        return any(value.order >= order for value in own)

    def added(self, name: str, value: Array) -> list[Statement]:
        """The statements that make a sum under a name, if it is one."""
        terms = self.terms(value)
        if not terms:
            return []
        self.sums[name] = None
        whole = variable(name, value.dims, base=name)
        at = Index((WHOLE,) * whole.order, whole.dims)
        return [
            Let(name, terms[0][1]),
            *(
                Store(whole, at, (), "+=" if sign > 0 else "-=", term)
                for sign, term in terms[1:]
            ),
        ]

    def inlined(self, lines: Sequence[Statement]) -> tuple[Statement, ...]:
        """The statements without names for what stands in one short term of a sum."""
        found = list(lines)
        for name in reversed(self.values):
            if name in self.sums:
                continue
            place, line = _binding(found, name)
            for k in range(place + 1, len(found)):
                if name in reads(operands(found[k])):
                    new = _put(found[k], name, line.value)
                    if self._is_plain(found[k], new):
                        found[k] = new
                        del found[place]
                    elif self._of_sum(found[k]):
                        found[place], found[k] = _scaled_before(line, found[k])
                    break
                if not changed(found[k]).isdisjoint(reads([line.value])):
                    break
        return tuple(found)

    def _is_plain(self, old: Statement, new: Statement) -> bool:
        """Whether a term may stand so; what a sum begins with was a statement alone."""
        if isinstance(old, Let) and old.name in self.sums:
            return isinstance(old.value.op, Variable) or not _is_long(old.name, new)
        name = self._of_sum(old)
        return name is not None and not _is_long(name, new)

    def _of_sum(self, line: Statement) -> str | None:
        """The sum that a statement adds a term to."""
        names = changed(line) if isinstance(line, Store) else frozenset[str]()
        return next((name for name in self.sums if name in names), None)


def _binding(lines: Sequence[Statement], name: str) -> tuple[int, Let]:
    return next(
        (k, line)
        for k, line in enumerate(lines)
        if isinstance(line, Let) and line.name == name
    )


def _is_long(name: str, statement: Statement) -> bool:
    """Whether a statement that changes a variable takes more than a line."""
    return is_long(operands(statement)[-1], LINE - len(f"{name} += "))


def _put(statement: Statement, name: str, value: Array) -> Statement:
    parts = below(operands(statement))
    own = next(x for x in parts if isinstance(x.op, Variable) and x.op.name == name)
    return rebuilt(statement, lambda one: _scaled(replacing({own: value})(one)))


def _scaled(one: Array) -> Array:
    """`(2 * a * b).T` for `2 * (b * a).T`, `a` the smallest: one large array less."""
    outer = one.op
    if not isinstance(outer, Multiply) or len(one.args) > 1 or not outer.above:
        return one
    (turned,) = one.args
    if not isinstance(turned.op, Permute):
        return one
    (inner,) = turned.args
    if not isinstance(inner.op, Multiply):
        return one
    return array(turned.op, _multiplied(outer.coefficient, inner))


def _multiplied(coefficient: Fraction, one: Array) -> Array:
    """A number times an array; of a product the smallest factor is multiplied."""
    if not isinstance(one.op, Multiply):
        return array(Multiply(coefficient, 1), one)
    op = replace(one.op, coefficient=coefficient * one.op.coefficient)
    above, below = one.args[: op.above], one.args[op.above :]
    above = tuple(sorted(above, key=lambda x: sum(dim != 1 for dim in x.dims)))
    return array(op, *above, *below)


def _scaled_before(bound: Let, used: Statement) -> tuple[Let, Statement]:
    """`a = 2 * b; c += a.T` for `a = b; c += 2 * a.T`: one large array less."""
    scaled = operands(used)[-1]
    if not isinstance(scaled.op, Multiply) or len(scaled.args) > 1:
        return bound, used
    (shown,) = scaled.args
    inner = shown.args[0] if isinstance(shown.op, Permute) else shown
    if not (isinstance(inner.op, Variable) and inner.op.name == bound.name):
        return bound, used
    if not scaled.op.above:
        return bound, used
    value = _multiplied(scaled.op.coefficient, bound.value)
    return Let(bound.name, value), rebuilt(used, replacing({scaled: shown}))


def _mentions(arrays: Sequence[Array]) -> Iterator[str]:
    """Yield the variables that expressions mention, as often as their text does."""
    for one in arrays:
        if isinstance(one.op, Variable):
            yield one.op.name
        yield from _mentions(one.args)
