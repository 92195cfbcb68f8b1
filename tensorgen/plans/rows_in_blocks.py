"""Which functions of a spec have their rows in blocks, and why others have not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tensorgen.calculus.kinds import HESSIAN, HVP, PROBLEM
from tensorgen.errors import Faults, Remark
from tensorgen.ir.nodes import Node
from tensorgen.lang import Program
from tensorgen.passes.row_places import RowAxis, RowsRefused
from tensorgen.plans.hessian_rows import diagonal
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner
from tensorgen.plans.row_pieces import RowFunction, RowPlanner
from tensorgen.spec.model import BlocksSpec, Spec


def row_axis(spec: Spec, blocks: BlocksSpec, inputs: Mapping[str, Node]) -> RowAxis:
    """Return the axis whose rows come in blocks; a sparse matrix brings its entries."""
    along = {size: inputs[name] for size, name in blocks.along}
    for given in spec.inputs:
        if given.sparse and str(given.shape[0]) == blocks.size:
            along[given.part("entries")] = inputs[given.part("rows")]
    return RowAxis(blocks.size, along)


def rows_of(
    spec: Spec,
    program: Program,
    planners: Sequence[Planner],
    plans: Sequence[Sequence[PlannedFunction]],
) -> list[list[RowFunction | Refused]]:
    """Return each function in pieces, or why it has none, as the spec asks for it.

    Raises a `SpecError` with all functions that the spec lists and that have none.
    """
    blocks, faults = spec.blocks, Faults()
    if blocks is None:
        return [[] for _ in planners]
    axis = row_axis(spec, blocks, program.inputs)
    listed = {text.value: text for text in blocks.functions}
    found = []
    for planner, own in zip(planners, plans, strict=True):
        name = planner.function.spec.name
        rows = [in_pieces(planner, planned, axis) for planned in own]
        if listed and name not in listed:
            rows = []
        rows += _beside(planner, rows, axis)
        for one in rows if listed else ():
            if isinstance(one, Refused):
                faults.add(one.told, listed[name].span(), hint=one.hint)
        found.append(rows)
    _check_names(found, plans, faults)
    faults.raise_if_any()
    return found


def _beside(
    planner: Planner, rows: Sequence[RowFunction | Refused], axis: RowAxis
) -> Iterator[RowFunction]:
    """Yield what a Hessian is multiplied by and solved with, if it stays with rows."""
    by_kind = {row.whole.kind: row for row in rows}
    hessian = by_kind.get(HESSIAN)
    emitted = {one.kind for one in planner.function.spec.emit}
    if hessian is None or PROBLEM not in emitted:
        return
    if isinstance(hessian, RowFunction) and not hessian.stays:
        return
    wanted = [] if HVP in by_kind else [planner.planned(HVP)]
    if isinstance(hessian, Refused) or not hessian.apart:
        wanted.append(diagonal(planner, hessian.whole))
    for planned in wanted:
        with suppress(RowsRefused):
            yield RowPlanner(planner, planned, axis, hidden=True).plan()


def _check_names(
    rows: Iterable[Iterable[RowFunction | Refused]],
    plans: Iterable[Iterable[PlannedFunction]],
    faults: Faults,
) -> None:
    """Report functions of the file that are called like a piece of another one."""
    known = {planned.name: planned for own in plans for planned in own}
    for piece in (p for own in rows for row in own for p in _pieces(row)):
        other = known.get(piece.name)
        if other is not None:
            spec, name = other.source.spec, piece.source.spec.name
            message = f"'{piece.name}' is a piece of '{name}', whose rows are in blocks"
            faults.add(message, spec.name_text.span(), hint="rename one of them")


def _pieces(row: RowFunction | Refused) -> list[PlannedFunction]:
    return row.pieces if isinstance(row, RowFunction) else []


@dataclass(frozen=True)
class Refused:
    """A function that has no pieces, and why."""

    whole: PlannedFunction
    axis: RowAxis
    why: str
    hint: str

    @property
    def told(self) -> str:
        """The reason as a sentence."""
        return (
            f"'{self.whole.name}' has no blocks of rows of {self.axis.size}: {self.why}"
        )


def in_pieces(
    planner: Planner, planned: PlannedFunction, axis: RowAxis
) -> RowFunction | Refused:
    """Return a planned function in pieces, or why it has none."""
    try:
        return RowPlanner(planner, planned, axis).plan()
    except RowsRefused as error:
        return Refused(planned, axis, error.why, error.hint)


def with_pieces(
    plans: Iterable[Iterable[PlannedFunction]],
    rows: Iterable[Iterable[RowFunction | Refused]],
) -> list[PlannedFunction]:
    """Return all functions, each group of plans with its pieces behind it."""
    found: list[PlannedFunction] = []
    for own, cut in zip(plans, rows, strict=True):
        found += own
        found += [piece for row in cut for piece in _pieces(row)]
    return found


def refusals(
    spec: Spec, rows: Iterable[Iterable[RowFunction | Refused]]
) -> Iterator[Remark]:
    """What to report of functions that have no pieces, and need none."""
    for row in (one for own in rows for one in own):
        if isinstance(row, Refused) and spec.blocks is not None:
            place = row.whole.source.spec.name_text.span()
            yield Remark(row.told, place, "no-blocks")
