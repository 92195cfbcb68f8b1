"""What blocks of rows give: the rounds of each function, or why it has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorgen.calculus.requests import MODES, Mode
from tensorgen.emit.text import paragraph
from tensorgen.errors import Source, Text, suggest
from tensorgen.explanation.report import amount
from tensorgen.explanation.subjects import UnknownFunctionError
from tensorgen.ir.nodes import entries
from tensorgen.lang import program_of
from tensorgen.passes.row_places import RowAxis
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner, known_sizes
from tensorgen.plans.row_pieces import RowFunction
from tensorgen.plans.rows_in_blocks import Refused, rows_of
from tensorgen.spec.model import BlocksSpec, Spec
from tensorgen.spec.read import read_spec


def row_rounds(
    source: Source, size: str, mode: str = MODES[0], allow_external: bool = False
) -> str:
    """Return what is told of all functions where rows of a size come in blocks.

    What comes along with the rows is as the file says, if that is about this size.
    """
    spec = read_spec(source, allow_external)
    blocks = _blocks(spec, size)
    spec = replace(spec, blocks=replace(blocks, functions=()))
    graph, program = program_of(spec)
    chosen: Mode = next(x for x in MODES if x == mode)
    planners = [Planner(graph, spec, program, f, chosen) for f in program.generated]
    plans = [planner.plans() for planner in planners]
    hints = known_sizes(spec)
    rows = [f"Blocks of rows of {size}"]
    for own in rows_of(spec, program, planners, plans):
        for row in own:
            rows += ["", f"== {row.whole.name}", *_told(row, hints)]
    graph.forget()
    return "\n".join(rows) + "\n"


def _blocks(spec: Spec, size: str) -> BlocksSpec:
    if spec.blocks is not None and spec.blocks.size == size:
        return spec.blocks
    axes = {str(dim) for given in spec.inputs for dim in given.shape}
    if size not in axes:
        known = [name for name, _ in spec.hints if name in axes]
        hint = suggest(size, known) or f"known: {', '.join(known)}"
        raise UnknownFunctionError(f"no input has an axis of the size '{size}'; {hint}")
    return BlocksSpec(size, Text.plain(size))


def _told(row: RowFunction | Refused, hints: dict[str, int]) -> Iterator[str]:
    if isinstance(row, Refused):
        yield from paragraph(f"refused: {row.why}", "    ", "    ")
        yield from paragraph(f"hint: {row.hint}", "    ", "    ") if row.hint else ()
        return
    count = len(row.rounds)
    passes = "no pass" if not count else f"{count} pass" + "es" * (count > 1)
    yield f"    {passes} over the rows"
    for number, own in enumerate(row.rounds, 1):
        if own.start is not None:
            yield f"    once before pass {number}: {_made(own.start, row.axis, hints)}"
        yield f"    a block gives: {_made(own.partial, row.axis, hints)}"
    if row.finish is not None:
        yield f"    then {row.finish.name}"
    if row.rows is not None:
        yield f"    with the rows of a block stays {_made(row.rows, row.axis, hints)}"


def _made(planned: PlannedFunction, axis: RowAxis, hints: dict[str, int]) -> str:
    """What a piece returns, and how many numbers that is."""
    nodes = planned.plan.roots
    names = ", ".join(planned.root_names)
    return f"{names} ({amount(entries(nodes), hints)} numbers)"
