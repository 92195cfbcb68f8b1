"""Fit a logistic regression to sparse data, which never become a matrix.

The thirty measurements of each tumour (see data/README.md) are cut at their quartiles,
so that a sample has thirty ones among 120 columns.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
from breast_cancer import load
from minimise import newton

import tensorgen

HERE = Path(__file__).resolve().parent
LAM = 1.0


def coordinates() -> SimpleNamespace:
    """Return `row`, `col` and `val` of the entries that are not zero, and `y`."""
    X, y, names = load()
    measured = X[:, :-1]  # without the intercept's column
    quartiles = np.quantile(measured, [0.25, 0.5, 0.75], axis=0)
    level = np.sum(measured[:, :, None] > quartiles.T[None], axis=-1)
    samples, columns = level.shape
    return SimpleNamespace(
        row=np.repeat(np.arange(samples), columns),
        col=(4 * np.arange(columns) + level).ravel(),
        val=np.ones(level.size),
        y=y,
        columns=4 * (len(names) - 1),
    )


def main() -> tuple[np.ndarray, float]:
    """Fit; return the coefficients and the intercept."""
    model = tensorgen.load(HERE / "sparse_logistic.yaml")
    data = coordinates()
    entries = {"val": data.val, "row": data.row, "col": data.col, "y": data.y}
    problem = model.LossProblem(**entries, lam=LAM)
    start = problem.pack(w=np.zeros(data.columns), b=0.0)
    v = newton(problem.value_and_gradient, problem.hvp, start)
    w, b = problem.unpack(v)
    right = np.mean(model.margin(w=w, b=b, **entries) > 0)
    print(f"{right:.1%} of the tumours are classified correctly")
    return w, float(b)


if __name__ == "__main__":
    main()
