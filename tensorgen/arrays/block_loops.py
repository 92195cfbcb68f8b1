"""The loop over blocks as statements, and what stands before and behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction

from tensorgen.arrays import operations as ops
from tensorgen.arrays.array_names import steady_name, stem, sum_name
from tensorgen.arrays.arrays import Array, array, below, bound, replacing, variable
from tensorgen.arrays.cache_blocks import Schedule, scheduled
from tensorgen.arrays.code import Code
from tensorgen.arrays.object_operations import Rows
from tensorgen.arrays.places import WHOLE, Entries
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import (
    Blocks,
    Let,
    Loop,
    Scatter,
    Statement,
    Store,
    operands,
    reads,
    rebuilt,
)
from tensorgen.ir.dims import ONE, ZERO, Dim


def blocked(
    code: Code,
    speed: Speed,
    name: Callable[[int], str],
    again: Callable[[str], str],
    along: Collection[Dim] = (),
) -> Code | None:
    """Return code that goes by blocks, if that pays at the sizes of `speed`.

    `name` gives a name to a result, `again` another one for what a name stands for.
    Other functions go `along` some sizes by blocks, which this one may have in common.
    """
    plan = scheduled(code, speed, again, along)
    return None if plan is None else _Writing(plan, again).code(speed, name)


class _Writing:
    """The statements of a schedule."""

    def __init__(self, plan: Schedule, again: Callable[[str], str]) -> None:
        """Give names to what has none: sums, rows, and what all blocks read."""
        self.plan, self.again = plan, again
        self.before, self.body = list(plan.before), list[Statement]()
        self.known: dict[Array, Array] = {}
        for whole, (own, _) in plan.sums.items():
            if own.startswith("#"):
                self._call(own, again(sum_name(whole)), whole)
        self.names = {x: again("rows") if x.startswith("#") else x for x in plan.kept}
        for own, new in self.names.items():
            self._call(own, new, plan.body[own])
        for one in plan.cuts.steady:
            line = Let(again(steady_name(one)), one)
            self.before.append(line)
            self.known[one] = bound(line.name, one)
        # The names of what is kept are those of whole arrays.
        self.parts = {own: again(new) for own, new in self.names.items()}
        for own, new in self.parts.items():
            value, axis = plan.body[own], plan.cuts.at[own]
            old = plan.cuts.block(own, value, axis)
            self.known[old] = plan.cuts.block(new, value, axis)
        self.change = replacing(self.known)

    def _call(self, own: str, new: str, one: Array) -> None:
        old = variable(own, one.dims, one.kind, own)
        self.known[old] = variable(new, one.dims, one.kind, new)

    def code(self, speed: Speed, name: Callable[[int], str]) -> Code:
        """The loop, and what stands before and behind it."""
        plan, cuts = self.plan, self.plan.cuts
        read = {*reads(plan.inside)}
        for own, value in plan.body.items():
            axis = cuts.at[own]
            block = self.change(cuts.cut(value, axis))
            if own not in plan.kept:
                self.body.append(Let(own, block))
                continue
            if own in read:
                self.body.append(Let(self.parts[own], block))
                block = bound(self.parts[own], block)
            self._stored(self.names[own], value, axis, block)
        returns = list(plan.returns)
        for k, (value, axis) in plan.results.items():
            block = self.change(cuts.cut(value, axis))
            returns[k] = self._stored(name(k), value, axis, block)
        for whole, (own, block) in plan.sums.items():
            self._added(variable(own, whole.dims, whole.kind, own), self.change(block))
        self.body += [rebuilt(line, self.change) for _, line in plan.scatters]
        row, step = plan.row(speed), Dim.of(plan.entries)
        if row != ONE:
            step = Dim.symbol(self.again("step"))
        blocks = Blocks(cuts.held, Rows(plan.entries, row))
        body = _summed(_shared(self.body, self.again))
        loop = Loop(cuts.start, ZERO, cuts.dim, body, step, cuts.over, blocks=blocks)
        after = [rebuilt(line, self.change) for line in plan.after]
        results = tuple(map(self.change, returns))
        return Code((*self.before, loop, *after), results, plan.refusals)

    def _stored(self, own: str, value: Array, axis: int, block: Array) -> Array:
        """Write a block to its places in the whole array, which is returned."""
        self.before.append(Let(own, array(ops.Fill(value.dims, 0, value.kind))))
        whole = variable(own, value.dims, value.kind, own)
        place = self.plan.cuts.part(axis, value.dims)
        if isinstance(block.op, ops.Copy):  # memory of its own is what it is written to
            (block,) = block.args
        self.body.append(Store(whole, place, (), "=", block))
        return whole

    def _added(self, old: Array, block: Array) -> None:
        whole = self.change(old)
        assert isinstance(whole.op, ops.Variable)
        zero = array(ops.Number(Fraction(0)))
        start = array(ops.Fill(whole.dims, 0)) if whole.order else zero
        self.before.append(Let(whole.op.name, start))
        if isinstance(block.op, ops.SumByKey):  # as many as all blocks add to
            value, *keys = block.args
            at = ops.Index((Entries(),) * len(keys), value.dims)
            self.body.append(Scatter(whole, at, (*keys,), value, whole.order > 1))
            return
        everywhere = ops.Index((WHOLE,) * whole.order, whole.dims)
        self.body.append(Store(whole, everywhere, (), "+=", block))


def _shared(
    body: Sequence[Statement], again: Callable[[str], str]
) -> tuple[Statement, ...]:
    """The statements of a block; what several read from places has a name."""
    roots = [one for line in body for one in operands(line)]
    parts = Counter(
        one
        for one in (*roots, *(arg for whole in below(roots) for arg in whole.args))
        if isinstance(one.op, ops.Index)
        and not one.op.is_basic
        and isinstance(one.args[0].op, ops.Variable)
    )
    known: dict[Array, Array] = {}
    lines: list[Statement] = []
    for one in sorted(parts, key=lambda one: len([*below([one])])):
        whole = one.args[0].op
        if parts[one] > 1 and isinstance(whole, ops.Variable):
            own = again(f"{whole.name}_{stem(one.args[-1]) or 'part'}")
            lines.append(Let(own, replacing(known)(one)))
            known[one] = bound(own, one)
    change = replacing(known)
    return (*lines, *(rebuilt(line, change) for line in body))


def _summed(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """The same, where tables of products are summed along the last axis in one call.

    Short rows of a product are added up several times as slowly as by `einsum`, which
    makes no array of the product either.
    """
    known: dict[Array, Array] = {}
    for line in body:
        for one in below(operands(line)):
            pair = _multiplied(one)
            if pair is not None:
                axes = tuple(range(pair[0].order))
                known[one] = array(ops.Einsum((axes, axes), axes[:-1]), *pair)
    change = replacing(known)
    return tuple(rebuilt(line, change) for line in body)


def _multiplied(one: Array) -> tuple[Array, Array] | None:
    """The two arrays of two axes or more whose product is summed along the last."""
    if not isinstance(one.op, ops.Reduce) or one.order == 0:
        return None
    (product,) = one.args
    if one.op.axes != (one.order,):
        return None
    match product.op:
        case ops.Multiply(coefficient=Fraction(numerator=1, denominator=1), above=2):
            pair = product.args
        case ops.Power(exponent=Fraction(numerator=2, denominator=1)):
            pair = (*product.args, *product.args)
            if not isinstance(pair[0].op, ops.Variable):  # it would be made twice
                return None
        case _:
            return None
    alike = len(pair) == 2 and all(x.dims == product.dims for x in pair)
    return (pair[0], pair[1]) if alike else None
