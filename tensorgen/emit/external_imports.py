"""What generated modules call in place of functions from outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorgen.arrays.number_text import size
from tensorgen.emit.backends import Backend
from tensorgen.emit.interface import Helper
from tensorgen.ir.dims import Dim
from tensorgen.spec.model import ExternalSpec

CHECK = "_outcome"


def external_helpers(
    externals: Sequence[ExternalSpec], backend: Backend
) -> Iterator[Helper]:
    """Yield a function for each, which imports what it calls where it is called."""
    for own in externals:
        path = dict(own.calls).get(backend.name)
        if path is None:
            continue
        package, _, name = path.rpartition(".")
        names = [x.name for x in own.arguments]
        given = ", ".join(f"{x}_" for x in names)
        typed = ", ".join(f"{x}_: Array | Scalar" for x in names)
        lines = [
            f"def _external_{own.name}({typed}) -> Array:",
            f'    """Return {path}({", ".join(names)}), if it is what is declared."""',
            f"    from {package} import {name} as _function",
            "",
            *_expected(own, backend.alias),
            f'    return {CHECK}("{path}", _function({given}), shape, {given})',
        ]
        yield Helper(f"_external_{own.name}", "\n".join(lines), (path,), (CHECK,))


def _expected(own: ExternalSpec, alias: str) -> Iterator[str]:
    """Yield the lines that say of which shape a result is."""
    if own.shape is None:
        shapes = [f"{alias}.asarray({x.name}_).shape" for x in own.arguments]
        several = f"max({', '.join(shapes)}, key=len)"
        yield f"    shape = {shapes[0] if len(shapes) == 1 else several}"
        return
    known: dict[str, str] = {}
    for x in own.arguments:
        for axis, dim in enumerate(x.shape):
            for symbol in dim.symbols:
                if dim == Dim.symbol(symbol):
                    known.setdefault(symbol, f"{x.name}_.shape[{axis}]")
    for symbol in dict.fromkeys(s for dim in own.shape for s in dim.symbols):
        yield f"    {symbol} = {known[symbol]}"
    texts = [size(dim).text for dim in own.shape]
    yield f"    shape = ({', '.join(texts)}{',' if len(texts) == 1 else ''})"
