"""What the models say of functions: their code, for some sizes, before it is text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.code import Code
from tensorgen.arrays.statements import Loop, Release, everything, operands
from tensorgen.arrays.work import entries
from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.requests import MODES, Mode
from tensorgen.emit.backends import BACKENDS
from tensorgen.errors import Source
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import topological
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.passes.cost import CostModel
from tensorgen.plans.build_module import ModuleBuilder
from tensorgen.plans.planner import Planner, known_sizes
from tensorgen.prices.price_table import CALL
from tensorgen.spec.model import Spec
from tensorgen.spec.read import read_spec


class Priced(ModuleBuilder):
    """Lowers functions, and keeps the code of the first form of each."""

    def __init__(self, spec: Spec, graph: Graph) -> None:
        """Start with nothing."""
        super().__init__(spec, graph, BACKENDS["numpy"])

    @property
    def codes(self) -> dict[str, Code]:
        """The code of the first form of each function, as it is by itself."""
        return {name: first.code.code for name, (first, *_) in self.made.items()}


MOST_WORK = 3.0
"""How many times the work of the best of its modes a function may take."""
MOST_ROOM = 4
"""How many times its arguments, its result and the largest array that its text spells
out an array in a function may be."""
KNOWN = {
    "expm(": (16, "blocks of a matrix of twice the side, and four times for order two"),
}
"""How many times more room functions of a spec take that has a word, and why."""
LISTED = {
    "general 38": "the second derivative of a cholesky by one row is a dense tensor",
    "general 80088": "of order four: products with an axis that is added up last",
    "general 36": "deltas of a product rule are spread out before a sum drops an axis",
}
"""Random programs that are known to cost too much, and why."""


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
        self.program = program
        self.plans = {plan.name: plan for plan in plans}
        self.model = model
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

    def room(self, name: str) -> tuple[float, float]:
        """The largest array of a function, and what it is measured by."""
        code, plan, size = self.codes[name], self.plans[name], self.model.size
        lines = [line for line in code.statements if not isinstance(line, Release)]
        arrays = [
            *below([x for line in lines for x in operands(line)] + [*code.returns])
        ]
        # Blocks are as large as they are told to be.
        free = [x for x in arrays if not _inside(x, code)]
        largest = max((size([entries(x)]) for x in free), default=0.0)
        given = sum(size(p.dims) for p in plan.parameters)
        results = sum(size(one.dims) for one in code.returns)
        spelt = max(size(x.dims) for x in topological([plan.source.node]))
        return largest, given + results + spelt


def _inside(one: Array, code: Code) -> bool:
    """Whether the size of an array rests on what a statement binds."""
    bound = {
        str(name)
        for line in everything(code.statements)
        for name in ([line.name, line.width] if isinstance(line, Loop) else ())
    }
    return not bound.isdisjoint(x for dim in one.dims for x in dim.symbols)


def cliffs(text: str) -> list[str]:
    """What functions of a spec take much more for than they have to."""
    by_mode = {mode: Prices(text, mode) for mode in MODES}
    ours = by_mode["cross-country"]
    found = oversized(ours, text)
    for own, cost in ours.costs.items():
        least = min(prices.costs[own] for prices in by_mode.values())
        if cost > MOST_WORK * least + CALL.planned:
            found.append(f"{own}: {cost / least:.1f} times the work of the best mode")
    return found


def oversized(prices: Prices, text: str) -> list[str]:
    """The functions with an array that is much larger than what they are about."""
    most = MOST_ROOM * prod(times for word, (times, _) in KNOWN.items() if word in text)
    rooms = {own: prices.room(own) for own in prices.codes}
    return [
        f"{own}: an array of {largest / whole:.1f} times what it is of"
        for own, (largest, whole) in rooms.items()
        if largest > most * whole
    ]
