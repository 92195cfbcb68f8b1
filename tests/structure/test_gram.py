"""Sparse matrices times their transposes: what is held, and what all methods give."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tensorgen
from tests.device.library import execute, stand_in

INPUTS = """
tensorgen: 1
inputs:
  w: [n]
  z: [m]
  A: {shape: [m, n], sparse: true}
  B: {shape: [k, n], sparse: true}
  s: [m]
  c: [n]
  lam: []
functions:
"""
FUNCTIONS = """
  logistic: {expr: "sum(log(1 + exp(-s * (A @ w)))) + lam * norm(w)**2", wrt: w}
  squares: {expr: "norm(A @ w - s)**2", wrt: w}
  columns: {expr: "sum(exp(A.T @ z)) + norm(z * s)**2", wrt: z}
  several: {expr: "sum(exp(A @ w)) + sum(s * (A @ w)**2) + norm(B @ w)**4", wrt: w}
  beside: {expr: "sum(exp(A @ w)) + sum(c * w**2) + (c @ w)**4", wrt: w}
  halved: {expr: "0.5 * (sum(s * (A @ w)**2) + lam * sum(w**4))", wrt: w}
"""
NAMES = [row.split(":")[0].strip() for row in FUNCTIONS.strip().split("\n")]
ROW = ", emit: [hessian, hvp]}"
SPEC = (
    INPUTS
    + FUNCTIONS.replace("}", ROW)
    + (
        "  inner: {expr: A.T @ tanh(A @ w), wrt: w, emit: [jacobian]}\n"
        "  scaled: {expr: sum(exp(A @ (w * w))), wrt: w, emit: [hessian, hvp]}\n"
    )
)
RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return execute(tensorgen.generate(SPEC, backend="numpy"))


def given(m: int = 30, n: int = 12) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    found: dict[str, Any] = {
        name: sp.random_array((rows, n), density=0.2, rng=rng, format="csr")
        for name, rows in (("A", m), ("B", 9))
    }
    shapes = {"w": n, "z": m, "s": m, "c": n}
    found |= {x: rng.uniform(0.2, 0.8, size) for x, size in shapes.items()}
    return found | {"lam": 0.3}


def called(function: Callable[..., Any], **others: Any) -> Any:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    arguments = given() | others
    return function(**{name: arguments[name] for name in names})


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, 1e-10, 1e-10)


@pytest.mark.parametrize("name", [*NAMES, "scaled"])
def test_all_methods_are_those_of_the_matrix(module: ModuleType, name: str) -> None:
    found = called(getattr(module, f"{name}_hess"))
    size = found.shape[0]
    direction = {x: np.zeros(size) for x in ("dw", "dz")}
    columns = []
    for k in range(size):
        unit = {x: np.eye(size)[k] for x in direction}
        columns.append(called(getattr(module, f"{name}_hvp"), **unit))
    H = np.stack(columns, axis=1)
    same(found.dense(), H)
    v, V = RNG.normal(size=size), RNG.normal(size=(size, 3))
    same(found @ v, H @ v)
    same(found.matvec(V), H @ V)
    same(found.rmatvec(v), H.T @ v)
    same(found.diagonal(), np.diag(H))
    same(found.tocsr().toarray(), H)
    same(found.tocsc().toarray(), H)
    rows, places, values = found.coo(lower=True)
    same(sp.coo_array((values, (rows, places)), H.shape).toarray(), np.tril(H))
    shifted = H + np.eye(size)
    same(found.solve(v, shift=1.0), np.linalg.solve(shifted, v))
    same(found.factorize(1.0).logdet, np.linalg.slogdet(shifted)[1])
    assert found.factorize(1.0).is_posdef
    same(pickle.loads(pickle.dumps(found)) @ v, H @ v)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("logistic", "diagonal plus A.T @ diag(d) @ A"),
        ("squares", "A.T @ diag(d) @ A"),
        ("columns", "diagonal plus A @ diag(u) @ A.T"),
        ("halved", "diagonal plus A.T @ diag(s) @ A"),
        ("scaled", "sparse, by index arrays"),
    ],
)
def test_the_structure_says_it_in_words(
    module: ModuleType, name: str, words: str
) -> None:
    function = getattr(module, f"{name}_hess")
    assert called(function).structure.partition(":")[0] == words
    told = (function.__doc__ or "").replace("Structure:\n        ", "Structure: ")
    assert f"Structure: {words}" in told


def test_what_is_held_is_a_number_a_row_and_the_diagonal(module: ModuleType) -> None:
    A = given()["A"]
    found = called(module.logistic_hess, A=A)
    held = {name: array.size for name, array in found.factors.items()}
    parts = {f"A_{part}": A.nnz for part in ("values", "rows", "columns")}
    assert held == {"alpha": 1, "d": A.shape[0], **parts}
    assert np.shares_memory(found.A_values, A.data)
    assert np.shares_memory(found.A_columns, A.indices)


def test_no_pairs_of_entries_are_made(module: ModuleType) -> None:
    m, n, count = 50, 2000, 600
    columns = np.stack([np.sort(RNG.permutation(n)[:count]) for _ in range(m)])
    starts = np.arange(0, m * count + 1, count)
    A = sp.csr_array((RNG.normal(size=m * count), columns.ravel(), starts), (m, n))
    w, s = RNG.normal(size=n) / n, np.ones(m)
    tracemalloc.start()
    try:
        found = module.logistic_hess(w=w, A=A, s=s, lam=1.0)
        product, diagonal = found @ w, found.diagonal()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # There are 600 times as many pairs.
    assert peak < 20 * 8 * A.nnz
    same(product, module.logistic_hvp(w=w, A=A, s=s, lam=1.0, dw=w))
    same(diagonal[:3], [(found @ row)[k] for k, row in enumerate(np.eye(3, n))])


def test_where_entries_are_does_not_depend_on_weights(module: ModuleType) -> None:
    full = called(module.halved_hess).coo()
    none = called(module.halved_hess, s=np.zeros(30)).coo()
    for k in range(2):
        assert np.array_equal(full[k], none[k])
    csr = [called(module.halved_hess, s=s).tocsr() for s in np.eye(2, 30)]
    assert np.array_equal(csr[0].indices, csr[1].indices)


def test_the_dtype_stays(module: ModuleType) -> None:
    single = {
        x: getattr(v, "astype", np.float32)("f")
        for x, v in given().items()
        if x != "lam"
    }
    found = called(module.logistic_hess, **single, lam=np.float32(0.3))
    assert {found.dtype, (found @ single["w"]).dtype, found.dense().dtype} == {
        np.dtype("f")
    }


def test_jacobians_that_are_such_products_multiply_on_both_sides(
    module: ModuleType,
) -> None:
    A, w = (given()[x] for x in "Aw")
    J = A.T @ ((1 - np.tanh(A @ w) ** 2)[:, None] * A.toarray())
    found = called(module.inner_jac)
    assert found.structure.startswith("A.T @ diag(d) @ A:")
    same(found.dense(), J)
    same(found @ w, J @ w)
    same(found.rmatvec(w), J.T @ w)


@pytest.mark.parametrize("shape", [(0, 12), (30, 12)])
def test_a_matrix_may_have_no_entries(
    module: ModuleType, shape: tuple[int, int]
) -> None:
    empty = sp.csr_array(shape)
    found = called(module.logistic_hess, A=empty, s=np.ones(shape[0]))
    same(found.dense(), 0.6 * np.eye(12))
    same(found @ np.ones(12), np.full(12, 0.6))
    same(found.solve(np.ones(12)), np.full(12, 1 / 0.6))


def test_on_the_device_it_is_the_same(module: ModuleType) -> None:
    with stand_in() as cupy:
        import cupyx.scipy.sparse as device

        spec = INPUTS + "".join(
            row.replace("}", ROW) + "\n"
            for row in FUNCTIONS.strip("\n").split("\n")
            if "logistic" in row or "columns" in row
        )
        other = execute(tensorgen.generate(spec, backend="cupy"))
        on = {
            name: device.csr_matrix(x) if sp.issparse(x) else cupy.asarray(x)
            for name, x in given().items()
        }
        for name in ("logistic", "columns"):
            found = called(getattr(other, f"{name}_hess"), **on)
            wanted = called(getattr(module, f"{name}_hess"))
            v = RNG.normal(size=wanted.shape[0])
            same((found @ cupy.asarray(v)).get(), wanted @ v)
            same(found.dense().get(), wanted.dense())
            same(found.diagonal().get(), wanted.diagonal())
