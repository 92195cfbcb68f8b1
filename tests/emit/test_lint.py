"""Generated modules, as type checkers, linters and formatters see them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tensorgen

# Entries at index arrays, in a function that has two forms.
RATINGS = """tensorgen: 1
inputs: {r: [p], w: {shape: [g], index: p}, l: {shape: [g], index: p}}
functions:
  f:
    expr: sum(log(1 + exp(r[l] - r[w]))) + sum(r**2)
    wrt: r
    emit: [hessian, problem]
"""


# What is written without lengths that are known, and what goes by blocks: sums of
# numbers, data that follow from data, sizes that only a check needs.
LINTED = {
    "blocks": """
inputs: {U: [m, k], V: [n, k], R: [m, n], M: [m, n]}
dims: {m: 4000, n: 3000, k: 10}
functions:
  f: {expr: sum(M * (U @ V.T - R)**2), wrt: [U, V], emit: [value, gradient]}
""",
    "numbers": """
inputs: {a: scalar, b: scalar, x: [n], A: [n, n], B: [n, n]}
functions:
  f: {expr: a * a * b + a, wrt: a, emit: [value, gradient, hessian]}
  g: {expr: x @ A @ x + x @ x, wrt: x, emit: [value, gradient]}
  h: {expr: trace(A @ B), wrt: A, emit: [value, gradient]}
""",
    "ridge": """
inputs: {X: [m, n], y: [m], w: [n], lam: scalar}
functions:
  f:
    expr: norm(X @ w - y)**2 + lam * norm(w)**2
    wrt: w
    emit: [problem, hessian]
""",
    "logistic": """
inputs: {X: [m, n], y: [m], w: [n], lam: scalar}
functions:
  f:
    expr: sum(log(1 + exp(-y * (X @ w)))) + lam * norm(w)**2
    wrt: w
    emit: [problem, hessian]
""",
    "ratings": RATINGS.partition("\n")[2],
}


def test_type_checkers_and_linters_find_nothing(tmp_path: Path) -> None:
    names = []
    for name, text in LINTED.items():
        for backend in ("numpy", "cupy"):
            names.append(f"{name}_{backend}.py")
            source = tensorgen.generate(f"tensorgen: 1\n{text}", backend=backend)
            (tmp_path / names[-1]).write_text(source, encoding="utf-8")
    for command in (
        # CuPy and SciPy have no types of their own.
        ["mypy", "--config-file=", "--strict", "--ignore-missing-imports"],
        ["ruff", "check", "--isolated", "--no-cache"],
        ["ruff", "format", "--isolated", "--no-cache", "--check"],
    ):
        run = subprocess.run(
            [sys.executable, "-m", *command, *names],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stdout + run.stderr
