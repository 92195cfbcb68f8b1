"""Variables of a formula: what was said of them, or follows from their letters."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tensorgen.errors import Span
from tensorgen.ir.dims import Dim
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.spec.names import RESERVED

ORDERS = ("scalar", "vector", "matrix")
"""What a variable is, by how many axes it has."""

_ONE_LETTER = re.compile(r"([A-Za-z])_?[0-9]*")


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable: its axes, and what is promised of it.

    `sizes` are lengths of axes where they were stated. A column and a row are vectors.
    What `is_guessed` nobody stated: it may still turn out to be another thing.
    """

    name: str
    order: int
    properties: tuple[str, ...] = ()
    sizes: tuple[Dim | None, ...] | None = None
    is_row: bool = False
    is_guessed: bool = False
    span: Span | None = None

    @property
    def kind(self) -> str:
        """What it is, in words."""
        words = [word for word in self.properties if word != "sparse"]
        return " ".join([*words, ORDERS[self.order]])


def order_by_letter(name: str) -> int:
    """Return how many axes a variable of this name has.

    It is MatrixCalculus.org's custom: a to g are scalars, h to z vectors, capitals
    matrices. A number behind a letter changes nothing.
    """
    if name[0].isupper():
        return 2
    found = _ONE_LETTER.fullmatch(name)
    return int(found is not None and found[1] >= "h")


def first_variable(known: Sequence[str], arrays: Sequence[str]) -> tuple[str, ...]:
    """Return what to differentiate by where nobody says: x or w, or the first array."""
    first = [x for x in ("x", "w", "X", "W") if x in known]
    return (*first, *arrays, *known)[:1]


def spelled(name: str) -> str:
    """Return the name under which a spec can have a variable: `lambda_`."""
    taken = keyword.iskeyword(name) or name in RESERVED or name in FUNCTIONS
    return name + "_" if taken else name
