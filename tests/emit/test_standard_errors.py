"""Diagonals of inverses by structure, and standard errors from them."""

from __future__ import annotations

import inspect
import tracemalloc
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError
from tests.device.library import execute
from tests.made import both, load

Array = Any
SPEC = """
tensorgen: 1
module: structures
dims: {n: 60, m: 30, p: 7, q: 5, k: 3}
inputs:
  x: [n]
  w: [p]
  X: [m, p]
  W: [p, q]
  A: [p, p]
  B: [q, q]
  C: [p, p]
  D: [q, q]
  V: [n, k]
  d: [n]
  s: {shape: [m], index: n}
  t: {shape: [m], index: n}
functions:
  diagonal: {expr: sum(exp(x)), wrt: x, emit: [hessian, standard_errors]}
  blocks: {expr: "sum(sqrt(1 + sum(W[i, a]**2, a)), i)", wrt: W, emit: hessian}
  equal: {expr: norm(W @ B)**2, wrt: W, emit: hessian}
  product: {expr: norm(A @ W @ B)**2, wrt: W, emit: hessian}
  one_sum: {expr: norm(A @ W)**2 + norm(W @ B)**2, wrt: W, emit: hessian}
  pencil: {expr: norm(A @ W @ B)**2 + norm(C @ W @ D)**2, wrt: W, emit: hessian}
  chain: {expr: "sum((x[1:] - x[:-1])**2) + sum(x**4)", wrt: x, emit: hessian}
  wide: {expr: "sum((x[5:]*x[:-5] - x[3:-2])**2) + 9*sum(x**2)", wrt: x, emit: hessian}
  added: {expr: sum(exp(d) * x**2) + norm(V.T @ x)**2, wrt: x, emit: hessian}
  kernel: {expr: "sum(exp(-(i - j)**2) * x[i] * x[j], i, j)", wrt: x, emit: hessian}
  springs: {expr: "sum((x[s[e]] - x[t[e]])**2, e) + sum(x**4)", wrt: x, emit: hessian}
  dense: {expr: sum(log(1 + exp(-(X @ w)))) + sum(w**2), wrt: w, emit: hessian}
  arrow:
    expr: sum((x[1:] * w[0] - x[:-1])**2) + 9*sum(x**2) + 30*sum(w**2) + sum(x) * w[1]
    wrt: [x, w]
    emit: hessian
  table:
    expr: norm(W)**2 + sum((W @ ones(q) - w)**2) + sum(w**4)
    wrt: [W, w]
    emit: hessian
  pairs:
    expr: sum((x[1:] - d[:-1])**2) + sum(x**4 + d**4)
    wrt: [x, d]
    emit: hessian
"""
STRUCTURES = {
    "diagonal": "Diagonal",
    "blocks": "Block",
    "equal": "Block",
    "product": "Kronecker",
    "one_sum": "Kronecker",
    "pencil": "Pencil",
    "chain": "Band",
    "wide": "Band",
    "added": "LowRank",
    "kernel": "Toeplitz",
    "springs": "Sparse",
    "dense": "Dense",
    "arrow": "Schur",
    "table": "Schur",
    "pairs": "Sparse",
}
EVERY = pytest.mark.parametrize(("name", "way"), STRUCTURES.items())


def values(dtype: Any = float) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    n, m, p, q, k = 60, 30, 7, 5, 3
    shapes: dict[str, Any] = {
        "x": n,
        "w": p,
        "X": (m, p),
        "W": (p, q),
        "V": (n, k),
        "d": n,
    }
    found = {a: (1 + rng.random(s)).astype(dtype) for a, s in shapes.items()}
    for a, s in {"A": p, "B": q, "C": p, "D": q}.items():
        found[a] = (np.eye(s) + 0.1 * rng.normal(size=(s, s))).astype(dtype)
    found["s"] = rng.integers(0, n, m)
    found["t"] = (found["s"] + 1 + rng.integers(0, n - 1, m)) % n
    return found


def hessian(module: Any, name: str, given: dict[str, Array]) -> Any:
    call = getattr(module, f"{name}_hess")
    return call(
        **{a: given[a] for a in inspect.signature(call).parameters if a in given}
    )


@pytest.mark.parametrize("shift", [0.0, 0.7, 40.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@EVERY
def test_each_structure_has_the_diagonal_of_the_dense_inverse(
    name: str, way: str, dtype: Any, shift: float
) -> None:
    H = hessian(load(SPEC), name, values(dtype))
    matrix = np.asarray(H).astype(float) + shift * np.eye(H.shape[0])
    if not (shift and way in ("Kronecker", "Pencil")):
        assert type(H.factorize(shift)).__name__ == f"_{way}Factorization"
    found = H.inverse_diagonal(shift)
    assert (found.shape, found.dtype) == (H.columns, dtype)
    inverse = np.diagonal(np.linalg.inv(matrix))
    close = np.linalg.cond(matrix) * 100 * np.finfo(dtype).eps
    assert np.allclose(found.ravel(), inverse, rtol=close, atol=0)


@EVERY
def test_devices_have_the_same(name: str, way: str, cupy: ModuleType) -> None:
    given = {a: cupy.asarray(value) for a, value in values().items()}
    H = hessian(execute(both(SPEC)[1]), name, given)
    inverse = np.diagonal(np.linalg.inv(H.matrix.get()))
    assert np.allclose(H.inverse_diagonal().get().ravel(), inverse, rtol=1e-10)


@pytest.mark.parametrize("name", ["arrow", "pairs"])
def test_errors_of_several_vectors_are_parts_of_those_of_all(name: str) -> None:
    H = hessian(load(SPEC), name, values())
    expected = np.sqrt(np.diagonal(np.linalg.inv(np.asarray(H))))
    found = H.standard_errors()
    assert np.allclose(np.concatenate([*found.values()]), expected)


def test_errors_of_several_inputs_come_by_name_in_their_shapes() -> None:
    given = values()
    H = hessian(load(SPEC), "table", given)
    expected = np.sqrt(3 * np.diagonal(np.linalg.inv(np.asarray(H))))
    found = H.standard_errors(scale=3)
    assert list(found) == ["W", "w"]
    assert np.allclose(found["W"], expected[:35].reshape(7, 5))
    assert np.allclose(found["w"], expected[35:])


LOGISTIC = """
tensorgen: 1
inputs: {w: [n], X: [m, n], y: [m]}
functions:
  loss:
    expr: sum(log(1 + exp(-y * (X @ w))))
    wrt: w
    emit: [value, gradient, hessian, problem, standard_errors]
"""


def test_errors_of_a_logistic_regression_are_those_of_fishers_information() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(rng.random(200) < 1 / (1 + np.exp(-X @ [1.0, -2.0, 0.5])), 1.0, -1.0)
    module, w = load(LOGISTIC), np.zeros(3)
    for _ in range(20):
        w = w - module.loss_hess(w, X, y).solve(module.loss_grad(w, X, y))
    p = 1 / (1 + np.exp(-X @ w))
    covariance = np.linalg.inv(X.T @ np.diag(p * (1 - p)) @ X)
    expected = np.sqrt(np.diagonal(covariance))
    assert np.allclose(module.loss_hess(w, X, y).standard_errors(), expected, rtol=1e-9)
    H = module.LossProblem(X=X, y=y).hessian(w)
    assert np.allclose(H.standard_errors(), expected, rtol=1e-9)


def test_errors_of_least_squares_take_the_variance() -> None:
    text = """
tensorgen: 1
inputs: {w: [n], X: [m, n], y: [m]}
functions:
  loss: {expr: norm(X @ w - y)**2 / 2, wrt: w, emit: [hessian, standard_errors]}
"""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    w, squares, *_ = np.linalg.lstsq(X, y)
    variance = squares[0] / 47
    expected = np.sqrt(variance * np.diagonal(np.linalg.inv(X.T @ X)))
    assert np.allclose(
        load(text).loss_hess(w, X, y).standard_errors(variance), expected
    )


@pytest.mark.parametrize("name", ["dense", "chain", "table"])
def test_what_is_no_minimum_has_no_errors(name: str) -> None:
    H = -hessian(load(SPEC), name, values())
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        H.standard_errors()
    inverse = np.diagonal(np.linalg.inv(np.asarray(H)))
    assert np.allclose(H.inverse_diagonal().ravel(), inverse)


@pytest.mark.parametrize("name", ["chain", "added", "wide"])
def test_many_variables_take_no_dense_matrix(name: str) -> None:
    n, rng = 20_000, np.random.default_rng(0)
    given = {"x": 1 + rng.random(n), "d": rng.normal(size=n)}
    given["V"] = rng.normal(size=(n, 3)) / n**0.5
    H = hessian(load(SPEC), name, given)
    tracemalloc.start()
    found = H.inverse_diagonal()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500 * 8 * n
    some = [0, 1, 777, n - 1]
    unit = np.zeros((n, 4))
    unit[some, range(4)] = 1
    assert np.allclose(found[some], H.solve(unit)[some, range(4)])


def test_digits_that_woodbury_cancels_are_solved_for() -> None:
    given = values()
    given["d"][:3] = -23  # where nearly all comes from the low rank
    given["V"][:3] += 5 * np.eye(3)
    H = hessian(load(SPEC), "added", given)
    assert type(H.factorize()).__name__ == "_LowRankFactorization"
    inverse = np.diagonal(np.linalg.inv(np.asarray(H)))
    assert np.allclose(H.inverse_diagonal(), inverse, rtol=1e-9)


def test_modules_that_do_not_ask_have_none_of_it() -> None:
    text = tensorgen.generate(LOGISTIC.replace(", standard_errors", ""))
    assert "inverse_diagonal" not in text and "standard_errors" not in text


def test_errors_need_a_hessian() -> None:
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(LOGISTIC.replace("hessian, problem, ", ""))
    (fault,) = caught.value.diagnostics
    assert "'standard_errors' is what a Hessian gives" in fault.message
    assert fault.hint == "add 'hessian' to 'emit'"
    problem = LOGISTIC.replace("value, gradient, hessian, ", "")
    assert "def standard_errors" in tensorgen.generate(problem)
