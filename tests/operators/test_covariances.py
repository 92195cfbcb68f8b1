"""Variances and covariances keep their digits far from the origin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tensorgen

FAR = 1e8

SPEC = """
tensorgen: 1
inputs: {x: [n], y: [n], X: [n, m], z: [4]}
functions:
  f:
    expr: "%s"
    wrt: %s
    emit: [value, gradient, dense_hessian]
"""

TEXTS = {
    "mean(x**2) - mean(x)**2": ("x", "x"),
    "(sum(x * x) - sum(x)**2 / n) / n": ("x", "x"),
    "mean(x * y) - mean(x) * mean(y)": ("x", "y"),
    "mean(y * x) - mean(y) * mean(x)": ("x", "y"),
}


def covariance(x: list[float], y: list[float]) -> Fraction:
    """The mean of the products of deviations, exactly."""
    n = len(x)
    means = [sum(map(Fraction, v), Fraction(0)) / n for v in (x, y)]
    pairs = zip(x, y, strict=True)
    deviations = ((Fraction(a) - means[0]) * (Fraction(b) - means[1]) for a, b in pairs)
    return sum(deviations, Fraction(0)) / n


@pytest.mark.parametrize("text", TEXTS)
def test_a_mean_of_products_less_a_product_of_means(text: str) -> None:
    given = {"x": [FAR, FAR + 1, FAR + 4], "y": [FAR + 3, FAR - 1, FAR]}
    module = tensorgen.load(SPEC % (text, "x"))
    left, right = TEXTS[text]
    used = {name: given[name] for name in (left, right)}
    exact = covariance(given[left], given[right])
    assert module.f(**used) == pytest.approx(float(exact), rel=1e-14)
    near = np.array(given[right]) - FAR
    other = near - np.mean(near)
    scale = 2 / 3 if left == right else 1 / 3
    np.testing.assert_allclose(module.f_grad(**used), scale * other, rtol=1e-14)


def test_of_columns_and_of_a_size_that_is_a_number() -> None:
    X = np.array([[FAR, 1.0], [FAR + 1, 5.0], [FAR + 2, 6.0]])
    text = "sum(mean(X**2, axis=0) - mean(X, axis=0)**2)"
    module = tensorgen.load(SPEC % (text, "X"))
    assert module.f(X) == pytest.approx(2 / 3 + 14 / 3, rel=1e-14)
    module = tensorgen.load(SPEC % ("sum(z**2) / 4 - (sum(z) / 4)**2", "z"))
    assert module.f([FAR, FAR + 1, FAR + 2, FAR + 3]) == 1.25


def test_matrices_of_covariances() -> None:
    X = np.array([[FAR, 1.0], [FAR + 1, 5.0], [FAR + 2, 6.0]])
    spec = "tensorgen: 1\ninputs: {X: [n, m]}\nfunctions:\n  C[i, j]: %s\n"
    text = "sum(X[k, i] * X[k, j], k) / n - mean(X, axis=0)[i] * mean(X, axis=0)[j]"
    C = tensorgen.load(spec % text).C(X)
    np.testing.assert_allclose(C, np.cov(X.T, bias=True), rtol=1e-14)


def test_what_is_no_covariance_stays() -> None:
    x, y = np.array([1.0, 2.0, 4.0]), np.array([3.0, 1.0, 1.0])
    for text, value in (
        ("mean(x**2) - mean(x)**2 / 2", 7 - 49 / 18),
        ("mean(x * y) - mean(x) * mean(x)", 3 - 49 / 9),
        ("mean(x**2) - mean(y)**2", 7 - 25 / 9),
        ("mean(x**2) + mean(x)**2", 7 + 49 / 9),
        ("sum(x**2) - sum(x)**2", 21 - 49),
    ):
        module = tensorgen.load(SPEC % (text, "x"))
        used = {"x": x, "y": y} if "y" in text else {"x": x}
        assert module.f(**used) == pytest.approx(value, rel=1e-14)
