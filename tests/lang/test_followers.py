"""What follows from others of its step is no state, however the model is written."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tensorgen
from tests.made import code_of, generate

jax.config.update("jax_enable_x64", True)

FILTER = """tensorgen: 1
dims: {{T: 60}}
inputs: {{y: [T], q: scalar, r: scalar, a: scalar}}
functions:
  nll:
    where: |
      {lines}
    expr: sum(log(S) + e**2/S)/2
    wrt: [q, r, a]
    emit: [value, gradient]
"""
FIRST = ["m[0] = 0", "P[0] = 1", "e[t] = y[t] - m[t]", "S[t] = P[t] + r"]
LATER = [
    "m[t + 1] = a*(m[t] + P[t]/S[t]*e[t])",
    "P[t + 1] = a**2*(P[t] - P[t]**2/S[t]) + q",
]
EARLIER = [
    "m[t] = a*(m[t - 1] + P[t - 1]/S[t - 1]*e[t - 1])",
    "P[t] = a**2*(P[t - 1] - P[t - 1]**2/S[t - 1]) + q",
]


def spec(*lines: str) -> str:
    return FILTER.format(lines="\n      ".join(lines))


def nll(q: jax.Array, r: jax.Array, a: jax.Array, y: np.ndarray) -> jax.Array:
    m, P, total = jnp.zeros(()), jnp.ones(()), jnp.zeros(())
    for one in y:
        e, S = one - m, P + r
        total = total + (jnp.log(S) + e**2 / S) / 2
        m, P = a * (m + P / S * e), a**2 * (P - P**2 / S) + q
    return total


@pytest.mark.parametrize("steps", [LATER, EARLIER], ids=["later", "earlier"])
def test_a_filter_has_the_states_that_it_needs(steps: list[str]) -> None:
    text = spec(*FIRST, *steps)
    module = tensorgen.load(text)
    y = np.random.default_rng(0).normal(size=7)
    point = 0.3, 0.5, 0.9
    value, gradient = module.nll_value_and_grad(y, *point)
    expected = jax.value_and_grad(nll, argnums=(0, 1, 2))(*map(jnp.asarray, point), y)
    np.testing.assert_allclose(value, expected[0], rtol=1e-13)
    np.testing.assert_allclose([*gradient], expected[1], rtol=1e-12)
    code = generate(text)
    assert re.findall(r"^        (\w+)\[t \+ 1\] =", code, re.M)[:2] == ["m", "P"]
    assert {*re.findall(r"^        (d_\w+)\[t\] =", code, re.M)} == {"d_m", "d_P"}


def test_an_entry_in_a_step_is_called_after_the_whole_array() -> None:
    code = generate(spec(*FIRST, *EARLIER))
    assert "        S_t = P[t] + r" in code
    assert "    S = P + r" in code and "    e = y - m" in code


def test_what_follows_from_what_follows() -> None:
    lines = [
        "x[0] = 1",
        "u[t, i] = sin(x[t]) * w[i]",
        "v[t, i] = u[t, i]**2",
        "x[t] = x[t - 1] + h[t]*sum(v[t - 1, i], i)",
    ]
    text = f"""tensorgen: 1
dims: {{T: 60, n: 3}}
inputs: {{w: [n], h: [T]}}
functions:
  f:
    where: |
      {"      ".join(line + chr(10) for line in lines)}
    expr: sum(v) + sum(u)
    wrt: w
    emit: [value, gradient]
"""
    module = tensorgen.load(text)
    rng = np.random.default_rng(1)
    w, h = rng.normal(size=3), rng.normal(size=6)

    def f(w: jax.Array) -> jax.Array:
        x, total = jnp.ones(()), jnp.zeros(())
        for k in range(6):
            u = jnp.sin(x) * w
            total = total + (u**2).sum() + u.sum()
            x = x + (h[k + 1] * (u**2).sum() if k < 5 else 0)
        return total

    np.testing.assert_allclose(module.f(w, h), f(jnp.asarray(w)), rtol=1e-13)
    expected = jax.grad(f)(jnp.asarray(w))
    np.testing.assert_allclose(module.f_grad(w, h), expected, rtol=1e-12)
    assert re.findall(r"^        (\w+)\[t \+ 1\] =", code_of(module, "f"), re.M) == [
        "x"
    ]


def test_what_solves_is_a_state() -> None:
    text = """tensorgen: 1
dims: {T: 60, n: 4}
inputs: {A: {shape: [n, n], spd: true}, x0: [n], h: [T]}
functions:
  f:
    where: |
      x[0] = x0
      s[t] = solve(A + x[t] * x[t].T, x[t])
      x[t] = x[t - 1] - h[t]*s[t - 1]
    expr: sum(x**2)
""".replace("x[t] * x[t].T", "outer(x[t], x[t])")
    module = tensorgen.load(text)
    code = code_of(module, "f")
    assert "s[t]" in code and code.count("solve(") == 2  # the first entry, and a step
    rng = np.random.default_rng(3)
    A, x0, h = np.eye(3) * 3, rng.normal(size=3), rng.normal(size=5)
    x, total = x0, x0 @ x0
    for k in range(1, 5):
        x = x - h[k] * np.linalg.solve(A + np.outer(x, x), x)
        total += x @ x
    np.testing.assert_allclose(module.f(A, x0, h), total, rtol=1e-13)
