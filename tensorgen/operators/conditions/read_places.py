"""Places that are read: what slices and ranges of all readers leave of a node.

Of `l` in `sum((l[2:] - l[1:-1])**2)` the first entry is read by nobody, and of `q` in
`sum(q[i, j], i, j=range(i + 1, n))` those at `i < j` are. What several readers take is
bounded by what holds for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tensorgen.ir.between import without_wider
from tensorgen.ir.constraints import Ranges, solvable, solved, within
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Sum,
    affine,
    children,
)
from tensorgen.ir.rebuild import refs_of, sizes_of

Bounds = tuple[Constraint, ...]
"""Indicators over the axes of a node, outside of which nobody reads it."""


def read_places(order: Sequence[Node]) -> dict[Node, Bounds]:
    """Return the bounds of nodes, operands first, of which the last is read whole.

    Nodes that are read whole are left out.
    """
    found: dict[Node, Bounds] = {order[-1]: ()}
    for node in reversed(order):
        others = children(node)
        if isinstance(node, Product | Sum | Map):
            refs = refs_of(node)
            for operand, labels in refs:
                _join(found, operand, _of_operand(node, found[node], labels))
            others = others[len(refs) :]  # at which index arrays are read
        for operand in others:
            found[operand] = ()
    return {node: bounds for node, bounds in found.items() if bounds}


def _join(found: dict[Node, Bounds], node: Node, new: Bounds) -> None:
    """Let what is read of a node be that besides."""
    if node in found:
        known, ranges = found[node], Ranges.of(dict(enumerate(node.dims)))
        both = [c for c in known if _implied(c, new, ranges)]
        both += [c for c in new if _implied(c, known, ranges)]
        new = tuple(dict.fromkeys(both))
    found[node] = new


def _implied(bound: Constraint, others: Iterable[Constraint], ranges: Ranges) -> bool:
    return any(ranges.keep_nonnegative(bound.form - other.form) for other in others)


def _of_operand(
    node: Product | Sum | Map, bounds: Bounds, labels: Sequence[Label]
) -> Bounds:
    """The bounds of an operand, of what a node with these reads of it."""
    sizes = sizes_of(node)
    constraints = node.constraints if isinstance(node, Product) else ()
    if not (constraints or bounds):
        return ()
    deltas = [c.form for c in constraints if c.kind == "eq"]
    forms = [c.form for c in (*bounds, *constraints) if c.kind == "ge"]
    forms = _solved(deltas, forms, labels, sizes)
    axes = {label: labels.index(label) for label in labels}
    ranges = Ranges.of({axis: sizes[label] for label, axis in axes.items()})
    found: dict[Constraint, None] = {}
    for form in forms:
        if any(isinstance(atom, Lookup) for atom, _ in form.terms):
            continue
        for label, c in form.terms:
            if label not in axes:  # wherever this is, the operand is read
                end = sizes[label] - 1 if c > 0 else ZERO
                form = form.substituted(label, affine([], end))
        form = form.renamed(axes.__getitem__)
        if form.terms and not ranges.keep_nonnegative(form):
            found[Constraint("ge", form)] = None
    return tuple(without_wider(found, ranges.keep_nonnegative))


def _solved(
    deltas: Sequence[Affine],
    forms: Sequence[Affine],
    labels: Sequence[Label],
    sizes: Mapping[Label, Dim],
) -> list[Affine]:
    """Forms over labels of an operand, as far as deltas say, and ranges of others."""
    forms, waiting = list(forms), list(deltas)
    while waiting:
        delta = waiting.pop(0)
        gone = [x for x in solvable(Constraint("eq", delta)) if x not in labels]
        if gone:
            value = solved(delta, gone[0])
            forms = [form.substituted(gone[0], value) for form in forms]
            waiting = [form.substituted(gone[0], value) for form in waiting]
            forms += [c.form for c in within(value, (ZERO, sizes[gone[0]]))]
    return forms
