"""Positions that `where` reads only where its condition chooses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError

Array = Any
INPUTS = "x: [n], q: [n, k], c: {shape: [T], index: n}"
X = np.array([0.5, 1.25, 0.75, 2.0])
Q = np.linspace(0.1, 0.9, 12).reshape(4, 3)


@pytest.fixture(scope="module", autouse=True)
def _float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def loaded(function: str, rest: str = "") -> Any:
    """The module of a function `f`."""
    head = f"tensorgen: 1\ninputs: {{{INPUTS}}}\nfunctions:\n"
    return tensorgen.load(f"{head}  {function}\n{rest}")


# The text, and what it is in NumPy.
CASES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "from 1 on": (
        "f[i]: where(i > 0, x[i - 1], 7)*x[i]",
        lambda x: np.r_[7, x[:-1]] * x,
    ),
    "but at 0": (
        "f[i]: where(i == 0, 7, x[i - 1])*x[i]",
        lambda x: np.r_[7, x[:-1]] * x,
    ),
    "not at 0": (
        "f[i]: where(i != 0, x[i - 1], 7)*x[i]",
        lambda x: np.r_[7, x[:-1]] * x,
    ),
    "but at the end": (
        "f[i]: where(i < n - 1, log(x[i + 1]), 5)*x[i]",
        lambda x: np.r_[np.log(x[1:]), 5] * x,
    ),
    "the other value": (
        "f[i]: where(i + 1 >= n, 5, 1/x[i + 1])*x[i]",
        lambda x: np.r_[1 / x[1:], 5] * x,
    ),
    "two conditions": (
        "f[i]: where((i > 0) & (i < n - 1), x[i - 1]/x[i + 1], 0)*x[i]",
        lambda x: np.r_[0, x[:-2] / x[2:], 0] * x,
    ),
    "one entry more": (
        "f[i=range(n + 1)]: where(i < n, x[i], 1)",
        lambda x: np.r_[x, 1],
    ),
    "summed": (
        "f: sum(where(i > 0, x[i - 1], 5)*x[i], i)",
        lambda x: x[1:] @ x[:-1] + 5 * x[0],
    ),
    "lags on either side": (
        "f[i=range(n), j=range(n)]: where(i >= j, x[i - j], x[j - i])",
        lambda x: x[abs(np.subtract.outer(np.arange(4), np.arange(4)))],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_position_is_read_where_it_is_chosen(case: str) -> None:
    text, expected = CASES[case]
    np.testing.assert_allclose(loaded(text).f(X), expected(X), rtol=1e-15)


def test_what_is_0_beyond_an_end_is_selected_no_more() -> None:
    """Shifted columns are a product with the others; masks would be read twice."""
    head = f"tensorgen: 1\ninputs: {{{INPUTS}, v: [k], y: [n]}}\nfunctions:\n"
    text = tensorgen.generate(f"""{head}  f:
    where: |
      late[i, j=range(k)] = where(j > 0, q[i, j - 1], 0)
      r = y - late @ v
    expr: sum(where(y > 0, r**2, abs(r)))
    wrt: v
    emit: [value]
""")
    assert "r = y - q[:, :-1] @ v[1:]" in text
    assert text.count("np.where(") == 1


def test_rows_of_a_table_are_shifted_in_steps() -> None:
    rest = """    where: |
      g[0, r] = delta(r, 0)
      g[i + 1, r=range(n + 1)] = g[i, r] + where(r > 0, x[i]*g[i, r - 1], 0)
    expr: sum(log(g[n]))
    wrt: x
    emit: [value, gradient, hessian]
"""

    def expected(x: Array) -> Array:
        g = jnp.zeros(5).at[0].set(1.0)
        for v in x:
            g = g + jnp.concatenate([jnp.zeros(1), v * g[:-1]])
        return jnp.sum(jnp.log(g))

    rest = rest.replace("g[0, r]", "g[0, r=range(n + 1)]")
    module = loaded("f:", rest)
    np.testing.assert_allclose(module.f(X), expected(X), rtol=1e-14)
    np.testing.assert_allclose(module.f_grad(X), jax.grad(expected)(X), rtol=1e-12)
    hessian = module.f_hess(X).dense()
    np.testing.assert_allclose(hessian, jax.hessian(expected)(X), rtol=1e-10)


def test_impossible_paths_enter_a_forward_pass() -> None:
    rest = """    where: |
      a[0, l] = q[0, l]
      a[t + 1, l] = logaddexp(a[t, l], where(l >= 1, a[t, l - 1], -inf)) + q[t + 1, l]
    expr: a[n - 1, k - 1]
    wrt: q
"""

    def expected(q: Array) -> Array:
        a = q[0]
        for row in q[1:]:
            before = jnp.concatenate([jnp.full(1, -jnp.inf), a[:-1]])
            a = jnp.logaddexp(a, before) + row
        return a[-1]

    value, gradient = loaded("f:", rest).f_value_and_grad(Q)
    np.testing.assert_allclose(value, expected(Q), rtol=1e-14)
    np.testing.assert_allclose(gradient, jax.grad(expected)(Q), rtol=1e-12)


def test_a_first_entry_goes_as_far_as_its_step() -> None:
    rest = """    where: |
      s[0, j] = 0
      s[i + 1, j] = s[i, j] + q[i, j]**2
    expr: s
    wrt: q
    emit: [value]
"""
    expected = np.vstack([np.zeros(3), np.cumsum(Q**2, axis=0)])
    np.testing.assert_allclose(loaded("f:", rest).f(Q), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("f[i=range(n + 1)]: where(i < n, x[i + 1], 1)", "leaves its axis"),
        ("f[i=range(n)]: where(x[i] > 0, x[i - 1], 1)", "leaves its axis"),
        ("f[i=range(n)]: where(i > 0, 1, x[i - 1])", "leaves its axis"),
        ("f[t]: where(t > 0, x[c[t - 1]], 0)", "nothing determines the range of 't'"),
        ("f[t=range(T)]: where(t > 0, 0, x[c[t - 1]])", "leaves its axis"),
        (
            "f: sum(where(i < n - 1, x[i + 1], 5), i)",
            "nothing determines the range of 'i'",
        ),
        ("f[i]: where(i > 0, x[i - 1], 0)", "nothing determines the range of 'i'"),
    ],
)
def test_what_no_condition_guards_has_to_be_inside(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        loaded(text)


@pytest.mark.parametrize(
    "text",
    [
        "f[t=range(T), i]: where(t > 0, delta(i, c[t - 1]), 0)*x[i]",
        "f[t=range(T), i]: where(t > 0, where(i == c[t - 1], x[i], 0), 0)",
        "f[t=range(T)]: where(t > 0, x[c[t - 1]], 0)",
    ],
)
def test_entries_of_index_arrays_are_read_where_they_are_chosen(
    text: str,
) -> None:
    c = np.array([2, 0, 3, 3, 1])
    rows = np.vstack([np.zeros(4), np.eye(4)[c[:-1]] * X])
    found = loaded(text).f(X, c)
    expected = rows if found.ndim == 2 else rows.sum(axis=1)
    np.testing.assert_array_equal(found, expected)


def test_index_arrays_keep_entries_that_float32_does_not_hold() -> None:
    # An axis of one entry more than float32 has whole numbers.
    module = loaded(
        "f: {expr: 'sum(where(t > 0, x[c[t - 1]], 0), t=range(T))', wrt: x}"
    )
    far = np.zeros(2**24 + 2, dtype=np.float32)
    far[2**24 + 1] = 1
    assert module.f(far, np.array([2**24 + 1, 0])) == 1


def test_steps_backwards_make_arrays_on_the_way() -> None:
    rest = """    where: |
      V[n] = 0
      Q[i] = x[i] + 0.5*V[i + 1]
      V[i] = tanh(Q[i])
    expr: V[0] + sum(Q**2)
    wrt: x
"""

    def expected(x: Array) -> Array:
        v, total = 0.0, 0.0
        for item in x[::-1]:
            q = item + 0.5 * v
            v, total = jnp.tanh(q), total + q**2
        return v + total

    value, gradient = loaded("f:", rest.replace("Q", "W")).f_value_and_grad(X)
    np.testing.assert_allclose(value, expected(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, jax.grad(expected)(X), rtol=1e-12)


def test_a_name_without_first_entries_is_numbered_from_0() -> None:
    lines = "s[0] = 0\n      d[i + 1] = 2*x[i]\n      s[i + 1] = s[i] + d[i + 1]"
    rest = f"    where: |\n      {lines}\n    expr: sum(s) + d[1]\n"
    with pytest.raises(SpecError, match="the step of 'd' does not define entry 0"):
        loaded("f:", rest)
