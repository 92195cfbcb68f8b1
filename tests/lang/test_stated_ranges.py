"""Ranges that indices state on the left side."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError

HEAD = "tensorgen: 1\nmodule: left\ndims: [n, m]\ninputs: {x: [n], v: [m], s: scalar}\n"
X, V = np.array([1.0, 2.0, -3.0]), np.array([0.5, 4.0])


def load(functions: str) -> object:
    return tensorgen.load(HEAD + "functions:\n" + functions)


def value(functions: str, **given: object) -> np.ndarray:
    return load(functions).f(**given)  # type: ignore[attr-defined, no-any-return]


def test_an_index_that_stands_nowhere_has_the_range_that_it_states() -> None:
    found = value("  f[i, j=range(n)]: x[i]**2\n", x=X)
    np.testing.assert_array_equal(found, np.repeat(X[:, None] ** 2, 3, axis=1))


def test_a_range_may_be_any_size_that_follows_from_the_arguments() -> None:
    found = value("  f[k=range(2*n + m), j = range(0, 2)]: k*s + x[0]*v[j]\n", **GIVEN)
    expected = np.arange(8)[:, None] * 3.0 + X[0] * V
    np.testing.assert_array_equal(found, expected)


GIVEN = {"x": X, "v": V, "s": 3.0}


def test_names_may_state_ranges_too() -> None:
    found = value(
        "  f:\n"
        "    where: |\n"
        "      S[i=range(n), j=range(n)] = delta(i, j) - s*delta(i, j + 1)\n"
        "    expr: S @ x\n",
        x=X,
        s=3.0,
    )
    np.testing.assert_array_equal(found, [1.0, -1.0, -9.0])


def test_a_range_that_is_stated_holds() -> None:
    found = value("  f[i=range(n - 1)]: x[i]*x[i + 1]\n", x=X)
    np.testing.assert_array_equal(found, X[:-1] * X[1:])
    with pytest.raises(SpecError, match="leaves its axis"):
        load("  f[i=range(n + 1)]: x[i]\n")


@pytest.mark.parametrize(
    ("left", "message"),
    [
        ("f[i=n]", "the range of 'i' is no range"),
        ("f[i=range(1, n)]", "0 is outside of the range of 'i'"),
        ("f[i=range(0, n, 2)]", "a range on the left side has one start, one stop"),
        ("f[i=range(s)]", "the bound 's' is not affine in dims and indices"),
        ("f[i=range(k)]", "the index 'k' is neither on the left side nor bound"),
        ("f[i=]", "an expression is missing"),
        ("f[i=range(n), i=range(n)]", "'i' occurs twice between the brackets"),
        ("f[i=range(n]", "is never closed"),
    ],
)
def test_what_is_wrong_with_a_range_is_said_where_it_stands(
    left: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        load(f'  "{left}": x[i]*s\n')
    assert all(d.span is not None for d in caught.value.diagnostics)


def test_what_reductions_bind_stands_in_any_order() -> None:
    found = value("  f: sum(i*x[i]*v[j], j=range(1, m), i, x[i] > 0)\n", x=X, v=V)
    assert found == 1 * 2.0 * 4.0
    found = value("  f: norm(x[i]*v[k], k=range(1, 2), i=range(1, n), 1)\n", x=X, v=V)
    assert found == (2.0 + 3.0) * 4.0
