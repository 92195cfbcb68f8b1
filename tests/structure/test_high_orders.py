"""Derivatives of high order are closed or sparse as those of lower order are."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np
import pytest

import tensorgen

pytestmark = pytest.mark.thorough

RNG = np.random.default_rng(0)


def spec(expr: str, order: int, inputs: str = "{x: [n]}") -> str:
    return (
        f"tensorgen: 1\nmodule: case\ninputs: {inputs}\nfunctions:\n"
        f"  f:\n    expr: '{expr}'\n    wrt: x\n    emit: [value, {order}]\n"
    )


def loaded(expr: str, order: int, inputs: str = "{x: [n]}") -> Any:
    return tensorgen.load(spec(expr, order, inputs))


def along(f: Any, x: np.ndarray, v: np.ndarray, order: int) -> float:
    """The derivative along a direction, from values around a circle (Cauchy)."""
    count, radius = 64, 0.4
    turns = np.exp(2j * np.pi * np.arange(count) / count)
    values = np.array([f(x + radius * turn * v) for turn in turns])
    mean = (values / turns**order).mean()
    return float(mean.real) * factorial(order) / radius**order


CASES: dict[str, tuple[str, int, int, Callable[[np.ndarray], Any]]] = {
    # An expression, the order, the numbers held of 7**order, and the same in NumPy.
    "logsumexp": ("log(sum(exp(x)))", 5, 7, lambda x: np.log(np.exp(x).sum())),
    "norm": ("norm(x)", 5, 15, lambda x: np.sqrt((x**2).sum())),
    "chain": (
        *("sum(exp(x[1:] * x[:-1]))", 6, 6 * 7),
        lambda x: np.exp(x[1:] * x[:-1]).sum(),
    ),
    # Of three neighbours, each derivative once for every element: binomial(3 + 4, 5),
    "triples, order 5": (
        *("sum(sin(x[i] * x[i+1] * x[i+2]), i)", 5, 21 * 5),
        lambda x: np.sin(x[2:] * x[1:-1] * x[:-2]).sum(),
    ),
    # binomial(3 + 5, 6),
    "triples, order 6": (
        *("sum(exp(x[:-2] * x[1:-1] * x[2:]))", 6, 28 * 5),
        lambda x: np.exp(x[2:] * x[1:-1] * x[:-2]).sum(),
    ),
    # binomial(2 + 7, 8) of two, and beside other terms.
    "pairs": (
        *("sum(exp(x[1:] * x[:-1])) + sum(x**9)", 8, 9 * 6 + 7),
        lambda x: np.exp(x[1:] * x[:-1]).sum() + (x**9).sum(),
    ),
    "every second": (
        *("sum(log(1 + exp(x[i] - 2*x[i+2] + x[i+4])), i)", 5, 21 * 3),
        lambda x: np.log(1 + np.exp(x[:-4] - 2 * x[2:-2] + x[4:])).sum(),
    ),
    "places between": (  # which are not read, but have room
        *("sum(sin(x[i] * x[i+1] * x[i+3]), i)", 5, 56 * 4),
        lambda x: np.sin(x[3:] * x[1:-2] * x[:-3]).sum(),
    ),
    "chains of chains": (
        *("sum(sin((x[1:] * x[:-1])[1:] * (x[1:] * x[:-1])[:-1]))", 5, 21 * 5),
        lambda x: np.sin(x[:-2] * x[1:-1] ** 2 * x[2:]).sum(),
    ),
    "triples": (
        *("sum(sin(x[i] * x[i+1] * x[i+2]), i)", 4, 10 * 7),
        lambda x: np.sin(x[2:] * x[1:-1] * x[:-2]).sum(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_derivative_of_high_order_holds_few_numbers(name: str) -> None:
    expr, order, numbers, value = CASES[name]
    module = loaded(expr, order)
    x, v = RNG.uniform(0.6, 1, size=7), RNG.normal(size=7) / 4
    D = getattr(module, f"f_d{order}")(x)
    assert D.nbytes <= 8 * numbers
    found = D.contract(*[v] * order)
    expected = along(value, x, v, order)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    other = RNG.normal(size=7)
    once = D.contract(*[v] * (order - 1))
    np.testing.assert_allclose(other @ once, D.contract(other, *[v] * (order - 1)))
    mixed = [other, *[v] * (order - 1)]
    np.testing.assert_allclose(D.contract(*mixed), D.contract(*mixed[::-1]))


def rows(x: np.ndarray) -> Any:
    return np.sin(x[:-2] * x[1:-1] * x[2:]).sum()


NEIGHBOURS: dict[str, tuple[str, str, tuple[int, ...], int, Any]] = {
    # Inputs, an expression, a shape, the numbers held of order five, the sum in NumPy.
    "an entry of f": ("{x: [n]}", "sin(x[:-2] * x[1:-1] * x[2:])", (7,), 21 * 5, rows),
    "rows": ("{x: [n, m]}", "sum(sin(x[:-2] * x[1:-1] * x[2:]))", (4, 2), 21 * 4, rows),
    "a diagonal": (
        *("{x: [n, n]}", "sum(sin(x[i,j] * x[i+1,j+1] * x[i+2,j+2]), i, j)"),
        *((4, 4), 21 * 4),
        lambda x: np.sin(x[:-2, :-2] * x[1:-1, 1:-1] * x[2:, 2:]).sum(),
    ),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_stand_along_any_axes(name: str) -> None:
    inputs, expr, shape, numbers, value = NEIGHBOURS[name]
    module = loaded(expr, 5, inputs)
    x, v = RNG.uniform(0.6, 1, size=shape), RNG.normal(size=shape) / 4
    D = module.f_d5(x)
    assert D.nbytes == 8 * numbers
    found = D.contract(v, v, v, v, v).sum()
    expected = along(value, x, v, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_what_is_far_apart_is_no_neighbour() -> None:
    far = loaded("sum(sin(x[i] * x[i+1] * x[i+9]), i)", 5)
    assert far.f_d5(np.ones(10)).structure == "dense"


def test_a_module_names_each_derivative_of_neighbours_once() -> None:
    text = tensorgen.generate(spec("sum(sin(x[i] * x[i+1] * x[i+2]), i)", 5))
    assert len({*re.findall(r"\n    A\[:, (\d+)\]", text)}) == 21


def test_networks_of_two_layers_hold_units_and_inputs_apart() -> None:
    text = (
        "tensorgen: 1\nmodule: case\ninputs: {W: [h, d], v: [h], x: [d]}\n"
        "functions:\n  f: {expr: 'tanh(dot(v, tanh(W @ x)))', wrt: W, emit: [value, 5]}"
    )
    module = tensorgen.load(text)
    W, v, x = RNG.normal(size=(3, 2)), RNG.normal(size=3), RNG.normal(size=2)
    found = module.f_d5(W, v, x)
    # 3^5 numbers of units and the inputs, where the array has 6^5.
    assert found.nbytes == 8 * (3**5 + 2)
    D = RNG.normal(size=(3, 2))
    want = along(lambda W: np.tanh(v @ np.tanh(W @ x)), W, 0.1 * D, 5) * 1e5
    assert np.vdot(found.contract(D, D, D, D), D) == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize(
    "text",
    ["sum(exp(w))", "logsumexp(X @ w)", "sum(w**4) + sum((A @ w)**3)", "sum(w)**3"],
)
def test_objects_offer_what_they_do(text: str) -> None:
    """A tensor of order 3 is no matrix: it has no shape of one, and no product."""
    module = tensorgen.load(
        "tensorgen: 1\ninputs: {w: [n], X: [m, n], A: [n, n]}\nfunctions:\n"
        f'  f: {{expr: "{text}", wrt: w, emit: [3]}}\n'
    )
    given = {"w": np.ones(3), "X": np.ones((4, 3)), "A": np.eye(3)}
    held = module.f_d3(*(given[x] for x in module.f_d3.__annotations__ if x in given))
    offered = {name for name in dir(held) if not name.startswith("_")}
    assert {"contract", "dense", "factors", "tensor_shape"} <= offered
    matrices = "shape matrix coo tocsr tocsc matvec rmatvec dot as_linear_operator"
    assert offered.isdisjoint(matrices.split())
    assert not hasattr(held, "__matmul__")
    for name in offered - {"contract"}:
        member = getattr(held, name)
        if callable(member):
            member()
    np.testing.assert_allclose((2 * held).dense(), 2 * held.dense())
