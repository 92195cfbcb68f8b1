"""Products with sparse matrices that are at hand: nothing is as fast as their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tensorgen.ir.nodes import Input, Label, Lookup, Node, Product, Ref


class MatrixProduct(NamedTuple):
    """The matrix called `name`, or its transpose, times an array.

    The axis `row` of the result is that of the matrix, `column` what is summed.
    """

    name: str
    transposed: bool
    other: Ref
    row: Label
    column: Label


def matrix_product(node: Node, matrices: Mapping[str, str]) -> MatrixProduct | None:
    """Return what `sum_e v[e] * x[c[e], ...] * delta(i, r[e])` is, if that is plain.

    `matrices` are the names of sparse matrices by those of their values.
    """
    if not isinstance(node, Product) or len(node.factors) != 2 or not node.order:
        return None
    for values, other in (node.factors, node.factors[::-1]):
        if not isinstance(values.node, Input) or values.node.name not in matrices:
            continue
        name = matrices[values.node.name]
        sides = _sides(node, values.node.name.removesuffix("values"), values.labels)
        if {*sides} != {"rows", "columns"} or len(node.constraints) != 2:
            return None
        transposed = sides["rows"] >= node.order
        row, column = sides["rows"], sides["columns"]
        if transposed:
            row, column = column, row
        rest = [x for x in other.labels if x != column]
        inner = {*range(node.order, len(node.sizes))}
        plain = inner == {column, *values.labels} and len(rest) <= 1
        plain = plain and other.labels.count(column) == 1
        if plain and sorted([row, *rest]) == [*range(node.order)]:
            return MatrixProduct(name, transposed, other, row, column)
    return None


def _sides(node: Product, prefix: str, entry: tuple[Label, ...]) -> dict[str, Label]:
    """The labels that deltas say the rows and the columns of entries are."""
    found: dict[str, Label] = {}
    for constraint in node.constraints:
        equal = constraint.equal_atoms
        plain = [atom for atom in equal if not isinstance(atom, Lookup)]
        lists = [atom for atom in equal if isinstance(atom, Lookup)]
        if len(plain) != 1 or len(lists) != 1 or lists[0].labels != entry:
            return {}
        side = getattr(lists[0].node, "name", "").removeprefix(prefix)
        found[side] = plain[0]
    return found
