"""Terms that are chosen by a condition and by its opposite are one selection.

    m * a + ~m * b = where(m, a, b)

which is what the derivative of `where` is a sum of. As factors conditions select: each
term alone is a `where` with zeros, and their sum one more pass over the array. Nor does
a branch ask again what its selection has asked, as guards do until derivatives stand.
No pattern: of all conditions, the one that says most of the terms apart stands outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Ref, Sum, Term
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.scalar import apply, times, total
from tensorgen.operators.stable.match import (
    arguments,
    elementwise_factors,
    is_condition,
    is_map,
)
from tensorgen.passes.context import Context
from tensorgen.passes.scalars.selections import decided

Choice = tuple[Term, list[Ref]]
"""A term under a condition, and all else that it has as factors."""


def select_terms(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with opposite conditions on terms of a sum as one `where`.

    Ends: each selection leaves a term less, or a selection within it.
    """
    graph = context.graph

    def visit(node: Node) -> Node:
        found = Ref(_selected(graph, node), tuple(range(node.order)))
        return decided(graph, found).node if is_map(found, "where") else found.node

    return rebuild(graph, roots, visit)


def _selected(graph: Graph, node: Node) -> Node:
    found = _chosen(graph, node)
    if not isinstance(found, Sum):
        return found
    # Factors in common may hide what belongs together: all of it, or they stay.
    whole = _chosen(graph, _opened(graph, found))
    return found if isinstance(whole, Sum) else whole


def _opened(graph: Graph, node: Sum) -> Node:
    """A sum with `c * (m - n)` as two terms, where both have conditions."""
    terms: list[Term] = []
    for term in node.terms:
        scale, factors = elementwise_factors(term.ref)
        for k, factor in enumerate(factors):
            choices = _terms(graph, factor)
            if choices and all(any(map(is_condition, own)) for _, own in choices):
                rest = factors[:k] + factors[k + 1 :]
                for c, own in choices:
                    part = times(graph, *rest, *own)
                    terms.append(Term(term.coefficient * scale * c, *part))
                break
        else:
            terms.append(term)
    if len(terms) == len(node.terms):
        return node
    with graph.without_rewrites():
        return graph.sum(range(node.order), terms, dict(enumerate(node.dims)))


def _terms(graph: Graph, ref: Ref) -> list[tuple[Fraction, list[Ref]]]:
    """The terms of a sum, or of a selection, by their factors."""
    if is_map(ref, "where"):
        condition, one, two = arguments(ref)
        opposite = apply(graph, "logical_not", condition)
        parts = [(Fraction(1), one, [condition]), (Fraction(1), two, [opposite])]
    elif isinstance(ref.node, Sum):
        parts = [(t.coefficient, t.ref.under(ref), []) for t in ref.node.terms]
    else:
        return []
    found = []
    for c, part, conditions in parts:
        scale, _ = elementwise_factors(part)
        found.append((c * scale, conditions + _factors(part)))
    return found


def _chosen(graph: Graph, node: Node) -> Node:
    if not isinstance(node, Sum):
        return node
    choices: dict[Ref, list[Choice]] = {}
    for term in node.terms:
        factors = _factors(term.ref)
        for k, own in enumerate(factors):
            if is_condition(own):
                rest = factors[:k] + factors[k + 1 :]
                choices.setdefault(own, []).append((term, rest))
    pairs = [
        (opposite, choices.get(arguments(opposite)[0], []), minus)
        for opposite, minus in choices.items()
        if is_map(opposite, "logical_not")
    ]
    pairs = [(opposite, plus, minus) for opposite, plus, minus in pairs if plus]
    if not pairs:
        return node
    # What says most of the terms apart stands outside.
    opposite, plus, minus = max(pairs, key=lambda pair: len(pair[1]) + len(pair[2]))
    taken = {term for term, _ in (*plus, *minus)}
    parts = [_part(graph, found) for found in (plus, minus)]
    with graph.without_rewrites():
        chosen = apply(graph, "where", *arguments(opposite), *parts)
    others = [term for term in node.terms if term not in taken]
    whole = graph.sum(range(node.order), [*others, Term(Fraction(1), *chosen)])
    return _chosen(graph, whole)


def _part(graph: Graph, found: Sequence[Choice]) -> Ref:
    """The sum of what stands under a condition, or under its opposite."""
    terms = [(term.coefficient, times(graph, *rest)) for term, rest in found]
    whole = total(graph, terms)
    return Ref(_chosen(graph, whole.node), whole.labels)


def _factors(ref: Ref) -> list[Ref]:
    """The factors of a term, the parts of conditions among them."""
    _, waiting = elementwise_factors(ref)
    found: list[Ref] = []
    while waiting:
        own = waiting.pop(0)
        if is_map(own, "logical_and"):
            waiting[:0] = arguments(own)
        elif _are_conditions(own):
            waiting[:0] = elementwise_factors(own)[1]
        else:
            found.append(own)
    return found


def _are_conditions(ref: Ref) -> bool:
    """Whether a value is several conditions, multiplied."""
    coefficient, factors = elementwise_factors(ref)
    return coefficient == 1 and len(factors) > 1 and all(map(is_condition, factors))
