"""What a single solve takes: no more passes over the data than a solution by hand."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.linalg import lapack

from tests.emit.pieces import load
from tests.emit.solving import PIECES, hessian

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def ways() -> ModuleType:
    return load(*PIECES)


def test_what_is_known_to_be_regular_takes_no_estimates(
    ways: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_norm_estimate", "_pseudorandom"):
        monkeypatch.setattr(ways, name, None)
    n = 50
    d, F, core = 1 + RNG.random(n), RNG.normal(size=(n, 3)), np.diag([2.0, -1e-3, 0.0])
    blocks = np.eye(3) + 0.1 * RNG.random((4, 1, 1))
    bands = {0: 3 + RNG.random(n), 1: RNG.uniform(-1, 1, n)}
    matrix = np.diag(d) + F @ core @ F.T
    made: dict[str, Any] = {
        "low rank": ways._LowRankFactorization(
            hessian(matrix, (n,)),
            0.0,
            lambda: ways._DiagonalFactorization(d, (n,), 0.0),
            F,
            (core,),
        ),
        "blocks": ways._BlockFactorization(blocks, (0, 1), 1, (4, 3), 0.0),
        "band": ways._BandFactorization(bands, (n,), 0.0),
    }
    tridiagonal = np.diag(bands[0]) + np.diag(bands[1][:-1], 1)
    tridiagonal += np.diag(bands[1][:-1], -1)
    whole = np.kron(np.eye(4), np.ones((3, 3)))
    whole[whole > 0] = blocks.ravel()
    for name, own in (("low rank", matrix), ("blocks", whole), ("band", tridiagonal)):
        b = RNG.normal(size=len(own))
        np.testing.assert_allclose(made[name]._once(b), np.linalg.solve(own, b))


def test_products_with_the_matrix_are_one_where_nothing_is_lost(
    ways: ModuleType,
) -> None:
    n = 40
    d, F = 1 + RNG.random(n), RNG.normal(size=(n, 2))
    own = hessian(np.diag(d) + F @ F.T, (n,))
    times, calls = own._times, list[tuple[int, ...]]()

    def counted(v: Any) -> Any:
        calls.append(v.shape)
        return times(v)

    own._times = counted

    def base() -> Any:
        return ways._DiagonalFactorization(d, (n,), 0.0)

    made = ways._LowRankFactorization(own, 0.0, base, F, (np.ones(2),))
    made._once(RNG.normal(size=n))
    assert calls == [(n,)]


@pytest.mark.parametrize("side", [1, 2, 3])
def test_inverses_of_small_matrices_are_those_of_elimination(
    ways: ModuleType, side: int
) -> None:
    matrices = RNG.normal(size=(5, side, side))
    found = ways._small_inverses(matrices)
    np.testing.assert_allclose(found, np.linalg.inv(matrices), rtol=1e-9)
    matrices[2] = 0
    assert ways._small_inverses(matrices) is None


def test_blocks_of_rank_one_are_refused(ways: ModuleType) -> None:
    v, d = RNG.normal(size=3), RNG.normal(size=10)
    blocks = d[:, None, None] * np.outer(v, v)
    made = ways._BlockFactorization(blocks, (0, 1), 1, (10, 3), 0.0)
    with pytest.raises(np.linalg.LinAlgError):
        made._once(RNG.normal(size=30))


def test_a_tridiagonal_matrix_is_eliminated_as_such(
    ways: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lapack, "dpbtrf", None)
    lower = np.array([[3.0, 4.0, 5.0, 2.0], [1.0, -1.0, 0.5, 0.0]])
    band = ways._Band(lower)
    matrix = np.diag(lower[0]) + np.diag(lower[1, :-1], 1) + np.diag(lower[1, :-1], -1)
    b = RNG.normal(size=(4, 2))
    assert band.is_posdef
    np.testing.assert_allclose(band.solve(b), np.linalg.solve(matrix, b))
    np.testing.assert_allclose(np.prod(band.pivots), np.linalg.det(matrix))
    indefinite = ways._Band(lower * [[-1], [1]])
    assert not indefinite.is_posdef


def test_a_direction_that_signs_cancel_in_is_not_missed(ways: ModuleType) -> None:
    for n in (600, 1000, 2048, 5000):
        # Second differences: the constant vector is lost, and no diagonal dominates.
        bands = {0: np.full(n, 2.0), 1: np.full(n, -1.0)}
        bands[0][[0, -1]] = 1
        with pytest.raises(np.linalg.LinAlgError):
            ways._BandFactorization(bands, (n,), 0.0)._once(RNG.normal(size=n))
