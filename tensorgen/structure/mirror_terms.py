"""Symmetric derivatives keep one of the terms that are transposes of one another.

Second derivatives do not depend on the order in which they are taken (Schwarz), so a
Hessian is its own transpose, and a derivative of higher order that with the axes of
two equal inputs exchanged. Ties say where a term is not zero: what a symmetric tensor
has along `j = i + 1` it has along `i = j + 1` as well. So of the bands of a chain, or
of the neighbours in a stencil, one half is stored, and the other refers to its arrays
with the axes exchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.structure.stored import StoredTerm, Tie, rooted

Permutation = tuple[int, ...]
"""The new place of each axis."""

Pattern = frozenset[Tie]


def exchanges(lead: int, inputs: Sequence[tuple[str, int]]) -> tuple[Permutation, ...]:
    """The exchanges of each input with the next equal one, as permutations of axes.

    Inputs are given by names and numbers of axes; the first `lead` axes stay where they
    are. All exchanges of equal inputs are made of these.
    """
    starts = [lead + sum(axes for _, axes in inputs[:k]) for k in range(len(inputs))]
    last: dict[str, int] = {}
    found = []
    for k, (name, axes) in enumerate(inputs):
        if name in last:
            to = list(range(lead + sum(count for _, count in inputs)))
            for a in range(axes):
                one, other = starts[last[name]] + a, starts[k] + a
                to[one], to[other] = other, one
            found.append(tuple(to))
        last[name] = k
    return tuple(found)


def mirrored(term: StoredTerm, to: Permutation) -> StoredTerm:
    """A term with its axes exchanged, of the same arrays."""
    factors = tuple(
        (node, tuple(to[x] if isinstance(x, int) else x for x in labels))
        for node, labels in term.factors
    )
    ties = tuple(Tie(to[t.first], to[t.second], t.offset) for t in term.ties)
    links = sorted(
        (link.renamed(dict(enumerate(to))) for link in term.links),
        key=lambda link: link.axis,
    )
    return replace(term, factors=factors, ties=ties, links=tuple(links))


def mirror_terms(
    terms: Sequence[StoredTerm], symmetries: Sequence[Permutation]
) -> list[StoredTerm]:
    """Keep one of the terms whose ties are the same but for one of the exchanges.

    Only where what a tensor has along ties that are left out is theirs alone: all other
    terms lie apart, whatever the sizes, or are symmetric by themselves. What index
    arrays tie may lie anywhere.
    """
    patterns: dict[Pattern, list[StoredTerm]] = {}
    for term in terms:
        patterns.setdefault(_pattern(term.ties), []).append(term)
    if not symmetries or any(term.links for term in terms):
        return list(terms)
    even = {p for p, own in patterns.items() if _are_symmetric(own, symmetries)}
    kept = _kept(patterns, even, symmetries)
    found: list[StoredTerm] = []
    for pattern, own in patterns.items():
        if kept.get(pattern, pattern) != pattern:
            continue
        for term in own:
            found += _orbit(term, symmetries) if pattern in kept else [term]
    return found


def _orbit(term: StoredTerm, symmetries: Sequence[Permutation]) -> list[StoredTerm]:
    """A term and one of each other pattern that exchanges lead to."""
    found = {_pattern(term.ties): term}
    waiting = [term]
    for one in waiting:  # which grows meanwhile
        for to in symmetries:
            other = mirrored(one, to)
            pattern = _pattern(other.ties)
            if pattern not in found:
                found[pattern] = other
                waiting.append(other)
    return waiting


def _kept(
    patterns: Collection[Pattern],
    even: Collection[Pattern],
    symmetries: Sequence[Permutation],
) -> dict[Pattern, Pattern]:
    """Which pattern stands for each of those that exchanges lead to one another."""
    orbits: dict[Pattern, set[Pattern]] = {}
    for pattern in patterns:
        if pattern in even or any(pattern in orbit for orbit in orbits.values()):
            continue
        term = StoredTerm(Fraction(1), (), tuple(pattern))
        orbit = {_pattern(one.ties) for one in _orbit(term, symmetries)}
        if orbit <= set(patterns):
            first = min((p for p in patterns if p in orbit), key=_backward)
            orbits[first] = orbit
    while True:
        kept = {p: first for first, orbit in orbits.items() for p in orbit}
        rest = [p for p in patterns if p not in kept and p not in even]
        wrong = [
            first
            for first, orbit in orbits.items()
            if not all(_are_apart(p, q) for p in orbit for q in rest)
            or not all(
                # What is left out lies apart from what is kept, and of its own kind
                # apart but for axes of length 1.
                _are_apart(p, q, always=kept[p] != kept[q])
                for p in orbit - {first}
                for q in orbits
            )
        ]
        if not wrong:
            return kept
        for first in wrong:
            del orbits[first]


def _are_apart(first: Pattern, second: Pattern, always: bool = True) -> bool:
    """Whether no entry has both ties, whatever the sizes, or but for the least ones."""
    offsets = {(tie.first, tie.second): tie.offset for tie in first}
    distances = [
        tie.offset - offsets[tie.first, tie.second]
        for tie in second
        if (tie.first, tie.second) in offsets
    ]
    return any(
        size.is_positive() or (not always and size != 0 and size.is_nonnegative())
        for distance in distances
        for size in (distance, -distance)
    )


def _are_symmetric(
    terms: Sequence[StoredTerm], symmetries: Sequence[Permutation]
) -> bool:
    """Whether the exchanges lead from each term to one of the same arrays."""

    def content(term: StoredTerm) -> tuple[object, ...]:
        factors = frozenset(Counter(term.factors).items())
        return term.coefficient, factors, term.scale, _pattern(term.ties)

    equal = {(t.first, t.second) for t in _pattern(terms[0].ties) if t.offset == 0}
    if all(
        a == b or (min(a, b), max(a, b)) in equal
        for to in symmetries
        for a, b in enumerate(to)
    ):
        return True  # on the diagonal
    own = Counter(map(content, terms))
    return all(
        own == Counter(content(mirrored(term, to)) for term in terms)
        for to in symmetries
    )


def _pattern(ties: Iterable[Tie]) -> Pattern:
    """The ties of axes to the first of their kind, whichever they are tied to."""
    return frozenset(rooted(ties)[0])


def _backward(pattern: Pattern) -> int:
    return sum(not tie.offset.is_nonnegative() for tie in pattern)
