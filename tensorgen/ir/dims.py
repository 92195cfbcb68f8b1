"""Sizes of axes: polynomials in dim symbols that are whole at whole numbers.

Their coefficients are integers, but for numbers of combinations: `(n**2 + n) // 2`.
A `Dim` is immutable and hashable; equal ones are one object. Proofs assume that every
symbol is at least one, which is what the language promises; where a proof rests
on it, the caller checks the size at run time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt, lcm, prod
from typing import Literal

from tensorgen.ir.effort import Exhausted

Monomial = tuple[str, ...]
Coefficient = int | Fraction

_KNOWN: dict[tuple[tuple[Monomial, Coefficient], ...], Dim] = {}
_LONG = 8
_MOST_TERMS = 1 << 13


class Dim:
    """A polynomial in dim symbols, e.g. `n + k - 1`.

    Kept as a sorted tuple of `(monomial, coefficient)` pairs, where a monomial is
    the sorted tuple of its symbols.
    """

    terms: tuple[tuple[Monomial, Coefficient], ...]

    def __new__(cls, terms: Iterable[tuple[Monomial, Coefficient]] = ()) -> Dim:
        """Collect `terms`, adding the coefficients of equal monomials."""
        total: dict[Monomial, Coefficient] = {}
        for monomial, coefficient in terms:
            key = tuple(sorted(monomial))
            total[key] = total.get(key, 0) + coefficient
        # Highest degree first, then alphabetical: the order in which sizes print.
        own = tuple(
            sorted(
                (
                    (m, c.numerator if c.denominator == 1 else c)
                    for m, c in total.items()
                    if c
                ),
                key=lambda term: (-len(term[0]), term[0]),
            )
        )
        known = _KNOWN.get(own)
        if known is None:
            known = _KNOWN[own] = object.__new__(cls)
            known.terms = own
        return known

    def __reduce__(self) -> tuple[type[Dim], tuple[object, ...]]:
        return Dim, (self.terms,)

    @classmethod
    def symbol(cls, name: str) -> Dim:
        """Return the polynomial that is the symbol `name`."""
        return cls([((name,), 1)])

    @classmethod
    def of(cls, value: Coefficient | str | Dim) -> Dim:
        """Return `value` as a polynomial; a string is a symbol."""
        if isinstance(value, Dim):  # nearly always
            return value
        return cls.symbol(value) if isinstance(value, str) else _number(value)

    @property
    def parts(self) -> list[tuple[int, Dim]]:
        """The terms as signs, and polynomials of one positive term."""
        signs = [(1 if c > 0 else -1, m, c) for m, c in self.terms]
        return [(sign, Dim([(m, sign * c)])) for sign, m, c in signs]

    def __eq__(self, other: object) -> bool:
        return self is (_number(other) if isinstance(other, int) else other)

    __hash__ = object.__hash__

    def __add__(self, other: int | Dim) -> Dim:
        return _added(self, other if type(other) is Dim else Dim.of(other))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return _multiplied(self, _MINUS_ONE)

    def __sub__(self, other: int | Dim) -> Dim:
        return _subtracted(self, other if type(other) is Dim else Dim.of(other))

    def __rsub__(self, other: int | Dim) -> Dim:
        return Dim.of(other) - self

    def __mul__(self, other: Coefficient | Dim) -> Dim:
        return _multiplied(self, other if type(other) is Dim else Dim.of(other))

    __rmul__ = __mul__

    def divided(self, other: Dim) -> Dim | None:
        """Return the polynomial `self / other`, or None where there is none.

        Long division by the leading terms, which each step removes from the rest.
        """
        rest, quotient = self, Dim()
        while rest.terms and other.terms:
            (whole, c), (part, d) = rest._leading, other._leading
            left = list(whole)
            for name in part:
                if name not in left:
                    return None
                left.remove(name)
            if c % d:
                return None
            step = Dim([(tuple(left), c // d)])
            quotient, rest = quotient + step, rest - step * other
        return quotient if other.terms else None

    @property
    def _leading(self) -> tuple[Monomial, Coefficient]:
        """The first term in an order that products keep: by degree, then symbols."""
        names = sorted({name for m, _ in self.terms for name in m})
        return max(
            self.terms,
            key=lambda term: (len(term[0]), [term[0].count(n) for n in names]),
        )

    @cached_property
    def constant(self) -> int | None:
        """The value of a polynomial without symbols, else None."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return int(self.terms[0][1])
        return None

    @cached_property
    def whole(self) -> tuple[Dim, int]:
        """The polynomial as one of integer coefficients, and what that is divided by.

        `n * (n + 1) / 2` is `(n**2 + n, 2)`.
        """
        below = lcm(*(c.denominator for _, c in self.terms))
        return (self if below == 1 else self * below), below

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that occur, in alphabetical order."""
        return tuple(sorted({name for m, _ in self.terms for name in m}))

    @cached_property
    def degree(self) -> int:
        """The highest number of symbols in one monomial."""
        return max((len(m) for m, _ in self.terms), default=0)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The symbols that have to be known, those of computed ones in their place."""
        found: set[str] = set()
        for name in self.symbols:
            found |= {*COMPUTED[name].of.sources} if name in COMPUTED else {name}
        return tuple(sorted(found))

    def value(self, sizes: Mapping[str, int]) -> int:
        """Return the number that `sizes` gives."""
        total: Coefficient = 0
        for monomial, coefficient in self.terms:
            for name in monomial:
                known = name in sizes or name not in COMPUTED
                coefficient *= sizes[name] if known else COMPUTED[name].value(sizes)
            total += coefficient
        return int(total)

    def at(self, sizes: Mapping[str, int]) -> Dim:
        """Return the polynomial with some symbols replaced by numbers."""
        return Dim(
            (
                tuple(name for name in monomial if name not in sizes),
                coefficient * prod(sizes.get(name, 1) for name in monomial),
            )
            for monomial, coefficient in self.terms
        )

    def is_nonnegative(self) -> bool:
        """Whether the polynomial is provably >= 0 when every symbol is >= 1.

        With n = 1 + n' every n' is >= 0, so nonnegative coefficients suffice. In long
        monomials, which have too many parts for that, a larger one has to be found
        for each that is subtracted.
        """
        return self._nonnegative

    @cached_property
    def _nonnegative(self) -> bool:
        if all(c >= 0 for _, c in self.terms):
            return True
        if self.degree > _LONG:
            return self._covers()
        return all(c >= 0 for _, c in self._shifted)

    def is_nonnegative_beside(self, sizes: Iterable[Dim]) -> bool:
        """Whether the polynomial is provably >= 0 wherever some sizes are >= 1.

        Symbols that do not have to be at least one then may be 0.
        """
        if not self._nonnegative or all(c >= 0 for _, c in self.terms):
            return self._nonnegative
        positive = {s for size in sizes for s in size.factors}
        positive.update(s for s in self.symbols if _is_above(s))
        if positive.issuperset(self.symbols):
            return True
        if self.degree > _LONG:
            return False
        return all(c >= 0 for _, c in self._shifted_by(positive))

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The symbols without which nothing is added: positive where this is."""
        added = [m for m, c in self.terms if c > 0]
        return tuple(s for s in self.symbols if all(s in m for m in added))

    def _covers(self) -> bool:
        """Whether each monomial that is subtracted divides one that is added."""
        left = {m: c for m, c in reversed(self.terms) if c > 0}
        for small, c in self.terms:
            for large in left if c < 0 else ():
                if not Counter(small) - Counter(large):
                    used = min(-c, left[large])
                    left[large] -= used
                    c += used
            if c < 0:
                return False
        return True

    def is_positive(self) -> bool:
        """Whether the polynomial is provably >= 1 when every symbol is >= 1."""
        return (self - 1).is_nonnegative()

    @cached_property
    def _shifted(self) -> tuple[tuple[Monomial, Coefficient], ...]:
        return self._shifted_by(self.symbols)

    def _shifted_by(
        self, positive: Container[str]
    ) -> tuple[tuple[Monomial, Coefficient], ...]:
        """The terms in what symbols, some of them `positive`, are at least."""
        total = Dim()
        for monomial, coefficient in self.terms:
            product = Dim.of(coefficient)
            for name in monomial:
                product = product * Dim([((name,), 1), ((), int(name in positive))])
            total = total + product
        return total.terms

    def __str__(self) -> str:
        top, below = self.whole
        if below > 1:
            return f"{top} // {below}" if len(top.terms) == 1 else f"({top}) // {below}"
        text = ""
        for monomial, coefficient in self.terms:
            sign = "-" if coefficient < 0 else "+"
            size = abs(coefficient)
            body = "*".join([str(size)] * (size != 1 or not monomial) + list(monomial))
            text += f" {sign} {body}" if text else ("-" if sign == "-" else "") + body
        return text or "0"

    def __repr__(self) -> str:
        return f"Dim({self})"


# The same few sizes are combined over and over, by every proof about a range.
@lru_cache(maxsize=1 << 16)
def _added(a: Dim, b: Dim) -> Dim:
    return Dim(a.terms + b.terms)


@lru_cache(maxsize=1 << 16)
def _subtracted(a: Dim, b: Dim) -> Dim:
    return a + -b


@lru_cache(maxsize=1 << 16)
def _multiplied(a: Dim, b: Dim) -> Dim:
    if len(a.terms) * len(b.terms) > _MOST_TERMS:
        raise Exhausted
    return Dim((m + k, c * d) for m, c in a.terms for k, d in b.terms)


@lru_cache(maxsize=1 << 12)
def _number(value: Coefficient) -> Dim:
    return Dim([((), value)])


ONE = Dim.of(1)
ZERO = Dim()
_MINUS_ONE = Dim.of(-1)


@dataclass(frozen=True)
class Computed:
    """What a symbol stands for that is computed of a size, and is no polynomial.

    `root` is a whole number above the root of it, `runs` are as many as there are of
    at most `by`, and `width` is `by` itself: all runs but the last are as wide.
    """

    rule: Literal["root", "runs", "width"]
    of: Dim
    by: Dim = ONE

    def value(self, sizes: Mapping[str, int]) -> int:
        """The number that it is; at least 0, as all sizes are."""
        of, by = max(self.of.value(sizes), 0), self.by.value(sizes)
        if self.rule == "root":
            return isqrt(of) + 1
        return -(-of // by) if self.rule == "runs" else by


COMPUTED: dict[str, Computed] = {}
"""What computed symbols stand for; equal names are equal everywhere."""


def _is_above(name: str) -> bool:
    """Whether a computed symbol is at least 1 whatever it is computed of."""
    return name in COMPUTED and COMPUTED[name].rule != "runs"


def computed(
    rule: Literal["root", "runs", "width"], of: Dim, by: Dim = ONE, end: str = ""
) -> Dim:
    """Return the symbol that is computed of a size, whose name says how.

    The name ends with `end`, underscores that keep it apart from others. What follows
    from numbers is a number, but for widths.
    """
    if rule != "width" and not (of.symbols or by.symbols):
        return Dim.of(Computed(rule, of, by).value({}))
    word = {"root": "stride", "runs": "runs", "width": "width"}[rule]
    given = (str(of),) if rule == "root" or by.symbols else (str(of), str(by))
    spelt = "_".join(given).replace("**", "_to_").replace("*", "_")
    for sign, name in (("+", "plus"), ("-", "less"), ("//", "over")):
        spelt = spelt.replace(sign, name)
    parts = re.findall(r"\w+", spelt)
    name = "_".join([word, *parts] if spelt[0].isdigit() else [*parts, word]) + end
    COMPUTED[name] = Computed(rule, of, by)
    return Dim.symbol(name)


def combinations(size: Dim, order: int) -> Dim:
    """Return how many unordered combinations of `order` numbers below `size` there are,
    equal ones allowed."""
    found = ONE
    for k in range(order):
        found = found * (size + k) * Fraction(1, k + 1)
    return found


def count(dims: Iterable[Dim]) -> Dim:
    """The number of entries of an array with axes of these sizes."""
    return prod(dims, start=ONE)


def tuple_text(parts: Sequence[object]) -> str:
    """Return a shape, or what else is a tuple, as Python writes it: `()`, `(n,)`."""
    return f"({', '.join(map(str, parts))}{',' * (len(parts) == 1)})"
