"""Of which places formulas tell: where entries are not zero, and what is in range."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.index_text import Index
from tensorgen.ir.nodes import (
    Affine,
    Atom,
    Input,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Sum,
    affine,
)

ELSEWHERE, OUTSIDE = ", else 0", ", terms out of range 0"


def tied_axes(axes: Sequence[Index], node: Node) -> tuple[list[Index], bool]:
    """The indices of the entries that are not zero, and whether all others are.

    Axes that others fix there are told by these: `i, j, i` or `i, i + 1`.
    """
    at, fixed = list(axes), set[int]()
    for second, first, offset in _ties(node):
        if not {first, second} & fixed:
            at[second] = at[first] + Index.constant(offset)
            fixed.add(second)
    return at, bool(fixed)


_Tie = tuple[int, int, Dim]


def _ties(node: Node) -> list[_Tie]:
    """A later axis, an earlier one, and how much more it is where entries are not 0."""
    if isinstance(node, Product):
        own = (_tie(*c.form) for c in node.constraints if c.kind == "eq")
        return [x for x in own if x is not None and x[0] < node.order]
    if not isinstance(node, Sum):
        return []
    rows = [
        [
            _tie(((labels[a], 1), (labels[b], -1)), -offset)
            for a, b, offset in _ties(term)
        ]
        for _, term, labels in node.terms
    ]
    first, *others = rows
    return [x for x in first if x is not None and all(x in row for row in others)]


def _tie(terms: Sequence[tuple[Atom, int]], const: Dim) -> _Tie | None:
    """The same of two labels of which a form is zero."""
    if len(terms) != 2 or {c for _, c in terms} != {1, -1}:
        return None
    (a, sign), (b, _) = terms
    if isinstance(a, Lookup) or isinstance(b, Lookup):
        return None
    return (a, b, const * -sign) if a > b else (b, a, const * sign)


def named_entries(
    node: Product, found: Mapping[Label, Affine], names: Container[Node]
) -> Iterator[Affine]:
    """What is not negative where the entries that a product names are in range."""
    for part, labels in node.factors:
        for axis, label in enumerate(labels):
            if _shows(part, axis, names):
                place = affine([(label, 1)])
                for other, value in found.items():
                    place = place.substituted(other, value)
                yield place
                yield affine([], part.dims[axis] - 1) - place


def _shows(node: Node, axis: int, names: Container[Node]) -> bool:
    """Whether the text of a node has an array by name that has an axis of it."""
    if isinstance(node, Input) or node in names:
        return True
    if isinstance(node, Map | Product):
        parts = node.args if isinstance(node, Map) else node.factors
        pairs = ((x, labels) for x, labels in parts if axis in labels)
        return any(_shows(x, labels.index(axis), names) for x, labels in pairs)
    return False


def is_sure(kind: str, index: Index) -> bool:
    """Whether a constraint holds whatever the letters are, which are never negative."""
    if kind == "eq":
        return index == Index.constant(Dim.of(0))
    return all(c > 0 for _, c in index.terms) and index.const.is_nonnegative()
