"""Constrained problems are checked whole."""

from __future__ import annotations

from typing import Any

import pytest

from tensorgen.errors import InternalError, Source
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, topological
from tensorgen.pipeline import compile_spec
from tensorgen.plans.problem_plans import ProblemBuilder
from tests.constrained_specs import HS71, PORTFOLIO, STEERING

TEXTS = {"hs71": HS71, "portfolio": PORTFOLIO, "steering": STEERING}


@pytest.mark.parametrize("name", TEXTS)
def test_every_method_is_checked(name: str) -> None:
    told: dict[str, Any] = {}
    source = Source("a.yaml", TEXTS[name])
    compile_spec(source, None, "cross-country", report=told.__setitem__)
    for report in told.values():
        assert not report.unchecked
        checked = " ".join((*report.exact, *report.floating))
        for method in ("objective of", "gradient of", "constraint_", "jacobian_"):
            assert method in checked
        assert "hessian of" in checked and "cu of" in checked


@pytest.mark.parametrize("side", ["lb", "ub", "cl", "cu"])
def test_wrong_bounds_are_seen(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ProblemBuilder.lowered

    def wrong(self: Any, roots: Any, names: Any, fresh: Any) -> Any:
        graph: Graph = self.graph
        inputs = {x.name for x in topological(roots) if isinstance(x, Input)}
        if inputs == {"a"}:
            roots = [graph.scale(root, 2) for root in roots]
        return right(self, roots, names, fresh)

    monkeypatch.setattr(ProblemBuilder, "lowered", wrong)
    bounds = {"lb": "x: {lower: a}", "ub": "x: {upper: a}"}
    limits = {"cl": "g: {lower: a}", "cu": "g: {upper: a}"}
    text = f"""
tensorgen: 1
inputs: {{x: [n], a: [n]}}
functions: {{f: sum(x**2), g: x**3}}
problem:
  name: Wrong
  minimize: f
  variables: {{{bounds.get(side, "x:")}}}
  constraints: {{{limits.get(side, "g: {lower: 0}")}}}
"""
    with pytest.raises(InternalError, match=f"{side} of the problem does not compute"):
        compile_spec(Source("a.yaml", text), ["numpy"], "cross-country")
