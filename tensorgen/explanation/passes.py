"""What each pass did to what a function computes, of those that changed something."""

from __future__ import annotations

from collections.abc import Iterator

from tensorgen.explanation.report import equation_rows
from tensorgen.explanation.subjects import Explained, Step, Subject
from tensorgen.explanation.sum_ranges import equations
from tensorgen.ir.nodes import Node, topological
from tensorgen.passes.context import Plan
from tensorgen.passes.cost import CostModel

MOST_VALUES = 60
"""The most values of a plan that is told in formulas."""
MOST_ROWS = 14
"""The most lines of its formulas."""


def passes(told: Explained) -> str:
    """Return the steps of all functions that were asked for."""
    rows = [row for x in told.subjects for row in (*_subject(x), "")]
    return "\n".join(row.rstrip() for row in rows[:-1]) + "\n"


def history(subject: Subject) -> list[Step]:
    """The passes that led to the plan which was chosen, first to last."""
    current, found = subject.planned.plan, list[Step]()
    for step in reversed(subject.steps):
        _, before, after = step
        # What is planned beside others takes over roots, and is a plan of its own.
        if after is current or (not found and after.roots == current.roots):
            found.append(step)
            current = before
    return found[::-1]


def changes(subject: Subject) -> list[Step]:
    """Those of the passes that changed something."""
    return [x for x in history(subject) if x[1].roots != x[2].roots]


def _subject(subject: Subject) -> Iterator[str]:
    model = CostModel(subject.hints)
    found = changes(subject)
    yield f"== {subject.name}"
    if not found:
        yield "No pass changed anything."
        return
    yield ""
    yield f"As calculus states it: {model.total_flops(found[0][1].roots):,.0f} flops"
    yield from _formulas(subject, found[0][1])
    for law, _, after in found:
        yield ""
        yield f"{law.name}: {model.total_flops(after.roots):,.0f} flops"
        yield f"  by {law.law}"
        yield from _formulas(subject, after)


def _formulas(subject: Subject, plan: Plan) -> Iterator[str]:
    """What a plan computes, where it is short enough to be read."""
    count = len(topological(plan.roots))
    if count > MOST_VALUES:
        yield f"    {count} values"
        return
    named = _named(subject, plan)
    rows = [row for e in equations(named, subject.names) for row in equation_rows(e)]
    yield from (f"    {row}" for row in rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        yield f"    ... and {len(rows) - MOST_ROWS} lines more"


def _named(subject: Subject, plan: Plan) -> list[tuple[str, Node]]:
    """The roots of a plan by name, numbered where one root is several arrays."""
    names, parts = subject.planned.root_names, plan.parts
    if len(names) != len(parts):  # what is kept of a tensor was planned beside others
        parts = subject.planned.plan.parts
    called = [
        f"{name}_{k}" if len(part) > 1 else name
        for name, part in zip(names, parts, strict=True)
        for k in range(1, len(part) + 1)
    ]
    return list(zip(called, plan.roots, strict=True))
