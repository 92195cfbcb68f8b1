"""The body of a function as text that nobody has laid out yet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tensorgen.arrays.code import Code
from tensorgen.arrays.diagonal_views import through_diagonals
from tensorgen.arrays.fuse import fused
from tensorgen.arrays.kernels import Kernel
from tensorgen.arrays.list_entries import listed
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statement_text import statement_texts


@dataclass(frozen=True)
class Written:
    """Statements as text, and what they rely on.

    `lines` are statements, `returns` has one expression a root. The caller binds
    `dims` as Python integers, and `dtype` if `needs_dtype`; it defines `helpers`
    and imports `modules`. Matrices that are what `refusals` say raise LinAlgError.
    It is the text of `code`, and calls `kernels`.
    """

    code: Code
    lines: tuple[str, ...]
    returns: tuple[str, ...]
    dims: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    needs_dtype: bool = False
    refusals: tuple[str, ...] = ()
    kernels: tuple[Kernel, ...] = ()


def written(
    code: Code,
    alias: str,
    fuses: bool = False,
    results: Sequence[str] = (),
    kept: Collection[str] = (),
) -> Written:
    """Write code for the array module called `alias`, with kernels if it `fuses`.

    `results` are what may be called what is returned; names that are `kept` are read by
    who has the text.
    """
    if fuses:
        own = fused(through_diagonals(code, kept), results, kept)
    else:
        own = listed(code, kept)
    printer, needs = Printer(alias), Needs(own.statements, own.returns, alias)
    return Written(
        code,
        tuple(statement_texts(printer, own.statements)),
        tuple(map(printer.text, own.returns)),
        tuple(sorted(needs.symbols)),
        tuple(sorted(needs.helpers)),
        tuple(sorted(needs.modules)),
        needs.dtype,
        tuple(sorted(code.refusals, reverse=True)),
        tuple(needs.kernels),
    )
