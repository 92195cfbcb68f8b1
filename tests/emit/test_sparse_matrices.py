"""Derivatives as SciPy's sparse matrices: places found once, values filled in."""

from __future__ import annotations

import copy
import itertools
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen

SPEC = """
tensorgen: 1
module: sparse_matrices
inputs:
  x: {shape: [n]}
  lam: {shape: [n - 1]}
  A: {shape: [m, n]}
  s: {shape: [e], index: n}
  t: {shape: [e], index: n}
functions:
  saddle:
    expr: sum(cosh(x)) + dot(lam, sin(x[1:]) + x[:-1]/4)
    wrt: [x, lam]
    emit: [hessian]
  springs:
    expr: sum((x[s] - x[t])**4) + sum(x**2)
    wrt: x
    emit: [hessian]
  dense:
    expr: sum(exp(A @ x))
    wrt: x
    emit: [hessian]
  linear:
    expr: A @ sin(x)
    wrt: x
    emit: [jacobian]
  differences:
    expr: (x[1:] - x[:-1])**2 + lam**3
    wrt: [x, lam]
    emit: [jacobian, problem]
"""


@pytest.fixture(scope="module")
def sparse() -> Any:
    return tensorgen.load(SPEC)


def derivatives(module: Any) -> dict[str, Any]:
    random = np.random.default_rng(0)
    x, lam, A = (random.normal(size=k) for k in (7, 6, (4, 7)))
    s, t = random.integers(0, 7, (2, 12))
    saddle = module.saddle_hess(x, lam)
    problem = module.DifferencesProblem()
    return {
        "joint Hessian": saddle,
        "block": saddle.blocks["x", "lam"],
        "transposed block": saddle.blocks["lam", "x"],
        "zero block": saddle.blocks["lam", "lam"],
        "graph": module.springs_hess(x, s, t),
        "dense Hessian": module.dense_hess(x, A),
        "dense Jacobian": module.linear_jac(x, A),
        "bands": module.differences_jac(x, lam).x,
        "joint Jacobian": problem.jacobian(problem.pack(x, lam)),
    }


def test_sparse_matrices_have_the_entries_of_the_matrix(sparse: Any) -> None:
    found = derivatives(sparse).values()
    kinds = (("csr", "tocsr"), ("csc", "tocsc"))
    for derivative, (kind, method) in itertools.product(found, kinds):
        made = getattr(derivative, method)()
        assert (made.format, made.shape) == (kind, derivative.shape)
        assert made.dtype == derivative.dtype
        assert np.allclose(made.toarray(), derivative.matrix)
        # By what SciPy looks at itself: sorted, and each place once.
        assert copy.copy(made).has_canonical_format
        places = {*zip(*(part.tolist() for part in derivative.coo()[:2]), strict=True)}
        assert made.nnz == len(places)


def test_single_precision_and_no_entries_are_kept(sparse: Any) -> None:
    made = sparse.saddle_hess(np.ones(4, np.float32), np.ones(3, np.float32)).tocsr()
    assert made.dtype == np.float32
    assert made.nnz == 4 + 4 * 3
    none = sparse.saddle_hess(np.ones(4), np.ones(3)).blocks["lam", "lam"].tocsc()
    assert (none.nnz, none.shape) == (0, (3, 3))


def test_large_matrices_store_what_does_not_vanish(sparse: Any) -> None:
    n = 4000
    made = sparse.saddle_hess(np.ones(n), np.ones(n - 1)).tocsc()
    assert made.nnz == n + 4 * (n - 1)
    assert made.indices.dtype == np.int32


@pytest.fixture
def sorted_times(sparse: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Has an entry for each time that places were sorted."""
    found: list[Any] = []
    unique = np.unique
    monkeypatch.setattr(sparse._Pattern, "cached", {})

    def noted(*args: Any, **options: Any) -> Any:
        found.append(args)
        return unique(*args, **options)

    monkeypatch.setattr(np, "unique", noted)
    return found


def test_places_are_sorted_once_for_all_points(
    sparse: Any, sorted_times: list[Any]
) -> None:
    random = np.random.default_rng(1)
    s, t = random.integers(0, 9, (2, 30))
    for _ in range(5):
        H = sparse.springs_hess(random.normal(size=9), s, t)
        assert np.allclose(H.tocsr().toarray(), H.matrix)
        assert np.allclose(H.tocsc().toarray(), H.matrix)
    assert len(sorted_times) == 2  # by rows and by columns


def test_other_sizes_and_index_arrays_have_other_places(
    sparse: Any, sorted_times: list[Any]
) -> None:
    random = np.random.default_rng(2)
    s, t = random.integers(0, 9, (2, 30))
    for n in (9, 12):
        H = sparse.springs_hess(random.normal(size=n), s, t)
        assert np.allclose(H.tocsr().toarray(), H.matrix)
    s[3] = (s[3] + 1) % 9  # in place, so that nothing but its entries tells
    H = sparse.springs_hess(random.normal(size=12), s, t)
    assert np.allclose(H.tocsr().toarray(), H.matrix)
    assert len(sorted_times) == 3


def test_places_of_coordinates_are_found_once(
    sparse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(4)
    s, t = random.integers(0, 9, (2, 30))
    first = sparse.springs_hess(random.normal(size=9), s, t)
    wanted = first.coo(), first.coo(lower=True)
    for part in (*wanted[0], *wanted[1]):
        part.flags.writeable = True  # they are the caller's own
    kept = [[part.copy() for part in parts] for parts in wanted]
    for part in (*wanted[0], *wanted[1]):
        part[...] = 7

    def never(*args: Any, **options: Any) -> Any:
        raise AssertionError("places are found again")

    other = sparse.springs_hess(random.normal(size=9), s, t)
    with monkeypatch.context() as patched:
        patched.setattr(np, "indices", never)
        patched.setattr(np, "arange", never)
        found = other.coo(), other.coo(lower=True)
    for (i, j, values), places, lower in zip(found, kept, (False, True), strict=True):
        assert np.array_equal(i, places[0]) and np.array_equal(j, places[1])
        made = np.zeros(other.shape)
        np.add.at(made, (i, j), values)
        assert np.allclose(made, np.tril(other.matrix) if lower else other.matrix)
    t[0] = (t[0] + 1) % 9
    moved = sparse.springs_hess(random.normal(size=9), s, t)
    i, j, values = moved.coo()
    made = np.zeros(moved.shape)
    np.add.at(made, (i, j), values)
    assert np.allclose(made, moved.matrix)


def test_coordinates_of_many_entries_are_not_kept(sparse: Any) -> None:
    sparse._Pattern.cached.clear()
    H = sparse.dense_hess(np.zeros(1100), np.ones((2, 1100)))
    assert len(H.coo()[0]) == 1100**2
    assert not sparse._Pattern.cached


def test_matrices_may_be_written_to(sparse: Any) -> None:
    H = sparse.saddle_hess(np.ones(5), np.zeros(4))
    made = H.tocsr()
    made.data[:] = 0
    made.eliminate_zeros()
    made.indices[:] = 7
    assert np.allclose(H.tocsr().toarray(), H.matrix)


@pytest.mark.parametrize("method", ["tocsr", "tocsc"])
def test_without_scipy_there_is_an_import_error(
    sparse: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    H = sparse.dense_hess(np.ones(3), np.ones((2, 3)))
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match=r"scipy\.sparse"):
        getattr(H, method)()


def test_sparse_matrices_are_made_on_the_device(cupy: ModuleType) -> None:
    theirs: Any = tensorgen.load(SPEC, backend="cupy")
    given = np.random.default_rng(3).normal(size=6), np.ones(5)
    H = theirs.saddle_hess(*map(cupy.asarray, given))
    for made in (H.tocsr(), H.tocsc()):
        assert np.allclose(made.toarray().get(), H.matrix.get())
