"""Compare generated logistic regression with NumPy by hand and with JAX.

Run it as `make bench`, or `python benchmarks/runtime.py [--rounds N]`; it writes
benchmarks/results/runtime.txt. The contenders take turns within each round, so that
what disturbs the machine disturbs all of them.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import report
from numpy.typing import NDArray

import tensorgen

SPEC = report.ROOT / "examples" / "logistic_regression.yaml"
SIZES = ((2000, 100), (2000, 1000), (20000, 100))
LAM = 1e-3
AGREEMENT = 1e-9  # relative, of all contenders, before anything is timed

Array = NDArray[np.float64]
Task = Callable[[], Any]


def data(m: int, n: int) -> tuple[Array, Array, Array]:
    """Return a point, a data matrix and labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    w = rng.standard_normal(n) / np.sqrt(n)
    y = np.where(X @ w + rng.standard_normal(m) > 0, 1.0, -1.0)
    return w / 2, X, y


def by_hand(w: Array, X: Array, y: Array) -> dict[str, Task]:
    """Return what one writes with the derivatives worked out on paper."""

    def value() -> Any:
        return np.logaddexp(0, -y * (X @ w)).sum() + LAM * (w @ w)

    def gradient() -> Any:
        s = 1 / (1 + np.exp(y * (X @ w)))
        return 2 * LAM * w - X.T @ (y * s)

    def hessian() -> Any:
        e = np.exp(-np.abs(X @ w))
        H = X.T @ ((e / (1 + e) ** 2)[:, None] * X)
        H[np.diag_indices_from(H)] += 2 * LAM
        return H

    return {"value": value, "gradient": gradient, "Hessian": hessian}


def by_jax(w: Array, X: Array, y: Array) -> dict[str, Task]:
    """Return the compiled functions that JAX derives, each waiting for its result."""

    def loss(w: Any, X: Any, y: Any) -> Any:
        return jnp.sum(jax.nn.softplus(-y * (X @ w))) + LAM * (w @ w)

    arguments = [jnp.asarray(a) for a in (w, X, y)]

    def task(function: Any) -> Task:
        compiled = jax.jit(function)
        return lambda: compiled(*arguments).block_until_ready()

    return {
        "value": task(loss),
        "gradient": task(jax.grad(loss)),
        "Hessian": task(jax.hessian(loss)),
    }


def by_tensorgen(module: Any, w: Array, X: Array, y: Array) -> dict[str, Task]:
    """Return the generated functions; the Hessian is formed, as the others form it."""
    return {
        "value": lambda: module.loss(w, X, y, lam=LAM),
        "gradient": lambda: module.loss_grad(w, X, y, lam=LAM),
        "Hessian": lambda: module.loss_hess(w, X, y, lam=LAM).dense(),
    }


def seconds(task: Task) -> float:
    """Return the time of one call, after another that fetches the data into cache.

    Without it, the contender that follows one with data of its own would pay for it.
    """
    task()
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def check(what: str, contenders: dict[str, dict[str, Task]]) -> None:
    """Raise unless all contenders agree; the first call also compiles JAX's."""
    results = {name: np.asarray(tasks[what]()) for name, tasks in contenders.items()}
    expected = results["NumPy"]
    for name, result in results.items():
        error = np.max(np.abs(result - expected)) / np.max(np.abs(expected))
        if not error <= AGREEMENT:
            raise SystemExit(f"{what}: {name} is off by {error:.1e}")


def measure(m: int, n: int, rounds: int, module: Any) -> list[str]:
    """Return the table's lines for one size."""
    arguments = data(m, n)
    contenders = {
        "tensorgen": by_tensorgen(module, *arguments),
        "NumPy": by_hand(*arguments),
        "JAX": by_jax(*arguments),
    }
    lines = []
    for what in ("value", "gradient", "Hessian"):
        check(what, contenders)
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, tasks in contenders.items():
                times[name].append(seconds(tasks[what]))
        median = {name: report.spread(found)[0] for name, found in times.items()}
        figures = "".join(f"{1e3 * t:12.3f}" for t in median.values())
        ratios = "".join(
            f"{median['tensorgen'] / median[name]:12.2f}" for name in ("NumPy", "JAX")
        )
        lines.append(f"{m:6d} x {n:<6d}{what:9s}{figures}{ratios}")
    return lines


def main() -> None:
    """Measure all sizes and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=51, help="of each measurement")
    rounds = parser.parse_args().rounds
    jax.config.update("jax_enable_x64", True)
    module = tensorgen.load(SPEC, backend="numpy")
    head = [
        "Logistic regression, m samples x n coefficients, float64: median times of",
        f"{rounds} interleaved rounds in ms, and tensorgen's times over the others'.",
        f"Written by `python benchmarks/runtime.py --rounds {rounds}` on one thread.",
        "",
        *report.machine("numpy", "jax"),
        "",
        f"{'size':15s}{'':9s}"
        + "".join(
            f"{c:>12s}" for c in ("tensorgen", "NumPy", "JAX", "/ NumPy", "/ JAX")
        ),
    ]
    rows = [line for m, n in SIZES for line in measure(m, n, rounds, module)]
    report.write("runtime.txt", head + rows)


if __name__ == "__main__":
    main()
