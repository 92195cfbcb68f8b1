"""How inputs lie in one flat vector, as statements of a class that takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from tensorgen.emit.function_preamble import Plan
from tensorgen.emit.interface import Parameter
from tensorgen.emit.text import words
from tensorgen.ir.dims import ONE, Dim, tuple_text


@dataclass(frozen=True, slots=True)
class Layout:
    """How inputs lie in one flat vector, as statements of a class's methods.

    `length` returns how many entries a vector has, of which `size` were given; `split`
    returns the inputs that `array` holds. If shapes follow neither from the data nor
    from the size of a vector, there is neither, and `pack` leaves the shapes: `packs`.
    """

    length: tuple[str, ...]
    split: tuple[str, ...]

    @property
    def packs(self) -> bool:
        """Whether only what was packed tells shapes."""
        return not self.length


def layout(unknowns: Sequence[Parameter], known: Plan, sizes: Sequence[str]) -> Layout:
    """Return how inputs lie in a flat vector, where the data tell `sizes`."""
    found = (s for p in unknowns for d in p.dims for s in d.symbols)
    missing = [s for s in dict.fromkeys(found) if s not in known.sources]
    *starts, total = accumulate(
        (prod(p.dims, start=ONE) for p in unknowns), initial=Dim()
    )
    if missing and _solution(total, missing, "size") is None:
        return Layout((), ())

    def returned(text: str, size: str) -> tuple[str, ...]:
        """Return statements that bind the sizes which a result reads, then that."""
        solution = _solution(total, missing, size) if missing else None
        rows = [f"return {text}"]
        if solution is not None and missing[0] in words(rows):
            rows = [f"{missing[0]} = {solution}", *rows]
        return (*_bound(sizes, words(rows)), *rows)

    ends = [*map(str, starts[1:]), ""]
    parts = []
    for p, start, end in zip(unknowns, starts, ends, strict=True):
        part = f"array[{start if start != 0 else ''}:{end}]"
        shape = "" if len(p.dims) == 1 else f".reshape({tuple_text(p.dims)})"
        parts.append((part if part != "array[:]" else "array") + shape)
    return Layout(
        returned(str(total), "size"), returned(tuple_text(parts), "array.size")
    )


def _bound(sizes: Sequence[str], read: set[str]) -> list[str]:
    names = [size if size in read else "_" for size in sizes]
    if {*names} <= {"_"}:
        return []
    return [f"{tuple_text(names)[1:-1]} = self._sizes"]


def _solution(total: Dim, symbols: Sequence[str], size: str) -> str | None:
    """Return the one unknown symbol as an expression of `size`, if it is linear."""
    symbol, *others = symbols
    if others or any(m.count(symbol) > 1 for m, _ in total.terms):
        return None
    factor = Dim(
        (tuple(s for s in m if s != symbol), c) for m, c in total.terms if symbol in m
    )
    rest = Dim.symbol(size) - Dim((m, c) for m, c in total.terms if symbol not in m)
    left = str(rest) if len(rest.terms) == 1 else f"max({rest}, 0)"
    if factor == 1:
        return left
    return f"{left} // {factor if factor.constant else f'max({factor}, 1)'}"
