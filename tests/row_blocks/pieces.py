"""The pieces of functions of a spec, for rows of any size, held against the whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial
from types import ModuleType

from tensorgen.calculus.kinds import Kind
from tensorgen.calculus.requests import Mode
from tensorgen.check import Report
from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.render import render
from tensorgen.errors import Source, Text
from tensorgen.lang import program_of, requested
from tensorgen.plans.build_module import ModuleBuilder
from tensorgen.plans.claims import held
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner
from tensorgen.plans.row_pieces import RowFunction
from tensorgen.plans.rows_in_blocks import Refused, in_pieces, row_axis
from tensorgen.spec.model import BlocksSpec
from tensorgen.spec.read import read_spec

MODE: Mode = "cross-country"
NUMPY = BACKENDS["numpy"]


class Whole:
    """A spec whose functions are planned whole, once for the rows of all sizes."""

    def __init__(self, source: Source) -> None:
        """Read a spec, and elaborate it."""
        self.spec = read_spec(source, True)
        self.graph, self.program = program_of(self.spec)

    @cached_property
    def planners(self) -> list[Planner]:
        """Those of all functions."""
        given = self.graph, self.spec, self.program
        return [Planner(*given, f, MODE) for f in self.program.generated]

    @property
    def sizes(self) -> list[str]:
        """Those that are an axis of an input."""
        dims = (d for x in self.spec.inputs for d in x.shape)
        return list(dict.fromkeys(str(d) for d in dims if d.symbols == (str(d),)))

    @property
    def kinds(self) -> list[tuple[Planner, Kind, tuple[str, ...]]]:
        """What is asked for of each function."""
        return [(own, *row) for own in self.planners for row in requested(own.function)]

    def in_pieces(
        self, size: str, kinds: Iterable[tuple[Planner, Kind, tuple[str, ...]]]
    ) -> list[RowFunction | Refused]:
        """Return some of these, in pieces over rows of a size where there are such.

        What names rows of it along an axis of its own comes with them.
        """
        along = {
            str(x.shape[0]): x.name
            for x in self.spec.inputs
            if str(x.index) == size and len(x.shape) == 1 and str(x.shape[0]) != size
        }
        blocks = BlocksSpec(size, Text.plain(size), tuple(along.items()))
        axis = row_axis(self.spec, blocks, self.program.inputs)
        return [
            in_pieces(
                own, own.in_time(kind.name, partial(own.planned, kind, order)), axis
            )
            for own, kind, order in kinds
        ]

    def held(self, rows: Collection[RowFunction | Refused]) -> Report:
        """Hold pieces against what calculus states of all rows, and run them."""
        pieces = [piece for row in cut_among(rows) for piece in row.pieces]
        return self._held(pieces)[1] if pieces else Report()

    def module(self, rows: Collection[RowFunction | Refused]) -> ModuleType:
        """Return a module with the functions that have pieces, and these; all held."""
        every: list[PlannedFunction] = []
        for row in cut_among(rows):
            every += [row.whole, *row.pieces]
        module = ModuleType("pieces")
        exec(self._held(every)[0], vars(module))
        return module

    def _held(self, plans: Sequence[PlannedFunction]) -> tuple[str, Report]:
        """Return the text of functions, held against what calculus states."""
        module = ModuleBuilder(self.spec, self.graph, NUMPY).build(plans)
        text = render(module, laid_out=False)
        given = self.program, plans, (), None, module, NUMPY, {"pieces.py": text}
        return text, held(*given, lambda remark: None)


def cut_among(rows: Collection[RowFunction | Refused]) -> list[RowFunction]:
    """Return the functions that are in pieces."""
    return [row for row in rows if isinstance(row, RowFunction)]
