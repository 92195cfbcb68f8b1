"""Models whose data come in blocks of rows, as textbooks state them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.sampled import left

Array = Any


class Model(NamedTuple):
    """A function of a spec, what it is differentiated by, and what else it takes."""

    where: str
    expr: str
    wrt: str = "w"
    inputs: str = "w: [n], X: [m, n], y: [m]"
    blocks: str = "m"
    rounds: int = 1

    def spec(self, emit: str = "value, gradient, hessian, hvp, problem") -> str:
        """The text of a spec with this function alone."""
        where = "\n      ".join(self.where.split("; "))
        lines = f"    where: |\n      {where}\n" if where else ""
        return (
            f"tensorgen: 1\nmodule: model\ninputs: {{{self.inputs}}}\n"
            f"blocks: {self.blocks}\nfunctions:\n  f:\n{lines}"
            f"    expr: |\n      {self.expr}\n    wrt: {self.wrt}\n    emit: [{emit}]\n"
        )


POISSON = "y[i] * t[i] - exp(t[i])"
MODELS = {
    "logistic": Model("", "sum(log(1 + exp(-y * (X @ w)))) + norm(w)**2 / 2"),
    "poisson": Model("t = X @ w", f"-sum({POISSON}, i)"),
    "mean": Model("r = X @ w - y", "mean(r**2)"),
    "softmax": Model(
        "Z = X @ W",
        "sum(logsumexp(Z[i, :]) - sum(Y[i, c] * Z[i, c], c), i)",
        wrt="W",
        inputs="W: [n, k], X: [m, n], Y: [m, k]",
    ),
    "network": Model(
        "H = tanh(X @ A); r = H @ b - y",
        "sum(r**2)",
        wrt="[b, A]",
        inputs="A: [n, k], b: [k], X: [m, n], y: [m]",
    ),
    "standardised": Model(
        "mu[j] = mean(X[i, j], i); sd[j] = sqrt(mean((X[i, j] - mu[j])**2, i)); "
        "Z[i, j] = (X[i, j] - mu[j]) / sd[j]; r = Z @ w - y",
        "sum(r**2) / 2",
        rounds=3,
    ),
    "soft maximum": Model("", "logsumexp(X @ w - y)", rounds=2),
    "worst": Model("", "max(X @ w - y)", rounds=2),
    "norm": Model("", "norm(X @ w - y)", rounds=2),
    "product": Model("", "prod(1 + y**2) * norm(w)**2"),
    "numbered": Model("", "sum((y[i] - w[0] - 0.1 * i * w[1])**2, i)"),
    "variance": Model("", "var(X @ w) + min(y)", rounds=3),
    "pearson": Model(
        "t = X @ w; a = t - mean(t); b = y - mean(y)",
        "sum(a * b) / (norm(a) * norm(b))",
        rounds=4,
    ),
    "normal": Model(
        "mu[j] = mean(X[i, j], i); C = (X - mu).T @ (X - mu) / m + diag(exp(w))",
        "logdet(C)",
        rounds=2,
    ),
    "kernel": Model(
        "K[i, j] = exp(-sum((X[i, a] - Z[j, a])**2, a)); r = K @ w - y",
        "sum(r**2) + w @ w",
        inputs="w: [k], X: [m, n], y: [m], Z: [k, n]",
    ),
    "recurrent": Model(
        "s[0] = zeros(m, n); s[t + 1] = tanh(s[t] @ W.T + X[t]); r = s[T] @ v - y",
        "sum(r**2)",
        wrt="[W, v]",
        inputs="W: [n, n], v: [n], X: [T, m, n], y: [m]",
    ),
    "ratings": Model(
        "r[e] = value[e] - sum(U[row[e], a] * w[a], a) - c[col[e]]",
        "sum(r**2) + sum(c**2)",
        wrt="[w, c]",
        inputs=(
            "w: [k], c: [p], U: [m, k], row: {shape: [E], index: m}, "
            "col: {shape: [E], index: p}, value: [E]"
        ),
        blocks="{m: {E: row}}",
    ),
}
# Each shows a law that no other one shows: sums, rounds, exponentials above a level,
# the number of a row, variables in another order than inputs, entries that come along.
LAWS = (
    "logistic",
    "standardised",
    "soft maximum",
    "softmax",
    "numbered",
    "product",
    "network",
    "ratings",
)
CASES = [pytest.param(x, id=x) if x in LAWS else left(x) for x in MODELS]


def data(model: Model, rows: int, seed: int = 0, offset: float = 0.0) -> dict[str, Any]:
    """Values of all inputs of a model; the matrix X is far from zero by an offset."""
    rng = np.random.default_rng(seed)
    sizes = {"m": rows, "n": 4, "k": 3, "p": 5, "T": 3, "E": 3 * rows}
    found: dict[str, Any] = {}
    for name, shape, bound in _inputs(model.inputs):
        dims = [sizes[x] for x in shape]
        if bound:
            found[name] = rng.integers(0, sizes[bound], dims)
        else:
            found[name] = rng.normal(size=dims) + (offset if name == "X" else 0.0)
    return found


def _inputs(text: str) -> list[tuple[str, list[str], str]]:
    import yaml

    found = []
    for name, given in yaml.safe_load(f"{{{text}}}").items():
        shape = given["shape"] if isinstance(given, dict) else given
        bound = given.get("index", "") if isinstance(given, dict) else ""
        found.append((name, shape, bound))
    return found


def cut(model: Model, whole: dict[str, Any], ends: list[int]) -> list[dict[str, Array]]:
    """The data in blocks of rows, which end where it is said."""
    shapes = {name: shape for name, shape, _ in _inputs(model.inputs)}
    blocks = []
    for start, stop in zip([0, *ends], ends, strict=False):
        own = {"m": np.arange(start, stop)}
        if "row" in whole:
            own["E"] = np.flatnonzero((whole["row"] >= start) & (whole["row"] < stop))
        block = {}
        for name, shape in shapes.items():
            array, has_rows = whole[name], False
            for axis, size in enumerate(shape):
                if size in own:
                    array, has_rows = array.take(own[size], axis=axis), True
            if has_rows:
                block[name] = array - start if name == "row" else array
        blocks.append(block)
    return blocks
