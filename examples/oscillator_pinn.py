"""Train a network to solve the equation of a damped oscillator.

The residuals contain derivatives by time, and the Jacobian differentiates them again
by the parameters; the Levenberg-Marquardt method needs nothing else.
"""

from pathlib import Path
from typing import Any

import numpy as np

import tensorgen

HERE = Path(__file__).resolve().parent
NEURONS, POINTS, END = 12, 60, 4.0
DECAY, OMEGA = 0.2, 2.0


def exact(t: np.ndarray) -> np.ndarray:
    """Return the solution that the network should find."""
    nu = np.sqrt(OMEGA**2 - DECAY**2)
    u = np.exp(-DECAY * t) * (np.cos(nu * t) + DECAY / nu * np.sin(nu * t))
    return np.asarray(u)


def train(model: Any) -> np.ndarray:
    """Return the parameters of the network that satisfies the equation."""
    t = np.linspace(0, END, POINTS)
    rng = np.random.default_rng(3)
    slope = rng.uniform(0.5, 2.0, NEURONS)
    shift = -slope * np.linspace(0, END, NEURONS)
    P = np.stack([slope, shift, rng.normal(0, 0.5, NEURONS)], axis=1)
    r, damping = model.residual(P, t), 1.0
    print("iteration   sum of squares     damping")
    for iteration in range(200):
        J = np.asarray(model.residual_jac(P, t))
        gradient, gram = J.T @ r, J.T @ J
        while damping < 1e12:
            step = np.linalg.solve(gram + damping * np.eye(P.size), gradient)
            trial = P - step.reshape(P.shape)
            found = model.residual(trial, t)
            if found @ found < r @ r:
                break
            damping *= 4
        P, r, damping = trial, found, damping / 3
        if iteration % 25 == 0:
            print(f"{iteration:9d} {r @ r:16.6e} {damping:11.2e}")
        if r @ r < 1e-12 or damping >= 1e12:
            break
    return P


def main() -> float:
    """Train; return the largest error between the points too."""
    model = tensorgen.load(HERE / "oscillator_pinn.yaml")
    P = train(model)
    dense = np.linspace(0, END, 1001)
    error = float(np.max(np.abs(model.u(P, dense) - exact(dense))))
    print(f"the largest error of the network is {error:.2e}")
    return error


if __name__ == "__main__":
    main()
