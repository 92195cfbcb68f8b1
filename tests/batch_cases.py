"""Functions of one sample over a batch, and the same functions for JAX."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np

Array = Any
SIZES = {"n": 3, "k": 2, "d": 2, "T": 4, "e": 5}
SCALAR = "value, gradient, hessian, hvp, jvp, vjp"
TENSOR = "value, jacobian, jvp, vjp"


@dataclass(frozen=True)
class Case:
    """A function, its arguments as `shape` or `shape; properties`, and its oracle.

    Those in `batch` have a sample a row; `low` and `high` bound their numbers.
    """

    inputs: Mapping[str, str]
    batch: str
    wrt: str
    expr: str
    oracle: Callable[..., Any]
    where: str = ""
    emit: str = SCALAR
    low: float = -1.0
    high: float = 1.0
    index: Mapping[str, int] = field(default_factory=dict)

    def spec(self, batched: bool = True) -> str:
        """The text of the spec, over a batch or of one sample."""
        lines = ["tensorgen: 1", "inputs:"]
        for name, told in self.inputs.items():
            shape, *more = told.split("; ")
            rest = [f"shape: {shape}", *more]
            rest += ["batch: [B]"] * (batched and name in self.batch.split())
            lines.append(f"  {name}: {{{', '.join(rest)}}}")
        lines += ["functions:", "  f:"]
        if self.where:
            lines += ["    where: |", *(f"      {x}" for x in self.where.split("; "))]
        lines += [f"    expr: {self.expr}", f"    wrt: [{self.wrt}]"]
        return "\n".join([*lines, f"    emit: [{self.emit}]"]) + "\n"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arguments for one sample."""
        return {
            name: tuple(
                SIZES.get(x) or eval(x, {}, SIZES)
                for x in re.findall(r"[^][,;\s][^],;]*", told.split(";")[0])
                if x != "scalar"
            )
            for name, told in self.inputs.items()
        }

    def arguments(self, samples: int, seed: int = 0) -> dict[str, Array]:
        """Random arguments, those of a batch with so many samples."""
        rng, found = np.random.default_rng(seed), {}
        for name, shape in self.shapes().items():
            lead = (samples,) * (name in self.batch.split())
            made: Array
            if name in self.index:
                found[name] = rng.integers(0, self.index[name], (*lead, *shape))
                continue
            made = rng.uniform(self.low, self.high, (*lead, *shape))
            if "spd" in self.inputs[name]:
                made = made @ np.swapaxes(made, -1, -2) + 2 * np.eye(shape[-1])
            elif "symmetric" in self.inputs[name]:
                made = made + np.swapaxes(made, -1, -2)
                made += 3 * np.diag(np.arange(shape[-1]))
            found[name] = made
        return found


def _kalman(y: Array, q: Array, s: Array) -> Array:
    mean, variance, total = 0.0, 1.0, 0.0
    for t in range(len(y)):
        before = variance + q
        gain, residual = before / (before + s), y[t] - mean
        total += residual**2 / (before + s) + jnp.log(before + s)
        mean, variance = mean + gain * residual, (1 - gain) * before
    return total / 2


def _controlled(u: Array, x0: Array, A: Array, b: Array) -> Array:
    x = x0
    for t in range(len(u)):
        x = jnp.tanh(A @ x) + b * u[t]
    return jnp.sum(x**2) + jnp.sum(u**2)


def _path(u: Array, x0: Array, A: Array) -> Array:
    x, total = x0, jnp.sum(x0**2)
    for t in range(len(u)):
        x = jnp.sin(A @ x) + u[t]
        total += jnp.sum(x**2)
    return total


def _kernel(x: Array, ell: Array) -> Array:
    squares = jnp.sum((x[:, None] - x[None]) ** 2, axis=-1)
    return jnp.exp(-squares / ell**2) + 0.1 * jnp.eye(len(x))


def _evidence(x: Array, y: Array, ell: Array) -> Array:
    K = _kernel(x, ell)
    return y @ jnp.linalg.solve(K, y) + jnp.linalg.slogdet(K)[1]


def _huber(x: Array, c: Array) -> Array:
    a = jnp.abs(x)
    return jnp.sum(jnp.where(a < c, x**2 / 2, c * a - c**2 / 2))


def _normal(x: Array, S: Array, m: Array) -> Array:
    r = x - m
    return r @ jnp.linalg.solve(S, r) / 2 + jnp.linalg.slogdet(S)[1] / 2


CASES = {
    "logistic": Case(
        {"x": "[n]", "y": "scalar", "w": "[n]"},
        *("x y", "w", "log(1 + exp(-y * (w @ x)))"),
        lambda x, y, w: jnp.log1p(jnp.exp(-y * (w @ x))),
    ),
    "cross_entropy": Case(
        {"x": "[n]", "W": "[k, n]", "c": "scalar; index: k"},
        *("x c", "x, W", "logsumexp(z) - z[c]"),
        lambda x, W, c: jsp.special.logsumexp(W @ x) - (W @ x)[c],
        where="z = W @ x",
        index={"c": 2},
    ),
    "attention": Case(
        {"q": "[d]", "K": "[n, d]", "V": "[n, d]"},
        *("q K", "q, K", "softmax(K @ q) @ V"),
        lambda q, K, V: jax.nn.softmax(K @ q) @ V,
        emit=TENSOR,
    ),
    "network": Case(
        {"x": "[n]", "W": "[k, n]", "v": "[k]"},
        *("x", "W, v", "v @ tanh(W @ x)"),
        lambda x, W, v: v @ jnp.tanh(W @ x),
    ),
    "normal": Case(
        {"x": "[n]", "S": "[n, n]; spd: true", "m": "[n]"},
        *("x S", "x, m", "r @ solve(S, r) / 2 + logdet(S) / 2"),
        _normal,
        where="r = x - m",
    ),
    "precision": Case(
        {"A": "[n, n]", "b": "[n]"},
        *("A", "A, b", "b @ inv(A) @ b + det(A)"),
        lambda A, b: b @ jnp.linalg.inv(A) @ b + jnp.linalg.det(A),
        low=0.5,
        high=2.0,
    ),
    "triangle": Case(
        {"S": "[n, n]; spd: true", "z": "[n]"},
        *("S", "z", "cholesky(S) @ z"),
        lambda S, z: jnp.linalg.cholesky(S) @ z,
        emit=TENSOR,
    ),
    "spectrum": Case(
        {"s": "[n]", "S": "[n, n]; symmetric: true"},
        *("S", "s", "sum(eigvalsh(S + diag(s))**3)"),
        lambda s, S: jnp.sum(jnp.linalg.eigvalsh(S + jnp.diag(s)) ** 3),
    ),
    "flow": Case(
        {"A": "[n, n]", "v": "[n]"},
        *("A v", "A, v", "expm(A) @ v"),
        lambda A, v: jsp.linalg.expm(A) @ v,
        emit=TENSOR,
    ),
    "huber": Case(
        {"x": "[n]", "c": "scalar"},
        *("x c", "x", "sum(where(abs(x) < c, x**2 / 2, c * abs(x) - c**2 / 2))"),
        _huber,
    ),
    "evidence": Case(
        {"x": "[n, d]", "y": "[n]", "ell": "scalar"},
        *("x y", "ell, y", "y @ solve(spd(K), y) + logdet(spd(K))"),
        _evidence,
        where="K[i, j] = exp(-sum((x[i, l] - x[j, l])**2, l) / ell**2)"
        " + 0.1 * delta(i, j)",
    ),
    "controlled": Case(
        {"u": "[T]", "x0": "[n]", "A": "[n, n]", "b": "[n]"},
        *("u x0", "u", "sum(x[T]**2) + sum(u**2)"),
        _controlled,
        where="x[0] = x0; x[t + 1] = tanh(A @ x[t]) + b * u[t]",
    ),
    "path": Case(
        {"u": "[T, n]", "x0": "[n]", "A": "[n, n]"},
        *("u", "A, x0", "sum(x**2)"),
        _path,
        where="x[0] = x0; x[t + 1] = sin(A @ x[t]) + u[t]",
    ),
    "kalman": Case(
        {"y": "[T]", "q": "scalar", "s": "scalar"},
        *("y", "q, s", "sum(r**2 / S + log(S)) / 2"),
        _kalman,
        where="P[0] = 1; m[0] = 0; S[t=range(T)] = P[t] + q + s"
        "; K[t=range(T)] = (P[t] + q) / S[t]; r[t=range(T)] = y[t] - m[t]"
        "; P[t + 1] = (1 - K[t]) * (P[t] + q); m[t + 1] = m[t] + K[t] * r[t]",
        low=0.2,
    ),
    "differences": Case(
        {"x": "[n]", "i": "[e]; index: n", "j": "[e]; index: n"},
        *("x j", "x", "sum((x[i[a]] - x[j[a]])**4, a)"),
        lambda x, i, j: jnp.sum((x[i] - x[j]) ** 4),
        index={"i": 3, "j": 3},
    ),
    "moving": Case(
        {"x": "[n + k - 1]", "h": "[k]"},
        *("x", "x, h", "c**2"),
        lambda x, h: jnp.correlate(x, h, mode="valid") ** 2,
        where="c[i] = sum(x[i + j] * h[j], j)",
        emit=TENSOR,
    ),
    "linear": Case(
        {"x": "[n]", "c": "[n]"},
        *("x", "x, c", "c @ x"),
        lambda x, c: c @ x,
    ),
}
