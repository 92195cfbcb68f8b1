"""Index arrays in brackets: what NumPy makes of them, and their derivatives."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.made import source

Array = Any

RANDOM = np.random.default_rng(4)
GIVEN: dict[str, Array] = {
    "X": RANDOM.normal(size=(3, 4)),
    "T": RANDOM.normal(size=(3, 4, 2)),
    "y": RANDOM.normal(size=4),
    "row": np.array([0, 2, 2, 1]),
    "column": np.array([3, 1, 0, 1]),
    "side": np.array([1, 1, 0, 1]),
    "label": np.array([1, 3, 0]),
}
HEAD = """tensorgen: 1
inputs:
  X: [m, n]
  T: [m, n, k]
  y: [n]
  row: {shape: [e], index: m}
  column: {shape: [e], index: n}
  side: {shape: [e], index: k}
  label: {shape: [m], index: n}
functions:
"""
POSITIONS = [
    "X[row]",
    "X[:, column]",
    "X[row, column]",
    "T[row, column]",
    "T[row, :, side]",
    "T[0, :, side]",
    "T[:, column, 0]",
    "T[row, 1:, side]",
    "T[row, None, column]",
    "X[arange(m), label]",
    "X[arange(m)[:, None], column]",
    "X[arange(m)[:, None], argsort(X)]",
    "X[:, argsort(y)]",
    "X[:, argsort(y)[0]]",
]


@pytest.mark.parametrize("text", POSITIONS)
def test_index_arrays_stand_in_brackets_as_in_numpy(text: str) -> None:
    array = text[0]
    module = tensorgen.load(
        f'{HEAD}  f: {{expr: "sin({text})", wrt: {array}, emit: [value, vjp]}}\n'
    )
    used = {name: x for name, x in GIVEN.items() if name in text}
    names = {"arange": np.arange, "argsort": np.argsort, "m": 3}
    expected = eval(text, {"__builtins__": {}}, {**names, **used})
    ct = RANDOM.normal(size=expected.shape)
    value, cotangent = module.f_vjp(**used, ct=ct)
    np.testing.assert_allclose(value, np.sin(expected), rtol=1e-14)
    # Places that are computed do not move.
    order = np.argsort(GIVEN["y"] if "y" in used else GIVEN["X"])
    moved = np.zeros(GIVEN[array].shape)
    for at in np.ndindex(moved.shape):
        hit = np.zeros(moved.shape)
        hit[at] = 1
        fixed = {**names, **used, "argsort": lambda _: order}
        share = eval(text, {"__builtins__": {}}, {**fixed, array: hit})
        moved[at] = np.vdot(ct * np.cos(expected), share)
    np.testing.assert_allclose(cotangent, moved, atol=1e-14)


def test_one_permutation_serves_a_sorted_array_and_its_derivatives() -> None:
    text = tensorgen.generate(
        "tensorgen: 1\ninputs: {x: [n], w: [n]}\nfunctions:\n"
        '  f: {expr: "sum(w * sort(x)**2)", wrt: x, emit: [value, gradient, hessian]}\n'
    )
    whole = source(text, "f_value_grad_hess")
    assert whole.count("np.argsort(") == 1


def test_equals_keep_their_order() -> None:
    module = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n"
        "  f: {expr: sort(x), wrt: x, emit: [jacobian]}\n"
    )
    found = module.f_jac(np.array([2.0, 1.0, 2.0, 1.0])).dense()
    np.testing.assert_array_equal(found, np.eye(4)[[1, 3, 0, 2]])


def test_running_products_have_slopes_at_zeros() -> None:
    module = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n"
        "  f: {expr: cumprod(x), wrt: x, emit: [value, jacobian]}\n"
    )
    x = np.array([2.0, 0.0, 3.0, 0.0])
    slopes = [[1, 0, 0, 0], [0, 2, 0, 0], [0, 6, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(module.f_jac(x).dense(), slopes)
    assert module.f(np.zeros(0)).shape == (0,)


def test_running_reductions_of_rows_that_are_read_walk_in_products_too() -> None:
    # The likelihood of rankings: items drop out of the sums from the first to the last.
    text = """tensorgen: 1
inputs: {x: [n], order: {shape: [R, J], index: n}}
functions:
  f:
    expr: 'sum(x[order[r, j]] - logsumexp(x[order[r, l]], l=range(j, J)), r, j)'
    wrt: x
    emit: [gradient, hvp, dense_hessian]
"""
    own = tensorgen.load(text)
    assert "np.tri" not in inspect.getsource(own.f_hvp)
    rng = np.random.default_rng(6)
    given = {
        "x": rng.normal(size=5),
        "order": rng.permuted(np.tile(range(5), (7, 1)), axis=1),
    }
    along = rng.normal(size=5)
    found = own.f_hvp(**given, dx=along)
    np.testing.assert_allclose(found, own.f_hess_dense(**given) @ along, rtol=1e-12)
    ahead, behind = (
        own.f_grad(given["x"] + step * along, order=given["order"])
        for step in (1e-5, -1e-5)
    )
    np.testing.assert_allclose(found, (ahead - behind) / 2e-5, rtol=1e-7)
