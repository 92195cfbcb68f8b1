"""Entries of inverses of matrices that solve by structure: selected inversion.

The slope of a determinant reads the inverse where the matrix has entries, and nowhere
else (Erisman and Tinney 1975).
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.constraints import Ranges
from tensorgen.ir.nodes import Affine, Call, Node, Product, Ref, affine, delta
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.matrices.systems import is_system, selected
from tensorgen.passes.context import Context
from tensorgen.passes.readings.readings import Reading, reading


def select_entries(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with the entries in place of inverses of which few are read."""

    def visit(node: Node) -> Node:
        for place, ref in enumerate(node.factors if isinstance(node, Product) else ()):
            if not is_inverse(ref.node) or not isinstance(node, Product):
                continue
            found = reading(node, place)
            if found is None or not found.is_few(context.cost):
                continue
            made = _selected(context, found)
            if made is not None:
                return visit(made)
        return node

    return rebuild(context.graph, roots, visit)


def is_inverse(node: Node) -> bool:
    """Whether a node is the inverse of an object's matrix."""
    if not isinstance(node, Call) or node.operator != "inv":
        return False
    return is_system(node.args[0])


def _selected(context: Context, found: Reading) -> Node | None:
    """The product with the entries; None where some may be outside of the matrix."""
    graph, (inverse, _) = context.graph, found.factor
    assert isinstance(inverse, Call)
    (system,), (n, _) = inverse.args, inverse.dims
    ranges = Ranges.of(found.sizes)
    labels, extra = tuple(found.sizes), []
    forms: list[Affine] = [form.renamed(labels.index) for form in found.forms]
    sizes = tuple(found.sizes.values())
    if not all(ranges.contain(form, (n * 0, n)) for form in found.forms):
        shift = _shift(found)
        if shift is None:
            return None
        # A diagonal beside the main one: its entries are counted from its first.
        (label,) = labels
        first, along = max(-shift, 0), len(found.node.sizes)
        forms = [form + first for form in forms]
        extra = [delta({label: 1, along: -1}, -first)]
        labels, sizes = (along,), (n - abs(shift),)
    row, column = forms
    entries = selected(graph, system, row, column, sizes)
    return found.replaced(graph, Ref(entries, labels), extra)


def _shift(found: Reading) -> int | None:
    """How far one axis is from the other, which is the label that is left."""
    consts = [form.const.constant for form in found.forms]
    if any(
        form != affine([(x, 1)], form.const)
        for form in found.forms
        for x in found.sizes
    ):
        return None
    if len(found.sizes) != 1 or None in consts:
        return None
    return sum(c for c in consts if c is not None)
