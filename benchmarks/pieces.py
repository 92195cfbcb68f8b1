"""Pieces over blocks against whole functions: the time that processors spend.

`scale.py` runs it. Both compute the same of the same rows, in memory; blocks have as
many bytes as readers give them where nothing is said.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tensorgen
from tensorgen.engines import csr_rows

ROWS = 300_000
REPEATS = 15
# Each by its inputs, what is summed up, and the variables.
SPECS = {
    "logistic regression": (
        "w: [n], X: [m, n], y: [m]",
        "mean(log(1 + exp(-y * (X @ w)))) + 1e-3 * norm(w)**2",
        "w",
    ),
    "Poisson regression": (
        "w: [n], X: [m, n], y: [m]",
        "sum(exp(X @ w)) - sum(y * (X @ w)) + norm(w)**2",
        "w",
    ),
    "softmax regression": (
        "W: [n, k], X: [m, n], Y: [m, k]",
        "sum(logsumexp(Z[i, :]), i) - sum(Y * Z) where Z = X @ W",
        "W",
    ),
    "network": (
        "A: [n, k], b: [k], X: [m, n], y: [m]",
        "mean((H @ b - y)**2) where H = tanh(X @ A)",
        "[A, b]",
    ),
    "standardised features": (
        "w: [n], X: [m, n], y: [m]",
        "sum((Z @ w - y)**2) where mu[j] = mean(X[i, j], i); "
        "sd[j] = sqrt(mean((X[i, j] - mu[j])**2, i)); "
        "Z[i, j] = (X[i, j] - mu[j]) / sd[j]",
        "w",
    ),
    "soft maximum": ("w: [n], X: [m, n], y: [m]", "logsumexp(X @ w - y)", "w"),
}
SIZES = {"m": ROWS, "n": 60, "k": 8}


def spec(name: str) -> str:
    """Return the text of a spec."""
    inputs, told, wrt = SPECS[name]
    expr, _, where = told.partition(" where ")
    lines = "".join(f"      {x}\n" for x in where.split("; ") if x)
    where = f"    where: |\n{lines}" if lines else ""
    return (
        f"tensorgen: 1\nblocks: m\ninputs: {{{inputs}}}\nfunctions:\n  f:\n{where}"
        f"    expr: {expr}\n    wrt: {wrt}\n"
        "    emit: [value, gradient, hessian, hvp, problem]\n"
    )


def data(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the variables of a spec, and what else it takes: entries of order one."""
    rng = np.random.default_rng(0)
    inputs, _, wrt = SPECS[name]
    found = {}
    for text in inputs.split(", "):
        if ": [" in text:
            found[text.partition(":")[0]] = [text.partition("[")[2].rstrip("]")]
        else:
            found[[*found][-1]].append(text.rstrip("]"))
    arrays = {
        x: rng.standard_normal([SIZES[d] for d in own]) for x, own in found.items()
    }
    variables = {x: arrays.pop(x) / SIZES["n"] for x in wrt.strip("[]").split(", ")}
    return variables, arrays


def least(calls: Sequence[Callable[[Any], Any]], v: Any) -> list[float]:
    """Return the least seconds of processors of calls, in turn, at ever other v."""
    times: list[list[float]] = [[] for _ in calls]
    for k in range(REPEATS + 1):
        for own, call in zip(times, calls, strict=True):
            at, start = v + 1e-3 * k, time.process_time()
            call(at)
            own.append(time.process_time() - start)
    return [min(own[1:]) for own in times]


def measured(name: str) -> Iterator[tuple[str, int, float, float]]:
    """Yield what is computed, its passes, and seconds of the whole and of pieces."""
    variables, arrays = data(name)
    made = tensorgen.load(spec(name))
    over = made.FProblem.over([block() for block in csr_rows(arrays)])
    v = over.pack(**variables)
    d = np.linspace(-1, 1, v.size)

    def whole(function: Any, *directions: Any) -> Callable[[Any], Any]:
        along = {k: y for x in directions for k, y in named(x, "d").items()}
        return lambda x: function(**named(x), **along, **arrays)

    def named(x: Any, prefix: str = "") -> dict[str, Any]:
        parts = over.unpack(x)
        parts = parts if isinstance(parts, tuple) else (parts,)
        return {prefix + y: z for y, z in zip(variables, parts, strict=True)}

    ways: dict[str, tuple[str, Any, Any]] = {
        "gradient": ("value_and_gradient", made.f_value_and_grad, over.fun_and_grad),
        "Hessian times d": ("hvp", made.f_hvp, lambda x: over.hvp(x, d)),
        "Hessian": ("hessian", made.f_hess, getattr(over, "hess", None)),
    }
    for what, (way, function, pieces) in ways.items():
        if way in made.FOver._ways:  # no Hessian that stays with its rows
            directions = (d,) if way == "hvp" else ()
            all_, own = least([whole(function, *directions), pieces], v)
            yield what, len(made.FOver._ways[way][0]), all_, own


def rows() -> Iterator[str]:
    """Yield the section of the results."""
    sizes = ", ".join(f"{x} = {size}" for x, size in SIZES.items())
    yield from ("", f"Seconds of processors for {sizes}, in memory", "")
    yield f"{'':<41}{'passes':>6}{'whole':>9}{'pieces':>9}{'ratio':>7}"
    for name in SPECS:
        for what, passes, all_, pieces in measured(name):
            times = f"{all_:>9.3f}{pieces:>9.3f}{pieces / all_:>7.2f}"
            yield f"{name:<24}{what:<17}{passes:>6}{times}"


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
