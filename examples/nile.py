"""Fit a level that drifts to a century of the Nile's flow.

The likelihood is that of a Kalman filter, two recurrences of the spec; Newton's method
finds the two standard deviations.
"""

from pathlib import Path
from typing import Any

import numpy as np
from minimise import Array, newton

import tensorgen

HERE = Path(__file__).resolve().parent


def flows() -> tuple[Array, Array]:
    """Return the years, and what flowed in each."""
    rows = np.loadtxt(HERE / "data" / "nile.csv", delimiter=",", skiprows=3)
    return rows[:, 0], rows[:, 1]


def fit(model: Any, y: Array) -> Array:
    """Return the standard deviations of the noise and of a step of the level."""

    def value_and_gradient(v: Array) -> tuple[float, Array]:
        value, gradient = model.loss_value_and_grad(*v, y)
        return float(value), np.array(gradient)

    def hvp(v: Array, d: Array) -> Array:
        return np.array(model.loss_hvp(*v, y, *d))

    return newton(value_and_gradient, hvp, np.full(2, np.std(np.diff(y)) / 2))


def main() -> tuple[float, Array]:
    """Fit; return the log-likelihood and the two variances."""
    model = tensorgen.load(HERE / "nile.yaml")
    years, y = flows()
    deviations = fit(model, y)
    likelihood = -float(model.loss(*deviations, y))
    level = model.level(*deviations, y)
    print("year     flow    level")
    for t in range(9, len(y), 10):
        print(f"{years[t]:.0f} {y[t]:8.0f} {level[t]:8.0f}")
    noise, drift = deviations**2
    print(f"variance of the noise {noise:.0f}, of a step of the level {drift:.1f}")
    return likelihood, deviations**2


if __name__ == "__main__":
    main()
