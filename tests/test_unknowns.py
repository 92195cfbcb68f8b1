"""Unknowns, against closed forms, differences, and JAX; and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests import made
from tests.device.library import execute, stand_in

Array = Any

SPEC = """
tensorgen: 1
dims: {n: 40, N: 5}
inputs:
  a: scalar
  M: [N]
  ecc: [N]
  lam: scalar
  f: [n]
  Q: {shape: [p, p], spd: true}
  q: [p]
  A: [m, p]
  b: [m]
  S: [r, r]
  X: [s, d]
  W: [d, d]
  B: [k, l]
  y: [k]
  Bv: [v, l]
  yv: [v]
  logK: [3]
  total: [2]
definitions:
  ridge(w, lam): sum((B @ w - y)**2) + exp(lam)*sum(w**2)
  logistic(w, lam): sum(log(1 + exp(-y*(B @ w)))) + exp(lam)*sum(w**2)
  layer(z, x): tanh(z @ W + x)/2
unknowns:
  root: {shape: scalar, equation: root**2 - a}
  E: {shape: [N], equation: E - ecc*sin(E) - M, doc: Eccentric anomalies.}
  u:
    shape: [n]
    equation: >-
      concatenate([u[1:], zeros(1)]) - 2*u + concatenate([zeros(1), u[:-1]])
      + lam*exp(u)/(n + 1)**2 + f
  kkt:
    shape: [p + m]
    equation: concatenate([Q @ kkt[:p] + q + A.T @ kkt[p:], A @ kkt[:p] - b])
  R: {shape: [r, r], equation: R @ R - S}
  Z: {shape: [s, d], fixed_point: "layer(Z, X)"}
  w: {shape: [l], minimises: "ridge(w, lam)"}
  g: {shape: [l], minimises: "logistic(g, lam)"}
  c:
    shape: [5]
    equation: >-
      [c[0] + c[1] - c[2] - logK[0], c[2] + c[1] - c[3] - logK[1],
       c[0] + c[4] - logK[2], exp(c[0]) + exp(c[2]) + exp(c[3]) - total[0],
       exp(c[1]) + exp(c[2]) + 2*exp(c[3]) - total[1]]
  h: {shape: [d], equation: "h + sum(h**2)*h - sum(Z, axis=0)"}
functions:
  cube: {expr: root**3, wrt: a, emit: [value, gradient, hessian, 3]}
  orbit: {expr: "sum(cos(E)*M)", wrt: [M, ecc], emit: [value, gradient, hvp, hessian]}
  bratu: {expr: "sum(u**2)", wrt: [lam, f], emit: [value, gradient, hvp]}
  best: {expr: "dot(q, kkt[:p])", wrt: [q, b], emit: [gradient, hessian]}
  trace_root: {expr: trace(R), wrt: S, emit: [value, gradient]}
  deq: {expr: "sum(Z**3)", wrt: [X, W], emit: [value, gradient, hvp, jvp]}
  ridge_error: {expr: "sum((Bv @ w - yv)**2)", wrt: lam, emit: [gradient, hessian]}
  error:
    expr: "sum(log(1 + exp(-yv*(Bv @ g))))"
    wrt: [lam, Bv]
    emit: [value, gradient, hvp, problem]
  complexes: {expr: exp(c), wrt: [logK, total], emit: [jacobian]}
  nested: {expr: "sum(h**2)", wrt: [X, W], emit: [value, gradient, hvp]}
  inner: {expr: "dot(grad(sum(sin(E)), M), ecc)", wrt: ecc, emit: [value, gradient]}
"""
SIZES = {"N": 5, "n": 40, "p": 4, "m": 2, "r": 3, "s": 3, "d": 4, "k": 7, "l": 3}
SIZES |= {"v": 5}


def data() -> dict[str, Array]:
    rng = np.random.default_rng(3)

    def draw(*dims: str) -> Array:
        return rng.normal(size=[SIZES[x] for x in dims])

    root = draw("p", "p")
    half = draw("r", "r")
    return {
        "a": np.array(1.7),
        "M": rng.uniform(0, 6, 5),
        "ecc": rng.uniform(0.05, 0.7, 5),
        "lam": np.array(0.4),
        "f": 0.001 * draw("n"),
        "Q": root @ root.T + np.eye(4),
        **{"q": draw("p"), "A": draw("m", "p"), "b": draw("m")},
        "S": half @ half.T + 3 * np.eye(3),
        "X": draw("s", "d"),
        "W": 0.5 * draw("d", "d"),
        **{"B": draw("k", "l"), "y": np.sign(draw("k"))},
        **{"Bv": draw("v", "l"), "yv": np.sign(draw("v"))},
        "logK": np.array([1.0, 0.3, -2.0]),
        "total": np.array([1.5, 1.1]),
    }


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return execute(made.both(SPEC)[0])


def told(function: Callable[..., Array], **more: Array) -> dict[str, Array]:
    """The arguments of a function among the data, and others."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    known = {**data(), **more}
    return {name: known[name] for name in names if name in known}


def test_closed_forms(module: ModuleType) -> None:
    a = data()["a"]
    assert module.root_solve(a, start=1.0) == pytest.approx(np.sqrt(a), rel=1e-14)
    root = {"root": np.sqrt(a)}
    assert module.cube(a, **root) == pytest.approx(a**1.5)
    assert module.cube_grad(a, **root) == pytest.approx(1.5 * a**0.5)
    assert module.cube_hess(a, **root).dense() == pytest.approx(0.75 * a**-0.5)
    third = module.cube_d3(a, **root)
    assert third.dense() == pytest.approx(-0.375 * a**-1.5)


def test_kepler(module: ModuleType) -> None:
    given = told(module.orbit)
    anomaly = module.E_solve(**given)
    M, ecc = given["M"], given["ecc"]
    np.testing.assert_allclose(anomaly - ecc * np.sin(anomaly), M, rtol=1e-14)
    slope = 1 / (1 - ecc * np.cos(anomaly))
    gradient = module.orbit_grad(**given)
    want = np.cos(anomaly) - M * np.sin(anomaly) * slope
    np.testing.assert_allclose(gradient.M, want, rtol=1e-12)
    want = -M * np.sin(anomaly) ** 2 * slope
    np.testing.assert_allclose(gradient.ecc, want, rtol=1e-12)
    # Orbits are solved one by one: what is held is diagonal.
    hessian = module.orbit_hess(**given)
    assert {block.nbytes for block in hessian.blocks.values()} == {5 * 8}


def test_bratu_is_what_is_known_of_it(module: ModuleType) -> None:
    n = SIZES["n"]
    u = module.u_solve(np.array(1.0), np.zeros(n))
    # u = -2 log(cosh(theta (x - 1/2)) / cosh(theta / 2)) on the interval.
    theta = 1.0
    for _ in range(99):
        theta = np.sqrt(0.5) * np.cosh(theta / 2)
    x = np.arange(1, n + 1) / (n + 1)
    want = -2 * np.log(np.cosh(2 * theta * (x - 0.5) / 2) / np.cosh(theta / 2))
    np.testing.assert_allclose(u, want, atol=1e-4)


def test_a_constrained_optimum(module: ModuleType) -> None:
    given = told(module.best_grad)
    Q, q, A, b = (given[x] for x in "QqAb")
    system = np.block([[Q, A.T], [A, np.zeros((2, 2))]])
    inverse = np.linalg.inv(system)[:4]
    x = inverse @ np.concatenate([-q, b])
    gradient = module.best_grad(**given)
    np.testing.assert_allclose(gradient.q, x - inverse[:, :4].T @ q, rtol=1e-10)
    np.testing.assert_allclose(gradient.b, inverse[:, 4:].T @ q, rtol=1e-10)
    blocks = module.best_hess(**given).blocks
    np.testing.assert_allclose(blocks["q", "q"].dense(), -2 * inverse[:, :4], 1e-9)
    np.testing.assert_allclose(blocks["q", "b"].dense(), inverse[:, 4:], 1e-9)


def test_ridge_against_its_closed_form(module: ModuleType) -> None:
    given = told(module.ridge_error_grad)
    B, y, Bv, yv, lam = (given[x] for x in ("B", "y", "Bv", "yv", "lam"))

    def loss(lam: Array) -> Array:
        w = np.linalg.solve(B.T @ B + np.exp(lam) * np.eye(3), B.T @ y)
        return np.sum((Bv @ w - yv) ** 2)

    assert module.ridge_error_grad(**given) == pytest.approx(
        np.imag(loss(lam + 1e-30j)) / 1e-30, rel=1e-10
    )
    step = 1e-4
    second = (loss(lam + step) - 2 * loss(lam) + loss(lam - step)) / step**2
    hessian = module.ridge_error_hess(**given).dense()
    assert hessian == pytest.approx(second, rel=1e-5)


FUNCTIONS = ["orbit", "bratu", "deq", "error", "nested"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_products_against_differences(
    module: ModuleType, name: str
) -> None:
    value, gradient = getattr(module, name), getattr(module, name + "_grad")
    product = getattr(module, name + "_hvp")
    given, rng = told(value), np.random.default_rng(5)
    slopes = gradient(**given)
    along = {x: rng.normal(size=given[x].shape) for x in slopes._fields}
    scale = 1e-3 if name == "bratu" else 1.0

    def moved(t: float) -> dict[str, Array]:
        return given | {x: given[x] + t * scale * v for x, v in along.items()}

    step = 1e-4

    def slope(of: Callable[..., Array]) -> Array:
        """The derivative along the direction, to the fourth order of the step."""
        far, near = (
            (of(**moved(t * step)) - of(**moved(-t * step))) / (2 * t * step)
            for t in (2, 1)
        )
        return (4 * near - far) / 3

    total = sum(np.sum(getattr(slopes, x) * v) * scale for x, v in along.items())
    assert total == pytest.approx(slope(value), rel=1e-7)
    directions = {f"d{x}": scale * v for x, v in along.items()}
    for k, found in enumerate(product(**given, **directions)):
        want = slope(lambda k=k, **arguments: gradient(**arguments)[k])
        np.testing.assert_allclose(found, want, 1e-6, 1e-7 * np.max(np.abs(want)))


def test_other_derivatives_against_differences(module: ModuleType) -> None:
    given = told(module.trace_root, S=data()["S"])
    R = np.linalg.cholesky(given["S"])
    root = module.R_solve(given["S"], start=(R + R.T) / 2)
    np.testing.assert_allclose(root @ root, given["S"], rtol=1e-12)
    found = module.trace_root_grad(given["S"], R=root)
    np.testing.assert_allclose(found, np.linalg.inv(root).T / 2, rtol=1e-10)
    given = told(module.complexes_jac)
    jacobian = module.complexes_jac(**given)
    for name in ("logK", "total"):
        block = getattr(jacobian, name).dense()
        for k, unit in enumerate(1e-6 * np.eye(len(given[name]))):
            after, before = (
                np.exp(module.c_solve(**given | {name: given[name] + s * unit}))
                for s in (1, -1)
            )
            np.testing.assert_allclose(block[:, k], (after - before) / 2e-6, 1e-6)
    given = told(module.inner)
    step = 1e-6 * np.eye(5)
    ends = [
        (
            module.inner(given["M"], given["ecc"] + s)
            - module.inner(given["M"], given["ecc"] - s)
        )
        / 2e-6
        for s in step
    ]
    np.testing.assert_allclose(module.inner_grad(**given), ends, 1e-6)


def test_a_deep_equilibrium_beside_jax(module: ModuleType) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    given = told(module.deq)

    def loss(X: Array, W: Array) -> Array:
        def residual(z: Array) -> Array:
            return jnp.tanh(z @ W + X) / 2 - z

        def solve(f: Callable[[Array], Array], z: Array) -> Array:
            for _ in range(60):
                z = z + f(z)
            return z

        def tangent(g: Callable[[Array], Array], y: Array) -> Array:
            size = y.size
            rows = jax.vmap(lambda e: g(e.reshape(y.shape)).ravel())(jnp.eye(size))
            return jnp.linalg.solve(rows.T, y.ravel()).reshape(y.shape)

        z = jax.lax.custom_root(residual, jnp.zeros_like(X), solve, tangent)
        return jnp.sum(z**3)

    want = jax.grad(loss, (0, 1))(given["X"], given["W"])
    for got, one in zip(module.deq_grad(**given), want, strict=True):
        np.testing.assert_allclose(got, one, 1e-9, 1e-12)


def test_a_problem_finds_its_unknowns(module: ModuleType) -> None:
    given = told(module.error)
    problem = module.ErrorProblem(B=given["B"], y=given["y"], yv=given["yv"])
    v = problem.pack(given["lam"], given["Bv"])
    assert problem.value(v) == pytest.approx(module.error(**given))
    want = module.error_grad(**given)
    flat = np.concatenate([np.ravel(want.lam), want.Bv.ravel()])
    np.testing.assert_allclose(problem.gradient(v), flat, rtol=1e-9)
    problem.value(v + 0.01)
    assert problem.value(v) == pytest.approx(module.error(**given))
    d = np.linspace(-1, 1, v.size)
    twice = module.error_hvp(**given, dlam=d[0], dBv=d[1:].reshape(5, 3))
    flat = np.concatenate([np.ravel(twice.lam), twice.Bv.ravel()])
    np.testing.assert_allclose(problem.hvp(v, d), flat, rtol=1e-8, atol=1e-12)


def test_what_is_given_is_taken_and_checked_if_asked(module: ModuleType) -> None:
    given = told(module.orbit)
    E = module.E_solve(**given)
    assert module.orbit(**given, E=E, check=True) == module.orbit(**given)
    assert module.orbit(**given, E=E + 1.0) != module.orbit(**given)
    with pytest.raises(ValueError, match="E: not a solution, Newton's step is"):
        module.orbit(**given, E=E + 1e-3, check=True)
    with pytest.raises(ValueError, match=r"E: expected shape \(N,\) = \(5,\)"):
        module.orbit(**given, E=E[:2])
    with pytest.raises(ValueError, match=r"start: expected shape \(N,\) with N = 5"):
        module.E_solve(**given, start=np.zeros(2))


def test_no_convergence_is_said(module: ModuleType) -> None:
    with pytest.raises(module.NotConverged) as caught:
        module.root_solve(-1.0, start=0.7)
    assert caught.value.residual > 0.5
    assert "root: residual" in str(caught.value)
    with pytest.raises(module.NotConverged) as caught:
        module.E_solve(data()["M"], data()["ecc"], max_steps=1)
    assert caught.value.steps == 1
    with np.errstate(divide="ignore"), pytest.raises(module.NotConverged):
        module.root_solve(1.0)  # where the slope is singular


def test_single_precision_stays(module: ModuleType) -> None:
    given = {name: value.astype("f") for name, value in told(module.deq).items()}
    Z = module.Z_solve(**given)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, module.Z_solve(**told(module.deq)), rtol=1e-4)
    assert module.deq_grad(**given).W.dtype == np.float32


def test_cupy_solves_as_numpy_does(module: ModuleType) -> None:
    with stand_in() as cupy:
        device = execute(made.both(SPEC)[1])
        for name in FUNCTIONS:
            given = told(getattr(module, name))
            there = {x: cupy.asarray(value) for x, value in given.items()}
            got = getattr(device, name + "_grad")(**there)
            want = getattr(module, name + "_grad")(**given)
            for one, other in zip(got, want, strict=True):
                np.testing.assert_allclose(one.get(), other, 1e-8, 1e-12)
