"""Arrays under labels: what lowering puts together, with the arithmetic of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tensorgen.arrays import arrays
from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array, signed_sum
from tensorgen.arrays.number_text import number as number_text
from tensorgen.arrays.templates import Level
from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.nodes import Label


@dataclass(frozen=True, slots=True)
class Operand:
    """An array; `labels[a]` is the label of its axis `a`.

    It may lack labels of the value that it stands for: it then broadcasts. A
    `symmetric` one equals itself with its last two axes swapped; `turned` builds the
    value anew with its axes in another order.
    """

    array: Array
    labels: tuple[Label, ...] = ()
    symmetric: bool = False
    turned: Callable[[tuple[Label, ...]], Operand] | None = field(
        default=None, compare=False
    )

    @property
    def kind(self) -> ops.Kind:
        """What the entries are."""
        return self.array.kind

    @property
    def weak(self) -> bool:
        """Whether it is a Python number."""
        return self.array.weak

    @property
    def base(self) -> str | None:
        """The variable whose memory it shares."""
        return arrays.base(self.array)

    @property
    def is_name(self) -> bool:
        """Whether it is a variable."""
        return isinstance(self.array.op, ops.Variable)

    def bearing(self, labels: tuple[Label, ...]) -> Operand:
        """The same array under the labels `labels`, axis by axis."""
        if labels == self.labels:
            return self
        if len(set(self.labels)) < len(labels):
            return replace(self, labels=labels, turned=None)
        return self.renamed(dict(zip(self.labels, labels, strict=True)).__getitem__)

    def renamed(self, name: Callable[[Label], Label]) -> Operand:
        """The same array under other labels."""
        labels, turned = tuple(map(name, self.labels)), self.turned
        if len(set(labels)) < len(labels):
            turned = None  # a diagonal is taken of what is there
        elif turned is not None:
            turned = _renamed(turned, dict(zip(labels, self.labels, strict=True)), name)
        return replace(self, labels=labels, turned=turned)


def _renamed(
    turned: Callable[[tuple[Label, ...]], Operand],
    old: dict[Label, Label],
    name: Callable[[Label], Label],
) -> Callable[[tuple[Label, ...]], Operand]:
    return lambda labels: turned(tuple(old[x] for x in labels)).renamed(name)


def made(op: ops.Operation, labels: tuple[Label, ...], *operands: Operand) -> Operand:
    """What an operation makes of operands, under labels of its own."""
    return Operand(array(op, *(x.array for x in operands)), labels)


def whole_of(one: Array) -> Operand:
    """An array under its axes."""
    return Operand(one, tuple(range(one.order)))


def number(value: Fraction | int) -> Operand:
    """A rational number."""
    return Operand(array(ops.Number(Fraction(value))))


def size(dim: Dim) -> Operand:
    """A size as a number."""
    constant = dim.constant
    return Operand(array(ops.Size(dim))) if constant is None else number(constant)


def count(dim: Dim) -> Operand:
    """The length of an interval, which may be empty by more than it takes."""
    if dim.is_nonnegative():
        return size(dim)
    return Operand(array(ops.Size(dim, clipped=True)))


def literal(operand: Operand) -> Fraction | None:
    """The value of a number that is written without a fraction line."""
    op = operand.array.op
    if isinstance(op, ops.Number) and number_text(op.value).level != Level.TERM:
        return op.value
    return None


def as_float(operand: Operand) -> Operand:
    """The array as numbers of the common dtype: masks and indices are not."""
    if operand.kind == "float":
        return operand
    if isinstance(operand.array.op, ops.Eye):
        return made(ops.Eye(operand.array.op.size), operand.labels)
    return made(
        ops.Python("int") if operand.weak else ops.AsFloat(), operand.labels, operand
    )


def same_axes(parts: Sequence[Operand]) -> tuple[Label, ...]:
    """The labels of operands that are aligned with each other: those of the widest."""
    return max((part.labels for part in parts), key=len, default=())


def power(base: Operand, exponent: Fraction) -> Operand:
    """`base` to a positive rational power."""
    return base if exponent == 1 else made(ops.Power(exponent), base.labels, base)


def product(
    coefficient: Fraction, above: Sequence[Operand], below: Sequence[Operand] = ()
) -> Operand:
    """`coefficient * above / below` of operands that broadcast as they stand."""
    labels = same_axes([*above, *below])
    if not below:
        coefficient, above = _folded(coefficient, above)
        if not above:
            return number(coefficient)
        if coefficient == 1 and len(above) == 1:
            return above[0]
        if len(above) == 1 and (scaled := _inside(coefficient, above[0].array)):
            return Operand(scaled, labels)
    return made(ops.Multiply(coefficient, len(above)), labels, *above, *below)


def _inside(coefficient: Fraction, one: Array) -> Array | None:
    """A product of which a number scales a smaller operand, or is what is divided."""
    match one.op:
        case ops.Permute():
            found = _inside(coefficient, *one.args)
            return None if found is None else array(one.op, found)
        case ops.Outer():
            first, second = one.args
            return array(one.op, array(ops.Multiply(coefficient, 1), first), second)
        case ops.Multiply(coefficient=own, above=0):
            return array(ops.Multiply(coefficient * own, 0), *one.args)
        case ops.Multiply(coefficient=own, above=count) if count == len(one.args):
            smallest = min(one.args, key=_extent)
            if _extent(smallest) == _extent(one):
                return None
            others = list(one.args)
            others.remove(smallest)
            return array(ops.Multiply(coefficient * own, count), smallest, *others)
        case _:
            return None


def _extent(one: Array) -> int:
    """How many axes an array is not spread along."""
    return sum(dim != ONE for dim in one.dims)


def _folded(
    coefficient: Fraction, above: Sequence[Operand]
) -> tuple[Fraction, list[Operand]]:
    """Multiply the plain numbers among the operands into the coefficient."""
    rest = []
    for part in above:
        value = literal(part)
        if value is None:
            rest.append(part)
        else:
            coefficient *= value
    return coefficient, rest


def total(terms: Sequence[tuple[int, Operand]]) -> Operand:
    """The sum of signed operands that broadcast as they stand, in this order."""
    if not terms:
        return number(0)
    if len(terms) == 1:
        sign, part = terms[0]
        return product(Fraction(sign), [part])
    whole = signed_sum([(sign, part.array) for sign, part in terms])
    return Operand(whole, same_axes([part for _, part in terms]))


def matmul(left: Operand, right: Operand, labels: tuple[Label, ...]) -> Operand:
    """`left @ right`; a chain stands without parentheses where it runs leftwards."""
    return made(ops.MatMul(), labels, left, right)
