"""Complete a matrix from a list of its entries by alternating Newton steps.

The data are handwritten digits (see data/README.md): the rows are images, the columns
pixels, and two pixels in three are known. The loss is quadratic in the row factors
alone and in the column factors alone, so one Newton step solves each half exactly; the
Hessian is one small block for each row, and `solve` is batched.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tensorgen

HERE = Path(__file__).resolve().parent
CSV = HERE / "data" / "digits.csv"

Array = NDArray[np.float64]

KNOWN = 2 / 3
RANK = 8
LAM = 20.0
SWEEPS = 15


def images() -> Array:
    """Return the images, one a row, with pixels from 0 to 16."""
    return np.loadtxt(CSV, delimiter=",", skiprows=1)[:, :-1]


def main() -> tuple[float, float]:
    """Fit the known entries; return the errors of the model and of the pixels' means.

    Both are root mean squares over the entries that were not known.
    """
    model = tensorgen.load(HERE / "recommender.yaml")
    M = images()
    rng = np.random.default_rng(0)
    known = rng.random(M.shape) < KNOWN
    row, col = np.nonzero(known)
    # What the factors explain is the difference from the mean of the pixel.
    mean = np.sum(M * known, axis=0) / np.maximum(np.sum(known, axis=0), 1)
    value = M[row, col] - mean[col]

    U = rng.standard_normal((M.shape[0], RANK))
    V = rng.standard_normal((M.shape[1], RANK))
    data = {"row": row, "col": col, "value": value, "lam": LAM}
    print(f"{len(value)} known entries of a {M.shape[0]} x {M.shape[1]} matrix")
    print("sweep           loss   error of unknown entries")
    for sweep in range(SWEEPS):
        _, gradient, hessian = model.rows_value_grad_hess(U=U, V=V, **data)
        U = U - hessian.solve(gradient)
        loss, gradient, hessian = model.columns_value_grad_hess(U=U, V=V, **data)
        V = V - hessian.solve(gradient)
        error = float(np.sqrt(np.mean((M - mean - U @ V.T)[~known] ** 2)))
        print(f"{sweep:5d} {loss:14.4f} {error:26.4f}")
    baseline = float(np.sqrt(np.mean((M - mean)[~known] ** 2)))
    print(f"each pixel's mean has the error {baseline:.4f}")
    return error, baseline


if __name__ == "__main__":
    main()
