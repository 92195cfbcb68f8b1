"""Of the terms of a symmetric derivative that mirror one another one is held."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests import made

RNG = np.random.default_rng(0)


def loaded(expr: str, inputs: dict[str, str], emit: str, wrt: str = "x") -> Any:
    rows = "".join(f"  {name}: {shape}\n" for name, shape in inputs.items())
    return tensorgen.load(
        f"tensorgen: 1\nmodule: case\ninputs:\n{rows}functions:\n  f:\n"
        f"    expr: |\n      {expr}\n    wrt: {wrt}\n    emit: [{emit}]\n"
    )


CASES: dict[str, tuple[str, dict[str, tuple[int, ...]], int]] = {
    # A band and its mirror.
    "chain": ("sum((x[1:] - x[:-1]**2)**2)", {"x": (9,)}, 2 * 9),
    "second": ("sum((x[2:] - x[1:-1]**2 + x[:-2])**2)", {"x": (9,)}, 3 * 9),
    "ring": ("sum((x[1:] - x[:-1]**2)**2) + (x[0] - x[n-1]**2)**2", {"x": (9,)}, 3 * 9),
    # Both neighbours have the same array.
    "grid": (
        "sum((x[1:, :] - x[:-1, :]**2)**2) + sum((x[:, 1:] - x[:, :-1]**2)**2)",
        {"x": (4, 5)},
        2 * 20,
    ),
    "knight": ("sum((x[1:, :-1] * x[:-1, 1:])**2)", {"x": (4, 5)}, 2 * 20),
    # Blocks that join neighbours.
    "blocks": (
        "sum((x[1:] * (x[:-1] @ A))**2) + norm(x)**2",
        {"x": (6, 3), "A": (3, 3)},
        6 * 9 + 2 * 6 * 3 + 9,
    ),
}


def symbols(shape: tuple[int, ...]) -> str:
    return {1: "[n]", 2: "[m, n]"}[len(shape)] if shape != (3, 3) else "[n, n]"


@pytest.mark.parametrize("name", CASES)
def test_one_half_of_a_hessian_is_held(name: str) -> None:
    expr, shapes, numbers = CASES[name]
    inputs = {key: symbols(shape) for key, shape in shapes.items()}
    module = loaded(expr, inputs, "hessian, dense_hessian")
    values = {key: RNG.normal(size=shape) for key, shape in shapes.items()}
    H, dense = module.f_hess(**values), module.f_hess_dense(**values)
    assert H.nbytes <= 8 * numbers
    size = values["x"].size
    matrix = dense.reshape(size, size)
    v = RNG.normal(size=(size, 2))
    np.testing.assert_allclose(H.dense(), dense, atol=1e-12)
    np.testing.assert_allclose(H @ v, matrix @ v, atol=1e-11)
    np.testing.assert_allclose(H.diagonal().ravel(), np.diagonal(matrix), atol=1e-12)
    for lower in (False, True):
        rows, columns, entries = H.coo(lower)
        found = np.zeros_like(matrix)
        np.add.at(found, (rows, columns), entries)
        np.testing.assert_allclose(found, np.tril(matrix) if lower else matrix)
    shifted = matrix + 50 * np.eye(size)
    np.testing.assert_allclose(shifted @ H.solve(v, shift=50), v, atol=1e-9)


def test_a_chain_of_higher_order_holds_a_vector_a_kind_of_term() -> None:
    module = loaded("sum(exp(x[1:] * x[:-1]))", {"x": "[n]"}, "3")
    x = RNG.normal(size=7)
    D = module.f_d3(x)
    # At (i, i, i), (i, i, i + 1), (i, i + 1, i + 1) and what permutes these.
    assert D.nbytes == 8 * 3 * 7
    shown = "<FDerivativeXXX of shape (7, 7, 7), dtype float64: band: D["
    assert repr(D).startswith(shown)
    whole = D.dense()
    for order in permutations(range(3)):
        np.testing.assert_array_equal(whole, whole.transpose(order))
    a, b = x[2], x[3]
    product = np.exp(a * b)
    assert np.isclose(whole[2, 3, 3], (2 * a + a * a * b) * product)
    assert np.isclose(whole[2, 2, 3], (2 * b + a * b * b) * product)


def test_a_mixed_derivative_exchanges_equal_inputs_alone() -> None:
    module = loaded(
        "sum(y * x[1:]**2 * x[:-1]**2)",
        {"x": "[n]", "y": "[n - 1]"},
        "[x, y, x]",
        wrt="[x, y]",
    )
    x, y = RNG.normal(size=6), RNG.normal(size=5)
    whole = module.f_d_x_y_x(x, y).dense()
    assert whole.shape == (6, 5, 6)
    np.testing.assert_allclose(whole, whole.transpose(2, 1, 0))
    assert np.isclose(whole[2, 2, 3], 4 * x[2] * x[3])
    assert np.isclose(whole[2, 2, 2], 2 * x[3] ** 2)
    assert np.isclose(whole[3, 2, 3], 2 * x[2] ** 2)


def test_what_may_hide_a_band_keeps_both_halves() -> None:
    # The matrix of all pairs could have any of the bands in it.
    module = loaded(
        "sum((x[1:] - x[:-1]**2)**2) + exp(x @ A @ x)",
        {"x": "[n]", "A": "[n, n]"},
        "hessian, dense_hessian",
    )
    x, A = RNG.normal(size=5), RNG.normal(size=(5, 5)) / 9
    H = module.f_hess(x, A)
    np.testing.assert_allclose(H.dense(), module.f_hess_dense(x, A), rtol=1e-12)


HIDING = """
tensorgen: 1
inputs:
  x: [m]
  y: [n]
  row: {shape: [n], index: m}
functions:
  f:
    where: |
      res[j, i, k] = y[i] + x[j] + (y[k] * y[k + 1])
      S[i] = log(1 + exp(res[row[i], n - 1 - i, 0]))
    expr: jvp(S[-1] + S[0], x, x)
    wrt: y
    emit: [hessian, dense_hessian]
"""


@pytest.mark.parametrize("n", [2, 3, 5])
def test_what_other_terms_may_hide_is_not_mirrored(n: int) -> None:
    # For some n an entry beside the diagonal also stands in a term without a delta.
    module = made.load(HIDING)
    arguments: dict[str, Any] = {"x": RNG.normal(size=3), "y": RNG.normal(size=n)}
    arguments["row"] = np.arange(n) % 3
    H, dense = module.f_hess(**arguments), module.f_hess_dense(**arguments)
    np.testing.assert_allclose(H.dense(), dense, atol=1e-12)


def test_two_axes_of_a_matrix_are_no_two_sides_of_an_outer_product() -> None:
    # u[i] * u[l] + u[j] * u[k], in which the vectors are one and their axes differ.
    text = (
        "tensorgen: 1\nmodule: axes\n"
        "inputs: {B: {shape: [n, n], spd: true}, c: scalar}\nfunctions:\n  f:\n"
        "    expr: sqrt(c**2 + mean(B[0])**2)\n"
        "    wrt: {B: symmetric}\n    emit: [hessian]\n"
    )
    # Solutions are checked when they are found, and are right whatever it is handed.
    assert "return _LowRankFactorization(" in made.generate(text)
    hessian = made.load(text).f_hess(np.eye(3) + 0.1, 0.7)
    b = RNG.standard_normal(9)
    dense = hessian.dense().reshape(9, 9)
    assert np.allclose((dense + 2 * np.eye(9)) @ hessian.solve(b, shift=2.0), b)
