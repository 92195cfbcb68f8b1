"""Matrix expressions as trees, for those who lay formulas out.

A person writes `X.T @ (y * s)` as X^T (y ⊙ s): transposes and inverses are exponents,
an outer product is a column times a row, and what is added to each row or column is a
product with ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

from tensorgen.explanation.formula_tree import (
    Apply,
    Binary,
    Entry,
    Group,
    Name,
    Number,
    Tree,
    Unary,
    read,
)
from tensorgen.operators import matrix_terms as matrices
from tensorgen.operators.matrix_text import in_order

TOP = Name("\N{DOWN TACK}")
ENTRYWISE, DIVIDED = "⊙", "⊘"
_ONE = Number("1")
_CALLED = {"trace": "tr"}


def matrix_tree(x: matrices.Expression) -> Tree:
    """Return an expression as a tree."""
    match x:
        case matrices.Symbol(text=text, is_turned=is_turned):
            found = _constant(read(text))
            return _raised(_enclosed(found, x.level), TOP) if is_turned else found
        case matrices.Applied("inv", (inner,)):
            below = Unary("-", TOP if x.is_turned else _ONE)
            return _raised(_tight(inner, matrices.ATOM), below)
        case matrices.Applied(function=name, args=args, is_turned=is_turned):
            own = Apply(_CALLED.get(name, name), "", tuple(map(matrix_tree, args)))
            return _raised(own, TOP) if is_turned else own
        case matrices.Row(vector=inner) | matrices.Turned(inner=inner):
            return _raised(_tight(inner, matrices.ATOM), TOP)
        case matrices.Spread(vector=vector, axis=axis, dims=dims):
            ones = _constant(read(f"ones({dims[1 - axis]})"))
            first, second = _tight(vector, matrices.POWER), _tight(
                vector, matrices.ATOM
            )
            rows = [first, _raised(ones, TOP)], [ones, _raised(second, TOP)]
            return _product(rows[axis])
        case matrices.Diagonal(vector=vector):
            return Apply("diag", "", (matrix_tree(vector),))
        case matrices.Entrywise(powers=powers):
            return _entrywise(powers)
        case matrices.Term():
            return _term(x)
        case matrices.Terms(terms=terms):
            return _sum(terms)


def _level(x: matrices.Expression) -> int:
    """How tightly what a tree shows holds together."""
    match x:
        case matrices.Symbol(level=level, is_turned=is_turned):
            return matrices.POWER if is_turned else level
        case matrices.Applied(function=name, is_turned=is_turned):
            return matrices.POWER if is_turned or name == "inv" else matrices.ATOM
        case matrices.Row() | matrices.Turned():
            return matrices.POWER
        case matrices.Spread():
            return matrices.MATMUL
        case matrices.Entrywise(powers=powers):
            return (
                matrices.POWER
                if len(powers) == 1 and powers[0][1] > 0
                else matrices.TIMES
            )
        case matrices.Term(factors=factors):
            return matrices.MATMUL if len(factors) > 1 else matrices.TIMES
        case matrices.Terms():
            return matrices.SUM
        case matrices.Diagonal():
            return matrices.ATOM


def _tight(x: matrices.Expression, level: int) -> Tree:
    return _enclosed(matrix_tree(x), _level(x), level)


def _enclosed(tree: Tree, level: int, wanted: int = matrices.ATOM) -> Tree:
    return tree if level >= wanted else Group("(", (tree,))


def _raised(base: Tree, exponent: Tree) -> Tree:
    return Binary("**", base, exponent)


def _product(factors: Iterable[Tree], operator: str = "*") -> Tree:
    return reduce(lambda left, right: Binary(operator, left, right), factors)


def _constant(tree: Tree) -> Tree:
    """The identity, ones and zeros as they are written."""
    match tree:
        case Apply(function="eye", arguments=sizes):
            return Entry(Name("I"), sizes)
        case Apply(function="ones", arguments=sizes):
            return Entry(_ONE, sizes)
        case Apply(function="zeros"):
            return Number("0")
    return tree


def _number(value: Fraction) -> Tree:
    top = Number(str(value.numerator))
    below = Number(str(value.denominator))
    return top if value.denominator == 1 else Binary("/", top, below)


def _entrywise(powers: Sequence[matrices.Power]) -> Tree:
    above = [_entry_power(base, e) for base, e in powers if e > 0]
    below = [_entry_power(base, -e) for base, e in powers if e < 0]
    over = _product(above or [_ONE], ENTRYWISE)
    if not below:
        return over
    under = _product(below, ENTRYWISE)
    whole = Group("(", (under,)) if len(below) > 1 else under
    return Binary(DIVIDED, over, whole)


def _entry_power(base: matrices.Expression, exponent: Fraction) -> Tree:
    if exponent == 1:
        return _tight(base, matrices.POWER)
    return _raised(_tight(base, matrices.ATOM), Unary(ENTRYWISE, _number(exponent)))


def _scalar_power(base: matrices.Expression, exponent: Fraction) -> Tree:
    if exponent == 1:
        return _tight(base, matrices.POWER)
    return _raised(_tight(base, matrices.ATOM), _number(exponent))


def _term(x: matrices.Term) -> Tree:
    if x.coefficient < 0:
        return Unary(
            "-", _term(matrices.Term(-x.coefficient, x.powers, x.factors, x.dims))
        )
    above = [_scalar_power(base, e) for base, e in x.powers if e > 0]
    below = [_scalar_power(base, -e) for base, e in x.powers if e < 0]
    size = x.coefficient
    if size == 1 and not x.powers and len(x.factors) == 1:
        return _tight(x.factors[0], matrices.TIMES)
    above += [_tight(factor, matrices.POWER) for factor in x.factors]
    if below:
        below = [
            *[_number(Fraction(size.denominator))] * (size.denominator > 1),
            *below,
        ]
        size = Fraction(size.numerator)
    if size != 1 or not above:
        above = [_number(size), *above]
    return Binary("/", _product(above), _product(below)) if below else _product(above)


def _sum(terms: Sequence[matrices.Expression]) -> Tree:
    first, *others = in_order(terms)
    found = matrix_tree(first)
    for x in others:
        own = matrices.parts_of(x)
        if own.coefficient < 0:
            own = matrices.Term(-own.coefficient, own.powers, own.factors, own.dims)
            found = Binary("-", found, _term(own))
        else:
            found = Binary("+", found, _tight(x, matrices.TIMES))
    return found
