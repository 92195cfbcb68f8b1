"""Plans in which definitions stay calls, beside those in which they are written out.

A step of a Runge-Kutta method calls its right side several times, and its adjoint the
pullback of that: written out, each is a text of its own, which no pass makes one again.
Kept, code has a function for each, and calls it. What looks for structure sees nothing
in a call, so functions that return tensors are written out, and whatever is bound to
data. Who writes the code takes what is shorter, unless it takes much longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tensorgen.calculus.requests import Mode
from tensorgen.ir.graph import Graph
from tensorgen.lang.kept_definitions import called_often
from tensorgen.lang.program import with_calls
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner
from tensorgen.spec.model import Spec


def beside_calls(
    graph: Graph, spec: Spec, plans: Sequence[Sequence[PlannedFunction]], mode: Mode
) -> list[list[PlannedFunction]]:
    """Return the plans of functions, with those in which definitions stay calls."""
    found = [[*own] for own in plans]
    if mode != "cross-country" or spec.unknowns:
        return found
    program = with_calls(spec, graph)
    for k, function in enumerate(program.generated if program else ()):
        if program and not function.batch and called_often(graph, function.node):
            planner = Planner(graph, spec, program, function, mode)
            found[k] = [_beside(planner, plain) for plain in plans[k]]
    return found


def _beside(planner: Planner, plain: PlannedFunction) -> PlannedFunction:
    """A plan with that of calls, if it may have one.

    What is stated is what is written out, for the check to hold calls against.
    """
    several = plain.tensors or plain.members or plain.others or plain.undivided
    if several or plain.kind.is_higher:
        return plain
    doing = partial(planner.planned, plain.kind, plain.order)
    found = planner.in_time(plain.name, doing)
    kept = replace(found, source=plain.source, stated=plain.stated)
    return replace(plain, kept=kept)
