"""Passes over whole plans: what is stored of derivatives, and how that is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tensorgen.ir.nodes import Node
from tensorgen.passes.context import Context, Kept, Plan
from tensorgen.prices.limits import STEPS_TO_COMPRESS


def compressed(context: Context, plan: Plan) -> Plan:
    """What is stored of derivatives that have a structure."""
    tensors = list(plan.tensors)
    attempt, roots = context.graph.effort.attempt, plan.roots
    for k, compress in context.compressed.items() if plan.derived else ():
        graph, cost = context.graph, context.cost
        run = partial(compress, graph, roots[k], cost, plan.derived[k])
        before = graph.effort.stopped
        found = attempt(run, None, STEPS_TO_COMPRESS)
        if found is not None and graph.effort.stopped > before:
            found = found.cut_short()
        tensors[k] = found
    return _kept(replace(plan, formulas=roots), tensors)


def read(context: Context, plan: Plan, apart: bool) -> Plan:
    """What is read off derivatives, entry by entry if `apart`."""
    graph, tensors = context.graph, list(plan.tensors)
    for k, own in context.readings.items():
        if (found := tensors[k]) is not None:
            tensors[k] = own(graph, found, context.cost, plan.derived[k], apart)
    after = _kept(plan, tensors)
    return plan if after.parts == plan.parts else replace(after, derived=())


def _kept(plan: Plan, tensors: Sequence[Kept | None]) -> Plan:
    return replace(plan, parts=arrays_of(plan, tensors), tensors=tuple(tensors))


def arrays_of(
    plan: Plan, tensors: Sequence[Kept | None]
) -> tuple[tuple[Node, ...], ...]:
    """What is stored of each root: its arrays, or the root where it has no tensor."""
    pairs = zip(plan.formulas, tensors, strict=True)
    return tuple((x,) if tensor is None else tensor.arrays for x, tensor in pairs)


def is_to_read(context: Context, plan: Plan) -> bool:
    """Whether tensors may be read, if there is time for it."""
    return bool(plan.derived) and context.graph.effort.is_ample
