"""Affine forms with integer coefficients, whatever their atoms are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, Self, TypeVar

from tensorgen.ir.dims import Dim

A = TypeVar("A", bound=Hashable)


class AffineForm(NamedTuple, Generic[A]):
    """`sum(coefficient * atom) + const`, without zeros and repeated atoms."""

    terms: tuple[tuple[A, int], ...]
    const: Dim

    @classmethod
    def of(cls, terms: Iterable[tuple[A, int]], const: Dim | int = 0) -> Self:
        """Return a form with equal atoms merged and zeros dropped."""
        total: dict[A, int] = {}
        for atom, coefficient in terms:
            total[atom] = total.get(atom, 0) + coefficient
        own = const if type(const) is Dim else Dim.of(const)
        return cls(tuple([term for term in total.items() if term[1]]), own)

    @classmethod
    def atom(cls, atom: A) -> Self:
        """Return the form that is an atom."""
        return cls(((atom, 1),), Dim())

    @classmethod
    def constant(cls, value: Dim | int) -> Self:
        """Return a form without atoms."""
        return cls((), Dim.of(value))

    def __add__(self, other: Self | Dim | int) -> Self:  # type: ignore[override]
        if isinstance(other, AffineForm):
            return self.of((*self.terms, *other.terms), self.const + other.const)
        return self._replace(const=self.const + other)

    def __neg__(self) -> Self:
        return self.scaled(-1)

    def __sub__(self, other: Self | Dim | int) -> Self:
        return self + -other

    def scaled(self, factor: int) -> Self:
        """Return the form times an integer."""
        terms = ((atom, factor * c) for atom, c in self.terms if factor)
        return type(self)(tuple(terms), self.const * factor)

    def coefficient(self, atom: A) -> int:
        """The coefficient of an atom."""
        for own, coefficient in self.terms:
            if own == atom:
                return coefficient
        return 0

    def without(self, atom: A) -> Self:
        """Return the form without an atom."""
        return self._replace(terms=tuple(t for t in self.terms if t[0] != atom))

    def substituted(self, atom: A, form: Self) -> Self:
        """Return the form with an atom replaced by `form`."""
        scale = self.coefficient(atom)
        return self.without(atom) + form.scaled(scale) if scale else self
