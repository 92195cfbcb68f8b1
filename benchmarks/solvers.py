"""Show that no solver makes a structured derivative dense behind our back.

Run it as `make bench`, or `python benchmarks/solvers.py [NAME ...]`; it writes
benchmarks/results/solvers.txt. Each solver minimises a function of 20,000 unknowns in a
process of its own. What the process comes to use besides what it did when the module
was loaded has to stay below a hundredth of a dense Hessian, and the minimum has to be
found. Resident memory is what counts: trust-krylov reserves addresses for 2 N vectors,
of which it touches those that it needs. IPOPT takes entries, and so minimises the chain
without the terms of low rank; where it is not installed, its calls are made instead.
"""

import argparse
import functools
import importlib.util
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import report
from scipy import optimize

import tensorgen

N = 20000
HAS_IPOPT = importlib.util.find_spec("cyipopt") is not None
SHARE = 0.01  # of the bytes of a dense Hessian
ACCURACY = 1e-3  # of the largest entry of the gradient
SINGLE = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
HEADER = f"{'solver':<14}{'calls':>7}{'seconds':>9}{'peak':>12}{'of dense':>10}"

SPEC = """
tensorgen: 1
module: chain
dims: {n: 20000, r: 3}
inputs: {x: [n], A: [r, n], s: [], lam: [n - 1]}
functions:
  chain:
    expr: sum((x[1:] - x[:-1]**2)**2) + 2 * sum((1 - x)**2)
    wrt: x
    emit: [value, gradient]
  f:
    expr: chain + sum(log(1 + exp(A @ x)))
    wrt: x
    emit: [value, gradient, hessian, hvp, problem]
  residuals:
    expr: concatenate([x**3 + x - 1, 3 * (x[1:] - x[:-1])])
    wrt: x
    emit: [value, jacobian, problem]
  links: {expr: 'x[1:]**2 + x[:-1]', wrt: x, emit: [value, jacobian]}
  lagrangian: {expr: 's * chain + dot(lam, links)', wrt: x, emit: [hessian]}
"""


@functools.cache
def loaded() -> tuple[Any, dict[str, Any], Any]:
    """Return the module, the data of f, and where to start."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, N)) / N
    return tensorgen.load(SPEC), {"A": A}, 1 + 0.1 * rng.standard_normal(N)


def by_products(method: str) -> Callable[[], tuple[int, float]]:
    """Minimise with Hessian-vector products."""

    def run() -> tuple[int, float]:
        module, data, start = loaded()
        p = module.FProblem(**data)
        found = optimize.minimize(
            p.value_and_gradient, start, jac=True, hessp=p.hvp, method=method
        )
        return found.nfev, abs(p.gradient(found.x)).max()

    return run


def by_operator(method: str) -> Callable[[], tuple[int, float]]:
    """Minimise with the Hessian as an operator."""

    def run() -> tuple[int, float]:
        module, data, start = loaded()
        p = module.FProblem(**data)
        found = optimize.minimize(
            p.value_and_gradient,
            start,
            jac=True,
            hess=lambda v: p.hessian(v).as_linear_operator(),
            method=method,
        )
        return found.nfev, abs(p.gradient(found.x)).max()

    return run


def least_squares() -> tuple[int, float]:
    """Fit with the Jacobian as an operator."""
    module, _, start = loaded()
    r = module.ResidualsProblem()
    found = optimize.least_squares(
        r.value,
        start,
        jac=lambda x: r.jacobian(x).as_linear_operator(),
        tr_solver="lsmr",
    )
    return found.nfev, abs(found.grad).max()


class Constrained:
    """What IPOPT asks for: values of entries whose places it was told once."""

    def __init__(self) -> None:
        self.module, _, self.start = loaded()
        self.calls = 0
        self.links_at = self.module.links_jac(self.start).coo()[:2]
        self.hessian_at = self.lagrangian(1.0, np.zeros(N - 1), self.start)[:2]

    def lagrangian(self, factor: float, lagrange: Any, x: Any) -> Any:
        """Return the lower triangle of the Hessian of the Lagrangian."""
        H = self.module.lagrangian_hess(x, s=factor, lam=lagrange)
        return H.coo(lower=True)

    def objective(self, x: Any) -> float:
        """Return what is minimised."""
        self.calls += 1
        return float(self.module.chain(x))

    def gradient(self, x: Any) -> Any:
        """Return its gradient."""
        return self.module.chain_grad(x)

    def constraints(self, x: Any) -> Any:
        """Return the constraints."""
        return self.module.links(x)

    def jacobianstructure(self) -> Any:
        """Return the places of the constraints' derivatives."""
        return self.links_at

    def jacobian(self, x: Any) -> Any:
        """Return the constraints' derivatives."""
        return self.module.links_jac(x).coo()[2]

    def hessianstructure(self) -> Any:
        """Return the places of the Lagrangian's Hessian."""
        return self.hessian_at

    def hessian(self, x: Any, lagrange: Any, factor: float) -> Any:
        """Return the entries of the Lagrangian's Hessian."""
        return self.lagrangian(factor, lagrange, x)[2]


def ipopt() -> tuple[int, float]:
    """Minimise under constraints that do not bind, or make the calls of ten steps."""
    problem = Constrained()
    x = problem.start
    if not HAS_IPOPT:
        for _ in range(10):
            problem.objective(x), problem.gradient(x), problem.constraints(x)
            entries = problem.jacobian(x), problem.hessian(x, np.ones(N - 1), 1.0)
        assert [len(e) for e in entries] == [
            len(problem.links_at[0]),
            len(problem.hessian_at[0]),
        ]
        return problem.calls, 0.0
    cyipopt: Any = importlib.import_module("cyipopt")
    free = np.full(N - 1, np.inf)
    solver = cyipopt.Problem(
        n=N, m=N - 1, problem_obj=problem, cl=-free, cu=free, lb=None, ub=None
    )
    solver.add_option("print_level", 0)
    x, _ = solver.solve(x)
    return problem.calls, abs(problem.gradient(x)).max()


SOLVERS: dict[str, Callable[[], tuple[int, float]]] = {
    "trust-ncg": by_products("trust-ncg"),
    "trust-krylov": by_products("trust-krylov"),
    "Newton-CG": by_products("Newton-CG"),
    "trust-constr": by_operator("trust-constr"),
    "least_squares": least_squares,
    "IPOPT" if HAS_IPOPT else "IPOPT's calls": ipopt,
}


def measure(name: str) -> str:
    """Return a row of the table; AssertionError where a solver fails or densifies."""
    loaded()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    calls, slope = SOLVERS[name]()
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = 1024 * (after - before)
    share = peak / (8 * N**2)
    assert slope <= ACCURACY, f"no minimum: the gradient is {slope:.1e}"
    assert share <= SHARE, f"{share:.2%} of a dense Hessian"
    return f"{name:<14}{calls:>7}{seconds:>9.2f}{peak:>12}{share:>10.3%}"


def main() -> int:
    """Run the solvers, each in a process of its own, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SOLVERS, []])
    parser.add_argument("--here", action="store_true", help="run in this process")
    options = parser.parse_args()
    if options.here:
        print(*map(measure, options.names), sep="\n")
        return 0
    rows, failed = [], 0
    for name in options.names or SOLVERS:
        command = [sys.executable, __file__, "--here", name]
        run = subprocess.run(command, capture_output=True, text=True, env=SINGLE)
        failed += run.returncode != 0
        last = (run.stderr.strip().split("\n") or [""])[-1]
        rows.append(run.stdout.strip() or f"{name:<14}failed: {last}")
    title = f"{N} unknowns; a dense Hessian takes {8 * N**2} bytes"
    lines = [*report.machine("numpy", "scipy"), "", title, HEADER, *rows]
    report.write("solvers.txt", lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
