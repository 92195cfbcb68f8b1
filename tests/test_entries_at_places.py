"""Functions that read or write entries at places, take and put, held against JAX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tensorgen
from tests.jax_cases import Case, check

pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture(scope="module")
def float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def first(y: Any, count: int = 2) -> Any:
    """Return places that differ."""
    return jnp.argsort(y)[:count]


def flat(x: Any, p: Any, v: Any, add: bool = False) -> Any:
    """Return x with entries of its ravel replaced, or added to."""
    row = jnp.ravel(x)
    row = row.at[p].add(v) if add else row.at[p].set(v)
    return row.reshape(x.shape)


# Index arrays of random integers have equal ones among them: where those are written
# to, values are added, or are one number.
CASES = [
    Case("n", "take(x, row)**2", lambda x, row: x[row] ** 2, "row 7 < n"),
    Case(
        "m n",
        "take(exp(x), at)",
        lambda x, at: jnp.take(jnp.exp(x), at),
        "at 2 4 < 6",
        sizes={"m": 2, "n": 3},
    ),
    Case(
        "m n p",
        "take(x, at, axis=1)**3",
        lambda x, at: jnp.take(x, at, axis=1) ** 3,
        "at 5 2 < n",
    ),
    Case(
        "m n",
        "sum(take(x[i, :], at)**2)",
        lambda x, at: (x[:, at] ** 2).sum(1),
        "at 5 < n",
        left="f[i]",
    ),
    Case(
        "n",
        "put(x, argsort(y)[:2], z)**2 * x",
        lambda x, y, z: x.at[first(y)].set(z) ** 2 * x,
        "y n, z 2",
    ),
    Case(
        "2",
        "put(y, argsort(y)[:2], x**3)**2",
        lambda x, y: y.at[first(y)].set(x**3) ** 2,
        "y n",
    ),
    Case(
        "m n",
        "exp(put(x, argsort(y)[:2], z)) * x",
        lambda x, y, z: jnp.exp(flat(x, first(y), z)) * x,
        "y 6, z 2",
        sizes={"m": 2, "n": 3},
    ),
    Case(
        "n",
        "put(x, row, sum(x))**2",
        lambda x, row: x.at[row].set(x.sum()) ** 2,
        "row 5 < n",
    ),
    Case(
        "m n",
        "put(x**2, at, V, accumulate=True)**2",
        lambda x, at, V: flat(x**2, at, V, True) ** 2,
        "at 2 4 < 6, V 2 4",
        sizes={"m": 2, "n": 3},
    ),
    Case(
        "p n",
        "index_put(x**2, argsort(y)[:2], V)**2",
        lambda x, y, V: (x**2).at[first(y)].set(V) ** 2,
        "y p, V 2 n",
    ),
    Case(
        "n",
        "index_put(X, argsort(y)[:2], x**2)**2",
        lambda x, X, y: X.at[first(y)].set(x**2) ** 2,
        "X p n, y p",
    ),
    Case(
        "p n",
        "index_put(x, (row, col), v, accumulate=True)**3",
        lambda x, row, col, v: x.at[row, col].add(v) ** 3,
        "row 7 < p, col 7 < n, v 7",
    ),
    Case(
        "7",
        "index_put(X, (row, col), x**2, True)**3",
        lambda x, X, row, col: X.at[row, col].add(x**2) ** 3,
        "X p n, row 7 < p, col 7 < n",
    ),
    Case(
        "p n",
        "index_put(x, (argsort(y)[:2, None], argsort(z)), 1/2)**2 * x",
        lambda x, y, z: (
            x.at[first(y)[:, None], jnp.argsort(z)[None, :2]].set(0.5) ** 2 * x
        ),
        "y p, z 2",
    ),
    Case(
        "m n",
        "sum(put(x[i, :], argsort(y)[:2], z)**2)",
        lambda x, y, z: (x.at[:, first(y)].set(z) ** 2).sum(1),
        "y n, z 2",
        left="f[i]",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.expr)
def test_value_and_two_derivatives_are_those_of_jax(case: Case) -> None:
    check(case)


SPEC = """\
tensorgen: 1
inputs: {x: [n], v: [k], p: {shape: [k], index: n}}
functions:
  f: {expr: "sum(exp(put(log(x), p, v)))", wrt: [x, v], emit: [value, gradient]}
  g: {expr: "put(x, p, v)", wrt: [x, v], emit: [jacobian]}
"""


def test_what_is_replaced_does_not_exist() -> None:
    module = tensorgen.load(SPEC)
    x, v, p = np.array([0.5, 0.0, 2.0, np.nan]), np.array([1.0, -1.0]), [3, 1]
    value, slopes = module.f_value_and_grad(x, v, p)
    np.testing.assert_allclose(value, 2.5 + np.exp(v).sum())
    np.testing.assert_array_equal(slopes.x, [1, 0, 1, 0])
    np.testing.assert_allclose(slopes.v, np.exp(v))


def test_the_slope_by_the_values_is_stored_as_their_places() -> None:
    module = tensorgen.load(SPEC)
    slope = module.g_jac(np.ones(1000), np.zeros(30), np.arange(30) * 3)
    assert slope.v.nbytes <= 8 + 30 * 8 and slope.x.nbytes == 8000
    np.testing.assert_array_equal(slope.v.dense().sum(0), np.ones(30))
    np.testing.assert_array_equal(slope.v.dense()[::3].sum(1)[:30], np.ones(30))
