"""Solving with a simple matrix plus one of low rank, by Woodbury's formula."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.emit.pieces import load
from tests.emit.solving import PIECES, WAYS, check, hessian, refused, shifted, symmetric

RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def ways() -> ModuleType:
    return load(*PIECES)


def low_rank(
    ways: ModuleType, base: Any, factor: Any, weights: Any, shift: float, shape: Any
) -> Callable[[], Any]:
    """The factorization of diag(base), or of blocks, plus a product."""
    if base.ndim == 3:
        side = base.shape[1]
        H = np.zeros((len(factor), len(factor)), factor.dtype)
        for k, block in enumerate(base):
            own = slice(k * side, (k + 1) * side)
            H[own, own] = block
    else:
        H = np.diag(base.ravel())
    H = H + (factor * weights) @ factor.T

    def make_base() -> Any:
        if base.ndim == 3:
            return ways._BlockFactorization(base, (0, 1), 1, shape, shift)
        return ways._DiagonalFactorization(base, shape, shift)

    def make() -> Any:
        own = hessian(H, shape)
        return ways._LowRankFactorization(own, shift, make_base, factor, (weights,))

    make.matrix = shifted(H, shift, factor.dtype)  # type: ignore[attr-defined]
    return make


@WAYS
@pytest.mark.parametrize(
    ("shape", "rank"),
    [((30,), 3), ((5, 6), 2), ((40,), 0), ((3,), 2), ((0,), 0), ((0,), 1), ((1,), 1)],
)
def test_low_rank_is_solved_with_by_woodbury(
    ways: ModuleType, shape: Any, rank: int, shift: float, dtype: Any
) -> None:
    size = int(np.prod(shape))
    factor = RNG.normal(size=(size, rank)).astype(dtype)
    weights = (10 * RNG.normal(size=rank)).astype(dtype)
    bases: list[Any] = [RNG.normal(size=shape)]
    if len(shape) == 2:
        bases.append(symmetric(shape[0], shape[1], shape[1]))
    for base in bases:
        make = low_rank(ways, base.astype(dtype), factor, weights, shift, shape)
        check(make, make.matrix, shape)  # type: ignore[attr-defined]


def test_weights_may_be_zero_and_differ_by_orders_of_magnitude(
    ways: ModuleType,
) -> None:
    d, F = 1 + RNG.random(50), RNG.normal(size=(50, 4))
    for w in ([0, 1, -2, 0], [1e9, 1e-9, 1, -1e-3], [1e-300, 1, 1, 1]):
        make: Any = low_rank(ways, d, F, np.array(w, dtype=float), 0.0, (50,))
        assert make()._whole is None
        check(make, make.matrix, (50,))


def softmax_curvature(n: int) -> Any:
    p = np.exp(3 * RNG.normal(size=n))
    return p / p.sum()


@pytest.mark.parametrize("n", [2, 50, 4000])
def test_the_curvature_of_logsumexp_is_singular_without_a_shift(
    ways: ModuleType, n: int
) -> None:
    p = softmax_curvature(n)
    assert refused(low_rank(ways, p, p[:, None], np.array([-1.0]), 0.0, (n,)))


@pytest.mark.parametrize("shift", [1e-9, 1e-6, 1e-3, 1.0, 1e3])
def test_the_curvature_of_logsumexp_plus_a_shift_is_solved_with_exactly(
    ways: ModuleType, shift: float
) -> None:
    p, b = softmax_curvature(60), RNG.normal(size=60)
    make: Any = low_rank(ways, p, p[:, None], np.array([-1.0]), shift, (60,))
    factorization = make()
    s = factorization.solve(b)
    product = p * s - p * (p @ s) + shift * s
    assert abs(product - b).max() <= 1e-12 * max(1, abs(s).max())
    assert factorization.is_posdef


def test_a_singular_base_falls_back_to_the_whole_matrix(ways: ModuleType) -> None:
    d, F = np.ones(20), RNG.normal(size=(20, 3))
    d[4] = 0
    make: Any = low_rank(ways, d, F, np.array([1.0, 2.0, -3.0]), 0.0, (20,))
    assert make()._whole is not None
    check(make, make.matrix, (20,))


def test_a_small_pivot_of_the_base_costs_no_digits(ways: ModuleType) -> None:
    F, w = RNG.normal(size=(20, 3)), np.array([1.0, 2.0, -3.0])
    for small in (1e-6, 1e-9, 1e-12):
        d = np.ones(20)
        d[4] = small
        make: Any = low_rank(ways, d, F, w, 0.0, (20,))
        check(make, make.matrix, (20,))


def test_a_large_matrix_is_refused_where_no_fallback_fits(ways: ModuleType) -> None:
    d = np.ones(3001)
    d[0] = 0

    # It has no matrix: a dense one of this size would be asked for in vain.
    own = SimpleNamespace(
        columns=d.shape, dtype=d.dtype, _times=lambda v: (d * v.T).T + v.sum(axis=0)
    )

    def make() -> Any:
        return ways._LowRankFactorization(
            own,
            0.0,
            lambda: ways._DiagonalFactorization(d, d.shape, 0.0),
            np.ones((3001, 1)),
            (np.ones(1),),
        )

    assert refused(make)
