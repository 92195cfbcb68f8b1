"""Running reductions: Cox's partial likelihood in two spellings, drawdowns, growth."""

from typing import Any

import numpy as np
from numpy.random import Generator

from by_hand.problem import Data, Problem

Array = Any


def _spec(level: str, kind: str) -> str:
    return f"""
tensorgen: 1
module: running
dims: {{n: 2000, p: 20}}
inputs: {{X: [n, p], b: [p], event: [n]}}
functions:
  f:
    where: |
      eta = X @ b
      level[i] = {level}
    expr: sum(event * (level - eta))
    wrt: b
    emit: [{kind}]
"""


TEXTBOOK = "logsumexp(eta[j], j=range(i + 1))"
SORTED = "log(cumsum(exp(eta))[i])"


def data(rng: Generator) -> Data:
    """Patients sorted by time, the longest first."""
    return {
        "X": rng.normal(size=(2000, 20)),
        "b": rng.normal(size=20) / 4,
        "event": (rng.random(2000) < 0.7).astype(float),
    }


def gradient(X: Array, b: Array, event: Array) -> tuple[Array, Array]:
    """Levels accumulate; weights accumulate backwards."""
    eta = X @ b
    level = np.logaddexp.accumulate(eta)
    # The weight of patient j: sum of event[i]*exp(eta[j] - level[i]) over later i.
    back = np.cumsum((event * np.exp(-level))[::-1])[::-1]
    return event @ (level - eta), X.T @ (np.exp(eta) * back - event)


def hessian(X: Array, b: Array, event: Array) -> Array:
    """Running means of the covariates, one product each for both terms."""
    eta = X @ b
    level = np.logaddexp.accumulate(eta)
    back = np.cumsum((event * np.exp(-level))[::-1])[::-1]
    e = np.exp(eta)
    means = np.cumsum(e[:, None] * X, axis=0) * np.exp(-level)[:, None]
    return X.T @ ((e * back)[:, None] * X) - means.T @ (event[:, None] * means)


def _prefix(reduction: str) -> str:
    return f"""
tensorgen: 1
module: running
dims: {{n: 20000}}
inputs: {{x: [n], w: [n]}}
functions:
  f:
    where: |
      r[i] = {reduction}(x[j], j=range(i + 1))
    expr: sum(w * (r - x)**2)
    wrt: x
    emit: [value, gradient]
"""


def walk(rng: Generator) -> Data:
    """A random walk that drifts upwards, and weights."""
    n = 20_000
    return {"x": np.cumsum(rng.normal(size=n) + 0.02), "w": rng.random(n)}


def growth(rng: Generator) -> Data:
    """Factors near one, and weights."""
    return {"x": 1 + rng.normal(size=20_000) / 100, "w": rng.random(20_000)}


def drawdown(x: Array, w: Array) -> tuple[Array, Array]:
    """Slopes of the largest so far belong to where it stands."""
    n = len(x)
    top = np.maximum.accumulate(x)
    place = np.maximum.accumulate(np.where(x == top, np.arange(n), 0))
    down = top - x
    slope = 2 * w * down
    return w @ down**2, np.bincount(place, slope, n) - slope


def products(x: Array, w: Array) -> tuple[Array, Array]:
    """Slopes are divided by factors, none of which is zero in the data."""
    r = np.cumprod(x)
    slope = 2 * w * (r - x)
    back = np.cumsum((slope * r)[::-1])[::-1] / x
    return w @ (r - x) ** 2, back - slope


def _dense(module: Any, data: Data) -> Any:
    return lambda: module.f_hess(**data).dense()


PROBLEMS = [
    Problem(
        "Cox",
        _spec(TEXTBOOK, "value, gradient"),
        "f_value_and_grad",
        data,
        gradient,
    ),
    Problem(
        "Cox, sorted",
        _spec(SORTED, "value, gradient"),
        "f_value_and_grad",
        data,
        gradient,
    ),
    Problem("running max", _prefix("max"), "f_value_and_grad", walk, drawdown),
    Problem(
        "running prod",
        _prefix("prod"),
        "f_value_and_grad",
        growth,
        products,
    ),
    Problem("Cox, Hessian", _spec(TEXTBOOK, "hessian"), "", data, hessian, _dense),
    Problem(
        "Cox, sorted, Hessian", _spec(SORTED, "hessian"), "", data, hessian, _dense
    ),
]
