"""Generated modules, as type checkers, linters and formatters see them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tensorgen
from tests import goldens
from tests.sampled import left

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
    "rows": """
inputs: {X: [m, n], y: [m], w: [n]}
blocks: m
functions:
  f:
    expr: logsumexp(X @ w) + sum(y[i] * i * w[0], i) / m
    wrt: w
    emit: [problem, hessian, hvp]
""",
    "sharded_rows": """
inputs: {u: [m], X: [m, n], y: [m], w: [n]}
blocks: m
functions:
  f:
    expr: sum((X @ w + u - y)**2) + sum(exp(u))
    wrt: [u, w]
    emit: [problem, hvp]
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
    "grouped": """
inputs: {x: [p], g: {shape: [n], index: p}, y: [n], s: {shape: scalar, default: 2}}
functions:
  f:
    where: r[i] = tanh(x[g[i]] * s) - y[i]
    expr: sum(r**2) + norm(x, 1)
    wrt: x
    emit: [value, gradient, hessian, hvp, jacobian]
""",
    "rollout": """
inputs: {A: [n, n], u: [T, n], x0: [n]}
functions:
  f:
    where: |
      x[0] = x0
      x[t + 1] = tanh(A @ x[t] + u[t])
    expr: sum(x[T]**2)
    wrt: [A, x0]
    emit: [value, gradient, hvp, problem]
""",
    "fixed": """
inputs: {W: [n, n], x: [n]}
unknowns:
  y: {shape: [n], fixed_point: tanh(W @ y + x)}
functions:
  f: {expr: sum(y**2), wrt: [W, x], emit: [value, gradient]}
""",
    "process": """
inputs: {X: [n, d], y: [n], a: {shape: scalar, positive: true}}
functions:
  f:
    where: |
      K[i, j] = exp(-a * sum((X[i, k] - X[j, k])**2, k))
      S = spd(K + eye(n))
    expr: y @ solve(S, y) / 2 + logdet(S) / 2
    wrt: a
    emit: [value, gradient, problem]
""",
    "forms": """
inputs: {x: [n], V: [n, r], b: [r]}
functions:
  f:
    expr: norm(V.T @ x + b)**2 + sum(cosh(x)) + sum(cosh(b))
    wrt: [x, b]
    emit: [hessian, problem]
""",
    "third": """
inputs: {x: [n], B: [n, n]}
functions:
  f: {expr: sum(exp(B @ x)), wrt: x, emit: [value, hessian, 3, jvp]}
  g: {expr: B @ sin(x), wrt: x, emit: [jacobian, vjp]}
""",
    "constrained": """
inputs: {x: [n], c: [n], least: scalar}
functions:
  f: sum(exp(c * x))
  g: x[1:] * x[:-1]
problem:
  minimize: f
  variables: {x: {lower: least}}
  constraints: {g: {lower: 1, upper: 2}}
""",
    "band": """
inputs: {x: [n], c: [n]}
functions:
  f:
    expr: sum(c[1:] * (x[1:] - x[:-1]**2)**2) + sum((1 - x)**2)
    wrt: x
    emit: [value, gradient, hessian, problem]
""",
    "factors": """
inputs: {U: [m, k], V: [n, k], R: [m, n], M: [m, n]}
functions:
  f: {expr: "sum(M * (R - U @ V.T)**2)", wrt: [U, V], emit: [hessian, gradient]}
""",
    "sparse": """
inputs: {S: {shape: [m, n], sparse: true}, w: [n], y: [m]}
functions:
  f:
    where: t = -y * (S @ w)
    expr: sum(log(1 + exp(t))) + norm(w)**2
    wrt: w
    emit: [value, gradient, hvp, hessian]
""",
    "windows": """
inputs: {x: [n], h: [k]}
functions:
  c[i]: sum(x[i + j] * h[j], j)
  f: {expr: sum(c**2), wrt: [x, h], emit: [value, gradient]}
""",
    "batch": """
inputs: {x: {shape: [n], batch: [B]}, S: {shape: [n, n], spd: true, batch: [B]}, w: [n]}
functions:
  f:
    expr: x @ solve(S, x) + exp(w @ x)
    wrt: [x, w]
    emit: [value, gradient, hessian]
  g: {expr: tanh(w * x), wrt: [x, w], emit: [jacobian, jvp, vjp]}
""",
    "special": """
inputs: {x: [n], A: {shape: [n, n], spd: true}}
functions:
  f: {expr: "sum(lgamma(1 + exp(x))) + logdet(A) + sum(erf(x))", wrt: x}
  g: {expr: {loss: x @ A @ x, pred: A @ x}}
  h: {expr: "max(x) + sum(where(x > 0, x**3, cumsum(x)))", wrt: x}
""",
}

BOTH = ("blocks", "numbers", "ridge", "logistic", "ratings", "band", "batch")
"""What is emitted for both libraries."""


@pytest.fixture(scope="module")
def golden() -> dict[str, str]:
    """Golden files by their names."""
    return {name: goldens.text(name) for name in goldens.names()}


@pytest.fixture(scope="module")
def emitted() -> dict[str, str]:
    """Modules by their file names."""
    return {
        f"{name}_{backend}.py": tensorgen.generate(
            f"tensorgen: 1\n{text}", backend=backend
        )
        for name, text in LINTED.items()
        for backend in ("numpy", "cupy")[: 1 + (name in BOTH)]
    }


@pytest.mark.thorough
def test_type_checkers_and_linters_find_nothing(
    emitted: dict[str, str], tmp_path: Path
) -> None:
    for name, source in emitted.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    for command in (
        # CuPy and SciPy have no types of their own.
        ["mypy", "--config-file=", "--strict", "--ignore-missing-imports"],
        ["ruff", "check", "--isolated", "--no-cache"],
        ["ruff", "format", "--isolated", "--no-cache", "--check"],
    ):
        run = subprocess.run(
            [sys.executable, "-m", *command, *emitted],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("which", ["golden", left("emitted")])
def test_no_support_is_written_that_nothing_uses(
    which: str, request: pytest.FixtureRequest
) -> None:
    for name, source in request.getfixturevalue(which).items():
        tree = ast.parse(source)
        used = _used(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and re.match(
                r"_(?!_|contract_\d)", node.name
            ):
                outside = used[node.name] - _used(node)[node.name]
                assert outside, f"{name}: {node.name}"


def _used(tree: ast.AST) -> Counter[str]:
    """How often names stand in code."""
    names = [x.id for x in ast.walk(tree) if isinstance(x, ast.Name)]
    return Counter(
        names + [x.attr for x in ast.walk(tree) if isinstance(x, ast.Attribute)]
    )
