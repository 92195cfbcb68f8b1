"""Learn the law of a spiral from short pieces of it.

The law is cubic, the example of Chen et al., Neural ordinary differential equations
(2018). A network is trained by Adam's steps, with gradients through all the steps of
Runge and Kutta.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tensorgen

HERE = Path(__file__).resolve().parent

Array = NDArray[np.float64]

LAW = np.array([[-0.1, 2.0], [-2.0, -0.1]])
START = np.array([2.0, 0.0])
STEP, STEPS, PIECE = 0.025, 1000, 50
NEURONS, ROUNDS, RATE = 16, 400, 0.02


def spiral() -> Array:
    """Return where the spiral is after each step, itself by Runge and Kutta."""
    x = [START]
    for _ in range(STEPS):
        k1 = x[-1] ** 3 @ LAW
        k2 = (x[-1] + STEP / 2 * k1) ** 3 @ LAW
        k3 = (x[-1] + STEP / 2 * k2) ** 3 @ LAW
        k4 = (x[-1] + STEP * k3) ** 3 @ LAW
        x.append(x[-1] + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return np.array(x)


def train(model: Any, seen: Array) -> list[Array]:
    """Return weights, biases and what neurons move."""
    rng = np.random.default_rng(0)
    weights = [
        rng.normal(0, 0.5, (2, NEURONS)),
        rng.normal(0, 0.5, NEURONS),
        rng.normal(0, 0.5, (NEURONS, 2)),
    ]
    first = np.arange(0, len(seen) - PIECE, PIECE)
    pieces = seen[first + np.arange(1, PIECE + 1)[:, None]]
    data = {"start": seen[first], "seen": pieces, "h": np.full(PIECE, STEP)}
    mean = [np.zeros_like(w) for w in weights]
    square = [np.zeros_like(w) for w in weights]
    for count in range(1, ROUNDS + 1):
        loss, gradient = model.loss_value_and_grad(*weights, **data)
        rate = RATE * np.cos(np.pi / 2 * count / (ROUNDS + 1))
        for w, g, m, s in zip(weights, gradient, mean, square, strict=True):
            m += 0.1 * (g - m)
            s += 0.01 * (g**2 - s)
            w -= rate * m / (1 - 0.9**count) / (np.sqrt(s / (1 - 0.99**count)) + 1e-8)
        if count % 50 == 0:
            print(f"round {count:4d}   loss {loss:.3e}")
    return weights


def main() -> tuple[Array, Array]:
    """Train; return the spiral and where the network leads from its start."""
    model = tensorgen.load(HERE / "neural_ode.yaml")
    seen = spiral()
    weights = train(model, seen)
    steps = np.full(STEPS, STEP)
    path = model.paths(*weights, seen[None, 0], steps)[:, 0]
    error = float(np.sqrt(np.mean(np.sum((path - seen) ** 2, axis=1))))
    print(f"from the start on, the network is off by {error:.3f}")
    return seen, path


if __name__ == "__main__":
    main()
