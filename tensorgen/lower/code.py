"""What lowering hands to emission: plain statements and what they rely on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """The body of a function, as text that nobody has laid out yet.

    `lines` are statements, `returns` has one expression a root. The caller binds
    `dims` as Python integers, and `dtype` if `needs_dtype`; it defines `helpers`
    and imports `modules`. Matrices that are what `refusals` say raise LinAlgError.
    """

    lines: tuple[str, ...]
    returns: tuple[str, ...]
    dims: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    needs_dtype: bool = False
    refusals: tuple[str, ...] = ()
