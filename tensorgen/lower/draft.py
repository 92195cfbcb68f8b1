"""Code without names: values in the order in which they may be computed, and changes.

What is computed once for several uses has a variable already, whose name is a number,
as long as any other. All other values stand inside of those that use them, until naming
says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorgen.arrays.arrays import Array, array, bound
from tensorgen.arrays.object_operations import Rows
from tensorgen.arrays.operations import Index, Range
from tensorgen.arrays.places import WHOLE, At, Limit, Slice
from tensorgen.arrays.statements import Let, Statement
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Node
from tensorgen.lower.defined_functions import DefinedFunctions
from tensorgen.lower.plan import Plan
from tensorgen.lower.value_names import Names
from tensorgen.operators.recurrences.recurrence import Runs

TAPS = "klpq"


@dataclass(frozen=True, slots=True)
class Value:
    """What a node came to; nothing but a vector of integers is of no node.

    Others use the `variable`, or the array if there is none. What is `filled` by
    further statements is never the value of anything else.
    """

    node: Node | None
    array: Array
    variable: Array | None = None
    filled: bool = False


class Draft:
    """The function under construction.

    `slow_at` tells that the library's `add.at` is fast for vectors alone, `in_blocks`
    that what fits into a cache is worth a loop. `asked` has what of these, and of the
    `functions` of the module, something depends on.
    """

    def __init__(
        self,
        slow_at: bool,
        names: Names | None = None,
        in_blocks: bool = False,
        functions: DefinedFunctions | None = None,
    ) -> None:
        """Start without values; loops are called by `names` that nothing else has.

        Definitions that are called have their `functions`.
        """
        self._functions = functions or DefinedFunctions()
        self._slow_at, self._in_blocks = slow_at, in_blocks
        self.asked: set[str] = set()
        self.names = names or Names(())
        self._taps: list[str] = []
        self._block, self._steps = ("", ""), dict[Dim, Dim]()
        self.steps: list[Value | Statement | Repeat] = []
        self._bound: dict[Array, Array] = {}

    @property
    def slow_at(self) -> bool:
        """Whether the library's `add.at` is fast for vectors alone."""
        self.asked.add("slow_at")
        return self._slow_at

    @property
    def in_blocks(self) -> bool:
        """Whether what fits into a cache is worth a loop."""
        self.asked.add("in_blocks")
        return self._in_blocks

    @property
    def functions(self) -> DefinedFunctions:
        """The functions of definitions that are called."""
        self.asked.add("functions")
        return self._functions

    def inner(self) -> Draft:
        """Return the draft of what a loop in this one repeats."""
        own = Draft(self._slow_at, self.names, self._in_blocks, self._functions)
        own.asked = self.asked
        return own

    def add(self, statement: Statement | Repeat) -> None:
        """Append a statement, or a loop whose body is a draft of its own."""
        self.steps.append(statement)

    def value(self, node: Node, value: Array) -> None:
        """Append what a node came to, which stands where it is used."""
        self.steps.append(Value(node, value))

    def variable(self, node: Node | None, value: Array) -> Array:
        """Append a value, and return the variable that others use for it.

        Nodes that differ may come to one array: nothing is computed twice.
        """
        if value not in self._bound:
            self._bound[value] = self._started(node, value, filled=False)
        return self._bound[value]

    def filled(self, node: Node, value: Array) -> Array:
        """Append what further statements change, before anything reads it."""
        return self._started(node, value, filled=True)

    def _started(self, node: Node | None, value: Array, filled: bool) -> Array:
        own = bound(f"%{len(self.steps):05}", value)
        self.steps.append(Value(node, value, own, filled))
        return own

    def tap(self, depth: int) -> str:
        """What the taps of loops within so many others are called."""
        while len(self._taps) <= depth:
            self._taps.append(self.names.pick(TAPS))
        return self._taps[depth]

    def blocks(self, entries: int, row: Dim) -> tuple[str, Dim, str]:
        """What blocks of about so many entries start from, how wide most are, and all.

        How wide is computed once for rows of a size.
        """
        if not self._steps:
            self._block = self.names.pick(["start"]), self.names.pick(["width"])
        if row not in self._steps and row.constant is not None:
            self._steps[row] = Dim.of(max(entries // max(row.constant, 1), 1))
        elif row not in self._steps:
            name = self.names.pick(["step"])
            self.add(Let(name, array(Rows(entries, row))))
            self._steps[row] = Dim.symbol(name)
        start, width = self._block
        return start, self._steps[row], width

    def vector(self, low: Dim, high: Dim) -> Array:
        """The variable that holds the integers from `low` up to `high`."""
        return self.variable(None, array(Range(low, high)))


@dataclass(frozen=True, slots=True)
class Result:
    """The value of a root, and whether no other result may be the same array."""

    root: Node
    array: Array
    fresh: bool


@dataclass(frozen=True, slots=True)
class Row:
    """The row of an array that is `shift` behind that of the step; or all of it.

    Of an array over all steps of `runs` it is the rows of a run.
    """

    array: Array
    shift: Dim | None = ZERO
    runs: Runs | None = None

    def at(self, place: Dim, of: Array) -> Array:
        """The row of what has become of the array."""
        return of if self.shift is None else array(self.index(place), of)

    def index(self, place: Dim) -> Index:
        """Where it stands in the array, at a step."""
        dims = self.array.dims
        if self.shift is None:
            return Index((WHOLE,) * len(dims), dims)
        rest = (WHOLE,) * (len(dims) - 1)
        if self.runs is not None:
            first = self.runs.first(place) + self.shift
            part = Slice(Limit(first), Limit(first + self.runs.width))
            return Index((part, *rest), (self.runs.width, *dims[1:]))
        return Index((At(Limit(place + self.shift)), *rest), dims[1:])


@dataclass(frozen=True, slots=True)
class Repeat:
    """A step of a draft: `body` at each of `count` places.

    `reads` says what the inputs of the body are, by their names, `writes` where each of
    its results goes. `words` are names for values to be called after.
    """

    count: Dim
    backwards: bool
    plan: Plan
    draft: Draft
    results: Sequence[Result]
    reads: Mapping[str, Row]
    writes: Sequence[Row]
    words: Mapping[str, str | None]
    runs: Runs | None = None

    @property
    def arrays(self) -> list[Array]:
        """The arrays from before that it reads or writes."""
        return [row.array for row in (*self.reads.values(), *self.writes)]
