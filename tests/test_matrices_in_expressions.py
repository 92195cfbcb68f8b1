"""Matrices that a spec builds are solved with by the structure that they have."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.device.library import execute, stand_in

Array = Any
HEAD = "tensorgen: 1\nmodule: systems\n"

SPEC = HEAD + """
dims: {n: 1000, m: 1500, p: 400, k: 5}
inputs:
  theta: scalar
  phi: scalar
  kappa: scalar
  x: [m]
  y: [n]
  d: [n]
  rho: {shape: [n], positive: true}
  a: {shape: [m], index: n}
  b: {shape: [m], index: n}
  L: [p, k]
  psi: {shape: [p], positive: true}
  r: [p]
  A: [k, k]
  B: [p, p]
  Z: [n, k]
functions:
  moving_average:
    where: |
      S = eye(n) - theta*diag(ones(n - 1), -1)
      e = solve(S, y)
    expr: sum(e**2)
    wrt: [theta, y]
    emit: [value, gradient, problem]
  tridiagonal:
    where: |
      T = diag(d) + 0.5*diag(ones(n - 1), 1) - diag(y[1:], -1)
    expr: y @ solve(T, y) + logdet(T) + det(T) + trace(solve(T, outer(y, d)))
    wrt: d
    emit: [value, gradient]
  arma:
    where: |
      P = eye(n) - theta*diag(ones(n - 1), -1)
      M = eye(n) + phi*diag(ones(n - 1), -1)
      e = solve(M, P @ y)
    expr: e @ e
    wrt: [theta, phi]
    emit: [value, gradient]
  autoregression:
    where: |
      P = eye(n) - theta*diag(ones(n - 1), -1) - phi*diag(ones(n - 2), -2)
      e = solve(P, y) - d
    expr: e @ e
    wrt: [theta, phi, y]
    emit: [value, gradient, hvp]
  garch:
    where: |
      G = eye(n) - phi*diag(ones(n - 1), -1)
      lagged[i=range(n)] = sum(y[j]**2*delta(i, j + 1), j)
      h = solve(G, kappa + theta*lagged)
    expr: sum(log(h) + y**2/h)/2
    wrt: [kappa, theta, phi]
    emit: [value, gradient, hvp]
  scaled:
    where: U = 3*diag(d) + theta*diag(y[1:], 1)
    expr: logdet(U) + y @ solve(U, y) + det(U)
    wrt: [d, y]
    emit: [value, gradient]
  stationary:
    where: |
      K[i=range(n), j=range(n)] = exp(-abs(i - j)*kappa) + theta*delta(i, j)
      S = spd(K)
    expr: y @ solve(S, y) + logdet(S)
    wrt: [kappa, theta, y]
    emit: [value, gradient, hvp]
  poisson:
    where: |
      K = 2*eye(n) - diag(ones(n - 1), 1) - diag(ones(n - 1), -1)
      u = solve(K, exp(d))
    expr: sum((u - y)**2)
    wrt: d
    emit: [value, gradient, hvp]
  compliance:
    where: |
      D[e, i] = delta(i, a[e]) - delta(i, b[e])
      K[i, j] = rho[i]*delta(i, j) + sum(x[e]*D[e, i]*D[e, j], e)
    expr: y @ solve(K, y) + logdet(K) + det(K/10)
    wrt: x
    emit: [value, gradient, hessian, problem]
  factors:
    where: S = diag(psi) + L @ L.T
    expr: r @ solve(S, r) + logdet(S) + log(det(S)) + sum(inv(S) @ r)
    wrt: [L, psi]
    emit: [value, gradient, problem]
  several:
    where: S = diag(exp(r)) + L @ (A.T @ A) @ L.T + 2*outer(psi, psi) + 0.5
    expr: psi @ solve(S, r) + logdet(S)
    wrt: r
    emit: [value, gradient]
  mixed:
    where: |
      R = spd(diag(rho + 2) - diag(ones(n - 1), 1) - diag(ones(n - 1), -1))
      S = R + Z @ (A.T @ A) @ Z.T + outer(rho, rho)
    expr: y @ solve(S, y) + logdet(S)
    wrt: [Z, rho]
    emit: [value, gradient, problem]
  grid:
    where: |
      D[e, i] = delta(i, a[e]) - delta(i, b[e])
      K[i, j] = rho[i]*delta(i, j) + sum(exp(x[e])*D[e, i]*D[e, j], e)
      S = K + Z @ Z.T
    expr: y @ solve(S, y) + logdet(S)
    wrt: x
    emit: [value, gradient]
  kronecker:
    where: K = kron(A, B)
    expr: ravel(L.T) @ solve(2*K, ravel(L.T)) + logdet(K)
    wrt: [A, B]
    emit: [value, gradient]
  blocks:
    where: K = kron(eye(p), A)
    expr: ravel(L) @ solve(K, ravel(L)) + logdet(3*K)
    wrt: A
    emit: [value, gradient]
  diagonals:
    expr: y @ solve(diag(d), y) + logdet(diag(2*d)) + det(diag(d)) + sum(inv(diag(d)))
    wrt: d
    emit: [value, gradient, hessian]
"""


def shift(n: int, k: int) -> Array:
    return np.eye(n, k=k)


def logdet(matrix: Array) -> Array:
    """The logarithm of the absolute value, continued along complex steps."""
    found = np.linalg.det(matrix)
    return np.log(found * np.sign(np.real(found)))


def moving_average(g: dict[str, Array]) -> Array:
    n = len(g["y"])
    e = np.linalg.solve(np.eye(n) - g["theta"] * shift(n, -1), g["y"])
    return e @ e


def tridiagonal(g: dict[str, Array]) -> Array:
    y, d = g["y"], g["d"]
    T = np.diag(d) + 0.5 * shift(len(y), 1) - np.diag(y[1:], -1)
    inverse = np.linalg.inv(T)
    last = np.linalg.det(T) + np.trace(inverse @ np.outer(y, d))
    return y @ inverse @ y + logdet(T) + last


def arma(g: dict[str, Array]) -> Array:
    n, y = len(g["y"]), g["y"]
    P, M = np.eye(n) - g["theta"] * shift(n, -1), np.eye(n) + g["phi"] * shift(n, -1)
    e = np.linalg.solve(M, P @ y)
    return e @ e


def autoregression(g: dict[str, Array]) -> Array:
    n = len(g["y"])
    A = np.eye(n) - g["theta"] * shift(n, -1) - g["phi"] * shift(n, -2)
    e = np.linalg.solve(A, g["y"]) - g["d"]
    return e @ e


def garch(g: dict[str, Array]) -> Array:
    n, squares = len(g["y"]), g["y"] ** 2
    B, lagged = np.eye(n) - g["phi"] * shift(n, -1), shift(n, -1) @ squares
    h = np.linalg.solve(B, g["kappa"] + g["theta"] * lagged)
    return (np.log(h) + squares / h).sum() / 2


def scaled(g: dict[str, Array]) -> Array:
    U = 3 * np.diag(g["d"]) + g["theta"] * np.diag(g["y"][1:], 1)
    return logdet(U) + g["y"] @ np.linalg.solve(U, g["y"]) + np.linalg.det(U)


def stationary(g: dict[str, Array]) -> Array:
    n, y = len(g["y"]), g["y"]
    distance = abs(np.subtract.outer(np.arange(n), np.arange(n)))
    S = np.exp(-distance * g["kappa"]) + g["theta"] * np.eye(n)
    return y @ np.linalg.solve(S, y) + logdet(S)


def poisson(g: dict[str, Array]) -> Array:
    n = len(g["y"])
    K = 2 * np.eye(n) - shift(n, 1) - shift(n, -1)
    return ((np.linalg.solve(K, np.exp(g["d"])) - g["y"]) ** 2).sum()


def compliance(g: dict[str, Array]) -> Array:
    unit = np.eye(len(g["y"]))
    D = unit[g["a"]] - unit[g["b"]]
    K = np.diag(g["rho"]) + D.T @ (g["x"][:, None] * D)
    value = g["y"] @ np.linalg.solve(K, g["y"])
    return value + logdet(K) + np.linalg.det(K / 10)


def factors(g: dict[str, Array]) -> Array:
    S = np.diag(g["psi"]) + g["L"] @ g["L"].T
    solution = np.linalg.solve(S, g["r"])
    return g["r"] @ solution + 2 * logdet(S) + solution.sum()


def several(g: dict[str, Array]) -> Array:
    L, A, psi = g["L"], g["A"], g["psi"]
    S = np.diag(np.exp(g["r"])) + L @ A.T @ A @ L.T + 2 * np.outer(psi, psi) + 0.5
    return psi @ np.linalg.solve(S, g["r"]) + logdet(S)


def mixed(g: dict[str, Array]) -> Array:
    y, rho, Z, A = (g[x] for x in ("y", "rho", "Z", "A"))
    R = np.diag(rho + 2) - shift(len(y), 1) - shift(len(y), -1)
    S = R + Z @ A.T @ A @ Z.T + np.outer(rho, rho)
    return y @ np.linalg.solve(S, y) + logdet(S)


def grid(g: dict[str, Array]) -> Array:
    unit = np.eye(len(g["y"]))
    D = unit[g["a"]] - unit[g["b"]]
    K = np.diag(g["rho"]) + D.T @ (np.exp(g["x"])[:, None] * D)
    S = K + g["Z"] @ g["Z"].T
    return g["y"] @ np.linalg.solve(S, g["y"]) + logdet(S)


def kronecker(g: dict[str, Array]) -> Array:
    K, v = np.kron(g["A"], g["B"]), g["L"].T.ravel()
    return v @ np.linalg.solve(2 * K, v) + logdet(K)


def blocks(g: dict[str, Array]) -> Array:
    K, v = np.kron(np.eye(len(g["L"])), g["A"]), g["L"].ravel()
    return v @ np.linalg.solve(K, v) + logdet(3 * K)


def diagonals(g: dict[str, Array]) -> Array:
    y, d = g["y"], g["d"]
    value = (y**2 / d).sum() + np.log(2 * d * np.sign(d.real)).sum()
    return value + d.prod() + (1 / d).sum()


CASES: dict[str, tuple[Callable[[dict[str, Array]], Array], str, str]] = {
    "moving_average": (moving_average, "theta y", "theta y"),
    "tridiagonal": (tridiagonal, "y d", "d"),
    "arma": (arma, "theta phi y", "theta phi"),
    "autoregression": (autoregression, "theta phi y d", "theta phi y"),
    "garch": (garch, "theta phi kappa y", "kappa theta phi"),
    "scaled": (scaled, "theta y d", "d y"),
    "stationary": (stationary, "theta kappa y", "kappa theta y"),
    "poisson": (poisson, "y d", "d"),
    "compliance": (compliance, "x y rho a b", "x"),
    "factors": (factors, "L psi r", "L psi"),
    "several": (several, "L psi r A", "r"),
    "mixed": (mixed, "y rho Z A", "Z rho"),
    "grid": (grid, "x y rho Z a b", "x"),
    "kronecker": (kronecker, "L A B", "A B"),
    "blocks": (blocks, "L A", "A"),
    "diagonals": (diagonals, "y d", "d"),
}


def given(n: int, m: int, p: int, k: int) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    first = rng.integers(0, n, m)
    d = rng.uniform(2, 3, n) * rng.choice([-1, 1], n)
    A, B = (np.eye(s) * 3 + rng.normal(size=(s, s)) / s for s in (k, min(p, 20)))
    return {
        "theta": 0.4,
        "phi": 0.3,
        "kappa": 0.2,
        "x": rng.uniform(1, 2, m),
        "y": rng.normal(size=n),
        "d": d,
        "rho": rng.uniform(1, 2, n),
        "a": first,
        "b": (first + rng.integers(1, 4, m)) % n,
        "L": rng.normal(size=(p, k)),
        "psi": rng.uniform(0.5, 1.5, p),
        "r": rng.normal(size=p),
        "A": A,
        "B": B,
        "Z": rng.normal(size=(n, k)),
    }


pytestmark = pytest.mark.xdist_group("systems")  # one module for all
SYSTEMS = tensorgen.load(SPEC)
SMALL = given(13, 20, 11, 3)


def arguments(name: str, values: dict[str, Array]) -> dict[str, Array]:
    return {x: values[x] for x in CASES[name][1].split()}


STEP = 1e-30


def along(name: str, own: dict[str, Array], by: str, direction: Array) -> Array:
    """The slope of the dense function along a direction, by a complex step."""
    moved = {**own, by: own[by] + 1j * STEP * direction}
    return np.imag(CASES[name][0](moved)) / STEP


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_dense_matrices(name: str) -> None:
    function, _, wrt = CASES[name]
    own, by = arguments(name, SMALL), wrt.split()
    expected = function(own)
    value, gradient = getattr(SYSTEMS, f"{name}_value_and_grad")(**own)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(getattr(SYSTEMS, name)(**own), expected, rtol=1e-9)
    for x in by:
        found = gradient if len(by) == 1 else getattr(gradient, x)
        for entry in range(np.size(own[x])):
            direction = np.zeros(np.shape(own[x]))
            direction.flat[entry] = 1
            slope = along(name, own, x, direction)
            np.testing.assert_allclose(
                np.ravel(found)[entry], slope, rtol=1e-8, atol=1e-9
            )


@pytest.mark.parametrize("name", ["compliance", "diagonals", "poisson"])
def test_second_derivatives_are_slopes_of_the_gradient(name: str) -> None:
    _, _, by = CASES[name]
    own, step = arguments(name, SMALL), 1e-5
    direction = np.sin(np.arange(np.size(own[by])))
    slope = getattr(SYSTEMS, f"{name}_grad")
    ends = (slope(**{**own, by: own[by] + s * step * direction}) for s in (1, -1))
    expected = np.subtract(*ends) / (2 * step)
    if name == "poisson":
        found = SYSTEMS.poisson_hvp(**own, dd=direction)
    else:
        found = getattr(SYSTEMS, f"{name}_hess")(**own) @ direction
    scale = abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.parametrize("name", ["autoregression", "garch", "stationary"])
def test_products_with_joint_hessians_are_slopes_of_the_gradient(name: str) -> None:
    own, by, step = arguments(name, SMALL), CASES[name][2].split(), 1e-5
    into = {x: np.sin(1 + np.arange(np.size(own[x]))) for x in by}
    into = {x: v.reshape(np.shape(own[x])) for x, v in into.items()}

    def slope(sign: int) -> Array:
        moved = {x: own[x] + sign * step * into[x] for x in by}
        return getattr(SYSTEMS, f"{name}_grad")(**{**own, **moved})

    found = getattr(SYSTEMS, f"{name}_hvp")(**own, **{f"d{x}": into[x] for x in by})
    for one, above, below in zip(found, slope(1), slope(-1), strict=True):
        expected = (above - below) / (2 * step)
        scale = abs(expected).max()
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.parametrize(
    "name", ["moving_average", "poisson", "tridiagonal", "compliance", "mixed", "grid"]
)
def test_no_matrix_is_formed(name: str) -> None:
    size = 20_000 if name not in ("compliance", "grid") else 2000  # columns take time
    limit = 50e6 if size == 20_000 else 12e6
    own = arguments(name, given(size, size * 3 // 2, 3, 2))
    tracemalloc.start()
    with np.errstate(over="ignore"):  # of determinants themselves
        getattr(SYSTEMS, f"{name}_value_and_grad")(**own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < limit


@pytest.mark.parametrize("name", ["factors", "several"])
def test_low_rank_takes_no_square_array(name: str) -> None:
    own = arguments(name, given(2, 2, 20_000, 3))
    tracemalloc.start()
    with np.errstate(over="ignore", invalid="ignore"):  # of the determinant itself
        getattr(SYSTEMS, f"{name}_value_and_grad")(**own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


@pytest.mark.parametrize("name", ["arma", "autoregression", "garch"])
def test_a_likelihood_takes_one_solution_and_one_adjoint(name: str) -> None:
    text = tensorgen.generate(SPEC).partition(f"def {name}_value_and_grad(")[2]
    assert text.partition("\ndef ")[0].count(".solve(") == 2


def test_problems_eliminate_once_what_data_make() -> None:
    made = SYSTEMS.ComplianceProblem(**{k: SMALL[k] for k in ("y", "rho", "a", "b")})
    value, gradient = made.value_and_gradient(SMALL["x"])
    own = arguments("compliance", SMALL)
    expected = SYSTEMS.compliance_value_and_grad(**own)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)
    dense = SYSTEMS.compliance_hess(**own).dense()
    np.testing.assert_allclose(made.hessian(SMALL["x"]).dense(), dense, rtol=1e-9)


def test_systems_of_data_are_eliminated_when_data_come() -> None:
    spec = HEAD + (
        "dims: {n: 1000}\n"
        "inputs: {x: [n], d: [n]}\n"
        "functions:\n"
        "  f:\n"
        "    where: T = diag(d) + diag(ones(n - 1), 1) + diag(ones(n - 1), -1)\n"
        "    expr: sum(solve(T, x)**2)\n"
        "    wrt: x\n"
        "    emit: [value, gradient, hvp, problem]\n"
    )
    text = tensorgen.generate(spec)
    before, _, point = text.partition("class _FPoint")
    assert "T = _Banded(" in before
    assert (
        "_Banded(" not in point.partition("class _Banded")[0].partition("\nclass ")[0]
    )
    module = tensorgen.load(spec)
    x, d = SMALL["y"], SMALL["d"]
    made = module.FProblem(d=d)
    T = np.diag(d) + np.eye(13, k=1) + np.eye(13, k=-1)
    expected = 2 * np.linalg.solve(T.T, np.linalg.solve(T, x))
    np.testing.assert_allclose(made.gradient(x), expected, rtol=1e-12)
    np.testing.assert_allclose(made.hvp(x, x), expected, rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_dtype_stays(name: str) -> None:
    def single(x: Array) -> Array:
        x = np.asarray(x)
        return x if x.dtype.kind == "i" else x.astype(np.float32)

    own = {key: single(x) for key, x in arguments(name, SMALL).items()}
    value, gradient = getattr(SYSTEMS, f"{name}_value_and_grad")(**own)
    assert value.dtype == np.float32
    parts = gradient if isinstance(gradient, tuple) else (gradient,)
    assert all(part.dtype == np.float32 for part in parts)
    wide = getattr(SYSTEMS, name)(**arguments(name, SMALL))
    np.testing.assert_allclose(value, wide, rtol=1e-2)


def test_singular_matrices_raise() -> None:
    y, d = np.ones(13), np.zeros(13)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        SYSTEMS.tridiagonal(y=0 * y, d=d)
    own = arguments("compliance", SMALL)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        SYSTEMS.compliance(**{**own, "x": 0 * own["x"], "rho": 0 * own["rho"]})


@pytest.mark.parametrize("n", [1, 2])
def test_sizes_at_which_diagonals_leave_the_matrix(n: int) -> None:
    values = given(n, 3, 2, 1)
    for name in ("moving_average", "tridiagonal", "poisson", "compliance"):
        own = arguments(name, values)
        expected = CASES[name][0](own)
        found, _ = getattr(SYSTEMS, f"{name}_value_and_grad")(**own)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_without_a_promise_a_diagonal_is_not_divided_by() -> None:
    spec = HEAD + (
        "dims: {p: 400, k: 5}\n"
        "inputs: {L: [p, k], psi: [p], r: [p]}\n"
        "functions:\n"
        "  f:\n"
        "    where: S = diag(psi) + L @ L.T\n"
        "    expr: r @ solve(S, r)\n"
    )
    assert "S = L @ L.T" in tensorgen.generate(spec)
    promised = spec.replace("psi: [p]", "psi: {shape: [p], positive: true}")
    assert "S = L @ L.T" not in tensorgen.generate(promised)


def test_cupy_solves_as_numpy_does() -> None:
    with stand_in() as cupy:
        source = tensorgen.generate(SPEC, backend="cupy")
        module = execute(source)
        for name in CASES:
            own = arguments(name, SMALL)
            moved = {k: cupy.asarray(v) if np.ndim(v) else v for k, v in own.items()}
            value, gradient = getattr(module, f"{name}_value_and_grad")(**moved)
            expected = getattr(SYSTEMS, f"{name}_value_and_grad")(**own)
            np.testing.assert_allclose(value.get(), expected[0], rtol=1e-9)
            parts = gradient if isinstance(gradient, tuple) else (gradient,)
            others = expected[1] if isinstance(gradient, tuple) else (expected[1],)
            for part, other in zip(parts, others, strict=True):
                np.testing.assert_allclose(part.get(), other, rtol=1e-8, atol=1e-10)


def test_a_toeplitz_matrix_takes_no_square_array_to_solve_with() -> None:
    own = arguments("stationary", given(3000, 2, 2, 1))
    SYSTEMS.stationary(**arguments("stationary", SMALL))  # imports
    tracemalloc.start()
    SYSTEMS.stationary(**own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_a_toeplitz_matrix_that_breaks_its_promise_is_refused() -> None:
    own = arguments("stationary", SMALL)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        SYSTEMS.stationary(**{**own, "theta": -0.9})
