"""Set A: logistic regression without penalty, two samples for each coefficient."""

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from by_hand import regressions
from cases import Case, Contender, Data, Set, Task, leaves
from numpy.random import Generator
from peers import dense, derived, hand, ours

Array = Any
SIZES = (10, 30, 100, 300, 1000, 2000, 4000)
CASADI = 100  # coefficients up to which it is asked


def spec(n: int) -> str:
    """Return the spec for typical sizes of 2n x n."""
    return f"""
tensorgen: 1
module: logistic
dims: {{m: {2 * n}, n: {n}}}
inputs: {{w: [n], X: [m, n], y: [m]}}
functions:
  f:
    expr: sum(log(1 + exp(-y*(X @ w))))
    wrt: w
    emit: [value, gradient, hessian]
"""


def loss(xp: Any, w: Array, X: Array, y: Array) -> Any:
    """The negative log-likelihood of labels -1 and 1."""
    return xp.sum(xp.softplus(-y * (X @ w)))


def data(n: int, rng: Generator) -> Data:
    """Labels by chance."""
    return {
        "w": rng.normal(size=n) / n,
        "X": rng.normal(size=(2 * n, n)),
        "y": np.sign(rng.normal(size=2 * n)),
    }


def value_and_gradient(w: Array, X: Array, y: Array) -> tuple[Array, Array]:
    """One exponential for both, which does not overflow."""
    t = -y * (X @ w)
    e = np.exp(-np.abs(t))
    s = np.where(t >= 0, 1, e) / (1 + e)
    return (np.maximum(t, 0) + np.log1p(e)).sum(), -X.T @ (y * s)


def _bare(data: Data) -> Task:
    """Only BLAS: half of a matrix times itself, which is scaled already."""
    from scipy.linalg.blas import dsyrk

    t = data["y"] * (data["X"] @ data["w"])
    e = np.exp(-np.abs(t))
    Z = (np.sqrt(e) / (1 + e))[:, None] * data["X"]
    return lambda: dsyrk(1.0, Z.T)


def _both_halves(upper: Array) -> list[Array]:
    return [np.triu(upper) + np.triu(upper, 1).T]


def _statsmodels(second: bool, data: Data) -> Task:
    models: Any = importlib.import_module("statsmodels.api")
    model, w = models.Logit((data["y"] + 1) / 2, data["X"]), data["w"]
    if second:
        return lambda: model.hessian(w)
    return lambda: (model.loglike(w), model.score(w))


def _negated(found: Any) -> list[Array]:
    return [-x for x in leaves(found)]


def _casadi(second: bool, data: Data) -> Task:
    casadi: Any = importlib.import_module("casadi")
    w = casadi.MX.sym("w", len(data["w"]))
    t = -data["y"] * (casadi.DM(data["X"]) @ w)
    value = casadi.sum1(casadi.log1p(casadi.exp(t)))
    if second:
        function = casadi.Function("f", [w], [casadi.hessian(value, w)[0]])
        return lambda: function(data["w"]).full()
    function = casadi.Function("f", [w], [value, casadi.gradient(value, w)])
    return lambda: [x.full().squeeze() for x in function(data["w"])]


def _case(second: bool, n: int) -> Case:
    peers = [
        *derived(loss, "Hessian" if second else "value and gradient"),
        Contender(
            "statsmodels", partial(_statsmodels, second), ("statsmodels.api",), _negated
        ),
    ]
    if n <= CASADI:
        peers.append(Contender("CasADi", partial(_casadi, second), ("casadi",)))
    if second:
        own = [ours(spec(n), dense()), hand(regressions.logistic)]
        peers.append(Contender("dsyrk alone", _bare, ("scipy",), _both_halves))
    else:
        own = [ours(spec(n), "f_value_and_grad"), hand(value_and_gradient)]
    name = f"logistic, {'Hessian' if second else 'value and gradient'}"
    return Case(name, "n", n, partial(data, n), (*own, *peers))


def cases() -> Iterator[Case]:
    """Value and gradient, and the Hessian, at all sizes."""
    for second in (False, True):
        yield from (_case(second, n) for n in SIZES)


SET = Set("A", "logistic", "Logistic regression, 2n samples of n coefficients.", cases)
