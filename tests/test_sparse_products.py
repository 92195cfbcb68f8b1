"""Products with sparse matrices in any spelling, and what is solved with them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests import made
from tests.device.library import execute

BY_INDICES = """
tensorgen: 1
inputs:
  x: [n]
  c: [m]
  A: {{shape: [m, n], sparse: true}}
  row: {{shape: [m], index: p}}
functions:
  f[q]: {{expr: "{0}", wrt: [x, c], emit: [value, jacobian]}}
  g[i]: {{expr: "sum({0}, q, row[q] == i)", wrt: [x, c], emit: [value, jacobian]}}
"""


@pytest.mark.parametrize(
    ("by_indices", "by_matrices"),
    [
        ("exp(sum(A[q, j] * x[j], j))", "exp(A @ x)[q]"),
        ("sin(sum(x[j] * A[q, j], j))", "sin(A @ x)[q]"),
        ("c[q] * exp(sum(A[q, j] * log(x[j]), j))", "c[q] * exp(A @ log(x))[q]"),
        ("tanh(c[q] + sum(A[q, j] * x[j] * x[j], j))", "tanh(c + A @ (x * x))[q]"),
    ],
)
def test_products_by_indices_are_those_of_matrices(
    by_indices: str, by_matrices: str
) -> None:
    spellings = (by_indices, by_matrices)
    made_of = [made.generate(BY_INDICES.format(x), backend="numpy") for x in spellings]
    one, other = (
        [part.split('"""')[-1] for part in x.split("\ndef ")] for x in made_of
    )
    assert one == other


QUADRATIC = """
tensorgen: 1
inputs: {w: [m], b: [n], A: {shape: [m, n], sparse: true}}
functions:
  f:
    where: {H: {spd: eye(n) + A.T @ diag(exp(w)) @ A}}
    expr: b @ solve(H, b)
    wrt: w
    emit: [value, gradient]
"""


def test_a_quadratic_form_of_an_inverse_is_solved_for_once() -> None:
    text = made.generate(QUADRATIC, backend="numpy")
    own = made.source(text, "f_grad")
    assert own.count(".solve(") == 1 and ".inverse_at(" not in own
    rng = np.random.default_rng(3)
    A = sp.random_array((7, 5), density=0.4, rng=rng, format="csr")
    w, b = rng.normal(size=7), rng.normal(size=5)
    D = A.toarray()
    solution = np.linalg.solve(np.eye(5) + D.T @ np.diag(np.exp(w)) @ D, b)
    slope = -np.exp(w) * (D @ solution) ** 2
    np.testing.assert_allclose(execute(text).f_grad(w, b, A), slope, 1e-12, 1e-12)
