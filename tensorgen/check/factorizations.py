"""The matrix that a factorization is of, from what its class is handed.

The classes themselves eliminate, decompose and refine, which is no algebra of fields.
What stands here is what their docstrings say of their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from tensorgen.check.walks import Field
from tensorgen.operators.references import Array

Sides = tuple[int, ...]
Terms = Sequence[tuple[Array, Sequence[int]]]


def solvers(field: Field) -> dict[str, Callable[..., Array]]:
    """The classes by their names: each gives the matrix, the shift included."""
    own = Solvers(field)
    return {
        "_DiagonalFactorization": own.diagonal,
        "_BlockFactorization": own.blocks,
        "_SparseFactorization": own.sparse,
        "_BandFactorization": own.band,
        "_ToeplitzFactorization": own.toeplitz,
        "_LowRankFactorization": own.low_rank,
        "_KroneckerFactorization": own.kronecker,
        "_PencilFactorization": own.pencil,
    }


class Solvers:
    """Matrices over a field."""

    def __init__(self, field: Field) -> None:
        self.field = field

    def diagonal(self, entries: Array, columns: Sides, shift: Array) -> Array:
        """A diagonal."""
        return self._shifted(np.diag(self.field.of(entries).ravel()), shift)

    def blocks(
        self,
        blocks: Array,
        axes: tuple[int, ...],
        tied: int,
        columns: Sides,
        shift: Array,
    ) -> Array:
        """A block for each value of the first `tied` of the axes."""
        count = prod(columns[a] for a in axes[:tied])
        side = blocks.shape[-1]
        blocks = np.broadcast_to(blocks, (count, side, side))
        places = np.arange(prod(columns)).reshape(columns).transpose(axes)
        places = places.reshape(count, side)
        at = places[:, :, None], places[:, None, :]
        return self._shifted(self.placed(prod(columns), at, blocks), shift)

    def sparse(
        self, rows: Array, places: Array, values: Array, columns: Sides, shift: Array
    ) -> Array:
        """Entries in coordinates, which add up."""
        made = self.placed(prod(columns), (rows, places), values)
        return self._shifted(made, shift)

    def band(self, bands: Mapping[int, Array], columns: Sides, shift: Array) -> Array:
        """Symmetric diagonals, of blocks, by offsets; they may be too long."""
        count, side = columns[0], prod(columns[1:])
        made = self.placed(count * side, ([], []), [])
        for offset, band in bands.items():
            blocks = self.field.of(band).reshape(len(band), side, side)
            for i in range(count - offset):
                k = i + offset
                one, other = (slice(p * side, (p + 1) * side) for p in (i, k))
                made[one, other] += blocks[i]
                if offset:
                    made[other, one] += blocks[i].T
        return self._shifted(made, shift)

    def toeplitz(
        self, hessian: Mapping[str, Any], column: Array, shift: Array
    ) -> Array:
        """Equal entries along each diagonal; the first column has them all."""
        i = np.arange(len(column))
        return self._shifted(column[abs(i[:, None] - i)], shift)

    def low_rank(
        self,
        hessian: Mapping[str, Any],
        shift: Array,
        make_base: Callable[[], Array],
        factor: Array,
        cores: Sequence[Array],
    ) -> Array:
        """A base, the shift included, plus factor core factor', a core of blocks."""
        factor, total, first = self.field.of(factor), make_base(), 0
        for core in map(self.field.of, cores):
            part = factor[:, first : first + len(core)]
            first += len(core)
            side = part * core if core.ndim == 1 else part @ core
            total = self.field.reduced(total + self.field.reduced(side) @ part.T)
        return total

    def kronecker(
        self,
        hessian: Mapping[str, Any],
        shift: Array,
        parts: Sequence[tuple[Array, Sequence[int]]],
        terms: Terms = (),
    ) -> Array:
        """A sum of products of parts, which act on axes of their own."""
        terms = terms or ((1, range(len(parts))),)
        acting = [(weight, [parts[k] for k in chosen]) for weight, chosen in terms]
        return self._products(hessian["columns"], acting, shift)

    def pencil(
        self,
        hessian: Mapping[str, Any],
        shift: Array,
        parts: Sequence[tuple[Array, Array | None, Sequence[int]]],
        terms: Terms,
    ) -> Array:
        """A sum of products of one of two matrices for each part."""
        acting = []
        for weight, chosen in terms:
            some = [(part[k], part[-1]) for part, k in zip(parts, chosen, strict=True)]
            acting.append((weight, [one for one in some if one[0] is not None]))
        return self._products(hessian["columns"], acting, shift)

    def placed(self, size: int, at: Any, values: Array) -> Array:
        """A square matrix with values at some places, which add up."""
        made = self.field.of(np.zeros((size, size), dtype=int))
        np.add.at(made, at, self.field.of(values))
        return self.field.reduced(made)

    def _products(
        self,
        columns: Sides,
        terms: Sequence[tuple[Array, Sequence[tuple[Array, Sequence[int]]]]],
        shift: Array,
    ) -> Array:
        """A sum of Kronecker products, with the identity on axes without a matrix."""
        size = prod(columns)
        total = self.placed(size, ([], []), [])
        for weight, factors in terms:
            order = [a for _, axes in factors for a in axes]
            order += [a for a in range(len(columns)) if a not in order]
            matrices = [self.field.of(matrix) for matrix, _ in factors]
            rest = size // max(prod(map(len, matrices)), 1)
            matrices.append(np.eye(rest, dtype=self.field.dtype))
            made = reduce(lambda a, b: self.field.reduced(np.kron(a, b)), matrices)
            places = np.arange(size).reshape(columns).transpose(order).ravel()
            scaled = self.field.reduced(self.field.of(weight) * made)
            total[np.ix_(places, places)] += scaled
        return self._shifted(total, shift)

    def _shifted(self, matrix: Array, shift: Array) -> Array:
        unit = np.eye(len(matrix), dtype=int)
        return self.field.reduced(matrix + self.field.of(shift) * unit)
