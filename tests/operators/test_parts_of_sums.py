"""Parts of arrays of exponentials: a part is read, and nothing is summed for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgen

CASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "a number": ("log((exp(a[0])*z)[:-1])", lambda a, x, z, q: a[0] + np.log(z[:-1])),
    "an array": ("log((exp(x)*z)[1:])", lambda a, x, z, q: (x + np.log(z))[1:]),
    "a column": (
        "log((exp(a[1])*q[:, 1])[1:])",
        lambda a, x, z, q: a[1] + np.log(q[1:, 1]),
    ),
    "one more": (
        "log((exp(x)*z)[:-1] + 1)",
        lambda a, x, z, q: np.log1p(z * np.exp(x))[:-1],
    ),
    "reversed": ("log((exp(x)*z)[::-1])", lambda a, x, z, q: (x + np.log(z))[::-1]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_part_costs_what_it_has(name: str) -> None:
    expr, by_hand = CASES[name]
    spec = (
        "tensorgen: 1\ninputs: {a: [2], x: [n], z: [n], q: [n, 3]}\nfunctions:\n"
        f"  f: {{expr: 'sum({expr}) + sum(a) + sum(x) + sum(z) + sum(q)', "
        "wrt: [a, x], emit: [value, gradient]}\n"
    )
    text = tensorgen.generate(spec)
    assert not re.search(r"Cost: .*n\*\*2", text), text
    module = tensorgen.load(spec)
    rng = np.random.default_rng(3)
    a, x = rng.normal(size=2), rng.normal(size=6)
    z, q = rng.uniform(1, 2, 6), rng.uniform(1, 2, (6, 3))

    def wanted(a: Any, x: Any) -> float:
        own = np.sum(by_hand(a, x, z, q))
        return float(own + np.sum(a) + np.sum(x) + np.sum(z) + np.sum(q))

    value, gradient = module.f_value_and_grad(a, x, z, q)
    assert value == pytest.approx(wanted(a, x), rel=1e-12)
    for k in range(6):
        e = 1e-6 * np.eye(6)[k]
        slope = (wanted(a, x + e) - wanted(a, x - e)) / 2e-6
        assert gradient.x[k] == pytest.approx(slope, rel=1e-7)
    assert np.isfinite(module.f(a, x + 1000, z, q))  # nothing overflows
