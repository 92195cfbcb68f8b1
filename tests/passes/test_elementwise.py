"""What is computed entry by entry is computed once, and on as few entries as can be."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.made import generate, load, source

HEAD = "tensorgen: 1\nmodule: elementwise\n"
LIKELIHOOD = HEAD + """
inputs: {t: [n], y: [n]}
functions:
  f:
    expr: sum(y*log(1 + exp(-t))) - sum((1 - y)*log(1/(1 + exp(t))))
    wrt: t
    emit: [value, gradient]
  g: {expr: 'sum(y*log(1 + exp(-t)))', wrt: t, emit: [gradient]}
  h: {expr: 'sum(y*log(1 + exp(-t)))', wrt: t, emit: [hessian]}
"""
GAMES = HEAD + """
dims: {n: 20, g: 500}
inputs: {x: [n], s: {shape: [g], index: n}, t: {shape: [g], index: n}}
functions:
  f: {expr: 'sum(log(1 + exp(x[s] - x[t])))', wrt: x, emit: [hessian]}
"""
HUBER = HEAD + """
inputs: {x: [n], c: scalar}
functions:
  f:
    expr: sum(where(abs(x) <= c, x**2/2, where(x > 9, 3*x, c*(abs(x) - c/2))))
    wrt: x
    emit: [value, gradient]
"""
SHIFTED = HEAD + """
inputs: {A: [m, n], u: [m], v: [m], w: [n], s: scalar}
functions:
  f: {expr: 'exp(A + u[:, None] + w - s - v[:, None])'}
"""
GAUSSIAN = HEAD + """
inputs: {x: [n], y: {shape: [n], positive: true}}
functions:
  f: {expr: 'sum((y - exp(x))**2/(2*exp(x)**2*y))', wrt: x, emit: [gradient]}
"""
UNITS = HEAD + """
inputs: {C: [m, n], a: [m], eps: {shape: scalar, positive: true}}
functions:
  f:
    where: |
      u[i] = eps*log(a[i]) - eps*logsumexp(-C[i, j]/eps, j)
      v[j] = -eps*logsumexp((u[i] - C[i, j])/eps, i)
    expr: sum(u) + sum(v)
    wrt: C
    emit: [value, gradient]
"""


def statements(spec: str, name: str) -> str:
    return re.sub(r'"""[\s\S]*?"""', "", source(generate(spec), name))


def test_logistic_functions_of_one_array_share_an_exponential() -> None:
    text = statements(LIKELIHOOD, "f_value_and_grad")
    assert len(re.findall(r" _softplus_\w+\(t\)", text)) == 1
    assert "np.exp(" not in text and "logaddexp" not in text
    text = statements(LIKELIHOOD, "h_hess")
    assert "y * _sigmoid_slope(t)" in text, text


def test_a_weight_that_is_scattered_is_made_once() -> None:
    text = statements(GAMES, "f_hess")
    assert text.count("_sigmoid_slope(") == 1, text
    assert "np.where" not in text


def test_alone_a_logistic_function_stays_a_call() -> None:
    assert "_sigmoid(-t)" in statements(LIKELIHOOD, "g_grad")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_shared_exponential_costs_no_digits(dtype: type) -> None:
    points = [0, -0.0, 1e-30, 0.3, 5, 40, 80, 700, 1e4, 1e30]
    t: Any = np.array([s * x for x in points for s in (1, -1)], dtype)
    module = load(LIKELIHOOD)
    tiny = np.finfo(dtype).tiny
    for y in (np.zeros_like(t), np.ones_like(t)):
        _, grad = module.f_value_and_grad(t, y)
        curve = module.h_hess(t, y).diagonal()
        for k, x in enumerate(map(float, t)):
            with mpmath.workdps(30):
                e = mpmath.exp(-mpmath.mpf(x))
                share = 1 / (1 + e)
                slope = share if not y[k] else -e / (1 + e)
                bend = y[k] * e * share**2 if x > -1e4 else 0
            assert abs(grad[k] - slope) <= 4 * np.finfo(dtype).eps * abs(slope) + tiny
            assert abs(curve[k] - bend) <= 8 * np.finfo(dtype).eps * bend + tiny
            value = module.f_value_and_grad(t[k : k + 1], y[k : k + 1])[0]
            with mpmath.workdps(30):
                exact = mpmath.log1p(mpmath.exp((1 - 2 * float(y[k])) * x))
                exact = exact if abs(x) < 1e4 else max((1 - 2 * float(y[k])) * x, 0)
            assert abs(value - exact) <= 4 * np.finfo(dtype).eps * abs(exact) + tiny


def test_opposite_conditions_are_one_selection() -> None:
    text = statements(HUBER, "f_value_and_grad")
    assert "logical_not" not in text and text.count("np.where(") == 4
    x = np.array([-30, -2, -0.5, 0, 0.5, 2, 30, np.nan])
    _, grad = load(HUBER).f_value_and_grad(x, 1.5)
    expected = np.array([-1.5, -1.5, -0.5, 0, 0.5, 1.5, 3, np.nan])
    np.testing.assert_allclose(grad, expected)


def test_what_has_fewer_axes_is_added_up_first() -> None:
    text = statements(SHIFTED, "f")
    assert "(u - v - s)[:, None]" in text or "(u - s - v)[:, None]" in text, text


def test_what_cancels_in_a_square_leaves_no_square() -> None:
    # (y - mu)**2 + mu * (y - mu) is y * (y - mu).
    text = statements(GAUSSIAN, "f_grad")
    assert "**" not in text and "/ y" not in text, text
    x, y = np.array([-3.0, 0.1, 2.0]), np.array([0.3, 1.1, 7.0])
    expected = -(y - np.exp(x)) * np.exp(-2 * x)
    np.testing.assert_allclose(load(GAUSSIAN).f_grad(x, y), expected, rtol=1e-14)


def test_a_scale_that_cancels_is_neither_divided_by_nor_multiplied_with() -> None:
    text = statements(UNITS, "f_value_and_grad")
    assert text.count("/ eps") == 1 and text.count("eps *") == 1, text
    rng = np.random.default_rng(1)
    C, a = rng.random((4, 3)), rng.random(4)
    value, grad = load(UNITS).f_value_and_grad(C, a, 0.2)
    other, _ = load(UNITS).f_value_and_grad(2 * C, a, 0.4)
    np.testing.assert_allclose(2 * value, other)
    step = rng.normal(size=C.shape)
    ends = [
        load(UNITS).f_value_and_grad(C + h * step, a, 0.2)[0] for h in (1e-5, -1e-5)
    ]
    np.testing.assert_allclose(
        (ends[0] - ends[1]) / 2e-5, (grad * step).sum(), rtol=1e-7
    )
