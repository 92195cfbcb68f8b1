"""Share: a sum that is computed anyway is not added up again within a longer one.

    s = a + b - c,  2*a + 2*b - 2*c + d = 2*s + d

The second derivative by the logarithm of a scale has all terms of the first, and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.ir.nodes import Node, Sum, Term, topological
from tensorgen.ir.rebuild import renew
from tensorgen.passes.context import Context
from tensorgen.prices.thresholds import TERMS_SHARED


def share_sums(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums in the place of terms that others add up as well.

    Ends: each sum is looked at once, and is replaced by one of fewer terms.
    """
    sums = [node for node in topological(roots) if isinstance(node, Sum)]
    parts = _parts(sums)
    if not parts:
        return list(roots)
    graph, new = context.graph, dict[Node, Node]()

    def visit(old: Node, node: Node) -> Node:
        part, ratio = parts.get(old, (None, Fraction(0)))
        if not isinstance(old, Sum) or part not in new:
            return node
        terms = [t._replace(node=new[t.node]) for t in _rest(old, part)]
        axes = tuple(range(part.order)) if part.order else ()
        terms.append(Term(ratio, new[part], axes))
        with graph.without_rewrites():  # which have seen the sum as a whole
            return graph.sum(range(old.order), terms, dict(enumerate(old.dims)))

    # Parts come first, the shortest before those that have it as a part.
    first = sorted({part for part, _ in parts.values()}, key=_rank)
    return renew(graph, [*first, *roots], visit, new)[len(first) :]


def _parts(sums: Sequence[Sum]) -> dict[Node, tuple[Sum, Fraction]]:
    """The longest sum that is a part of each, and how many times it is."""
    users: dict[Node, list[Sum]] = {}
    for node in sums:
        for term in node.terms:
            users.setdefault(term.node, []).append(node)
    found: dict[Node, tuple[Sum, Fraction]] = {}
    for part in sorted(sums, key=lambda node: -len(node.terms)):
        least = TERMS_SHARED[bool(part.order)]
        for node in users[part.terms[0].node] if len(part.terms) >= least else ():
            ratio = _ratio(node, part)
            if ratio is not None:
                found.setdefault(node, (part, ratio))
    return found


def _ratio(node: Sum, part: Sum) -> Fraction | None:
    """How many times a sum has a shorter one, of numbers or of arrays of its shape."""
    if len(part.terms) >= len(node.terms) or (part.order and part.dims != node.dims):
        return None
    own = {term.ref: term.coefficient for term in node.terms}
    ratios = {own.get(t.ref, Fraction(0)) / t.coefficient for t in part.terms}
    return ratios.pop() if len(ratios) == 1 and 0 not in ratios else None


def _rank(node: Sum) -> tuple[int, int]:
    return len(node.terms), node.serial


def _rest(node: Sum, part: Sum) -> list[Term]:
    inside = {term.ref for term in part.terms}
    return [term for term in node.terms if term.ref not in inside]
