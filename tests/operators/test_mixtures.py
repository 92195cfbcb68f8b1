"""Second derivatives of mixtures keep their digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from tests.made import load
from tests.sampled import left

MIXTURE = """
tensorgen: 1
inputs: {y: [n], mu: [k], lnu: [k], w: [k]}
functions:
  f:
    where: |
      nu = exp(lnu)
      z[i, a] = (y[i] - mu[a])**2 / nu[a]
      scale[a] = lgamma((nu[a] + 1)/2) - lgamma(nu[a]/2) - 0.5*log(nu[a]*pi)
      logt[i, a] = scale[a] - (nu[a] + 1)/2*log1p(z[i, a])
    expr: sum(log(softmax(w) @ exp(logt).T))
    wrt: lnu
    emit: [hessian]
"""


@pytest.mark.parametrize("level", [3.0, left(8.0), 12.0, left(16.0), 20.0])
def test_a_mixture_of_student_ts_that_are_nearly_normal(level: float) -> None:
    y, mu = np.array([0.3, -1.2, 2.5]), np.array([-0.5, 0.75])
    lnu, w = np.array([level, level - 0.5]), np.array([0.25, -0.5])

    def of(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
        found = mpmath.mpf(0)
        for v in y:
            whole = mpmath.mpf(0)
            for log, m, weight in zip((a, b), mu, w, strict=True):
                nu = mpmath.exp(log)
                half = mpmath.loggamma((nu + 1) / 2) - mpmath.loggamma(nu / 2)
                square = (mpmath.mpf(v) - mpmath.mpf(m)) ** 2
                rest = (nu + 1) / 2 * mpmath.log1p(square / nu)
                logt = half - mpmath.log(nu * mpmath.pi) / 2 - rest
                whole += mpmath.exp(mpmath.mpf(weight) + logt)
            found += mpmath.log(whole)
        return found

    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -15
        (a, b), signs = map(mpmath.mpf, lnu), (1, -1)
        mixed = sum(s * r * of(a + s * h, b + r * h) for s in signs for r in signs)
        twice = [
            of(a + h, b) - 2 * of(a, b) + of(a - h, b),
            of(a, b + h) - 2 * of(a, b) + of(a, b - h),
        ]
        off = float(mixed / (4 * h * h))
        exact = np.array([[float(twice[0] / h**2), off], [off, float(twice[1] / h**2)]])
    found = load(MIXTURE).f_hess(y, mu, lnu, w).dense()
    # Rounding of numbers near 1 is what remains: the derivatives are as small as 1/nu.
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-14)
