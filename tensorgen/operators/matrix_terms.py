"""Matrix expressions in a normal form, as people write them.

An expression is a sum of terms, a term a number times powers of scalars times a chain
of matrices. Vectors are columns: a row is one that is turned, so that `u v'` is a chain
as well, and what lies between a row and a column is a scalar. Transposes stand at names
and inverses alone, scalars in front of chains or below them, like terms are one, and
`M @ inv(C @ M)` is `inv(C)` for square matrices. Sums are multiplied out only where an
outer product in them meets a vector; terms that differ by a transpose in their midst
get brackets, `(B + B.T) @ x`.

Functions here and in `matrix_chains.py` are given normal forms and return one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from tensorgen.ir.dims import Dim
from tensorgen.operators.scalar import has_exact_power

SUM, TIMES, MATMUL, POWER, ATOM = range(5)
"""How tightly a text holds together."""

Dims = tuple[Dim, ...]
ONCE = Fraction(1)


class _ByKey:
    """Equal where keys are: factors that commute have no order."""

    @property
    def key(self) -> Hashable:
        """What tells two of them apart."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.key == getattr(other, "key", None)

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True)
class Symbol:
    """A text that is not looked into, or its transpose."""

    text: str
    dims: Dims
    level: int = ATOM
    is_symmetric: bool = False
    is_turned: bool = False


@dataclass(frozen=True)
class Applied:
    """A function of expressions, or the transpose of what it returns."""

    function: str
    args: tuple[Expression, ...]
    dims: Dims
    is_symmetric: bool = False
    is_turned: bool = False


@dataclass(frozen=True)
class Row:
    """A vector that is turned; it stands in chains alone."""

    vector: Expression

    @property
    def dims(self) -> Dims:
        """None of its own: the column says them."""
        return ()


@dataclass(frozen=True)
class Spread:
    """A vector along axis 0 or 1 of a matrix, the same along the other."""

    vector: Expression
    axis: int
    dims: Dims


@dataclass(frozen=True)
class Diagonal:
    """The matrix with a vector on its diagonal."""

    vector: Expression
    dims: Dims


@dataclass(frozen=True)
class Turned:
    """The transpose of a sum or of an entrywise product, where that is shorter."""

    inner: Expression

    @property
    def dims(self) -> Dims:
        """Those of what is turned, in reverse."""
        return self.inner.dims[::-1]


Power = tuple["Expression", Fraction]
"""A base and its exponent."""


@dataclass(frozen=True, eq=False)
class Entrywise(_ByKey):
    """A product of powers, entry by entry."""

    powers: tuple[Power, ...]
    dims: Dims

    @cached_property
    def key(self) -> Hashable:
        """The factors in any order."""
        return frozenset(self.powers)


@dataclass(frozen=True, eq=False)
class Term(_ByKey):
    """A number times powers of scalars times a chain."""

    coefficient: Fraction
    powers: tuple[Power, ...]
    factors: tuple[Expression, ...]
    dims: Dims

    @cached_property
    def key(self) -> Hashable:
        """The chain in its order, scalars in any."""
        return self.coefficient, frozenset(self.powers), self.factors


@dataclass(frozen=True, eq=False)
class Terms(_ByKey):
    """A sum."""

    terms: tuple[Expression, ...]
    dims: Dims

    @cached_property
    def key(self) -> Hashable:
        """The terms in any order."""
        return frozenset(self.terms)


Expression = (
    Symbol | Applied | Row | Spread | Diagonal | Turned | Entrywise | Term | Terms
)


# Transposes


def turned(x: Expression) -> Expression:
    """Return the transpose of a matrix; numbers and vectors stay what they are."""
    if len(x.dims) < 2:
        return x
    match x:
        case Symbol() | Applied():
            if x.is_symmetric:
                return x
            return replace(x, dims=x.dims[::-1], is_turned=not x.is_turned)
        case Spread(vector=vector, axis=axis):
            return Spread(vector, 1 - axis, x.dims[::-1])
        case Entrywise() | Terms():
            inside = turned_inside(x)
            return inside if turns(inside) <= turns(x) + 1 else Turned(x)
        case Turned(inner=inner):
            return inner
        case Term():
            return replace(x, factors=turned_chain(x.factors), dims=x.dims[::-1])
        case Diagonal() | Row():
            return x


def turned_inside(x: Expression) -> Expression:
    """Return the transpose of a sum or of an entrywise product, term by term."""
    match x:
        case Entrywise(powers=powers):
            sides = tuple((turned(base), e) for base, e in powers)
            return Entrywise(sides, x.dims[::-1])
        case Terms(terms=terms):
            return Terms(tuple(map(turned, terms)), x.dims[::-1])
        case _:
            return turned(x)


def turned_chain(factors: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return the chain whose product is the transpose."""
    return tuple(_turned_factor(x) for x in reversed(factors))


def _turned_factor(x: Expression) -> Expression:
    match x:
        case Row(vector=vector):
            return vector
        case _:
            return Row(x) if len(x.dims) == 1 else turned(x)


def turns(x: Expression) -> int:
    """Return how many transposes are written in an expression."""
    match x:
        case Symbol(is_turned=is_turned):
            return int(is_turned)
        case Applied(args=args, is_turned=is_turned):
            return is_turned + sum(map(turns, args))
        case Row(vector=vector) | Spread(vector=vector) | Diagonal(vector=vector):
            return turns(vector)
        case Turned(inner=inner):
            return turns(inner) + 1
        case Entrywise(powers=powers):
            return sum(turns(base) for base, _ in powers)
        case Term(powers=powers, factors=factors):
            return sum(turns(base) for base, _ in powers) + sum(map(turns, factors))
        case Terms(terms=terms):
            return sum(map(turns, terms))


def upright(x: Expression) -> tuple[Expression, bool]:
    """Return what has fewer transposes, a matrix or its own, and whether that is it."""
    other = turned(x)
    return (other, True) if turns(other) < turns(x) else (x, False)


# Terms


def number(value: Fraction | int) -> Expression:
    """Return a number."""
    return Term(Fraction(value), (), (), ())


def parts_of(x: Expression) -> Term:
    """Return an expression as a term."""
    if isinstance(x, Term):
        return x if x.dims or not x.factors else Term(ONCE, ((x, ONCE),), (), ())
    if isinstance(x, Row):
        own = parts_of(x.vector)
        return replace(own, factors=turned_chain(own.factors))
    if len(x.dims) == 0:
        return Term(ONCE, ((x, ONCE),), (), ())
    return Term(ONCE, (), (x,), x.dims)


def term(
    coefficient: Fraction,
    powers: Iterable[Power],
    factors: Sequence[Expression],
    dims: Dims,
) -> Expression:
    """Return a term, or what it is without it where there is nothing to multiply."""
    own = tuple(powers)
    if coefficient == 0 and dims:
        sides = f"({', '.join(map(str, dims))})" if len(dims) > 1 else str(dims[0])
        return Symbol(f"zeros({sides})", dims, is_symmetric=dims == dims[::-1])
    if coefficient == 1 and not own and len(factors) == 1:
        return factors[0]
    if coefficient == 1 and not factors and len(own) == 1 and own[0][1] == 1:
        return own[0][0]
    return Term(coefficient, own, tuple(factors), dims)


def scaled(factor: Fraction, x: Expression) -> Expression:
    """Return a number times an expression."""
    own = parts_of(x)
    return term(factor * own.coefficient, own.powers, own.factors, own.dims)


def raised(base: Expression, exponent: Fraction) -> Expression:
    """Return a power of a scalar, or of each entry."""
    own = parts_of(base)
    whole = own.coefficient != 0 and has_exact_power(own.coefficient, exponent)
    if exponent == 1:
        return base
    if base.dims:
        bare = term(ONCE, (), own.factors, own.dims)
        if bare == base or not whole:
            return Entrywise(((base, exponent),), base.dims)
        scale = raised(Term(own.coefficient, own.powers, (), ()), exponent)
        return multiplied(scale, Entrywise(((bare, exponent),), base.dims))
    # A root of a power is no power of the base, where that is negative.
    if not whole or any(e.denominator != 1 for _, e in own.powers):
        return Term(ONCE, ((base, exponent),), (), ())
    inside = ((x, e * exponent) for x, e in own.powers)
    return term(own.coefficient ** int(exponent), inside, (), ())


def multiplied(scale: Expression, x: Expression) -> Expression:
    """Return a scalar times an expression."""
    one, other = parts_of(scale), parts_of(x)
    powers = gathered([*one.powers, *other.powers])
    return term(one.coefficient * other.coefficient, powers, other.factors, x.dims)


def gathered(powers: Iterable[Power]) -> tuple[Power, ...]:
    """Return powers, those above and those below a line of one base as one each.

    `x @ x` beside `norm(x)` is the square of that, and so is `sum(x**2)`.
    """
    found: dict[tuple[Expression, bool], Fraction] = {}
    for base, e in powers:
        place = base, e > 0
        found[place] = found.get(place, Fraction(0)) + e
    for base, sign in [*found]:
        match base:
            case Applied("norm", (x,)) if len(x.dims) == 1:
                entries = Applied("sum", (Entrywise(((x, Fraction(2)),), x.dims),), ())
                for square in (Term(ONCE, (), (Row(x), x), ()), entries):
                    found[base, sign] += 2 * found.pop((square, sign), Fraction(0))
    return tuple((base, e) for (base, _), e in found.items())


def without_content(x: Expression) -> Expression:
    """A sum as a number and scalars, which all its terms have, times the rest."""
    vector = x.vector if isinstance(x, Row) else x
    if not isinstance(vector, Terms) or not all(y.dims for y in vector.terms):
        return x
    rows = [parts_of(y) for y in vector.terms]
    size = abs(rows[0].coefficient)
    factor = size if all(abs(row.coefficient) == size for row in rows) else ONCE
    if all(row.coefficient < 0 for row in rows):
        factor = -factor
    common = [p for p in rows[0].powers if all(p in row.powers for row in rows)]
    if factor == 1 and not common:
        return x
    inside = [
        term(
            row.coefficient / factor,
            [p for p in row.powers if p not in common],
            row.factors,
            row.dims,
        )
        for row in rows
    ]
    whole = term(factor, common, (Terms(tuple(inside), vector.dims),), vector.dims)
    return Row(whole) if isinstance(x, Row) else whole


def entrywise(factors: Sequence[Expression]) -> Expression:
    """Return the product of vectors, or of matrices, entry by entry."""
    coefficient, scalars, inside = ONCE, list[Power](), list[Power]()
    for x in factors:
        own = parts_of(without_content(x))
        coefficient *= own.coefficient
        scalars += own.powers
        bare = term(ONCE, (), own.factors, own.dims)
        inside += bare.powers if isinstance(bare, Entrywise) else [(bare, ONCE)]
    powers = gathered(inside)
    (base, e), *others = powers
    whole = base if e == 1 and not others else Entrywise(powers, factors[0].dims)
    return term(coefficient, gathered(scalars), parts_of(whole).factors, whole.dims)
