"""Tensors that are promised to be symmetric: the promise counts, and in one place only.

Expected values are written out for any tensor, so that they use no symmetry.
"""

from __future__ import annotations

from itertools import permutations
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen

Array = Any

SPEC = """\
tensorgen: 1
dims: {n: 20, m: 6}
inputs:
  x: [n]
  T: {shape: [n, n, n], symmetric: PROMISE}
functions:
  f:
    expr: sum(T[i, j, k] * x[i] * x[j] * x[k], i, j, k)
    wrt: x
    emit: [value, gradient, hessian, hvp, 3]
  by_T:
    expr: sum(T[i, j, k] * x[i] * x[j]**2 * x[k], i, j, k)
    wrt: T
    emit: [gradient]
"""


def symmetric(order: int, n: int) -> Array:
    """Return the mean of a random tensor over all exchanges of its axes."""
    made = np.random.default_rng(order).normal(size=(n,) * order)
    turned = [made.transpose(axes) for axes in permutations(range(order))]
    return np.mean(turned, axis=0)


@pytest.fixture(scope="module", params=["all", "[0, 1, 2]"])
def promised(request: pytest.FixtureRequest) -> ModuleType:
    return tensorgen.load(SPEC.replace("PROMISE", request.param))


def test_derivatives_of_a_cubic_form(promised: ModuleType) -> None:
    x, T = np.linspace(-1, 2, 5), symmetric(3, 5)
    v = np.cos(x)
    turned = [T.transpose(axes) for axes in permutations(range(3))]
    close = np.testing.assert_allclose
    close(promised.f(x, T), np.einsum("ijk,i,j,k", T, x, x, x))
    slopes = [np.einsum("ijk,j,k", t, x, x) for t in turned]
    close(promised.f_grad(x, T), sum(slopes) / 2)
    hess = sum(np.einsum("ijk,k", t, x) for t in turned)
    close(promised.f_hess(x, T).dense(), hess)
    close(promised.f_hvp(x, T, v), hess @ v)
    close(promised.f_d3(x, T).dense(), sum(turned))


def test_the_gradient_is_one_contraction(promised: ModuleType) -> None:
    gradient, hessian = promised.f_grad.__doc__, promised.f_hess.__doc__
    assert gradient and "grad[i] = 3 * sum_j,k T[i, j, k] * x[j] * x[k]\n" in gradient
    assert hessian and "hess[i, j] = 6 * sum_k T[i, j, k] * x[k]\n" in hessian
    assert "Cost: 2*n**3 flops" in gradient and "Cost: 2*n**3 flops" in hessian


def test_of_matrices_in_a_stack_only_these_are_symmetric() -> None:
    module = tensorgen.load(SPEC.replace("PROMISE", "true"))
    x, T = np.linspace(-1, 2, 5), np.random.default_rng(0).normal(size=(5, 5, 5))
    T = T + T.transpose(0, 2, 1)
    expected = np.einsum("ijk,j,k->i", T, x, x) + 2 * np.einsum("jik,j,k->i", T, x, x)
    np.testing.assert_allclose(module.f_grad(x, T), expected)
    doc = module.f_grad.__doc__
    assert doc and "3 * " not in doc


def test_entries_count_as_independent_for_derivatives(promised: ModuleType) -> None:
    x, T = np.linspace(-1, 2, 5), symmetric(3, 5)
    expected = np.einsum("i,j,k->ijk", x, x**2, x)
    np.testing.assert_allclose(promised.by_T_grad(x, T), expected)


def test_groups_of_axes_may_be_exchanged() -> None:
    module = tensorgen.load("""\
tensorgen: 1
dims: {n: 20, m: 6}
inputs:
  x: [n]
  S: [m, m]
  C: {shape: [m, n, m, n], symmetric: [[0, 2], [1, 3]]}
functions:
  f:
    expr: sum(exp(S[a, b]) * C[a, i, b, j] * x[i] * x[j], a, b, i, j)
    wrt: [x, S]
    emit: [gradient, hessian]
""")
    rng = np.random.default_rng(1)
    C = rng.normal(size=(2, 3, 2, 3))
    C = C + C.transpose(2, 1, 0, 3)
    C = C + C.transpose(0, 3, 2, 1)
    x, S = rng.normal(size=3), rng.normal(size=(2, 2))
    gradient = module.f_grad(x, S, C)
    left = np.einsum("ab,aibj,j->i", np.exp(S), C, x)
    right = np.einsum("ab,ajbi,j->i", np.exp(S), C, x)
    np.testing.assert_allclose(gradient.x, left + right)
    by_S = np.exp(S) * np.einsum("aibj,i,j->ab", C, x, x)
    np.testing.assert_allclose(gradient.S, by_S)
    twice = np.einsum("ab,aibj->ij", np.exp(S), C)
    hess = module.f_hess(x, S, C).blocks["x", "x"].dense()
    np.testing.assert_allclose(hess, twice + twice.T)
    doc = module.f_grad.__doc__
    assert doc and "grad_x[i] = 2 * " in doc


def test_a_form_of_order_four() -> None:
    module = tensorgen.load("""\
tensorgen: 1
dims: {n: 10}
inputs: {x: [n], Q: {shape: [n, n, n, n], symmetric: all}}
functions:
  f: {expr: "einsum('ijkl,i,j,k,l->', Q, x, x, x, x)", wrt: x, emit: [gradient, 4]}
  traces: sum(Q[i, i, j, j], i, j) - sum(Q[i, j, j, i], i, j)
""")
    x, Q = np.linspace(-1, 2, 4), symmetric(4, 4)
    expected = 4 * np.einsum("ijkl,j,k,l->i", Q, x, x, x)
    np.testing.assert_allclose(module.f_grad(x, Q), expected)
    np.testing.assert_allclose(module.f_d4(x, Q).dense(), 24 * Q)
    assert module.traces(Q) == 0
