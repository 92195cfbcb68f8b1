"""The expression tree that notations of matrices are parsed to.

As on paper, a vector is a column and may be transposed to a row, `*` is the product of
matrices, and `.*` is by entry. Places at which entries are read count from 0, and
ranges end before their stop, as in the language of specs; a notation that counts from
1 subtracts it when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tensorgen.errors import Span
from tensorgen.ir.dims import Dim

Sign = Literal["*", "/", ".*", "./", "^", ".^"]
Comparison = Literal["<", "<=", ">", ">=", "==", "!="]


@dataclass(frozen=True, eq=False, slots=True)
class Written:
    """A part of a formula, and where it stands; `None` where it came as an object."""

    span: Span | None


@dataclass(frozen=True, eq=False, slots=True)
class Number(Written):
    """A number as it is written, or `pi`, `e`, `inf`."""

    text: str


@dataclass(frozen=True, eq=False, slots=True)
class Name(Written):
    """A variable."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Whole(Written):
    """A size, an index or an affine form of them, as a number."""

    value: Dim


@dataclass(frozen=True, eq=False, slots=True)
class Filled(Written):
    """A vector (`order` 1) or a matrix of one value, as long as its place asks for.

    If it has `sizes`, it is as long as these.
    """

    value: Formula
    order: int
    sizes: tuple[Dim, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Identity(Written):
    """The identity matrix, as large as its place asks for, or of a `size`."""

    size: Dim | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Entry(Written):
    """An entry of a variable; with one place too few, a column: row i of a matrix."""

    array: Name
    places: tuple[Dim, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Minus(Written):
    """The negative."""

    operand: Formula


@dataclass(frozen=True, eq=False, slots=True)
class Transposed(Written):
    """Rows as columns."""

    operand: Formula


@dataclass(frozen=True, eq=False, slots=True)
class Sum(Written):
    """A sum of terms, of which those with `True` are subtracted."""

    terms: tuple[tuple[bool, Formula], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Binary(Written):
    """Two operands with a sign between them."""

    sign: Sign
    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, slots=True)
class Compared(Written):
    """A condition, by entry."""

    sign: Comparison
    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, slots=True)
class Call(Written):
    """A function of `known_functions.KNOWN`."""

    function: str
    arguments: tuple[Formula, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Total(Written):
    """A sum (or `prod`, `max`, `min`) over an index; without limits, over all of it."""

    function: str
    body: Formula
    index: str
    limits: tuple[Dim, Dim] | None


Formula: TypeAlias = (
    Number
    | Name
    | Whole
    | Filled
    | Identity
    | Entry
    | Minus
    | Transposed
    | Sum
    | Binary
    | Compared
    | Call
    | Total
)


def number(text: str, span: Span | None) -> Number:
    """Return a number of digits, without the zeros with which it may begin."""
    plain = text.lstrip("0")
    return Number(span, plain if plain[:1].isdigit() else f"0{plain}")


def parts(node: Formula) -> tuple[Formula, ...]:
    """Return the operands, in the order in which they are read."""
    match node:
        case Minus(operand=inner) | Transposed(operand=inner):
            return (inner,)
        case Filled(value=inner) | Total(body=inner) | Entry(array=inner):
            return (inner,)
        case Sum(terms=terms):
            return tuple(term for _, term in terms)
        case Binary(left=left, right=right) | Compared(left=left, right=right):
            return left, right
        case Call(arguments=arguments):
            return arguments
    return ()


def walked(node: Formula) -> Iterator[Formula]:
    """Yield a formula and all parts of it."""
    yield node
    for inner in parts(node):
        yield from walked(inner)


def names_in(node: Formula) -> dict[str, Name]:
    """Return the variables of a formula, by name, where each stands first."""
    found: dict[str, Name] = {}
    for inner in walked(node):
        if isinstance(inner, Name):
            found.setdefault(inner.name, inner)
    return found


def entrywise(node: Formula, matrix: Formula) -> Formula:
    """Return a formula of scalars as one of a matrix's entries; it stays as it is."""
    if node is matrix:
        return node

    def own(inner: Formula) -> Formula:
        return entrywise(inner, matrix)

    match node:
        case Binary(sign=sign, left=left, right=right):
            kinds: Mapping[str, Sign] = {"*": ".*", "/": "./", "^": ".^"}
            return Binary(None, kinds.get(sign, sign), own(left), own(right))
        case Sum(terms=terms):
            return Sum(None, tuple((minus, own(x)) for minus, x in terms))
        case Minus(operand=operand):
            return Minus(None, own(operand))
        case Call(function=function, arguments=arguments):
            return Call(None, function, tuple(map(own, arguments)))
    return node
