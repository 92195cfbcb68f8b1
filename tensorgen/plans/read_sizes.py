"""What a private function reads off the arrays that it is given: sizes, and their type.

So it is called with arrays alone, `_loss_grad(w, X, parts)`, where these have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.arrays.arrays import Array
from tensorgen.emit.function_preamble import bindings, plain_symbol, plan
from tensorgen.emit.interface import Parameter


def read_sizes(arrays: Mapping[str, Array], sizes: Sequence[str]) -> list[str]:
    """Return the statements that bind those of some sizes which arrays have as axes."""
    given = [Parameter(name, one.dims) for name, one in arrays.items()]
    axes = {plain_symbol(dim) for one in given for dim in one.dims}
    return bindings(given, plan(given), [size for size in sizes if size in axes])


def bound_by(lines: Sequence[str]) -> set[str]:
    """Return the names that such statements bind."""
    return {x for line in lines for x in line.partition(" = ")[0].split(", ")}
