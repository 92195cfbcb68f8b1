"""A weighted product of a matrix with itself is half a product, exactly symmetric."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """
tensorgen: 1
module: mirrored
inputs: {{{inputs}}}
functions:
  f:
    expr: {expr}
{where}
"""
INPUTS = (
    "X: [m, n], S: {shape: [n, n], symmetric: true}, w: [n], y: [m], "
    "p: {shape: [m], positive: true}"
)
FIT = "    wrt: w\n    emit: [hessian]"


def made(expr: str, rest: str = "") -> str:
    return SPEC.format(inputs=INPUTS, expr=expr, where=rest)


def arguments() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    S = rng.normal(size=(5, 5))
    return {
        "X": rng.normal(size=(7, 5)),
        "S": S + S.T,
        "w": rng.normal(size=5),
        "y": rng.normal(size=7),
        "p": rng.random(7),
    }


def called(spec: str, name: str) -> Any:
    given = arguments()
    text = generate(spec)
    names = [x for x in given if f"    {x} : array" in text]
    return getattr(load(spec), name)(**{x: given[x] for x in names})


MIRRORED = {
    "X.T @ diag(p) @ X": lambda X, p, y, S: X.T @ np.diag(p) @ X,
    "X.T @ diag(y**2 * exp(y)) @ X": lambda X, p, y, S: (
        X.T @ np.diag(y**2 * np.exp(y)) @ X
    ),
    "-3 * X.T @ diag(p) @ X": lambda X, p, y, S: -3 * X.T @ np.diag(p) @ X,
    "X @ diag(exp(y @ X)) @ X.T": lambda X, p, y, S: X @ np.diag(np.exp(y @ X)) @ X.T,
    "S @ diag(exp(y @ X)) @ S": lambda X, p, y, S: S @ np.diag(np.exp(y @ X)) @ S,
}


@pytest.mark.parametrize("expr", MIRRORED)
def test_weights_that_are_never_negative_go_to_both_sides(expr: str) -> None:
    found = called(made(expr), "f")
    given = arguments()
    del given["w"]
    np.testing.assert_allclose(found, MIRRORED[expr](**given), rtol=1e-12)
    assert (found == found.T).all()


@pytest.mark.parametrize("weights", ["y", "y**3", "sin(p)", "y*exp(p)"])
def test_weights_of_unknown_sign_stay_where_they_are(weights: str) -> None:
    text = generate(made(f"X.T @ diag({weights}) @ X"))
    assert "sqrt" not in text
    found = called(made(f"X.T @ diag({weights}) @ X"), "f")
    given = arguments()
    values = eval(weights, {"sin": np.sin, "exp": np.exp}, given)
    expected = given["X"].T @ np.diag(values) @ given["X"]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize(
    ("expr", "matrix"), [("logsumexp(X @ w)", "X"), ("log(sum(exp(S @ w)))", "S")]
)
def test_a_covariance_is_centred_on_both_sides(expr: str, matrix: str) -> None:
    spec = made(expr, FIT)
    H = called(spec, "f_hess").dense()
    given = arguments()
    A = given[matrix]
    p = np.exp(A @ given["w"])
    p /= p.sum()
    expected = A.T @ np.diag(p) @ A - np.outer(A.T @ p, A.T @ p)
    np.testing.assert_allclose(H, expected, rtol=1e-9, atol=1e-12)
    assert (H == H.T).all()
    assert re.search(r"\b(\w+)\.T @ \1\b", generate(spec))
