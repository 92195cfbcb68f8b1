"""Each structure has a witness: a spec whose text is another one without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorgen.errors import Source
from tensorgen.lower.plan import Plan
from tensorgen.pipeline import compile_spec
from tensorgen.structure import compress, structures
from tensorgen.structure.ways import Row

WITNESSES = {
    "diagonal": ("x: [n], b: [n]", "b @ exp(x)"),
    "blocks": ("x: [m, k], A: [m, k, k]", "sum(x[i, a]*A[i, a, b]*x[i, b], i, a, b)"),
    "Kronecker product": (
        "x: [m, n], A: {shape: [m, m], symmetric: true}, "
        "B: {shape: [n, n], symmetric: true}",
        "sum((A @ x) * (x @ B))",
    ),
    "Kronecker sum": (
        "x: [m, n], A: {shape: [m, m], symmetric: true}, "
        "B: {shape: [n, n], symmetric: true}",
        "sum((A @ x) * x) + sum((x @ B) * x)",
    ),
    "pencil": (
        "x: [m, n], A: {shape: [m, m], spd: true}, B: {shape: [n, n], spd: true}, "
        "C: {shape: [m, m], spd: true}, D: {shape: [n, n], spd: true}",
        "sum((A @ x @ B) * x) + sum((C @ x @ D) * x)",
    ),
    "band": ("x: [n]", "sum(x[i]**2 * x[i + 1]**2, i)"),
    "blocks of neighbours": ("x: [2*n]", "sum(exp(x[::2] * x[1::2]))"),
    "low rank": ("x: [n], F: [n, 4]", "sum(cosh(x)) + norm(F.T @ x)**2"),
    "Toeplitz": ("x: [n]", "sum(x[i]*x[j]*exp(-(i - j)**2), i, j)"),
    "sparse": ("x: [n, n]", "sum(x[i, j]**2 * x[i + 1, j]**2, i, j)"),
}


def text(inputs: str, expr: str, emit: str = "hessian") -> str:
    spec = f"""tensorgen: 1
inputs: {{{inputs}}}
functions:
  f:
    expr: "{expr}"
    wrt: x
    emit: [{emit}]
"""
    source = Source.decode("<witness>", spec.encode())
    (found,) = compile_spec(source, ["numpy"], "cross-country", False).values()
    return found


ROWS = structures.STRUCTURES


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_without_a_structure_its_witness_is_another_text(
    row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = text(*WITNESSES[row.name])
    assert f"{row.factorization}(" in before.partition("def factorize")[2]
    # The row stays where modules look up templates, but it recognises nothing.
    blind = replace(row, solve=lambda structure: None, keep=None)
    monkeypatch.setattr(
        structures, "STRUCTURES", tuple(blind if x is row else x for x in ROWS)
    )
    monkeypatch.setattr(compress, "STRUCTURES", structures.STRUCTURES)
    assert text(*WITNESSES[row.name]) != before


def test_definite_systems_are_solved_by_cholesky_factors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs, expr = "x: [n], K: {shape: [n, n], spd: true}", "x @ solve(K, x)"
    before = text(inputs, expr, "gradient")
    monkeypatch.setattr(Plan, "_cholesky_factors", lambda plan: {})
    assert text(inputs, expr, "gradient") != before
