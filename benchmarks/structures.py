"""Measure Hessians that are too large to be dense, each by its structure.

Run it as `make bench`, or `python benchmarks/structures.py [NAME ...]`; it writes
benchmarks/results/structures.txt. Each case runs in a process of its own, whose address
space is limited to 3 GiB, and which fails unless `H @ v` equals the Hessian-vector
product, the residual of `H.solve` is small, it took less than 5 seconds, and H holds
what its structure says. Then come Newton steps on a matrix factorisation by structure
and by the dense matrix, the layers of a network, and joint Hessians: KKT matrices and
an arrow, beside what SciPy's `splu` takes for the assembled matrix.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import joint_systems
import layers
import numpy as np
import report
from scipy.linalg import solve

import tensorgen

LIMIT = 3 * 2**30  # bytes of address space
RESIDUAL = 1e-6  # relative to the right-hand side
AGREEMENT = 1e-9  # of products, relative to the largest entry
SECONDS = 5  # for a solve
# Small systems gain nothing by threads, which wait for each other on a busy machine.
SINGLE = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
SHIFT = 0.1
HEADER = f"{'case':<12}{'rows':>10}{'holds':>12}{'hess':>8}{'H @ v':>8}{'solve':>8}"


@dataclass(frozen=True)
class Case:
    """A function, the sizes of its dims, and how its data are made."""

    inputs: str
    expr: str
    sizes: dict[str, int]
    data: Callable[[np.random.Generator, dict[str, int]], dict[str, Any]]
    holds: Callable[[dict[str, int]], int]
    wrt: str = "x"
    shift: float = SHIFT

    def spec(self, more: str = "", inputs: Iterable[str] = ()) -> str:
        """Return the text of the spec, with `more` to emit and only these inputs."""
        lines = self.inputs.splitlines(keepends=True)
        kept = [x for x in lines if not inputs or x.split(":")[0].strip() in inputs]
        sizes = ", ".join(f"{dim}: {size}" for dim, size in self.sizes.items())
        return (
            f"tensorgen: 1\nmodule: case\ndims: {{{sizes}}}\ninputs:\n{''.join(kept)}"
            f"functions:\n  f:\n    expr: |\n      {self.expr}\n    wrt: {self.wrt}\n"
            f"    emit: [value, gradient,{more} hessian, hvp]\n"
        )


def _vector(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    return {"x": rng.standard_normal(sizes["n"])}


def _kronecker(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    m, n = sizes["m"], sizes["n"]
    A = np.eye(m) + rng.standard_normal((m, m)) / m
    B = np.eye(n) + rng.standard_normal((n, n)) / n
    return {"x": rng.standard_normal((m, n)), "A": A, "B": B}


def _pencil(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    others = _kronecker(rng, sizes)
    return {**_kronecker(rng, sizes), "C": others["A"], "D": others["B"]}


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


GRID = 250, 400  # nodes of the net and of the surface, each way
CELLS = (GRID[0] - 1) * (GRID[1] - 1)
EDGES = CELLS + (GRID[0] - 1) * GRID[1] + GRID[0] * (GRID[1] - 1)


def _nodes() -> tuple[Any, Any]:
    """The numbers of the nodes of a grid, and where they are at rest."""
    numbers = np.arange(GRID[0] * GRID[1]).reshape(GRID)
    return numbers, np.argwhere(numbers >= 0).astype(float)


def _springs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    numbers, places = _nodes()
    starts = numbers[:-1], numbers[:, :-1], numbers[:-1, :-1]
    stops = numbers[1:], numbers[:, 1:], numbers[1:, 1:]
    s, t = (np.concatenate([part.ravel() for part in ends]) for ends in (starts, stops))
    return {
        "x": places + 0.02 * rng.standard_normal(places.shape),
        "s": s,
        "t": t,
        "rest": np.linalg.norm(places[s] - places[t], axis=1),
    }


def _surface(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
    numbers, places = _nodes()
    a, b = numbers[:-1, :-1].ravel(), numbers[1:, :-1].ravel()
    c, d = numbers[:-1, 1:].ravel(), numbers[1:, 1:].ravel()
    corner = np.concatenate([np.stack([a, b, c], 1), np.stack([d, c, b], 1)])
    sides = places[corner[:, 1:]] - places[corner[:, :1]]
    slopes = np.linalg.inv(sides).transpose(0, 2, 1)  # of a height at each corner
    G = np.concatenate([-slopes.sum(axis=1, keepdims=True), slopes], axis=1)
    return {"x": rng.standard_normal(sizes["n"]), "corner": corner, "G": G}


CASES = {
    "diagonal": Case(
        "  x: [n]\n",
        "sum(log(1 + exp(x)) + x**2)",
        {"n": 10**6},
        _vector,
        lambda sizes: sizes["n"],
    ),
    "chain": Case(
        "  x: [n]\n",
        "sum(x**2) + sum((x[1:] - x[:-1]**2)**2)",
        {"n": 2 * 10**5},
        lambda rng, sizes: {"x": 0.1 * rng.standard_normal(sizes["n"])},
        lambda sizes: 2 * sizes["n"],
    ),
    "kronecker": Case(
        "  x: [m, n]\n  A: [m, m]\n  B: [n, n]\n",
        "norm(A @ x @ B)**2",
        {"m": 300, "n": 200},
        _kronecker,
        lambda sizes: sizes["m"] ** 2 + sizes["n"] ** 2,
    ),
    "pencil": Case(
        "  x: [m, n]\n  A: [m, m]\n  B: [n, n]\n  C: [m, m]\n  D: [n, n]\n",
        "norm(A @ x @ B)**2 + norm(C @ x @ D)**2",
        {"m": 300, "n": 200},
        _pencil,
        lambda sizes: 2 * (sizes["m"] ** 2 + sizes["n"] ** 2),
        shift=0.0,
    ),
    "ratings": Case(
        "  x: [m, k]\n  V: [n, k]\n  T: [m, n]\n  O: [m, n]\n",
        "sum(O * (T - x @ V.T)**2)",
        {"m": 10**4, "n": 500, "k": 5},
        _ratings,
        lambda sizes: sizes["m"] * sizes["k"] ** 2,
    ),
    "low rank": Case(
        "  x: [n]\n  d: [n]\n  V: [n, r]\n",
        "sum(d * x**2) + norm(V.T @ x)**2",
        {"n": 10**5, "r": 8},
        _factors,
        lambda sizes: sizes["n"] * (sizes["r"] + 1),
    ),
    "samples": Case(
        "  x: [m, k]\n  A: [m, k, k]\n  b: [m, k]\n",
        "sum((sum(A[s, i, j] * x[s, j], j) - b[s, i])**2, s, i)",
        {"m": 20000, "k": 12},
        _samples,
        lambda sizes: sizes["m"] * sizes["k"] ** 2,
    ),
    "springs": Case(
        "  x: [n, 2]\n  s: {shape: [e], index: n}\n  t: {shape: [e], index: n}\n"
        "  rest: [e]\n",
        "sum((sqrt(sum((x[s[i], d] - x[t[i], d])**2, d)) - rest[i])**2, i)",
        {"n": GRID[0] * GRID[1], "e": EDGES},
        _springs,
        lambda sizes: 6 * sizes["e"],  # a 2 x 2 block an edge, and its ends
    ),
    "surface": Case(
        "  x: [n]\n  corner: {shape: [e, 3], index: n}\n  G: [e, 3, 2]\n",
        "sum(sqrt(1 + sum(sum(G[i, a, d] * x[corner[i, a]], a)**2, d)), i)",
        {"n": GRID[0] * GRID[1], "e": 2 * CELLS},
        _surface,
        lambda sizes: 12 * sizes["e"],  # a 3 x 3 block a triangle, and its corners
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
    s = H.solve(v, shift=case.shift)
    solved = time.perf_counter()
    expected = module.f_hvp(**data, dx=v)
    assert abs(product - expected).max() <= AGREEMENT * abs(expected).max()
    assert abs(H @ s + case.shift * s - v).max() <= RESIDUAL * abs(v).max()
    assert solved - multiplied < SECONDS, "the solve took too long"
    assert H.nbytes <= 8 * case.holds(case.sizes), H.structure
    times = (made - start, multiplied - made, solved - multiplied)
    row = f"{name:<12}{H.shape[0]:>10}{H.nbytes:>12}"
    return row + "".join(f"{seconds:>8.3f}" for seconds in times)


NEWTON = {"m": 1000, "n": 1000, "k": 10}
NEWTON_HEADER = f"{'Hessian by U':<12}{'holds':>12}{'hess':>10}{'solve':>10}"


def newton() -> Iterator[str]:
    """Yield a row a way to solve for one Newton step; all steps agree."""
    rng = np.random.default_rng(0)
    data = _ratings(rng, NEWTON)
    masked, plain = "sum(O * (T - x @ V.T)**2)", "norm(T - x @ V.T)**2"
    ratings = CASES["ratings"]
    steps: dict[str, Any] = {}
    for name, expr in (("masked", masked), ("unmasked", plain), ("dense", masked)):
        case = replace(ratings, expr=expr, sizes=NEWTON)
        own = {k: v for k, v in data.items() if k != "O" or expr is masked}
        module = tensorgen.load(case.spec(" dense_hessian,", own))
        g = module.f_grad(**own)
        start = time.perf_counter()
        if name == "dense":
            size = g.size
            dense = module.f_hess_dense(**own).reshape(size, size)
            made = time.perf_counter()
            held = dense.nbytes
            options = {"assume_a": "pos", "overwrite_a": True, "check_finite": False}
            step = solve(dense, g.ravel(), **options).reshape(g.shape)
        else:
            H = module.f_hess(**own)
            made, held = time.perf_counter(), H.nbytes
            step = H.solve(g)
        solved = time.perf_counter()
        steps[name] = step
        times = f"{made - start:>10.4f}{solved - made:>10.4f}"
        yield f"{name:<12}{held:>12}{times}"
    np.testing.assert_allclose(steps["masked"], steps["dense"], rtol=1e-6)


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
        run = subprocess.run(command, capture_output=True, text=True, env=SINGLE)
        failed += run.returncode != 0
        last = (run.stderr.strip().split("\n") or [""])[-1]
        rows.append(run.stdout.strip() or f"{name:<12}failed: {last}")
    lines = [
        *report.machine("numpy", "scipy"),
        "",
        "one thread, bytes and seconds",
        HEADER,
        *rows,
    ]
    if not options.names:
        sizes = ", ".join(f"{dim} = {size}" for dim, size in NEWTON.items())
        lines += ["", f"one Newton step, {sizes}: bytes and seconds", NEWTON_HEADER]
        lines += [*newton(), "", "a three-layer network: numbers held", layers.HEADER]
        lines += layers.rows()
        title = "joint Hessians: numbers held, entries, bytes at most, and seconds"
        lines += ["", title, joint_systems.HEADER, *joint_systems.rows()]
    report.write("structures.txt", lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
