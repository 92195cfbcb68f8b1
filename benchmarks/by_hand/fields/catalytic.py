"""Epidemiology: forces of infection by age, from who has antibodies (Muench 1934)."""

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair

SPEC = """
tensorgen: 1
module: catalytic
doc: Catalytic model of seroprevalence, forces of infection smooth in age.
dims: {n: 100000}
inputs:
  theta: {shape: [n], doc: logarithm of the force of infection at each age}
  pos: {shape: [n], nonnegative: true, doc: how many have antibodies}
  neg: {shape: [n], nonnegative: true, doc: how many have none}
  kappa: {shape: scalar, doc: weight of roughness}
functions:
  nll:
    where: |
      dose = cumsum(exp(theta))
      bend = theta[2:] - 2*theta[1:-1] + theta[:-2]
    expr: sum(neg*dose - pos*log(1 - exp(-dose))) + kappa*sum(bend**2)/2
    wrt: theta
    emit: [value, gradient, hvp]
"""


def _roughness(theta: Array, kappa: float) -> Array:
    """Apply the penalty's matrix."""
    bend = kappa * np.diff(theta, n=2)
    g = np.zeros(len(theta))
    g[2:] += bend
    g[1:-1] -= 2 * bend
    g[:-2] += bend
    return g


def _from_here_on(x: Array) -> Array:
    """Apply the adjoint of a cumulative sum."""
    return np.cumsum(x[::-1])[::-1]


def value(theta: Array, pos: Array, neg: Array, kappa: float) -> Array:
    """Return the penalised negative log-likelihood."""
    dose = np.cumsum(np.exp(theta))
    bend = np.diff(theta, n=2)
    return neg @ dose - pos @ np.log(-np.expm1(-dose)) + kappa * (bend @ bend) / 2


def gradient(theta: Array, pos: Array, neg: Array, kappa: float) -> Array:
    """Return the slope at each age."""
    force = np.exp(theta)
    dose = np.cumsum(force)
    return force * _from_here_on(neg - pos / np.expm1(dose)) + _roughness(theta, kappa)


def hvp(theta: Array, pos: Array, neg: Array, kappa: float, dtheta: Array) -> Array:
    """Return the Hessian times a direction."""
    force = np.exp(theta)
    dose = np.cumsum(force)
    odds = pos / np.expm1(dose)
    d_force = force * dtheta
    # Minus the slope of 1/expm1 is 1/(expm1(x)*(1 - exp(-x))).
    d_slope = odds / -np.expm1(-dose) * np.cumsum(d_force)
    smooth = _roughness(dtheta, kappa)
    return d_force * _from_here_on(neg - odds) + force * _from_here_on(d_slope) + smooth


def _data(n: int, rng: Generator) -> Data:
    return {
        "theta": rng.normal(size=n) / 3 - np.log(n),
        "pos": rng.poisson(20, n).astype(float),
        "neg": rng.poisson(20, n).astype(float),
        "kappa": 0.4,
        "dtheta": rng.normal(size=n),
    }


PAIR = Pair(
    "epidemiology",
    "catalytic model",
    SPEC,
    "n",
    (10, 100_000),
    _data,
    (
        Operation("value", "nll", value),
        Operation("gradient", "nll_grad", gradient),
        Operation("hvp", "nll_hvp", hvp),
    ),
)
