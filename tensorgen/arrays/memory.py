"""What code holds: memory, as polynomials in sizes.

One function a question, over all operations. Helpers count as what they are named for:
the copies that they make inside are not seen here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import prod

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, is_boxed, once
from tensorgen.arrays.code import Code, code_of
from tensorgen.arrays.object_operations import Called, Reshape, Results, Rows
from tensorgen.arrays.out_text import last_operation
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Scatter,
    Statement,
    Store,
    bindings,
    changed,
    everything,
    operands,
)
from tensorgen.arrays.types import broadcast
from tensorgen.arrays.work import entries
from tensorgen.ir.dims import ONE, ZERO, Dim, count
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.prices.thresholds import ADDED_AT_A_TIME, BLOCKS_ASKED_FOR

Value = Callable[[Dim], int]
MASK = Fraction(1, 8)
"""The room of a truth value, in numbers."""
SQUARE = ops.Power(Fraction(2))


def peak(code: Code, value: Value, elided: int = 0, blocks: bool = True) -> int:
    """The most numbers that a function's body holds at a time, for given sizes.

    What is bound to a name stays until all names of its memory are released; a
    temporary until the operation that it is an operand of is done. Operators overwrite
    temporaries of `elided` numbers or more. What `blocks` of fixed length hold may be
    left out.
    """
    held = Held(elided, blocks)
    held.run(code.statements, value)
    return max(held.most, held.now + space(code.returns, value, elided))


class Held:
    """What statements hold when they run one after the other."""

    def __init__(self, elided: int = 0, blocks: bool = True) -> None:
        self.elided, self.blocks = elided, blocks
        self.sizes: dict[str, int] = {}
        self.owner: dict[str, str] = {}
        self.rows: dict[str, Rows] = {}
        self.now = self.most = 0
        """The numbers that names hold, and the most that there ever were."""

    def _free(self, name: str) -> None:
        self.now -= self.sizes.pop(name, 0)

    def run(self, lines: Sequence[Statement], value: Value) -> None:
        """Do some statements."""
        for line in lines:
            match line:
                case Let(name=name, value=Array(op=Rows() as rows)):
                    self.rows[name] = rows
                    value = in_blocks(name, rows, value, self.blocks)
                case Loop(body=body, step=step):
                    # The names of one step are held until the next binds them anew.
                    inside = longest(line, value, self.rows.get(str(step)))
                    if line.blocks is not None and self.blocks:
                        asked = value(
                            Dim.of(BLOCKS_ASKED_FOR * line.blocks.rows.entries)
                        )
                        self.most = max(self.most, self.now + asked)
                    if not self.blocks and line.is_of_blocks:
                        inside = where({str(line.width): ZERO}, inside)
                    for _ in range(2):
                        self.run(body, inside)
                case _:
                    self.most = max(
                        self.most, self.now + _during(line, value, self.elided)
                    )
            for name, bound in bindings(line):
                whole = memory(bound)
                op = whole.op
                seen = op.name if isinstance(op, ops.Variable) else name
                self.owner[name] = name if seen == name else self.owner.get(seen, seen)
                if seen == name:
                    self._free(name)
                    self.sizes[name] = value(once(whole, _room))
                    self.now += self.sizes[name]
            if isinstance(line, Release):
                freed = {self.owner.pop(name, name) for name in line.names}
                for name in freed - {*self.owner.values()}:
                    self._free(name)


def _during(line: Statement, value: Value, elided: int) -> int:
    """The most numbers that a statement holds beside what has names."""
    parts = operands(line)
    if isinstance(line, Store) and line.how == "out=":
        last = last_operation(line.value)
        parts = (*parts[:-1], *(last[1] if last else parts[-1:]))
    added = space(parts, value, elided)
    if not (isinstance(line, Scatter) and line.by_entry):
        return added
    if line.counts:
        return added + 2 * value(count(line.target.dims))
    kept = sum(_kept(one, value) for one in parts)
    return max(added, kept + _by_entry(line.places, line.target.dims, value))


def _by_entry(at: Sequence[Array], shape: tuple[Dim, ...], value: Value) -> int:
    """What is held to add rows where index arrays say, in an array of some shape.

    Several indices make one; where rows belong is written out for a block of them.
    """
    rows = count(broadcast([one.dims for one in at]))
    block = value(rows * count(shape[len(at) :])) if len(shape) > len(at) else 0
    return value(rows) * (len(at) > 1) + min(block, ADDED_AT_A_TIME)


def longest(loop: Loop, value: Value, rows: Rows | None = None) -> Value:
    """The sizes in the last step of a loop whose steps are all as wide.

    A step may be a block of `rows`.
    """
    if loop.blocks is not None:
        rows, own = loop.blocks.rows, {loop.name: loop.high - 1}
        if value(places(rows, value)) <= value(loop.high):
            return in_blocks(str(loop.width), rows, where(own, value))
        return where({**own, str(loop.width): loop.high}, value)
    reach = loop.high - loop.low
    if rows is not None:
        fits = rows.entries <= value(reach * rows.width)
    else:
        fits = loop.runs is not None or value(loop.widest) <= value(reach)
    widest = loop.widest if fits else reach
    return where({loop.name: loop.high - 1, str(loop.width): widest}, value)


def in_blocks(name: str, rows: Rows, value: Value, counted: bool = True) -> Value:
    """The sizes where a symbol is how many places blocks of so many entries have.

    So many rows of that width are as many entries as a block has, whatever the sizes
    are, if they are `counted`. What is a part of a row is of lower order, and nothing
    is wider.
    """
    room = rows.entries * counted
    degree = max((len(monomial) for monomial, _ in rows.width.terms), default=0)
    widest = {m: c for m, c in rows.width.terms if len(m) == degree}

    def held(monomial: tuple[str, ...]) -> Dim:
        """What an array holds that has an entry for each place, and so many others."""
        if name not in monomial:
            return prod(map(Dim.symbol, monomial), start=ONE)
        rest = Counter(monomial) - Counter([name])
        if (times := widest.get((*sorted(rest.elements()),))) is not None:
            return Dim.of(Fraction(room) / times)
        is_part = any(rest <= Counter(m) for m in widest)
        return ZERO if is_part else Dim.of(room)

    def of_blocks(dim: Dim) -> Dim:
        return sum((held(monomial) * times for monomial, times in dim.terms), ZERO)

    return cache(lambda dim: value(of_blocks(dim) if name in dim.symbols else dim))


def places(rows: Rows, value: Value) -> Dim:
    """How many places blocks of so many entries have."""
    return Dim.of(max(rows.entries // max(int(value(rows.width)), 1), 1))


def where(known: Mapping[str, Dim], value: Value) -> Value:
    """The sizes where some symbols are known."""
    return cache(lambda dim: value(_put(dim, known)))


def _put(dim: Dim, known: Mapping[str, Dim]) -> Dim:
    """A size with others in place of some symbols."""
    if known.keys().isdisjoint(dim.symbols):
        return dim
    terms = (
        prod((known.get(x, Dim.symbol(x)) for x in monomial), start=Dim.of(times))
        for monomial, times in dim.terms
    )
    return sum(terms, ZERO)


def space(parts: Sequence[Array], value: Value, elided: int = 0) -> int:
    """The most numbers held while expressions are computed that are all kept."""
    held = most = 0
    for one in parts:
        most = max(most, held + _making(one, value, elided))
        held += _kept(one, value)
    return most


def _making(one: Array, value: Value, elided: int) -> int:
    """The most numbers held until an operation is done, its result among them."""
    if not one.args:
        return value(once(one, _room) + once(one, _spare))
    # Versions of a function, of which the least is taken, have most in common.
    key = _making, value, elided
    found: int | None = one.memo.get(key)
    if found is None:
        found = one.memo[key] = _made(one, value, elided)
    return found


def _made(one: Array, value: Value, elided: int) -> int:
    op = one.op
    if isinstance(op, ops.Add | ops.Multiply) and one.args:
        return _folded(one, value, elided)
    if isinstance(op, Called):
        given = sum(_kept(arg, value) for arg in one.args)
        return max(
            space(one.args, value, elided), given + peak(code_of(op), value, elided)
        )
    room = once(one, _room)
    if op == SQUARE and is_fresh(one.args[0]) and value(room) >= elided:
        room = ZERO  # an operator as well
    own = sum(_kept(arg, value) for arg in one.args)
    own += value(room + once(one, _spare))
    if isinstance(op, ops.SumByKey):
        own += _by_entry(one.args[1:], op.shape, value)
    return max(space(one.args, value, elided), own)


def _room(one: Array) -> Dim:
    """The numbers that an operation stores anew; an entry of a mask is a byte.

    Single numbers are not counted.
    """
    if not one.dims and not isinstance(one.op, Results):
        return ZERO
    if isinstance(one.op, Reshape) and _is_in_order(one.args[0]):
        return ZERO
    made = entries(one)
    return made * MASK if one.kind == "bool" else made


def _spare(one: Array) -> Dim:
    """What an operation holds while it is done, beside operands and result."""
    op = one.op
    match op:
        case ops.TensorDot(left=left, right=right):
            axes = zip(one.args, (left, right), strict=True)
            return sum((count(x.dims) for x, gone in axes if _turns(x, gone)), ZERO)
        case ops.Call(operator=name) if OPERATORS[name].helped:
            reduced = one.order < one.args[0].order
            return count(one.args[0].dims) * (2 if reduced else 1)
        case Results() if op.is_helper:
            return count(one.args[0].dims) * 2
        case ops.Call(operator="norm") if one.order:
            return count(one.args[0].dims)
        case ops.Call(operator=name):
            return count(one.dims) * OPERATORS[name].spare
        case ops.Bundle():
            return count(one.dims) * 2
        case ops.Elementwise(function=name) if ELEMENTWISE[name].numpy.startswith("_"):
            # Most helpers compute in steps, few in place.
            return count(one.dims) * (1 if ELEMENTWISE[name].has("in_place") else 2)
        case _:
            return ZERO


def _turns(one: Array, gone: tuple[int, ...]) -> bool:
    """Whether a matrix with some axes on one side is no view of an array.

    They have to be the first ones or the last ones of the array in memory.
    """
    order = (*range(one.order),)
    if isinstance(one.op, ops.Permute):
        order = one.op.axes
    axes, ends = tuple(order[k] for k in gone), len(gone)
    others = tuple(axis for k, axis in enumerate(order) if k not in gone)
    inside = (*range(one.order),)
    return (axes, others) not in (
        (inside[:ends], inside[ends:]),
        (inside[one.order - ends :], inside[: one.order - ends]),
    )


def _folded(one: Array, value: Value, elided: int) -> int:
    """The same of an operator between parts, from the left to the right.

    What nobody else has is overwritten with the result, if the other part is as large
    or a number; on the right only where sides may change.
    """
    op = one.op
    scaled = isinstance(op, ops.Multiply) and op.coefficient != 1
    dims: tuple[Dim, ...] = ()
    free = True
    held = most = 0
    for k, (part, reach) in enumerate(zip(one.args, once(one, _reached), strict=True)):
        most = max(most, held + _making(part, value, elided))
        fits = (free and dims == reach and part.dims in ((), reach)) or (
            _is_elided(part)
            and _may_swap(op, k)
            and part.dims == reach
            and (dims == reach or (dims == () and _adapts(one, k)))
        )
        whole = value(count(reach))
        both = held + _kept(part, value)
        if k or scaled:
            over = fits and whole >= elided
            most = max(most, both if over else both + whole)
            held, free = whole, True
        else:
            held, free = both, _is_elided(part)
        dims, scaled = reach, False
    return most


def _reached(one: Array) -> list[tuple[Dim, ...]]:
    """The sizes of an operator's result over its first parts, one after the other."""
    return [*accumulate((x.dims for x in one.args), lambda *both: broadcast(both))]


def _may_swap(op: ops.Operation, place: int) -> bool:
    """Whether a part may as well stand before the others."""
    if isinstance(op, ops.Multiply):
        return place < op.above
    return isinstance(op, ops.Add) and op.signs[place] > 0


def _adapts(one: Array, count: int) -> bool:
    """Whether NumPy sees through the first factors or terms, which are no arrays.

    An operator is done by the scalar on its left, if that is of NumPy's own kind, and
    it makes a new array.
    """
    alone = not isinstance(one.op, ops.Multiply) or one.op.coefficient == 1
    parts = one.args[:count]
    return all(x.weak for x in parts) or (alone and count == 1 and is_boxed(parts[0]))


def _is_elided(one: Array) -> bool:
    """Whether an operator may overwrite what it is given, if it is large.

    `np.tensordot` ends with a view in another shape, of memory that nobody else has.
    """
    return is_fresh(one) and not isinstance(one.op, ops.TensorDot)


def is_fresh(one: Array) -> bool:
    """Whether an expression owns its memory, and nobody else has it."""
    return memory(one) is one and not isinstance(one.op, ops.Leaf)


def _kept(one: Array, value: Value) -> int:
    """The numbers that live as long as a value does: a view keeps what it shows."""
    return value(once(memory(one), _room))


def memory(one: Array) -> Array:
    """The array whose memory another one shows; itself if it has memory of its own."""
    while once(one, _shows):
        one = one.args[0]
    return one


def changing(lines: Sequence[Statement]) -> set[str]:
    """The names whose entries some statement changes, through a view of them or not."""
    owner: dict[str, str] = {}
    for line in everything(lines):
        for name, bound in bindings(line):
            op = memory(bound).op
            shown = op.name if isinstance(op, ops.Variable) else name
            owner[name] = owner.get(shown, shown)
    direct = {name for line in everything(lines) for name in changed(line)}
    moved = {owner.get(name, name) for name in direct}
    return moved | {name for name, own in owner.items() if own in moved}


def _shows(one: Array) -> bool:
    op = one.op
    if isinstance(op, ops.View):
        return not isinstance(op, ops.Index) or op.is_basic
    if isinstance(op, ops.Call):
        shows = OPERATORS[op.operator].view
    else:
        shows = isinstance(op, Reshape)
    return shows and not _is_gathered(one)


def _is_in_order(one: Array) -> bool:
    """Whether the entries of an array lie in memory one after the other."""
    op = one.op
    if isinstance(op, Reshape):
        return _is_in_order(one.args[0])
    return op.base == op.name if isinstance(op, ops.Variable) else is_fresh(one)


def _is_gathered(one: Array) -> bool:
    """Whether windows are written out, one after the other, to have another shape."""
    part = one.args[0]
    while isinstance(part.op, ops.Permute):
        part = part.args[0]
    return isinstance(part.op, ops.Windows)
