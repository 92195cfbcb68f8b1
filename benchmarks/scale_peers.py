"""Logistic regression by others, for `scale.py`: scikit-learn, JAX and dask-ml.

Each fits the same rows to the same gradient, or as far as it gets: what only has a
tolerance is asked for ever smaller ones, and the time is that of the last fit alone.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

# One thread, as all others have.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
import report
from scipy.optimize import minimize


class Fit(NamedTuple):
    """What a fit took, and the minimum that it found."""

    name: str
    seconds: float
    passes: Any
    v: Any


class Goal(NamedTuple):
    """The norm of the gradient to get to, the weight of the penalty, and threads."""

    norm: float
    lam: float
    workers: int
    gradient: Callable[[Any], Any]

    def strength(self, rows: int) -> float:
        """Return what stands for the penalty beside sums: |w|^2 / 2 and C losses."""
        return 1 / (2 * self.lam * rows)


def fits(data: dict[str, Any], goal: Goal) -> Iterator[Fit | str]:
    """Yield fits, and lines about those that are not installed."""
    yield from scikit_learn(data, goal)
    for own, package in (jax, "jax"), (dask_ml, "dask-ml"):
        try:
            yield from own(data, goal)
        except ImportError:
            yield f"{package} is not installed: no rows"


def scikit_learn(data: dict[str, Any], goal: Goal) -> Iterator[Fit]:
    """Yield fits by scikit-learn."""
    from sklearn.linear_model import LogisticRegression

    strength = goal.strength(len(data["y"]))
    for solver in ("lbfgs", "newton-cholesky", "saga"):
        own = {"C": strength, "solver": solver, "fit_intercept": False}
        make = partial(LogisticRegression, **own, max_iter=1000)
        yield _by_tolerance(f"scikit-learn, {solver}", make, data, goal)


def dask_ml(data: dict[str, Any], goal: Goal) -> Iterator[Fit]:
    """Yield a fit by dask-ml. Its Newton's method leaves the penalty out."""
    import dask.array
    from dask_ml.linear_model import LogisticRegression

    rows, columns = data["X"].shape
    chunk = min(75_000, rows)
    X = dask.array.from_array(data["X"], chunks=(chunk, columns))
    y = dask.array.from_array((data["y"] > 0).astype(float), chunks=chunk)
    given = {"X": X.persist(), "y": y.persist()}  # with the workers
    own = {"C": goal.strength(rows), "solver": "lbfgs", "fit_intercept": False}
    make = partial(LogisticRegression, **own, max_iter=1000)
    name = f"dask-ml, lbfgs, {goal.workers} processes"
    # Of the gradient of a sum over rows; what stops it is a change of the value.
    yield _by_tolerance(name, make, given, goal, 1e-8)


def _by_tolerance(
    name: str,
    make: Callable[..., Any],
    data: dict[str, Any],
    goal: Goal,
    tolerance: float = 1e-2,
) -> Fit:
    """Fit with ever smaller tolerances until one will do, or nothing changes."""
    before = np.empty(0)
    while True:
        fit = make(tol=tolerance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = report.timed(partial(fit.fit, data["X"], data["y"]))
        v = np.ravel(fit.coef_)
        is_last = tolerance < 1e-9 and np.array_equal(v, before)
        if is_last or np.linalg.norm(goal.gradient(v)) <= goal.norm:
            passes = getattr(fit, "n_iter_", None)
            return Fit(name, seconds, "" if passes is None else int(np.max(passes)), v)
        tolerance, before = tolerance / 10, v


def jax(data: dict[str, Any], goal: Goal) -> Iterator[Fit]:
    """Yield fits by functions of JAX, compiled before, that have all rows at once."""
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)
    X, y = jnp.asarray(data["X"]), jnp.asarray(data["y"])

    def loss(w: Any, X: Any, y: Any) -> Any:
        return jnp.mean(jnp.logaddexp(0, -y * (X @ w))) + goal.lam * w @ w

    both, hessian = jax.jit(jax.value_and_grad(loss)), jax.jit(jax.hessian(loss))
    start = np.zeros(X.shape[1])
    jax.block_until_ready((both(start, X, y), hessian(start, X, y)))

    def fun(v: Any) -> tuple[float, Any]:
        value, gradient = both(v, X, y)
        return float(value), np.asarray(gradient)

    def newton() -> tuple[Any, int]:
        v, passes = start, 1
        _, g = fun(v)
        while np.linalg.norm(g) > goal.norm:
            v = v - np.linalg.solve(np.asarray(hessian(v, X, y)), g)
            _, g = fun(v)
            passes += 2
        return v, passes

    def lbfgs() -> tuple[Any, int]:
        least = {"ftol": 0, "gtol": goal.norm / start.size**0.5}
        found = minimize(fun, start, jac=True, method="L-BFGS-B", options=least)
        return found.x, int(found.nfev)

    for name, method in {"Newton": newton, "L-BFGS": lbfgs}.items():
        found: list[tuple[Any, int]] = []
        seconds = report.timed(partial(_kept, found, method))
        ((v, passes),) = found
        yield Fit(f"JAX, {name}, all at once", seconds, passes, v)


def _kept(found: list[Any], call: Callable[[], Any]) -> None:
    found.append(call())
