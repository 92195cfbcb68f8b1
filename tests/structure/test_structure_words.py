"""Structures are called what they are."""

from __future__ import annotations

from typing import Any

import pytest

import tensorgen
from tensorgen.emit.text import FILLED

SPEC = """
tensorgen: 1
module: words
dims: {{n: 1000, m: 1000, k: 5, r: 3, e: 2000}}
inputs:
  x: {{shape: [n]}}
  X: {{shape: [m, k]}}
  A: {{shape: [m, m]}}
  B: {{shape: [k, k]}}
  d: {{shape: [n]}}
  V: {{shape: [n, r]}}
  W: {{shape: [m, k, k]}}
  z: {{shape: [2*m]}}
  s: {{shape: [e], index: n}}
  t: {{shape: [e], index: n}}
functions:
  f: {{expr: "{expr}", wrt: {wrt}, emit: [{emit}]}}
"""


def structure(expr: str, wrt: str, emit: str = "hessian") -> str:
    module: Any = tensorgen.load(SPEC.format(expr=expr, wrt=wrt, emit=emit))
    kind = {"hessian": "FHessian", "jacobian": "FJacobian"}.get(emit, "FDerivativeXXX")
    made = getattr(module, kind)
    words, formula = made.structure.split(": ", 1)
    # The docstring says the same, if it fits into a line without the places.
    title = words[0].upper() + words[1:] + "."
    if len(title) > FILLED:
        title = title.partition(" at ")[0] + title[title.index("; plus") :]
    assert made.__doc__ == title
    assert formula
    return str(words)


@pytest.mark.parametrize(
    ("expr", "wrt", "words"),
    [
        ("sum(cosh(x))", "x", "diagonal"),
        ("sum(d * x)", "x", "zero"),
        ("sum((x[1:] - x[:-1])**4)", "x", "band of 3 diagonals"),
        ("sum((x[2:] - x[1:-1]*x[:-2])**2)", "x", "band of 5 diagonals"),
        ("sum(cosh(x)) + norm(V.T @ x)**2", "x", "diagonal plus rank r"),
        ("sum(cosh(x)) + sum(x)**2", "x", "diagonal plus rank 1"),
        ("sum(cosh(x)) + sum(x)**4 + dot(d, x)**2", "x", "diagonal plus rank 2"),
        ("norm(A @ X @ B)**2", "X", "Kronecker product"),
        ("norm(A @ X @ B)**2 + norm(X)**2", "X", "diagonal plus Kronecker product"),
        (
            "sum((sum(W[i, a, b]*X[i, b], b))**2, i, a)",
            "X",
            "block diagonal, m blocks of k by k",
        ),
        (
            "sum(z[2*i]*exp(z[2*i + 1]), i)",
            "z",
            "block diagonal, m blocks of 2 neighbours",
        ),
        ("norm(X @ B)**2", "X", "block diagonal, m times one block of k by k"),
        ("sum(exp(-(i - j)**2)*x[i]*x[j], i, j)", "x", "Toeplitz"),
        ("logsumexp(x)", "x", "diagonal plus rank 1"),
        (
            "sum((X[1:] - X[:-1])**4)",
            "X",
            "entries at ((i, j), (i + 1, j)) and ((i + 1, j), (i, j)); plus diagonal",
        ),
        (
            "sum(exp(x[s]*x[t]))",
            "x",
            "entries at (s[i], t[i]) and (t[i], s[i]); plus diagonal",
        ),
        (
            "sum(exp(sum(X[s[i], a], a) * sum(X[t[i], a], a)), i)",
            "X",
            "blocks of k by k at (t[i], s[i]) and (s[i], t[i]); "
            "plus block diagonal, m blocks of k by k",
        ),
    ],
)
def test_hessians_are_called_what_they_are(expr: str, wrt: str, words: str) -> None:
    assert structure(expr, wrt) == words


@pytest.mark.parametrize(
    ("expr", "wrt", "words"),
    [
        ("sin(x)", "x", "diagonal"),
        ("x[1:]*x[:-1]", "x", "band of 2 diagonals"),
        ("sum(X**2, axis=1)", "X", "block diagonal, m blocks of 1 by k"),
        ("x[s]**2", "x", "entries at (i, s[i])"),
        ("A @ X", "X", "block diagonal, k times one block of m by m"),
    ],
)
def test_jacobians_are_called_what_they_are(expr: str, wrt: str, words: str) -> None:
    assert structure(expr, wrt, "jacobian") == words


@pytest.mark.parametrize(
    ("expr", "wrt", "words"),
    [
        ("sum(cosh(x))", "x", "diagonal"),
        ("sum(exp(x[1:]*x[:-1]))", "x", "band"),
        ("sum(d*x**2)", "x", "zero"),
        ("sum(exp(x[s]*x[t]))", "x", "sparse, by index arrays"),
        ("sum(x**2)**2", "x", "sparse"),
        ("dot(d, x)**3", "x", "products of smaller arrays"),
    ],
)
def test_higher_derivatives_are_called_what_they_are(
    expr: str, wrt: str, words: str
) -> None:
    assert structure(expr, wrt, "3") == words
