"""Sums of squares and of products take no array of what they add up."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorgen
from tests.made import generate

SPEC = """tensorgen: 1
module: sums
inputs: {x: [n], y: [n], X: [n, n], Y: [n, n]}
functions: {f: "EXPR"}
"""


@pytest.mark.parametrize(
    ("expr", "product"),
    [
        ("sum(3*x**2 + 2*y**2)", r"@"),
        ("3*sum(x**2) + sum(2*y[i]**2, i)", r"@"),
        ("sum(x[i]**2*3 + (y[i] + y[i])*y[i], i)", r"@"),
        ("sum(X**2 + 2*Y**2)", r"np\.vdot"),
        ("sum(sin(x)**2 + 2*x*y)", r"@"),
    ],
)
def test_each_term_is_an_inner_product(expr: str, product: str) -> None:
    text = generate(SPEC.replace("EXPR", expr)).partition("def _")[0]
    assert len(re.findall(product, text)) == 2
    assert ".sum()" not in text
    module = tensorgen.load(SPEC.replace("EXPR", expr))
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=5), "y": rng.normal(size=5)}
    given |= {"X": rng.normal(size=(5, 5)), "Y": rng.normal(size=(5, 5))}
    taken = {k: v for k, v in given.items() if k in module.f.__annotations__}
    x, y, X, Y = given.values()
    expected = {
        "X": (X**2 + 2 * Y**2).sum(),
        "s": (np.sin(x) ** 2 + 2 * x * y).sum(),
    }.get(expr[4], (3 * x**2 + 2 * y**2).sum())
    assert module.f(**taken) == pytest.approx(expected, rel=1e-12)


def test_terms_that_may_cancel_are_subtracted_entry_by_entry() -> None:
    spec = SPEC.replace("EXPR", "sum(x**2 - y**2)")
    module = tensorgen.load(spec)
    x = abs(np.random.default_rng(0).normal(size=1000))
    assert module.f(x, np.nextafter(x, 2)) < 0
    assert ".sum()" in generate(spec)


@pytest.mark.parametrize(
    "expr",
    [
        "sum(x[:, None]*X + 2*y[:, None]*Y, axis=0)",
        "2*(y @ Y) + x @ X",
        "sum(2*Y.T*y + X.T*x, axis=1)",
    ],
)
def test_each_term_is_a_product_with_a_matrix(expr: str) -> None:
    spec = SPEC.replace("EXPR", expr)
    returned = re.search(r"    return (.*)", generate(spec))
    assert returned is not None
    assert set(returned[1].split(" + ")) == {"X.T @ x", "2 * (Y.T @ y)"}
    rng = np.random.default_rng(0)
    x, y, X, Y = (rng.normal(size=shape) for shape in (5, 5, (5, 5), (5, 5)))
    found = tensorgen.load(spec).f(x=x, y=y, X=X, Y=Y)
    np.testing.assert_allclose(found, x @ X + 2 * y @ Y, rtol=1e-12)


def test_products_of_rows_with_rows_are_added_before_they_are_added_up() -> None:
    text = generate(SPEC.replace("EXPR", "sum(X**2 + X*Y, axis=1)"))
    assert len(re.findall(r"\.sum\(axis", text)) == 1


@pytest.mark.parametrize(
    "expr",
    [
        "log(trace(inv(T @ T.T + 3*eye(n)) @ outer(y, y)))",
        "log(trace(inv(T @ T.T + 3*eye(n)) @ Y))",
        "sqrt(1 + trace(inv(T + 3*eye(n)) @ outer(y, y))**2)",
    ],
)
def test_sums_inside_of_scaled_sums_are_applied_term_by_term(expr: str) -> None:
    function = (
        f"{{where: 'T = tanh(outer(x, x))', expr: '{expr}', wrt: x, emit: hessian}}"
    )
    text = generate(SPEC.replace('"EXPR"', function))
    cost = re.search("Cost: (.*)", text)
    assert cost is not None
    assert "n**4" not in cost[1]
    assert "peak memory" in cost[1]
    assert "n**3" not in cost[1].partition("peak memory")[2]
