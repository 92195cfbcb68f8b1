"""Derivatives of high order are closed or sparse as those of lower order are."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np
import pytest

import tensorgen

RNG = np.random.default_rng(0)


def loaded(expr: str, order: int, inputs: str = "{x: [n]}") -> Any:
    return tensorgen.load(
        f"tensorgen: 1\nmodule: case\ninputs: {inputs}\nfunctions:\n"
        f"  f:\n    expr: '{expr}'\n    wrt: x\n    emit: [value, {order}]\n"
    )


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
