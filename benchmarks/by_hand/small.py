"""Problems of tens of entries, where what is done around the arithmetic shows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from by_hand.problem import Data, Problem

Array = Any
CALLS = 100  # that one timing is of: a clock is not for microseconds

ROSENBROCK = """
tensorgen: 1
module: small
inputs: {x: [n]}
functions:
  f:
    expr: sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
    wrt: x
    emit: [problem, hessian]
"""

LOGISTIC = """
tensorgen: 1
module: small
inputs: {w: [n], X: [m, n], y: [m], lam: scalar}
functions:
  f:
    where: |
      t = -y * (X @ w)
    expr: sum(log(1 + exp(t))) + lam * norm(w)**2
    wrt: w
    emit: [problem, hessian]
"""


class At:
    """A closure's last point: value and gradient there, and what both need."""

    def __init__(
        self,
        shared: Callable[[Array], Any],
        value: Callable[..., Any],
        gradient: Callable[..., Any],
        size: int,
    ) -> None:
        """Take what is computed of a point, once whatever is asked for."""
        self.shared, self.value, self.gradient = shared, value, gradient
        self.size = size
        self.last = b""
        self.known: dict[str, Any] = {}

    def value_and_gradient(self, v: Array) -> tuple[Any, Array]:
        """Both at a vector, which is not computed again where it was the last one."""
        v = np.asarray(v, dtype=float)
        if v.shape != (self.size,):
            raise ValueError(v.shape)
        key = v.tobytes()
        if key != self.last:
            v = v.copy()
            self.known = {"v": v, "shared": self.shared(v)}
            self.last = key
        known = self.known
        if "value" not in known:
            known["value"] = self.value(v, *known["shared"])
        if "gradient" not in known:
            known["gradient"] = self.gradient(v, *known["shared"])
        return known["value"], known["gradient"].copy()


def rosenbrock(points: Array) -> Callable[[Array], Any]:
    """The valley in as many dimensions as points have."""

    def shared(x: Array) -> Any:
        head = x[:-1]
        return head, x[1:] - head**2, 1 - head

    def value(x: Array, head: Array, a: Array, b: Array) -> Any:
        return (100 * a**2 + b**2).sum()

    def gradient(x: Array, head: Array, a: Array, b: Array) -> Array:
        grad = np.zeros(x.size)
        grad[:-1] = -400 * head * a - 2 * b
        grad[1:] += 200 * a
        return grad

    return At(shared, value, gradient, points.shape[1]).value_and_gradient


def logistic(points: Array, X: Array, y: Array, lam: float) -> Callable[[Array], Any]:
    """Penalised likelihood of a few samples; one exponential for both."""
    Z = -y[:, None] * X

    def shared(w: Array) -> Any:
        t = Z @ w
        e = np.exp(-np.abs(t))
        return t, e

    def value(w: Array, t: Array, e: Array) -> Any:
        return (np.maximum(t, 0) + np.log1p(e)).sum() + lam * (w @ w)

    def gradient(w: Array, t: Array, e: Array) -> Array:
        return Z.T @ (np.where(t >= 0, 1, e) / (1 + e)) + 2 * lam * w

    return At(shared, value, gradient, points.shape[1]).value_and_gradient


def _turns(solve: Callable[[Array], Any], points: Array) -> list[Any]:
    """Visit points in turn, so that none is the last one."""
    return [solve(points[i % 2]) for i in range(CALLS)][-2:]


def _hand(make: Callable[..., Any]) -> Callable[..., Any]:
    made: dict[int, Any] = {}  # data are checked once, outside of what is timed

    def run(points: Array, **data: Any) -> Any:
        if not made:
            made[0] = make(points, **data)
        return _turns(made[0], points)

    return run


def _ours(module: Any, data: Data) -> Callable[[], Any]:
    points, *_ = data.values()
    problem = module.FProblem(**{k: a for k, a in data.items() if k != "points"})
    return lambda: _turns(problem.value_and_gradient, points)


def _rosenbrock_data(rng: Generator) -> Data:
    return {"points": rng.normal(size=(2, 10))}


def _logistic_data(rng: Generator) -> Data:
    return {
        "points": rng.normal(size=(2, 5)),
        "X": rng.normal(size=(50, 5)),
        "y": np.sign(rng.normal(size=50)),
        "lam": 1e-3,
    }


def plain(x: Array, a: Array, b: Array, c: float) -> Any:
    """What checks cost beside three sums of ten entries."""
    return x @ a + c * (x @ b)


PLAIN = """
tensorgen: 1
module: small
inputs: {x: [n], a: [n], b: [n], c: scalar}
functions:
  f:
    expr: x @ a + c * (x @ b)
    emit: [value]
"""


def _plain_data(rng: Generator) -> Data:
    return {name: rng.normal(size=10) for name in "xab"} | {"c": 2.0}


def _often(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **data: [call(**data) for _ in range(CALLS)][-1]


PROBLEMS = [
    Problem(
        "rosenbrock n=10, 100 calls",
        ROSENBROCK,
        "f",
        _rosenbrock_data,
        _hand(rosenbrock),
        _ours,
    ),
    Problem(
        "logistic 50 x 5, 100 calls",
        LOGISTIC,
        "f",
        _logistic_data,
        _hand(logistic),
        _ours,
    ),
    Problem(
        "plain n=10, 100 calls",
        PLAIN,
        "f",
        _plain_data,
        _often(plain),
        lambda module, data: lambda: _often(module.f)(**data),
    ),
]
