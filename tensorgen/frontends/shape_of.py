"""Shapes of formulas: rows and columns, and which of them are as long as others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from tensorgen.errors import Span, fail, printable
from tensorgen.frontends import formula as tree
from tensorgen.frontends.declared import Declared
from tensorgen.frontends.known_functions import KNOWN
from tensorgen.frontends.open_axes import Axes
from tensorgen.ir.dims import Dim


class Shape(NamedTuple):
    """The axis of rows and that of columns; `None` where there is only one."""

    rows: int | None
    columns: int | None

    @property
    def order(self) -> int:
        """How many axes there are."""
        return (self.rows is not None) + (self.columns is not None)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes there are."""
        return tuple(axis for axis in self if axis is not None)

    def __str__(self) -> str:
        if self.order == 1:
            return "a row" if self.rows is None else "a column"
        return "a matrix" if self.order else "a scalar"


SCALAR = Shape(None, None)


@dataclass(frozen=True, slots=True)
class Words:
    """How a notation says what a hint proposes, of operands `{0}` and `{1}`."""

    transposed: str = "{0}'"
    product: str = "{0}*{1}"
    by_entry: str = "{0}.*{1}"
    power: str = "{0}.^{1}"
    quotient: str = "{0}./{1}"


class ShapeReader:
    """Finds the shape of each part of formulas over variables that are declared."""

    def __init__(
        self, variables: Mapping[str, Declared], words: Words, sizes: Iterable[str] = ()
    ) -> None:
        """Give each variable axes, of what is stated; `sizes` have names already."""
        self.sizes = (*sizes,)
        self.axes = Axes()
        self.words = words
        self.of: dict[tree.Formula, Shape] = {}
        self.variables = variables
        self.own = {name: self._axes(given) for name, given in variables.items()}
        self._ranges: dict[str, tuple[Dim, Dim] | int] = {}
        self._needed: dict[int, list[Dim]] = {}

    def _axes(self, given: Declared) -> tuple[int, ...]:
        sizes = given.sizes or (None,) * given.order
        own = self._sized(sizes)
        if "symmetric" in given.properties or "spd" in given.properties:
            self.join(own[0], own[1], given.span, f"the sides of {given.name}")
        return tuple(own)

    def fits(self, node: tree.Formula, bound: tree.Formula) -> bool:
        """Whether a formula bounds another one: it is a scalar, or has its axes."""
        return self.of[bound].order in (0, self.of[node].order)

    def _sized(self, sizes: Sequence[Dim | None]) -> list[int]:
        return [
            self.axes.fresh() if size is None else self.axes.named(str(size))
            for size in sizes
        ]

    def read(self, node: tree.Formula) -> Shape:
        """Return the shape of a formula, and remember that of each part of it."""
        found = self.of[node] = self._read(node)
        return found

    def compare(
        self, left: tree.Formula, right: tree.Formula, span: Span | None
    ) -> None:
        """Read the two sides of a constraint, which are compared by entry."""
        self._together([left, right], span)

    def _read(self, node: tree.Formula) -> Shape:
        match node:
            case tree.Number() | tree.Whole():
                return SCALAR
            case tree.Name(name=name):
                return self._variable(name)
            case tree.Filled(value=value, order=order, sizes=sizes):
                if self.read(value).order:
                    fail("what fills a vector or a matrix is a scalar", value.span)
                own = self._sized(sizes or (None,) * order)
                return Shape(own[0], own[1] if order > 1 else None)
            case tree.Identity(size=size):
                named = size is not None
                side = self.axes.named(str(size)) if named else self.axes.fresh()
                return Shape(side, side)
            case tree.Entry():
                return self._entry(node)
            case tree.Minus(operand=operand):
                return self.read(operand)
            case tree.Transposed(operand=operand):
                rows, columns = self.read(operand)
                return Shape(columns, rows)
            case tree.Sum(terms=terms):
                return self._together([term for _, term in terms], node.span)
            case tree.Compared(left=left, right=right):
                return self._together([left, right], node.span)
            case tree.Binary():
                return self._binary(node)
            case tree.Call():
                return self._call(node)
            case tree.Total():
                return self._total(node)

    def _variable(self, name: str) -> Shape:
        own, is_row = self.own[name], self.variables[name].is_row
        if len(own) == 1:
            return Shape(None, own[0]) if is_row else Shape(own[0], None)
        return Shape(own[0], own[1]) if own else SCALAR

    def join(self, one: int, other: int, span: Span | None, what: str) -> None:
        """Take down that two axes are as long, unless their sizes say otherwise."""
        self.axes.join(one, other)
        sizes = self.axes.sizes(one)
        if len(sizes) > 1:
            fail(f"{what} have the sizes {sizes[0]} and {sizes[1]}", span)

    def _pair(
        self, one: int | None, other: int | None, span: Span | None, what: str
    ) -> int | None:
        if one is None or other is None:
            return one if other is None else other
        self.join(one, other, span, what)
        return one

    def _together(self, operands: Sequence[tree.Formula], span: Span | None) -> Shape:
        """The shape of what is done by entry: scalars go with everything."""
        found, first = SCALAR, operands[0]
        for operand in operands:
            shape = self.read(operand)
            if not found.order:
                found, first = shape, operand
            elif shape.order:
                self._same(first, found, operand, shape, span)
        return found

    def _same(
        self,
        first: tree.Formula,
        one: Shape,
        second: tree.Formula,
        other: Shape,
        span: Span | None,
    ) -> None:
        for a, b in zip(one, other, strict=True):
            if (a is None) != (b is None):
                hint = None
                if one.order == other.order == 1:
                    turned = self.words.transposed.format(_text(second, "x"))
                    hint = f"transpose one of them: {turned}"
                self._disagree(first, one, second, other, span, hint)
            what = f"{_text(first, 'the first')} and {_text(second, 'the second')}"
            self._pair(a, b, span, f"entries that meet in {what}")

    def _disagree(
        self,
        first: tree.Formula,
        one: Shape,
        second: tree.Formula,
        other: Shape,
        span: Span | None,
        hint: str | None,
    ) -> NoReturn:
        marks = [
            (node.span, str(shape))
            for node, shape in ((first, one), (second, other))
            if node.span is not None
        ]
        message = f"shapes do not fit: {one} and {other}"
        fail(message, span, marks=marks, hint=hint)

    def _binary(self, node: tree.Binary) -> Shape:
        left, right = node.left, node.right
        if node.sign in (".*", "./", ".^"):
            return self._together([left, right], node.span)
        one, other = self.read(left), self.read(right)
        if node.sign == "^":
            return self._power(node, one, other)
        if node.sign == "/":
            if other.order:
                a, b = _text(left, "x"), _text(right, "y")
                hint = f"by entry, {self.words.quotient.format(a, b)}"
                fail(f"the divisor is {other}, not a scalar", right.span, hint=hint)
            return one
        if not one.order or not other.order:
            return one if one.order else other
        if (one.columns is None) != (other.rows is None):
            self._disagree(left, one, right, other, node.span, self._product(node))
        what = f"columns of {_text(left, 'the first')} and rows of "
        what += _text(right, "the second")
        self._pair(one.columns, other.rows, node.span, what)
        return Shape(one.rows, other.columns)

    def _product(self, node: tree.Binary) -> str:
        """The products that may be meant where one has no meaning."""
        a, b = _text(node.left, "x"), _text(node.right, "y")
        one, other = self.of[node.left], self.of[node.right]
        entries = f"by entry {self.words.by_entry.format(a, b)}"
        if one.order == other.order == 1:
            inner = self.words.product.format(self.words.transposed.format(a), b)
            return f"the inner product is {inner}, {entries}"
        if one.order == 1:
            return f"transposed, {self.words.transposed.format(a)} is a row"
        return entries if one.order == other.order else "transpose one of them"

    def _power(self, node: tree.Binary, base: Shape, exponent: Shape) -> Shape:
        a, b = _text(node.left, "x"), _text(node.right, "2")
        entries = f"by entry it is {self.words.power.format(a, b)}"
        if exponent.order:
            fail(f"the exponent is {exponent}", node.right.span, hint=entries)
        if base.order == 1:
            fail(f"{base} has no power", node.left.span or node.span, hint=entries)
        if base.order == 2:
            if whole_number(node.right) is None:
                fail("the power of a matrix is a whole number", node.right.span)
            assert base.rows is not None and base.columns is not None
            self.join(base.rows, base.columns, node.span, "sides of a power")
        return base

    def _call(self, node: tree.Call) -> Shape:
        row = KNOWN[node.function]
        if row.rule == "entries":
            return self._together(node.arguments, node.span)
        if row.rule == "inner":
            self._together(node.arguments, node.span)
            return SCALAR
        (argument,) = node.arguments
        found = self.read(argument)
        if row.rule == "total":
            return SCALAR
        if row.rule == "diagonal":
            return self._diagonal(found, node.span)
        if found.order == 1:
            fail(f"{node.function} is of a square matrix, not of {found}", node.span)
        if found.rows is not None and found.columns is not None:
            what = f"sides of what {node.function} takes"
            self.join(found.rows, found.columns, node.span, what)
        return found if row.rule == "square matrix" else SCALAR

    def _diagonal(self, found: Shape, span: Span | None) -> Shape:
        if not found.order:
            fail("diag is of a vector or a matrix, not of a scalar", span)
        if found.rows is not None and found.columns is not None:
            self.join(found.rows, found.columns, span, "sides of what diag takes")
            return Shape(found.rows, None)
        (side,) = found.axes
        return Shape(side, side)

    def _total(self, node: tree.Total) -> Shape:
        limits = node.limits
        # Several sums may have an index of one name: it means what is said innermost.
        before = self._ranges.get(node.index)
        self._ranges[node.index] = self.axes.fresh() if limits is None else limits
        found = self.read(node.body)
        if limits is None and not self._is_read(node):
            fail(f"nothing is read at the index {node.index} alone", node.span)
        del self._ranges[node.index]
        if before is not None:
            self._ranges[node.index] = before
        if node.function != "sum" and found.order:
            fail(f"a {node.function} over an index is of scalars", node.body.span)
        return found

    def _is_read(self, node: tree.Total) -> bool:
        """Whether an entry has an index alone in a place: it says how far it runs."""
        own = Dim.symbol(node.index)
        entries = (x for x in tree.walked(node.body) if isinstance(x, tree.Entry))
        return any(own in entry.places for entry in entries)

    def _entry(self, node: tree.Entry) -> Shape:
        own = self.own[node.array.name]
        self.of[node.array] = self._variable(node.array.name)
        count = len(node.places)
        if not own or count > len(own) or count < len(own) - 1:
            kind = self.variables[node.array.name].kind
            message = f"'{node.array.name}' is a {kind}: it has no entries with {count}"
            message += " subscript" + "s" * (count != 1)
            fail(message, node.span)
        for axis, place in zip(own, node.places, strict=False):
            last = self._last(place)
            if isinstance(last, int):
                self.join(axis, last, node.span, "axes that an index runs over")
            elif last is not None:
                self._needed.setdefault(axis, []).append(last + 1)
        return Shape(own[count], None) if count < len(own) else SCALAR

    def _last(self, place: Dim) -> Dim | int | None:
        """The last place that is read: of indices without limits an axis, if alone."""
        for _ in range(len(self._ranges) + 1):
            inside = [x for x in place.symbols if x in self._ranges]
            if not inside:
                return place
            index = inside[-1]
            limits = self._ranges[index]
            if isinstance(limits, int):
                return limits if place == Dim.symbol(index) else None
            (coefficient,) = [c for m, c in place.terms if m == (index,)] or [0]
            end = limits[1] - 1 if coefficient > 0 else limits[0]
            place = place + (end - Dim.symbol(index)) * coefficient
        return None

    def settle(self) -> dict[int, str]:
        """Return the name of each axis, after all formulas have been read."""
        for axis, wanted in self._needed.items():
            sized = [x for x in wanted if x.constant is None] or wanted
            largest = sized[0]
            for other in sized[1:]:
                if (other - largest).is_nonnegative():
                    largest = other
            known = self.axes.sizes(axis)
            # Where only a number is read there may be more: `x_1` does not say.
            if not known and largest.constant is None:
                self.axes.join(axis, self.axes.named(str(largest)))
        every = [x for own in sorted(self.own.values(), key=_fewer) for x in own]
        every += [x for shape in self.of.values() for x in shape.axes]
        indices = [node.index for node in self.of if isinstance(node, tree.Total)]
        taken = (*self.variables, *self.sizes, *indices, "e", "pi", "inf")
        return self.axes.names(every, taken)


def _fewer(axes: tuple[int, ...]) -> int:
    """Matrices come first: m by n, and vectors as long as one side."""
    return -len(axes)


def whole_number(node: tree.Formula) -> int | None:
    """Return the integer that a formula is, if it is written as one."""
    sign = 1
    if isinstance(node, tree.Minus):
        node, sign = node.operand, -1
    if isinstance(node, tree.Number) and node.text.isdigit() and len(node.text) < 10:
        return sign * int(node.text)
    if isinstance(node, tree.Whole):
        value = node.value.constant
        return None if value is None else sign * value
    return None


def _text(node: tree.Formula, otherwise: str) -> str:
    """What stands there, if that is short; in parentheses where it is several words."""
    if node.span is None:
        return otherwise
    found = node.span.source.text[node.span.start : node.span.end]
    if not found or len(found) > 20 or printable(found) != found:
        return otherwise
    whole = isinstance(node, tree.Binary | tree.Sum | tree.Minus) and found[0] != "("
    return f"({found})" if whole else found
