"""Derivatives of named quotients are over them, and what they are without names."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorgen
from tests.passes.witnesses import PROFILE

SPEC = """
tensorgen: 1
inputs: {x: [m, d], w: [d], mu: [m, d], sigma: [m, d], lam: scalar}
functions:
  f:
    where: |
%s
    expr: %s
    wrt: [x]
    emit: [value, gradient, hvp]
"""

UNIT = (["r = norm(x, axis=1)", "u[i, k] = x[i, k] / r[i]"], "sum((u @ u.T)**4)")
COLUMNS = (
    ["c = x - mean(x, axis=0)", "s = sqrt(mean(c**2, axis=0))", "Z = c / s"],
    "sum((Z.T @ Z / m - 1)**2) + sum(tanh(Z @ w))",
)
SCORES = (
    ["z = lam * (x - mu) / sigma"],
    "sum(log(1 + z**2)) + sum(x**3 / sigma)",
)
RETURNS = (
    [
        "r = x @ w",
        "a = mean(r)",
        "sd = sqrt(mean((r - a)**2))",
        "z = (r - a) / sd",
        "skew = mean(z**3)",
    ],
    "(a - lam) / sd + skew",
)
BY_NAME = {"unit": UNIT, "columns": COLUMNS, "scores": SCORES, "returns": RETURNS}
NAMELESS = {
    "unit": (
        ["r = norm(x, axis=1)"],
        "sum((v @ v.T)**4)".replace("v", "(x / norm(x, axis=1, keepdims=True))"),
    ),
    "columns": (
        ["c = x - mean(x, axis=0)", "s = sqrt(mean(c**2, axis=0))"],
        "sum(((c / s).T @ (c / s) / m - 1)**2) + sum(tanh((c / s) @ w))",
    ),
    "scores": (
        ["t = x - mu"],
        "sum(log(1 + (lam * t / sigma)**2)) + sum(x**3 / sigma)",
    ),
    "returns": (
        ["r = x @ w", "a = mean(r)"],
        "(a - lam) / D + mean(((r - a) / D)**3)".replace("D", "sqrt(mean((r - a)**2))"),
    ),
}


def spec(where: list[str], expr: str) -> str:
    return SPEC % ("\n".join(" " * 6 + line for line in where), expr)


def code(text: str, function: str) -> str:
    source = re.sub(r'"""[\s\S]*?"""', "", tensorgen.generate(text))
    if f"def {function}(" not in source:  # it is no function of its own
        function = "f_value_and_grad"
    return source.partition(f"def {function}(")[2].partition("\n\n\n")[0]


@pytest.mark.parametrize("name", BY_NAME)
def test_values_are_those_of_the_function_without_names(name: str) -> None:
    rng = np.random.default_rng(3)
    given = {
        "x": rng.normal(size=(7, 4)),
        "w": rng.normal(size=4),
        "mu": rng.normal(size=(7, 4)),
        "sigma": rng.uniform(1, 2, (7, 4)),
        "lam": 0.7,
    }
    texts = [spec(*BY_NAME[name]), spec(*NAMELESS[name])]
    own, other = map(tensorgen.load, texts)
    used = {
        x: v for x, v in given.items() if re.search(rf"\b{x}\b", str(BY_NAME[name]))
    }
    np.testing.assert_allclose(own.f_grad(**used), other.f_grad(**used), rtol=1e-10)
    used["dx"] = rng.normal(size=(7, 4))
    found, wanted = own.f_hvp(**used), other.f_hvp(**used)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def test_a_norm_that_is_divided_by_is_no_sum_of_squares_again() -> None:
    text = code(spec(*UNIT), "_f_grad")
    assert "u" in text
    assert "_inverse" not in text
    assert "x**2" not in text
    assert "r**" not in text


def test_columns_are_differentiated_as_an_expert_does() -> None:
    text = code(spec(*COLUMNS), "_f_grad")
    assert re.search(r"(parts\.)?Z \* ", text)
    assert "norm" not in text
    assert "s**" not in text


def test_scores_over_a_number_with_a_name_are_kept() -> None:
    text = code(spec(*RETURNS), "_f_grad")
    assert "z_squared" in text
    assert re.search(r"/ (\(m \* )?(parts\.)?sd\b", text)
    assert text.count("norm") <= text.count("sd = _norm(")


def test_a_divisor_over_sizes_is_opened_where_that_costs_less() -> None:
    text = "tensorgen: 1" + PROFILE
    assert " v = " in code(text, "f_grad")
    assert "n_over_r_dot_r = n / r_dot_r" in code(text, "f_hess")


def test_no_number_that_may_be_0_is_divided_by() -> None:
    module = tensorgen.load(spec(*SCORES))
    x, sigma = np.array([[1.0, -2.0]]), np.array([[2.0, 1.5]])
    found = module.f_grad(x, np.zeros((1, 2)), sigma, 0.0)
    np.testing.assert_allclose(found, 3 * x**2 / sigma)


def test_what_is_only_summed_and_divided_is_opened_once() -> None:
    module = tensorgen.load("""
tensorgen: 1
inputs: {x: [m, d]}
functions:
  f: {where: "r = mean(x, axis=1)", expr: sum(r**2), wrt: x, emit: [gradient]}
""")
    x = np.arange(6.0).reshape(2, 3)
    expected = 2 * x.mean(axis=1, keepdims=True) / 3 + 0 * x
    np.testing.assert_allclose(module.f_grad(x), expected)
