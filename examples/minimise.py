"""A truncated Newton method, for the examples that need more than a loop.

A user would rather call SciPy; here it shows that a gradient and a Hessian times a
direction are all that such a method asks of a generated module.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _direction(hvp: Callable[[Array], Array], gradient: Array, most: int) -> Array:
    """Solve `H d = -g` by conjugate gradients, up to negative curvature."""
    d, r = np.zeros_like(gradient), -gradient
    s, rr = r.copy(), float(r @ r)
    small = min(0.25, rr**0.25) ** 2 * rr  # superlinear: more exact near the end
    for _ in range(most):
        Hs = hvp(s)
        curvature = float(s @ Hs)
        if curvature <= 1e-14 * float(s @ s):
            return d if d.any() else s
        step = rr / curvature
        d, r = d + step * s, r - step * Hs
        rr, before = float(r @ r), rr
        if rr <= small:
            break
        s = r + rr / before * s
    return d


def newton(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    hvp: Callable[[Array, Array], Array],
    v: Array,
    *,
    small: float = 1e-8,
    iterations: int = 200,
    inner: int = 200,
) -> Array:
    """Minimise a function of a flat vector from `v`; print what happens.

    Stops where no entry of the gradient is above `small`, or where no step along the
    direction lowers the value any more.
    """
    f, g = value_and_gradient(v)
    for iteration in range(iterations):
        worst = float(np.max(np.abs(g)))
        if iteration % 10 == 0 or worst <= small:
            print(f"iteration {iteration:4d}   value {f:16.9f}   gradient {worst:9.2e}")
        if worst <= small:
            break
        d = _direction(partial(hvp, v), g, inner)
        slope, step = float(g @ d), 1.0
        while True:
            trial, gradient = value_and_gradient(v + step * d)
            # A NaN is no descent: energies are infinite outside of their domain.
            if trial <= f + 1e-4 * step * slope:
                break
            step /= 2
            if step < 1e-12:
                return v
        v, f, g = v + step * d, trial, gradient
    return v
