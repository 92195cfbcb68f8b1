"""Derivatives through sums of sums: terms of the same ties are added up on the way."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen import load

SHOOTING = Path("benchmarks/shooting.yaml")


def point(N: int) -> dict[str, Any]:
    rng = np.random.default_rng(N)
    shapes = {"x": (N + 1, 2), "u": (N,), "lam": (N, 2)}
    return {k: rng.normal(size=s) for k, s in shapes.items()} | {"h": 0.1}


@pytest.fixture(scope="module")
def shooting() -> ModuleType:
    return load(SHOOTING)


def test_runge_kutta_steps_leave_blocks(shooting: ModuleType) -> None:
    H = shooting.f_hess(**point(1000))
    sizes = {pair: block.nbytes // 8 for pair, block in H.pairs.items()}
    assert sizes == {("x", "x"): 4 * 1001, ("x", "u"): 2 * 1001, ("u", "u"): 1000}


def test_the_blocks_are_those_of_the_gradient(shooting: ModuleType) -> None:
    given = point(4)
    H = np.asarray(shooting.f_hess(**given))
    x, u = given["x"], given["u"]
    columns = []
    for k in range(x.size + u.size):
        d = np.eye(1, x.size + u.size, k)[0]
        dx, du = d[: x.size].reshape(x.shape), d[x.size :]
        columns.append(
            np.concatenate(
                [np.ravel(part) for part in shooting.f_hvp(**given, dx=dx, du=du)]
            )
        )
    np.testing.assert_allclose(H, np.array(columns).T, rtol=1e-12, atol=1e-12)


def test_a_newton_step_is_right(shooting: ModuleType) -> None:
    given = point(1000)
    H = shooting.f_hess(**given)
    b = np.random.default_rng(0).normal(size=H.shape[0])
    s = H.solve(b)
    np.testing.assert_allclose(H @ s, b, atol=1e-9 * abs(s).max())


def test_a_chain_of_order_five_holds_a_vector_a_pattern() -> None:
    module = load(
        "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n"
        "  f: {expr: 'sum(exp(x[1:]*x[:-1]))', wrt: x, emit: [4, 5]}\n"
    )
    x = np.random.default_rng(5).normal(size=6)
    found = module.f_d5(x)
    assert found.nbytes == 8 * 5 * 6  # 7,776 numbers dense
    steps = 1e-5 * np.eye(6)
    slopes = [module.f_d4(x + h).dense() - module.f_d4(x - h).dense() for h in steps]
    expected = np.stack(slopes, axis=-1) / 2e-5
    np.testing.assert_allclose(found.dense(), expected, atol=1e-7 * abs(expected).max())
