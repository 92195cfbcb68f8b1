"""Derivatives on subspaces of matrices, against projections and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgen

Array = Any

RANDOM = np.random.default_rng(11)
K, A, D = RANDOM.normal(size=(3, 3, 3))

PROJECTIONS: dict[str, Callable[[Array], Array]] = {
    "symmetric": lambda x: (x + x.T) / 2,
    "skew": lambda x: (x - x.T) / 2,
    "diagonal": lambda x: np.diag(np.diag(x)),
    "lower": np.tril,
}
SPEC = """
tensorgen: 1
inputs: {K: [n, n], A: [n, n]}
functions:
  f:
    expr: sum(exp(K @ A)) + sum(K**3)
    wrt: {K: SUBSPACE}
    emit: [value, gradient, hessian, dense_hessian, hvp, jvp, vjp]
"""


@pytest.mark.parametrize("subspace", PROJECTIONS)
def test_derivatives_are_projected(subspace: str) -> None:
    project = PROJECTIONS[subspace]
    free = tensorgen.load(SPEC.replace("{K: SUBSPACE}", "K"))
    made = tensorgen.load(SPEC.replace("SUBSPACE", subspace))
    gradient = project(free.f_grad(K, A))
    np.testing.assert_allclose(made.f_grad(K, A), gradient, atol=1e-12)
    along = project(D)
    np.testing.assert_allclose(made.f_jvp(K, A, D)[1], np.sum(gradient * D))
    np.testing.assert_allclose(made.f_vjp(K, A, 2.0)[1], 2 * gradient, atol=1e-12)
    product = project(free.f_hvp(K, A, along))
    np.testing.assert_allclose(made.f_hvp(K, A, D), product, atol=1e-10)
    for hessian in (made.f_hess(K, A).dense(), made.f_hess_dense(K, A)):
        found = np.tensordot(hessian, D, 2)
        np.testing.assert_allclose(found, product, atol=1e-10)


@pytest.mark.parametrize("subspace", PROJECTIONS)
def test_the_gradient_gives_the_slope_along_the_subspace(subspace: str) -> None:
    made = tensorgen.load(SPEC.replace("SUBSPACE", subspace))
    along, h = PROJECTIONS[subspace](D), 1e-6
    slope = (made.f(K + h * along, A) - made.f(K - h * along, A)) / (2 * h)
    assert slope == pytest.approx(np.sum(made.f_grad(K, A) * along), rel=1e-6)


@pytest.mark.parametrize(
    ("subspace", "words"),
    [("skew", "skew-symmetric"), ("lower", "lower triangular")],
)
def test_docstrings_say_on_which_matrices(subspace: str, words: str) -> None:
    made = tensorgen.load(SPEC.replace("SUBSPACE", subspace))
    assert f"on the {words} matrices" in " ".join(str(made.__doc__).split())
