"""The ways to solve by structure, against dense elimination."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.emit.pieces import load

RNG = np.random.default_rng(0)
PIECES = (
    *("factorization", "refined", "norm_estimate", "diagonal_factorization"),
    *("block_factorization", "kronecker_factorization", "low_rank_factorization"),
    *("sparse_factorization", "band_factorization"),
)
SHIFTS = (0.0, 0.7, -0.3, 50.0)
DTYPES = (np.float64, np.float32)
WAYS = pytest.mark.parametrize(
    ("shift", "dtype"), list(itertools.product(SHIFTS, DTYPES))
)


@pytest.fixture(scope="module")
def ways() -> ModuleType:
    return load(*PIECES)


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
                make()
        return
    factorization = make()
    for b_shape in ((size,), (size, 3), tuple(shape)):
        b = RNG.normal(size=b_shape).astype(dtype)
        s = factorization.solve(b)
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


def shifted(matrix: Any, shift: float, dtype: Any) -> Any:
    return (matrix + shift * np.eye(len(matrix))).astype(dtype)


def refused(make: Callable[[], Any]) -> bool:
    try:
        make()
    except np.linalg.LinAlgError:
        return True
    return False


# Diagonal and dense


@WAYS
@pytest.mark.parametrize("shape", [(5,), (2, 3), (), (1,), (0,), (3, 0)])
def test_a_diagonal_divides(
    ways: ModuleType, shape: Any, shift: float, dtype: Any
) -> None:
    d = RNG.normal(size=shape).astype(dtype)
    matrix = shifted(np.diag(np.ravel(d)), shift, dtype)
    check(lambda: ways._DiagonalFactorization(d, shape, shift), matrix, shape)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "entries",
    [(1, 0), (0,), (0, 0), (1, 1e-17), (1, np.nan), (1, np.inf), (np.inf,)],
)
def test_a_diagonal_that_is_singular_is_refused(
    ways: ModuleType, entries: Any
) -> None:
    d = np.array(entries, dtype=float)
    assert refused(lambda: ways._DiagonalFactorization(d, d.shape, 0.0))


@WAYS
@pytest.mark.parametrize("size", [0, 1, 12])
def test_a_dense_matrix_is_eliminated(
    ways: ModuleType, size: int, shift: float, dtype: Any
) -> None:
    H = symmetric(size, size).astype(dtype)
    matrix = shifted(H, shift, dtype)
    check(lambda: ways._DenseFactorization(H, (size,), shift), matrix, (size,))


@pytest.mark.parametrize("exponent", range(0, 15, 2))
def test_half_of_the_digits_lost_leave_the_residual_small(
    ways: ModuleType, exponent: int
) -> None:
    Q = np.linalg.qr(RNG.normal(size=(20, 20)))[0]
    A = (Q * np.logspace(0, -exponent, 20)) @ Q.T
    A = (A + A.T) / 2
    if np.linalg.cond(A, 1) < 1e13:
        check(lambda: ways._DenseFactorization(A, (20,), 0.0), A, (20,))
        s = ways._DenseFactorization(A, (20,), 0.0).solve(A @ np.ones(20))
        assert abs(A @ s - A @ np.ones(20)).max() <= 1e-14
    else:
        assert exponent > 10


# Blocks


@WAYS
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("shape", "axes", "tied"),
    [
        ((4, 3), (0, 1), 1),
        ((4, 3), (1, 0), 1),
        ((2, 3, 4), (1, 2, 0), 1),
        ((2, 3, 4), (2, 0, 1), 2),
        ((2, 3, 4), (0, 1, 2), 0),
        ((3, 0), (0, 1), 1),
        ((0, 3), (0, 1), 1),
        ((1, 1), (0, 1), 1),
    ],
)
def test_blocks_are_solved_with_side_by_side(
    ways: ModuleType,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    tied: int,
    shared: bool,
    shift: float,
    dtype: Any,
) -> None:
    count = int(np.prod([shape[a] for a in axes[:tied]]))
    side = int(np.prod([shape[a] for a in axes[tied:]]))
    blocks = symmetric(1 if shared else count, side, side).astype(dtype)
    places = np.arange(count * side).reshape(shape).transpose(axes)
    H = np.zeros((count * side, count * side))
    for k, own in enumerate(places.reshape(count, side)):
        H[np.ix_(own, own)] = blocks[0 if shared else k]
    check(
        lambda: ways._BlockFactorization(blocks, axes, tied, shape, shift),
        shifted(H, shift, dtype),
        shape,
    )


def test_one_singular_block_is_refused(ways: ModuleType) -> None:
    blocks = np.stack([np.eye(2), np.ones((2, 2))])
    assert refused(lambda: ways._BlockFactorization(blocks, (0, 1), 1, (2, 2), 0.0))
    assert not refused(lambda: ways._BlockFactorization(blocks, (0, 1), 1, (2, 2), 0.5))


# Kronecker products


@WAYS
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        ((4, 3), ((0,), (1,))),
        ((4, 6), ((1,), (0,))),
        ((2, 3, 4), ((2,), (0,))),
        ((2, 3, 4), ((2, 0), (1,))),
        ((2, 3, 4), ((1, 2),)),
        ((2, 0, 4), ((1, 2), (0,))),
        ((2, 3, 4), ((1,), (2,), (0,))),
    ],
)
def test_kronecker_factors_are_solved_with_one_by_one(
    ways: ModuleType, shape: Any, groups: Any, sign: int, shift: float, dtype: Any
) -> None:
    parts, product = [], np.ones((1, 1))
    for axes in groups:
        a = RNG.normal(size=2 * (int(np.prod([shape[k] for k in axes])),))
        # Two antisymmetric parts have a symmetric product, too.
        part = a + a.T * (sign if len(groups) == 2 else 1)
        parts.append((part.astype(dtype), axes))
        product = np.kron(product, parts[-1][0])
    order = [a for axes in groups for a in axes]
    rest = [a for a in range(len(shape)) if a not in order]
    product = np.kron(product, np.eye(int(np.prod([shape[a] for a in rest]))))
    places = np.arange(len(product)).reshape(shape).transpose(order + rest).ravel()
    H = np.zeros_like(product)
    H[np.ix_(places, places)] = product
    check(
        lambda: ways._KroneckerFactorization(
            tuple(parts),
            shape,
            shift,
            lambda: ways._DenseFactorization(H.astype(dtype), shape, shift),
        ),
        shifted(H, shift, dtype),
        shape,
    )


# Low rank


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
        return ways._LowRankFactorization(
            make_base,
            factor,
            weights,
            shape,
            lambda v: H @ v,
            lambda: ways._DenseFactorization(H, shape, shift),
            shift,
        )

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
    bases = [RNG.normal(size=shape)]
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

    def dense() -> Any:
        raise AssertionError("a dense matrix of this size")

    def make() -> Any:
        return ways._LowRankFactorization(
            lambda: ways._DiagonalFactorization(d, d.shape, 0.0),
            np.ones((3001, 1)),
            np.ones(1),
            d.shape,
            lambda v: (d * v.T).T + v.sum(axis=0),
            dense,
            0.0,
        )

    assert refused(make)


# Bands and sparse matrices


@WAYS
@pytest.mark.parametrize("size", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("offsets", [(0,), (0, 1), (0, 2, 5), (1,)])
def test_bands_are_eliminated_with_pivots(
    ways: ModuleType, size: int, offsets: Any, shift: float, dtype: Any
) -> None:
    bands, H = {}, np.zeros((size, size))
    for s in offsets:
        bands[s] = RNG.normal(size=size).astype(dtype)
        bands[-s] = np.roll(bands[s], s)  # what left on the right enters unused
        own = np.arange(max(size - s, 0))
        H[own, own + s] = H[own + s, own] = bands[s][own]
    bands = {s: bands[s] for s in bands if s not in range(-9, 0) or -s < 9}
    check(
        lambda: ways._BandFactorization(bands, (size,), shift),
        shifted(H, shift, dtype),
        (size,),
    )


def coordinates(size: int, dtype: Any) -> tuple[Any, Any, Any]:
    rows, columns = RNG.integers(0, max(size, 1), (2, 3 * size))
    values = RNG.normal(size=3 * size).astype(dtype)
    own, diagonal = np.arange(size), RNG.normal(size=size).astype(dtype) + 3
    return (
        np.concatenate([rows, columns, own]),
        np.concatenate([columns, rows, own]),
        np.concatenate([values, values, diagonal]),
    )


@WAYS
@pytest.mark.parametrize("shape", [(0,), (1,), (6, 5), (40,)])
def test_sparse_matrices_are_eliminated_with_pivots(
    ways: ModuleType, shape: Any, shift: float, dtype: Any
) -> None:
    size = int(np.prod(shape))
    rows, columns, values = coordinates(size, dtype)
    H = np.zeros((size, size))
    np.add.at(H, (rows, columns), values)
    check(
        lambda: ways._SparseFactorization(rows, columns, values, shape, shift),
        shifted(H, shift, dtype),
        shape,
    )


def test_singular_bands_and_sparse_matrices_are_refused(ways: ModuleType) -> None:
    ones = np.ones(2)
    bands = {0: ones, 1: ones, -1: ones}
    assert refused(lambda: ways._BandFactorization(bands, (2,), 0.0))
    rows, columns = np.indices((2, 2)).reshape(2, -1)
    for values in (np.ones(4), np.array([1, 1, 1, 1 + 1e-16])):
        assert refused(
            lambda v=values: ways._SparseFactorization(rows, columns, v, (2,), 0.0)
        )


def test_a_missing_scipy_is_named(
    ways: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "scipy.linalg", None)
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match="scipy"):
        ways._BandFactorization({0: np.ones(2)}, (2,), 0.0)
    with pytest.raises(ImportError, match="scipy"):
        ways._SparseFactorization(*coordinates(2, float), (2,), 0.0)


# On the device


def test_every_way_works_on_the_device(cupy: ModuleType) -> None:
    theirs = load(*PIECES, backend="cupy")
    d, b = 1 + RNG.random(6), RNG.normal(size=(6, 2))
    A, B = np.eye(2) + np.ones((2, 2)), np.eye(3) + np.ones((3, 3))
    F, w = RNG.normal(size=(6, 2)), np.array([1.0, -0.01])
    rows, columns, values = coordinates(6, float)
    sparse = np.zeros((6, 6))
    np.add.at(sparse, (rows, columns), values)
    device = cupy.asarray

    def diagonal(shift: float) -> Any:
        return theirs._DiagonalFactorization(device(d), (6,), shift)

    def dense(H: Any) -> Callable[[], Any]:
        return lambda: theirs._DenseFactorization(device(H), (2, 3), 0.5)

    H = np.diag(d) + (F * w) @ F.T
    chain = 4 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1)
    bands = {0: device(np.full(6, 4.0)), 1: device(-np.ones(6))}
    bands[-1] = bands[1]
    found = [
        (diagonal(0.5), np.diag(d)),
        (dense(H)(), H),
        (
            theirs._BlockFactorization(device(A[None]), (1, 0), 1, (2, 3), 0.5),
            np.kron(A, np.eye(3)),
        ),
        (
            theirs._KroneckerFactorization(
                ((device(A), (0,)), (device(B), (1,))), (2, 3), 0.5, dense(H)
            ),
            np.kron(A, B),
        ),
        (
            theirs._LowRankFactorization(
                lambda: diagonal(0.5),
                device(F),
                device(w),
                (6,),
                lambda v: device(H) @ v,
                dense(H),
                0.5,
            ),
            H,
        ),
        (theirs._BandFactorization(bands, (6,), 0.5), chain),
        (
            theirs._SparseFactorization(
                *map(device, (rows, columns, values)), (6,), 0.5
            ),
            sparse,
        ),
    ]
    for way, unshifted in found:
        matrix = unshifted + 0.5 * np.eye(6)
        assert np.allclose(matrix @ way.solve(device(b)).get(), b)
        assert np.isclose(way.logdet.get(), np.linalg.slogdet(matrix)[1])
        assert way.is_posdef is bool((np.linalg.eigvalsh(matrix) > 0).all())
