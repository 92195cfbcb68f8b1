"""Tell species of iris apart by a network that is a fixed point.

The hidden values of a flower are what a layer makes of themselves and of the flower
(data/README.md). They are found by iteration, and differentiated without it.
"""

from pathlib import Path
from typing import Any

import numpy as np
from minimise import newton
from numpy.typing import NDArray

import tensorgen

HERE = Path(__file__).resolve().parent
CSV = HERE / "data" / "iris.csv"
HIDDEN = 6

Array = NDArray[np.float64]


def flowers() -> tuple[Array, Array]:
    """Return measurements, standardised, with a column of ones; species, one-hot."""
    table = np.loadtxt(CSV, delimiter=",", skiprows=1, dtype=str)
    X = table[:, :-1].astype(float)
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    return X, (table[:, -1:] == np.unique(table[:, -1])).astype(float)


def main() -> tuple[float, float]:
    """Train; return the loss, and the share of flowers that are told right."""
    model: Any = tensorgen.load(HERE / "deep_equilibrium.yaml")
    X, Y = flowers()
    rng = np.random.default_rng(0)
    problem = model.LossProblem(X=X, Y=Y, lam=1e-3)
    start = problem.pack(
        W=0.1 * rng.standard_normal((HIDDEN, HIDDEN)),
        U=0.3 * rng.standard_normal((X.shape[1], HIDDEN)),
        V=0.3 * rng.standard_normal((HIDDEN, Y.shape[1])),
    )
    v = newton(problem.value_and_gradient, problem.hvp, start, small=1e-6)
    W, U, V = problem.unpack(v)
    told = np.argmax(model.predict(W=W, U=U, V=V, X=X), axis=1)
    right = float(np.mean(told == np.argmax(Y, axis=1)))
    loss = float(problem.value(v))
    print(f"loss {loss:.6f}, {right:.1%} of the flowers told right")
    return loss, right


if __name__ == "__main__":
    main()
