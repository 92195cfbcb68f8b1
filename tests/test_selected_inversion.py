"""Slopes of determinants read the inverse where the matrix has entries."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.operators.helpers.systems import BANDED, SPARSE
from tests.device.library import execute, stand_in

Array = Any
SPEC = """
tensorgen: 1
module: selected
dims: {n: 1000, m: 1500}
inputs:
  kappa: {shape: [], positive: true}
  y: [n]
  d: [n]
  x: [m]
  rho: {shape: [n], positive: true}
  a: {shape: [m], index: n}
  b: {shape: [m], index: n}
functions:
  field:
    where: |
      T = diag(kappa + exp(d)) - diag(ones(n - 1), 1) - diag(ones(n - 1), -1)
      Q = T @ T.T
    expr: y @ Q @ y - logdet(Q)
    wrt: [kappa, d]
    emit: [value, gradient, hvp]
  band:
    where: T = diag(d) + kappa*diag(ones(n - 1), 1) - diag(y[1:], -1)
    expr: logdet(T)
    wrt: [kappa, d]
    emit: [value, gradient, hvp]
  mesh:
    where: |
      D[e, i] = delta(i, a[e]) - delta(i, b[e])
      K[i, j] = rho[i]*delta(i, j) + sum(x[e]*D[e, i]*D[e, j], e)
    expr: y @ solve(K, y) + logdet(K)
    wrt: x
    emit: [value, gradient, hvp]
"""
MODULE = tensorgen.load(SPEC)
NAMES = {"field": "kappa y d", "band": "kappa y d", "mesh": "x y rho a b"}
WRT = {"field": ["kappa", "d"], "band": ["kappa", "d"], "mesh": ["x"]}


def given(name: str, n: int) -> dict[str, Array]:
    rng = np.random.default_rng(1)
    first = rng.integers(0, n, n + 5)
    values = {
        "kappa": 1.7,
        "y": rng.normal(size=n),
        "d": rng.normal(size=n),
        "x": rng.uniform(1, 2, n + 5),
        "rho": rng.uniform(1, 2, n),
        "a": first,
        "b": (first + rng.integers(1, 4, n + 5)) % n,
    }
    return {x: values[x] for x in NAMES[name].split()}


def dense(name: str, g: dict[str, Array]) -> Array:
    n, y = len(g["y"]), g["y"]
    if name == "mesh":
        D = np.eye(n)[g["a"]] - np.eye(n)[g["b"]]
        K = np.diag(g["rho"]) + D.T @ (g["x"][:, None] * D)
        return y @ np.linalg.solve(K, y) + logdet(K)
    ones = np.ones(n - 1)
    if name == "band":
        T = np.diag(g["d"]) + g["kappa"] * np.diag(ones, 1) - np.diag(y[1:], -1)
        return logdet(T)
    T = np.diag(g["kappa"] + np.exp(g["d"])) - np.diag(ones, 1) - np.diag(ones, -1)
    return y @ T @ T.T @ y - logdet(T @ T.T)


def logdet(matrix: Array) -> Array:
    """The logarithm of the absolute value, continued along complex steps."""
    found = np.linalg.det(matrix)
    return np.log(found * np.sign(np.real(found)))


def slope(name: str, own: dict[str, Array]) -> Array:
    """The gradient of the dense function, by complex steps."""
    found = []
    for x in WRT[name]:
        for k in range(np.size(own[x])):
            step = np.zeros(np.shape(own[x]))
            step.flat[k] = 1e-30
            found.append(np.imag(dense(name, {**own, x: own[x] + 1j * step})) * 1e30)
    return np.array(found)


def flat(gradient: Any) -> Array:
    parts = gradient if isinstance(gradient, tuple) else (gradient,)
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.parametrize("n", [1, 2, 5, 30, 70])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_dense_matrices(name: str, n: int) -> None:
    own = given(name, n)
    value, gradient = getattr(MODULE, f"{name}_value_and_grad")(**own)
    np.testing.assert_allclose(value, dense(name, own), rtol=1e-9)
    np.testing.assert_allclose(flat(gradient), slope(name, own), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_are_slopes_of_the_gradient(name: str) -> None:
    own, step = given(name, 12), 1e-5
    into = {
        x: np.cos(np.arange(np.size(own[x]))).reshape(np.shape(own[x]))
        for x in WRT[name]
    }
    ends = []
    for sign in (1, -1):
        moved = {x: own[x] + sign * step * into[x] for x in into}
        ends.append(flat(getattr(MODULE, f"{name}_grad")(**{**own, **moved})))
    expected = (ends[0] - ends[1]) / (2 * step)
    directions = {f"d{x}": into[x] for x in into}
    found = flat(getattr(MODULE, f"{name}_hvp")(**own, **directions))
    scale = abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.parametrize("name", NAMES)
def test_no_square_array_is_formed(name: str) -> None:
    own = given(name, 5000)
    getattr(MODULE, f"{name}_value_and_grad")(**given(name, 5))  # imports
    tracemalloc.start()
    getattr(MODULE, f"{name}_value_and_grad")(**own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_cupy_selects_as_numpy_does() -> None:
    with stand_in() as cupy:
        module = execute(tensorgen.generate(SPEC, backend="cupy"))
        for name in NAMES:
            own = given(name, 12)
            moved = {k: cupy.asarray(v) if np.ndim(v) else v for k, v in own.items()}
            found = getattr(module, f"{name}_grad")(**moved)
            parts = found if isinstance(found, tuple) else (found,)
            theirs = np.concatenate([np.ravel(part.get()) for part in parts])
            ours = flat(getattr(MODULE, f"{name}_grad")(**own))
            np.testing.assert_allclose(theirs, ours, rtol=1e-8, atol=1e-10)


def classes() -> dict[str, Any]:
    names = {"np": np, "Any": Any, "Array": Any, "Scalar": Any}
    exec("from __future__ import annotations\n" + SPARSE + BANDED, names)
    return names


OBJECTS = classes()


@pytest.mark.parametrize("n", [1, 2, 16, 17, 45])
@pytest.mark.parametrize("reach", [(0, 0), (1, 1), (2, 1), (1, 4), (6, 2)])
@pytest.mark.parametrize("heavy", [0, 9])
def test_the_inverse_near_the_diagonal(
    n: int, reach: tuple[int, int], heavy: int
) -> None:
    """A heavy diagonal needs no interchanges, others do."""
    rng = np.random.default_rng(n)
    below, above = (min(r, n - 1) for r in reach)
    bands = {s: rng.normal(size=n - abs(s)) for s in range(-below, above + 1)}
    bands[0] = bands[0] + heavy
    A = np.sum([np.diag(band, s) for s, band in bands.items()], axis=0)
    expected = np.linalg.inv(A)
    rows, columns = np.nonzero(A)
    objects = OBJECTS["_Banded"](n, bands), OBJECTS["_Sparse"](
        n, (rows, columns, A[rows, columns])
    )
    for far in (max(reach), max(reach) + 2, 30):
        i, j = np.indices((n, n))
        near = abs(i - j) <= far
        for one in objects:
            found = one.inverse_at(i[near], j[near])
            scale = abs(expected).max()
            np.testing.assert_allclose(
                found, expected[near], rtol=1e-6, atol=1e-9 * scale
            )


def test_determinants_of_singular_matrices_are_told_without_a_warning() -> None:
    rows = np.array([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = OBJECTS["_Sparse"](3, (rows, rows, np.ones(2)))
        assert one.logdet == -np.inf and one.det == 0
        assert OBJECTS["_Banded"](3, {0: np.zeros(3)}).logdet == -np.inf
