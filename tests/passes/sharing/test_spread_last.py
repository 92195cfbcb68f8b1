"""Vectors act on what an array is spread from, and not on the array."""

from __future__ import annotations

import inspect

import numpy as np

import tensorgen

INPUTS = "inputs: {a: [m], b: [m], c: [n], d: [m], e: [n], S: [m, n]}"


def body(where: str, expr: str) -> str:
    """The code of a value."""
    text = f"tensorgen: 1\n{INPUTS}\nfunctions:\n  f:\n"
    text += f"    where: '{where}'\n" * bool(where)
    module = tensorgen.load(text + f"    expr: {expr}\n    emit: [value]\n")
    return inspect.getsource(module.f).rpartition('"""')[2]


def test_vectors_are_multiplied_before_they_are_spread() -> None:
    code = body("", "sum(sin(d[i]*(b[i]*c[j] + a[i])), i, j)")
    assert "np.outer(b * d, c) + (a * d)[:, None]" in code


def test_nothing_is_spread_that_takes_as_much_as_before() -> None:
    code = body("", "sum(sin(c[j]*(b[i]*c[j] + a[i])), i, j)")
    assert "c[:, None] * (np.outer(c, b) + a)" in code


def test_a_difference_that_is_spread_keeps_its_digits() -> None:
    assert "a[:, None] - c" in body("", "sum(sin(d[i]*(a[i] - c[j])), i, j)")


def test_what_has_a_name_is_formed() -> None:
    code = body("T[i, j] = b[i]*c[j] + a[i]", "sum(sin(d[i]*T[i, j]), i, j)")
    assert "T = np.outer(b, c) + a[:, None]" in code


def test_derivatives_of_shares_take_few_passes_over_the_table() -> None:
    text = f"""tensorgen: 1
dims: {{m: 500, n: 100}}
{INPUTS}
functions:
  f:
    where: |
      v[i, j] = exp(S[i, j] - b[i]*c[j])
      share[i, j] = v[i, j]/(1 + sum(v[i, l], l))
    expr: sum(a[i]*share[i, j]*(c[j] - e[j]), i, j)
    wrt: c
    emit: [hessian]
"""
    module = tensorgen.load(text)
    code = inspect.getsource(module.f_hess)
    assert code.count("np.outer(") == 3  # one of them is what utilities lack
    rng = np.random.default_rng(0)
    a, b, c, e = (rng.normal(size=size) for size in (4, 4, 3, 3))
    S = rng.normal(size=(4, 3))

    def slope(c: np.ndarray) -> np.ndarray:
        v = np.exp(S - np.outer(b, c))
        share = v / (1 + v.sum(axis=1, keepdims=True))
        by_v = share * ((c - e) - (share @ (c - e))[:, None])
        return np.asarray(a @ share - (a * b) @ by_v)

    shift = 1e-20j
    expected = [slope(c + shift * row).imag / 1e-20 for row in np.eye(3)]
    given = {"a": a, "b": b, "c": c, "e": e, "S": S}
    names = inspect.signature(module.f_hess).parameters
    found = module.f_hess(**{name: given[name] for name in names})
    np.testing.assert_allclose(found.dense(), expected, rtol=1e-12, atol=1e-13)
