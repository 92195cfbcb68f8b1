"""Row places: where values are when the rows of an axis come in blocks.

Most objectives are sums over a data axis, and rows of data need not be in one memory to
be added up. A value is known `everywhere` once some rounds over all blocks are over; or
it has `rows`, each of which follows from its own row of the data and from what is known
everywhere; or it is a `sum` of what each block gives by itself. What is none of these,
such as a row that reads its neighbour, is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Atom, Constraint, Input, Lookup, Node, Product


class Place(NamedTuple):
    """Where a value is, and after how many rounds over all blocks."""

    kind: Literal["everywhere", "rows", "sum"]
    round: int


class RowsRefused(Exception):
    """A value that no rounds over blocks of rows give; why, and what would help."""

    def __init__(self, node: Node, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.node, self.why, self.hint = node, why, hint


@dataclass(frozen=True)
class RowAxis:
    """The axis whose rows come in blocks, by the symbol of its `size`.

    Entry e of an axis whose size is in `along` comes in the block of the row that the
    index array there names.
    """

    size: str
    along: Mapping[str, Node] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes that differ from block to block."""
        return (self.size, *self.along)

    def has(self, dim: Dim) -> bool:
        """Whether a block has its own part of an axis of that size."""
        return str(dim) in self.sizes

    def axis_of(self, node: Node) -> int | None:
        """Return the axis of rows of a value, if it has one; refuses all else."""
        found = [axis for axis, dim in enumerate(node.dims) if self.has(dim)]
        mixed = [dim for dim in node.dims if self.mentions(dim) and not self.has(dim)]
        if mixed:
            why = f"an axis of {mixed[0]} entries is not the rows of {self.size}"
            raise RowsRefused(node, why, "ranges and shapes that leave rows whole")
        if len(found) > 1:
            raise RowsRefused(node, "it has an entry for each pair of rows")
        return found[0] if found else None

    def mentions(self, dim: Dim) -> bool:
        """Whether a size is made of those that differ from block to block."""
        return not {*dim.symbols}.isdisjoint(self.sizes)

    # Products

    def groups(self, node: Product) -> list[set[int]]:
        """Return the labels of rows, those together that are always one row.

        Deltas say so, and the promise that entries come with a row.
        """
        rows = {x: {x} for x, dim in enumerate(node.sizes) if self.has(dim)}
        late: list[Constraint] = []
        for one in node.constraints:
            if self.mentions(one.form.const):
                raise RowsRefused(node, "it reads rows by their number", OF_NUMBERS)
            pair = one.equal_atoms
            sides = [self._row(node, atom) for atom in pair]
            if pair and None not in sides:
                first, second = (rows[x] for x in sides if x is not None)
                first |= second
                rows |= dict.fromkeys(first, first)
            elif not rows.keys().isdisjoint(one.form.labels):
                late.append(one)
        for one in late:
            self._check_local(node, one, rows)
        found = {id(group): group for group in rows.values()}
        return [*found.values()]

    def _row(self, node: Product, atom: Atom) -> int | None:
        """The label whose row an atom of a form is the number of."""
        if not isinstance(atom, Lookup):
            return atom if str(node.sizes[atom]) == self.size else None
        if atom.node in self.along.values() and len(atom.labels) == 1:
            return int(atom.labels[0])
        return None

    def _check_local(
        self, node: Product, one: Constraint, rows: Mapping[int, set[int]]
    ) -> None:
        """Refuse a constraint of rows unless it is of what one row looks up."""
        atoms = [atom for atom, _ in one.form.terms]
        for atom in atoms:
            if isinstance(atom, Lookup) and self.names_rows(atom.node):
                raise RowsRefused(
                    node,
                    "an index array picks rows by number",
                    self._promise(atom.node),
                )
        for atom in atoms:
            if not isinstance(atom, Lookup) and atom in rows:
                why = "rows by their number" if len(atoms) == 1 else "other rows"
                raise RowsRefused(node, f"it reads {why}", OF_NUMBERS)
        own = {id(rows[x]) for x in one.form.labels if x in rows}
        if len(own) > 1:
            raise RowsRefused(node, "it compares pairs of rows")

    def _promise(self, node: Node) -> str:
        """What a spec says of entries that come with the row which they name."""
        if not isinstance(node, Input) or node.order != 1:
            return ""
        text = f"'blocks: {{{self.size}: {{{node.dims[0]}: {node.name}}}}}'"
        return f"{text} promises that entries come with the row that {node.name} names"

    def names_rows(self, node: Node) -> bool:
        """Whether the entries of an index array are numbers of rows."""
        bound = node.index if isinstance(node, Input) else None
        return bound is not None and self.mentions(bound)


OF_NUMBERS = "what a row is made of must not depend on where it stands"


def latest(rounds: Iterable[int]) -> int:
    """Return the round after which all are known."""
    return max(rounds, default=0)
