"""A sparse matrix, as far as generated code knows it, over the numbers of a field."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorgen.check.sample_points import Point
from tensorgen.operators.references import Array


def by_rows(
    point: Point, values: Array, rows: Array, columns: Array, m: int, n: int
) -> dict[str, Any]:
    """The matrix of some entries: what it multiplies, and its products with itself."""
    field, matmul = point.field, point.program.known["matmul"]
    whole = field.of(np.zeros((m, n), dtype=int))
    np.add.at(whole, (rows, columns), field.of(values))

    def times(x: Array, transposed: bool = False) -> Array:
        return matmul(whole.T if transposed else whole, x)

    def gram(weights: Array, transposed: bool = False) -> Array:
        side = whole.T if transposed else whole
        return matmul(side.T, field.reduced(field.of(weights)[:, None] * side))

    def gram_places(transposed: bool = False) -> tuple[Array, ...]:
        size = whole.shape[0 if transposed else 1]
        return tuple(np.indices((size, size)).reshape(2, -1))

    return {"times": times, "gram": gram, "gram_places": gram_places}
