"""KKT matrices, shooting and an arrow: what they hold, beside CasADi and `splu`."""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import casadi_hessians
import numpy as np
import report
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

import tensorgen

n, N, M = 4000, 1000, 40
# The function, the shapes of its inputs, and the numbers that it takes besides.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, float]]] = {
    "KKT chain": ("chain", {"x": n, "lam": n - 1}, {}),
    "van der Pol": (
        "van_der_pol",
        {name: N + 1 for name in ("x1", "x2", "v")}
        | {name: N for name in ("mu1", "mu2")}
        | {name: 1 for name in ("nu1", "nu2")},
        {"h": 0.01},
    ),
    "elliptic": (
        "elliptic",
        {"y": (M + 2, M + 2), "u": (M, M), "p": (M, M)},
        {"alpha": 1e-3},
    ),
    "arrow": (
        "fit",
        {name: n + 1 for name in ("a", "b", "data")} | {"rates": 2},
        {"h": 0.01},
    ),
    "shooting": ("f", {"x": (N + 1, 2), "u": N, "lam": (N, 2)}, {"h": 0.1}),
}
GIVEN = {"arrow": ["data"], "shooting": ["lam"]}  # all others are unknown
SPECS = {"shooting": "shooting"}  # joint_systems for all others
HEADER = (
    f"{'case':<12}{'rows':>8}{'holds':>8}{'entries':>9}{'memory':>10}"
    f"{'hess':>9}{'CasADi':>9}{'H @ v':>9}{'tocsc':>9}{'solve':>9}{'splu':>9}"
)
RESIDUAL = 1e-6  # relative to the right-hand side


def rows() -> Iterator[str]:
    """Yield a row a case; AssertionError where a solve is wrong."""
    loaded = cache(tensorgen.load)
    for name, (function, shapes, others) in CASES.items():
        spec = SPECS.get(name, "joint_systems")
        module: Any = loaded(report.ROOT / "benchmarks" / f"{spec}.yaml")
        rng = np.random.default_rng(0)
        data = {x: rng.standard_normal(shape) for x, shape in shapes.items()}
        hess = partial(getattr(module, f"{function}_hess"), **data, **others)
        H = hess()
        v = rng.standard_normal(H.shape[0])
        matrix = H.tocsc()
        assert abs(H @ H.solve(v) - v).max() <= RESIDUAL * abs(v).max()
        tracemalloc.start()
        H.solve(v)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        unknowns = {x: data[x] for x in data if x not in GIVEN.get(name, ())}
        given: dict[str, Any] = {
            x: np.ravel(data[x]) for x in data if x not in unknowns
        }
        peer = casadi_hessians.hessian(function, unknowns, dict(others) | given)
        if peer is not None:  # it is the same matrix
            other = csc_matrix(peer().sparse())
            assert abs(other - matrix).max() <= 1e-9 * abs(matrix).max()
        times = (
            _median(hess),
            None if peer is None else _median(peer),
            _median(partial(H.matvec, v)),
            _median(H.tocsc),
            _median(partial(H.solve, v)),
            _median(partial(_eliminated, matrix, v)),
        )
        held = H.nbytes // H.dtype.itemsize
        row = f"{name:<12}{H.shape[0]:>8}{held:>8}{matrix.nnz:>9}{peak:>10}"
        yield row + "".join(
            f"{'-':>9}" if seconds is None else f"{seconds:>9.5f}" for seconds in times
        )


def _eliminated(matrix: Any, v: Any) -> Any:
    return splu(matrix).solve(v)


def _median(call: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(9):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return report.spread(seconds)[0]
