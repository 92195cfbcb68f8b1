"""Terms of a sum that are alike, however they are built, as one.

A product is the same in whatever order it was multiplied, and a value that has a name
may be a sum that holds a term beside which it stands:

    1 / (v * s) - 1 / s / v          is 0
    L + (L - x / 2) - x / 2          is 2 * L - x
    1 + (n - 1)                      is n

Each of these leaves fewer terms, so that this ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Size, Sum, Term, constant_value
from tensorgen.operators.stable.factors import factors_of
from tensorgen.operators.stable.match import terms

MOST = 12
"""Longer sums are left alone: what they are made of is compared term by term."""


def merged(graph: Graph, parts: Sequence[Term]) -> list[Term] | None:
    """Return fewer terms with the same sum, or None."""
    if not 2 <= len(parts) <= MOST:
        return None
    found = _of_sizes(graph, parts)
    if found is not None:
        return found
    for way in _ways(parts):
        found = _joined(way)
        if len(found) < len(parts):
            return found
    return None


def _of_sizes(graph: Graph, parts: Sequence[Term]) -> list[Term] | None:
    """Numbers and sizes as one size that takes less to state, if it surely is one."""
    sizes = [(term, _size(term)) for term in parts]
    dims = [dim for _, dim in sizes if dim is not None]
    if len(dims) < 2:
        return None
    whole = reduce(Dim.__add__, dims)
    if len(whole.terms) >= sum(len(dim.terms) for dim in dims) or (
        not whole.is_positive()
    ):
        return None
    others = [term for term, dim in sizes if dim is None]
    return [*others, Term(Fraction(1), graph.size(whole), ())]


def _size(term: Term) -> Dim | None:
    """A term that is a whole number of sizes, as one."""
    if term.labels or term.coefficient.denominator != 1:
        return None
    number = constant_value(term.node)
    if number is not None and number.denominator == 1:
        return Dim.of(int(number * term.coefficient))
    if isinstance(term.node, Size):
        return term.node.value * Dim.of(int(term.coefficient))
    return None


def _ways(parts: Sequence[Term]) -> Iterator[list[Term]]:
    """Yield terms as they are, and with the terms of a sum among them."""
    yield [*parts]
    for k, term in enumerate(parts):
        if isinstance(term.node, Sum) and len(term.node.terms) <= MOST:
            inner = [Term(term.coefficient * c, *x) for c, x in terms(term.ref)]
            yield [*parts[:k], *inner, *parts[k + 1 :]]


def _key(term: Term) -> tuple[Fraction, object]:
    """What a term is a multiple of, and by which number beside its coefficient."""
    own = factors_of(term.ref)
    if own is None or not own.coefficient:
        return Fraction(1), term.ref
    return own.coefficient, (frozenset(own.powers.items()), own.constraints)


def _joined(parts: Sequence[Term]) -> list[Term]:
    """The terms, of which those that are products of the same powers are one."""
    found: dict[object, tuple[Term, Fraction]] = {}
    for term in parts:
        scale, key = _key(term)
        first, before = found.get(key, (term._replace(coefficient=Fraction(0)), scale))
        more = first.coefficient + term.coefficient * scale / before
        found[key] = first._replace(coefficient=more), before
    return [term for term, _ in found.values() if term.coefficient]
