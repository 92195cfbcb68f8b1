"""What is to be told of the code of a plan, and of which of its statements.

What calls have chosen is in their rows, and what laws have made is beside the nodes. Of
the rest lowering chooses the form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.statements import Loop, Statement, bindings, changed, operands
from tensorgen.arrays.statements import everything as statements_in
from tensorgen.ir.constraints import looked_up
from tensorgen.ir.nodes import Call, Map, Node, Product
from tensorgen.ir.remarks import RETURNED, Remark, Remarks
from tensorgen.lower.plan import Plan
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    everything,
    is_recurrence,
)


class Row(NamedTuple):
    """A remark, and of which nodes of a plan it is."""

    remark: Remark
    holds: Callable[[Plan, Node], bool]


def remarks(
    plan: Plan,
    values: Mapping[Node, Array],
    lines: Sequence[Statement],
    results: Iterable[tuple[str | None, Array]],
) -> Remarks:
    """Return what is to be told, with the names that statements bind which it is of.

    `values` says what nodes are in `lines`, or in `results`, which may have names. What
    steps of a loop compute, and what is nowhere, is told of any statement.
    """
    found: dict[Remark, set[str]] = {}
    known: dict[Array, set[str]] = {}
    for node in everything(plan.order):
        for remark in _told(plan, node):
            if plan.graph.spelled.isdisjoint(remark.plain):
                known = known or _names(lines, results)
                names = _of(plan, node, values, known)
                found.setdefault(remark, set()).update(names)
    return {remark: frozenset(names) for remark, names in found.items()}


def _told(plan: Plan, node: Node) -> Iterator[Remark]:
    """Yield what is to be told of a node."""
    yield from plan.graph.remarks.get(node, {})
    own = None
    if isinstance(node, Map):
        own = ELEMENTWISE[node.function].remark
    elif isinstance(node, Call):
        own = OPERATORS[node.operator].remark
    if own is not None:
        yield own
    yield from (row.remark for row in ROWS if row.holds(plan, node))


def _names(
    lines: Sequence[Statement], results: Iterable[tuple[str | None, Array]]
) -> dict[Array, set[str]]:
    """What the statements bind or change in which arrays stand."""
    found: dict[Array, set[str]] = {}
    for line in statements_in(lines):
        names = {*changed(line), *(name for name, _ in bindings(line))}
        for one in below(operands(line)) if not isinstance(line, Loop) else ():
            found.setdefault(one, set()).update(names)
    for name, whole in results:
        for one in below([whole]):
            found.setdefault(one, set()).update({RETURNED, name or RETURNED})
    return found


def _of(
    plan: Plan,
    node: Node | None,
    values: Mapping[Node, Array],
    known: Mapping[Array, Collection[str]],
) -> Collection[str]:
    """The names of a node, or of what it stands in; of steps those of their states."""
    if node is not None and is_recurrence(node):
        whole = [values[node]] if node in values else []
        return [one.op.name for one in below(whole) if isinstance(one.op, Variable)]
    while node is not None:
        value = values.get(node)
        if value is not None and isinstance(value.op, Variable):
            return [value.op.name]
        if value is not None and value in known:
            return known[value]
        node = next(reversed(plan.users.get(node, ())), None)
    return ()


def _is_walk(plan: Plan, node: Node) -> bool:
    """Whether a product may be summed up to a bound."""
    return isinstance(node, Product) and any(c.kind == "ge" for c in node.constraints)


def _is_solved(plan: Plan, node: Node) -> bool:
    """Whether an inverse that was written is applied, and never formed."""
    return node in plan.solved and "inv" in plan.graph.spelled


def _is_added_by_key(plan: Plan, node: Node) -> bool:
    """Whether entries are added up by keys, as nobody has stated it."""
    return (
        isinstance(node, Product)
        and node not in plan.graph.stated
        and bool(looked_up(form for _, form in node.constraints))
    )


def _is_of_runs(plan: Plan, node: Node) -> bool:
    if not isinstance(node, Call) or not is_recurrence(node):
        return False
    return Recurrence.of(node).steps.runs is not None


ROWS = (
    Row(
        Remark(
            "prefix sums, in place of a triangle of terms", r"\bcumsum\(", ("cumsum",)
        ),
        _is_walk,
    ),
    Row(
        Remark(
            "solved, not inverted: that keeps more digits",
            r"\b_?(?:cholesky_)?solve\(",
            ("solve",),
        ),
        _is_solved,
    ),
    Row(
        Remark(
            "gather, weight, add up by key: no matrix is formed",
            r"_by_key\(|_add_at\(|\badd\.at\(|\bbincount\([^,]*, (?!minlength)",
        ),
        _is_added_by_key,
    ),
    Row(
        Remark(
            "checkpoints: of each run of steps the first state alone",
            r"^ *\w+_starts = ",
        ),
        _is_of_runs,
    ),
)
