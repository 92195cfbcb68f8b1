"""Derivatives on the symmetric matrices, against closed forms."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen

Array = Any

RANDOM = np.random.default_rng(5)
N = 3
ROOT = RANDOM.normal(size=(N, N))
K = ROOT @ ROOT.T + np.eye(N)
A = RANDOM.normal(size=(N, N))
D = RANDOM.normal(size=(N, N))
a, b = RANDOM.normal(size=(2, N))
INVERSE = np.linalg.inv(K)


def even(x: Array, first: int = 0) -> Array:
    """Return the mean of an array and itself with two axes swapped."""
    return (x + np.swapaxes(x, first, first + 1)) / 2


def module(expression: str, emit: str, wrt: str = "{K: symmetric}") -> ModuleType:
    """Load a spec of one function."""
    return tensorgen.load(
        "tensorgen: 1\nmodule: one\ndims: {n: 3}\n"
        "inputs: {K: {shape: [n, n], symmetric: true}, A: [n, n], a: [n], b: [n]}\n"
        "functions:\n  f:\n"
        f"    expr: {expression}\n    wrt: {wrt}\n    emit: {emit}\n"
    )


@pytest.mark.parametrize(
    ("expression", "given", "expected"),
    [
        ("tr(A @ K)", {"A": A}, even(A)),
        ("a @ K @ b", {"a": a, "b": b}, (np.outer(a, b) + np.outer(b, a)) / 2),
        ("logdet(K)", {}, INVERSE),
        (
            "a @ solve(K, b)",
            {"a": a, "b": b},
            -even(INVERSE @ np.outer(a, b) @ INVERSE),
        ),
        ("sum(K**2) / 2", {}, K),
    ],
)
def test_a_gradient_is_projected(
    expression: str, given: dict[str, Array], expected: Array
) -> None:
    found = module(expression, "[gradient]").f_grad(K=K, **given)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_gradient_gives_the_slope_along_symmetric_directions() -> None:
    loaded = module("sum(expm(K) * A)", "[value, gradient]")
    gradient = loaded.f_grad(K, A)
    h, way = 1e-5, even(D)
    slope = (loaded.f(K + h * way, A) - loaded.f(K - h * way, A)) / (2 * h)
    np.testing.assert_allclose(np.vdot(gradient, way), slope, rtol=1e-8)
    np.testing.assert_array_equal(gradient, gradient.T)


def test_a_hessian_is_projected_on_both_sides() -> None:
    loaded = module("logdet(K)", "[hessian, dense_hessian, hvp]")
    # d inv(K) = -inv(K) dK inv(K)
    full = -np.einsum("ik,lj->ijkl", INVERSE, INVERSE)
    expected = even(even(full, 0), 2)
    np.testing.assert_allclose(loaded.f_hess(K).dense(), expected, atol=1e-12)
    np.testing.assert_allclose(loaded.f_hess_dense(K), expected, atol=1e-12)
    product = np.einsum("ijkl,kl->ij", expected, D)
    np.testing.assert_allclose(loaded.f_hvp(K, D), product, atol=1e-12)


def test_other_inputs_stay_as_they_are() -> None:
    loaded = module("a @ K @ a", "[gradient, hessian]", "[{K: symmetric}, a]")
    gradient = loaded.f_grad(K, a)
    np.testing.assert_allclose(gradient.K, np.outer(a, a))
    np.testing.assert_allclose(gradient.a, 2 * K @ a)
    mixed = loaded.f_hess(K, a).blocks["K", "a"].dense()
    unit = np.eye(N)
    full = 2 * np.einsum("i,jk->ijk", a, unit)
    np.testing.assert_allclose(mixed, even(full), atol=1e-12)


def test_jacobians_and_products_are_projected() -> None:
    loaded = module("K @ b", "[jacobian, jvp, vjp]")
    expected = even(np.einsum("ij,k->ijk", np.eye(N), b), 1)
    np.testing.assert_allclose(loaded.f_jac(K, b).dense(), expected, atol=1e-12)
    _, tangent = loaded.f_jvp(K, b, D)
    np.testing.assert_allclose(tangent, even(D) @ b)
    _, cotangent = loaded.f_vjp(K, b, a)
    np.testing.assert_allclose(cotangent, even(np.outer(a, b)))


def test_a_derivative_of_third_order_is_projected_on_every_side() -> None:
    found = module("tr(K @ K @ K)", "[3]").f_d3(K).dense()
    plain = module("tr(K @ K @ K)", "[3]", "K").f_d3(K).dense()
    np.testing.assert_allclose(found, even(even(even(plain), 2), 4), atol=1e-12)


def test_the_docstring_states_the_convention() -> None:
    loaded = module("logdet(K)", "[value, gradient]")
    assert "on the symmetric matrices" in " ".join(str(loaded.__doc__).split())
    assert "on the symmetric matrices" not in " ".join(loaded.f.__doc__.split())


def test_entries_are_independent_without_it() -> None:
    found = module("a @ K @ b", "[gradient]", "K").f_grad(K, a=a, b=b)
    np.testing.assert_allclose(found, np.outer(a, b))
