"""Constrained problems, and the solver protocol that their classes serve."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.sparse import csr_matrix

import tensorgen

HS71 = """
tensorgen: 1
module: hs71
inputs: {x: [4]}
functions:
  cost: x[0] * x[3] * sum(x[:3]) + x[2]
  product: prod(x)
  squares: x @ x
problem:
  minimize: cost
  variables: {x: {lower: 1, upper: 5}}
  constraints: {product: {lower: 25}, squares: {equal: 40}}
"""
STEERING = """
tensorgen: 1
module: steering
dims: {n: 101}
inputs:
  tf: scalar
  u: [n]
  p: [n, 2]
  v: [n, 2]
  a: {shape: scalar, default: 100}
  goal: [3]
functions:
  position: p[1:] - p[:-1] - tf / (2 * (n - 1)) * (v[1:] + v[:-1])
  velocity:
    where: |
      thrust = a * stack([cos(u), sin(u)], axis=1)
    expr: v[1:] - v[:-1] - tf / (2 * (n - 1)) * (thrust[1:] + thrust[:-1])
  time: tf
  start: concatenate([p[0], v[0]])
  end: "[p[-1, 1], v[-1, 0], v[-1, 1]]"
problem:
  minimize: time
  variables:
    tf: {lower: 0}
    u: {lower: -pi/2, upper: pi/2}
    p:
    v:
  constraints:
    position: {equal: 0}
    velocity: {equal: 0}
    start: {equal: 0}
    end: {equal: goal}
"""
CHAIN = Path(__file__).parent / "literature" / "hanging_chain.yaml"
# Data that objective, constraints and bounds have in common, an index array, a maximum.
PORTFOLIO = """
tensorgen: 1
module: portfolio
inputs:
  w: [n]
  s: scalar
  R: [m, n]
  mu: [n]
  cap: [n]
  sector: {shape: [n], index: k}
  limit: [k]
  lowest: {shape: scalar, default: 0.1}
functions:
  C: R.T @ R / m
  utility: mu @ w - w @ C @ w / 2 - s**2
  total: sum(w)
  risk[j]: sum(C[i, i] * w[i]**2, i, sector[i] == j) / limit[j] + s
problem:
  name: Portfolio
  doc: The best portfolio.
  maximize: utility
  variables:
    w: {lower: 0, upper: 2 * cap}
    s: {lower: -lowest}
  constraints:
    total: {lower: lowest, upper: 1}
    risk: {upper: limit}
"""

loaded = functools.cache(tensorgen.load)


class Solver:
    """What cyipopt keeps of a problem object, which it asks for as IPOPT does."""

    def __init__(self, problem: Any) -> None:
        """Ask for the places of entries, once."""
        self.problem = problem
        self.n, self.m = problem.n, problem.m
        self.lb, self.ub, self.cl, self.cu = (
            np.asarray(getattr(problem, side), dtype=float)
            for side in ("lb", "ub", "cl", "cu")
        )
        assert self.lb.shape == self.ub.shape == (self.n,)
        assert self.cl.shape == self.cu.shape == (self.m,)
        self.jacobian_at = self._places(problem.jacobianstructure(), self.m)
        self.hessian_at = self._places(problem.hessianstructure(), self.n)
        assert (self.hessian_at[0] >= self.hessian_at[1]).all()

    def _places(self, structure: Any, height: int) -> Any:
        rows, columns = map(np.asarray, structure)
        assert rows.dtype.kind == columns.dtype.kind == "i"
        assert rows.shape == columns.shape == (rows.size,)
        assert ((rows >= 0) & (rows < height)).all()
        assert ((columns >= 0) & (columns < self.n)).all()
        assert len({*zip(rows.tolist(), columns.tolist(), strict=True)}) == rows.size
        return rows, columns

    def objective(self, x: Any) -> float:
        """The objective, a number."""
        return float(self.problem.objective(x))

    def gradient(self, x: Any) -> Any:
        """Its gradient."""
        return self._vector(self.problem.gradient(x), self.n)

    def constraints(self, x: Any) -> Any:
        """The constraints."""
        return self._vector(self.problem.constraints(x), self.m)

    def jacobian(self, x: Any) -> Any:
        """Their Jacobian, put together."""
        values = self._vector(self.problem.jacobian(x), self.jacobian_at[0].size)
        return csr_matrix((values, self.jacobian_at), shape=(self.m, self.n)).toarray()

    def hessian(self, x: Any, lagrange: Any, obj_factor: float) -> Any:
        """The Hessian of the Lagrangian, put together."""
        found = self.problem.hessian(x, lagrange, obj_factor)
        values = self._vector(found, self.hessian_at[0].size)
        H = csr_matrix((values, self.hessian_at), shape=(self.n, self.n)).toarray()
        return H + np.tril(H, -1).T

    def _vector(self, values: Any, size: int) -> Any:
        assert isinstance(values, np.ndarray) and values.dtype == np.float64
        assert values.shape == (size,) and values.flags.owndata
        return values


def interior_point(p: Solver, x: Any, steps: int = 60) -> Any:
    """Minimise by a primal-dual interior-point method, as IPOPT does but for care.

    Inequalities get slack variables; bounds are kept off by a logarithmic barrier.
    """
    free = np.flatnonzero(p.cl != p.cu)
    lower, upper = np.append(p.lb, p.cl[free]), np.append(p.ub, p.cu[free])
    z = np.append(x, p.constraints(x)[free])
    z = np.maximum(lower + 0.1, np.minimum(upper - 0.1, z))
    y, mu = np.zeros(p.m), 0.1
    below, above = mu / (z - lower), mu / (upper - z)
    for _ in range(steps):
        x, s = z[: p.n], z[p.n :]
        target = p.cl.copy()
        target[free] = s
        slack = np.zeros((p.m, free.size))
        slack[free, np.arange(free.size)] = -1
        J = np.hstack([p.jacobian(x), slack])
        H = np.diag(below / (z - lower) + above / (upper - z))
        H[: p.n, : p.n] += p.hessian(x, y, 1.0)
        Z = null_space(J)
        least = np.linalg.eigvalsh(Z.T @ H @ Z).min(initial=1)
        H += max(0, 1e-3 - least) * np.eye(z.size)  # so that the step goes down
        slope = np.append(p.gradient(x), 0 * s) + J.T @ y
        slope += mu / (upper - z) - mu / (z - lower)
        residual = p.constraints(x) - target
        system = np.block([[H, J.T], [J, np.zeros((p.m, p.m))]])
        step = -np.linalg.solve(system, np.append(slope, residual))
        dz, dy = step[: z.size], step[z.size :]
        d_below = mu / (z - lower) - below - below / (z - lower) * dz
        d_above = mu / (upper - z) - above + above / (upper - z) * dz
        pairs = ((z - lower, dz), (upper - z, -dz), (below, d_below), (above, d_above))
        ratios = [-d / np.where(v > 0, v, 1) for v, d in pairs]
        most = max(np.max(ratio, initial=0) for ratio in ratios)
        length = min(1, 0.99 / most) if most else 1
        z, y = z + length * dz, y + length * dy
        below, above = below + length * d_below, above + length * d_above
        mu = max(0.3 * mu, 1e-13) if length > 0.5 else mu
    assert abs(residual).max(initial=0) < 1e-8 and abs(dz).max() < 1e-6
    return z[: p.n]
