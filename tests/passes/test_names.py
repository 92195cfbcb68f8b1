"""Naming an array changes nothing but what it is called."""

from __future__ import annotations

import pytest

import tensorgen
from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.kinds import VALUE
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.passes.cost import CostModel
from tensorgen.plans.planner import Planner
from tensorgen.spec.read import read_spec

INPUTS = "tensorgen: 1\ninputs: {A: [m, n], B: [m, n], x: [n], w: [m]}\n"


def spec(expr: str, where: str = "", more: str = "") -> str:
    named = f"    where: |\n      {where}\n" * bool(where)
    return f"{INPUTS}functions:\n  f:\n{named}    expr: {expr}\n{more}"


def cost(text: str) -> float:
    """The modelled cost of the value of `f`."""
    found = read_spec(Source.decode("<names>", text.encode()))
    graph = Graph(StableForms())
    program = elaborate(found, graph, Differentiate(graph))
    (function,) = program.functions
    planner = Planner(graph, found, program, function, "cross-country")
    return CostModel({}).total(planner.planned(VALUE).plan.roots)


def body(text: str) -> str:
    """The statements of `f` after its docstring."""
    code = tensorgen.generate(text)
    code = code[code.index("def f(") :]
    return code[code.index('"""', code.index('"""') + 3) : code.index("\n\n\n")]


@pytest.mark.parametrize(
    ("where", "named", "inline"),
    [
        ("T[k, i, j] = A[k, i] * B[k, j]", "sum(T, axis=0)", "A.T @ B"),
        ("T[k, i, j] = A[k, i] * B[k, j]", "sum(T) + T[0, 0, 0]", ""),
        ("O[i, j] = w[i] * x[j]", "sum(O * A, axis=1)", "(w * (A @ x))"),
        ("G = A.T @ B", "G @ x", "A.T @ (B @ x)"),
        ("D[i, k] = A[i, k] * x[k]", "D @ B.T @ w", "A @ (x * (B.T @ w))"),
        ("P = A @ B.T", "diag(P)", "sum(A * B, axis=1)"),
    ],
)
def test_what_is_used_in_contractions_alone_is_not_formed(
    where: str, named: str, inline: str
) -> None:
    name = where[0]
    statements = body(spec(named, where))
    assert f"    {name} = " not in statements
    if inline:
        assert cost(spec(named, where)) <= cost(spec(inline))


def test_what_is_formed_anyway_keeps_its_name() -> None:
    text = spec("sum(exp(T), axis=0) @ x", "T[k, i, j] = A[k, i] * B[k, j]")
    assert "    T = " in body(text)
    # The order forms it: the name comes back with it.
    assert "    y = " in body(spec("w * (B @ (A.T @ y))", "y = B @ x"))
