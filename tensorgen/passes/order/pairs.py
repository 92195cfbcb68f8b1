"""Two factors as one product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorgen.ir.constraints import looked_up, solvable
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Label, Lookup, Ref


def splits(s: int) -> Iterator[int]:
    """One half of every split of a set into two, the lowest bit always in it."""
    low = s & -s
    rest = s ^ low
    a = rest
    while a:
        a = (a - 1) & rest
        yield a | low


def pair(
    graph: Graph,
    parts: Sequence[Ref],
    constraints: Sequence[Constraint],
    kept: frozenset[Label],
    sizes: dict[Label, Dim],
) -> Ref:
    """A product of parts, with kept labels in the order that reads best."""
    ordered = _reading_order(parts, kept)
    for c in constraints:  # what an index array is read by stands where it was read
        names, label = _labels(parts), link_label(c)
        before = names[: names.index(label)] if label in names else []
        place = sum(x in ordered for x in before)
        own = [x for x in sorted(c.form.labels) if x in kept and x not in ordered]
        ordered[place:place] = own
    used = {x for ref in parts for x in ref.labels}
    used.update(x for c in constraints for x in c.form.labels)
    node = graph.product(
        ordered,
        parts,
        constraints=constraints,
        sizes={label: sizes[label] for label in sorted(used)},
    )
    return Ref(node, tuple(ordered))


def _labels(parts: Sequence[Ref]) -> list[Label]:
    return list(dict.fromkeys(x for ref in parts for x in ref.labels))


def _reading_order(parts: Sequence[Ref], kept: frozenset[Label]) -> list[Label]:
    """The kept labels, as the product of two matrices in good order has them.

    The factor whose contracted axis is last stands left: `A[i, k] * B[k, j]`. That
    depends on nodes alone, not on the names of labels, so renamed copies are one.
    """

    def rank(ref: Ref) -> tuple[bool, int]:
        contracted_last = bool(ref.labels) and ref.labels[-1] not in kept
        return (not contracted_last, ref.node.serial)

    ordered: dict[Label, None] = {}
    widest = max(len(set(ref.labels) & kept) for ref in parts)
    for ref in sorted(parts, key=rank):
        # A factor that has all labels sets the order: scaling keeps a layout.
        if len(set(ref.labels) & kept) == widest == len(kept):
            return [label for label in dict.fromkeys(ref.labels) if label in kept]
    for ref in sorted(parts, key=rank):
        ordered.update(dict.fromkeys(x for x in ref.labels if x in kept))
    return list(ordered)


def link_label(constraint: Constraint) -> Label | None:
    """The label that a delta through an index array is solved for."""
    form = constraint.form
    plain = [atom for atom, _ in form.terms if not isinstance(atom, Lookup)]
    if len(form.terms) < 2 or list(solvable(constraint)) != plain or len(plain) != 1:
        return None
    return plain[0] if plain[0] not in looked_up([form]) else None
