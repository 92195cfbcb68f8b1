"""Joint Hessians as optimisers need them: KKT matrices, and arrows."""

from __future__ import annotations

import pickle
import re
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

import tensorgen
from tests.counting import calls
from tests.device.library import execute
from tests.made import generate

SPEC = Path("benchmarks/joint_systems.yaml")

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def systems() -> Any:
    return execute(generate(SPEC))


def numbers(seed: int, *shapes: Any) -> list[Any]:
    random = np.random.default_rng(seed)
    return [random.normal(size=shape) for shape in shapes]


def chain(systems: Any, n: int, kind: str = "hess") -> Any:
    return getattr(systems, f"chain_{kind}")(*numbers(1, n, n - 1))


def van_der_pol(systems: Any, N: int, kind: str = "hess") -> Any:
    given = numbers(2, *[N + 1] * 3, *[N] * 2, 1, 1)
    return getattr(systems, f"van_der_pol_{kind}")(*given, h=0.01)


def elliptic(systems: Any, m: int, kind: str = "hess") -> Any:
    given = numbers(3, (m + 2, m + 2), (m, m), (m, m))
    return getattr(systems, f"elliptic_{kind}")(*given, alpha=1e-3)


def fit(systems: Any, N: int, kind: str = "hess") -> Any:
    names = ("a", "b", "rates", "data")
    given = zip(names, numbers(4, N + 1, N + 1, 2, N + 1), strict=True)
    return getattr(systems, f"fit_{kind}")(**dict(given), h=0.01)


SYSTEMS = [chain, van_der_pol, elliptic, fit]


@pytest.mark.parametrize("make", SYSTEMS)
def test_entries_products_and_solutions_are_those_of_the_arrays(
    systems: Any, make: Make
) -> None:
    H, blocks = make(systems, 7), make(systems, 7, "hess_dense")
    names = list(H.slices)
    sizes = [part.stop - part.start for part in H.slices.values()]
    rows = [
        [blocks[a, b].reshape(k, m) for b, m in zip(names, sizes, strict=True)]
        for a, k in zip(names, sizes, strict=True)
    ]
    matrix = np.block(rows)
    for lower in (False, True):
        i, j, values = H.coo(lower=lower)
        found = np.zeros(H.shape)
        np.add.at(found, (i, j), values)
        assert np.allclose(found, np.tril(matrix) if lower else matrix)
    v = np.random.default_rng(0).normal(size=len(matrix))
    assert np.allclose(H @ v, matrix @ v)
    assert np.allclose(H.solve(v), np.linalg.solve(matrix, v))


@pytest.mark.parametrize(
    ("make", "size", "lower", "whole"),
    [
        # The diagonal, and two bands of n - 1, one of them by one number.
        (chain, 4000, 4000 + 2 * 3999, 4000 + 4 * 3999),
        # Of N + 1 times four entries, of N intervals ten, and two of the beginning.
        (van_der_pol, 1000, 14_006, 25_009),
        # Five of each equation of the states, one of the control; each twice.
        (elliptic, 40, 12_964, 22_564),
    ],
)
def test_blocks_that_vanish_have_no_entries(
    systems: Any, make: Make, size: int, lower: int, whole: int
) -> None:
    H = make(systems, size)
    assert len(H.coo()[0]) == whole
    assert len(H.coo(lower=True)[0]) == lower
    i, j, values = H.coo()
    assert len({*zip(i.tolist(), j.tolist(), strict=True)}) == whole
    assert values.all()
    assert H.nbytes <= 8 * whole


def test_saddle_points_are_eliminated_in_a_sparse_order(systems: Any) -> None:
    H = elliptic(systems, 40)
    factorization = H.factorize()
    assert type(factorization).__name__ == "_SparseFactorization"
    # As few entries as SciPy's own choice of an order leaves, or nearly.
    i, j, values = H.coo()
    own = splu(csc_matrix((values, (i, j)), shape=H.shape))
    assert factorization._factors.nnz <= 1.2 * own.nnz
    assert_solves(H, factorization)


@pytest.mark.parametrize(("make", "size"), [(chain, 4000), (van_der_pol, 1000)])
def test_saddle_points_of_neighbours_are_a_band(
    systems: Any, make: Make, size: int
) -> None:
    H = make(systems, size)
    factorization = H.factorize()
    assert factorization._band._factors.size <= 4 * len(H.coo()[0])
    assert_solves(H, factorization)


def assert_solves(H: Any, factorization: Any) -> None:
    """Require that the Hessian, of no definite sign, is solved with."""
    b = np.random.default_rng(5).normal(size=H.rows)
    assert abs(H @ factorization.solve(b) - b).max() < 1e-8
    assert not factorization.is_posdef


def test_few_dense_parameters_come_last(systems: Any) -> None:
    H = fit(systems, 4000)
    assert H.shape == (8004, 8004)
    factorization = H.factorize()
    assert [len(factorization._rest), len(factorization._own)] == [2, 1]
    ((_, joined),) = factorization._own
    assert type(joined).__name__ == "_SparseFactorization"
    b = np.random.default_rng(6).normal(size=H.rows)
    assert abs(H @ factorization.solve(b) - b).max() < 1e-8
    i, j, values = H.coo()
    own = splu(csc_matrix((values, (i, j)), shape=H.shape))
    assert np.isclose(factorization.logdet, np.log(abs(own.U.diagonal())).sum())


def test_where_nothing_but_the_parameters_pivots_the_whole_is_sparse() -> None:
    text = """
tensorgen: 1
module: singular_inside
inputs: {x: {shape: [n]}, lam: {shape: [n]}, q: {shape: [1]}, c: {shape: [n]}}
functions:
  f:
    where: inner = sum((x[1:] - x[:-1])**2) + dot(lam[1:], x[1:]**2)
    expr: inner + q[0]*(dot(c, x) + lam[0] - q[0])
    wrt: [x, lam, q]
    emit: hessian
"""
    n = 3000
    module: Any = tensorgen.load(text)
    x, lam, c = numbers(7, n, n, n)
    H = module.f_hess(x, lam, np.ones(1), c=c)
    factorization = H.factorize()
    assert type(factorization._whole).__name__ == "_SparseFactorization"
    b = np.random.default_rng(8).normal(size=H.rows)
    s = factorization.solve(b)
    assert abs(H @ s - b).max() < 1e-9 * abs(s).max()


def test_what_stands_around_an_elimination_is_few_calls_at_any_size(
    systems: Any,
) -> None:
    found = []
    for n in (400, 4000):
        H = chain(systems, n)
        b = np.ones(H.rows)
        tracemalloc.start()
        H.solve(b)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # A few copies of the entries, by place and as a band.
        assert peak < 40 * 8 * len(H.coo()[0])
        found.append(calls(partial(H.solve, b)))
    assert found[0] == found[1] < 600


@pytest.mark.parametrize("make", [chain, van_der_pol, elliptic])
@pytest.mark.parametrize("size", [2, 7])
def test_blocks_offer_what_follows_from_their_entries(
    systems: Any, make: Make, size: int
) -> None:
    H, blocks = make(systems, size), make(systems, size, "hess_dense")
    random = np.random.default_rng(0)
    for (a, b), block in H.blocks.items():
        m, n = block.shape
        matrix = blocks[a, b].reshape(m, n)
        assert np.allclose(block.dense(), blocks[a, b])
        assert np.allclose(block.tocsr().toarray(), matrix)
        assert np.allclose(block.tocsc().toarray(), matrix)
        v, u = random.normal(size=(n, 3)), random.normal(size=(m, 3))
        assert np.allclose(block @ v, matrix @ v)
        assert np.allclose(block @ v[:, 0], matrix @ v[:, 0])
        assert np.allclose(block.rmatvec(u), matrix.T @ u)
        assert (block @ v[:, :0]).shape == (m, 0)
        i, j, values = block.coo(lower=True)
        found = np.zeros((m, n))
        np.add.at(found, (i, j), values)
        assert np.allclose(found, np.tril(matrix))
        values[:] = np.nan  # what others write to is theirs
        assert np.allclose(block.dense(), blocks[a, b])
        if a == b:
            assert np.allclose(block.diagonal().ravel(), np.diagonal(matrix))
            s = block.solve(u, shift=100.0)
            assert np.allclose(matrix @ s + 100 * s, u)
    kept = pickle.loads(pickle.dumps(H))
    assert np.array_equal(kept.dense(), H.dense())


def test_entries_keep_the_precision_of_the_arguments(systems: Any) -> None:
    x, lam = (np.asarray(part, np.float32) for part in numbers(1, 400, 399))
    H = systems.chain_hess(x, lam)
    v = np.ones(H.rows, np.float32)
    found = H @ v, H.coo()[2], H.diagonal(), H.dense(), H.solve(v, shift=10.0)
    assert {part.dtype for part in found} == {np.dtype(np.float32)}


def test_what_vanishes_is_one_class(systems: Any) -> None:
    H = van_der_pol(systems, 3)
    zeros = [block for block in H.pairs.values() if "zero" in block.structure]
    assert len(zeros) > 10
    # One of those that are symmetric, one of those that are not, and of two axes.
    assert len({type(block) for block in zeros}) == 2


def test_inputs_that_nothing_couples_need_no_sparse_elimination() -> None:
    text = """
tensorgen: 1
inputs: {x: [n], y: [n]}
functions: {f: {expr: sum(x**4) + sum(exp(y)), wrt: [x, y], emit: hessian}}
"""
    module: Any = tensorgen.load(text)
    H = module.f_hess(*numbers(1, 4000, 4000))
    parts = [part for _, part in H.factorize()._own]
    assert {type(part).__name__ for part in parts} == {"_DiagonalFactorization"}


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        # A block takes twenty lines, whatever it is.
        ("shooting", 1360),
        ("joint_systems", 2800),
    ],
)
def test_modules_of_joint_hessians_are_short(spec: str, most: int) -> None:
    text = generate(Path(f"benchmarks/{spec}.yaml"))
    text = re.sub(r'"""[\s\S]*?"""', "", text)  # what is told is as long as it must be
    assert len(text.splitlines()) <= most
