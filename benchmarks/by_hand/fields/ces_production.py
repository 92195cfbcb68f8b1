"""Economics: output of several inputs with one elasticity of substitution."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair, dense_times

SPEC = """
tensorgen: 1
module: ces_production
doc: Least squares for a production function of constant elasticity, in logarithms.
dims: {m: 20000, k: 4}
inputs:
  gamma: {shape: scalar, doc: logarithm of efficiency}
  d: {shape: [k], doc: distribution of the inputs before their softmax}
  rho: {shape: scalar, doc: the elasticity of substitution is 1/(1 + rho)}
  nu: {shape: scalar, doc: returns to scale}
  l: {shape: [m, k], doc: "logarithms of inputs, a firm a row"}
  q: {shape: [m], doc: logarithms of outputs}
functions:
  loss:
    where: |
      share = log_softmax(d)
      agg[i] = logsumexp(share[k] - rho*l[i, k], k)
      r = gamma - nu/rho*agg - q
    expr: sum(r**2)/2
    wrt: [gamma, d, rho, nu]
    emit: [value, gradient, hessian]
"""


class _Parts(NamedTuple):
    """Residuals, the aggregate, and the cost share of each input."""

    r: Array
    agg: Array
    p: Array
    w: Array


def _parts(
    gamma: float, d: Array, rho: float, nu: float, l: Array, q: Array  # noqa: E741
) -> _Parts:
    w = np.exp(d - d.max())
    w /= w.sum()
    z = np.log(w) - rho * l
    top = z.max(1, keepdims=True)
    p = np.exp(z - top)
    total = p.sum(1, keepdims=True)
    p /= total
    agg = (top + np.log(total))[:, 0]
    return _Parts(gamma - nu / rho * agg - q, agg, p, w)


def _jacobian(parts: _Parts, mean: Array, rho: float, nu: float) -> Array:
    """Return the slopes of residuals by gamma, d, rho and nu."""
    _, agg, p, w = parts
    return np.column_stack(
        [
            np.ones(len(agg)),
            -nu / rho * (p - w),
            nu / rho * (agg / rho + mean),
            -agg / rho,
        ]
    )


def value(
    gamma: float, d: Array, rho: float, nu: float, l: Array, q: Array  # noqa: E741
) -> Array:
    """Return half the sum of squares."""
    r = _parts(gamma, d, rho, nu, l, q).r
    return r @ r / 2


def gradient(
    gamma: float, d: Array, rho: float, nu: float, l: Array, q: Array  # noqa: E741
) -> tuple[Array, Array, Array, Array]:
    """Return the slopes by gamma, d, rho and nu."""
    r, agg, p, w = _parts(gamma, d, rho, nu, l, q)
    total, moment = r.sum(), p.T @ r
    mean = r @ (p * l).sum(1)
    return (
        total,
        -nu / rho * (moment - total * w),
        nu / rho * (r @ agg / rho + mean),
        -(r @ agg) / rho,
    )


def hessian(
    gamma: float, d: Array, rho: float, nu: float, l: Array, q: Array  # noqa: E741
) -> Array:
    """Return Gauss and Newton's matrix, and what residuals add to it."""
    parts = _parts(gamma, d, rho, nu, l, q)
    r, agg, p, w = parts
    mean = (p * l).sum(1)
    J = _jacobian(parts, mean, rho, nu)
    H = J.T @ J
    k = len(d)
    D = slice(1, k + 1)
    rp = r[:, None] * p
    total, moment = r.sum(), rp.sum(0)
    H[D, D] += nu / rho * (rp.T @ p - total * np.outer(w, w))
    H[D, D] -= nu / rho * np.diag(moment - total * w)
    drift = (rp * l).sum(0) - p.T @ (r * mean)
    by_rho = nu / rho * ((moment - total * w) / rho + drift)
    H[D, -2] += by_rho
    H[-2, D] += by_rho
    by_nu = -(moment - total * w) / rho
    H[D, -1] += by_nu
    H[-1, D] += by_nu
    spread = (p * l * l).sum(1) - mean**2
    H[-2, -2] -= nu / rho * (r @ (2 * (agg / rho + mean) / rho + spread))
    mixed = r @ (agg / rho + mean) / rho
    H[-1, -2] += mixed
    H[-2, -1] += mixed
    return H


def _data(m: int, rng: Generator) -> Data:
    k = 4 if m > 100 else 3
    return {
        "gamma": 0.3,
        "d": rng.normal(size=k),
        "rho": 0.5,
        "nu": 0.9,
        "l": rng.normal(size=(m, k)),
        "q": rng.normal(size=m),
    }


PAIR = Pair(
    "economics",
    "CES production",
    SPEC,
    "m",
    (12, 20_000),
    _data,
    (
        Operation("value", "loss", value),
        Operation("gradient", "loss_grad", gradient),
        Operation("Hessian", "loss_hess", hessian, dense_times),
    ),
)
