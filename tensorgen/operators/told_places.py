"""Of which places formulas tell: where entries are not zero, and what is in range."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.index_text import Index
from tensorgen.ir.nodes import (
    Affine,
    Atom,
    Constraint,
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


_MOST_PLACES = 12


def told_apart(node: Node, names: Container[Node]) -> list[dict[int, Dim]]:
    """The places along some axes outside of which entries are zero, if they are few.

    Such as parameters that one vector holds: `grad[0]` and `grad[1]`. What has `names`
    is not looked into.
    """
    places = _places(node, names)
    first = places[0] if 0 < len(places) <= _MOST_PLACES else {}
    axes = [axis for axis in first if all(axis in own for own in places)]
    found = _unlike({axis: own[axis] for axis in axes} for own in places)
    return sorted(filter(None, found), key=lambda own: [*map(str, own.values())])


def _places(node: Node, names: Container[Node]) -> list[dict[int, Dim]]:
    """The numbers of axes that each term of a node has entries at."""
    if isinstance(node, Sum):
        return _unlike(
            {labels[axis]: place for axis, place in own.items()}
            for _, term, labels in node.terms
            for own in ([{}] if term in names else _places(term, names))
        )
    found = [dict[int, Dim]()]
    if isinstance(node, Product):
        found = [dict(_numbers(node.constraints, node.order))]
        for part, labels in node.factors:
            if part in names or all(x >= node.order for x in labels):
                continue
            inner = _unlike(
                {labels[a]: x for a, x in own.items() if labels[a] < node.order}
                for own in _places(part, names)
            )
            found = _unlike({**own, **more} for own in found for more in inner)
    return found


def _unlike(places: Iterable[dict[int, Dim]]) -> list[dict[int, Dim]]:
    """Places, each once: no more than show that they are many."""
    found = {tuple(sorted(own.items(), key=lambda x: x[0])): own for own in places}
    return [*found.values()][: _MOST_PLACES + 1]


def _numbers(
    constraints: Sequence[Constraint], order: int
) -> Iterator[tuple[int, Dim]]:
    """The axes that deltas give numbers."""
    for kind, (terms, const) in constraints:
        if kind == "eq" and len(terms) == 1:
            ((atom, scale),) = terms
            if not isinstance(atom, Lookup) and atom < order and abs(scale) == 1:
                yield atom, const * -scale


def is_zero(node: Node, at: Sequence[Index]) -> bool:
    """Whether deltas say that there is nothing at some numbers of axes."""
    if isinstance(node, Sum):
        terms = node.terms
        return all(is_zero(term, [at[x] for x in labels]) for _, term, labels in terms)
    if not isinstance(node, Product):
        return False
    for axis, place in _numbers(node.constraints, node.order):
        gap = at[axis] - Index.constant(place)
        if not gap.terms and gap.const != Dim.of(0):
            return True
    return any(
        is_zero(part, [at[x] for x in labels])
        for part, labels in node.factors
        if all(x < node.order for x in labels)
    )


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
