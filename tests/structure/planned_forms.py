"""What the forms of a derivative hold at given sizes, and what hints would hold."""

from __future__ import annotations

from collections.abc import Mapping

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.kinds import HESSIAN
from tensorgen.errors import Source
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import Effort
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import entries
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.passes.context import Plan
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner, held
from tensorgen.spec.read import read_spec


def planned(text: str) -> PlannedFunction:
    """The Hessian of the one function of a spec."""
    spec = read_spec(Source("a.yaml", text))
    graph = Graph(StableForms(), Effort())
    variables = {wrt.name for function in spec.functions for wrt in function.wrt}
    program = elaborate(spec, graph, Differentiate(graph, variables))
    (function,) = program.functions
    planner = Planner(graph, spec, program, function, "cross-country")
    return planner.planned(HESSIAN)


def chosen(hessian: PlannedFunction, sizes: Mapping[str, int]) -> int:
    """How many numbers the form holds that is taken at some sizes."""
    held = [
        entries(other.plan.formulas) if other.filled else _size(other.plan)
        for other in hessian.others
        if all(other.less.value(sizes) < size.value(sizes) for size in other.than)
    ]
    return [*held, _size(hessian.plan)][0].value(sizes)


def hinted(text: str, sizes: Mapping[str, int]) -> int:
    """How many numbers are held if these sizes are hints."""
    hints = ", ".join(f"{name}: {size}" for name, size in sizes.items())
    hessian = planned(text.replace("tensorgen: 1", f"tensorgen: 1\ndims: {{{hints}}}"))
    assert not hessian.others
    return _size(hessian.plan).value(sizes)


def _size(plan: Plan) -> Dim:
    arrays = dict.fromkeys(node for part in held(plan) for node in part)
    return entries(arrays)
