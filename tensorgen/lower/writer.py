"""The function under construction: its statements, and what they rely on."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Range
from tensorgen.arrays.statements import Let, Statement
from tensorgen.ir.dims import Dim
from tensorgen.lower.names import Names
from tensorgen.lower.share_calls import share_calls


class Writer:
    """Collects statements for an array module."""

    def __init__(self, alias: str, names: Names) -> None:
        """Write for the array module called `alias`."""
        self.alias = alias
        self.names = names
        self.statements: list[Statement] = []
        self.refusals: dict[str, None] = {}
        self._vectors: dict[tuple[Dim, Dim], Array] = {}

    def add(self, statement: Statement) -> None:
        """Append a statement."""
        self.statements.append(statement)

    def vector(self, low: Dim, high: Dim) -> Array:
        """The variable that holds the integers from `low` up to `high`."""
        key = (low, high)
        if key not in self._vectors:
            name = self.names.pick("ijklpqrst")
            self.add(Let(name, array(Range(low, high))))
            self._vectors[key] = variable(name, (high - low,), "int")
        return self._vectors[key]

    def code(self, returns: Sequence[Array]) -> Code:
        """Everything written, with the expressions to return."""
        statements, found = share_calls(self.statements, returns, self.names)
        return Code(tuple(statements), tuple(found), tuple(self.refusals))
