"""What the user named is computed as it stands, a factor before it and all."""

import numpy as np
import pytest

import tensorgen
from tests.made import generate

SURFACE = """tensorgen: 1
dims: {m: 30, n: 30}
inputs: {z: [m + 1, n + 1], h: scalar}
functions:
  area:
    where: |
      zx[i, j] = (z[i + 1, j] + z[i + 1, j + 1] - z[i, j] - z[i, j + 1])/(2*h)
      zy[i, j] = (z[i, j + 1] + z[i + 1, j + 1] - z[i, j] - z[i + 1, j])/(2*h)
    expr: sum(sqrt(1 + zx**2 + zy**2))
    wrt: z
    emit: [value, gradient]
"""


def test_a_power_of_what_has_a_name_is_taken_of_it() -> None:
    text = generate(SURFACE)
    assert "    zx = " in text and "    zy = " in text
    # 1 / (2 * h) is no half of h.
    assert "half_h" not in text and "inv_twice_h = 1 / (2 * h)" in text
    module = tensorgen.load(SURFACE)
    z, step = np.random.default_rng(0).normal(size=(2, 5, 4))

    def area(z: np.ndarray) -> float:
        dx, dy = np.diff(z, axis=0) / 0.6, np.diff(z, axis=1) / 0.6
        zx, zy = dx[:, 1:] + dx[:, :-1], dy[1:] + dy[:-1]
        return float(np.sqrt(1 + zx**2 + zy**2).sum())

    assert module.area(z, 0.3) == pytest.approx(area(z), rel=1e-14)
    rise = area(z + 1e-6 * step) - area(z - 1e-6 * step)
    slope = (module.area_grad(z, 0.3) * step).sum()
    assert slope == pytest.approx(rise / 2e-6, rel=1e-7)


EMBEDDING = """tensorgen: 1
dims: {n: 500, d: 2}
inputs: {Y: [n, d], P: [n, n]}
functions:
  kl:
    where: |
      w[i, j] = 1/(1 + sum((Y[i, a] - Y[j, a])**2, a))
      Z = sum(w[i, j], i, j, i != j)
      q[i, j] = w[i, j]/Z
    expr: sum(P[i, j]*log(P[i, j]/q[i, j]), i, j, i != j)
    wrt: Y
    emit: [value, gradient]
"""


def test_sums_of_squared_differences_are_distances() -> None:
    text = generate(EMBEDDING)
    assert "d_sq_dists_Y" in text and "squared_sums" not in text
    # Blocks that leave most of what they make as whole arrays gain nothing.
    assert "for block in" not in text
