"""Inverses and determinants of a positive diagonal plus low rank, by Woodbury.

`inv(D + U W) = inv(D) - inv(D) U inv(K) W inv(D)` and `det(D + U W) = det(D) det(K)`,
where `K = I + W inv(D) U` is as large as the rank. The diagonal has to be known to be
positive, and what is added not to be negative: then no digits are lost that the matrix
itself keeps, unless entries of the diagonal are smaller than the others by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Label, Node, Product, Sum, delta, topological
from tensorgen.operators.calls import OPERATORS, apply
from tensorgen.operators.definite import Sign, matrix_sign, sign
from tensorgen.passes.context import Context
from tensorgen.passes.rebuild import carry_names, with_operands

GAIN = 2
"""A matrix has to have this many times the rows that the rank is."""


class LowRank(NamedTuple):
    """A term `sum_s U[i, s] W[s, j]`; both are vectors where the rank is one."""

    left: Node
    right: Node
    width: tuple[Dim, ...]


class Parts(NamedTuple):
    """A matrix: the entries of a diagonal, and terms of low rank."""

    diagonal: Node
    terms: tuple[LowRank, ...]


def invert_low_rank(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with inverses and determinants of smaller matrices."""
    graph, new = context.graph, dict[Node, Node]()
    known: dict[Node, Parts | None] = {}
    # What stable forms would recognise has been recognised.
    with graph.without_rewrites():
        for node in topological(roots):
            made = with_operands(graph, node, new)
            if isinstance(made, Call) and OPERATORS[made.operator].by_parts:
                (matrix,) = made.args
                if matrix not in known:
                    known[matrix] = parts(context, matrix)
                found = known[matrix]
                if found is not None:
                    made = _asked(graph, made.operator, found)
            carry_names(graph, node, made)
            new[node] = made
    return [new[root] for root in roots]


def parts(context: Context, matrix: Node) -> Parts | None:
    """Return the diagonal and the terms of low rank of a matrix, if that is all."""
    if matrix.order != 2 or not isinstance(matrix, Sum):
        return None
    graph, cost = context.graph, context.cost
    diagonal: list[tuple[int, Node, tuple[str, ...]]] = []
    terms: list[LowRank] = []
    for coefficient, node, labels in matrix.terms:
        term = graph.sum(
            (0, 1), [(coefficient, node, labels)], dict(enumerate(matrix.dims))
        )
        if not isinstance(term, Product):
            return None
        if term.constraints == (delta({0: 1, 1: -1}),):
            diagonal.append((1, _entries(graph, term), ("i",)))
            continue
        found = None if term.constraints else _factored(graph, term)
        if found is None or matrix_sign(term) < Sign.NONNEGATIVE:
            return None
        terms.append(found)
    if not diagonal or not terms:
        return None
    rank = sum(cost.size(term.width) for term in terms)
    entries = graph.sum(("i",), diagonal)
    if GAIN * rank > cost.value(matrix.dims[0]) or sign(entries) < Sign.POSITIVE:
        return None
    return Parts(entries, tuple(terms))


def _entries(graph: Graph, term: Product) -> Node:
    """What stands on a diagonal."""
    names: dict[Label, Label] = {1: 0}
    factors = [(n, [names.get(x, x) for x in xs]) for n, xs in term.factors]
    sizes = {0: term.dims[0], **dict(enumerate(term.inner, 2))}
    return graph.product((0,), factors, coefficient=term.coefficient, sizes=sizes)


def _factored(graph: Graph, term: Product) -> LowRank | None:
    """The factors of the rows, and all others."""
    left = [ref for ref in term.factors if 0 in ref.labels]
    right = [ref for ref in term.factors if 0 not in ref.labels]
    if any(1 in ref.labels for ref in left):
        return None
    others = {x for ref in right for x in ref.labels}
    width = sorted({x for ref in left for x in ref.labels} & others)
    if len(width) > 1:
        return None
    sizes = dict(enumerate(term.sizes))
    inside = {x for ref in left for x in ref.labels}
    rest = {
        x: dim for x, dim in sizes.items() if x != 0 and (x not in inside or x in width)
    }
    own = {x: dim for x, dim in sizes.items() if x == 0 or x in inside}
    return LowRank(
        graph.product((0, *width), left, sizes=own),
        graph.product((*width, 1), right, coefficient=term.coefficient, sizes=rest),
        tuple(sizes[x] for x in width),
    )


def _asked(graph: Graph, operator: str, parts: Parts) -> Node:
    """An inverse or a determinant, term by term."""
    size = parts.diagonal.dims[0]
    whole = graph.product(
        (0, 1),
        [(parts.diagonal, (0,))],
        constraints=[delta({0: 1, 1: -1})],
        sizes={0: size, 1: size},
    )
    inverse, found = apply(graph, "inv", [whole]), apply(graph, operator, [whole])
    for term in parts.terms:
        inverse, core = _added(graph, inverse, term)
        if operator == "inv":
            found = inverse
        elif operator == "det":
            own = apply(graph, "det", [core]) if core.order else core
            found = graph.product((), [(found, ()), (own, ())])
        else:
            own = apply(graph, "logdet", [core]) if core.order else _log(graph, core)
            found = graph.add(found, own)
    return found


def _log(graph: Graph, number: Node) -> Node:
    return graph.map("log", (), [(number, ())])


def _added(graph: Graph, inverse: Node, term: LowRank) -> tuple[Node, Node]:
    """The inverse with a term more, and the matrix K that it takes."""
    s, t = ("s",)[: len(term.width)], ("t",)[: len(term.width)]
    solved = graph.product(("i", *t), [(inverse, ("i", "k")), (term.left, ("k", *t))])
    turned = graph.product((*s, "j"), [(term.right, (*s, "k")), (inverse, ("k", "j"))])
    inner = graph.product((*s, *t), [(term.right, (*s, "k")), (solved, ("k", *t))])
    core = graph.add(graph.unit(term.width), inner)
    if term.width:
        small = apply(graph, "inv", [core])
    else:
        small = graph.map("pow", (), [(core, ()), (graph.constant(-1), ())])
    correction = graph.product(
        ("i", "j"), [(solved, ("i", *s)), (small, (*s, *t)), (turned, (*t, "j"))]
    )
    axes = (0, 1)
    return graph.sum(axes, [(1, inverse, axes), (-1, correction, axes)]), core
