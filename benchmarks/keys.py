"""Sums by key and products with sparse matrices, beside code by hand.

Run it as `make bench`; it writes benchmarks/results/keys.txt. By hand the Hessian of a
conditional logit is two products, one of them of means by group, and that of a sparse
logistic regression SciPy's `X.T @ diags(w) @ X`.
"""

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import report
from scipy import sparse

import tensorgen

Array = Any
ROUNDS = 15
SPEC = """
tensorgen: 1
module: keys
dims: {n: 20000, p: 20, m: 50000, q: 5000}
inputs:
  X: [n, p]
  b: [p]
  y: [n]
  group: {shape: [n], index: g}
  A: {shape: [m, q], sparse: true}
  w: [q]
  s: [m]
functions:
  choice:
    where: |
      u = X @ b
      lse[i] = log(sum(exp(u[j]), j, group[j] == group[i]))
    expr: sum(y * (u - lse))
    wrt: b
    emit: [hessian, problem]
  regression:
    expr: sum(log(1 + exp(-s * (A @ w))))
    wrt: w
    emit: [hessian, problem]
"""


def choice(X: Array, b: Array, y: Array, group: Array) -> Array:
    """The Hessian, by means over groups."""
    u, count = X @ b, group.max() + 1
    top = np.full(count, -np.inf)
    np.maximum.at(top, group, u)
    e = np.exp(u - top[group])
    share = e / np.bincount(group, e, count)[group]
    weight = np.bincount(group, y, count)
    means = np.zeros((count, X.shape[1]))
    np.add.at(means, group, share[:, None] * X)
    scaled = weight[group] * share
    return (means.T * weight) @ means - (X.T * scaled) @ X


def regression(A: Array, w: Array, s: Array) -> Array:
    """The Hessian as a sparse matrix."""
    share = 1 / (1 + np.exp(s * (A @ w)))
    weights = s**2 * share * (1 - share)
    return (A.T @ sparse.diags_array(weights) @ A).tocsr()


def applied(A: Array, w: Array, s: Array) -> Array:
    """The same Hessian times the point, without forming it."""
    share = 1 / (1 + np.exp(s * (A @ w)))
    return A.T @ (s**2 * share * (1 - share) * (A @ w))


HAND: dict[str, Callable[..., Any]] = {
    "choice": choice,
    "regression": regression,
    "applied": applied,
}


def data() -> dict[str, dict[str, Array]]:
    """The arguments of each function."""
    rng = np.random.default_rng(0)
    n, p, g, m, q = 20_000, 20, 1_000, 50_000, 5_000
    A = sparse.random_array((m, q), density=0.002, rng=rng, format="csr")
    sparse_one = {"A": A, "w": rng.normal(size=q), "s": rng.normal(size=m)}
    return {
        "choice": {
            "X": rng.normal(size=(n, p)),
            "b": rng.normal(size=p),
            "y": rng.normal(size=n),
            "group": rng.integers(0, g, n),
        },
        "regression": sparse_one,
        "applied": sparse_one,
    }


def ours(name: str, module: Any, given: dict[str, Array]) -> Callable[[], Any]:
    """The same by a problem, which has its data, at two points that take turns."""
    held = dict(given)
    point = held.pop("b" if name == "choice" else "w")
    points = cycle((point, -point))  # what is known of the last one is kept
    if name == "choice":
        problem = module.ChoiceProblem(**held)
        return lambda: problem.hessian(next(points))
    problem = module.RegressionProblem(**held)
    if name == "applied":
        return lambda: _applied(problem, next(points))
    return lambda: problem.hessian(next(points)).tocsr()


def _applied(problem: Any, point: Array) -> Array:
    return np.asarray(problem.hessian(point) @ point)


def main() -> None:
    """Measure, and write the table."""
    module: Any = tensorgen.load(SPEC)
    lines = report.machine("numpy", "scipy")
    lines += ["", f"Hessians, seconds, medians of {ROUNDS} rounds that take turns", ""]
    lines.append(f"{'case':<16}{'ours':>10}{'by hand':>10}{'ratio':>8}")
    for name, hand in HAND.items():
        given = data()[name]
        tasks: list[Callable[[], Any]] = [ours(name, module, given)]
        tasks.append(partial(hand, **given))
        found, expected = (_dense(task()) for task in tasks)
        assert abs(found - expected).max() <= 1e-9 * abs(expected).max()
        times: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for row, task in zip(times, tasks, strict=True):
                row.append(report.timed(task))
        a, b = (report.spread(row)[0] for row in times)
        lines.append(f"{name:<16}{a:>10.5f}{b:>10.5f}{a / b:>8.2f}")
    report.write("keys.txt", lines)


def _dense(x: Any) -> Array:
    return x.toarray() if sparse.issparse(x) else np.asarray(x)


if __name__ == "__main__":
    main()
