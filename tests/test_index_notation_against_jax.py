"""Index notation, index arrays and nested derivatives: value and two derivatives.

The first cases are those of Urban & van der Smagt, Automatic Differentiation for Tensor
Algebras; `x` takes the place of one argument at a time in their worked example.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.jax_cases import Case, check
from tests.sampled import sampled

pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture(scope="module")
def float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def worked(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the worked example, f_ij."""
    rows = d[np.arange(3)[:, None] + np.arange(5)]
    square = (a[:, None] + b) ** 2 * jnp.diagonal(c)[:, None, None]
    return jnp.exp(-jnp.sum(square + rows[:, None] ** 3, axis=-1))


# All pairs of four points.
LEFT, RIGHT = np.triu_indices(4, 1)

WORKED = "exp(-sum(({a}[i, k] + {b}[j, k])**2 * {c}[i, i] + {d}[i + k]**3, k=range(5)))"


def _worked(name: str) -> Case:
    shapes = {"a": "3 5", "b": "4 5", "c": "3 3", "d": "7"}
    others = [key for key in shapes if key != name]
    names = {key: "x" if key == name else key for key in shapes}

    def oracle(x: Any, *data: Any) -> Any:
        return worked(**{name: x, **dict(zip(others, data, strict=True))})

    data = ", ".join(f"{key} {shapes[key]}" for key in others)
    text = WORKED.format(**names)
    return Case(shapes[name], text, oracle, data, left="f[i, j]")


def _second(x: Any, times: Any) -> Any:
    """Return u'' for u(t), the sum of tanh(x t)."""

    def u(t: Any) -> Any:
        return jnp.sum(jnp.tanh(x * t))

    return jax.vmap(jax.grad(jax.grad(u)))(times)


def _segment(values: Any, keys: Any, count: int) -> Any:
    return jax.ops.segment_sum(values, keys, count)


URBAN = [
    *map(_worked, "abcd"),
    Case(
        "n n",
        "x[i, j]**2 + 2 * y[j, j] * z[k]**3",
        lambda x, y, z: (
            (x**2)[:, :, None] + 2 * jnp.diagonal(y)[None, :, None] * z**3
        ),
        "y n n, z p",
        left="f[i, j, k]",
    ),
    Case(
        "m n",
        "sqrt(1 / (1 + 2 * S[s, k, k])) * exp(-(x[s, k] - V[r, k])**2 / S[s, k, k])",
        lambda x, V, S: (
            jnp.sqrt(1 / (1 + 2 * jnp.diagonal(S, 0, 1, 2)))[:, None]
            * jnp.exp(-((x[:, None] - V) ** 2) / jnp.diagonal(S, 0, 1, 2)[:, None])
        ),
        "V p n, S m n n",
        left="f[s, r, k]",
    ),
    Case(
        "n",
        "y[t, k]**2 * sum(S[k, s, 2*s]**2 + S[k, s, 0]**2 - x[t], s)",
        lambda x, y, S: (
            y**2
            * (
                jnp.sum(S[:, [0, 1], [0, 2]] ** 2 + S[:, :, 0] ** 2, axis=1)
                - 2 * x[:, None]
            )
        ),
        "y n p, S p 2 3",
        left="f[t, k]",
    ),
]

AFFINE = [
    Case(
        "5",
        "sum(exp(x[i + j]) * h[j], j)",
        lambda x, h: jnp.convolve(jnp.exp(x), h[::-1], "valid"),
        "h 3",
        left="f[i]",
    ),
    Case(
        "4 5",
        "sum(x[i + k, j + l]**2 * h[k, l], k, l)",
        lambda x, h: sum(
            x[a : a + 3, b : b + 3] ** 2 * h[a, b] for a in range(2) for b in range(3)
        ),
        "h 2 3",
        left="f[i, j]",
    ),
    Case(
        "5",
        "exp(x[i + j]) * g[i, j]",
        lambda x, g: jnp.exp(x[np.add.outer(range(3), range(3))]) * g,
        "g 3 3",
        left="f[i, j]",
    ),
    Case(
        "5",
        "sum(g[i, j] * x[i - j + 2]**2, j)",
        lambda x, g: jnp.sum(g * x[np.subtract.outer(range(3), range(3)) + 2] ** 2, 1),
        "g 3 3",
        left="f[i]",
    ),
    Case(
        "p",
        "sum(sum(A[i, j] * x[i] * x[j], j=range(i, p)), i=range(p))",
        lambda x, A: x @ jnp.triu(A) @ x,
        "A p p",
    ),
    Case(
        "p",
        "sum(exp(x[j]), j=range(i + 1))",
        lambda x: jnp.cumsum(jnp.exp(x)),
        left="f[i]",
    ),
    Case(
        "6",
        "sum(x[2*i + 1]**3 * y[2 - i], i)",
        lambda x, y: jnp.sum(x[1::2] ** 3 * y[::-1]),
        "y 3",
    ),
    Case(
        "p",
        "x[i + 1]**2 - x[i]",
        lambda x: x[1:] ** 2 - x[:-1],
        left="f[i]",
    ),
    Case(
        "p",
        "sum(100 * (x[i + 1] - x[i]**2)**2 + (1 - x[i])**2, i)",
        lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    ),
    # A lattice: every position that the ranges reach lies inside.
    Case(
        "8 5",
        "sum(x[2*i + 3*j, i - j + 2]**2, i=range(3), j=range(2))",
        lambda x: sum(
            x[2 * i + 3 * j, i - j + 2] ** 2 for i in range(3) for j in range(2)
        ),
    ),
    Case("n n", "x[i, i]**2", lambda x: jnp.diagonal(x) ** 2, left="f[i]"),
    Case(
        "n",
        "x[i]**2 + 0 * y[j]",
        lambda x, y: (x**2)[:, None] + 0 * y,
        "y m",
        left="f[i, j]",
    ),
    Case(
        "n",
        "sum(i * x[i]**2 * delta(i, j), i) + j + 0 * x[j]",
        lambda x: jnp.arange(3) * x**2 + jnp.arange(3),
        left="f[j]",
    ),
]

CONDITIONS = [
    # The diagonal is infinite or not a number, and left out.
    Case(
        "p 2",
        "sum(sum((x[i, d] - x[j, d])**2, d)**-1, i, j, i < j)",
        lambda x: jnp.sum(1 / jnp.sum((x[LEFT] - x[RIGHT]) ** 2, axis=1)),
    ),
    Case(
        "p 2",
        "sum(log(norm(x[i, :] - x[j, :])), j=range(i + 1, p), i=range(p))",
        lambda x: jnp.sum(jnp.log(jnp.sum((x[LEFT] - x[RIGHT]) ** 2, axis=1))) / 2,
    ),
    Case(
        "p 2",
        "sum(1 / norm(x[i, :] - x[j, :]), i, j, i < j)",
        lambda x: jnp.sum(jnp.sum((x[LEFT] - x[RIGHT]) ** 2, axis=1) ** -0.5),
    ),
    Case(
        "p 2",
        "sum(log(distance[i, j]), i, j, i < j)",
        lambda x: jnp.sum(jnp.log(jnp.sum((x[LEFT] - x[RIGHT]) ** 2, axis=1))) / 2,
        where="distance[i, j] = norm(x[i, :] - x[j, :])",
    ),
    Case(
        "p 2",
        "sum(sqrt(sum((x[i, d] - x[j, d])**2, d)), i, j, i < j)",
        lambda x: jnp.sum(jnp.sum((x[LEFT] - x[RIGHT]) ** 2, axis=1) ** 0.5),
    ),
    Case(
        "p",
        "max(x[j] * x[i], j, j != i)",
        lambda x: jnp.max(
            jnp.where(jnp.eye(4) == 1, -jnp.inf, jnp.outer(x, x)), axis=1
        ),
        left="f[i]",
    ),
    Case(
        "p",
        "logsumexp(x[j] * y[i], j=range(i + 1))",
        lambda x, y: jax.nn.logsumexp(
            jnp.where(np.tri(4) == 1, jnp.outer(y, x), -jnp.inf), axis=1
        ),
        "y p",
        left="f[i]",
    ),
    Case(
        "p",
        "sum(x[i]**2, i, y[i] > 0.5)",
        lambda x, y: jnp.sum(jnp.where(y > 0.5, x**2, 0)),
        "y p",
    ),
]

GATHERS = [
    Case(
        "m p",
        "sum((t[e] - sum(x[row[e], a] * V[col[e], a], a))**2, e)",
        lambda x, V, row, col, t: jnp.sum((t - jnp.sum(x[row] * V[col], 1)) ** 2),
        "V n p, row E < m, col E < n, t E",
        sizes={"m": 3, "n": 4, "p": 2, "E": 7},
    ),
    Case(
        "n",
        "sum(softplus(-y[i] * sum(val[e] * x[col[e]], e, row[e] == i)), i)",
        lambda x, val, row, col, y: jnp.sum(
            jax.nn.softplus(-y * _segment(val * x[col], row, 3))
        ),
        "val E, row E < m, col E < n, y m",
        sizes={"m": 3, "n": 4, "E": 8},
    ),
    Case(
        "s c",
        "-mean(L[i, label[i]], i)",
        lambda x, label: -jnp.mean(jax.nn.log_softmax(x, 1)[np.arange(5), label]),
        "label s < c",
        where="L = log_softmax(x, axis=1)",
        sizes={"s": 5, "c": 3},
    ),
    Case(
        "n 2",
        "sum(sqrt(sum((x[a[s], d] - x[b[s], d])**2 + 0.1, d)) * w[s], s)",
        lambda x, a, b, w: jnp.sum(jnp.sqrt(jnp.sum((x[a] - x[b]) ** 2 + 0.1, 1)) * w),
        "a E < n, b E < n, w E",
        sizes={"n": 4, "E": 6},
    ),
    # Corners of triangles: a column, and a slice, of an index array.
    Case(
        "n 2",
        "u[e, 0] * v[e, 1] - u[e, 1] * v[e, 0]",
        lambda x, tri: jnp.linalg.det(x[tri[:, 1:]] - x[tri[:, :1]]),
        "tri E 3 < n",
        left="f[e]",
        where=(
            "u[e, d] = x[tri[e, 1], d] - x[tri[e, 0], d]\n"
            "v[e, d] = x[tri[e, 2], d] - x[tri[e, 0], d]"
        ),
        sizes={"n": 5, "E": 4},
    ),
    Case(
        "n",
        "sum((x[tri[e, a + 1]] - x[tri[e, 0]])**3, e, a)",
        lambda x, tri: jnp.sum((x[tri[:, 1:]] - x[tri[:, :1]]) ** 3),
        "tri E 3 < n",
        sizes={"n": 5, "E": 4},
    ),
    Case(
        "n",
        "sum(x[tri[e, a]] * w[a], a)**2",
        lambda x, tri, w: (x[tri] @ w) ** 2,
        "tri E 3 < n, w 3",
        left="f[e]",
        sizes={"n": 5, "E": 4},
    ),
    Case(
        "n m",
        "x[row] ** 2",
        lambda x, row: x[row] ** 2,
        "row E < n",
        sizes={"n": 3, "m": 2, "E": 4},
    ),
    Case(
        "n",
        "x[following[following[i]]]**2",
        lambda x, following: x[following[following]] ** 2,
        "following n < n",
        left="f[i]",
    ),
    Case(
        "E",
        "sum(x[e]**2, e, row[e] == i) + 0 * y[i]",
        lambda x, row, y: _segment(x**2, row, 3),
        "row E < m, y m",
        left="f[i]",
        sizes={"E": 7, "m": 3},
    ),
    Case(
        "E",
        "logsumexp(x[e], e, row[e] == i) * y[i]",
        lambda x, row, y: y * jnp.log(_segment(jnp.exp(x), row, 2)),
        "row E < m, y m",
        left="f[i]",
        sizes={"E": 7, "m": 2},
    ),
]

NESTED = [
    Case(
        "n",
        "norm(grad(g, x))**2 + trace(hess(g, x))",
        lambda x: jnp.sum((2 * jnp.sin(x) * jnp.cos(x) * x + jnp.sin(x) ** 2) ** 2)
        + jnp.sum(2 * jnp.cos(2 * x) * x + 2 * jnp.sin(2 * x)),
        where="g = sum(x * sin(x)**2)",
    ),
    Case(
        "n",
        "jac(r, x).T @ jac(r, x)",
        lambda x, A: A.T @ jnp.diag((1 - jnp.tanh(A @ x) ** 2) ** 2) @ A,
        "A p n",
        where="r = tanh(A @ x)",
    ),
    Case(
        "n",
        "sum((utt + u)**2)",
        lambda x, t: jnp.sum((_second(x, t) + jnp.tanh(jnp.outer(t, x)).sum(1)) ** 2),
        "t p",
        where=(
            "u[i] = sum(tanh(x[k] * t[i]), k)\n"
            "ut[i] = grad(u[i], t[i])\n"
            "utt[i] = grad(ut[i], t[i])"
        ),
    ),
    Case(
        "n",
        "hvp(g, x, v)",
        lambda x, v: jax.jvp(jax.grad(lambda y: jnp.sum(y**2) ** 2), (x,), (v,))[1],
        "v n",
        where="g = norm(x)**4",
    ),
    Case(
        "n",
        "jvp(tanh(A @ x), x, v) @ vjp(A @ x**2, x, w)",
        lambda x, A, v, w: (((1 - jnp.tanh(A @ x) ** 2) * (A @ v)) @ (A.T @ w * 2 * x)),
        "A n n, v n, w n",
    ),
]

CASES = [*URBAN, *AFFINE, *CONDITIONS, *GATHERS, *NESTED]


@pytest.mark.parametrize(
    "case", sampled(CASES, 3), ids=lambda case: f"{case.left} {case.expr}"
)
def test_a_case_and_its_derivatives_agree_with_jax(case: Case) -> None:
    check(case)
