"""Inverses and determinants of a positive diagonal plus low rank, by Woodbury.

`inv(D + U W) = inv(D) - inv(D) U inv(K) W inv(D)` and `det(D + U W) = det(D) det(K)`,
where `K = I + W inv(D) U` is as large as the rank. The diagonal has to be known to be
positive, and what is added not to be negative: then no digits are lost that the matrix
itself keeps, unless entries of the diagonal are smaller than the others by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Label, Node, Product, Sum, delta, topological
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.operators.calls import OPERATORS, apply
from tensorgen.operators.definite import Sign, matrix_sign, sign
from tensorgen.operators.promises import bare
from tensorgen.operators.symmetry import flat
from tensorgen.passes.context import Context
from tensorgen.passes.limits import GAIN_OF_LOW_RANK


class LowRank(NamedTuple):
    """What is added, `sum_s U[i, s] W[s, j]`; vectors where the rank is one."""

    left: Node
    right: Node
    width: tuple[Dim, ...]


class Parts(NamedTuple):
    """A matrix: the entries of a diagonal, and what has low rank."""

    diagonal: Node
    added: LowRank


def invert_low_rank(
    context: Context, roots: Sequence[Node], missed: dict[Node, None]
) -> list[Node]:
    """Return `roots` with inverses and determinants of smaller matrices.

    Those whose diagonal is not known to be positive are `missed`.
    """
    graph, new = context.graph, dict[Node, Node]()
    known: dict[Node, Parts | None] = {}
    # What stable forms would recognise has been recognised.
    with graph.without_rewrites():
        for node in topological(roots):
            made = with_operands(graph, node, new)
            if isinstance(made, Call) and OPERATORS[made.operator].by_parts:
                (matrix,) = made.args
                if matrix not in known:
                    known[matrix] = _safe(context, matrix, missed)
                found = known[matrix]
                if found is not None:
                    made = _asked(graph, made.operator, found)
            carry_names(graph, node, made)
            new[node] = made
    return [new[root] for root in roots]


def parts(context: Context, matrix: Node) -> Parts | None:
    """Return the diagonal and the terms of low rank of a matrix, if that is all."""
    matrix = bare(matrix)
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
    if GAIN_OF_LOW_RANK * rank > cost.value(matrix.dims[0]):
        return None
    return Parts(entries, _joined(graph, terms))


def _safe(context: Context, matrix: Node, missed: dict[Node, None]) -> Parts | None:
    """The parts of a matrix, if its diagonal is known to be positive."""
    found = parts(context, matrix)
    if found is not None and sign(found.diagonal) < Sign.POSITIVE:
        missed[matrix] = None
        return None
    return found


def _entries(graph: Graph, term: Product) -> Node:
    """What stands on a diagonal."""
    names: dict[Label, Label] = {1: 0}
    factors = [(n, [names.get(x, x) for x in xs]) for n, xs in term.factors]
    sizes = {0: term.dims[0], **dict(enumerate(term.inner, 2))}
    return graph.product((0,), factors, coefficient=term.coefficient, sizes=sizes)


def _factored(graph: Graph, term: Product) -> LowRank | None:
    """The factors of the rows, and all others."""
    factors, dims = flat(term)
    sizes: dict[Label, Dim] = dict(enumerate(dims))
    left = [ref for ref in factors if 0 in ref.labels]
    right = [ref for ref in factors if 0 not in ref.labels]
    if any(1 in ref.labels for ref in left):
        return None
    inside = {x for ref in left for x in ref.labels} | {0}
    others = {x for ref in right for x in ref.labels}
    width = sorted(inside & others)
    if len(width) > 1:
        return None
    own = {x: dim for x, dim in sizes.items() if x in inside}
    rest = {x: dim for x, dim in sizes.items() if x not in inside or x in width}
    return LowRank(
        graph.product((0, *width), left, sizes=own),
        graph.product((*width, 1), right, coefficient=term.coefficient, sizes=rest),
        tuple(sizes[x] for x in width),
    )


def _joined(graph: Graph, terms: Sequence[LowRank]) -> LowRank:
    """All terms as one, whose columns and rows stand side by side."""
    first, *others = terms
    if not others and first.width:
        return first
    rank = sum((prod(term.width, start=ONE) for term in terms), start=ZERO)
    size, start = first.left.dims[0], ZERO
    left, right = list[Node](), list[Node]()
    for term in terms:
        s = ("s",)[: len(term.width)]
        form = {"r": 1, "s": -1} if s else {"r": 1}
        at, sizes = [delta(form, -start)], {"r": rank, "i": size}
        pairs = [(term.left, ("i", *s))], [(term.right, (*s, "i"))]
        left.append(graph.product("ir", pairs[0], constraints=at, sizes=sizes))
        right.append(graph.product("ri", pairs[1], constraints=at, sizes=sizes))
        start += prod(term.width, start=ONE)
    return LowRank(graph.add(*left), graph.add(*right), (rank,))


def _asked(graph: Graph, operator: str, parts: Parts) -> Node:
    """An inverse or a determinant, by those of the diagonal and of K."""
    size, (left, right, (rank,)) = parts.diagonal.dims[0], parts.added
    whole = graph.product(
        (0, 1),
        [(parts.diagonal, (0,))],
        constraints=[delta({0: 1, 1: -1})],
        sizes={0: size, 1: size},
    )
    inverse = apply(graph, "inv", [whole])
    solved = graph.product("it", [(inverse, "ik"), (left, "kt")])
    inner = graph.product("st", [(right, "sk"), (solved, "kt")])
    core = graph.add(graph.unit((rank,)), inner)
    found, small = apply(graph, operator, [whole]), apply(graph, operator, [core])
    if operator == "det":
        return graph.product((), [(found, ()), (small, ())])
    if operator == "logdet":
        return graph.add(found, small)
    turned = graph.product("sj", [(right, "sk"), (inverse, "kj")])
    less = graph.product("ij", [(solved, "is"), (small, "st"), (turned, "tj")])
    return graph.sum((0, 1), [(1, inverse, (0, 1)), (-1, less, (0, 1))])
