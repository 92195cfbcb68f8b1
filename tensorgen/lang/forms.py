"""Affine forms of indices: what positions, bounds and conditions are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tensorgen.errors import Span
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node


@dataclass(frozen=True, eq=False, slots=True)
class Index:
    """An index of index notation; two of one name are two."""

    name: str
    span: Span | None = None
    left: bool = False

    def __repr__(self) -> str:
        return self.name


class Entry(NamedTuple):
    """The entry of an index array at indices: an integer in `0 ... bound - 1`."""

    node: Node
    indices: tuple[Index, ...]
    bound: Dim


Atom = Index | Entry


@dataclass(frozen=True, slots=True)
class Form:
    """`sum(coefficient * atom) + const`, without zeros and repeated atoms."""

    terms: tuple[tuple[Atom, int], ...]
    const: Dim

    @classmethod
    def of(cls, terms: Iterable[tuple[Atom, int]], const: Dim | int = 0) -> Form:
        """Collect the terms."""
        total: dict[Atom, int] = {}
        for atom, coefficient in terms:
            total[atom] = total.get(atom, 0) + coefficient
        return cls(tuple((a, c) for a, c in total.items() if c), Dim.of(const))

    @classmethod
    def atom(cls, atom: Atom) -> Form:
        """Return the form that is an index or an entry."""
        return cls(((atom, 1),), Dim())

    @classmethod
    def constant(cls, value: Dim | int) -> Form:
        """Return a form without atoms."""
        return cls((), Dim.of(value))

    def __add__(self, other: Form | Dim | int) -> Form:
        if isinstance(other, Form):
            return Form.of((*self.terms, *other.terms), self.const + other.const)
        return Form(self.terms, self.const + other)

    def __neg__(self) -> Form:
        return self.scaled(-1)

    def __sub__(self, other: Form | Dim | int) -> Form:
        return self + -other

    def scaled(self, factor: int) -> Form:
        """Return the form times an integer."""
        terms = ((atom, factor * c) for atom, c in self.terms)
        return Form.of(terms, self.const * factor)

    @property
    def indices(self) -> tuple[Index, ...]:
        """The indices that stand outside of index arrays."""
        return tuple(atom for atom, _ in self.terms if isinstance(atom, Index))

    @property
    def mentioned(self) -> tuple[Index, ...]:
        """All indices, those inside of index arrays included."""
        found: dict[Index, None] = {}
        for atom, _ in self.terms:
            inside = (atom,) if isinstance(atom, Index) else atom.indices
            found.update(dict.fromkeys(inside))
        return tuple(found)

    def coefficient(self, atom: Atom) -> int:
        """The coefficient of an atom."""
        return next((c for a, c in self.terms if a == atom), 0)

    def substituted(self, index: Index, form: Form) -> Form:
        """Return the form with `index` replaced."""
        scale = self.coefficient(index)
        rest = Form.of(((a, c) for a, c in self.terms if a != index), self.const)
        return rest + form.scaled(scale)

    def __str__(self) -> str:
        text = ""
        for atom, c in self.terms:
            name = atom.name if isinstance(atom, Index) else "an index array's entry"
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += sign + (name if abs(c) == 1 else f"{abs(c)}*{name}")
        if not text or self.const != 0:
            const = str(self.const)
            negative = const.startswith("-")
            join = "" if not text else " - " if negative else " + "
            text += join + (const[1:] if text and negative else const)
        return text
