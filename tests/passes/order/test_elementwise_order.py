"""Products whose axes deltas tie to one another are elementwise: no pair is larger."""

from __future__ import annotations

import re

import numpy as np

from tests.made import generate, load

SPEC = """tensorgen: 1
module: edges
dims: {m: 64, n: 64}
inputs: {u: [m, n]}
functions:
  f:
    where: |
      down[i, j] = u[i + 1, j] - u[i, j]
      right[i, j] = u[i, j + 1] - u[i, j]
    expr: sum(sqrt(down[i, j]**2 + right[i, j]**2 + 1), i, j)
    wrt: u
    emit: [gradient, hessian]
"""


def test_neighbours_along_two_axes_form_no_cube() -> None:
    costs = re.findall(r"Cost: (.*)", generate(SPEC))
    assert len(costs) == 2
    assert not any("**2" in cost for cost in costs)


def test_the_hessian_is_what_differences_of_the_gradient_say() -> None:
    module = load(SPEC)
    u = np.random.default_rng(0).standard_normal((4, 3))
    dense = module.f_hess(u).dense().reshape(12, 12)
    step = 1e-6
    for k in range(12):
        d = np.zeros(12)
        d[k] = step
        moved = (module.f_grad(u + s * d.reshape(4, 3)).ravel() for s in (1, -1))
        up, down = moved
        assert np.allclose(dense[k], (up - down) / (2 * step), atol=1e-7)
