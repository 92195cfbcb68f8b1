"""Terms of more deltas become part of an array of fewer ones, where it has room.

`A[i, j, k] * delta(i, l) + d[i, j] * delta(i, l) * delta(j, k)` is one array: d stands
on diagonals of A. Nothing more is held for it, and d is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.passes.views import Name
from tensorgen.structure.stored import StoredTerm


def absorb_terms(
    graph: Graph, terms: Sequence[StoredTerm], dims: Sequence[Dim]
) -> list[StoredTerm]:
    """The terms, without those for which an array of another one has room.

    That may hold more, where several terms share an array or would mirror one another.
    """
    left = list(terms)
    while True:
        pairs = ((x, term) for term in left for x in left if _has_room(x, term))
        wide, term = next(pairs, (None, None))
        if wide is None or term is None:
            return left
        left.remove(term)
        left[left.index(wide)] = _with(graph, wide, term, dims)


def _has_room(wide: StoredTerm, term: StoredTerm) -> bool:
    """Whether the only array of a term has all axes of another one, and of its ties."""
    if len(wide.factors) != 1 or wide.links != term.links:
        return False
    if not {*wide.ties} < {*term.ties}:
        return False
    ((_, labels),) = wide.factors
    needed = {x for _, own in term.factors for x in own}
    for tie in {*term.ties} - {*wide.ties}:
        needed |= {tie.first, tie.second}
    return needed <= {*labels}


def _with(
    graph: Graph, wide: StoredTerm, term: StoredTerm, dims: Sequence[Dim]
) -> StoredTerm:
    """A term with another one in its array."""
    ((_, labels),) = wide.factors
    sizes: dict[Name, Dim] = {x: d for x, d in enumerate(dims) if x in labels}
    parts = [
        (
            1,
            graph.product(
                labels,
                [*one.factors, *((node, ()) for node in one.scale)],
                coefficient=one.coefficient,
                constraints=[t.constraint for t in one.ties if t not in wide.ties],
                sizes={**sizes, **wide.elements},
            ),
            labels,
        )
        for one in (wide, term)
    ]
    core = graph.sum(labels, parts)
    return replace(wide, coefficient=Fraction(1), factors=((core, labels),), scale=())
