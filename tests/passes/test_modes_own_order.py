"""Where a mode sets the order, no tangent is spread out before it is summed."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import tensorgen
from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.kinds import HESSIAN
from tensorgen.calculus.requests import MODES, Mode
from tensorgen.errors import Source
from tensorgen.ir.effort import Effort
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import topological
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.plans.planner import Planner
from tensorgen.spec.read import read_spec

ROOT = Path(__file__).resolve().parents[2]
LOGISTIC = (ROOT / "examples" / "logistic_regression.yaml").read_text("utf-8")
HEAD = "tensorgen: 1\ninputs: {X: [m, n], w: [n], y: [m], s: [m]}\nfunctions:\n  f:\n"
SPECS = {
    "logistic": LOGISTIC,
    "scaled": f"{HEAD}    expr: sum(sin(X * w))\n    wrt: w\n",
    "weighted": f"{HEAD}    expr: sum(s * exp(X @ w) * (X @ w))\n    wrt: w\n",
    "added": f"{HEAD}    expr: sum(sin(X @ w)**2 + y * (X @ w)**3)\n    wrt: w\n",
    "both": f"{HEAD}    expr: sum((X * w)**2 * sin(X @ w)[:, None])\n    wrt: w\n",
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", SPECS)
def test_no_array_of_third_order_is_computed_for_a_hessian(
    name: str, mode: Mode
) -> None:
    spec = read_spec(Source.decode(name, SPECS[name].encode()))
    graph = Graph(StableForms())
    program = elaborate(spec, graph, Differentiate(graph))
    function = program.functions[0]
    planner = Planner(graph, spec, program, function, mode)
    plan = planner.planned(HESSIAN).plan
    assert max(node.order for node in topological(plan.roots)) == 2


LAYERS = """
tensorgen: 1
inputs: {X: [b, t, n], W: [n, m], V: [m, p]}
functions:
  f:
    where: |
      %s
      %s
    expr: sum(c)
    wrt: W
    emit: [value, gradient, hvp]
"""
BY_INDEX = LAYERS % (
    "a[s, i, j] = tanh(sum(X[s, i, k] * W[k, j], k))",
    "c[s, i, l] = tanh(sum(a[s, i, j] * V[j, l], j))",
)
BY_ARRAY = LAYERS % ("a = tanh(X @ W)", "c = tanh(a @ V)")
# Sums over entries of slices, and of one state after another.
PREFIXES = """
tensorgen: 1
inputs: {X: [b, t, n], W: [n, m]}
functions:
  f:
    where: |
      a[s, i, j] = sum(X[s, i, k] * W[k, j], k=range(j))
    expr: sum(exp(-a))
    wrt: W
    emit: [value, gradient, hvp]
"""
STEPS = """
tensorgen: 1
inputs: {X: [T, b, n], h0: [b, m], W: [n, m], V: [m, m]}
functions:
  f:
    where: |
      h[0, i, j] = h0[i, j]
      h[t + 1, i, j] = tanh(sum(X[t, i, k]*W[k, j], k) + sum(h[t, i, k]*V[k, j], k))
    expr: sum(h**2)
    wrt: V
    emit: [value, gradient, hvp]
"""


def statements(text: str, mode: str) -> str:
    """What the functions of a spec compute, without what documents them."""
    functions = ast.parse(tensorgen.generate(text, mode=mode)).body
    public = [
        function
        for function in functions
        if isinstance(function, ast.FunctionDef) and function.name[0] != "_"
    ]
    return "\n".join(ast.unparse(s) for f in public for s in f.body[1:])


@pytest.mark.parametrize("mode", MODES)
def test_index_notation_is_what_array_notation_is_in_every_mode(mode: str) -> None:
    assert statements(BY_INDEX, mode) == statements(BY_ARRAY, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", [PREFIXES, STEPS])
def test_no_product_of_entries_is_spread_out_to_be_summed(text: str, mode: str) -> None:
    """Of slices and of states neither, which a delta takes entries of."""
    found = statements(text, mode)
    assert not re.findall(r"None\].*\.sum\(axis", found)


@pytest.mark.parametrize("mode", MODES)
def test_sums_are_contractions_where_flattening_finds_no_end(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(self: Effort, run: object, instead: Any, steps: int = 0) -> Any:
        return instead

    monkeypatch.setattr(Effort, "attempt", none)
    first, second = (
        statements(text.replace("gradient, ", ""), mode)
        for text in (BY_INDEX, BY_ARRAY)
    )
    assert first.count("@") == second.count("@")
    assert "sum(axis" not in first
