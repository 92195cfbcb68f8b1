"""Matrices that a spec builds are solved with by the structure that they have."""

from __future__ import annotations

import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests import made
from tests.device.library import execute, stand_in
from tests.system_cases import CASES, HEAD, SPEC, given

pytestmark = pytest.mark.thorough

Array = Any
SMALL = given(13, 20, 11, 3)


@cache
def systems() -> Any:
    return execute(made.both(SPEC)[0])


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
    value, gradient = getattr(systems(), f"{name}_value_and_grad")(**own)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(getattr(systems(), name)(**own), expected, rtol=1e-9)
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
    slope = getattr(systems(), f"{name}_grad")
    ends = (slope(**{**own, by: own[by] + s * step * direction}) for s in (1, -1))
    expected = np.subtract(*ends) / (2 * step)
    if name == "poisson":
        found = systems().poisson_hvp(**own, dd=direction)
    else:
        found = getattr(systems(), f"{name}_hess")(**own) @ direction
    scale = abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * scale)


JOINT = ["autoregression", "garch", "stationary", "heat", "diffusion"]


@pytest.mark.parametrize("name", JOINT)
def test_products_with_joint_hessians_are_slopes_of_the_gradient(name: str) -> None:
    own, by, step = arguments(name, SMALL), CASES[name][2].split(), 1e-5
    into = {x: np.sin(1 + np.arange(np.size(own[x]))) for x in by}
    into = {x: v.reshape(np.shape(own[x])) for x, v in into.items()}

    def slope(sign: int) -> Array:
        moved = {x: own[x] + sign * step * into[x] for x in by}
        return getattr(systems(), f"{name}_grad")(**{**own, **moved})

    found = getattr(systems(), f"{name}_hvp")(**own, **{f"d{x}": into[x] for x in by})
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
    function = getattr(systems(), f"{name}_value_and_grad")
    tracemalloc.start()
    with np.errstate(over="ignore"):  # of determinants themselves
        function(**own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < limit


@pytest.mark.parametrize("name", ["factors", "several"])
def test_low_rank_takes_no_square_array(name: str) -> None:
    own = arguments(name, given(2, 2, 20_000, 3))
    function = getattr(systems(), f"{name}_value_and_grad")
    tracemalloc.start()
    with np.errstate(over="ignore", invalid="ignore"):  # of the determinant itself
        function(**own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


@pytest.mark.parametrize("name", ["arma", "autoregression", "garch"])
def test_a_likelihood_takes_one_solution_and_one_adjoint(name: str) -> None:
    source, _ = made.both(SPEC)
    text = made.source(source, f"{name}_value_and_grad")
    assert text.count(".solve(") == 2


def test_problems_eliminate_once_what_data_make() -> None:
    made = systems().ComplianceProblem(**{k: SMALL[k] for k in ("y", "rho", "a", "b")})
    value, gradient = made.value_and_gradient(SMALL["x"])
    own = arguments("compliance", SMALL)
    expected = systems().compliance_value_and_grad(**own)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)
    dense = systems().compliance_hess(**own).dense()
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
    value, gradient = getattr(systems(), f"{name}_value_and_grad")(**own)
    assert value.dtype == np.float32
    parts = gradient if isinstance(gradient, tuple) else (gradient,)
    assert all(part.dtype == np.float32 for part in parts)
    wide = getattr(systems(), name)(**arguments(name, SMALL))
    np.testing.assert_allclose(value, wide, rtol=1e-2)


def test_singular_matrices_raise() -> None:
    y, d = np.ones(13), np.zeros(13)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        systems().tridiagonal(y=0 * y, d=d)
    own = arguments("compliance", SMALL)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        systems().compliance(**{**own, "x": 0 * own["x"], "rho": 0 * own["rho"]})


@pytest.mark.parametrize("n", [1, 2])
def test_sizes_at_which_diagonals_leave_the_matrix(n: int) -> None:
    values = given(n, 3, 2, 1)
    for name in ("moving_average", "tridiagonal", "poisson", "compliance"):
        own = arguments(name, values)
        expected = CASES[name][0](own)
        found, _ = getattr(systems(), f"{name}_value_and_grad")(**own)
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
    by_parts, _, whole = tensorgen.generate(promised).partition("except _Cancellation")
    assert "S = L @ L.T" not in by_parts
    assert "S = L @ L.T" in whole  # where the parts would cost digits


def test_cupy_solves_as_numpy_does() -> None:
    with stand_in() as cupy:
        module = execute(made.both(SPEC)[1])
        for name in CASES:
            own = arguments(name, SMALL)
            moved = {k: cupy.asarray(v) if np.ndim(v) else v for k, v in own.items()}
            value, gradient = getattr(module, f"{name}_value_and_grad")(**moved)
            expected = getattr(systems(), f"{name}_value_and_grad")(**own)
            np.testing.assert_allclose(value.get(), expected[0], rtol=1e-9)
            parts = gradient if isinstance(gradient, tuple) else (gradient,)
            others = expected[1] if isinstance(gradient, tuple) else (expected[1],)
            for part, other in zip(parts, others, strict=True):
                np.testing.assert_allclose(part.get(), other, rtol=1e-8, atol=1e-10)


def test_a_toeplitz_matrix_takes_no_square_array_to_solve_with() -> None:
    own = arguments("stationary", given(3000, 2, 2, 1))
    systems().stationary(**arguments("stationary", SMALL))  # imports
    tracemalloc.start()
    systems().stationary(**own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_a_toeplitz_matrix_that_breaks_its_promise_is_refused() -> None:
    own = arguments("stationary", SMALL)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        systems().stationary(**{**own, "theta": -0.9})
