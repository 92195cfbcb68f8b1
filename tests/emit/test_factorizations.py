"""The ways to solve by structure, against dense elimination."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.emit.pieces import load
from tests.emit.solving import PIECES, WAYS, check, hessian, refused, shifted, symmetric

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def ways() -> ModuleType:
    return load(*PIECES)


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
def test_a_diagonal_that_is_singular_is_refused(ways: ModuleType, entries: Any) -> None:
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
    parts: list[Any] = []
    product: Any = np.ones((1, 1))
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
            hessian(H.astype(dtype), shape), shift, tuple(parts)
        ),
        shifted(H, shift, dtype),
        shape,
    )


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
        own = np.arange(max(size - s, 0))
        H[own, own + s] = H[own + s, own] = bands[s][own]
    check(
        lambda: ways._BandFactorization(bands, (size,), shift),
        shifted(H, shift, dtype),
        (size,),
    )


@WAYS
@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (1, 3), (9, 2), (6, 2, 2)])
def test_bands_of_blocks_are_eliminated(
    ways: ModuleType, shape: Any, shift: float, dtype: Any
) -> None:
    count, side = shape[0], int(np.prod(shape[1:]))
    bands = {0: symmetric(count, side, side).astype(dtype)}
    bands[2] = RNG.normal(size=(count, side, side)).astype(dtype)
    H = np.zeros((count, side, count, side))
    for i in range(count):
        H[i, :, i] = bands[0][i]
        if i + 2 < count:
            H[i, :, i + 2] = bands[2][i]
            H[i + 2, :, i] = bands[2][i].T
    check(
        lambda: ways._BandFactorization(bands, shape, shift),
        shifted(H.reshape(count * side, count * side), shift, dtype),
        shape,
    )


@WAYS
@pytest.mark.parametrize("shuffled", [False, True])
def test_entries_within_a_narrow_band_are_eliminated_as_one(
    ways: ModuleType, shuffled: bool, shift: float, dtype: Any
) -> None:
    size, width = 60, 3
    H = np.tril(np.triu(symmetric(size, size), -width), width)
    if shuffled:
        order = RNG.permutation(size)
        H = H[order][:, order]
    rows, columns = H.nonzero()
    values = H[rows, columns].astype(dtype)

    def make() -> Any:
        return ways._SparseFactorization(rows, columns, values, (size,), shift)

    assert make()._band is not None
    check(make, shifted(H, shift, dtype), (size,))


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
    bands = {0: ones, 1: ones}
    assert refused(lambda: ways._BandFactorization(bands, (2,), 0.0))
    rows, columns = np.indices((2, 2)).reshape(2, -1)
    sparse = ways._SparseFactorization
    assert refused(lambda: sparse(rows, columns, np.ones(4), (2,), 0.0))
    nearly = np.array([1, 1, 1, 1 + 2e-16])
    assert refused(lambda: sparse(rows, columns, nearly, (2,), 0.0))


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

    H = np.diag(d) + (F * w) @ F.T
    chain = 4 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1)
    bands = {0: device(np.full(6, 4.0)), 1: device(-np.ones(6))}
    found = [
        (diagonal(0.5), np.diag(d)),
        (theirs._DenseFactorization(device(H), (2, 3), 0.5), H),
        (
            theirs._BlockFactorization(device(A[None]), (1, 0), 1, (2, 3), 0.5),
            np.kron(A, np.eye(3)),
        ),
        (
            theirs._KroneckerFactorization(
                hessian(device(H), (2, 3)),
                0.5,
                ((device(A), (0,)), (device(B), (1,))),
            ),
            np.kron(A, B),
        ),
        (
            theirs._LowRankFactorization(
                hessian(device(H), (6,)),
                0.5,
                lambda: diagonal(0.5),
                device(F),
                (device(w),),
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
        inverse = np.diagonal(np.linalg.inv(matrix)).reshape(way.columns)
        assert np.allclose(way.inverse_diagonal().get(), inverse)


def test_one_cholesky_factor_gives_determinant_and_signs(
    ways: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    cholesky = np.linalg.cholesky

    def counted(matrices: Any) -> Any:
        made.append(matrices.shape)
        return cholesky(matrices)

    monkeypatch.setattr(np.linalg, "cholesky", counted)
    monkeypatch.delattr(np.linalg, "slogdet")
    blocks = symmetric(3, 2, 2) + 9 * np.eye(2)
    way = ways._BlockFactorization(blocks, (0, 1), 1, (3, 2), 0.0)
    expected = np.log([a[0, 0] * a[1, 1] - a[0, 1] ** 2 for a in blocks]).sum()
    assert np.isclose(way.logdet, expected)
    assert way.is_posdef
    assert made == [(3, 2, 2)]


# Toeplitz matrices


def toeplitz(column: Any) -> Any:
    places = np.arange(len(column))
    return column[abs(places[:, None] - places)]


@WAYS
@pytest.mark.parametrize("size", [0, 1, 2, 12, 150])
def test_equal_diagonals_are_solved_by_recursion(
    ways: ModuleType, size: int, shift: float, dtype: Any
) -> None:
    column = (RNG.normal(size=size) * 0.8 ** np.arange(size)).astype(dtype)
    whole = hessian(toeplitz(column), (size,))
    matrix = shifted(toeplitz(column), shift, dtype)
    check(lambda: ways._ToeplitzFactorization(whole, column, shift), matrix, (size,))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "column", [[0.0, 1.0, 0.0], [1.0, 1.0, 0.5], [1e-9, 1.0, 0.3, 0.1]]
)
def test_a_singular_leading_part_is_no_fault_of_the_whole(
    ways: ModuleType, column: Any
) -> None:
    c = np.array(column)
    whole = hessian(toeplitz(c), (len(c),))
    check(lambda: ways._ToeplitzFactorization(whole, c, 0.0), toeplitz(c), (len(c),))


@pytest.mark.parametrize(
    "column", [[0.0], [1.0, 1.0], [0.0, 0.0], [2.0, np.nan], [np.inf, 1.0]]
)
def test_a_singular_toeplitz_matrix_is_refused(ways: ModuleType, column: Any) -> None:
    c = np.array(column)
    whole = hessian(toeplitz(c), (len(c),))
    assert refused(lambda: ways._ToeplitzFactorization(whole, c, 0.0))
