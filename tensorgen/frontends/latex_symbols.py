r"""Symbols of LaTeX: which are variables, sizes and indices, and of which shape.

A formula is read twice. The first time shows how symbols are used, which says what they
are the second time: `x_i` may be an entry of a vector, or a row of a matrix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tensorgen.errors import Span, fail
from tensorgen.frontends.declared import Declared, order_by_letter
from tensorgen.frontends.formula import Entry, Formula, Name
from tensorgen.frontends.latex_tokens import GREEK, GREEK_VECTORS
from tensorgen.ir.dims import Dim

_INDICES = ("i", "j", "k", "l", "t", "s", "p", "q", "r")


@dataclass(frozen=True, slots=True)
class Subscript:
    """What stands below a symbol: places if they can be places, and a text."""

    places: tuple[Dim, ...] | None
    text: str
    span: Span


@dataclass(slots=True)
class Usage:
    """How a symbol is used, as the first reading shows."""

    alone: bool = False
    subscripts: int = 0
    is_bold: bool = False
    is_array: bool = False
    rows_are_vectors: bool = False
    factors: set[str] = field(default_factory=set)
    """What its entries are multiplied with from the left: a matrix takes vectors."""


@dataclass(slots=True)
class Symbols:
    """What is known of the symbols of a text."""

    declared: dict[str, Declared] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    sizes: dict[str, None] = field(default_factory=dict)
    first: int = 1
    """The number of the first entry: 0 where sums begin there."""
    remarks: dict[str, None] = field(default_factory=dict)
    """What is to be told of how symbols were read."""
    ended: set[str] = field(default_factory=set)
    """Indices of sums that were read."""
    is_known: bool = False
    """Whether the text was read once."""

    def used(self, name: str) -> Usage:
        """Return how a symbol is used so far."""
        return self.usage.setdefault(name, Usage())

    def variable(
        self,
        name: str,
        is_bold: bool,
        below: Subscript | None,
        indices: Sequence[str],
        span: Span,
    ) -> Formula:
        """Return what a symbol stands for, with the subscript that it has."""
        usage = self.used(name)
        usage.is_bold |= is_bold
        if below is None:
            usage.alone = True
            return Name(span, name)
        if self._are_places(name, below, indices):
            assert below.places is not None
            count = len(below.places)
            usage.subscripts = max(usage.subscripts, count)
            if is_bold and name[0].islower() and count == 1:
                usage.rows_are_vectors = True
            places = tuple(self.from_zero(x, indices) for x in below.places)
            return Entry(span, Name(span, name), places)
        unbound = [x for x in below.text if x in _INDICES]
        if below.places is not None and unbound and len(below.text) <= 3:
            hint = rf"\sum_{{{unbound[0]}}} binds it; \mathrm makes it part of a name"
            if unbound[0] in self.ended:
                hint = "a sum ends before + and -: put its terms in parentheses"
            fail(f"the index {unbound[0]} is bound by no sum", below.span, hint=hint)
        label = re.sub(r"\W+", "_", below.text).strip("_")
        if not label:
            fail("this cannot be part of a name", below.span)
        whole = f"{name}_{label}"
        used = self.used(whole)
        used.alone = True
        used.is_bold |= is_bold
        return Name(span, whole)

    def from_zero(self, place: Dim, indices: Sequence[str]) -> Dim:
        """Return a place that counts from 0, as its indices do then."""
        own = sum(c for m, c in place.terms if len(m) == 1 and m[0] in indices)
        return place + self.first * (int(own) - 1)

    def _are_places(self, name: str, below: Subscript, indices: Sequence[str]) -> bool:
        if below.places is None:
            return False
        symbols = {x for place in below.places for x in place.symbols}
        if not symbols <= {*indices, *self.sizes}:
            return False
        if symbols & {*indices}:
            return True
        usage, declared = self.used(name), self.declared.get(name)
        if declared is not None:
            return declared.order > 0
        # A number below: an entry of what has entries, the first of several elsewhere.
        if usage.subscripts or (name[0].islower() and usage.alone):
            return True
        return len(name) == 1 and "h" <= name <= "z"

    def settle(self) -> None:
        """Decide what each symbol is, after the first reading."""
        for name, usage in [*self.usage.items()]:
            if name in self.sizes:
                continue
            if any(map(self._is_matrix, usage.factors)) and usage.subscripts == 1:
                usage.rows_are_vectors = True
            own = self.declared.get(name)
            if own is not None:
                self.declared[name] = self._of_rows(own, usage)
            elif usage.alone or usage.subscripts:
                order = _order(name, usage)
                self.declared[name] = Declared(name, order, is_guessed=True)
        self.is_known = True
        self.usage = {}

    def _is_matrix(self, name: str) -> bool:
        own = self.declared.get(name)
        if own is not None and not own.is_guessed:
            return own.order == 2
        return name not in self.sizes and _order(name, self.used(name)) == 2

    def _of_rows(self, own: Declared, usage: Usage) -> Declared:
        r"""Declared with an index, by `x_i \in \mathbb{R}^n`, it has one axis more."""
        if "rows" not in own.properties:
            return own
        others = tuple(x for x in own.properties if x != "rows")
        sizes = own.sizes or (None,) * own.order
        return replace(
            own, order=own.order + 1, properties=others, sizes=(None, *sizes)
        )


def _order(name: str, usage: Usage) -> int:
    """How many axes a symbol has, by how it is used, its font and its letter."""
    if usage.subscripts and not usage.alone:
        return usage.subscripts + usage.rows_are_vectors
    base = name.partition("_")[0]
    if usage.is_bold:
        found = 2 if base[0].isupper() else 1
    elif base in GREEK.values():
        found = 2 if base[0].isupper() else int(base in GREEK_VECTORS)
    else:
        found = order_by_letter(base)
    return max(found, usage.subscripts + usage.rows_are_vectors, int(usage.is_array))
