"""Passes that a solve with a Hessian over blocks of rows takes.

    python -m benchmarks.row_solves

Of a sparse matrix, with the diagonal as a preconditioner and without it; of ratings,
whose users blocks eliminate, with the system of items as a dense matrix and by
conjugate gradients.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import tensorgen
from tensorgen.engines import csr_rows, edges

RATINGS = Path(__file__).parents[1] / "examples/beyond_memory/ratings_rows.yaml"
SPARSE = """
tensorgen: 1
blocks: m
inputs: {w: [n], X: {shape: [m, n], sparse: true}, y: [m]}
functions:
  loss:
    expr: sum(log(1 + exp(-y * (X @ w)))) + norm(w)**2 / 100
    wrt: w
    emit: [value, gradient, hessian, problem]
"""


class Counted:
    """A map that counts how often it is called."""

    passes = 0

    def __call__(self, function: Any, blocks: Any) -> Any:
        """Map, and count."""
        self.passes += 1
        return map(function, blocks)


def told(name: str, hessian: Any, b: Any, counted: Counted) -> None:
    """Print how many passes a solve takes, and how long."""
    counted.passes, start = 0, time.perf_counter()
    x = hessian.solve(b)
    seconds = time.perf_counter() - start
    left = np.linalg.norm(hessian @ x - b) / np.linalg.norm(b)
    print(f"{name:<36}{counted.passes - 1:>8}{seconds:>9.2f}{left:>10.0e}")


def sparse(rows: int, columns: int) -> None:
    """Solve with the Hessian of a sparse matrix with 20 entries a row."""
    rng, counted = np.random.default_rng(0), Counted()
    size = 20 * rows
    places = np.repeat(np.arange(rows), 20), rng.integers(0, columns, size)
    values = rng.normal(size=size) * np.exp(1.5 * rng.normal(size=columns))[places[1]]
    X = csr_matrix((values, places), shape=(rows, columns))
    y = np.sign(rng.normal(size=rows))
    blocks = csr_rows({"X": X, "y": y}, rows=rows // 10)
    loss = tensorgen.load(SPARSE).LossProblem.over(blocks, map=counted)
    w = rng.normal(size=columns) / 10
    b, hessian = loss.grad(w), loss.hess(w)
    told(f"sparse, {columns} columns", hessian, b, counted)
    hessian.__dict__["_diagonal"] = np.ones(columns)
    told("  without the diagonal", hessian, b, counted)


def ratings(users: int, items: int) -> None:
    """Solve with the Hessian of ratings, with 20 of them a user."""
    rng, counted = np.random.default_rng(0), Counted()
    user, item = (rng.integers(0, size, 20 * users) for size in (users, items))
    U, V = rng.normal(size=(users, 5)), rng.normal(size=(items, 5))
    rating = (U[user] * V[item]).sum(axis=1)
    blocks = edges(
        {"user": user},
        {"item": item, "rating": rating},
        count=users,
        size="users",
        rows=users // 10,
    )
    model = tensorgen.load(RATINGS.read_text("utf-8"))
    loss = model.LossProblem.over(blocks, map=counted)
    v = loss.pack(U, V)
    b, hessian = rng.normal(size=v.size), loss.hess(v)
    for name, most in (("dense", 10**6), ("by products", 0)):
        hessian._dense = most
        told(f"ratings, {5 * items} other entries, {name}", hessian, b, counted)


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=10_000)
    options = parser.parse_args(given)
    print(f"{'solve':<36}{'passes':>8}{'seconds':>9}{'left':>10}")
    sparse(options.rows, options.columns)
    for items in (40, 200):
        ratings(options.rows // 2, items)


if __name__ == "__main__":
    main()
