"""The inverse of a product with an inverse at one end undoes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.made import code_of

A, R = (np.random.default_rng(k).normal(size=(4, 4)) + 3 * np.eye(4) for k in (0, 1))
W = np.array([0.5, 2.0, 3.0, 1.5])
inv = np.linalg.inv
PRODUCTS = {
    "inv(A) @ R": inv(A) @ R,
    "R @ inv(A)": R @ inv(A),
    "inv(A).T @ R": inv(A).T @ R,
    "2 * R.T @ inv(A).T": 2 * R.T @ inv(A).T,
    "inv(A) @ diag(w)": inv(A) * W,
    "diag(w) @ inv(A).T": W[:, None] * inv(A).T,
    "inv(A) @ diag(w) @ inv(A).T": (inv(A) * W) @ inv(A).T,
    "inv(A).T @ diag(w) @ inv(R)": (inv(A).T * W) @ inv(R),
}


def load(expr: str) -> Any:
    return tensorgen.load(
        "tensorgen: 1\ninputs:\n  A: [n, n]\n  R: [n, n]\n"
        "  w: {shape: [n], positive: true}\n"
        f'functions:\n  f: {{expr: "{expr}", wrt: A, emit: [value, gradient]}}\n'
    )


def given(module: Any) -> dict[str, Any]:
    known = {"A": A, "R": R, "w": W}
    names = module.f.__code__.co_varnames[: module.f.__code__.co_argcount]
    return {name: known[name] for name in names}


@pytest.mark.parametrize("text", PRODUCTS)
@pytest.mark.parametrize("function", ["trace(A @ inv({}))", "logdet({})"])
def test_what_is_undone_is_the_inverse(function: str, text: str) -> None:
    module, M = load(function.format(text)), PRODUCTS[text]
    is_trace = function.startswith("trace")
    expected = np.trace(A @ inv(M)) if is_trace else np.linalg.slogdet(M)[1]
    own = given(module)
    np.testing.assert_allclose(module.f(**own), expected, 1e-12)
    step = np.random.default_rng(2).normal(size=A.shape)
    ends = [module.f(**{**own, "A": A + h * step}) for h in (1e-6, -1e-6)]
    slope = (module.f_grad(**own) * step).sum()
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, 1e-6)


def test_a_covariance_of_a_linear_system_is_not_inverted() -> None:
    module = load("trace(R @ inv(inv(A) @ diag(w) @ inv(A).T))")
    code = code_of(module, "f") + code_of(module, "f_grad")
    assert "linalg" not in code and "_solve" not in code
