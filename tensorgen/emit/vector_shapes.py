"""The shapes of the inputs that one flat vector holds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorgen.emit.arguments import Plan
from tensorgen.emit.model import Parameter
from tensorgen.ir.dims import ONE, Dim, tuple_text


def shapes(
    unknowns: Sequence[Parameter], known: Plan, sizes: tuple[str, ...]
) -> list[str]:
    """Return the statements that give the shapes of the inputs in a flat vector."""
    text = ", ".join(tuple_text(p.dims) for p in unknowns)
    lines = [f"{tuple_text(sizes)[1:-1]} = self._sizes"] * bool(sizes)
    found = (s for p in unknowns for d in p.dims for s in d.symbols)
    missing = [s for s in dict.fromkeys(found) if s not in known.sources]
    if missing:
        solution = _solution(unknowns, missing)
        if solution is None:
            message = '"v: the data do not give its shapes; pack one of its size first"'
            return [
                "if size not in self._packed:",
                f"    raise ValueError({message})",
                "return self._packed[size]",
            ]
        lines.append(f"{missing[0]} = {solution}")
    return [*lines, f"return [{text}]"]


def _solution(unknowns: Sequence[Parameter], symbols: list[str]) -> str | None:
    """Return the one unknown symbol as an expression of `size`, if it is linear."""
    total = sum((prod(p.dims, start=ONE) for p in unknowns), start=Dim())
    symbol, *others = symbols
    if others or any(m.count(symbol) > 1 for m, _ in total.terms):
        return None
    factor = Dim(
        (tuple(s for s in m if s != symbol), c) for m, c in total.terms if symbol in m
    )
    rest = Dim.symbol("size") - Dim((m, c) for m, c in total.terms if symbol not in m)
    if factor == 1:
        return str(rest)
    dividend = str(rest) if len(rest.terms) == 1 else f"({rest})"
    return f"{dividend} // max({factor}, 1)"
