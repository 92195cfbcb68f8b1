"""Affine forms of indices: what positions, bounds and conditions are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tensorgen.errors import Span
from tensorgen.ir.affine_forms import AffineForm
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node


@dataclass(frozen=True, eq=False, slots=True)
class Index:
    """An index of index notation; two of one name are two.

    What bears the name of a dim may be `meant` for something else.
    """

    name: str
    span: Span | None = None
    left: bool = False
    meant: str | None = None

    def __repr__(self) -> str:
        return self.name


class Entry(NamedTuple):
    """The entry of an index array at indices: an integer in `0 ... bound - 1`."""

    node: Node
    indices: tuple[Index, ...]
    bound: Dim


Atom = Index | Entry


class Form(AffineForm[Atom]):
    """An affine form of indices and of entries of index arrays."""

    __slots__ = ()

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
