"""What functions store of the states of recurrences, and what they cost with that."""

from __future__ import annotations

from collections.abc import Iterable

from tensorgen.ir.dims import COMPUTED
from tensorgen.ir.nodes import Node, topological
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    Steps,
    is_recurrence,
    result_of,
)
from tensorgen.passes.context import Plan


def steps_of(roots: Iterable[Node]) -> list[Steps]:
    """The steps of all recurrences, apart from those inside of others."""
    found = (x for x in topological(roots) if is_recurrence(x))
    return list(dict.fromkeys(Recurrence.of(x).steps for x in found))


def cost_of(bill: str, plan: Plan) -> str:
    """What a function costs, and what it stores of the states of recurrences."""
    kept = _states_of(plan)
    return f"{bill}, including {kept}" if kept else bill


def _states_of(plan: Plan) -> str:
    """What is kept of the states of recurrences, where that grows with the steps."""
    found: dict[str, None] = {}
    for node in topological(plan.roots):
        if not is_recurrence(node):
            continue
        steps, (result, every) = Recurrence.of(node).steps, result_of(node)
        if not every or result >= len(steps.states):
            continue
        if steps.runs is None:
            found[f"all states of {steps.count} steps"] = None
            continue
        length = str(steps.runs.length)
        if length in COMPUTED:
            length = f"isqrt({COMPUTED[length].of}) + 1"
        text = f"of {steps.runs.total} steps every state of one run of {length}, and"
        found[f"{text} the first of each run"] = None
    return "; ".join(found)
