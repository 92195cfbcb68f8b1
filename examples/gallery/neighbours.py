"""Three hundred handwritten digits laid out in the plane, neighbours beside neighbours.

The spec is the divergence that van der Maaten and Hinton minimise; its gradient has the
attraction and repulsion that they derive by hand. It starts from the two first
principal components, with attraction exaggerated. The data are scikit-learn's `digits`.
"""

from typing import Any

import numpy as np
from scipy import optimize
from sklearn.datasets import load_digits

import tensorgen
from gallery.runs import HERE, Array, Run

TITLE = "t-SNE: a map of handwritten digits"
SPEC = HERE / "neighbours.yaml"
SHOWN = "divergence_grad"
COUNT, PERPLEXITY = 300, 20.0


def closeness(X: Array) -> Array:
    """Return symmetric probabilities, of which each row has the perplexity."""
    squares = np.sum((X[:, None] - X) ** 2, axis=-1)
    rows = []
    for i, own in enumerate(squares):
        low, high = 0.0, np.inf
        beta = 1.0 / np.mean(own)
        for _ in range(60):
            p = np.exp(-beta * (own - np.min(np.delete(own, i))))
            p[i] = 0
            p /= np.sum(p)
            entropy = -np.sum(p[p > 0] * np.log(p[p > 0]))
            if entropy > np.log(PERPLEXITY):
                low, beta = beta, 2 * beta if high == np.inf else (beta + high) / 2
            else:
                high, beta = beta, (beta + low) / 2
        rows.append(p)
    P = np.array(rows)
    return np.asarray((P + P.T) / (2 * len(P)))


def run() -> Run:
    """Lay the digits out by L-BFGS."""
    model: Any = tensorgen.load(SPEC)
    pixels, label = load_digits(return_X_y=True)
    X, label = pixels[:COUNT], label[:COUNT]
    P = closeness(X)
    centred = X - X.mean(axis=0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    problem = model.DivergenceProblem(P=4 * P)
    v = problem.pack(Y=1e-1 * (U * s)[:, :2])
    for factor, most in ((4.0, 100), (1.0, 1000)):
        problem.update(P=factor * P)
        v = optimize.minimize(
            problem.value_and_gradient,
            v,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": most, "maxfun": 2 * most},
        ).x
    Y = problem.unpack(v)
    divergence = float(problem.value(v))
    D = np.sum((Y[:, None] - Y) ** 2, axis=-1) + 1e9 * np.eye(COUNT)
    kept = float(np.mean(label[np.argmin(D, axis=1)] == label))

    def draw(axes: Any) -> None:
        axes.scatter(*Y.T, c=label, cmap="tab10", s=4)
        for digit in range(10):
            middle = np.median(Y[label == digit], axis=0)
            axes.text(*middle, str(digit), ha="center", va="center", weight="bold")
        axes.set_axis_off()

    numbers = {
        "divergence": "below 0.6" if divergence < 0.6 else f"{divergence:.3f}",
        "nearest neighbours that are the same digit": (
            "over 90%" if kept > 0.9 else f"{kept:.1%}"
        ),
    }
    found = {"Y": Y, "P": P, "X": X, "divergence": divergence, "kept": kept}
    return Run(numbers, draw, found | {"model": model})
