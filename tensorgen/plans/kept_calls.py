"""Plans in which definitions stay calls, beside those in which they are written out.

A step of a Runge-Kutta method calls its right side several times, and its adjoint the
pullback of that: written out, each is a text of its own, which no pass makes one again.
Kept, code has a function for each, and calls it. What looks for structure sees nothing
in a call, so functions that return tensors are written out, and whatever is bound to
data. Who writes the code takes what is shorter; nothing is kept that costs much more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tensorgen.calculus.requests import Mode
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, topological
from tensorgen.lang import Program
from tensorgen.lang.kept_definitions import called_in_steps
from tensorgen.lang.program import with_calls
from tensorgen.operators.recurrences.recurrence import Recurrence, is_recurrence
from tensorgen.passes.context import Context
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner
from tensorgen.prices.thresholds import GAIN_OF_CALLS
from tensorgen.spec.model import Spec


def beside_calls(
    graph: Graph,
    spec: Spec,
    plans: Sequence[Sequence[PlannedFunction]],
    mode: Mode,
) -> list[list[PlannedFunction]]:
    """Return the plans of functions, with those in which definitions stay calls.

    A function has these where all that is emitted of it has.
    """
    found = [[*own] for own in plans]
    if mode != "cross-country" or spec.unknowns:
        return found
    program = with_calls(spec, graph)
    if program is None:
        return found
    for k, own in enumerate(plans):
        kept = _kept(graph, spec, program, k, own, mode)
        if kept:
            found[k] = kept
    return found


def _kept(
    graph: Graph,
    spec: Spec,
    program: Program,
    number: int,
    plans: Sequence[PlannedFunction],
    mode: Mode,
) -> list[PlannedFunction]:
    function = program.generated[number]
    if any(x.tensors or x.members or x.others or x.kind.is_higher for x in plans):
        return []
    if not called_in_steps(function.node):
        return []
    planner, others = Planner(graph, spec, program, function, mode), []
    context = planner.context()
    for plain in plans:
        doing = partial(planner.planned, plain.kind, plain.order)
        others.append(planner.in_time(plain.name, doing))
        most = GAIN_OF_CALLS * _price(context, plain.plan.roots)
        if _price(context, others[-1].plan.roots) > most:
            return []  # and nothing more is planned
    # What is stated is what is written out, for the check to hold calls against.
    return [
        replace(plain, kept=replace(other, source=plain.source, stated=plain.stated))
        for plain, other in zip(plans, others, strict=True)
    ]


def _price(context: Context, roots: Sequence[Node]) -> float:
    """The modelled cost of a plan, of all results of a recurrence once."""
    found: dict[object, Node] = {}
    for node in topological(roots):
        found[Recurrence.of(node) if is_recurrence(node) else node] = node
    return sum(map(context.work, found.values()))
