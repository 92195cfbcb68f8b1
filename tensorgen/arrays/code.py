"""What lowering hands on: plain statements, and what they rely on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.object_operations import Called
from tensorgen.arrays.statements import Statement, rebuilt
from tensorgen.ir.nodes import Node
from tensorgen.ir.remarks import Remarks


@dataclass(frozen=True)
class Code:
    """The body of a function, which nobody has written as text yet.

    `returns` has one array a root. Matrices that are what `refusals` say raise
    LinAlgError. Statements bind values of nodes that are `called` by a name. What has
    chosen their forms has `remarks`.
    """

    statements: tuple[Statement, ...]
    returns: tuple[Array, ...]
    refusals: tuple[str, ...] = ()
    called: Mapping[Node, str] = field(default_factory=dict, compare=False)
    remarks: Remarks = field(default_factory=dict, compare=False)


def changed_by(code: Code, change: Callable[[Array], Array]) -> Code:
    """Code with what `change` makes of each array."""
    lines = tuple(rebuilt(line, change) for line in code.statements)
    return Code(lines, tuple(map(change, code.returns)), code.refusals)


def code_of(called: Called) -> Code:
    """What is done where a private function is called."""
    assert isinstance(called.code, Code)
    return called.code
