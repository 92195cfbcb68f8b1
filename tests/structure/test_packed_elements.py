"""Elements that are symmetric are held once a combination of indices."""

from __future__ import annotations

from itertools import permutations
from math import comb
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.dims import Dim, combinations

pytestmark = pytest.mark.thorough

RNG = np.random.default_rng(0)


def loaded(expr: str, inputs: str, emit: str, wrt: str, dims: str = "{}") -> ModuleType:
    return tensorgen.load(
        f"tensorgen: 1\nmodule: case\ndims: {dims}\ninputs: {inputs}\nfunctions:\n"
        f"  f:\n    expr: '{expr}'\n    wrt: {wrt}\n    emit: [{emit}]\n"
    )


def holds(found: Any, numbers: int, expected: np.ndarray) -> None:
    """Whether an object holds so many numbers, and they are those of a tensor."""
    assert found.nbytes == 8 * numbers
    assert found.tensor_shape == expected.shape
    scale = 1e-7 * abs(expected).max()
    np.testing.assert_allclose(found.dense(), expected, atol=scale)
    order = len(found.columns)
    axes = expected.ndim // order
    directions = [RNG.normal(size=expected.shape[:axes]) for _ in range(order)]
    for count in range(1, order + 1):
        last = directions[-count:]
        along = expected
        for x in reversed(last):
            along = np.tensordot(along, x, axes)
        scale = 1e-6 * max(abs(along).max(), 1)
        np.testing.assert_allclose(found.contract(*last), along, atol=scale)


def slope(function: Any, x: np.ndarray) -> np.ndarray:
    """The derivative of an array by central differences, its axes last."""
    step, found = 1e-4, []
    for k in range(x.size):
        h = np.zeros(x.size)
        h[k] = step
        ahead, back = (function(x + s * h.reshape(x.shape)) for s in (1, -1))
        further, before = (function(x + 2 * s * h.reshape(x.shape)) for s in (1, -1))
        found.append((8 * (ahead - back) - (further - before)) / (12 * step))
    return np.stack(found, axis=-1).reshape(*found[0].shape, *x.shape)


def test_the_third_derivative_of_a_factorisation_holds_a_sixth_of_each_block() -> None:
    module = loaded(
        "sum(log(1 + exp(-Y * (U @ V.T))))",
        "{U: [m, k], V: [n, k], Y: [m, n]}",
        "hessian, 3, 4",
        "U",
        "{m: 10000, n: 500, k: 5}",
    )
    U, V, Y = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=(4, 5))
    third = slope(lambda x: module.f_hess(x, V, Y).dense(), U)
    D = module.f_d3(U, V, Y)
    holds(D, 4 * comb(5, 3), third)  # 27 numbers a block, 10 of which differ
    assert D.structure.endswith("A[i, {j, n, q}] * delta[i, l] * delta[i, p]")
    fourth = slope(lambda x: module.f_d3(x, V, Y).dense(), U)
    holds(module.f_d4(U, V, Y), 4 * comb(6, 4), fourth)


@pytest.mark.parametrize(("order", "numbers"), [(3, 10), (4, 15), (5, 21)])
def test_functions_of_three_variables_hold_what_differs(
    order: int, numbers: int
) -> None:
    # Not the array and what stands on its diagonals besides.
    lower = "hessian" if order == 3 else str(order - 1)
    expr = "sum(1 / sqrt(sum(p[i, a]**2, a)), i)"
    module = loaded(expr, "{p: [n, 3]}", f"{lower}, {order}", "p")
    below = getattr(module, "f_hess" if order == 3 else f"f_d{lower}")
    p = RNG.normal(size=(2, 3))
    expected = slope(lambda x: below(x).dense(), p)
    holds(getattr(module, f"f_d{order}")(p), 2 * numbers, expected)


def test_the_ends_of_an_edge_share_one_packed_block() -> None:
    module = loaded(
        "sum(exp(-sqrt(sum((p[s[i], a] - p[t[i], a])**2, a))), i)",
        "{p: [n, 3], s: {shape: [e], index: n}, t: {shape: [e], index: n}}",
        "hessian, 3",
        "p",
        "{n: 100000, e: 300000}",
    )
    p, s, t = RNG.normal(size=(4, 3)), np.array([0, 1, 3]), np.array([1, 2, 0])
    expected = slope(lambda x: module.f_hess(x, s, t).dense(), p)
    holds(module.f_d3(p, s, t), 3 * (10 + 1 + 1), expected)


def test_of_two_axes_and_of_one_element_nothing_is_packed() -> None:
    module = loaded(
        "sum(log(sum(exp(X[i, a]), a)), i)", "{X: [m, k]}", "hessian, 3", "X"
    )
    assert "{" not in module.FHessian.structure
    module = loaded(
        "sum(log(cosh(X @ w)))", "{X: [m, k], w: [k]}", "3", "w", "{m: 1000, k: 20}"
    )
    X, w = RNG.normal(size=(5, 3)), RNG.normal(size=3)
    D = module.f_d3(X=X, w=w)
    assert D.nbytes == 8 * 27
    for axes in permutations(range(3)):
        np.testing.assert_allclose(D.dense(), D.dense().transpose(axes))


def test_sizes_decide_by_the_packed_numbers() -> None:
    module = loaded(
        "sum(log(1 + exp(-Y * (U @ V.T))))",
        "{U: [m, k], V: [n, k], Y: [m, n]}",
        "3",
        "U",
    )
    m, k = 50, 4
    for n in (5, 15, 25):
        U, V, Y = (RNG.normal(size=size) for size in ((m, k), (n, k), (m, n)))
        D = module.f_d3(U, V, Y)
        assert D.nbytes == 8 * min(m * comb(k + 2, 3), n * k + m * n)


def test_combinations_are_polynomials() -> None:
    n = Dim.symbol("n")
    assert [combinations(n, 3).value({"n": k}) for k in range(4)] == [0, 1, 4, 10]
    assert str(combinations(n, 2)) == "(n*n + n) // 2"
    assert combinations(Dim.of(3), 4) == 15
    assert combinations(n, 3).is_positive()
    assert combinations(n, 2) * 2 == n * n + n
