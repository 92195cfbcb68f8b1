"""Canonical names for the summed labels of a product.

Colours start from what is fixed (output labels) and are refined by incidence: which
nodes, at which axes, beside which colours. Where labels stay alike, the first is
singled out and refinement goes on; labels that are truly interchangeable then get
either order with the same result. (A product where they are not, yet refinement
cannot tell them apart, would only miss a share, never be wrong.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from tensorgen.ir.constraints import atom_key
from tensorgen.ir.nodes import Constraint, Label, Lookup, Ref


def canonical_labels(
    fixed: int,
    summed: Sequence[Label],
    factors: Sequence[Ref],
    constraints: Sequence[Constraint],
    kept: Collection[Label] = (),
) -> dict[Label, Label]:
    """Map summed labels to `fixed, fixed + 1, ...`; labels below `fixed` stay.

    The order of `summed` breaks no ties that incidence can break. Those of them that
    are `kept`, in any order, are told from the others.
    """
    colour: dict[Label, int] = {label: label for label in range(fixed)}
    colour.update((label, fixed + (label in kept)) for label in summed)
    free = list(summed)
    if len(free) > 1:
        _refine(colour, fixed, free, factors, constraints)
        while (tie := _first_tie(colour, free)) is not None:
            colour[tie] -= 1
            _refine(colour, fixed, free, factors, constraints)
    ranked = sorted(free, key=colour.__getitem__)
    names = {label: label for label in range(fixed)}
    names.update({label: fixed + k for k, label in enumerate(ranked)})
    return names


def _first_tie(colour: dict[Label, int], free: list[Label]) -> Label | None:
    """The first label of the lowest class with several members."""
    seen: dict[int, Label] = {}
    ties = []
    for label in free:
        if colour[label] in seen:
            ties.append((colour[label], seen[colour[label]]))
        seen.setdefault(colour[label], label)
    return min(ties)[1] if ties else None


def _refine(
    colour: dict[Label, int],
    fixed: int,
    free: list[Label],
    factors: Sequence[Ref],
    constraints: Sequence[Constraint],
) -> None:
    """Split classes by incidence until nothing splits.

    A class of c members is numbered by its largest rank, which leaves room below it
    for the member that is singled out.
    """
    classes = len({colour[label] for label in free})
    while True:
        members = Counter(map(colour.__getitem__, free))
        # Who is alone in a class is told from all others by that.
        signature: dict[Label, list[tuple[object, ...]]] = {
            label: [] for label in free if members[colour[label]] > 1
        }
        for node, labels in factors:
            beside = tuple(colour[label] for label in labels)
            for axis, label in enumerate(labels):
                if label in signature:
                    # A diagonal is told from two labels that are alike so far.
                    own = tuple(other == label for other in labels)
                    own = own if sum(own) > 1 else ()
                    signature[label].append((0, node.serial, axis, beside, own))
        for constraint in constraints:
            _incidence(signature, colour, constraint)
        keys = {
            label: (colour[label], tuple(sorted(map(repr, signature.get(label, ())))))
            for label in free
        }
        ranks: dict[object, int] = {}
        for rank, label in enumerate(sorted(free, key=keys.__getitem__)):
            ranks[keys[label]] = fixed + 1 + rank
        for label in free:
            colour[label] = ranks[keys[label]]
        if len(ranks) == classes or len(ranks) == len(free):
            return  # nothing splits, or there is nothing left to split
        classes = len(ranks)


def _incidence(
    signature: dict[Label, list[tuple[object, ...]]],
    colour: dict[Label, int],
    constraint: Constraint,
) -> None:
    form = constraint.form
    if signature.keys().isdisjoint(form.labels):
        return
    content = tuple(
        sorted(
            (
                (atom.node.serial, *(colour[x] for x in atom.labels), c)
                if isinstance(atom, Lookup)
                else (-1, colour[atom], c)
            )
            for atom, c in form.terms
        )
    )
    for label in form.labels:
        if label in signature:
            key = (1, constraint.kind, form.coefficient(label), str(form.const))
            signature[label].append((*key, content))


def constraint_key(constraint: Constraint) -> tuple[object, ...]:
    """The order of constraints in a product."""
    form = constraint.form
    return (
        constraint.kind,
        tuple((atom_key(term), term[1]) for term in form.terms),
        form.const.terms,
    )
