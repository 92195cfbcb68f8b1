"""What the models say of functions: their code, for some sizes, before it is text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tensorgen.arrays.code import Code
from tensorgen.calculus.expressions import Differentiate
from tensorgen.calculus.requests import Mode
from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.model import Function
from tensorgen.errors import Source
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.lang import elaborate
from tensorgen.modules import ModuleBuilder
from tensorgen.operators.stable import StableForms
from tensorgen.passes.context import Plan
from tensorgen.passes.cost import CostModel
from tensorgen.planned import PlannedFunction
from tensorgen.planner import Planner, known_sizes
from tensorgen.problems import Lowered
from tensorgen.spec.model import Spec
from tensorgen.spec.read import read_spec


class Priced(ModuleBuilder):
    """Lowers functions, and keeps the code of the first form of each."""

    def __init__(self, spec: Spec, graph: Graph) -> None:
        """Start with nothing."""
        super().__init__(spec, graph, BACKENDS["numpy"])
        self.codes: dict[str, Code] = {}

    def _form(
        self,
        planned: PlannedFunction,
        plan: Plan,
        lowered: Lowered,
        hints: Mapping[str, int],
    ) -> Function:
        def kept(*given: Sequence[Any]) -> Any:
            found = lowered(*given)
            self.codes.setdefault(planned.name, found.code)
            return found

        return super()._form(planned, plan, kept, hints)


class Prices:
    """The modelled work of all functions of a spec, and what they hold."""

    def __init__(self, text: str, mode: Mode = "cross-country") -> None:
        """Plan and lower all functions."""
        spec = read_spec(Source("prices", text))
        graph = Graph(StableForms())
        variables = {wrt.name for function in spec.functions for wrt in function.wrt}
        program = elaborate(spec, graph, Differentiate(graph, variables))
        planners = [Planner(graph, spec, program, f, mode) for f in program.generated]
        plans = [plan for planner in planners for plan in planner.plans()]
        builder = Priced(spec, graph)
        builder.build(plans)
        model = CostModel(known_sizes(spec))
        self.spec = spec
        self.codes = builder.codes
        self.costs = {plan.name: model.total(plan.plan.roots) for plan in plans}

    def sizes(self, data: Mapping[str, Any]) -> Callable[[Dim], int]:
        """Return the number that a size is where these are the arguments."""
        known = known_sizes(self.spec)
        for given in self.spec.inputs:
            shape = np.shape(data[given.name]) if given.name in data else ()
            if len(shape) == len(given.shape):
                pairs = zip(given.shape, shape, strict=True)
                known.update({str(d): n for d, n in pairs if d == Dim.symbol(str(d))})
        known.update({x: v for x, v in data.items() if isinstance(v, int)})
        return lambda dim: max(dim.value(known), 0)
