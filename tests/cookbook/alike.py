"""When two texts in matrix notation are the same, up to what this says.

Terms of sums and scalars have no order, products of matrices no brackets, transposes of
products stand at their factors, and the inverse of a transpose is a transposed inverse:
nothing else is between texts that are the same as they stand. Where they are multiplied
`out`, sums have no brackets either, and `outer(u, v)` is u v'.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import NamedTuple

SCALARS = ("det", "logdet", "norm", "sum", "trace")
SYMMETRIC = ("eye", "diag")


class Factor(NamedTuple):
    """A matrix, a column, or a row."""

    text: str
    kind: str
    is_turned: bool = False


Chain = tuple[Factor, ...]
Monomial = tuple[frozenset[tuple[str, int]], Chain]
"""Scalars with exponents, and a product of matrices."""
Terms = Mapping[Monomial, Fraction]

ONE: Monomial = (frozenset(), ())


def same(
    one: str,
    other: str,
    orders: Mapping[str, int],
    symmetric: Collection[str],
    out: bool,
) -> bool:
    """Whether texts agree; `orders` has the number of axes of each name."""
    reader = _Reader(orders, symmetric, out)
    first, second = (reader.terms(ast.parse(x, mode="eval").body) for x in (one, other))
    return first == second


class _Reader:
    def __init__(
        self, orders: Mapping[str, int], symmetric: Collection[str], out: bool
    ) -> None:
        self.orders, self.symmetric, self.out = orders, symmetric, out

    def order(self, node: ast.expr) -> int:
        """The number of axes of a value."""
        match node:
            case ast.Name(id=name):
                return self.orders[name]
            case ast.Call(func=ast.Name(id=name), args=[x, *_]):
                if name == "ones":
                    return len(x.elts) if isinstance(x, ast.Tuple) else 1
                found = {"eye": 2, "outer": 2, **dict.fromkeys(SCALARS, 0)}
                turned = 3 - self.order(x) if name == "diag" else self.order(x)
                return found.get(name, turned)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self.order(left) + self.order(right) - 2
            case ast.BinOp(left=left, right=right):
                return max(self.order(left), self.order(right))
            case ast.UnaryOp(operand=x) | ast.Attribute(value=x):
                return self.order(x)
        return 0

    def terms(self, node: ast.expr) -> Terms:
        """A text as a sum of products, in which vectors are columns."""
        match node:
            case ast.Constant(value=value):
                return {ONE: Fraction(str(value))}
            case ast.UnaryOp(operand=x):
                return _product({ONE: Fraction(-1)}, self.terms(x))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _sum(self.terms(left), self.terms(right))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return _sum(
                    self.terms(left), self.terms(ast.UnaryOp(ast.USub(), right))
                )
            case ast.Attribute(value=x):
                return self.turned(self.terms(x))
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self.chained(left, right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return _product(self.factor(left), _power(self.factor(right), -1))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                if not min(self.order(left), self.order(right)):
                    return _product(self.factor(left), self.factor(right))
            case ast.BinOp(left=x, op=ast.Pow(), right=ast.Constant(value=int(e))):
                if not self.order(x):
                    return _power(self.factor(x), e)
            case ast.Call(func=ast.Name(id="outer"), args=[u, v]) if self.out:
                return _product(self.terms(u), self.turned(self.terms(v)))
            case ast.Call(func=ast.Name(id="inv"), args=[x]):
                inside = self.terms(x)
                texts = [_text(inside), _text(self.turned(inside))]
                is_turned = texts[1] < texts[0]
                return _single(Factor(f"inv({min(texts)})", "matrix", is_turned))
        text = self.text(node)
        order = self.order(node)
        if order == 0:
            return {(frozenset({(text, 1)}), ()): Fraction(1)}
        return _single(Factor(text, "matrix" if order == 2 else "column"))

    def factor(self, node: ast.expr) -> Terms:
        """The same for what is multiplied: a sum in brackets stays one, if it may."""
        found = self.terms(node)
        if len(found) == 1 or self.out:
            return found
        order, text = self.order(node), f"({_text(found)})"
        if order == 0:
            return {(frozenset({(text, 1)}), ()): Fraction(1)}
        return _single(Factor(text, "matrix" if order == 2 else "column"))

    def chained(self, left: ast.expr, right: ast.expr) -> Terms:
        """The product of two vectors or matrices."""
        first, second = self.factor(left), self.factor(right)
        is_row = self.order(left) == 1
        found = _product(self.turned(first) if is_row else first, second)
        if is_row and self.order(right) == 2:
            return self.turned(found)
        return _sum({}, {self.without_forms(*x): c for x, c in found.items()})

    def without_forms(
        self, scalars: frozenset[tuple[str, int]], chain: Chain
    ) -> Monomial:
        """A product, of which numbers from rows to columns are scalars."""
        kinds = [x.kind for x in chain]
        for at, kind in enumerate(kinds):
            if kind == "row" and "column" in kinds[at:]:
                end = kinds.index("column", at) + 1
                middle = chain[at:end]
                text = min(_listed(middle), _listed(self.turned_chain(middle)))
                more = _scalars(scalars, frozenset({(text, 1)}))
                return self.without_forms(more, chain[:at] + chain[end:])
        return scalars, chain

    def turned(self, terms: Terms) -> Terms:
        """The transposes of products."""
        return {(x, self.turned_chain(chain)): c for (x, chain), c in terms.items()}

    def turned_chain(self, chain: Chain) -> Chain:
        """The factors in reverse, each turned."""
        return tuple(map(self.turned_factor, reversed(chain)))

    def turned_factor(self, x: Factor) -> Factor:
        """A factor turned, if that makes a difference."""
        if x.kind != "matrix":
            return x._replace(kind="row" if x.kind == "column" else "column")
        is_even = x.text in self.symmetric or x.text.startswith(SYMMETRIC)
        if x.text.startswith("inv("):
            inside = ast.parse(x.text, mode="eval").body
            assert isinstance(inside, ast.Call)
            own = self.terms(inside.args[0])
            is_even = _text(own) == _text(self.turned(own))
        return x if is_even else x._replace(is_turned=not x.is_turned)

    def text(self, node: ast.expr) -> str:
        """What is not looked into, its arguments as they are here."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=args):
                return f"{name}({', '.join(map(self.text, args))})"
            case ast.BinOp(left=left, op=ast.Mult(), right=right) if self.order(node):
                return " * ".join(sorted(map(self.text, (left, right))))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return f"({self.text(left)})**{self.text(right)}"
            case ast.Name(id=name):
                return name
            case ast.Tuple(elts=elts):
                return f"({', '.join(map(self.text, elts))})"
        return _text(self.terms(node))


def _single(x: Factor) -> Terms:
    return {(frozenset(), (x,)): Fraction(1)}


def _sum(*parts: Terms) -> Terms:
    found: Counter[Monomial] = Counter()
    for part in parts:
        for monomial, c in part.items():
            found[monomial] += c  # type: ignore[assignment]
    return {x: Fraction(c) for x, c in found.items() if c}


def _product(one: Terms, other: Terms) -> Terms:
    return _sum(
        *(
            {(_scalars(x, y), (*left, *right)): c * d}
            for (x, left), c in one.items()
            for (y, right), d in other.items()
        )
    )


def _scalars(
    one: frozenset[tuple[str, int]], other: frozenset[tuple[str, int]]
) -> frozenset[tuple[str, int]]:
    found = Counter(dict(one))
    found.update(dict(other))
    return frozenset((x, e) for x, e in found.items() if e)


def _power(terms: Terms, exponent: int) -> Terms:
    """A power of a scalar; a sum stays one below a line."""
    if len(terms) > 1:
        text = f"({_text(terms)})"
        return {(frozenset({(text, exponent)}), ()): Fraction(1)}
    (((scalars, _), c),) = terms.items()
    return {(frozenset((x, e * exponent) for x, e in scalars), ()): c**exponent}


def _text(terms: Terms) -> str:
    """Any two equal sums as equal texts, which can be read again."""
    rows = []
    for (scalars, chain), c in terms.items():
        texts = [str(c)] if c.denominator == 1 else [f"({c})"]
        texts = texts if c != 1 or not (scalars or chain) else []
        texts += sorted(f"({x})**{e}" if e != 1 else f"({x})" for x, e in scalars)
        rows.append(" * ".join([*texts, *[_listed(chain)] * bool(chain)]))
    return " + ".join(sorted(rows))


def _listed(chain: Chain) -> str:
    texts = [f"({x.text})" if " " in x.text else x.text for x in chain]
    turns = [".T" * x.is_turned for x in chain]
    return " @ ".join(x + y for x, y in zip(texts, turns, strict=True))
