"""Symmetric derivatives keep one of the terms that are transposes of one another.

Second derivatives do not depend on the order in which they are taken (Schwarz), so a
Hessian is its own transpose, and a derivative of higher order that with the axes of
two equal inputs exchanged. Ties say where a term is not zero: what a symmetric tensor
has along `j = i + 1` it has along `i = j + 1` as well. So of the bands of a chain, or
of the neighbours in a stencil, one half is stored, and the other refers to its arrays
with the axes exchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import permutations, product

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import topological
from tensorgen.passes.structure import StoredTerm, Tie, is_axis
from tensorgen.passes.views import is_sparse

Permutation = tuple[int, ...]
"""The new place of each axis."""

MOST = 120
"""More exchanges than those of five inputs are not tried."""


def exchanges(lead: int, inputs: Sequence[tuple[str, int]]) -> tuple[Permutation, ...]:
    """The exchanges of equal inputs, given by names and numbers of axes, as axes.

    The first `lead` axes stay where they are.
    """
    places: dict[str, list[int]] = {}
    starts = [lead]
    for k, (name, axes) in enumerate(inputs):
        places.setdefault(name, []).append(k)
        starts.append(starts[-1] + axes)
    found = []
    for orders in product(*map(permutations, places.values())):
        moved = {
            k: to
            for own, order in zip(places.values(), orders, strict=True)
            for k, to in zip(own, order, strict=True)
        }
        own_axes = [
            starts[moved[k]] + a
            for k in range(len(inputs))
            for a in range(inputs[k][1])
        ]
        found.append((*range(lead), *own_axes))
    return tuple(found[1 : MOST + 1])


def mirrored(term: StoredTerm, to: Permutation) -> StoredTerm:
    """A term with its axes exchanged, of the same arrays."""
    factors = tuple(
        (node, tuple(to[x] if isinstance(x, int) else x for x in labels))
        for node, labels in term.factors
    )
    ties = tuple(Tie(to[t.first], to[t.second], t.offset) for t in term.ties)
    return replace(term, factors=factors, ties=ties)


def mirror_terms(
    terms: Sequence[StoredTerm], symmetries: Sequence[Permutation]
) -> list[StoredTerm]:
    """Keep one of the terms whose ties are the same but for one of the exchanges.

    Only where no two patterns of ties can hide one another: all axes are tied, or what
    is not tied has no delta in its arrays. What index arrays tie may lie anywhere.
    """
    patterns: dict[frozenset[Tie], list[StoredTerm]] = {}
    for term in terms:
        patterns.setdefault(_pattern(term.ties), []).append(term)
    if not symmetries or any(term.links or _may_hide(term) for term in terms):
        return list(terms)
    found: list[StoredTerm] = []
    done: set[frozenset[Tie]] = set()
    for pattern in patterns:
        if pattern in done:
            continue
        orbit = {_pattern(_moved(pattern, to)) for to in symmetries} | {pattern}
        if not all(other in patterns for other in orbit):
            found += patterns[pattern]
            continue
        done |= orbit
        kept = min((p for p in patterns if p in orbit), key=_backward)
        for term in patterns[kept]:
            seen = {kept}
            found.append(term)
            for to in symmetries:
                other = _pattern(_moved(kept, to))
                if other not in seen:
                    seen.add(other)
                    found.append(mirrored(term, to))
    return found


def _moved(ties: Iterable[Tie], to: Permutation) -> list[Tie]:
    return [Tie(to[t.first], to[t.second], t.offset) for t in ties]


def _pattern(ties: Iterable[Tie]) -> frozenset[Tie]:
    """The ties of axes to the first of their kind, whichever they are tied to."""
    stars: dict[int, list[tuple[int, Dim]]] = {}
    for tie in ties:
        star = stars.setdefault(tie.first, [(tie.first, Dim())])
        star.append((tie.second, tie.offset))
    found = []
    for star in stars.values():
        (first, start), *rest = sorted(star, key=lambda place: place[0])
        found += [Tie(first, axis, offset - start) for axis, offset in rest]
    return frozenset(found)


def _backward(pattern: frozenset[Tie]) -> int:
    """How many ties lead back."""
    return sum(not tie.offset.is_nonnegative() for tie in pattern)


def _may_hide(term: StoredTerm) -> bool:
    """Whether a term may have along the ties of others what they do not say."""
    tied = {axis for tie in term.ties for axis in (tie.first, tie.second)}
    free = [x for _, xs in term.factors for x in xs if is_axis(x) and x not in tied]
    return bool(free) and any(
        is_sparse(node)
        for factor, labels in term.factors
        if len(labels) > 1
        for node in topological([factor])
    )
