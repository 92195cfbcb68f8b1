"""Measure Hessians that are too large to be dense, each by its structure.

Run it as `make bench`, or `python benchmarks/structures.py [NAME ...]`; it writes
benchmarks/results/structures.txt. Each case runs in a process of its own, whose address
space is limited to 3 GiB, and which fails unless `H @ v` equals the Hessian-vector
product and the residual of `H.solve` is small.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import report

import tensorgen

LIMIT = 3 * 2**30  # bytes of address space
RESIDUAL = 1e-6  # relative to the right-hand side
AGREEMENT = 1e-9  # of products, relative to the largest entry
SHIFT = 0.1
HEADER = f"{'case':<12}{'entries':>10}{'holds':>12}{'hess':>8}{'H @ v':>8}{'solve':>8}"


@dataclass(frozen=True)
class Case:
    """A function, the sizes of its dims, and how its data are made."""

    inputs: str
    expr: str
    sizes: dict[str, int]
    data: Callable[[np.random.Generator, dict[str, int]], dict[str, Any]]
    wrt: str = "x"

    def spec(self) -> str:
        """Return the text of the spec."""
        sizes = ", ".join(f"{dim}: {size}" for dim, size in self.sizes.items())
        return (
            f"tensorgen: 1\nmodule: case\ndims: {{{sizes}}}\ninputs:\n{self.inputs}"
            f"functions:\n  f:\n    expr: |\n      {self.expr}\n    wrt: {self.wrt}\n"
            "    emit: [value, gradient, hessian, hvp]\n"
        )


def _vector(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    return {"x": rng.standard_normal(sizes["n"])}


def _kronecker(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    m, n = sizes["m"], sizes["n"]
    A = np.eye(m) + rng.standard_normal((m, m)) / m
    B = np.eye(n) + rng.standard_normal((n, n)) / n
    return {"x": rng.standard_normal((m, n)), "A": A, "B": B}


def _ratings(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    return {
        "x": rng.standard_normal((m, k)),
        "V": rng.standard_normal((n, k)),
        "T": rng.standard_normal((m, n)),
        "O": (rng.random((m, n)) < 0.5).astype(float),
    }


def _factors(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    n, r = sizes["n"], sizes["r"]
    V = rng.standard_normal((n, r)) / np.sqrt(n)
    return {"x": rng.standard_normal(n), "d": 1 + rng.random(n), "V": V}


def _samples(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    m, k = sizes["m"], sizes["k"]
    return {
        "x": rng.standard_normal((m, k)),
        "A": rng.standard_normal((m, k, k)),
        "b": rng.standard_normal((m, k)),
    }


CASES = {
    "diagonal": Case(
        "  x: [n]\n", "sum(log(1 + exp(x)) + x**2)", {"n": 10**6}, _vector
    ),
    "chain": Case(
        "  x: [n]\n",
        "sum(x**2) + sum((x[1:] - x[:-1]**2)**2)",
        {"n": 2 * 10**5},
        lambda rng, sizes: {"x": 0.1 * rng.standard_normal(sizes["n"])},
    ),
    "kronecker": Case(
        "  x: [m, n]\n  A: [m, m]\n  B: [n, n]\n",
        "norm(A @ x @ B)**2",
        {"m": 300, "n": 200},
        _kronecker,
    ),
    "ratings": Case(
        "  x: [m, k]\n  V: [n, k]\n  T: [m, n]\n  O: [m, n]\n",
        "sum(O * (T - x @ V.T)**2)",
        {"m": 10**4, "n": 500, "k": 5},
        _ratings,
    ),
    "low rank": Case(
        "  x: [n]\n  d: [n]\n  V: [n, r]\n",
        "sum(d * x**2) + norm(V.T @ x)**2",
        {"n": 10**5, "r": 8},
        _factors,
    ),
    "samples": Case(
        "  x: [m, k]\n  A: [m, k, k]\n  b: [m, k]\n",
        "sum((sum(A[s, i, j] * x[s, j], j) - b[s, i])**2, s, i)",
        {"m": 20000, "k": 12},
        _samples,
    ),
}


def measure(name: str) -> str:
    """Return a row of the table; AssertionError where results are wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    case, rng = CASES[name], np.random.default_rng(0)
    module = tensorgen.load(case.spec())
    data = case.data(rng, case.sizes)
    v = rng.standard_normal(data["x"].shape)
    start = time.perf_counter()
    H = module.f_hess(**data)
    made = time.perf_counter()
    product = H @ v
    multiplied = time.perf_counter()
    s = H.solve(v, shift=SHIFT)
    solved = time.perf_counter()
    expected = module.f_hvp(**data, dx=v)
    assert abs(product - expected).max() <= AGREEMENT * abs(expected).max()
    assert abs(H @ s + SHIFT * s - v).max() <= RESIDUAL * abs(v).max()
    times = (made - start, multiplied - made, solved - multiplied)
    row = f"{name:<12}{H.shape[0]:>10}{H.nbytes:>12}"
    return row + "".join(f"{seconds:>8.3f}" for seconds in times)


def main() -> int:
    """Run the cases, each in a process of its own, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CASES, []])
    parser.add_argument("--here", action="store_true", help="run one case, unprotected")
    options = parser.parse_args()
    if options.here:
        print(*map(measure, options.names), sep="\n")
        return 0
    rows, failed = [], 0
    for name in options.names or CASES:
        command = [sys.executable, __file__, "--here", name]
        run = subprocess.run(command, capture_output=True, text=True)
        failed += run.returncode != 0
        last = (run.stderr.strip().split("\n") or [""])[-1]
        rows.append(run.stdout.strip() or f"{name:<12}failed: {last}")
    report.write(
        "structures.txt",
        [*report.machine("numpy", "scipy"), "", "bytes and seconds", HEADER, *rows],
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
