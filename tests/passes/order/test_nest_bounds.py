"""A sum under two bounds is one under the tighter of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import generate, load
from tests.passes.order.walks import WALK

BOUNDS = """
tensorgen: 1
inputs: {{v: [n], w: [n, m]}}
functions:
  f[j, k]:
    expr: {expr}
    wrt: v
    emit: [value]
"""


def test_the_hessian_of_a_walk_is_read_off_running_sums() -> None:
    text = generate(f"tensorgen: 1{WALK}")
    assert "np.where(mask, product_a[:, None], product_a)" in text
    assert "Cost: 2*n**3" not in text


def test_the_hessian_of_a_walk_is_that_of_differences() -> None:
    module, rng = load(f"tensorgen: 1{WALK}"), np.random.default_rng(2)
    q, a, step = rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)
    above, below = (module.f_grad(q + s * step, a) for s in (1e-5, -1e-5))
    found = module.f_hess(q, a).matvec(step)
    np.testing.assert_allclose(found, (above - below) / 2e-5, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("expr", "holds"),
    [
        ("sum(v[i]*where(j <= i, 1, 0)*where(k <= i, 1, 0), i)", "j <= i and k <= i"),
        ("sum(v[i]*where(i <= j, 1, 0)*where(i <= k, 1, 0), i)", "i <= j and i <= k"),
        (
            "sum(v[i]*where(j + 1 <= i, 1, 0)*where(k <= i + 2, 1, 0), i)",
            "j < i >= k - 2",
        ),
        ("sum(v[i]*where(i <= j, 1, 0)*where(k <= i, 1, 0), i)", "k <= i <= j"),
        (
            "sum(v[i]*w[i, 0]*where(i < j, 1, 0)*where(i <= k + 1, 1, 0), i)",
            "i < j and i <= k + 1",
        ),
    ],
)
def test_bounds_of_both_kinds_and_shifted_ones(expr: str, holds: str) -> None:
    text = BOUNDS.format(expr=expr).replace("f[j, k]", "f[j=range(n), k=range(n)]")
    module, rng = load(text), np.random.default_rng(3)
    v, w = rng.normal(size=5), rng.normal(size=(5, 2))
    given = (v, w) if "w[" in expr else (v,)
    terms = v * w[:, 0] if "w[" in expr else v
    wanted = [
        [
            sum(terms[i] for i in range(5) if eval(holds, {"i": i, "j": j, "k": k}))
            for k in range(5)
        ]
        for j in range(5)
    ]
    np.testing.assert_allclose(module.f(*given), wanted, rtol=1e-13, atol=1e-14)


def test_what_is_excluded_may_be_infinite() -> None:
    text = BOUNDS.format(
        expr="sum(v[i]*where(j <= i, 1, 0)*where(k <= i, 1, 0), i)"
    ).replace("f[j, k]", "f[j=range(n), k=range(n)]")
    v = np.array([np.inf, 2.0, 3.0])
    found = load(text).f(v)
    np.testing.assert_array_equal(found, [[np.inf, 5, 3], [5, 5, 3], [3, 3, 3]])
