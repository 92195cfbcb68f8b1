"""Objects that solve systems, over any numbers: what their classes say they are of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tensorgen.check.reals import Reals
from tensorgen.check.residues import Residues

Array = Any
Functions = Mapping[str, Callable[..., Array]]


class Told(dict[str, Any]):
    """What an object of a matrix tells, found out when it is asked."""

    def __init__(self, functions: Functions, matrix: Array) -> None:
        """Answer by functions of matrices."""
        super().__init__()
        self.functions = functions
        self.matrix = matrix

    def __missing__(self, name: str) -> Any:
        if name in ("solve", "inverse_at"):
            return getattr(self, name)
        if name == "inverse":
            return self.functions["inv"](self.matrix)
        if name == "logdet":
            return self.functions["slogdet"](self.matrix)[1]
        if name == "det":
            return self.functions["det"](self.matrix)
        raise KeyError(name)

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Solve for one or several right-hand sides."""
        return self.functions["solve"](self.matrix.T if transposed else self.matrix, b)

    def inverse_at(self, rows: Array, columns: Array) -> Array:
        """Entries of the inverse."""
        return self.functions["inv"](self.matrix)[rows, columns]


def systems(
    field: Residues | Reals, functions: Functions
) -> dict[str, Callable[..., Told]]:
    """The classes by their names."""

    def sparse(size: int, *entries: tuple[Array, Array, Array]) -> Told:
        matrix = field.of(np.zeros((size, size), dtype=int))
        for one in entries:
            rows, columns, values = np.broadcast_arrays(*map(np.asarray, one))
            kept = (rows >= 0) & (rows < size) & (columns >= 0) & (columns < size)
            at = rows[kept].astype(int), columns[kept].astype(int)
            np.add.at(matrix, at, field.of(values)[kept])
        return Told(functions, field.reduced(matrix))

    def banded(size: int, bands: Mapping[int, Array], dtype: Any = None) -> Told:
        entries = []
        for s, band in bands.items():
            i = np.arange(max(size - abs(s), 0))
            entries.append((i + max(-s, 0), i + max(s, 0), band))
        return sparse(size, *entries)

    def toeplitz(column: Array) -> Told:
        i = np.arange(len(column))
        return Told(functions, field.of(column)[abs(i[:, None] - i)])

    return {"_Toeplitz": toeplitz, "_Sparse": sparse, "_Banded": banded}
