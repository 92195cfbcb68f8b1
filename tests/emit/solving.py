"""What tests of factorizations share: all pieces, and a comparison with NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(0)
PIECES = (
    *("factorization", "refined", "norm_estimate", "diagonal_factorization"),
    *("block_factorization", "kronecker_factorization", "low_rank_factorization"),
    *("pencil_factorization", "band", "sparse_factorization", "band_factorization"),
    "toeplitz_factorization",
)
SHIFTS = (0.0, 0.7, -0.3, 50.0)
DTYPES = (np.float64, np.float32)
WAYS = pytest.mark.parametrize(
    ("shift", "dtype"), list(itertools.product(SHIFTS, DTYPES))
)


def symmetric(*shape: int) -> Any:
    a = RNG.normal(size=shape)
    return a + np.swapaxes(a, -1, -2)


def check(make: Callable[[], Any], matrix: Any, shape: Sequence[int]) -> None:
    """Compare a factorization with its matrix, or require both to be singular."""
    size, dtype = len(matrix), matrix.dtype
    rounding = size * np.finfo(dtype).eps
    condition = np.linalg.cond(matrix.astype(float), 1) if size else 1.0
    if condition * rounding > 1 / 3:
        # Estimates of the condition differ by less than this.
        if condition * rounding > 10:
            with pytest.raises(np.linalg.LinAlgError):
                make()._check()
            with pytest.raises(np.linalg.LinAlgError):
                make()._once(np.ones(size, dtype))
        return
    factorization = make()
    factorization._check()
    solves: list[tuple[Sequence[int], Callable[[Any], Any]]] = [
        ((size,), factorization.solve),
        ((size, 3), factorization.solve),
        (shape, factorization.solve),
        ((size,), lambda b: make()._once(b)),
        ((size, 3), lambda b: make()._once(b)),
    ]
    for b_shape, solve in solves:
        b = RNG.normal(size=tuple(b_shape)).astype(dtype)
        s = solve(b)
        assert (s.shape, s.dtype) == (b.shape, dtype)
        flat = (size, b.size // max(size, 1))
        residual = abs(matrix @ s.reshape(flat) - b.reshape(flat)).max(initial=0)
        norm = abs(matrix).sum(axis=0).max(initial=0)
        assert residual <= 100 * rounding * (norm * abs(s).max(initial=0) + 1)
    expected = np.linalg.slogdet(matrix.astype(float))[1]
    error = 10 * rounding * condition + 1e3 * rounding
    assert abs(factorization.logdet - expected) <= error
    assert factorization.logdet.dtype == dtype
    posdef = bool((np.linalg.eigvalsh(matrix.astype(float)) > 0).all())
    assert factorization.is_posdef is posdef
    inverse = np.linalg.inv(matrix.astype(float))
    diagonal = factorization.inverse_diagonal()
    assert (diagonal.shape, diagonal.dtype) == (tuple(shape), dtype)
    # A shift that cancels an entry has been rounded by itself.
    largest = abs(inverse).max(initial=0)
    condition += abs(inverse).sum(axis=0).max(initial=0)
    error = 10 * rounding * condition * largest
    assert abs(diagonal.ravel() - np.diagonal(inverse)).max(initial=0) <= error


def hessian(matrix: Any, shape: Sequence[int]) -> SimpleNamespace:
    """What factorizations take of the object that they are made by."""
    return SimpleNamespace(
        matrix=matrix,
        columns=tuple(shape),
        dtype=matrix.dtype,
        _times=lambda v: matrix @ v,
    )


def shifted(matrix: Any, shift: float, dtype: Any) -> Any:
    return (matrix + shift * np.eye(len(matrix))).astype(dtype)


def refused(make: Callable[[], Any]) -> bool:
    """Whether LinAlgError comes, before a single solve as before many."""
    uses: list[Callable[[Any], Any]] = [
        lambda way: way._check(),
        lambda way: way._once(np.ones(math.prod(way.columns))),
    ]
    found = []
    for use in uses:
        try:
            use(make())
        except np.linalg.LinAlgError:
            found.append(True)
        else:
            found.append(False)
    assert found[0] == found[1]
    return found[0]
