"""Formulas as expressions of the spec language: products are `@`, entries meet in `*`.

A row and a column are both a vector there, so only matrices are transposed, and what is
filled with one number is that number where its place broadcasts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tensorgen.frontends import formula as tree
from tensorgen.frontends.declared import spelled
from tensorgen.frontends.known_functions import KNOWN
from tensorgen.frontends.shape_of import SCALAR, Shape, ShapeReader, whole_number
from tensorgen.ir.dims import Dim

# How tightly Python binds what an expression is made of.
COMPARED, ADDED, MULTIPLIED, SIGNED, RAISED, ATOM = range(6)


class Piece(NamedTuple):
    """An expression as text, and how tightly its outermost operation binds."""

    text: str
    level: int

    def within(self, level: int) -> str:
        """Return the text as an operand of what binds as tightly as the level says."""
        return self.text if self.level >= level else f"({self.text})"


class ExpressionWriter:
    """Writes formulas whose shapes are known."""

    def __init__(self, shapes: ShapeReader, names: Mapping[int, str]) -> None:
        self._shapes = shapes
        self._names = names

    def text(self, node: tree.Formula) -> str:
        """Return a formula as an expression."""
        return self._piece(node).text

    def one_value(self, node: tree.Formula) -> Piece | None:
        """Return the scalar that all entries of an array are, if that can be seen."""
        found = _one_value(node, self._shapes.of)
        return None if found is None else self._piece(found)

    def bound(self, node: tree.Formula) -> str:
        """Return a formula that bounds entries: a number where all are one."""
        return (self.one_value(node) or self._piece(node)).text

    def difference(self, left: tree.Formula, right: tree.Formula) -> str:
        """Return what is left of one formula without another."""
        return self._sum(tree.Sum(left.span, ((False, left), (True, right)))).text

    def size(self, axis: int) -> str:
        """Return the length of an axis."""
        return self._names[self._shapes.axes.find(axis)]

    def _shape(self, node: tree.Formula) -> Shape:
        # What is made on the way, of scalars, was never read.
        return self._shapes.of.get(node, SCALAR)

    def _piece(self, node: tree.Formula) -> Piece:
        match node:
            case tree.Number(text=text):
                return Piece(text, ATOM)
            case tree.Name(name=name):
                return Piece(spelled(name), ATOM)
            case tree.Whole(value=value):
                return _whole(value)
            case tree.Filled():
                return self._filled(node)
            case tree.Identity():
                side, _ = self._shape(node).axes
                return Piece(f"eye({self.size(side)})", ATOM)
            case tree.Entry(array=array, places=places):
                inside = ", ".join(map(str, places))
                return Piece(f"{spelled(array.name)}[{inside}]", ATOM)
            case tree.Minus(operand=operand):
                return _negative(self._piece(operand))
            case tree.Transposed(operand=operand):
                found = self._piece(operand)
                if self._shape(operand).order < 2:
                    return found
                return Piece(f"{found.within(ATOM)}.T", ATOM)
            case tree.Sum():
                return self._sum(node)
            case tree.Compared(sign=sign, left=left, right=right):
                sides = [x.within(ADDED) for x in self._together([left, right])]
                return Piece(f"{sides[0]} {sign} {sides[1]}", COMPARED)
            case tree.Binary(sign="*" | "/"):
                return _Product(self, node).piece
            case tree.Binary():
                return self._entries(node)
            case tree.Call():
                return self._call(node)
            case tree.Total():
                return self._total(node)

    def _filled(self, node: tree.Filled) -> Piece:
        sizes = ", ".join(self.size(axis) for axis in self._shape(node).axes)
        value = self._piece(node.value)
        if value.text in ("0", "1"):
            return Piece(f"{'ones' if value.text == '1' else 'zeros'}({sizes})", ATOM)
        return Piece(f"{value.within(MULTIPLIED)} * ones({sizes})", MULTIPLIED)

    def _together(self, operands: Sequence[tree.Formula]) -> list[Piece]:
        """Operands that meet by entry: what has one value is that, beside an array."""
        values = [_one_value(x, self._shapes.of) for x in operands]
        arrays = [
            k
            for k, value in enumerate(values)
            if value is None and self._shape(operands[k]).order
        ]
        if not arrays:
            # One of them has to say how long the result is.
            longest = max(operands, key=lambda x: self._shape(x).order)
            values[operands.index(longest)] = None
        return [
            self._piece(operand if value is None else value)
            for operand, value in zip(operands, values, strict=True)
        ]

    def _sum(self, node: tree.Sum) -> Piece:
        pieces = self._together([term for _, term in node.terms])
        text = ""
        for (minus, _), piece in zip(node.terms, pieces, strict=True):
            own = piece.within(MULTIPLIED if minus or text else ADDED)
            if text and own.startswith("-"):
                minus, own = not minus, own[1:]
            if text:
                text += f" {'-' if minus else '+'} {own}"
            elif minus:
                text = _negative(piece).text
            else:
                text = own
        return Piece(text, ADDED if len(node.terms) > 1 else SIGNED)

    def _entries(self, node: tree.Binary) -> Piece:
        shapes = [self._shape(x) for x in (node.left, node.right)]
        # With a scalar, it is the same as without the dot.
        by_scalar = not shapes[1].order or (node.sign == ".*" and not shapes[0].order)
        if by_scalar and node.sign in (".*", "./"):
            return _Product(self, node).piece
        if node.sign in ("^", ".^"):
            return self._power(node)
        left, right = self._together([node.left, node.right])
        sign = node.sign[-1]
        first = left.within(MULTIPLIED)
        if "@" in first and left.level == MULTIPLIED:
            first = f"({first})"
        return Piece(f"{first} {sign} {right.within(SIGNED)}", MULTIPLIED)

    def _power(self, node: tree.Binary) -> Piece:
        base, exponent = node.left, node.right
        if node.sign == "^" and self._shape(base).order == 2:
            power = whole_number(exponent)
            inside = self.text(base)
            inverse = Piece(f"inv({inside})", ATOM)
            if power == -1:
                return inverse
            if power is not None and power < 0:
                return Piece(f"matrix_power({inverse.text}, {-power})", ATOM)
            return Piece(f"matrix_power({inside}, {power})", ATOM)
        left, right = self._together([base, exponent])
        return Piece(f"{left.within(ATOM)}**{right.within(SIGNED)}", RAISED)

    def _call(self, node: tree.Call) -> Piece:
        row = KNOWN[node.function]
        if row.of_scalar and not self._shape(node.arguments[0]).order:
            return self._of_scalar(node.function, self._piece(node.arguments[0]))
        if row.rule == "inner" and self._shape(node.arguments[0]).order < 2:
            a, b = (x.within(SIGNED) for x in map(self._piece, node.arguments))
            sign = "@" if self._shape(node.arguments[0]).order else "*"
            return Piece(f"{a} {sign} {b}", MULTIPLIED)
        if row.rule == "entries" and row.arguments > 1:
            pieces = self._together(node.arguments)
        else:
            pieces = [self._piece(x) for x in node.arguments]
        if row.rule == "inner":
            texts = [x.within(SIGNED) for x in pieces]
        else:
            texts = [x.text for x in pieces]
        level = {"adj": MULTIPLIED, "both": COMPARED, "either": COMPARED}
        return Piece(row.text.format(*texts), level.get(node.function, ATOM))

    def _of_scalar(self, function: str, argument: Piece) -> Piece:
        """A function of matrices, of a matrix of one entry."""
        text = KNOWN[function].of_scalar
        if text == "{0}":
            return argument
        inside = argument.within(SIGNED)
        return Piece(text.format(inside), MULTIPLIED if "/" in text else ATOM)

    def _total(self, node: tree.Total) -> Piece:
        """A reduction over indices: without a range where the language finds it."""
        plain: list[str] = []
        ranges: list[str] = []
        body: tree.Formula = node
        while isinstance(body, tree.Total) and body.function == node.function:
            limits = body.limits
            if limits is None or self._is_found(body, limits):
                plain.append(body.index)
            else:
                inside = [str(x) for x in limits if x is limits[1] or x.terms]
                ranges.append(f"{body.index}=range({', '.join(inside)})")
            body = body.body
        inside = [self.text(body), *plain, *ranges]
        return Piece(f"{node.function}({', '.join(inside)})", ATOM)

    def _is_found(self, node: tree.Total, limits: tuple[Dim, Dim]) -> bool:
        """Whether the index stands alone, at axes that are as long as it runs."""
        own = Dim.symbol(node.index)
        alone = False
        for inner in tree.walked(node.body):
            if not isinstance(inner, tree.Entry):
                continue
            axes = self._shapes.own[inner.array.name]
            for axis, place in zip(axes, inner.places, strict=False):
                if place == own and limits == (Dim(), _dim(self.size(axis))):
                    alone = True
                elif node.index in place.symbols:
                    return False
        return alone


class _Product:
    """A chain of products and quotients: scalars first, then what `@` joins."""

    def __init__(self, writer: ExpressionWriter, node: tree.Binary) -> None:
        self._writer = writer
        self._scalars: list[Piece] = []
        self._divisors: list[Piece] = []
        self._run: list[Piece] = []
        self._shape = SCALAR
        self._ones: Piece | None = None
        self._is_negative = False
        self._collect(node)
        self.piece = self._piece()

    def _collect(self, node: tree.Formula) -> None:
        """Take the factors, from the left; a scalar's own in place of it."""
        shape = self._writer._shape(node)
        if isinstance(node, tree.Minus):
            self._is_negative = not self._is_negative
            self._collect(node.operand)
        elif isinstance(node, tree.Binary) and self._is_chain(node):
            self._collect(node.left)
            right = node.right
            if node.sign in ("/", "./"):
                self._divisors.append(self._writer._piece(right))
            else:
                self._collect(right)
        elif not shape.order:
            self._scalars.append(self._writer._piece(node))
        else:
            if not self._run:
                self._ones = self._writer.one_value(node)
            self._multiply(self._writer._piece(node), shape)

    def _is_chain(self, node: tree.Binary) -> bool:
        left, right = (self._writer._shape(x) for x in (node.left, node.right))
        if node.sign in (".*", "./"):
            return not right.order or (node.sign == ".*" and not left.order)
        # What was multiplied first stays so: A*(B*x) is cheaper than (A*B)*x.
        starts = not self._run
        return node.sign in ("*", "/") and (starts or not (left.order and right.order))

    def _multiply(self, factor: Piece, shape: Shape) -> None:
        if not self._run:
            self._run, self._shape = [factor], shape
            return
        shape = Shape(self._shape.rows, shape.columns)
        if self._shape.order == 1 and shape.order == 2:
            text = f"outer({self._joined()}, {factor.text})"
            self._run = [Piece(text, ATOM)]
        else:
            self._run.append(factor)
        self._shape = shape
        if not shape.order:
            self._scalars += self._inner()
            self._run = []

    def _inner(self) -> list[Piece]:
        """What a row and a column are multiplied to: with ones, a sum."""
        if self._ones is None or len(self._run) > 2:
            return [Piece(self._joined(), MULTIPLIED)]
        total = Piece(f"sum({self._run[1].text})", ATOM)
        return [self._ones, total]

    def _joined(self) -> str:
        if len(self._run) == 1:
            return self._run[0].text
        return " @ ".join(x.within(SIGNED) for x in self._run)

    def _piece(self) -> Piece:
        factors = [x for x in self._scalars if x.text != "1"]
        if self._run:
            level = MULTIPLIED if len(self._run) > 1 else self._run[0].level
            factors.append(Piece(self._joined(), level))
        factors = factors or [Piece("1", ATOM)]
        text, level = factors[0].text, factors[0].level
        if len(factors) > 1:
            level = MULTIPLIED
            text = " * ".join(
                f"({x.text})" if _is_product(x) else x.within(SIGNED) for x in factors
            )
        if self._divisors:
            over = " * ".join(x.within(SIGNED) for x in self._divisors)
            over = f"({over})" if len(self._divisors) > 1 else over
            text = f"{Piece(text, level).within(MULTIPLIED)} / {over}"
            level = MULTIPLIED
        found = Piece(text, level)
        return _negative(found) if self._is_negative else found


def _is_product(piece: Piece) -> bool:
    return piece.level == MULTIPLIED and " @ " in piece.text


def _negative(piece: Piece) -> Piece:
    if piece.text.startswith("-"):
        return Piece(f"-({piece.text})", SIGNED)
    level = MULTIPLIED if piece.level == MULTIPLIED else SIGNED
    return Piece(f"-{piece.within(MULTIPLIED)}", level)


def _whole(value: Dim) -> Piece:
    whole, below = value.whole
    text = str(whole)
    level = ADDED if len(value.terms) > 1 else MULTIPLIED if "*" in text else ATOM
    found = Piece(text, SIGNED if level == ATOM and text.startswith("-") else level)
    if below == 1:
        return found
    return Piece(f"{found.within(MULTIPLIED)} / {below}", MULTIPLIED)


def _dim(text: str) -> Dim:
    """The size that a name or a number of an axis is; others equal nothing."""
    return Dim.of(int(text)) if text.isdigit() else Dim.symbol(text)


def _one_value(
    node: tree.Formula, shapes: Mapping[tree.Formula, Shape]
) -> tree.Formula | None:
    """The scalar that all entries of an array are, where that can be seen."""

    def value(inner: tree.Formula) -> tree.Formula | None:
        if not shapes.get(inner, SCALAR).order:
            return inner
        return _one_value(inner, shapes)

    match node:
        case tree.Filled(value=found):
            return found
        case tree.Minus(operand=operand):
            own = _one_value(operand, shapes)
            return None if own is None else tree.Minus(node.span, own)
        case tree.Transposed(operand=operand):
            return _one_value(operand, shapes)
        case tree.Binary(sign="*" | "/" | ".*" | "./" | ".^" as sign):
            left, right = value(node.left), value(node.right)
            orders = [shapes.get(x, SCALAR).order for x in (node.left, node.right)]
            if left is None or right is None or not any(orders):
                return None
            if sign == "*" and all(orders):
                return None  # a sum of products, not one of them
            return tree.Binary(node.span, sign, left, right)
        case tree.Sum(terms=terms) if shapes.get(node, SCALAR).order:
            values = [value(term) for _, term in terms]
            terms_kept = tuple(
                (minus, found)
                for (minus, _), found in zip(terms, values, strict=True)
                if found is not None
            )
            return (
                tree.Sum(node.span, terms_kept)
                if len(terms_kept) == len(values)
                else None
            )
        case tree.Call(function=name, arguments=arguments):
            if KNOWN[name].rule != "entries" or not shapes.get(node, SCALAR).order:
                return None
            values = [value(x) for x in arguments]
            kept = tuple(x for x in values if x is not None)
            return (
                tree.Call(node.span, name, kept) if len(kept) == len(values) else None
            )
    return None
