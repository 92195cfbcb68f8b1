"""Square matrices: functions by elimination, and objects that solve with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tensorgen.check.reals import Reals
from tensorgen.check.residues import PRIME, Residues, inverse, log, random, sign
from tensorgen.operators.references import Array

Functions = Mapping[str, Callable[..., Array]]


def functions(field: Residues) -> dict[str, Callable[..., Array]]:
    """The functions of `numpy.linalg` and `scipy.linalg`, of stacks of matrices."""

    def inv(a: Array) -> Array:
        side = a.shape[-1]
        return _stacked(
            lambda x: _solved(field, x, _unit(side))[0], field.of(a), a.shape
        )

    def det(a: Array) -> Array:
        side = a.shape[-1]
        shape = a.shape[:-2]
        return _stacked(lambda x: _solved(field, x, _unit(side))[1], field.of(a), shape)

    def slogdet(a: Array) -> tuple[Array, Array]:
        signs = field.each(lambda x: sign(x) % PRIME, det(a))
        sizes = field.each(lambda x: log(x * sign(x) % PRIME), det(a))
        return signs, sizes

    def solve(a: Array, b: Array) -> Array:
        vector = b.ndim == 1
        found = field.reduced(inv(a) @ (b[:, None] if vector else b))
        return found[:, 0] if vector else found

    def cholesky(a: Array) -> Array:
        return _stacked(lambda x: _factored(field, x), field.of(a), a.shape)

    def cholesky_solve(factor: Array, b: Array) -> Array:
        return solve(field.reduced(factor @ np.swapaxes(factor, -1, -2)), b)

    def cholesky_inverse(factor: Array) -> Array:
        return inv(field.reduced(factor @ np.swapaxes(factor, -1, -2)))

    return {
        "inv": inv,
        "_cholesky_inverse": cholesky_inverse,
        "det": det,
        "slogdet": slogdet,
        "solve": solve,
        "cholesky": cholesky,
        "_cholesky_solve": cholesky_solve,
        **{name: partial(_random, name) for name in ("expm", "_sqrtm", "_logm")},
        "eigvalsh": lambda a: _random("eigvalsh", a, a.shape[-1:]),
        "eigh": lambda a: (None, _random("eigh", a)),
        "svd": lambda a, compute_uv: _random("svd", a, (min(a.shape[-2:]),)),
        "pinv": lambda a: _random("pinv", a, (a.shape[-1], a.shape[-2])),
        **{name: partial(_mixed, field, name) for name in ("_lyapunov", "_log_slope")},
    }


def _stacked(
    function: Callable[[Array], Array], a: Array, shape: tuple[int, ...]
) -> Array:
    out = np.zeros(shape, dtype=object)
    for at in np.ndindex(a.shape[:-2]):
        out[at] = function(a[at])
    return out


def _unit(side: int) -> Array:
    return np.eye(side, dtype=object)


def _solved(field: Residues, a: Array, b: Array) -> tuple[Array, int]:
    """Return x with a @ x = b, and the determinant; zeros where that is 0."""
    a, b, det = a.copy(), b.copy(), 1
    side = len(a)
    for k in range(side):
        pivot = next((r for r in range(k, side) if a[r, k]), None)
        if pivot is None:
            field.outside = field.lost = True
            return np.zeros_like(b), 0
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
            det = -det
        det = det * a[k, k] % PRIME
        scale = inverse(a[k, k])
        a[k], b[k] = a[k] * scale % PRIME, b[k] * scale % PRIME
        for r in range(side):
            if r != k and a[r, k]:
                factor = a[r, k]
                a[r] = (a[r] - factor * a[k]) % PRIME
                b[r] = (b[r] - factor * b[k]) % PRIME
    return b, det


def _factored(field: Residues, a: Array) -> Array:
    """Return the lower Cholesky factor."""
    factor = np.zeros_like(a)
    for j in range(len(a)):
        column = (a[j:, j] - factor[j:, :j] @ factor[j, :j]) % PRIME
        root = field.root(column[0], 2)
        factor[j:, j] = column * inverse(root) % PRIME
        factor[j, j] = root
    return factor


def _random(name: str, a: Array, shape: tuple[int, ...] = ()) -> Array:
    """A random map of all entries of each matrix, of the same shape or another."""
    own = shape or a.shape[-2:]

    def opaque(matrix: Array) -> Array:
        entries = matrix.ravel().tolist()
        found = [random(name, k, *entries) for k in range(math.prod(own))]
        return np.array(found, dtype=object).reshape(own)

    return _stacked(opaque, a, (*a.shape[:-2], *own))


def _mixed(field: Residues, name: str, a: Array, x: Array) -> Array:
    """A linear map of x, its own transpose: by a random symmetric matrix."""
    sides = _random(name, a)
    weights = field.reduced(sides * np.swapaxes(sides, -1, -2))
    return field.reduced(weights * x)


class Told(dict[str, Any]):
    """What an object of a matrix tells, found out when it is asked."""

    def __init__(self, functions: Functions, matrix: Array) -> None:
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
