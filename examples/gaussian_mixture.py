"""Fit a mixture of three Gaussians to the iris data, without looking at the species."""

from pathlib import Path

import numpy as np
from minimise import newton

import tensorgen

HERE = Path(__file__).resolve().parent
CSV = HERE / "data" / "iris.csv"
COMPONENTS = 3


def flowers() -> tuple[np.ndarray, np.ndarray]:
    """Return the four lengths of each flower, and its species."""
    table = np.loadtxt(CSV, delimiter=",", skiprows=1, dtype=str)
    return table[:, :-1].astype(float), table[:, -1]


def centres(X: np.ndarray) -> np.ndarray:
    """Return samples far from each other, each the farthest from those before it."""
    chosen = [int(np.argmin(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))]
    while len(chosen) < COMPONENTS:
        distance = np.min(np.sum((X[:, None] - X[chosen]) ** 2, axis=-1), axis=1)
        chosen.append(int(np.argmax(distance)))
    return X[chosen]


def main() -> tuple[float, np.ndarray]:
    """Fit; return the mean log-likelihood and how species fall on components."""
    model = tensorgen.load(HERE / "gaussian_mixture.yaml")
    X, species = flowers()
    d = X.shape[1]
    problem = model.NllProblem(X=X)
    # One spherical start for all, narrow enough to keep the components apart.
    scale = np.log(2 / X.std()) * np.eye(d)
    start = problem.pack(
        logit=np.zeros(COMPONENTS), mu=centres(X), R=np.array([scale] * COMPONENTS)
    )
    v = newton(problem.value_and_gradient, problem.hvp, start, small=1e-7)
    logit, mu, R = problem.unpack(v)
    component = np.argmax(model.responsibility(logit=logit, mu=mu, R=R, X=X), axis=1)
    names = np.unique(species)
    table = np.array(
        [
            [np.sum((species == name) & (component == k)) for k in range(COMPONENTS)]
            for name in names
        ]
    )
    for name, counts in zip(names, table, strict=True):
        print(f"{name:12}", *(f"{count:4d}" for count in counts))
    likelihood = -float(problem.value(v))
    print(f"mean log-likelihood {likelihood:.6f}")
    return likelihood, table


if __name__ == "__main__":
    main()
