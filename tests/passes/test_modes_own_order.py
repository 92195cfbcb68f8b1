"""Where a mode sets the order, no tangent is spread out before it is summed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorgen.calculus.expressions import Differentiate
from tensorgen.calculus.kinds import HESSIAN
from tensorgen.calculus.requests import Mode
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import topological
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.planner import Planner
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
