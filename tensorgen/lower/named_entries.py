"""Entries of inputs that have a name of the user's, as `mu = theta[0]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.operations import Index, Variable
from tensorgen.arrays.places import At, Limit
from tensorgen.arrays.statements import Loop, everything, operands
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Product
from tensorgen.operators.whole_words import entries

EntryNames = Mapping[tuple[str, tuple[int, ...]], str]
"""What entries are called, by input and place."""


def named_entries(graph: Graph) -> EntryNames:
    """The user's names of entries."""
    found: dict[tuple[str, tuple[int, ...]], str] = {}
    for node, name in graph.names.items():
        if isinstance(node, Product) and not node.order and len(node.factors) == 1:
            for array, place in entries(node).values():
                if isinstance(array, Input):
                    found[array.name, place] = name
    return found


def entries_read(loop: Loop, names: EntryNames) -> Iterator[tuple[Array, str]]:
    """Yield the entries with names that the steps of a loop read, and the names."""
    lines = (one for line in everything(loop.body) for one in operands(line))
    for one in dict.fromkeys(below([*lines])):
        if not isinstance(one.op, Index) or one.order:
            continue
        array = one.args[0].op
        name = isinstance(array, Variable) and names.get((array.name, _place(one.op)))
        if name:
            yield one, name


def _place(index: Index) -> tuple[int, ...]:
    """The place of one entry that is the same at all sizes, else nothing."""
    ends = [part.limit for part in index.parts if isinstance(part, At)]
    found = [x.position.constant for x in ends if x == Limit(x.position)]
    known = [x for x in found if x is not None and x >= 0]
    return tuple(known) if len(known) == len(index.parts) else ()
